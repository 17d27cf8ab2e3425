"""The example in each command's help, run as it stands in a copy of the reference project."""

import shlex
import shutil
from importlib import import_module
from pathlib import Path

import pytest
from doors import Command, use_model

from redraft.cli.main import COMMANDS

ROOT = Path(__file__).parents[2]

# Writes a blurb from whatever the request asks for.
BLURBS = """
import re

from redraft.lm.wire import last_user_text


def reply(request):
    text = last_user_text(request)
    words = re.search(r"words?:? *([^.]+)", text)
    return f"A thing that is {words[1] if words else 'good'}."
"""


@pytest.fixture
def reference(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a copy of this repository's programs with a scripted model; go there."""
    root = tmp_path / "reference"
    root.mkdir()
    shutil.copy(ROOT / "pyproject.toml", root)
    for folder in ("programs", "metrics", "trainsets"):
        shutil.copytree(ROOT / folder, root / folder)
    use_model(root, BLURBS)
    monkeypatch.chdir(root)
    return root


@pytest.mark.usefixtures("reference")
@pytest.mark.parametrize("name", COMMANDS)
def test_example_runs(redraft: Command, name: str) -> None:
    """It ends as a command should: done, or finished with a negative outcome."""
    if name == "compare":
        redraft("compile", "product_blurb", "--max-calls", "2000")
    example = import_module(f"redraft.cli.{name}").EXAMPLE

    shown = redraft(*shlex.split(example)[1:])

    assert shown.code in (0, 3), shown.err
