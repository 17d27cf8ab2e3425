"""Findings made, validated and summed up: what counts as passed."""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from redraft.errors import CheckError
from redraft.records import Check, Criterion, Failure, Finding, FindingStatus, Verdict

_STATUSES: tuple[FindingStatus, ...] = ("met", "unmet", "cannot_assess")
_COPIED_WORDS = 8
_QUOTE_MARKS = str.maketrans({"“": '"', "”": '"', "„": '"', "’": "'", "‘": "'", "«": '"', "»": '"'})


@dataclass(frozen=True, slots=True)
class Review:
    """A checker's reply after validation.

    Attributes:
        findings: One per criterion, in order; a finding that broke a rule is `cannot_assess`.
        problems: What was wrong, one sentence each, in words for the checker.
        needs_repair: Whether a problem concerns a must-pass criterion, or the whole reply.
    """

    findings: tuple[Finding, ...]
    problems: tuple[str, ...]
    needs_repair: bool


def digest(*texts: str) -> str:
    """Return the SHA-256 (hex) of texts; equal only for the same texts in the same order."""
    return hashlib.sha256(json.dumps(texts, ensure_ascii=False).encode()).hexdigest()


def fence(draft: str, inputs: str, checker_digest: str) -> str:
    """Return a delimiter that neither text can contain, since it is made from their digest."""
    return digest(draft, inputs, checker_digest)[:16]


def run_checks(
    checks: Sequence[Check],
    facts: Mapping[str, object],
    draft: str,
    *,
    program: str,
    row_id: str | None = None,
) -> tuple[Finding, ...]:
    """Run every check on a draft; they cost nothing.

    Args:
        checks: The program's checks.
        facts: Inputs and what `prepare` added.
        draft: The text to judge.
        program: Name for errors.
        row_id: Row for errors, where there is one.

    Raises:
        CheckError: A check raised, or returned neither None nor a text that says something.
    """
    return tuple(_run_check(check, facts, draft, program, row_id) for check in checks)


def findings_schema(criteria: Sequence[Criterion]) -> dict[str, object]:
    """Return the JSON schema of a checker's findings: flat, closed, one entry per criterion."""
    finding = {
        "type": "object",
        "properties": {
            "reason": {"type": "string"},
            "status": {"type": "string", "enum": list(_STATUSES)},
            "quote": {"type": "string"},
            "gap": {"type": "string"},
        },
        "required": ["reason", "status", "quote", "gap"],
        "additionalProperties": False,
    }
    ids = [criterion.id for criterion in criteria]
    return {
        "type": "object",
        "properties": dict.fromkeys(ids, finding),
        "required": ids,
        "additionalProperties": False,
    }


def review_reply(
    reply: str, criteria: Sequence[Criterion], draft: str, *, hidden_ids: Sequence[str] = ()
) -> Review:
    """Validate a checker's reply, finding by finding; nothing invalid counts as met.

    Args:
        reply: The reply verbatim: a JSON object whose `findings` holds one entry per criterion.
        criteria: The criteria that were asked.
        draft: The draft that was judged; quotes must occur in it.
        hidden_ids: Further ids that no gap may hold, such as those of checks.
    """
    try:
        entries = _entries(reply)
    except (ValueError, RecursionError) as error:
        return unusable_reply(criteria, f"The reply could not be read: {error}.")
    findings: list[Finding] = []
    problems: list[str] = []
    repair = False
    ids = {c.id for c in criteria} | set(hidden_ids)
    for unknown in sorted(set(entries) - {c.id for c in criteria}):
        problems.append(f"{unknown!r} is not one of the criteria.")
        repair = True
    for criterion in criteria:
        finding, problem = _finding(criterion, entries.get(criterion.id), draft)
        problem = problem or _leak(finding, criteria, ids)
        if problem:
            problems.append(f"{criterion.id}: {problem}")
            repair = repair or criterion.must_pass or criterion.id not in entries
            finding = cannot_assess(criterion, problem)
        findings.append(finding)
    return Review(tuple(findings), tuple(problems), repair)


def unusable_reply(criteria: Sequence[Criterion], reason: str) -> Review:
    """Return the review of a reply that holds no findings at all."""
    findings = tuple(cannot_assess(criterion, reason) for criterion in criteria)
    return Review(findings, (reason,), needs_repair=True)


def cannot_assess(criterion: Criterion, reason: str) -> Finding:
    """Return the finding for a criterion that could not be decided."""
    return Finding(
        criterion.id, "cannot_assess", reason, "", "", by="model", must_pass=criterion.must_pass
    )


