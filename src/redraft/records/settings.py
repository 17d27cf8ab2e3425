"""What a program is declared and tuned with: rules, loop settings, options, demos."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from redraft.errors import ConfigError

Role = Literal["drafter", "checker", "reviser", "proposer", "judge"]

OnFail = Literal["revise", "resample"]
Returns = Literal["last", "best"]
Effort = Literal["low", "medium", "high", "xhigh", "max"]
EFFORTS: tuple[Effort, ...] = get_args(Effort)

CheckFunction = Callable[[Mapping[str, object], str], str | None]


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
        votes: Times the model checker judges a draft at most; odd, 1 or more. It is asked again
            until more than half of them agree on every must-pass criterion.
        enabled: False means that the draft is returned unchecked.
    """

    max_revisions: int = 2
    on_fail: OnFail = "revise"
    returns: Returns | None = None
    patience: int = 2
    ask_after_failed_checks: bool = False
    votes: int = 1
    enabled: bool = True

    def __post_init__(self) -> None:
        if self.max_revisions < 0:
            raise ConfigError(
                f"max_revisions must be 0 or more, got {self.max_revisions}; "
                "use 0 to check once and never revise"
            )
        if self.patience < 1:
            raise ConfigError(f"patience must be 1 or more, got {self.patience}")
        if self.votes < 1 or self.votes % 2 == 0:
            raise ConfigError(
                f"votes must be odd and 1 or more, got {self.votes}; an even number could tie"
            )
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
        resample_temperature: Temperature of further tries with `on_fail="resample"`, and of the
            checker's further votes.
        effort: How hard the model thinks before it replies, where the model has such a setting;
            None for `high` in the checker, and elsewhere for what the model does by itself.
    """

    max_tokens: int = 1024
    temperature: float = 0.0
    resample_temperature: float = 0.8
    effort: Effort | None = None

    def __post_init__(self) -> None:
        if self.max_tokens < 1:
            raise ConfigError(f"max_tokens must be 1 or more, got {self.max_tokens}")
        for name, value in (
            ("temperature", self.temperature),
            ("resample_temperature", self.resample_temperature),
        ):
            if not 0 <= value <= 2:
                raise ConfigError(f"{name} must be in [0, 2], got {value}")
        if self.effort not in (None, *EFFORTS):
            raise ConfigError(f"effort must be one of {', '.join(EFFORTS)}, got {self.effort!r}")


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
