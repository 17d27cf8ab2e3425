"""Models from their names."""

import sys
from pathlib import Path

import pytest
from lm_requests import ask

from redraft.errors import MissingExtraError, ModelError
from redraft.lm import connect
from redraft.lm.names import DEFAULT_LOCAL


def script(root: Path, name: str, text: str) -> Path:
    """Write a script and return the root."""
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    (root / name).write_text(text)
    return root


@pytest.mark.parametrize(
    ("file", "name", "text"),
    [
        ("s.json", "scripted/s.json", '["Yes."]'),
        ("in/s.jsonl", "scripted/in/s.jsonl", '"Yes."\n'),
        ("s.py", "scripted/s.py", "def reply(request): return 'Yes.'"),
        ("s.py", "scripted/s.py:other", "def other(request): return 'Yes.'"),
    ],
)
def test_scripts_are_files_of_the_project(tmp_path: Path, file: str, name: str, text: str) -> None:
    """JSON, JSON Lines or Python, by their path from the root."""
    models = connect({"drafter": name}, root=script(tmp_path, file, text))

    assert ask(models.of("drafter")).text == "Yes."


def test_equal_names_share_an_engine(tmp_path: Path) -> None:
    """A local model is loaded once, whatever it is used for."""
    root = script(tmp_path, "s.json", '["Yes."]')

    models = connect({"drafter": "scripted/s.json", "checker": "scripted/s.json"}, root=root)

    assert models.of("checker") is models.of("drafter")


def test_recorded_replies_are_reused(tmp_path: Path) -> None:
    """A second command asks nothing that the first one asked."""
    root = script(tmp_path, "s.json", '["once"]')
    names = {"drafter": "scripted/s.json"}
    first = connect(names, root=root, recorded=tmp_path / "r.sqlite")
    ask(first.of("drafter"))
    first.close()

    second = connect(names, root=root, recorded=tmp_path / "r.sqlite")

    assert ask(second.of("drafter")).text == "once"
    assert ask(second.of("drafter")).text == "once"
    second.close()


@pytest.mark.parametrize(
    ("file", "text", "why"),
    [
        ("s.py", "def other(request): return 'x'", "no function 'reply'"),
        ("s.py", "reply = 3", "no function 'reply'"),
        ("s.py", "def reply(", "does not load"),
        ("s.py", "import nothing_of_that_name", "does not load"),
        ("s.py", "1 / 0", "does not load"),
        ("s.txt", "Yes.", r"a \.json, \.jsonl or \.py file"),
        ("s.json", "[", "is wrong"),
    ],
)
def test_wrong_scripts_fail_before_the_first_call(
    tmp_path: Path, file: str, text: str, why: str
) -> None:
    """The message names the file."""
    with pytest.raises(ModelError, match=f"(?s){file}.*{why}|{why}.*{file}"):
        connect({"drafter": f"scripted/{file}"}, root=script(tmp_path, file, text))


def test_a_missing_script_is_named(tmp_path: Path) -> None:
    """With where it was looked for."""
    with pytest.raises(ModelError, match=r"there is no script .*nowhere\.json"):
        connect({"drafter": "scripted/nowhere.json"}, root=tmp_path)


def test_a_missing_model_file_is_named(tmp_path: Path) -> None:
    """And the embedded model is offered."""
    with pytest.raises(ModelError, match=rf"nowhere\.gguf.*{DEFAULT_LOCAL}"):
        connect({"drafter": "local/nowhere.gguf"}, root=tmp_path)


def test_a_model_file_is_not_opened_yet(tmp_path: Path) -> None:
    """Connecting loads nothing: a file that is no model shows at the first call."""
    (tmp_path / "m.gguf").write_bytes(b"no model")

    models = connect({"drafter": "local/m.gguf"}, root=tmp_path)

    assert models.of("drafter").name == "local/m.gguf"
    assert len(models.of("drafter").fingerprint) == 64
    models.close()


def test_the_embedded_model_is_known_without_loading(tmp_path: Path) -> None:
    """Its context and digest are in the catalogue."""
    model = connect({"drafter": DEFAULT_LOCAL}, root=tmp_path).of("drafter")

    assert (model.context_tokens, model.parallel, model.cost) == (8192, 1, 0.0)
    assert len(model.fingerprint) == 64


def test_a_missing_runtime_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One sentence with the pip command, before any work."""
    monkeypatch.setitem(sys.modules, "xllamacpp", None)

    with pytest.raises(MissingExtraError, match=r"pip install 'redraft\[local\]'"):
        connect({"drafter": DEFAULT_LOCAL}, root=tmp_path)


def test_a_name_without_a_provider_is_refused(tmp_path: Path) -> None:
    """Before anything is looked for."""
    with pytest.raises(ModelError, match="written provider/model"):
        connect({"drafter": "gpt"}, root=tmp_path)