def make_verdict(
    findings: Sequence[Finding],
    draft: str,
    checker_digest: str,
    *,
    not_asked: Sequence[str] = (),
    must_ask: bool = False,
    reply: str | None = None,
    failure: Failure | None = None,
) -> Verdict:
    """Sum findings up; a draft passes only when every must-pass rule was decided and is met.

    Args:
        findings: Checks first, then criteria.
        draft: The exact draft they are about.
        checker_digest: Digest of what judged it.
        not_asked: Criteria that were not put to the model.
        must_ask: Whether one of `not_asked` is must-pass.
        reply: The checker's reply verbatim.
        failure: Why the check could not be completed.
    """
    met = all(f.status == "met" for f in findings if f.must_pass)
    return Verdict(
        passed=met and not must_ask and failure is None,
        findings=tuple(findings),
        not_asked=tuple(not_asked),
        draft_digest=digest(draft),
        checker_digest=checker_digest,
        reply=reply,
        failure=failure,
    )


def unmet_ids(verdict: Verdict) -> tuple[str, ...]:
    """Return the ids that a person must look at: must-pass ones first, then minor ones."""
    minor = tuple(f.id for f in verdict.findings if not f.must_pass and f.status != "met")
    return tuple(f.id for f in verdict.blocking) + minor


def _run_check(
    check: Check, facts: Mapping[str, object], draft: str, program: str, row_id: str | None
) -> Finding:
    try:
        gap = check.fn(facts, draft)
    except Exception as error:
        raise CheckError(
            f"check {check.id!r} of {program!r} raised {type(error).__name__}: {error}"
            f"{_at(row_id)}; a check returns None or a gap and must not raise",
            program=program,
            check_id=check.id,
            row_id=row_id,
        ) from error
    if gap is None:
        return Finding(check.id, "met", "", "", "", by="code", must_pass=check.must_pass)
    if not isinstance(gap, str) or not gap.strip():
        raise CheckError(
            f"check {check.id!r} of {program!r} returned {gap!r}{_at(row_id)}; "
            "return None where the rule is met, else a sentence that says what is missing",
            program=program,
            check_id=check.id,
            row_id=row_id,
        )
    return Finding(check.id, "unmet", gap, "", gap, by="code", must_pass=check.must_pass)


def _at(row_id: str | None) -> str:
    return "" if row_id is None else f" on row {row_id!r}"


def _entries(reply: str) -> Mapping[str, object]:
    start, end = reply.find("{"), reply.rfind("}")
    if start < 0 or end < start:
        raise ValueError("it holds no JSON object")
    parsed = json.loads(reply[start : end + 1], object_pairs_hook=_unique_keys)
    entries = parsed.get("findings") if isinstance(parsed, dict) else None
    if not isinstance(entries, dict):
        raise ValueError("it has no object named findings")
    return entries


def _unique_keys(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("it names a key twice")
    return found


def _finding(criterion: Criterion, entry: object, draft: str) -> tuple[Finding, str]:
    if not isinstance(entry, dict):
        problem = "it was not answered" if entry is None else "its entry is not an object"
        return cannot_assess(criterion, problem), problem
    texts = [entry.get(name, "") for name in ("reason", "quote", "gap")]
    status = entry.get("status")
    if status not in _STATUSES or not all(isinstance(text, str) for text in texts):
        problem = f"its status must be one of {', '.join(_STATUSES)} and the rest must be text"
        return cannot_assess(criterion, problem), problem
    reason, quote, gap = (str(text).strip() for text in texts)
    finding = Finding(
        criterion.id, status, reason, quote, gap, by="model", must_pass=criterion.must_pass
    )
    return finding, _contradiction(finding, draft)


def _contradiction(finding: Finding, draft: str) -> str:
    if finding.status == "unmet" and not finding.gap:
        return "it is unmet but names no gap"
    if finding.status != "unmet" and finding.gap:
        return f"it is {finding.status} but names a gap"
    if finding.quote and _folded(finding.quote) not in _folded(draft):
        return "its quote does not occur in the draft"
    return ""


def _leak(finding: Finding, criteria: Sequence[Criterion], ids: set[str]) -> str:
    words = _words(finding.gap)
    if any(re.search(rf"(?<!\w){re.escape(known)}(?!\w)", finding.gap) for known in ids):
        return "its gap names a criterion; say what is missing in other words"
    for criterion in criteria:
        statement = _words(criterion.statement)
        if _shares_run(words, statement, min(_COPIED_WORDS, len(statement))):
            return "its gap copies a criterion; say what is missing in other words"
    return ""


def _shares_run(words: list[str], statement: list[str], length: int) -> bool:
    if length == 0 or len(words) < length:
        return False
    runs = {tuple(statement[i : i + length]) for i in range(len(statement) - length + 1)}
    return any(tuple(words[i : i + length]) in runs for i in range(len(words) - length + 1))


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.casefold())


def _folded(text: str) -> str:
    return " ".join(text.translate(_QUOTE_MARKS).split())
