"""A small project with a scripted model, and the command line in this process."""

from pathlib import Path

import pytest
from doors import GOOD_MODEL, Command, Result, use_model

from redraft.cli.init import make_project
from redraft.cli.main import main


@pytest.fixture
def redraft(capfd: pytest.CaptureFixture[str]) -> Command:
    """Return a function that runs `redraft` with the given words."""

    def run(*words: str) -> Result:
        capfd.readouterr()
        with pytest.raises(SystemExit) as ended:
            main(words)
        out, err = capfd.readouterr()
        code = ended.value.code
        return Result(code if isinstance(code, int) else 1, out, err)

    return run


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the template's project, with a scripted model that writes good notes; go there."""
    root = tmp_path / "project"
    make_project(root)
    use_model(root, GOOD_MODEL)
    monkeypatch.chdir(root)
    return root
