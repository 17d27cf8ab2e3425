"""`redraft compile NAME --headroom`: what there is to gain, before anything is tuned."""

import json
from pathlib import Path

import pytest
from doors import Command

from redraft.testing.simulated import world_named


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the project of a simulated world; go there."""
    root = world_named("resample").write_project(tmp_path / "world", rows=240)
    monkeypatch.chdir(root)
    return root


def test_headroom_advises_and_writes_no_artifact(redraft: Command, world: Path) -> None:
    """It exits 0 with advice and numbers, and nothing stands under `compiled/`."""
    result = redraft("compile", "resample", "--headroom")

    assert result.code == 0
    assert result.out.startswith("resample: Work on the loop")
    assert not (world / "compiled").exists()


@pytest.mark.usefixtures("world")
def test_headroom_json_is_the_record(redraft: Command) -> None:
    """The record is on stdout alone."""
    result = redraft("compile", "resample", "--headroom", "--json")

    assert json.loads(result.out)["advice"] == "loop"


@pytest.mark.usefixtures("world")
def test_dry_run_says_what_headroom_would_take(redraft: Command) -> None:
    """A tenth of the calls of a compile, all of them the drafter's."""
    result = redraft("compile", "resample", "--headroom", "--dry-run", "--json")

    assert json.loads(result.out)["calls"]["worst"] == 120
