"""`redraft evaluate`: a program's score on one split of its rows."""

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from redraft.budget import Meter, RunCaps
from redraft.cli import flags
from redraft.cli.numbers import interval, number
from redraft.cli.opening import BATCHES, REPLIES, ModelFlags, open_models, open_program
from redraft.cli.output import print_note, print_record
from redraft.cli.progress import progress_bar, spent_so_far
from redraft.cli.spending import Plan, settle
from redraft.estimate import answer_work
from redraft.evaluator import Evaluation, EvaluationRun, check_batchable, evaluate, resolve
from redraft.project import find_root
from redraft.records import Split

EXAMPLE = "redraft evaluate product_blurb --rows 5"


def command(
    name: flags.Name,
    *,
    split: Annotated[Split, typer.Option("--split", help="The rows to answer.")] = "val",
    rows: flags.Rows = None,
    artifact: flags.Artifact = None,
    allow_drift: flags.AllowDrift = False,
    seed: flags.Seed = 0,
    no_loop: Annotated[
        bool, typer.Option("--no-loop", help="Draft each row once and do not check.")
    ] = False,
    batch: Annotated[
        bool,
        typer.Option(
            "--batch",
            help="With --no-loop: ask Claude for all drafts in one batch, later and for half the "
            "price; the same command goes on with a batch under way.",
        ),
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", metavar="FILE", show_default="none", help="Write one JSON object a row here."
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
    """Answer the rows of one split and print the mean score."""
    root = find_root()
    caps = RunCaps(
        max_calls=max_calls,
        max_tokens=max_tokens,
        max_cost_usd=max_cost_usd,
        max_seconds=max_seconds,
    )
    named = ModelFlags(lm=lm, drafter=drafter_lm, checker=checker_lm, reviser=reviser_lm)
    with open_models(root, named, replies=root / REPLIES, keyless=dry_run) as models:
        program = open_program(
            root, name, artifact=artifact, models=models, allow_drift=allow_drift
        )
        if no_loop:
            program = program.with_loop(replace(program.loop, enabled=False))
        if batch:
            check_batchable(program)
        chosen = resolve(program, root=root, allow_drift=allow_drift).rows(split, rows)
        plan = Plan([answer_work(program, chosen, batch=batch)], models, {"rows": len(chosen)})
        settle(plan, caps, dry_run=dry_run, as_json=as_json)
        with progress_bar(f"evaluate {name}") as bar:
            run = EvaluationRun(
                seed=seed,
                meter=Meter(caps),
                progress=bar.rows,
                sink=out,
                batches=root / BATCHES if batch else None,
            )
            evaluation = evaluate(
                program, root=root, split=split, limit=rows, run=run, allow_drift=allow_drift
            )
    if as_json:
        print_record(evaluation.record())
    else:
        print(evaluation_text(evaluation))
    for reason in evaluation.reasons:
        print_note(f"No answer: {reason}")
    raise typer.Exit(1 if evaluation.reasons else 0)


def evaluation_text(evaluation: Evaluation) -> str:
    """Return an evaluation as a person reads it."""
    answered_by = evaluation.artifact_id or "base"
    lines = [
        f"{evaluation.program} ({answered_by}) on {_rows(evaluation.n)} of {evaluation.split}",
        f"score       {number(evaluation.mean)} {interval(evaluation.low, evaluation.high)}",
        f"pass rate   {number(evaluation.pass_rate)} of the rows pass the rubric",
        f"revisions   {number(evaluation.revisions_mean)} a row, "
        f"{number(evaluation.cap_hit_rate)} of the rows ended at a cap",
        f"spent       {spent_so_far(evaluation.usage)}",
    ]
    lines += _without_draft(evaluation)
    if evaluation.not_measured:
        lines.append(f"not measured: {_rows(evaluation.not_measured)}")
    if evaluation.checker_outages:
        lines.append(f"scored without being checked: {_rows(evaluation.checker_outages)}")
    return "\n".join(lines)


def _without_draft(evaluation: Evaluation) -> list[str]:
    """Return a line for each reason why measured rows, which score 0, have no draft."""
    failures = (r.answer.failure for r in evaluation.measured if r.answer.draft is None)
    reasons = Counter(failure.message for failure in failures if failure is not None)
    return [f"no draft: {_rows(count)}; {reason}" for reason, count in reasons.most_common()]


def _rows(count: int) -> str:
    return "1 row" if count == 1 else f"{count} rows"
