"""What a command opens before it works: the project's models and the program that answers."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from redraft.artifact import current, load
from redraft.cli.output import print_note
from redraft.lm import Models, connect, model_names
from redraft.program import Program
from redraft.project import read_config, source_path

REPLIES = Path(".redraft") / "replies.sqlite"
BATCHES = Path(".redraft") / "batches"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFlags:
    """The models named on the command line; None where a flag was left out."""

    lm: str | None = None
    drafter: str | None = None
    checker: str | None = None
    reviser: str | None = None


@contextmanager
def open_models(
    root: Path, flags: ModelFlags, *, replies: Path | None = None, keyless: bool = False
) -> Iterator[Models]:
    """Connect the models that flags and settings name, and close them afterwards.

    Args:
        root: The project.
        flags: What the command line says.
        replies: File of recorded replies that may be used again; never for an answer.
        keyless: Whether Claude may be named without a key, to estimate what it would cost.
    """
    config = read_config(root)
    names = model_names(
        config.models,
        {
            "lm": flags.lm,
            "drafter": flags.drafter,
            "checker": flags.checker,
            "reviser": flags.reviser,
        },
    )
    models = connect(names, root=root, recorded=replies, tables=config.tables, keyless=keyless)
    try:
        yield models
    finally:
        models.close()


def choose_artifact(root: Path, name: str, asked: str | None) -> str:
    """Return which artifact answers: the one asked for, else the promoted one, else `base`.

    Raises:
        ProjectError: None is promoted and the program has no file; nothing is printed then.
    """
    if asked is not None:
        return asked
    promoted = current(root, name)
    if promoted is None:
        source_path(root, "programs", name)
        print_note(f"{name}: no artifact is promoted, so the program answers as its file stands.")
        return "base"
    return promoted


def open_program(
    root: Path,
    name: str,
    *,
    artifact: str | None,
    models: Models | None = None,
    allow_drift: bool = False,
) -> Program:
    """Load the program that a command asked for; without `models` it can only be rendered."""
    chosen = choose_artifact(root, name, artifact)
    return load(name, artifact=chosen, root=root, models=models, allow_drift=allow_drift)
