"""`redraft demo`: compile, answer, compare and a control, on a scratch copy of the project."""

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from redraft.budget import RunCaps
from redraft.cli import flags
from redraft.cli.answer_text import write_answer
from redraft.cli.numbers import interval, signed
from redraft.cli.opening import ModelFlags, open_models
from redraft.cli.output import print_note, text_width
from redraft.cli.progress import progress_bar, spent_so_far
from redraft.cli.spending import Plan, settle
from redraft.comparison import Comparison
from redraft.demonstration import (
    COMPILE_CALLS,
    LIMITS,
    PROGRAM,
    TEST_ROWS,
    Control,
    Stage,
    answer_both,
    compare_small,
    compile_small,
    control_of,
    copy_project,
    require_program,
)
from redraft.estimate import Span, shared_work
from redraft.evaluator import resolve
from redraft.lm import Models
from redraft.lm.catalogue import models_folder
from redraft.lm.names import DEFAULT_LOCAL
from redraft.project import find_root
from redraft.records import Answer, Usage
from redraft.report.comparison import comparison_text
from redraft.report.compilation import outcome_text

EXAMPLE = "redraft demo --dry-run"

# Five programs answer the rows of the comparison, each with up to two revisions.
_COMPARE_CALLS = Span(4 * TEST_ROWS, 7 * TEST_ROWS, 15 * TEST_ROWS)
_COMPILE_CALLS = Span(COMPILE_CALLS // 3, COMPILE_CALLS // 2, COMPILE_CALLS)


def command(
    name: Annotated[
        str, typer.Argument(metavar="[NAME]", help="Program in programs/NAME.py.")
    ] = PROGRAM,
    *,
    lm: Annotated[
        str, typer.Option("--lm", metavar="MODEL", help="Model of every role.")
    ] = DEFAULT_LOCAL,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="FOLDER",
            show_default="demo/NAME in the user's cache",
            help="Where the numbers go, as JSON Lines.",
        ),
    ] = None,
    max_calls: Annotated[
        int | None,
        typer.Option(
            "--max-calls",
            metavar="N",
            min=1,
            show_default=f"{COMPILE_CALLS} for compiling, no cap for comparing",
            help="Calls that compiling may make, and comparing again.",
        ),
    ] = None,
    max_tokens: flags.MaxTokens = None,
    max_cost_usd: flags.MaxCostUsd = None,
    dry_run: flags.DryRun = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="With --dry-run: print the record as JSON.")
    ] = False,
) -> None:
    """Run every step on fewer rows and print what came of it."""
    root, cache = find_root(), models_folder().parent / "demo" / name
    require_program(root, name)
    out = out or cache
    caps = RunCaps(max_calls=max_calls, max_tokens=max_tokens, max_cost_usd=max_cost_usd)
    replies = cache / "replies.sqlite"
    with open_models(root, ModelFlags(lm=lm), replies=replies, keyless=dry_run) as models:
        plan = _plan(root, name, models, lm)
        settle(plan, caps, dry_run=dry_run, as_json=as_json)
        with tempfile.TemporaryDirectory(prefix="redraft-demo-") as scratch:
            stage = Stage(
                name=name,
                root=copy_project(root, name, Path(scratch)),
                models=models,
                out=out,
                caps=None if caps == RunCaps() else caps,
            )
            _play(stage, lm)


def _plan(root: Path, name: str, models: Models, lm: str) -> Plan:
    subject = resolve(name, root=root, artifact="base", models=models)
    rows = subject.rows("val")
    compiling = shared_work(subject.program, rows, _COMPILE_CALLS, demos=max(LIMITS.sizes))
    comparing = shared_work(subject.program, rows, _COMPARE_CALLS, demos=max(LIMITS.sizes))
    details = {"model": lm, "rows of the comparison": TEST_ROWS}
    return Plan([compiling, comparing], models, details)


def _play(stage: Stage, lm: str) -> None:
    _print_part("What this is", _introduction(stage, lm))
    with progress_bar("compile") as bar:
        compilation = compile_small(stage, bar.stage)
    _note_spend(compilation.usage)
    stage = stage.after(compilation.usage)
    _print_part("1. Compile", outcome_text(compilation))
    _print_part("2. Answer one request", "")
    for artifact, answer in answer_both(stage, compilation).items():
        _write_answer(artifact, answer)
        stage = stage.after(answer.usage)
    with progress_bar("compare") as bar:
        comparison = compare_small(stage, compilation, bar.rows)
    if comparison is not None:
        _note_spend(comparison.usage)
    _print_part("3. Compare", _comparison_text(comparison))
    _print_part("4. A control with nothing to win", _control_text(control_of(stage, compilation)))
    _print_part("What the demo does not show", _limits_text(stage))


def _print_part(title: str, text: str) -> None:
    print(f"\n== {title}\n", flush=True)
    if text:
        print(text, flush=True)


def _introduction(stage: Stage, lm: str) -> str:
    return (
        f"{stage.name} is compiled, asked and measured with {lm}, on a scratch copy of the\n"
        "project and on fewer rows than `redraft compile` and `redraft compare` would take: up to\n"
        f"{LIMITS.train_rows} train rows answered for demos, {LIMITS.val_rows} val rows to choose "
        f"on, {LIMITS.gate_rows} gate rows, {TEST_ROWS} test rows,\n"
        f"{LIMITS.sets_per_size} sets of demos in each of the sizes "
        f"{', '.join(map(str, LIMITS.sizes))}; drawing again, but no revising from feedback."
    )


def _write_answer(artifact: str, answer: Answer) -> None:
    print(f"As {artifact} answers it:\n", flush=True)
    # Reuse of recorded replies is told on stderr, so that a second run prints the same.
    fresh = replace(answer, usage=replace(answer.usage, reread=0))
    write_answer(Console(highlight=False, soft_wrap=True), fresh)
    print(flush=True)


def _comparison_text(comparison: Comparison | None) -> str:
    if comparison is None:
        return "The compile found nothing better than the opponent, so there is no artifact."
    fresh = replace(comparison, reread=replace(comparison.reread, replies=0))
    return comparison_text(fresh, width=text_width())


def _control_text(control: Control | None) -> str:
    if control is None:
        return "The compile compared nothing, so there are no recorded drafts to score again."
    effect = control.effect
    return (
        "The drafts that the compile compared last, scored again by a hash of row id and draft:\n"
        f"gain {signed(effect.estimate)} {interval(effect.low, effect.high, sign=True)} on "
        f"{effect.n} rows, and the gate says {control.verdict}.\n"
        f"Of {control.rubrics} such rubrics, each with another salt, the gate would have confirmed "
        f"{control.confirmed} and called\nthe compiled drafts worse under {control.worse}; its "
        f"level is {control.level:.0%} either way."
    )


def _limits_text(stage: Stage) -> str:
    return (
        "Anything about larger models: what helps one of this size may do nothing for them, and\n"
        "what does nothing here may help them. To run it on another model:\n"
        "  redraft demo --lm anthropic/MODEL --max-cost-usd 5   needs ANTHROPIC_API_KEY\n"
        "  redraft demo --lm PROVIDER/MODEL                     any other name that DSPy knows\n\n"
        "Every number above can be computed again from the files in\n"
        f"  {stage.out}\n"
        "docs/formats.md says what they hold."
    )


def _note_spend(usage: Usage) -> None:
    print_note(f"Spent: {spent_so_far(usage)}.")
