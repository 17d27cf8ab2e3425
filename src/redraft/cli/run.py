"""`redraft run`: one answer, with every draft and verdict on the way."""

from dataclasses import asdict, replace
from typing import Annotated

import typer

from redraft.budget import Caps
from redraft.cli import flags
from redraft.cli.answer_text import write_answer
from redraft.cli.inputs import Inputs, read_inputs
from redraft.cli.opening import ModelFlags, open_models, open_program
from redraft.cli.output import print_record, stderr_console
from redraft.program import Program
from redraft.project import find_root
from redraft.records import Answer
from redraft.session import AnswerRun

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
    artifact: flags.Artifact = None,
    allow_drift: flags.AllowDrift = False,
    lm: flags.Lm = None,
    drafter_lm: flags.DrafterLm = None,
    checker_lm: flags.CheckerLm = None,
    reviser_lm: flags.ReviserLm = None,
    max_calls: flags.MaxCalls = None,
    max_seconds: flags.MaxSeconds = None,
    as_json: flags.Json = False,
) -> None:
    """Answer one request and print the draft."""
    root = find_root()
    caps = Caps(max_calls=max_calls, max_seconds=max_seconds)
    inputs = read_inputs(given)
    named = ModelFlags(lm=lm, drafter=drafter_lm, checker=checker_lm, reviser=reviser_lm)
    with open_models(root, named) as models:
        program = open_program(
            root, name, artifact=artifact, models=models, allow_drift=allow_drift
        )
        program = _with_loop(program, max_revisions=max_revisions, no_loop=no_loop)
        answer = program.answer_run(inputs, AnswerRun(caps=caps))
    if as_json:
        print_record(asdict(answer))
    else:
        write_answer(stderr_console(), answer)
        print(answer.draft or "", end="\n" if answer.draft else "")
    raise typer.Exit(exit_code(answer))


def exit_code(answer: Answer) -> int:
    """Return 0 for a draft that passed or was not to be checked, 1 for no draft, else 3."""
    if answer.draft is None:
        return 1
    return 3 if answer.passed is False else 0


def _with_loop(program: Program, *, max_revisions: int | None, no_loop: bool) -> Program:
    if max_revisions is not None:
        program = program.with_loop(replace(program.loop, max_revisions=max_revisions))
    if no_loop:
        program = program.with_loop(replace(program.loop, enabled=False))
    return program
