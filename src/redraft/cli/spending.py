"""What a command may spend: the estimate before it, and the question when the price is unknown."""

import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass

import typer

from redraft.budget import RunCaps
from redraft.cli.output import print_note, print_record
from redraft.errors import ConfigError
from redraft.lm import Models
from redraft.program import Program


@dataclass(frozen=True, slots=True)
class Calls:
    """Calls to models that a command would make, retries not counted.

    Attributes:
        best: If every first draft passes.
        expected: Between the two, as if half of the drafts passed.
        worst: If no draft passes and every checker's reply needs its repair turn.
    """

    best: int
    expected: int
    worst: int

    def __add__(self, other: "Calls") -> "Calls":
        return Calls(
            self.best + other.best, self.expected + other.expected, self.worst + other.worst
        )


@dataclass(frozen=True, slots=True)
class Plan:
    """What a command is about to do.

    Attributes:
        calls: Calls it would make.
        models: What answers them.
        details: What else is known beforehand, JSON-ready.
    """

    calls: Calls
    models: Models
    details: Mapping[str, object]

    @property
    def cost_usd(self) -> float | None:
        """0.0 where every call is free, None where a model's price is not known."""
        models = self.models
        roles = (models.drafter, models.checker, models.reviser, models.proposer, models.judge)
        return None if any(model is not None and model.cost is None for model in roles) else 0.0

    def record(self) -> dict[str, object]:
        """Return what `--dry-run --json` prints."""
        return {"calls": asdict(self.calls), "cost_usd": self.cost_usd, **self.details}

    def text(self) -> str:
        """Return the same as sentences."""
        price = "They cost nothing." if self.cost_usd == 0 else "What they cost is not known."
        calls = self.calls
        lines = [
            f"Calls to models: {calls.best:,} at best, {calls.expected:,} if half of the drafts "
            f"pass, {calls.worst:,} at worst, retries not counted. {price}",
            *(f"{name}: {value}" for name, value in self.details.items()),
        ]
        return "\n".join(lines)


def answer_calls(program: Program, answers: int) -> Calls:
    """Return the calls of a number of answers."""
    drafts = len(program.draft.predictors())
    if not program.loop.enabled:
        return Calls(drafts * answers, drafts * answers, drafts * answers)
    asked = 1 if program.criteria else 0
    attempts = 1 + program.loop.max_revisions
    # Only must-pass criteria are voted on, and only until most votes agree.
    votes = program.loop.votes if any(c.must_pass for c in program.criteria) else 1
    once = drafts + asked * (votes // 2 + 1)
    return Calls(
        best=once * answers,
        expected=round(once * (2 - 0.5 ** (attempts - 1)) * answers),
        worst=attempts * (drafts + 2 * asked * votes) * answers,
    )


def settle(plan: Plan, caps: RunCaps, *, dry_run: bool, as_json: bool) -> None:
    """End a dry run with its estimate; ask before calls of unknown price are made without a cap.

    Raises:
        ConfigError: There is no cap and nobody to be asked; the flag is named.
        typer.Exit: It was a dry run, or the answer is no.
    """
    if dry_run:
        print_record(plan.record()) if as_json else print(plan.text())
        raise typer.Exit(0)
    capped = caps.max_calls is not None or caps.max_seconds is not None
    if capped or plan.cost_usd == 0:
        return
    if not sys.stdin.isatty():
        raise ConfigError(f"{plan.text()}\nGive --max-calls N to say how many may be made")
    print_note(plan.text())
    if not typer.confirm("Go on?", err=True):
        raise typer.Exit(1)
