"""What a command may spend: the estimate before it, and the question when the price is unknown."""

import sys
from dataclasses import asdict, dataclass
from typing import NoReturn

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
        expected: If half of the drafts pass at each attempt.
        worst: If no draft passes and every checker's reply needs its repair turn.
    """

    best: int
    expected: int
    worst: int

    def times(self, number: int) -> "Calls":
        """Return the calls of `number` such answers."""
        return Calls(self.best * number, self.expected * number, self.worst * number)


def answer_calls(program: Program) -> Calls:
    """Return the calls of one answer."""
    if not program.loop.enabled:
        return Calls(1, 1, 1)
    attempts = 1 + program.loop.max_revisions
    asked = 1 if program.criteria else 0
    expected = 2 - 0.5 ** (attempts - 1)
    return Calls(
        best=1 + asked,
        expected=round(expected * (1 + asked)),
        worst=attempts * (1 + 2 * asked),
    )


def price_usd(models: Models) -> float | None:
    """Return 0.0 where every call is free, None where a model's price is not known."""
    roles = (models.drafter, models.checker, models.reviser, models.proposer, models.judge)
    return None if any(model is not None and model.cost is None for model in roles) else 0.0


def print_estimate(calls: Calls, models: Models, *, as_json: bool) -> NoReturn:
    """Print what a command would spend, on stdout, and end it: a dry run."""
    if as_json:
        print_record({"calls": asdict(calls), "cost_usd": price_usd(models)})
    else:
        print(estimate_text(calls, models))
    raise typer.Exit(0)


def estimate_text(calls: Calls, models: Models) -> str:
    """Return the estimate as a sentence or two."""
    price = "They cost nothing." if price_usd(models) == 0 else "What they cost is not known."
    return (
        f"Calls to models: {calls.best:,} at best, {calls.expected:,} if half of the drafts pass, "
        f"{calls.worst:,} at worst, retries not counted. {price}"
    )


def agree_to_spend(calls: Calls, models: Models, caps: RunCaps) -> None:
    """Ask before calls of unknown price are made without a cap.

    Raises:
        ConfigError: Nobody is there to be asked; it names the flag.
        typer.Exit: The answer is no.
    """
    capped = caps.max_calls is not None or caps.max_seconds is not None
    if capped or price_usd(models) == 0:
        return
    if not sys.stdin.isatty():
        raise ConfigError(
            f"{estimate_text(calls, models)} Give --max-calls N to say how many may be made"
        )
    print_note(estimate_text(calls, models))
    if not typer.confirm("Go on?", err=True):
        raise typer.Exit(1)
