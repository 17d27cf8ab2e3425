"""One draft and what was decided about it: usage, findings, failures, verdicts, attempts."""

from dataclasses import dataclass, field
from typing import Literal

from redraft.records.settings import Role

FindingStatus = Literal["met", "unmet", "cannot_assess"]
FindingBy = Literal["code", "model"]

FailureKind = Literal[
    "outage",
    "truncated",
    "empty",
    "refused",
    "unparsable",
    "too_long",
    "check_error",
    "run_cap",
]


@dataclass(frozen=True, slots=True)
class Usage:
    """What calls to models spent.

    Attributes:
        calls: Requests made, each retry counted; 0 or more.
        input_tokens: Tokens sent, cached ones included.
        output_tokens: Tokens received.
        cache_read_tokens: Sent tokens that the provider read from its prefix cache.
        cache_write_tokens: Sent tokens that the provider wrote to its prefix cache.
        cost_usd: Price in dollars; None where a price is unknown, never 0 in its place.
        reread: Calls among `calls` that were answered from recorded replies.
    """

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    cost_usd: float | None = 0.0
    reread: int = 0

    def __add__(self, other: "Usage") -> "Usage":
        return self._joined(other, 1)

    def __sub__(self, other: "Usage") -> "Usage":
        return self._joined(other, -1)

    def _joined(self, other: "Usage", sign: int) -> "Usage":
        known = self.cost_usd is not None and other.cost_usd is not None
        return Usage(
            calls=self.calls + sign * other.calls,
            input_tokens=self.input_tokens + sign * other.input_tokens,
            output_tokens=self.output_tokens + sign * other.output_tokens,
            cache_read_tokens=self.cache_read_tokens + sign * other.cache_read_tokens,
            cache_write_tokens=self.cache_write_tokens + sign * other.cache_write_tokens,
            cost_usd=(self.cost_usd or 0.0) + sign * (other.cost_usd or 0.0) if known else None,
            reread=self.reread + sign * other.reread,
        )


@dataclass(frozen=True, slots=True)
class Finding:
    """What was decided about one rule for one draft.

    Attributes:
        id: The rule.
        status: `cannot_assess` is neither met nor unmet, and never passes.
        reason: Why, in a sentence; empty for a check that is met.
        quote: Words of the draft that the reason is about; may be empty.
        gap: What is missing, for the writer; empty unless `status` is `unmet`.
        by: Whether code or the checker's model decided.
        must_pass: Whether the rule costs a revision when it is unmet.
    """

    id: str
    status: FindingStatus
    reason: str
    quote: str
    gap: str
    by: FindingBy
    must_pass: bool


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a call gave nothing that can be used.

    Attributes:
        kind: `outage` and `run_cap` mean "not measured"; `check_error` is a user's check that
            raised; the others are answers of the model.
        role: Whose call it was.
        message: One sentence for a person, with the model's name where a model was called.
    """

    kind: FailureKind
    role: Role
    message: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """All findings about one draft.

    Attributes:
        passed: Every must-pass rule was asked and is met.
        findings: One per rule that was decided, checks first, in the program's order.
        not_asked: Criteria that the model was not asked about, since a must-pass check failed.
        draft_digest: SHA-256 (hex) of the exact draft that was judged.
        checker_digest: SHA-256 (hex) of checks, criteria and the checker's prompt.
        reply: The checker's last reply verbatim; None where no model was asked.
        failure: Why the check could not be completed; None when it was.
        replies: All that the checker said, verbatim: one entry per vote, which holds the reply
            and, after a repair turn, the reply to that. A call that gave no text is "".
    """

    passed: bool
    findings: tuple[Finding, ...]
    not_asked: tuple[str, ...]
    draft_digest: str
    checker_digest: str
    reply: str | None = None
    failure: Failure | None = None
    replies: tuple[tuple[str, ...], ...] = ()

    @property
    def blocking(self) -> tuple[Finding, ...]:
        """Must-pass findings that are not met."""
        return tuple(f for f in self.findings if f.must_pass and f.status != "met")


@dataclass(frozen=True, slots=True)
class Attempt:
    """One draft and its verdict.

    Attributes:
        number: From 1; attempts = revisions + 1.
        draft: The draft.
        verdict: None where the draft was not judged.
        diff: Unified diff from the previous attempt's draft; empty for the first.
        share_changed: Share of the text that differs from the previous draft, in [0, 1]; None
            for the first.
        usage: Calls of this attempt: its draft, checks and repair turns.
        seconds: Wall time of this attempt.
        gaps: What the reviser was told; empty for a draft that saw no gap.
        check_usage: The part of `usage` that judging the draft took.
        check_seconds: The part of `seconds` that judging the draft took.
    """

    number: int
    draft: str
    verdict: Verdict | None
    diff: str
    share_changed: float | None
    usage: Usage
    seconds: float
    gaps: tuple[str, ...] = ()
    check_usage: Usage = field(default_factory=Usage)
    check_seconds: float = 0.0
