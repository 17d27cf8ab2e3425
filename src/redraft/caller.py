"""Calls being made: watched, metered, and every way they can fail turned into an outcome."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import dspy

from redraft.adapter import CallError, Reply, TurnAdapter
from redraft.budget import Meter, Stop
from redraft.calls import Call, CallOutcome, NoReply
from redraft.events import CallEnded, CallStarted, Watch
from redraft.lm.model import Models
from redraft.loop import Checked, Drafted, Halted, Outcome
from redraft.records import Failure, Role


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
            if slip.outcome is None:
                predictor = getattr(self._predictors, call.predictor)
                slip.outcome = _reply(predictor(**call.fields), slip.adapter)
        return slip.taken

    async def acall(self, call: Call, meter: Meter) -> CallOutcome:
        """Make a call like `call`, awaiting the model."""
        with self._under_way(call, meter) as slip:
            if slip.outcome is None:
                predictor = getattr(self._predictors, call.predictor)
                slip.outcome = _reply(await predictor.acall(**call.fields), slip.adapter)
        return slip.taken

    @contextmanager
    def _under_way(self, call: Call, meter: Meter) -> Iterator["_Slip"]:
        model = self._models.of(call.settings.role)
        slip = _Slip(call, Meter(parent=meter), self._watch)
        try:
            slip.begin(model.name)
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
        meter: The call's own meter.
        watch: Is told, and knows the calls of an interrupted run.
    """

    def __init__(self, call: Call, meter: Meter, watch: Watch) -> None:
        self.meter = meter
        self.adapter = TurnAdapter(call.settings)
        self.outcome: CallOutcome | None = None
        self._call = call
        self._watch = watch
        self._started = time.perf_counter()
        self._sequence = watch.next_sequence()
        self._recorded = watch.next_recorded()

    @property
    def taken(self) -> CallOutcome:
        """The outcome of a call that ended."""
        assert self.outcome is not None
        return self.outcome

    def begin(self, model: str) -> None:
        """Take the outcome from the earlier run, where it got this far, or tell of the call.

        Raises:
            Stop: The earlier run's call does not fit into the caps any more.
        """
        if self._recorded is None:
            self._watch.tell(CallStarted(self._sequence, self._call, model))
            return
        usage = self._recorded.usage
        for _ in range(usage.calls):
            self.meter.reserve()
        self.meter.record(replace(usage, reread=usage.calls))
        self.outcome = self._recorded.outcome

    def end(self) -> None:
        """Tell what came of a call that was made now."""
        if self._recorded is None:
            seconds = time.perf_counter() - self._started
            self._watch.tell(CallEnded(self._sequence, self.taken, self.meter.spent, seconds))


def _reply(prediction: dspy.Prediction, adapter: TurnAdapter) -> Reply:
    text = adapter.reply.text if adapter.reply is not None else ""
    return Reply(dict(prediction.items()), text)


def _halted(stop: Stop, role: Role) -> Halted:
    if stop.scope == "answer":
        return Halted(stop.reason)
    failure = Failure("run_cap", role, f"the command was stopped by {stop.reason} before this call")
    return Halted(stop.reason, failure)
