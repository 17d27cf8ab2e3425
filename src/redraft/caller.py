"""Calls being made: watched, metered, and every way they can fail turned into an outcome."""

import asyncio
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace

import dspy

from redraft.adapter import TurnAdapter
from redraft.budget import Meter, Stop
from redraft.calls import Call, CallOutcome, NoReply, RecordedCall, call_digest
from redraft.errors import ResumeError
from redraft.events import CallEnded, CallStarted, Watch
from redraft.lm.model import Model, Models
from redraft.loop import Checked, Drafted, Halted, Outcome
from redraft.records import Failure, Role, Usage
from redraft.replies import CallError, Reply


class Caller:
    """Makes the calls of one answer.

    Args:
        predictors: The module whose attributes `draft`, `check` and `revise` are called.
        models: The model of each role.
        watch: Is told of every call, and knows those of an interrupted run.
    """

    def __init__(self, predictors: dspy.Module, models: Models, watch: Watch) -> None:
        self._predictors = predictors
        self._models = models
        self._watch = watch

    def call(self, call: Call, meter: Meter) -> CallOutcome:
        """Make a call, or take its outcome from the interrupted run.

        Raises:
            ModelError: The model cannot be used as it is named.
        """
        with self._under_way(call, meter) as slip:
            if not slip.begin():
                predictor = getattr(self._predictors, call.predictor)
                slip.outcome = _reply(predictor(**call.fields), slip.adapter)
        return slip.taken

    async def acall(self, call: Call, meter: Meter) -> CallOutcome:
        """Make a call like `call`, awaiting the model."""
        with self._under_way(call, meter) as slip:
            if not slip.begin():
                predictor = getattr(self._predictors, call.predictor)
                prediction = await _awaited(predictor, call.fields)
                slip.outcome = _reply(prediction, slip.adapter)
        return slip.taken

    @contextmanager
    def _under_way(self, call: Call, meter: Meter) -> Iterator["_Slip"]:
        model = self._models.of(call.settings.role)
        slip = _Slip(call, model, meter, self._watch)
        try:
            lm = model.lm(slip.meter)
            with dspy.context(lm=lm, adapter=slip.adapter, disable_history=True):
                yield slip
        except CallError as error:
            slip.outcome = NoReply(error.failure, error.text)
        except Stop as stop:
            slip.outcome = _halted(stop, call.settings.role)
        slip.end()


def metered(outcome: Outcome, meter: Meter, started: float) -> Outcome:
    """Return a step's outcome with what its calls cost and how long they took."""
    if not isinstance(outcome, Drafted | Checked):
        return outcome
    return replace(outcome, usage=meter.spent, seconds=time.perf_counter() - started)


class _Slip:
    """One call under way, from the moment it counts as spent to its outcome.

    Args:
        call: What is asked.
        model: Who is asked.
        meter: The meter of the step that it belongs to.
        watch: Is told, and knows the calls of an interrupted run.
    """

    def __init__(self, call: Call, model: Model, meter: Meter, watch: Watch) -> None:
        self.meter = Meter(parent=meter)
        self.adapter = TurnAdapter(call.settings)
        self.outcome: CallOutcome | None = None
        self._call = call
        self._model = model
        self._step = meter
        self._watch = watch
        self._started = time.perf_counter()
        self._sequence: int | None = None

    @property
    def taken(self) -> CallOutcome:
        """The outcome of a call that ended."""
        assert self.outcome is not None
        return self.outcome

    def begin(self) -> bool:
        """Take the outcome from the earlier run, where it got this far, or tell of the call.

        Returns:
            Whether there is an outcome already.

        Raises:
            Stop: The earlier run's calls do not fit into the caps any more.
            ResumeError: The earlier run asked something else here.
        """
        while (recorded := self._watch.next_recorded()) is not None:
            sequence = self._watch.next_sequence()
            if isinstance(recorded, RecordedCall):
                self._take(recorded, sequence)
                return True
            # A call that was lost is no part of what this one spends.
            lost = recorded.usage or Usage(calls=1, cost_usd=self._model.cost)
            _spend(lost, self._step)
        self._sequence = self._watch.next_sequence()
        self._watch.tell(CallStarted(self._sequence, self._call, self._model.name))
        return False

    def end(self) -> None:
        """Tell what came of a call that was made now."""
        if self._sequence is not None:
            seconds = time.perf_counter() - self._started
            self._watch.tell(CallEnded(self._sequence, self.taken, self.meter.spent, seconds))

    def _take(self, recorded: RecordedCall, sequence: int) -> None:
        if recorded.digest not in (None, call_digest(self._call)):
            raise ResumeError(
                f"call {sequence} would not ask what it asked before",
                [f"{self._call.predictor}: a check, `prepare` or one of their files changed"],
            )
        _spend(replace(recorded.usage, reread=recorded.usage.calls), self.meter)
        self.outcome = recorded.outcome


def _spend(usage: Usage, meter: Meter) -> None:
    tokens, cost_usd = usage.input_tokens + usage.output_tokens, usage.cost_usd or 0.0
    for number in range(usage.calls):
        spent = (0, 0.0) if number else (tokens, cost_usd)
        meter.reserve(spent[0], cost_usd=spent[1])
    meter.record(usage)


async def _awaited(predictor: dspy.Module, fields: Mapping[str, object]) -> dspy.Prediction:
    if hasattr(predictor, "aforward"):
        return await predictor.acall(**fields)
    # A user's module may have `forward` alone; its thread gets the model and the adapter too.
    return await asyncio.to_thread(predictor, **fields)


def _reply(prediction: dspy.Prediction, adapter: TurnAdapter) -> Reply:
    text = adapter.reply.text if adapter.reply is not None else ""
    return Reply(dict(prediction.items()), text)


def _halted(stop: Stop, role: Role) -> Halted:
    if stop.scope == "answer":
        return Halted(stop.reason)
    failure = Failure("run_cap", role, f"the command was stopped by {stop.reason} before this call")
    return Halted(stop.reason, failure)
