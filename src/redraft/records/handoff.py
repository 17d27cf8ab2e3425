"""What a person is handed when the loop ends without a draft that passed."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from redraft.records.attempts import Attempt, Failure, Finding
from redraft.records.regressions import regressions

if TYPE_CHECKING:
    from redraft.records.answers import Answer, StoppedBy

_SIGNS = (("met", "+"), ("unmet", "x"), ("cannot_assess", "?"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Left:
    """What the caps of an answer had left when it ended.

    Attributes:
        revisions: Further tries that the loop would have allowed; 0 or more.
        calls: Calls; None for no cap.
        tokens: Tokens; None for no cap.
        seconds: Wall time, 0 or more; None for no cap.
    """

    revisions: int
    calls: int | None = None
    tokens: int | None = None
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Try:
    """One attempt in the story of an answer.

    Attributes:
        number: Of the attempt.
        gaps: What the reviser was told; empty for a draft that saw no gap.
        share_changed: Share of the text that it changed, in [0, 1]; None for the first.
        unmet: Ids of the must-pass rules that it leaves open; None where it was not judged.
        broke: Ids of rules that an earlier attempt met and this one does not.
    """

    number: int
    gaps: tuple[str, ...]
    share_changed: float | None
    unmet: tuple[str, ...] | None
    broke: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Handoff:
    """Where an answer stands, for the person who takes it over.

    Attributes:
        stopped_by: Why the loop ended.
        last: The last draft; None where there is none.
        best: The best judged draft; None where none was judged.
        best_number: Number of its attempt.
        unmet: Findings about the draft that is returned which a person must look at, with their
            quotes; must-pass ones first.
        tried: Attempt by attempt.
        left: What the caps had left; None where that is not known.
        next_step: The cheapest thing to do now, in words.
    """

    stopped_by: "StoppedBy"
    last: str | None
    best: str | None
    best_number: int | None
    unmet: tuple[Finding, ...]
    tried: tuple[Try, ...]
    left: Left | None
    next_step: str

    def text(self) -> str:
        """Return all of it as a page that can be pasted into a ticket."""
        lines = [f"Stopped by {self.stopped_by} after {_count(len(self.tried), 'attempt')}."]
        lines += ["Open:"] * bool(self.unmet)
        for finding in self.unmet:
            lines += _finding_lines(finding)
        lines += ["Tried:"] * bool(self.tried)
        lines += [f"  {_try_line(tried)}" for tried in self.tried]
        if self.left is not None:
            lines.append(f"Left: {_left_text(self.left)}.")
        if self.last is not None:
            lines += [f"Last draft (attempt {len(self.tried)}):", *_indented(self.last)]
        if self.best is not None and self.best != self.last:
            lines += [f"Best draft (attempt {self.best_number}):", *_indented(self.best)]
        lines.append(f"Next: {self.next_step}")
        return "\n".join(lines)


def make_handoff(answer: "Answer") -> Handoff:
    """Return the hand-off of an answer; see `Answer.handoff`."""
    attempts = answer.attempts
    broken = regressions(attempts)
    best = None if answer.best is None else attempts[answer.best - 1].draft
    return Handoff(
        stopped_by=answer.stopped_by,
        last=attempts[-1].draft if attempts else None,
        best=best,
        best_number=answer.best,
        unmet=_open_findings(_returned(answer)),
        tried=tuple(
            Try(
                number=attempt.number,
                gaps=attempt.gaps,
                share_changed=attempt.share_changed,
                unmet=_blocking_ids(attempt),
                broke=tuple(r.id for r in broken if r.unmet_in == attempt.number),
            )
            for attempt in attempts
        ),
        left=answer.left,
        next_step=_next_step(answer),
    )


def _next_step(answer: "Answer") -> str:
    if answer.stopped_by == "passed":
        return "nothing; the draft passed."
    if answer.stopped_by == "unchecked":
        return "read the draft; nothing has checked it."
    if answer.stopped_by in ("budget", "deadline", "cancelled"):
        cap = {"budget": " with a higher cap", "deadline": " with more time"}
        return _resume(answer, cap.get(answer.stopped_by, ""))
    if answer.failure is not None:
        return _after_failure(answer, answer.failure)
    if answer.stopped_by == "max_revisions" and _last_helped(answer):
        cost = _count(answer.attempts[-1].usage.calls, "call")
        return _resume(answer, f" with one more revision (the last one closed a rule, for {cost})")
    return _by_hand(answer)


def _resume(answer: "Answer", how: str) -> str:
    if answer.trace_id is None:
        return f"answer again{how}; this answer was not stored, so nothing of it can be reused."
    return f"resume trace {answer.trace_id}{how}; no recorded call is paid for again."


def _after_failure(answer: "Answer", failure: Failure) -> str:
    if failure.kind == "outage":
        return _resume(answer, " when the model answers again")
    steps = {
        "truncated": f"raise max_tokens of the {failure.role}, whose reply was cut off, or ask "
        "for less: a model that runs on is cut off at any limit.",
        "too_long": "shorten the inputs; they do not fit into the model's context.",
        "refused": f"reword the request, or name another {failure.role}; the model refused.",
        "check_error": f"correct the check: {failure.message}",
    }
    another = f"name another model for the {failure.role}; its reply could not be used."
    return steps.get(failure.kind, another)


def _last_helped(answer: "Answer") -> bool:
    counts = [len(ids) for a in answer.attempts if (ids := _blocking_ids(a)) is not None]
    return len(counts) > 1 and counts[-1] < counts[-2]


def _by_hand(answer: "Answer") -> str:
    number = answer.best or answer.returned
    if number is None:
        return "write the draft by hand."
    blocking = [f for f in _open_findings(answer.attempts[number - 1]) if f.must_pass]
    unmet = [f for f in blocking if f.status == "unmet"]
    if not unmet:
        ids = ", ".join(f.id for f in blocking)
        return f"read the draft of attempt {number} and decide {ids}; the checker could not."
    more = f" ({len(unmet) - 1} more)" if len(unmet) > 1 else ""
    return f"edit the draft of attempt {number} by hand: {unmet[0].gap}{more}"


def _returned(answer: "Answer") -> Attempt | None:
    return None if answer.returned is None else answer.attempts[answer.returned - 1]


def _open_findings(attempt: Attempt | None) -> tuple[Finding, ...]:
    if attempt is None or attempt.verdict is None:
        return ()
    still_open = [f for f in attempt.verdict.findings if f.status != "met"]
    return tuple(sorted(still_open, key=lambda finding: not finding.must_pass))


def _blocking_ids(attempt: Attempt) -> tuple[str, ...] | None:
    return None if attempt.verdict is None else tuple(f.id for f in attempt.verdict.blocking)


def _finding_lines(finding: Finding) -> list[str]:
    minor = "" if finding.must_pass else " (minor)"
    line = f"  {dict(_SIGNS)[finding.status]} {finding.id}{minor}: {finding.gap or finding.reason}"
    return [line, f'      "{finding.quote}"'] if finding.quote else [line]


def _try_line(tried: Try) -> str:
    parts = [f"told {' | '.join(tried.gaps)}"] if tried.gaps else []
    if tried.share_changed is not None:
        parts.append(f"{tried.share_changed:.0%} of the text changed")
    if tried.unmet is None:
        parts.append("not judged")
    else:
        parts.append(f"open: {', '.join(tried.unmet) or 'nothing'}")
    if tried.broke:
        parts.append(f"broke {', '.join(tried.broke)}")
    return f"{tried.number}. {'; '.join(parts)}"


def _left_text(left: Left) -> str:
    parts = [_count(left.revisions, "revision")]
    if left.calls is not None:
        parts.append(_count(left.calls, "call"))
    if left.tokens is not None:
        parts.append(_count(left.tokens, "token"))
    if left.seconds is not None:
        parts.append(f"{left.seconds:.1f} s")
    return ", ".join(parts)


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _indented(text: str) -> list[str]:
    return [f"  {line}" for line in text.splitlines()]
