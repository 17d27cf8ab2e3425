"""A stored answer as values: the trace, its calls, later verdicts, and what a list shows."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from redraft.calls import CallOutcome
from redraft.records import Answer, Attempt, Loop, Role, StoppedBy, Usage, Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """What is known when an answer begins.

    Attributes:
        inputs: What the caller gave, JSON-ready.
        seed: Run seed.
        models: Name of the model of each role.
        checker_digest: SHA-256 (hex) of checks, criteria and the checker's prompt.
        prompts: SHA-256 (hex) of each predictor's instructions and demos, by name.
        options: SHA-256 (hex) of what each role asks of its model.
        loop: Settings of the loop.
    """

    inputs: Mapping[str, object]
    seed: int
    models: Mapping[Role, str]
    checker_digest: str
    prompts: Mapping[str, str]
    options: str
    loop: Loop


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredCall:
    """One call, written before it was made.

    Attributes:
        sequence: Number within the answer, from 1.
        attempt: The attempt that it belongs to.
        predictor: `draft`, `check` or `revise`.
        role: Whose call it was.
        model: The model's name.
        digest: SHA-256 (hex) of what was asked.
        started: When, in ISO 8601, UTC.
        outcome: What came of it, verbatim; None for a call in flight when the run was ended: it
            counts as spent.
        usage: What it spent; None where that is not known.
        seconds: Wall time; None where that is not known.
    """

    sequence: int
    attempt: int
    predictor: str
    role: Role
    model: str
    digest: str
    started: str
    outcome: CallOutcome | None = None
    usage: Usage | None = None
    seconds: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Recheck:
    """What another checker said of a stored draft.

    Attributes:
        number: The attempt whose draft was judged.
        judged: When, in ISO 8601, UTC.
        artifact_id: The artifact that judged; None for the program as its file stands.
        checker: The checker's model; None where the program asks none.
        verdict: What was decided.
        usage: What it spent.
    """

    number: int
    judged: str
    artifact_id: str | None
    checker: str | None
    verdict: Verdict
    usage: Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """One stored answer, finished or not.

    Attributes:
        id: Twelve hex digits.
        program: Name of the program.
        artifact_id: The artifact that answered; None for the program as its file stands.
        started: When, in ISO 8601, UTC.
        ended: When it ended; None for one that was interrupted or is under way.
        resumed: How often it was resumed.
        redacted: Whether texts may differ from what was said.
        start: What was known when it began.
        attempts: In order; of an unfinished answer, those that were made.
        calls: In order.
        answer: The answer as it was returned; None for an unfinished one.
        rechecks: What later checkers said, oldest first.
    """

    id: str
    program: str
    artifact_id: str | None
    started: str
    ended: str | None
    resumed: int
    redacted: bool
    start: Start
    attempts: tuple[Attempt, ...]
    calls: tuple[StoredCall, ...]
    answer: Answer | None
    rechecks: tuple[Recheck, ...]

    @property
    def usage(self) -> Usage:
        """What the answer spent; a call in flight counts as one, its price as unknown."""
        if self.answer is not None:
            return self.answer.usage
        return sum((call_usage(call) for call in self.calls), Usage())


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceSummary:
    """What a list of traces shows of one.

    Attributes:
        id: Of the trace.
        program: Name of the program.
        artifact_id: The artifact that answered; None for the program as its file stands.
        started: When, in ISO 8601, UTC.
        stopped_by: Why it ended; None for one that was interrupted or is under way.
        passed: Of the answer; None also for an unfinished one.
        attempts: How many were made.
        calls: How many were made; one in flight counts.
    """

    id: str
    program: str
    artifact_id: str | None
    started: str
    stopped_by: StoppedBy | None
    passed: bool | None
    attempts: int
    calls: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceFilter:
    """Which traces are meant; what is left out does not matter.

    Attributes:
        program: Name of the program.
        passed: Whether the answer passed; False leaves out unchecked and unfinished ones.
        stopped_by: Why the loop ended.
        finished: Whether the answer ended at all.
    """

    program: str | None = None
    passed: bool | None = None
    stopped_by: StoppedBy | None = None
    finished: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Pruned:
    """What pruning took out, or would take out.

    Attributes:
        ids: Of the traces, oldest first.
        kept: How many stay.
    """

    ids: tuple[str, ...] = field(default_factory=tuple)
    kept: int = 0


def call_usage(call: StoredCall) -> Usage:
    """Return what a call spent; one in flight counts as one call of unknown price."""
    return Usage(calls=1, cost_usd=None) if call.usage is None else call.usage
