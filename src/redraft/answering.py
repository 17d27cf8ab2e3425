"""One answer under way, from its first step to its end: what a program does when asked."""

import asyncio
import time
from dataclasses import dataclass

from redraft.budget import Meter
from redraft.caller import Caller, metered
from redraft.events import AnswerStopped, Watch
from redraft.loop import Checked, CheckStep, Halted, LoopEnd, Outcome, Step, adrive, drive
from redraft.records import Answer
from redraft.session import Session, answer_of, left_of


@dataclass(frozen=True, slots=True)
class Answering:
    """Everything that one answer needs, and nothing that another one shares.

    Attributes:
        session: Turns steps of the loop into calls.
        caller: Makes the calls.
        meter: The answer's caps and what it spent.
        watch: Is told what happens.
        artifact_id: The artifact that answers; None for the program as its file stands.
    """

    session: Session
    caller: Caller
    meter: Meter
    watch: Watch
    artifact_id: str | None

    def answer(self) -> Answer:
        """Run the loop to its end."""
        return self._closed(drive(self.session.machine(), self._perform))

    async def aanswer(self) -> Answer:
        """Run the loop to its end, awaiting the models; cancelling stops every further call."""
        try:
            end = await adrive(self.session.machine(), self._aperform)
        except asyncio.CancelledError:
            self.meter.cancel()
            raise
        return self._closed(end)

    def judge(self, draft: str) -> Checked | Halted:
        """Return the verdict on a draft that is there already; nothing is drafted."""
        outcome = self._perform(CheckStep(1, draft))
        assert isinstance(outcome, Checked | Halted)
        return outcome

    def _perform(self, step: Step) -> Outcome:
        started, spent = time.perf_counter(), Meter(parent=self.meter)
        self.watch.step_started(step)
        outcome = drive(self.session.perform(step), lambda call: self.caller.call(call, spent))
        self.watch.step_ended(step, outcome)
        return metered(outcome, spent, started)

    async def _aperform(self, step: Step) -> Outcome:
        started, spent = time.perf_counter(), Meter(parent=self.meter)
        self.watch.step_started(step)
        calls = self.session.perform(step)
        outcome = await adrive(calls, lambda call: self.caller.acall(call, spent))
        self.watch.step_ended(step, outcome)
        return metered(outcome, spent, started)

    def _closed(self, end: LoopEnd) -> Answer:
        answer = answer_of(
            end,
            self.meter.spent,
            self.artifact_id,
            trace_id=self.watch.trace_id,
            left=left_of(self.session.loop, end, self.meter),
        )
        self.watch.tell(AnswerStopped(answer))
        return answer
