"""What happens during one answer, as it happens: for people who watch and stores that record."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from redraft.calls import Call, CallOutcome, LostCall, RecordedCall
from redraft.loop import Checked, CheckStep, Drafted, Failed, Outcome, ReviseStep, Step
from redraft.records import Answer, Failure, Finding, ProgramState, Role, Usage, Verdict


@dataclass(frozen=True, slots=True)
class AnswerStarted:
    """An answer begins.

    Attributes:
        program: Its name.
        artifact_id: The artifact that answers; None for the program as its file stands.
        inputs: What the caller gave.
        seed: Run seed.
        models: Name of the model of each role.
        checker_digest: SHA-256 (hex) of checks, criteria and the checker's prompt.
        state: The prompts, loop settings and options that answer.
    """

    program: str
    artifact_id: str | None
    inputs: Mapping[str, Any]
    seed: int
    models: Mapping[Role, str]
    checker_digest: str
    state: ProgramState


@dataclass(frozen=True, slots=True)
class DraftStarted:
    """A draft is asked for.

    Attributes:
        number: The attempt, from 1.
        again: Whether the same request is drawn anew.
    """

    number: int
    again: bool


@dataclass(frozen=True, slots=True)
class RevisionStarted:
    """A revision of the previous draft is asked for.

    Attributes:
        number: The attempt it makes, from 2.
        gaps: What the reviser is told.
    """

    number: int
    gaps: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CallStarted:
    """A call is about to be made; it counts as spent from here on.

    Attributes:
        sequence: Number of the call within the answer, from 1.
        call: What is asked.
        model: The model's name.
    """

    sequence: int
    call: Call
    model: str


@dataclass(frozen=True, slots=True)
class CallEnded:
    """A call gave a reply, a failure or a stop.

    Attributes:
        sequence: Number of the call within the answer, from 1.
        outcome: What came of it.
        usage: What it spent, failed tries included.
        seconds: Wall time.
    """

    sequence: int
    outcome: CallOutcome
    usage: Usage
    seconds: float


@dataclass(frozen=True, slots=True)
class DraftMade:
    """A draft or revision is there."""

    number: int
    draft: str


@dataclass(frozen=True, slots=True)
class TryFailed:
    """A drafter or reviser gave nothing usable."""

    number: int
    failure: Failure


@dataclass(frozen=True, slots=True)
class FindingMade:
    """One rule was decided for an attempt's draft."""

    number: int
    finding: Finding


@dataclass(frozen=True, slots=True)
class VerdictMade:
    """All rules were decided for an attempt's draft."""

    number: int
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class AnswerStopped:
    """The loop ended; the last event of an answer."""

    answer: Answer


Event = (
    AnswerStarted
    | DraftStarted
    | RevisionStarted
    | CallStarted
    | CallEnded
    | DraftMade
    | TryFailed
    | FindingMade
    | VerdictMade
    | AnswerStopped
)
Observe = Callable[[Event], None]


class Recording(Protocol):
    """The record of one answer that is being written.

    It is called with every event, in order, from the thread that answers, before anybody else is
    told: what it has returned from is kept. What it raises ends the answer.
    """

    @property
    def trace_id(self) -> str:
        """The record's id; it does not change."""
        ...

    def __call__(self, event: Event) -> None:
        """Keep an event."""
        ...


class Recorder(Protocol):
    """Where answers are recorded, such as a store of traces; shared by threads and tasks."""

    def begin(self) -> Recording:
        """Begin the record of one answer; called once per answer."""
        ...


class Watch:
    """Tells who watches of one answer's events, and hands out the calls made by an earlier run.

    Args:
        observe: Called with every event, in order, from the thread that answers; what it raises
            ends the answer.
        recording: Is told before `observe`.
        recorded: Calls of an interrupted run of the same answer, in order.
    """

    def __init__(
        self,
        observe: Observe | None = None,
        *,
        recording: Recording | None = None,
        recorded: Sequence[RecordedCall | LostCall] = (),
    ) -> None:
        self.trace_id = None if recording is None else recording.trace_id
        self._told = tuple(told for told in (recording, observe) if told is not None)
        self._recorded = iter(recorded)
        self._calls = 0

    @property
    def is_watched(self) -> bool:
        """Whether anybody is told."""
        return bool(self._told)

    def tell(self, event: Event) -> None:
        """Tell everybody of an event."""
        for told in self._told:
            told(event)

    def next_recorded(self) -> RecordedCall | LostCall | None:
        """Return the next call of the earlier run; None once they are used up."""
        return next(self._recorded, None)

    def next_sequence(self) -> int:
        """Return the number of the call that begins now, from 1."""
        self._calls += 1
        return self._calls

    def step_started(self, step: Step) -> None:
        """Tell that a draft or a revision is asked for."""
        if isinstance(step, ReviseStep):
            self.tell(RevisionStarted(step.number, step.gaps))
        elif not isinstance(step, CheckStep):
            self.tell(DraftStarted(step.number, again=step.number > 1))

    def step_ended(self, step: Step, outcome: Outcome) -> None:
        """Tell what came of a step; a step that was halted shows in how the answer stopped."""
        for event in _events_of(step.number, outcome):
            self.tell(event)


def _events_of(number: int, outcome: Outcome) -> Iterator[Event]:
    if isinstance(outcome, Drafted):
        yield DraftMade(number, outcome.draft)
    elif isinstance(outcome, Failed):
        yield TryFailed(number, outcome.failure)
    elif isinstance(outcome, Checked):
        for finding in outcome.verdict.findings:
            yield FindingMade(number, finding)
        yield VerdictMade(number, outcome.verdict)
