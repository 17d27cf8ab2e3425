"""What a command may spend: the estimate before it, and the question where there is no cap."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

import typer

from redraft.budget import Caps
from redraft.cli.output import print_note, print_record
from redraft.errors import ConfigError
from redraft.estimate import NOTHING, RoleEstimate, Span, Work, estimate
from redraft.lm import Models

_NO_CAP = (
    "Give --max-cost-usd X, --max-tokens N or --max-calls N to say how much may be spent, "
    "or --max-seconds S"
)


@dataclass(frozen=True, slots=True)
class Plan:
    """What a command is about to do.

    Attributes:
        work: Calls it would make, program by program.
        models: What answers them.
        details: What else is known beforehand, JSON-ready.
    """

    work: Sequence[Work]
    models: Models
    details: Mapping[str, object]

    @property
    def is_free(self) -> bool:
        """Whether every call is known to cost nothing."""
        models = self.models
        roles = (models.drafter, models.checker, models.reviser, models.proposer, models.judge)
        return all(model is None or model.cost == 0 for model in roles)

    def estimated(self) -> "Estimated":
        """Return what it would take; prompts are counted by the provider where that is free."""
        return Estimated(estimate(self.work, self.models), self.details)


@dataclass(frozen=True, slots=True)
class Estimated:
    """What a command would take.

    Attributes:
        roles: One estimate a role that is called.
        details: What else is known beforehand, JSON-ready.
    """

    roles: Sequence[RoleEstimate]
    details: Mapping[str, object]

    @property
    def calls(self) -> Span:
        """Calls to models over all roles."""
        return sum((role.calls for role in self.roles), NOTHING).whole()

    @property
    def tokens(self) -> Span:
        """Tokens over all roles."""
        return sum((role.tokens for role in self.roles), NOTHING).whole()

    @property
    def cost_usd(self) -> Span | None:
        """Dollars over all roles; None where one is not known."""
        known = [role.cost_usd for role in self.roles if role.cost_usd is not None]
        return sum(known, NOTHING) if len(known) == len(self.roles) else None

    def record(self) -> dict[str, object]:
        """Return what `--dry-run --json` prints."""
        return {
            "calls": asdict(self.calls),
            "tokens": asdict(self.tokens),
            "cost_usd": None if self.cost_usd is None else asdict(self.cost_usd),
            "roles": {role.role: _role_record(role) for role in self.roles},
            **self.details,
        }

    def text(self) -> str:
        """Return the same as sentences."""
        calls, tokens = self.calls, self.tokens
        lines = [
            f"Calls to models: {calls.best:,} at best, {calls.expected:,} if half of the drafts "
            f"pass, {calls.worst:,} at worst, retries not counted.",
            f"Tokens: about {tokens.best:,}, {tokens.expected:,} and {tokens.worst:,}, "
            f"{self._counted_by}.",
            _price_text(self.cost_usd),
        ]
        if len(self.roles) > 1:
            lines += [_role_text(role) for role in self.roles]
        return "\n".join([*lines, *(f"{name}: {value}" for name, value in self.details.items())])

    @property
    def _counted_by(self) -> str:
        if all(role.is_counted for role in self.roles):
            return "with prompts counted by the provider on a few rows"
        return "estimated on a few rows, at four bytes a token where the model does not count"


def settle(plan: Plan, caps: Caps, *, dry_run: bool, as_json: bool) -> None:
    """End a dry run with its estimate; ask before anything is spent without a cap; try the key.

    Raises:
        ConfigError: There is no cap and nobody to be asked; the flags are named.
        ModelError: Dollars are capped and a price is not known; or a key or a model is refused.
        typer.Exit: It was a dry run, or the answer is no.
    """
    if caps.max_cost_usd is not None:
        plan.models.require_prices()
    if dry_run:
        found = plan.estimated()
        print_record(found.record()) if as_json else print(found.text())
        raise typer.Exit(0)
    if not plan.is_free and not _is_capped(caps):
        _ask(plan.estimated().text())
    plan.models.verify()


def _is_capped(caps: Caps) -> bool:
    given = (caps.max_calls, caps.max_tokens, caps.max_seconds, caps.max_cost_usd)
    return any(cap is not None for cap in given)


def _ask(text: str) -> None:
    if not sys.stdin.isatty():
        raise ConfigError(f"{text}\n{_NO_CAP}")
    print_note(text)
    if not typer.confirm("Go on?", err=True):
        raise typer.Exit(1)


def _price_text(cost: Span | None) -> str:
    if cost is None:
        return "What they cost is not known."
    if cost == NOTHING:
        return "They cost nothing."
    return f"Dollars: about {_dollars(cost)}, without what a cache of prompts saves."


def _role_text(role: RoleEstimate) -> str:
    calls, tokens = role.calls.whole(), role.tokens.whole()
    price = "price unknown" if role.cost_usd is None else _dollars(role.cost_usd)
    return (
        f"  {role.role} ({role.model}): {calls.best:,}, {calls.expected:,}, {calls.worst:,} calls; "
        f"{tokens.best:,}, {tokens.expected:,}, {tokens.worst:,} tokens; {price}"
    )


def _dollars(cost: Span) -> str:
    return f"${cost.best:.2f}, ${cost.expected:.2f} and ${cost.worst:.2f}"


def _role_record(role: RoleEstimate) -> dict[str, object]:
    return {
        "model": role.model,
        "calls": asdict(role.calls.whole()),
        "tokens": asdict(role.tokens.whole()),
        "cost_usd": None if role.cost_usd is None else asdict(role.cost_usd),
        "prompts_counted": role.is_counted,
    }
