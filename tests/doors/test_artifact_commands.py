"""`compile`, `compare`, `artifacts` and `demo` on a scripted model that demos help."""

import json
import os
import shutil
import stat
from pathlib import Path

import pytest
from doors import GOOD_MODEL, Command, use_model

from redraft.cli.init import make_project
from redraft.compiler import compile_program

# Without demos it forgets what it was told; with one it knows what a note looks like.
HELPED_BY_DEMOS = GOOD_MODEL.replace(
    "    facts =", "    if len(request.messages) == 1:\n        return 'Hello.'\n    facts ="
)


@pytest.fixture
def helped(project: Path) -> Path:
    """Return a project whose model does better with demos, with rows enough for the gate."""
    use_model(project, HELPED_BY_DEMOS)
    return project


@pytest.fixture(scope="module")
def compiled_project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a project whose compile was confirmed; to be copied, not changed."""
    root = tmp_path_factory.mktemp("compiled") / "project"
    make_project(root)
    use_model(root, HELPED_BY_DEMOS)
    assert compile_program("order_note", root=root).promoted
    return root


@pytest.fixture
def compiled(compiled_project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the id of the artifact that answers in a project of its own; go there."""
    root = tmp_path / "compiled"
    shutil.copytree(compiled_project, root)
    monkeypatch.chdir(root)
    return (root / "compiled" / "order_note" / "CURRENT").read_text("utf-8").strip()


@pytest.mark.usefixtures("helped")
def test_compile_that_gains_exits_0(redraft: Command) -> None:
    """A confirmed gain is promoted, and the report says so."""
    shown = redraft("compile", "order_note")

    assert shown.code == 0
    assert "answers now" in shown.out


@pytest.mark.usefixtures("helped")
def test_identity_is_never_promoted(redraft: Command) -> None:
    """What changes nothing gains nothing."""
    shown = redraft("compile", "order_note", "--optimizer", "identity")

    assert shown.code == 3


@pytest.mark.usefixtures("project")
def test_what_the_gate_can_show_is_said_before_spending(redraft: Command) -> None:
    """The level that is left stands on stderr whether or not there is anything to promote."""
    shown = redraft("compile", "order_note", "--optimizer", "identity")

    assert "rows at level 0.0400; rows like these show" in shown.err


@pytest.mark.usefixtures("helped")
def test_compile_dry_run_names_the_smallest_cap(redraft: Command) -> None:
    """Nothing is spent and nothing is written."""
    record = json.loads(redraft("compile", "order_note", "--dry-run", "--json").out)

    assert record["calls"]["worst"] <= record["cap on calls"]
    assert not Path("compiled").exists()


@pytest.mark.usefixtures("helped")
def test_a_cap_too_small_for_the_gate(redraft: Command) -> None:
    """The smallest cap that would do is named."""
    shown = redraft("compile", "order_note", "--max-calls", "5")

    assert shown.code == 2
    assert "--max-calls" in shown.err


@pytest.mark.usefixtures("helped")
def test_an_unknown_optimizer(redraft: Command) -> None:
    """The methods that exist are named."""
    shown = redraft("compile", "order_note", "--optimizer", "bootstap")

    assert shown.code == 2
    assert "bootstrap" in shown.err


def test_run_answers_with_the_promoted_artifact(redraft: Command, compiled: str) -> None:
    """CURRENT answers unless something else is asked for."""
    shown = redraft("run", "order_note", "--input", "request=E-1234 on 5 May", "--json")

    assert json.loads(shown.out)["artifact_id"] == compiled


def test_base_can_be_asked_for(redraft: Command, compiled: str) -> None:
    """`--artifact base` answers as the file stands."""
    shown = redraft(
        "run", "order_note", "--input", "request=E-1234 on 5 May", "--artifact", "base", "--json"
    )

    assert compiled
    assert json.loads(shown.out)["artifact_id"] is None


@pytest.mark.usefixtures("compiled")
def test_compare_shows_the_cells_and_the_alternatives(redraft: Command, tmp_path: Path) -> None:
    """And writes the rows where it is told to."""
    shown = redraft("compare", "order_note", "--out", str(tmp_path / "rows"))

    assert shown.code == 0
    assert "rules pasted into the instructions" in shown.out
    assert (tmp_path / "rows" / "base_on.jsonl").is_file()


@pytest.mark.usefixtures("compiled")
def test_compare_json_is_the_record(redraft: Command) -> None:
    """With the cells that the design names."""
    record = json.loads(redraft("compare", "order_note", "--json").out)

    assert {"base_off", "base_on", "compiled_off", "compiled_on"} <= record["cells"].keys()
    assert record["total_gain"]["estimate"] > 0


@pytest.mark.usefixtures("helped")
def test_compare_before_a_compile(redraft: Command) -> None:
    """There is nothing to compare with."""
    shown = redraft("compare", "order_note")

    assert shown.code == 2
    assert "compile first" in shown.err


@pytest.mark.usefixtures("project")
def test_compare_takes_the_newest_where_none_is_promoted(redraft: Command) -> None:
    """And says so."""
    redraft("compile", "order_note")

    shown = redraft("compare", "order_note", "--dry-run")

    assert shown.code == 0
    assert "the newest one" in shown.err


