"""The answer-time loop as a pure state machine: no model, no clock, no input or output.

    DraftStep -> CheckStep -> passed? -> end
                    ^           | no, and the cap is not reached
                    |           v
                    +--- ReviseStep or ResampleStep

`run_loop` yields a step and is sent its outcome. Two drivers run any such generator, one
synchronous, one asynchronous; `replay` runs it over recorded attempts.
"""

import difflib
from collections.abc import Awaitable, Callable, Generator
from dataclasses import dataclass, field, replace
from typing import TypeVar

from redraft.budget import StopReason
from redraft.records import Answer, Attempt, Failure, Finding, Loop, StoppedBy, Usage, Verdict

StepT = TypeVar("StepT")
OutcomeT = TypeVar("OutcomeT")
EndT = TypeVar("EndT")


@dataclass(frozen=True, slots=True)
class DraftStep:
    """Needs the first draft."""

    number: int = 1


@dataclass(frozen=True, slots=True)
class CheckStep:
    """Needs the verdict on the draft of this attempt."""

    number: int
    draft: str


@dataclass(frozen=True, slots=True)
class ReviseStep:
    """Needs a revision of the previous draft that closes the gaps.

    Attributes:
        number: The attempt that the revision makes; 2 or more.
        draft: The previous attempt's draft.
        gaps: Must-pass gaps first, then those of minor rules.
    """

    number: int
    draft: str
    gaps: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ResampleStep:
    """Needs a new draft from the same request with the next seed."""

    number: int


Step = DraftStep | CheckStep | ReviseStep | ResampleStep


@dataclass(frozen=True, slots=True)
class Drafted:
    """A draft was made."""

    draft: str
    usage: Usage = field(default_factory=Usage)
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Checked:
    """A draft was judged."""

    verdict: Verdict
    usage: Usage = field(default_factory=Usage)
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Failed:
    """A drafter or reviser gave nothing usable."""

    failure: Failure


@dataclass(frozen=True, slots=True)
class Halted:
    """A cap was reached, or the work was cancelled, before the step was done.

    Attributes:
        reason: Which kind of stop it was.
        failure: Set where the cap belongs to the whole command, so the row is not measured.
    """

    reason: StopReason
    failure: Failure | None = None


Outcome = Drafted | Checked | Failed | Halted


@dataclass(frozen=True, slots=True)
class LoopEnd:
    """How a loop ended.

    Attributes:
        stopped_by: Why it ended.
        attempts: In order; the last one may be unjudged.
        returned: Number of the attempt whose draft is returned; None when there is no draft.
        best: Number of the best judged attempt; None when none was judged.
        failure: Why a role gave nothing usable, if one did not.
    """

    stopped_by: StoppedBy
    attempts: tuple[Attempt, ...]
    returned: int | None
    best: int | None
    failure: Failure | None = None


def run_loop(loop: Loop, *, checked: bool = True) -> Generator[Step, Outcome, LoopEnd]:
    """Run the loop: yield what is needed next, be sent its outcome, return how it ended.

    Args:
        loop: Settings; `enabled=False` returns the first draft unchecked.
        checked: False where the program has nothing to check.

    Returns:
        The end; its `passed` stop is the only one that means the draft passed.
    """
    attempts: list[Attempt] = []
    stop = yield from _first_draft(attempts)
    if stop is None and not (loop.enabled and checked):
        stop = _Stop("unchecked")
    while stop is None:
        stop = yield from _judge_last(attempts)
        stop = stop or _stop_after_verdict(attempts, loop)
        if stop is None:
            stop = yield from _try_again(attempts, loop)
    return _end(attempts, loop, stop)


def drive(machine: Generator[StepT, OutcomeT, EndT], perform: Callable[[StepT], OutcomeT]) -> EndT:
    """Run a generator to its end, answering each thing it yields with `perform`."""
    try:
        step = next(machine)
        while True:
            step = machine.send(perform(step))
    except StopIteration as end:
        result: EndT = end.value
        return result


async def adrive(
    machine: Generator[StepT, OutcomeT, EndT], perform: Callable[[StepT], Awaitable[OutcomeT]]
) -> EndT:
    """Run a generator to its end like `drive`, awaiting each outcome."""
    try:
        step = next(machine)
        while True:
            step = machine.send(await perform(step))
    except StopIteration as end:
        result: EndT = end.value
        return result


def replay(answer: Answer, loop: Loop) -> LoopEnd:
    """Return how the loop would have ended with other settings over the same recorded attempts.

    Args:
        answer: A recorded answer, made with the same `on_fail` and at least as high a cap.
        loop: The settings to try.

    Raises:
        ValueError: The recording ends before these settings would have stopped.
    """

    def recorded(step: Step) -> Outcome:
        if step.number > len(answer.attempts):
            return _recorded_stop(answer, step.number)
        attempt = answer.attempts[step.number - 1]
        if not isinstance(step, CheckStep):
            usage = attempt.usage - attempt.check_usage
            return Drafted(attempt.draft, usage, attempt.seconds - attempt.check_seconds)
        if attempt.verdict is None:
            return _recorded_stop(answer, step.number)
        return Checked(attempt.verdict, attempt.check_usage, attempt.check_seconds)

    return drive(run_loop(loop, checked=answer.stopped_by != "unchecked"), recorded)


def difference(before: str, after: str) -> tuple[str, float]:
    """Return the unified diff between two drafts, and the share of words changed, in [0, 1]."""
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=1)
    matcher = difflib.SequenceMatcher(None, before.split(), after.split())
    return "\n".join(list(lines)[2:]), 1.0 - matcher.ratio()


@dataclass(frozen=True, slots=True)
class _Stop:
    stopped_by: StoppedBy
    failure: Failure | None = None


