"""Findings made, validated and summed up: what counts as passed."""

import hashlib
import json
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from redraft.errors import CheckError
from redraft.records import Check, Criterion, Failure, Finding, FindingStatus, Verdict

_STATUSES: tuple[FindingStatus, ...] = ("met", "unmet", "cannot_assess")
_COPIED_WORDS = 8
_ESCAPE = re.compile(r"\\u([0-9a-fA-F]{4})")
_COPIED_VERDICT = "it repeats a verdict that stands in the text to be judged"
_QUOTE_MARKS = str.maketrans(dict.fromkeys("“”„‟«»″＂", '"') | dict.fromkeys("‘’‚‛‹›′＇`´", "'"))


@dataclass(frozen=True, slots=True)
class Review:
    """A checker's reply after validation.

    Attributes:
        findings: One per criterion, in order; a finding that broke a rule is `cannot_assess`.
        problems: What was wrong, one sentence each, in words for the checker. They hold nothing
            of the reply, which may hold anything that the draft says.
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
    reply: str,
    criteria: Sequence[Criterion],
    draft: str,
    *,
    task: str = "",
    hidden_ids: Sequence[str] = (),
) -> Review:
    """Validate a checker's reply, finding by finding; nothing invalid counts as met.

    Args:
        reply: The reply verbatim: a JSON object whose `findings` holds one entry per criterion.
        criteria: The criteria that were asked.
        draft: The draft that was judged; quotes must occur in it.
        task: What the checker saw beside it. A verdict that is spelled out in the draft or here
            is none of the checker's own.
        hidden_ids: Further ids that no gap may hold, such as those of checks.
    """
    shown = (_packed(draft), _packed(task))
    try:
        entries = _entries(reply, shown)
    except (ValueError, RecursionError) as error:
        return unusable_reply(criteria, f"The reply could not be read: {error}.")
    findings: list[Finding] = []
    problems: list[str] = []
    repair = False
    ids = {c.id for c in criteria} | set(hidden_ids)
    if set(entries) - {c.id for c in criteria}:
        problems.append("It has an entry that is not one of the criteria.")
        repair = True
    for criterion in criteria:
        entry = entries.get(criterion.id)
        finding, problem = _finding(criterion, entry, draft)
        problem = problem or _copy(entry, shown) or _leak(finding, criteria, ids)
        if problem:
            problems.append(f"{criterion.id}: {problem}")
            repair = repair or criterion.must_pass or criterion.id not in entries
            finding = cannot_assess(criterion, problem)
        findings.append(finding)
    return Review(tuple(findings), tuple(problems), repair)


def unusable_reply(
    criteria: Sequence[Criterion], reason: str, problem: str | None = None
) -> Review:
    """Return the review of a reply that holds no findings at all.

    Args:
        criteria: The criteria that were asked.
        reason: Why, for people.
        problem: Why, for the checker, without a word of its reply; by default the reason.
    """
    findings = tuple(cannot_assess(criterion, reason) for criterion in criteria)
    return Review(findings, (problem or reason,), needs_repair=True)


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
    not_asked: Sequence[Criterion] = (),
    replies: Sequence[tuple[str, ...]] = (),
    failure: Failure | None = None,
) -> Verdict:
    """Sum findings up; a draft passes only when every must-pass rule was decided and is met.

    Args:
        findings: Checks first, then criteria.
        draft: The exact draft they are about.
        checker_digest: Digest of what judged it.
        not_asked: Criteria that were not put to the model; a must-pass one is not met by that.
        replies: What the checker said, verbatim, vote by vote.
        failure: Why the check could not be completed.
    """
    met = all(f.status == "met" for f in findings if f.must_pass)
    return Verdict(
        passed=met and not any(c.must_pass for c in not_asked) and failure is None,
        findings=tuple(findings),
        not_asked=tuple(c.id for c in not_asked),
        draft_digest=digest(draft),
        checker_digest=checker_digest,
        reply=replies[-1][-1] if replies else None,
        failure=failure,
        replies=tuple(replies),
    )


def unmet_ids(verdict: Verdict) -> tuple[str, ...]:
    """Return the ids that a person must look at: must-pass ones first, then minor ones."""
    minor = tuple(f.id for f in verdict.findings if not f.must_pass and f.status != "met")
    return tuple(f.id for f in verdict.blocking) + minor


def _run_check(
    check: Check, facts: Mapping[str, object], draft: str, program: str, row_id: str | None
) -> Finding:
    try:
        # A copy, so that no check changes what another one or the next attempt sees.
        gap = check.fn(dict(facts), draft)
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


def _entries(reply: str, shown: Sequence[str]) -> Mapping[str, object]:
    start, end = reply.find("{"), reply.rfind("}")
    if start < 0 or end < start:
        raise ValueError("it holds no JSON object")
    found = reply[start : end + 1]
    parsed = json.loads(found, object_pairs_hook=_unique_keys)
    json.dumps(parsed, ensure_ascii=False).encode()  # half a character pair cannot be sent on
    entries = parsed.get("findings") if isinstance(parsed, dict) else None
    if not isinstance(entries, dict):
        raise ValueError("it has no object named findings")
    if any(_packed(found) in text for text in shown):
        raise ValueError(_COPIED_VERDICT)
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


def _copy(entry: object, shown: Sequence[str]) -> str:
    written = _packed(json.dumps(entry, ensure_ascii=False))
    return _COPIED_VERDICT if any(written in text for text in shown) else ""


def _leak(finding: Finding, criteria: Sequence[Criterion], ids: set[str]) -> str:
    if not finding.gap:
        return ""
    gap, words = _plain(finding.gap), _words(finding.gap)
    if any(re.search(rf"(?<!\w){re.escape(_plain(known))}(?!\w)", gap) for known in ids):
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
    return re.findall(r"\w+", _plain(text))


def _plain(text: str) -> str:
    """Return a text without case, compatibility forms and characters that nobody sees."""
    seen = (c for c in unicodedata.normalize("NFKC", text) if unicodedata.category(c) != "Cf")
    return "".join(seen).casefold()


def _packed(text: str) -> str:
    """Return a text without white space, and with JSON's escapes of characters resolved."""
    return "".join(_ESCAPE.sub(lambda found: chr(int(found[1], 16)), text).split())


def _folded(text: str) -> str:
    return " ".join(text.translate(_QUOTE_MARKS).split())
