"""`redraft compile`: tune a program on its rows, pass the gate, write the artifact."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from redraft.budget import RunCaps
from redraft.cli import flags
from redraft.cli.headroom_text import headroom_text
from redraft.cli.opening import REPLIES, ModelFlags, open_models
from redraft.cli.output import print_note, print_record
from redraft.cli.progress import progress_bar
from redraft.cli.spending import Plan, settle
from redraft.compilation import Promote
from redraft.compiler import (
    CompileEstimate,
    CompileOptions,
    compile_program,
    estimate_compile,
    headroom_calls,
    measure_headroom,
)
from redraft.estimate import Span, Work, shared_work
from redraft.evaluator import resolve
from redraft.lm import Models
from redraft.project import find_root
from redraft.report.compilation import compilation_text

EXAMPLE = "redraft compile product_blurb --dry-run"


def command(
    name: flags.Name,
    *,
    optimizer: Annotated[
        str, typer.Option("--optimizer", metavar="METHOD", help="How prompts are proposed.")
    ] = "bootstrap",
    seed: flags.Seed = 0,
    promote: Annotated[
        Promote, typer.Option("--promote", help="When the artifact becomes the one that answers.")
    ] = "confirmed",
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Ask the models again although replies are recorded.")
    ] = False,
    lm: flags.Lm = None,
    drafter_lm: flags.DrafterLm = None,
    checker_lm: flags.CheckerLm = None,
    reviser_lm: flags.ReviserLm = None,
    max_calls: Annotated[
        int | None,
        typer.Option(
            "--max-calls",
            metavar="N",
            min=1,
            show_default="compile_calls in [tool.redraft], 1200 without it",
            help="Calls to models at most; the gate's are kept back.",
        ),
    ] = None,
    max_tokens: flags.MaxTokens = None,
    max_cost_usd: flags.MaxCostUsd = None,
    max_seconds: flags.MaxSeconds = None,
    dry_run: flags.DryRun = False,
    as_json: flags.Json = False,
    headroom: Annotated[
        bool,
        typer.Option(
            "--headroom", help="Only measure what there is to gain, for a tenth of the calls."
        ),
    ] = False,
) -> None:
    """Compile a program and print what came of it."""
    root = find_root()
    caps = RunCaps(
        max_calls=max_calls,
        max_tokens=max_tokens,
        max_cost_usd=max_cost_usd,
        max_seconds=max_seconds,
    )
    named = ModelFlags(lm=lm, drafter=drafter_lm, checker=checker_lm, reviser=reviser_lm)
    with open_models(
        root, named, replies=None if fresh else root / REPLIES, keyless=dry_run
    ) as models:
        if headroom:
            job = _Job(name, root, models, caps, seed)
            _print_headroom(job, dry_run=dry_run, as_json=as_json)
            return
        estimate = estimate_compile(
            name, optimizer=optimizer, caps=caps, seed=seed, root=root, models=models
        )
        settle(_plan(root, name, estimate, models), caps, dry_run=dry_run, as_json=as_json)
        print_note(_gate_text(name, estimate))
        with progress_bar(f"compile {name}") as bar:
            compilation = compile_program(
                name,
                optimizer=optimizer,
                caps=caps,
                seed=seed,
                promote=promote,
                root=root,
                models=models,
                progress=bar.stage,
            )
    if as_json:
        print_record(compilation.record())
    else:
        print(compilation_text(compilation))
    raise typer.Exit(compilation.exit_code)


def _gate_text(name: str, estimate: CompileEstimate) -> str:
    """Return what the gate can show, as it is said before anything is spent."""
    smallest = estimate.smallest_detectable
    shows = "too few to show any gain" if smallest is None else f"gains from {smallest:.2f} up"
    return (
        f"{name}: the gate looks at {estimate.gate_rows} rows at level {estimate.level:.4f}; "
        f"rows like these show {shows}."
    )


@dataclass(frozen=True, slots=True)
class _Job:
    name: str
    root: Path
    models: Models
    caps: RunCaps
    seed: int


def _print_headroom(job: _Job, *, dry_run: bool, as_json: bool) -> None:
    """Measure and print what there is to gain; nothing is tuned and nothing is written."""
    circumstances = CompileOptions(root=job.root, models=job.models, seed=job.seed)
    calls = headroom_calls(job.name, caps=job.caps, **circumstances)
    subject = resolve(job.name, root=job.root, artifact="base", models=job.models)
    work = Work(
        program=subject.program,
        rows=subject.rows("train"),
        calls={"drafter": Span(calls, calls, calls)},
    )
    settle(Plan([work], job.models, {}), job.caps, dry_run=dry_run, as_json=as_json)
    with progress_bar(f"headroom of {job.name}") as bar:
        circumstances["progress"] = bar.stage
        found = measure_headroom(job.name, caps=job.caps, **circumstances)
    print_record(found.record()) if as_json else print(headroom_text(found))


def _plan(root: Path, name: str, estimate: CompileEstimate, models: Models) -> Plan:
    subject = resolve(name, root=root, artifact="base", models=models)
    calls = Span(estimate.best, estimate.expected, estimate.worst)
    work = shared_work(subject.program, subject.rows("val"), calls, demos=estimate.demos)
    details = {
        "cap on calls": estimate.cap,
        "smallest cap": estimate.needed,
        "val rows": estimate.val_rows,
        "gate rows": estimate.gate_rows,
        "level of the gate's look": estimate.level,
        "smallest gain that would show": estimate.smallest_detectable,
    }
    return Plan([work], models, details)
