"""Arguments and flags that several commands share; each says its default."""

from typing import Annotated

import typer

Name = Annotated[
    str, typer.Argument(metavar="NAME", show_default=False, help="Program in programs/NAME.py.")
]
_FROM_PROJECT = "[tool.redraft] in pyproject.toml"
Lm = Annotated[
    str | None,
    typer.Option("--lm", metavar="MODEL", show_default=_FROM_PROJECT, help="Model of every role."),
]
DrafterLm = Annotated[
    str | None,
    typer.Option("--drafter-lm", metavar="MODEL", show_default="--lm", help="Model that drafts."),
]
CheckerLm = Annotated[
    str | None,
    typer.Option("--checker-lm", metavar="MODEL", show_default="--lm", help="Model that checks."),
]
ReviserLm = Annotated[
    str | None,
    typer.Option(
        "--reviser-lm", metavar="MODEL", show_default="the drafter's", help="Model that revises."
    ),
]
Artifact = Annotated[
    str | None,
    typer.Option(
        "--artifact",
        metavar="ID|current|base",
        show_default="current, else base",
        help="What answers: an artifact, or the program as its file stands.",
    ),
]
AllowDrift = Annotated[
    bool,
    typer.Option(
        "--allow-drift", help="Go on although files differ from those it was compiled with."
    ),
]
MaxCalls = Annotated[
    int | None,
    typer.Option(
        "--max-calls", metavar="N", min=1, show_default="no cap", help="Calls to models at most."
    ),
]
MaxTokens = Annotated[
    int | None,
    typer.Option(
        "--max-tokens",
        metavar="N",
        min=1,
        show_default="no cap",
        help="Tokens at most, sent and received.",
    ),
]
MaxCostUsd = Annotated[
    float | None,
    typer.Option(
        "--max-cost-usd",
        metavar="X",
        show_default="no cap",
        help="Dollars at most; refused where a price is not known.",
    ),
]
MaxSeconds = Annotated[
    float | None,
    typer.Option(
        "--max-seconds", metavar="S", show_default="no cap", help="Wall time at most, in seconds."
    ),
]
Rows = Annotated[
    int | None,
    typer.Option(
        "--rows", metavar="N", min=1, show_default="all", help="Rows at most; always the same ones."
    ),
]
Seed = Annotated[
    int, typer.Option("--seed", metavar="N", min=0, help="Seed of the search and of sampling.")
]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Say what it would take, and spend nothing.")
]
Json = Annotated[bool, typer.Option("--json", help="Print the record as JSON.")]
