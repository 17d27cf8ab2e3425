"""`redraft run`: one answer, with every draft and verdict on the way."""

from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from redraft.budget import Caps
from redraft.cli import flags
from redraft.cli.answer_text import write_answer
from redraft.cli.inputs import Inputs, read_inputs
from redraft.cli.opening import ModelFlags, open_models, open_program
from redraft.cli.output import print_note, print_record, stderr_console
from redraft.errors import ConfigError
from redraft.program import Program
from redraft.project import find_root
from redraft.records import Answer
from redraft.session import AnswerRun
from redraft.traces import Trace, TraceStore, open_store, resume

EXAMPLE = (
    'redraft run product_blurb --input "request=Describe a kettle in one sentence. '
    'Use these words: steel, quiet, compact, cordless. Under 40 words."'
)


def command(
    name: flags.Name,
    *,
    given: Inputs = None,
    max_revisions: Annotated[
        int | None,
        typer.Option(
            "--max-revisions",
            metavar="N",
            min=0,
            show_default="the program's",
            help="Further tries after a failed check.",
        ),
    ] = None,
    no_loop: Annotated[
        bool, typer.Option("--no-loop", help="Draft once and do not check.")
    ] = False,
    resumed: Annotated[
        str | None,
        typer.Option(
            "--resume",
            metavar="TRACE",
            show_default="none",
            help="Go on with a stored answer; its inputs and recorded calls are taken as they are.",
        ),
    ] = None,
    no_store: Annotated[
        bool, typer.Option("--no-store", help="Keep no trace of the answer.")
    ] = False,
    artifact: flags.Artifact = None,
    allow_drift: flags.AllowDrift = False,
    lm: flags.Lm = None,
    drafter_lm: flags.DrafterLm = None,
    checker_lm: flags.CheckerLm = None,
    reviser_lm: flags.ReviserLm = None,
    max_calls: flags.MaxCalls = None,
    max_tokens: flags.MaxTokens = None,
    max_cost_usd: flags.MaxCostUsd = None,
    max_seconds: flags.MaxSeconds = None,
    as_json: flags.Json = False,
) -> None:
    """Answer one request and print the draft."""
    root = find_root()
    caps = Caps(
        max_calls=max_calls,
        max_tokens=max_tokens,
        max_cost_usd=max_cost_usd,
        max_seconds=max_seconds,
    )
    inputs = read_inputs(given)
    named = ModelFlags(lm=lm, drafter=drafter_lm, checker=checker_lm, reviser=reviser_lm)
    store, trace = _open_store(root, name, resumed=resumed, no_store=no_store)
    if trace is not None and artifact is None:
        artifact = trace.artifact_id or "base"
    with open_models(root, named) as models:
        if caps.max_cost_usd is not None:
            models.require_prices()
        program = open_program(
            root, name, artifact=artifact, models=models, allow_drift=allow_drift
        )
        if trace is not None:
            program = program.with_loop(trace.start.loop)
        program = _with_loop(program, max_revisions=max_revisions, no_loop=no_loop)
        if store is not None and trace is not None:
            answer = resume(store, trace.id, program, inputs=inputs or None, caps=caps)
        else:
            answer = program.with_traces(store).answer_run(inputs, AnswerRun(caps=caps))
    if as_json:
        print_record(asdict(answer))
    else:
        _write(answer)
    raise typer.Exit(exit_code(answer))


def exit_code(answer: Answer) -> int:
    """Return 0 for a draft that passed or was not to be checked, 1 for no draft, else 3."""
    if answer.draft is None:
        return 1
    return 3 if answer.passed is False else 0


def _open_store(
    root: Path, name: str, *, resumed: str | None, no_store: bool
) -> tuple[TraceStore | None, Trace | None]:
    """Return where the answer is stored, and the trace that it goes on with."""
    if no_store and resumed is not None:
        raise ConfigError("--resume goes on in a stored trace; leave --no-store out")
    if no_store:
        return None, None
    store = open_store(root)
    trace = None if resumed is None else store.load(resumed)
    if trace is not None and trace.program != name:
        raise ConfigError(
            f"trace {trace.id} is an answer of {trace.program!r}, not of {name!r}; "
            f"redraft run {trace.program} --resume {trace.id}"
        )
    return store, trace


def _write(answer: Answer) -> None:
    """Print the draft on stdout, and on stderr how it came about and what to do about it."""
    console = stderr_console()
    write_answer(console, answer)
    if answer.passed is False:
        console.print(Text(answer.handoff().text()))
    if answer.trace_id is not None:
        print_note(f"Stored: redraft traces show {answer.trace_id}")
    print(answer.draft or "", end="\n" if answer.draft else "")


def _with_loop(program: Program, *, max_revisions: int | None, no_loop: bool) -> Program:
    if max_revisions is not None:
        loop = replace(program.loop, max_revisions=max_revisions, enabled=True)
        program = program.with_loop(loop)
    if no_loop:
        program = program.with_loop(replace(program.loop, enabled=False))
    return program
