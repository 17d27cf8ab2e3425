"""Frozen values that travel between rooms: settings, rows, findings, verdicts, answers, scores."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from redraft.errors import ConfigError

Split = Literal["train", "val", "gate", "test"]
SPLITS: tuple[Split, ...] = ("train", "val", "gate", "test")

Role = Literal["drafter", "checker", "reviser", "proposer", "judge"]

OnFail = Literal["revise", "resample"]
Returns = Literal["last", "best"]

FindingStatus = Literal["met", "unmet", "cannot_assess"]
FindingBy = Literal["code", "model"]

StoppedBy = Literal[
    "passed",
    "unchecked",
    "max_revisions",
    "no_progress",
    "budget",
    "deadline",
    "checker_failed",
    "drafter_failed",
    "reviser_failed",
    "refused",
    "cancelled",
]

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

CheckFunction = Callable[[Mapping[str, object], str], str | None]


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
        known = self.cost_usd is not None and other.cost_usd is not None
        return Usage(
            calls=self.calls + other.calls,
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cache_read_tokens=self.cache_read_tokens + other.cache_read_tokens,
            cache_write_tokens=self.cache_write_tokens + other.cache_write_tokens,
            cost_usd=(self.cost_usd or 0.0) + (other.cost_usd or 0.0) if known else None,
            reread=self.reread + other.reread,
        )


@dataclass(frozen=True, slots=True)
class Row:
    """One line of `rows.jsonl`.

    Attributes:
        id: Unique within the trainset.
        inputs: The program's input fields by name.
        reference: What is known about a good answer; `draft`, where present, may be a demo.
        tags: Kinds of row; splits are stratified by them.
        group: Rows of one group share a split and are resampled together; the id by default.
        split: Which split the row is in; None until splits are assigned.
        origin: Where the row comes from, in the author's words.
        line: Line in the file, from 1; None for a row made in memory.
    """

    id: str
    inputs: Mapping[str, object]
    reference: Mapping[str, object] = field(default_factory=dict)
    tags: tuple[str, ...] = ()
    group: str = ""
    split: Split | None = None
    origin: str | None = None
    line: int | None = None


@dataclass(frozen=True, slots=True)
class Check:
    """A rule decided by code.

    Attributes:
        id: Name of the rule; its measure has the same id.
        fn: `fn(facts, draft)` returns None where the rule is met, else the gap: one sentence
            that tells a writer what is wrong and what would be right. Facts are the program's
            inputs and everything that `prepare` added. It must not change them.
        rule: The rule as a sentence that a person reads.
        must_pass: Whether an unmet rule costs a revision.
        told: Whether the drafter learns the rule from its instructions or inputs.
    """

    id: str
    fn: CheckFunction
    rule: str
    must_pass: bool = True
    told: bool = True


@dataclass(frozen=True, slots=True)
class Criterion:
    """A statement about the draft that is put to the checker's model.

    Attributes:
        id: Name of the rule; its measure, if there is one, has the same id.
        statement: What must be true of the draft, in the user's words; never tuned.
        must_pass: Whether an unmet criterion costs a revision.
        told: Whether the drafter learns it from its instructions or inputs.
    """

    id: str
    statement: str
    must_pass: bool = True
    told: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Loop:
    """Settings of the answer-time loop.

    Attributes:
        max_revisions: Further tries after a failed check; 0 or more.
        on_fail: What is called after a failed check: the reviser with the gaps, or the drafter
            again with the next seed.
        returns: Which draft is returned when none passed; by default `last` with `revise` and
            `best` with `resample`.
        patience: Revisions without fewer findings after which `revise` gives up; 1 or more.
        ask_after_failed_checks: Whether the model checker is asked although a must-pass check
            failed already.
        enabled: False means that the draft is returned unchecked.
    """

    max_revisions: int = 2
    on_fail: OnFail = "revise"
    returns: Returns | None = None
    patience: int = 2
    ask_after_failed_checks: bool = False
    enabled: bool = True

    def __post_init__(self) -> None:
        if self.max_revisions < 0:
            raise ConfigError(
                f"max_revisions must be 0 or more, got {self.max_revisions}; "
                "use 0 to check once and never revise"
            )
        if self.patience < 1:
            raise ConfigError(f"patience must be 1 or more, got {self.patience}")
        if self.on_fail not in ("revise", "resample"):
            raise ConfigError(f"on_fail must be 'revise' or 'resample', got {self.on_fail!r}")
        if self.returns not in (None, "last", "best"):
            raise ConfigError(f"returns must be 'last' or 'best', got {self.returns!r}")

    @property
    def returned(self) -> Returns:
        """The draft that is returned when none passed, with the default filled in."""
        return self.returns or ("last" if self.on_fail == "revise" else "best")


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What one role asks of its model.

    Attributes:
        max_tokens: Tokens a reply may have; 1 or more.
        temperature: Sampling temperature in [0, 2], where the model takes one.
        resample_temperature: Temperature of further tries with `on_fail="resample"`.
    """

    max_tokens: int = 1024
    temperature: float = 0.0
    resample_temperature: float = 0.8

    def __post_init__(self) -> None:
        if self.max_tokens < 1:
            raise ConfigError(f"max_tokens must be 1 or more, got {self.max_tokens}")
        for name, value in (
            ("temperature", self.temperature),
            ("resample_temperature", self.resample_temperature),
        ):
            if not 0 <= value <= 2:
                raise ConfigError(f"{name} must be in [0, 2], got {value}")


