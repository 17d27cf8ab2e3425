"""`redraft models`: what can be named, and the embedded model's file."""

from enum import StrEnum
from typing import Annotated

import typer

from redraft.cli import flags
from redraft.cli.output import print_note, print_record
from redraft.lm import list_models, pull

EXAMPLE = "redraft models list"


class Action(StrEnum):
    """What to do with models."""

    list = "list"
    pull = "pull"


def command(
    action: Annotated[Action, typer.Argument(help="What to do.", show_default=False)],
    *,
    as_json: flags.Json = False,
) -> None:
    """List models, or fetch the embedded one."""
    if action is Action.pull:
        print_note("The embedded model is here:")
        print(pull())
