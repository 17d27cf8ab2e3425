"""`init`, `validate`, `prompt` and `evaluate` on the template's project."""

import json
import shutil
from importlib.resources import as_file, files
from pathlib import Path

import pytest
from doors import REQUEST, Command, use_model

OUTAGE = """
from redraft.lm.script import Reply


def reply(request):
    return Reply(fail="outage")
"""
CUT_OFF = """
from redraft.lm.script import Reply


def reply(request):
    return Reply("A long note", fail="truncate")
"""
PAID = "openai/some-model"


def test_init_makes_a_project_that_is_valid(
    redraft: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the template holds passes `redraft validate`."""
    made = redraft("init", str(tmp_path / "new"))
    monkeypatch.chdir(tmp_path / "new")
    validated = redraft("validate", "order_note")

    assert made.code == 0
    assert "rows.jsonl" in made.out
    assert validated.code == 0
    assert "warning: trainsets" not in validated.out


def test_init_leaves_compiled_files_behind(
    redraft: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An installer may have compiled the template's files; a new project has none of that."""
    with as_file(files("redraft.cli") / "template") as template:
        shutil.copytree(template, tmp_path / "template")
    (tmp_path / "template" / "programs" / "__pycache__").mkdir(exist_ok=True)
    monkeypatch.setattr("redraft.cli.init.files", lambda _: tmp_path)

    redraft("init", str(tmp_path / "new"))

    assert not list((tmp_path / "new").rglob("__pycache__"))


def test_init_overwrites_nothing(redraft: Command, tmp_path: Path) -> None:
    """A folder with something in it is left alone."""
    (tmp_path / "notes.txt").write_text("mine", "utf-8")

    shown = redraft("init", str(tmp_path))

    assert shown.code == 2
    assert "nothing is overwritten" in shown.err
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_init_beside_a_repository(redraft: Command, tmp_path: Path) -> None:
    """A `.git` or `.venv` that was made first is no obstacle."""
    (tmp_path / ".git").mkdir()

    assert redraft("init", str(tmp_path)).code == 0


def test_init_does_not_take_a_file(redraft: Command, tmp_path: Path) -> None:
    """A file is no folder."""
    (tmp_path / "file").write_text("", "utf-8")

    assert redraft("init", str(tmp_path / "file")).code == 2


@pytest.mark.usefixtures("project")
def test_validate_prints_rules_overlap_and_splits(redraft: Command) -> None:
    """Every rule with who checks it and what it weighs."""
    shown = redraft("validate", "order_note")

    assert shown.code == 0
    assert "states_facts" in shown.out
    assert "overlap: 80%" in shown.out
    assert "gate and test are the same rows" in shown.out


@pytest.mark.usefixtures("project")
def test_validate_json_is_the_record(redraft: Command) -> None:
    """A script reads the same."""
    record = json.loads(redraft("validate", "order_note", "--json").out)

    assert record["overlap"] == pytest.approx(0.8)
    assert sum(record["rows"].values()) == 48


def test_validate_reads_every_row_with_prepare(redraft: Command, project: Path) -> None:
    """A row that `prepare` cannot read is found before anything is spent."""
    program = project / "programs" / "order_note.py"
    text = program.read_text("utf-8")
    program.write_text(text.replace("    return {", '    int("x")\n    return {'), "utf-8")

    shown = redraft("validate", "order_note")

    assert shown.code == 2
    assert "note-01" in shown.err


def test_validate_lists_every_bad_row(redraft: Command, project: Path) -> None:
    """All problems at once, with their lines."""
    rows = project / "trainsets" / "order_note" / "rows.jsonl"
    lines = rows.read_text("utf-8").splitlines()
    lines[16] = "{not json"
    lines[20] = lines[19]
    rows.write_text("\n".join(lines), "utf-8")

    shown = redraft("validate", "order_note")

    assert shown.code == 2
    assert "rows.jsonl:17" in shown.err
    assert "rows.jsonl:21" in shown.err


def test_validate_tries_the_rubric_on_reference_drafts(redraft: Command, project: Path) -> None:
    """A measure that crashes is found before anything is spent."""
    rubric = project / "metrics" / "order_note.py"
    text = rubric.read_text("utf-8")
    crash = "def speaks_to_the_customer(row, draft):\n    row.inputs['no_such_fact']\n"
    text = text.replace("def speaks_to_the_customer(row, draft):\n", crash)
    rubric.write_text(text, "utf-8")

    shown = redraft("validate", "order_note")

    assert shown.code != 0
    assert "measure 'speaks_to_the_customer'" in shown.err
    assert "no_such_fact" in shown.err


@pytest.mark.usefixtures("project")
def test_prompt_needs_neither_inputs_nor_a_model(
    redraft: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Inputs that are not known yet stand in angle brackets."""
    monkeypatch.setattr("redraft.lm.scripted.Scripted.complete", None)

    shown = redraft("prompt", "order_note", "--artifact", "base")

    assert shown.code == 0
    assert "=== draft" in shown.out
    assert "[user]\n<request>" in shown.out


@pytest.mark.usefixtures("project")
def test_prompt_with_inputs_is_what_run_sends(redraft: Command) -> None:
    """The input stands where the placeholder stood."""
    shown = redraft("prompt", "order_note", "--input", REQUEST)

    assert "[user]\nOrder B-2210 arrives on 4 May." in shown.out


@pytest.mark.usefixtures("project")
def test_prompt_json_holds_whole_requests(redraft: Command) -> None:
    """By predictor, as the model gets them."""
    record = json.loads(redraft("prompt", "order_note", "--json").out)

    assert record["draft"]["config"]["max_tokens"] == 80


@pytest.mark.usefixtures("project")
def test_evaluate_prints_the_score(redraft: Command, tmp_path: Path) -> None:
    """The mean with its interval; rows go to a file on request."""
    shown = redraft("evaluate", "order_note", "--out", str(tmp_path / "rows.jsonl"))

    assert shown.code == 0
    assert "order_note (base) on 14 rows of val" in shown.out
    assert len((tmp_path / "rows.jsonl").read_text("utf-8").splitlines()) == 14


def test_evaluate_counts_rows_without_a_draft(redraft: Command, project: Path) -> None:
    """They score 0; how many they are, and why, stands in the text."""
    use_model(project, CUT_OFF)

    shown = redraft("evaluate", "order_note", "--rows", "2")

    assert "pass rate   0.00 of the rows pass the rubric\n" in shown.out
    assert "no draft: 2 rows; the reply was cut off at max_tokens=80\n" in shown.out


@pytest.mark.usefixtures("project")
def test_evaluate_json_is_the_record(redraft: Command) -> None:
    """As the design names its keys."""
    record = json.loads(redraft("evaluate", "order_note", "--rows", "4", "--json").out)

    assert record["n"] == 4
    assert record["mean"] == 1.0
    assert record["artifact_id"] is None


@pytest.mark.usefixtures("project")
def test_evaluate_uses_recorded_replies_and_says_so(redraft: Command) -> None:
    """A second run asks nothing again."""
    redraft("evaluate", "order_note", "--rows", "4")

    again = redraft("evaluate", "order_note", "--rows", "4")

    assert "4 calls (4 of them recorded replies)" in again.out


def test_an_outage_is_not_measured_and_exits_1(redraft: Command, project: Path) -> None:
    """A model that does not answer says nothing about the prompt."""
    use_model(project, OUTAGE)

    shown = redraft("evaluate", "order_note", "--rows", "1", "--max-calls", "5")

    assert shown.code == 1
    assert "not measured: 1 row\n" in shown.out
    assert "No answer:" in shown.err


@pytest.mark.usefixtures("project")
def test_dry_run_spends_nothing(redraft: Command) -> None:
    """Calls at best and at worst, on stdout."""
    shown = redraft("evaluate", "order_note", "--rows", "4", "--dry-run")
    record = json.loads(redraft("evaluate", "order_note", "--rows", "4", "--dry-run", "--json").out)

    assert "4 at best" in shown.out
    assert record["calls"] == {"best": 4, "expected": 7, "worst": 12}
    assert record["cost_usd"] == {"best": 0.0, "expected": 0.0, "worst": 0.0}
    assert 0 < record["tokens"]["best"] <= record["tokens"]["expected"] < record["tokens"]["worst"]
    assert list(record["roles"]) == ["drafter"]


@pytest.mark.usefixtures("project")
def test_unknown_price_without_a_cap_is_a_wrong_call(
    redraft: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where nobody can be asked, the flag is named and nothing is spent."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-none")
    monkeypatch.setattr("sys.stdin.isatty", lambda: False)

    shown = redraft("evaluate", "order_note", "--lm", PAID)

    assert shown.code == 2
    assert "--max-calls" in shown.err


@pytest.mark.usefixtures("project")
def test_unknown_price_asks_a_person(redraft: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """No is a decision, and nothing is spent."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-none")
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    monkeypatch.setattr("typer.confirm", lambda *_, **__: False)

    shown = redraft("evaluate", "order_note", "--lm", PAID)

    assert shown.code == 1
    assert "Calls to models" in shown.err


@pytest.mark.usefixtures("project")
def test_an_empty_split_names_the_remedy(redraft: Command, project: Path) -> None:
    """Rows that all name one split leave the others empty."""
    rows = project / "trainsets" / "order_note" / "rows.jsonl"
    lines = [json.loads(line) | {"split": "train"} for line in rows.read_text("utf-8").splitlines()]
    rows.write_text("\n".join(map(json.dumps, lines)), "utf-8")

    shown = redraft("evaluate", "order_note")

    assert shown.code == 2
    assert "no rows in 'val'" in shown.err


def test_a_rubric_without_weight(redraft: Command, project: Path) -> None:
    """Weights of 0 leave nothing to score by."""
    rubric = project / "metrics" / "order_note.py"
    text = rubric.read_text("utf-8").replace("weight=2", "weight=0").replace("weight=1", "weight=0")
    rubric.write_text(text, "utf-8")

    shown = redraft("evaluate", "order_note")

    assert shown.code == 2
    assert "weight" in shown.err


@pytest.mark.parametrize("value", ["7", "float('nan')", "None", "1 / 0"])
def test_a_measure_that_is_wrong(redraft: Command, project: Path, value: str) -> None:
    """The message names the measure and the row."""
    rubric = project / "metrics" / "order_note.py"
    text = rubric.read_text("utf-8").replace("        return 1.0", f"        return {value}")
    rubric.write_text(text, "utf-8")

    shown = redraft("evaluate", "order_note", "--rows", "2")

    assert shown.code == 2
    assert "speaks_to_the_customer" in shown.err
    assert "note-" in shown.err


def test_an_image_field_is_refused(redraft: Command, project: Path) -> None:
    """Inputs are text only."""
    program = project / "programs" / "order_note.py"
    text = program.read_text("utf-8").replace("request: str", "request: dspy.Image")
    program.write_text(text, "utf-8")

    shown = redraft("run", "order_note", "--input", REQUEST)

    assert shown.code == 2
    assert "text only" in shown.err


def test_two_programs_in_one_file(redraft: Command, project: Path) -> None:
    """Which of them is meant cannot be told."""
    program = project / "programs" / "order_note.py"
    text = program.read_text("utf-8")
    program.write_text(f"{text}\n\nOTHER = Program(draft=Draft)\n", "utf-8")

    shown = redraft("run", "order_note", "--input", REQUEST)

    assert shown.code == 2
    assert "PROGRAM" in shown.err
