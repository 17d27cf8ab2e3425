"""`redraft compare`: the 2x2, the alternatives, and what slips through."""

from pathlib import Path
from typing import Annotated

import typer

from redraft.artifact import current, list_artifacts
from redraft.budget import RunCaps
from redraft.cli import flags
from redraft.cli.opening import REPLIES, ModelFlags, open_models
from redraft.cli.output import print_note, print_record, text_width
from redraft.cli.progress import progress_bar
from redraft.cli.spending import Plan, settle
from redraft.comparison import Options, compare, plan_comparison
from redraft.errors import ConfigError
from redraft.estimate import answer_work
from redraft.project import find_root
from redraft.records import Split
from redraft.report.comparison import comparison_text

EXAMPLE = "redraft compare product_blurb --rows 12 --dry-run"


def command(
    name: flags.Name,
    *,
    split: Annotated[Split, typer.Option("--split", help="The rows to answer.")] = "test",
    rows: flags.Rows = None,
    artifact: Annotated[
        str | None,
        typer.Option(
            "--artifact",
            metavar="ID",
            show_default="current, else the newest",
            help="What is compared with base.",
        ),
    ] = None,
    against: Annotated[
        Path | None,
        typer.Option(
            "--against",
            metavar="FILE",
            show_default="none",
            help="Instructions of your own, as one more alternative.",
        ),
    ] = None,
    allow_drift: flags.AllowDrift = False,
    seed: flags.Seed = 0,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="FOLDER",
            show_default="none",
            help="Write one file of JSON Lines a run here.",
        ),
    ] = None,
    lm: flags.Lm = None,
    drafter_lm: flags.DrafterLm = None,
    checker_lm: flags.CheckerLm = None,
    reviser_lm: flags.ReviserLm = None,
    max_calls: flags.MaxCalls = None,
    max_tokens: flags.MaxTokens = None,
    max_cost_usd: flags.MaxCostUsd = None,
    max_seconds: flags.MaxSeconds = None,
    dry_run: flags.DryRun = False,
    as_json: flags.Json = False,
) -> None:
    """Compare base with an artifact, loop off and on."""
    root = find_root()
    caps = RunCaps(
        max_calls=max_calls,
        max_tokens=max_tokens,
        max_cost_usd=max_cost_usd,
        max_seconds=max_seconds,
    )
    named = ModelFlags(lm=lm, drafter=drafter_lm, checker=checker_lm, reviser=reviser_lm)
    with open_models(root, named, replies=root / REPLIES, keyless=dry_run) as models:
        options: Options = {
            "root": root,
            "models": models,
            "artifact": artifact or _default_artifact(root, name),
            "allow_drift": allow_drift,
            "split": split,
            "limit": rows,
            "seed": seed,
            "against": against,
            "caps": caps,
            "out": out,
        }
        planned = plan_comparison(name, **options)
        work = [answer_work(program, planned.rows) for program in planned.programs.values()]
        plan = Plan(work, models, {"rows": len(planned.rows), "programs": len(work)})
        settle(plan, caps, dry_run=dry_run, as_json=as_json)
        with progress_bar(f"compare {name}") as bar:
            options["progress"] = bar.rows
            comparison = compare(name, **options)
    if as_json:
        print_record(comparison.record())
    else:
        print(comparison_text(comparison, width=text_width()))
    for reason in comparison.reasons:
        print_note(f"No answer: {reason}")
    raise typer.Exit(1 if comparison.reasons else 0)


def _default_artifact(root: Path, name: str) -> str:
    """Return the promoted artifact, else the newest one."""
    promoted = current(root, name)
    if promoted is not None:
        return promoted
    written = list_artifacts(root, name)
    if not written:
        raise ConfigError(f"{name} has no artifact to compare with; compile first")
    print_note(f"{name}: no artifact is promoted, so the newest one, {written[-1]}, is compared.")
    return written[-1]