def test_artifacts_list_marks_the_current_one(redraft: Command, compiled: str) -> None:
    """With optimizer, demos and verdict."""
    shown = redraft("artifacts", "order_note", "list")
    record = json.loads(redraft("artifacts", "order_note", "list", "--json").out)

    assert f"{compiled}  *" in shown.out
    assert record["artifacts"][0]["verdict"] == "confirmed"


@pytest.mark.usefixtures("project")
def test_artifacts_list_of_nothing(redraft: Command) -> None:
    """The way to get one is named."""
    shown = redraft("artifacts", "order_note", "list")

    assert shown.code == 0
    assert "redraft compile order_note" in shown.out


def test_artifacts_show(redraft: Command, compiled: str) -> None:
    """What tuning chose, as text, or the whole record."""
    shown = redraft("artifacts", "order_note", "show", compiled[:6])
    record = json.loads(redraft("artifacts", "order_note", "show", compiled, "--json").out)

    assert "instructions" in shown.out
    assert record["evaluation"]["verdict"] == "confirmed"


def test_rollback_and_promote(redraft: Command, compiled: str) -> None:
    """Back to what answered before, and forth again."""
    back = redraft("artifacts", "order_note", "rollback")
    forth = redraft("artifacts", "order_note", "promote", compiled, "--why", "it was right")

    assert "the program as its file stands. Before" in back.out
    assert f"Answers now: {compiled}" in forth.out
    assert "it was right" in Path("compiled/order_note/promotions.jsonl").read_text("utf-8")


def test_edit_makes_a_new_artifact_and_diff_shows_it(
    redraft: Command, compiled: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The parent stays as it is."""
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\nsed -i "s/Write the note/Write the kind note/" "$1"\n', "utf-8")
    editor.chmod(editor.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("VISUAL", str(editor))

    made = redraft("artifacts", "order_note", "edit", compiled)
    shown = redraft("artifacts", "order_note", "diff", compiled, made.out.strip())

    assert made.code == 0
    assert "+instructions = " in shown.out
    assert "kind note" in shown.out


@pytest.mark.parametrize("editor", ["", "false", "no-such-editor-here"])
def test_edit_without_a_working_editor(
    redraft: Command, compiled: str, monkeypatch: pytest.MonkeyPatch, editor: str
) -> None:
    """Nothing is written."""
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", editor)

    shown = redraft("artifacts", "order_note", "edit", compiled)

    assert shown.code == 2
    assert "editor" in shown.err


@pytest.mark.parametrize("words", [("show",), ("diff", "abcd"), ("list", "abcd")])
@pytest.mark.usefixtures("project")
def test_artifacts_with_the_wrong_number_of_ids(redraft: Command, words: tuple[str, ...]) -> None:
    """Each action says how many it takes."""
    shown = redraft("artifacts", "order_note", *words)

    assert shown.code == 2
    assert "takes" in shown.err


def test_a_changed_artifact_does_not_answer(redraft: Command, compiled: str) -> None:
    """An artifact that was edited in place is refused, with the way to edit one."""
    path = Path("compiled/order_note") / compiled / "artifact.json"
    path.write_text(path.read_text("utf-8").replace("Write the note", "Write a note"), "utf-8")

    shown = redraft("run", "order_note", "--input", "request=E-1234 on 5 May")

    assert shown.code == 2
    assert "was changed after it was written" in shown.err


def test_drift_stops_until_it_is_allowed(redraft: Command, compiled: str) -> None:
    """A changed program is named, and `--allow-drift` is explicit."""
    program = Path("programs/order_note.py")
    program.write_text(program.read_text("utf-8").replace("max_words(25)", "max_words(30)"))
    request = ("--input", "request=E-1234 on 5 May")

    stopped = redraft("run", "order_note", *request)
    allowed = redraft("run", "order_note", *request, "--allow-drift")

    assert compiled
    assert stopped.code == 2
    assert "--allow-drift" in stopped.err
    assert allowed.code == 0


def test_demo_runs_every_step_and_leaves_the_project_alone(
    redraft: Command, helped: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its numbers go where it says; a second run prints the same and reuses replies."""
    monkeypatch.setenv("REDRAFT_CACHE", str(tmp_path / "cache"))
    words = ("demo", "order_note", "--lm", "scripted/model.py")
    before = sorted(os.listdir(helped))

    first, second = redraft(*words), redraft(*words)

    assert first.code == 0
    assert "4. A control with nothing to win" in first.out
    assert sorted(os.listdir(helped)) == before
    assert second.out == first.out
    assert "of them recorded replies" in second.err
    rows = tmp_path / "cache" / "demo" / "order_note" / "compile_after.jsonl"
    assert str(rows.parent) in first.out
    assert json.loads(rows.read_text("utf-8").splitlines()[0])["score"]["value"] <= 1


@pytest.mark.usefixtures("project")
def test_demo_without_its_program(redraft: Command) -> None:
    """Outside a clone the message says where it can be run."""
    shown = redraft("demo", "--lm", "scripted/model.py")

    assert shown.code == 2
    assert "scripts/demo" in shown.err


@pytest.mark.usefixtures("project")
def test_demo_where_nothing_is_found(
    redraft: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It exits with 0 whatever the steps found."""
    monkeypatch.setenv("REDRAFT_CACHE", str(tmp_path / "cache"))

    shown = redraft("demo", "order_note", "--lm", "scripted/model.py", "--out", str(tmp_path / "o"))

    assert shown.code == 0
    assert (tmp_path / "o" / "compile.json").is_file()