@dataclass(frozen=True, slots=True)
class Demo:
    """One worked example shown to a predictor.

    Attributes:
        fields: Input and output fields of the predictor, by name.
        row_id: The row it was made from; None where it was written by hand.
        model: The model that wrote the outputs; None where they come from the row.
    """

    fields: Mapping[str, object]
    row_id: str | None = None
    model: str | None = None


@dataclass(frozen=True, slots=True)
class PredictorState:
    """What tuning may change of one predictor."""

    instructions: str
    demos: tuple[Demo, ...] = ()


@dataclass(frozen=True, slots=True)
class ProgramState:
    """What tuning may change of a program.

    Attributes:
        predictors: By name: `draft`, `check`, `revise`, or `draft.NAME` where the drafter is a
            module.
        loop: Settings of the loop.
        options: By role; roles without an entry use the defaults.
    """

    predictors: Mapping[str, PredictorState]
    loop: Loop
    options: Mapping[Role, Options]


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
        reply: The checker's reply verbatim; None where no model was asked.
        failure: Why the check could not be completed; None when it was.
    """

    passed: bool
    findings: tuple[Finding, ...]
    not_asked: tuple[str, ...]
    draft_digest: str
    checker_digest: str
    reply: str | None = None
    failure: Failure | None = None

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
    """

    number: int
    draft: str
    verdict: Verdict | None
    diff: str
    share_changed: float | None
    usage: Usage
    seconds: float


@dataclass(frozen=True, slots=True)
class Answer:
    """Everything that happened for one call of a program.

    Attributes:
        draft: The draft that is returned; None exactly when attempt 1 gave none.
        passed: True only for `stopped_by == "passed"`, None for `unchecked`, else False.
        stopped_by: Why the loop ended.
        unmet: Ids of the returned draft's must-pass rules that are not met or could not be
            assessed, then of its minor ones.
        attempts: In order.
        returned: Number of the attempt whose draft is returned; None when there is no draft.
        best: Number of the best judged attempt; None when none was judged.
        usage: Over all roles and attempts, failed calls included.
        failure: Why a role gave nothing usable; None when every call did.
        artifact_id: The artifact that answered; None for the program as its file stands.
        trace_id: None until answers are stored.
    """

    draft: str | None
    passed: bool | None
    stopped_by: StoppedBy
    unmet: tuple[str, ...]
    attempts: tuple[Attempt, ...]
    returned: int | None
    best: int | None
    usage: Usage
    failure: Failure | None = None
    artifact_id: str | None = None
    trace_id: str | None = None

    @property
    def revisions(self) -> int:
        """Further tries after the first draft; 0 or more."""
        return max(0, len(self.attempts) - 1)


@dataclass(frozen=True, slots=True)
class Score:
    """What the rubric says of one draft.

    Attributes:
        value: Weighted mean of the measures, in [0, 1].
        measures: Value of each measure in [0, 1], by id.
        passed: `value` reaches the rubric's mark and every must-pass measure is 1.
        feedback: One sentence per measure below 1, in the rubric's order.
    """

    value: float
    measures: Mapping[str, float]
    passed: bool
    feedback: tuple[str, ...] = ()
