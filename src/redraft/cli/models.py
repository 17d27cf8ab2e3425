"""`redraft models`: what can be named, and the embedded model's file."""

from dataclasses import asdict
from enum import StrEnum
from typing import Annotated

import typer

from redraft.cli import flags
from redraft.cli.numbers import table
from redraft.cli.output import print_record
from redraft.lm.catalogue import ModelInfo, list_models
from redraft.lm.pull import pull_with_bar

EXAMPLE = "redraft models list"

_READY = {True: "ready", False: "not ready", None: ""}


class Action(StrEnum):
    """What to do with models."""

    LIST = "list"
    PULL = "pull"


def command(
    action: Annotated[Action, typer.Argument(show_default=False, help="What to do.")],
    *,
    as_json: flags.Json = False,
) -> None:
    """List models, or fetch the embedded one and print where it is."""
    if action is Action.PULL:
        path = str(pull_with_bar())
        print_record({"path": path}) if as_json else print(path)
        return
    models = list_models()
    if as_json:
        print_record({"models": [asdict(model) for model in models]})
    else:
        print(table([("NAME", "STATE", "WHAT IT IS", "NOTE"), *map(_cells, models)]))


def _cells(model: ModelInfo) -> tuple[str, str, str, str]:
    return model.name, _READY[model.ready], model.meaning, model.note
