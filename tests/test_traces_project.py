"""The store of a project: where its settings put it, and what they take out of its texts."""

from pathlib import Path

import pytest
from tiny_program import answered

from redraft.errors import ConfigError, ProjectError
from redraft.project import load_function
from redraft.traces import open_store


def project(root: Path, *lines: str) -> Path:
    (root / "pyproject.toml").write_text("\n".join(("[tool.redraft]", *lines)), "utf-8")
    return root


def test_the_store_is_hidden_in_the_project_by_default(tmp_path: Path) -> None:
    """No file is made before something is stored."""
    store = open_store(project(tmp_path))

    assert store.path == tmp_path / ".redraft" / "traces.sqlite"
    assert not store.path.exists()


def test_the_settings_may_name_another_file(tmp_path: Path) -> None:
    """Relative to the project; an argument goes before the settings."""
    root = project(tmp_path, 'traces = "kept/t.sqlite"')

    assert open_store(root).path == tmp_path / "kept" / "t.sqlite"
    assert open_store(root, tmp_path / "x").path == tmp_path / "x"


def test_the_settings_may_name_a_redaction(tmp_path: Path) -> None:
    """A function of a file of the project, given each text."""
    root = project(tmp_path, 'redact = "privacy.py:mask"')
    (root / "privacy.py").write_text("def mask(text):\n    return text.upper()\n", "utf-8")
    store = open_store(root)

    answer = answered(store, drafter="so sorry")

    assert answer.draft == "so sorry"
    assert store.load(answer.trace_id or "").attempts[0].draft == "SO SORRY"


@pytest.mark.parametrize("line", ["traces = 3", 'redact = " "'])
def test_a_setting_that_is_no_text(tmp_path: Path, line: str) -> None:
    """The key is named."""
    with pytest.raises(ConfigError, match="must be a text"):
        open_store(project(tmp_path, line))


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("privacy.py", "write FILE.py:FUNCTION"),
        ("privacy:mask", "write FILE.py:FUNCTION"),
        ("privacy.py:no name", "write FILE.py:FUNCTION"),
        ("privacy.py:other", "has no function 'other'"),
        ("privacy.py:number", "has no function 'number'"),
        ("missing.py:mask", "cannot read"),
        ("broken.py:mask", "broken.py: NameError"),
    ],
)
def test_a_function_that_cannot_be_had(tmp_path: Path, name: str, said: str) -> None:
    """The message says which part of the name is wrong."""
    (tmp_path / "privacy.py").write_text("number = 1\n\ndef mask(text):\n    return text\n")
    (tmp_path / "broken.py").write_text("mask = nothing\n")

    with pytest.raises(ProjectError, match=said):
        load_function(tmp_path, name)
