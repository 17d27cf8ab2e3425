"""`redraft init`: a new project from the template that comes with the package."""

from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Annotated

import typer

from redraft.errors import ProjectError

EXAMPLE = "redraft init my_project"

# A file called .gitignore would hide parts of the template from the tools that package it.
_RENAMED = {"gitignore": ".gitignore"}
# Installers compile the template's Python files where they lie.
_COMPILED = "__pycache__"


def command(
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="Where to make it; it must be empty.")
    ] = Path(),
) -> None:
    """Make a new project."""
    made = make_project(folder)
    print("\n".join(str(path) for path in made))
    typer.echo(f"Next: cd {folder} && redraft validate order_note", err=True)


def make_project(folder: Path) -> tuple[Path, ...]:
    """Copy the template into an empty folder, which is made if need be.

    Returns:
        The files that were written.

    Raises:
        ProjectError: The folder has something in it that is not hidden, or is a file.
    """
    if folder.exists() and not folder.is_dir():
        raise ProjectError(f"{folder} is a file; name a folder that is empty or does not exist")
    # A repository or an environment that was made first does no harm.
    if folder.is_dir() and any(not entry.name.startswith(".") for entry in folder.iterdir()):
        raise ProjectError(
            f"{folder.resolve()} is not empty, and nothing is overwritten; name another folder"
        )
    return tuple(_copy(files("redraft.cli") / "template", folder))


def _copy(source: Traversable, target: Path) -> list[Path]:
    target.mkdir(parents=True, exist_ok=True)
    written: list[Path] = []
    for entry in sorted(source.iterdir(), key=lambda entry: entry.name):
        path = target / _RENAMED.get(entry.name, entry.name)
        if entry.name == _COMPILED:
            continue
        if entry.is_dir():
            written.extend(_copy(entry, path))
        else:
            path.write_bytes(entry.read_bytes())
            written.append(path)
    return written