def _first_draft(attempts: list[Attempt]) -> Generator[Step, Outcome, _Stop | None]:
    outcome = yield DraftStep()
    return _take_draft(attempts, outcome, failed_by="drafter_failed")


def _judge_last(attempts: list[Attempt]) -> Generator[Step, Outcome, _Stop | None]:
    last = attempts[-1]
    known = next((a.verdict for a in attempts[:-1] if a.draft == last.draft), None)
    if known is not None:
        attempts[-1] = _judged(last, Checked(known))
        return None
    outcome = yield CheckStep(last.number, last.draft)
    if isinstance(outcome, Halted):
        return _Stop(outcome.reason, outcome.failure)
    if not isinstance(outcome, Checked):
        raise TypeError(f"a check step needs Checked or Halted, got {type(outcome).__name__}")
    attempts[-1] = _judged(last, outcome)
    return None


def _stop_after_verdict(attempts: list[Attempt], loop: Loop) -> _Stop | None:
    verdict = attempts[-1].verdict
    if verdict is None:
        raise TypeError("an attempt that was judged has no verdict")
    if verdict.failure is not None:
        return _Stop("checker_failed", verdict.failure)
    if verdict.passed:
        return _Stop("passed")
    if not any(f.status == "unmet" for f in verdict.blocking):
        return _Stop("checker_failed")
    if len(attempts) > loop.max_revisions:
        return _Stop("max_revisions")
    if loop.on_fail == "revise" and _pointless(attempts, loop.patience):
        return _Stop("no_progress")
    return None


def _try_again(attempts: list[Attempt], loop: Loop) -> Generator[Step, Outcome, _Stop | None]:
    number = len(attempts) + 1
    if loop.on_fail == "resample":
        outcome = yield ResampleStep(number)
        return _take_draft(attempts, outcome, failed_by="reviser_failed")
    gaps = _gaps(attempts[-1])
    outcome = yield ReviseStep(number, attempts[-1].draft, gaps)
    return _take_draft(attempts, outcome, failed_by="reviser_failed", gaps=gaps)


def _take_draft(
    attempts: list[Attempt],
    outcome: Outcome,
    *,
    failed_by: StoppedBy,
    gaps: tuple[str, ...] = (),
) -> _Stop | None:
    if isinstance(outcome, Halted):
        return _Stop(outcome.reason, outcome.failure)
    if isinstance(outcome, Failed):
        refused = outcome.failure.kind == "refused"
        return _Stop("refused" if refused else failed_by, outcome.failure)
    if not isinstance(outcome, Drafted):
        raise TypeError(f"a draft step needs a draft, got {type(outcome).__name__}")
    diff, share = difference(attempts[-1].draft, outcome.draft) if attempts else ("", None)
    attempts.append(
        Attempt(
            number=len(attempts) + 1,
            draft=outcome.draft,
            verdict=None,
            diff=diff,
            share_changed=share,
            usage=outcome.usage,
            seconds=outcome.seconds,
            gaps=gaps,
        )
    )
    return None


def _judged(attempt: Attempt, outcome: Checked) -> Attempt:
    return replace(
        attempt,
        verdict=outcome.verdict,
        usage=attempt.usage + outcome.usage,
        seconds=attempt.seconds + outcome.seconds,
        check_usage=outcome.usage,
        check_seconds=outcome.seconds,
    )


def _pointless(attempts: list[Attempt], patience: int) -> bool:
    if any(earlier.draft == attempts[-1].draft for earlier in attempts[:-1]):
        return True
    if len(attempts) <= patience:
        return False
    recent = [a.verdict for a in attempts[-patience - 1 :] if a.verdict is not None]
    same = len({frozenset(f.id for f in v.blocking) for v in recent}) == 1
    return same and _open_findings(recent[-1]) >= _open_findings(recent[0])


def _open_findings(verdict: Verdict) -> int:
    return sum(f.status != "met" for f in verdict.findings)


def _gaps(attempt: Attempt) -> tuple[str, ...]:
    findings = attempt.verdict.findings if attempt.verdict is not None else ()
    unmet = [f for f in findings if f.status == "unmet"]
    return tuple(f.gap for f in sorted(unmet, key=_minor_last))


def _minor_last(finding: Finding) -> bool:
    return not finding.must_pass


def _recorded_stop(answer: Answer, number: int) -> Outcome:
    if answer.stopped_by in ("budget", "deadline", "cancelled"):
        return Halted(answer.stopped_by, answer.failure)
    if answer.failure is not None:
        return Failed(answer.failure)
    raise ValueError(
        f"the recording holds {len(answer.attempts)} attempts and ended with "
        f"{answer.stopped_by!r}; attempt {number} was never made"
    )


def _end(attempts: list[Attempt], loop: Loop, stop: _Stop) -> LoopEnd:
    judged = [a for a in attempts if a.verdict is not None and a.verdict.failure is None]
    best = min(judged, key=_worse).number if judged else None
    if not attempts:
        returned = None
    elif stop.stopped_by in ("passed", "unchecked") or not judged:
        returned = attempts[-1].number if judged else 1
    else:
        returned = judged[-1].number if loop.returned == "last" else best
    return LoopEnd(stop.stopped_by, tuple(attempts), returned, best, stop.failure)


def _worse(attempt: Attempt) -> tuple[int, bool, int, int]:
    """Order attempts: fewest must-pass unmet, asked before not asked, most met, earliest."""
    verdict = attempt.verdict
    if verdict is None:
        raise TypeError("only judged attempts can be compared")
    met = sum(f.status == "met" for f in verdict.findings)
    return (len(verdict.blocking), bool(verdict.not_asked), -met, attempt.number)
