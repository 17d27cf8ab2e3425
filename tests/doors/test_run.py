"""`redraft run`: inputs, endings and exit codes."""

import io
import json
import shlex
from pathlib import Path

import pytest
from doors import REQUEST, Command, use_model

from redraft.cli.init import make_project

MODEL = """
def reply(request):
    {body}
"""
BAD_DRAFT = 'return "Hello."'
TRUNCATED = 'from redraft.lm.script import Reply\n    return Reply("A long note", fail="truncate")'
OUTAGE = 'from redraft.lm.script import Reply\n    return Reply(fail="outage")'


def answer_with(root: Path, body: str) -> None:
    """Let every call of the project be answered by this function body."""
    use_model(root, MODEL.format(body=body))


@pytest.mark.usefixtures("project")
def test_prints_the_draft_alone_on_stdout(redraft: Command) -> None:
    """A pipe gets the draft; a person sees the attempts on stderr."""
    shown = redraft("run", "order_note", "--input", REQUEST)

    assert shown.code == 0
    assert shown.out == "Your note: B-2210, 4 May.\n"
    assert "Attempt 1" in shown.err
    assert "no artifact is promoted" in shown.err


@pytest.mark.usefixtures("project")
def test_colours_are_off_where_nobody_looks(redraft: Command) -> None:
    """What is not a terminal gets plain text."""
    shown = redraft("run", "order_note", "--input", REQUEST)

    assert "\x1b" not in shown.out + shown.err


@pytest.mark.usefixtures("project")
def test_json_is_the_record(redraft: Command) -> None:
    """`--json` prints the answer with its attempts and nothing else."""
    shown = redraft("run", "order_note", "--input", REQUEST, "--json")

    record = json.loads(shown.out)
    assert record["passed"] is True
    assert record["stopped_by"] == "passed"
    assert record["attempts"][0]["verdict"]["passed"] is True
    assert record["artifact_id"] is None
    assert len(record["trace_id"]) == 12


def test_a_draft_that_does_not_pass_exits_3(redraft: Command, project: Path) -> None:
    """The draft is there, its unmet rules are named, and a script can tell."""
    answer_with(project, BAD_DRAFT)

    shown = redraft("run", "order_note", "--input", REQUEST)

    assert shown.code == 3
    assert shown.out == "Hello.\n"
    assert "Not met: states_facts" in shown.err


@pytest.mark.parametrize("body", [TRUNCATED, OUTAGE])
def test_no_draft_exits_1(redraft: Command, project: Path, body: str) -> None:
    """Nothing is on stdout, and the reason is on stderr."""
    answer_with(project, body)

    shown = redraft("run", "order_note", "--input", REQUEST)

    assert shown.code == 1
    assert shown.out == ""
    assert "drafter_failed" in shown.err


def test_no_loop_is_unchecked_and_exits_0(redraft: Command, project: Path) -> None:
    """Without the loop a draft is neither passed nor failed."""
    answer_with(project, BAD_DRAFT)

    shown = redraft("run", "order_note", "--input", REQUEST, "--no-loop", "--json")

    assert shown.code == 0
    assert json.loads(shown.out)["passed"] is None


def test_max_revisions_is_the_programs_unless_given(redraft: Command, project: Path) -> None:
    """The flag replaces the loop's cap."""
    answer_with(project, BAD_DRAFT)

    shown = redraft("run", "order_note", "--input", REQUEST, "--max-revisions", "1", "--json")

    assert len(json.loads(shown.out)["attempts"]) == 2


def test_max_revisions_turns_on_a_loop_that_is_off(redraft: Command, project: Path) -> None:
    """Who asks for revisions wants the draft checked."""
    answer_with(project, BAD_DRAFT)
    program = project / "programs" / "order_note.py"
    text = program.read_text("utf-8")
    assert "Loop(" in text
    program.write_text(text.replace("Loop(", "Loop(enabled=False, ", 1), "utf-8")

    shown = redraft("run", "order_note", "--input", REQUEST, "--max-revisions", "1", "--json")

    assert json.loads(shown.out)["stopped_by"] == "max_revisions"


def test_a_cap_on_calls_is_a_labelled_ending(redraft: Command, project: Path) -> None:
    """The second call is not made; the answer says why."""
    answer_with(project, BAD_DRAFT)

    shown = redraft("run", "order_note", "--input", REQUEST, "--max-calls", "1", "--json")

    record = json.loads(shown.out)
    assert shown.code == 3
    assert record["stopped_by"] == "budget"
    assert record["usage"]["calls"] == 1


@pytest.mark.usefixtures("project")
def test_input_from_a_file(redraft: Command, tmp_path: Path) -> None:
    """FIELD=@FILE reads the value from a file."""
    (tmp_path / "request.txt").write_text("Order C-1111 comes on 5 June.", "utf-8")

    shown = redraft("run", "order_note", "--input", f"request=@{tmp_path / 'request.txt'}")

    assert shown.out == "Your note: C-1111, 5 June.\n"


@pytest.mark.usefixtures("project")
def test_input_from_stdin(redraft: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """`-` reads a JSON object."""
    monkeypatch.setattr("sys.stdin", io.StringIO('{"request": "Order D-2222 comes on 6 July."}'))

    shown = redraft("run", "order_note", "--input", "-")

    assert shown.out == "Your note: D-2222, 6 July.\n"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("request", "write FIELD=VALUE"),
        ("request=@nowhere.txt", "cannot read nowhere.txt"),
        ("requets=x", "did you mean 'request'?"),
    ],
)
@pytest.mark.usefixtures("project")
def test_a_wrong_input_says_what_would_be_right(redraft: Command, given: str, said: str) -> None:
    """Exit code 2, before any call."""
    shown = redraft("run", "order_note", "--input", given)

    assert shown.code == 2
    assert said in shown.err


@pytest.mark.parametrize("text", ["not json", "[1, 2]"])
@pytest.mark.usefixtures("project")
def test_stdin_that_is_no_object(
    redraft: Command, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    """Whatever else stands there is a wrong call."""
    monkeypatch.setattr("sys.stdin", io.StringIO(text))

    assert redraft("run", "order_note", "--input", "-").code == 2


@pytest.mark.usefixtures("project")
def test_a_field_given_twice(redraft: Command) -> None:
    """Which of the two is meant cannot be told."""
    shown = redraft("run", "order_note", "--input", REQUEST, "--input", REQUEST)

    assert shown.code == 2
    assert "given twice" in shown.err


@pytest.mark.usefixtures("project")
def test_an_input_file_that_is_not_text(redraft: Command, tmp_path: Path) -> None:
    """Inputs are text only."""
    (tmp_path / "photo.png").write_bytes(b"\x89PNG\xff\xfe")

    shown = redraft("run", "order_note", "--input", f"request=@{tmp_path / 'photo.png'}")

    assert shown.code == 2
    assert "not text" in shown.err


@pytest.mark.usefixtures("project")
def test_unknown_program_lists_those_that_exist(redraft: Command) -> None:
    """A missing program is a wrong call, and nothing else is said of it."""
    shown = redraft("run", "order_notes", "--input", REQUEST)

    assert shown.code == 2
    assert "order_note" in shown.err
    assert shown.err.startswith("Error: there is no programs/order_notes.py")


@pytest.mark.local_model
def test_the_example_of_a_new_project_passes(
    redraft: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first answer that a new project's README asks for is one, on the embedded model."""
    make_project(tmp_path / "new")
    monkeypatch.chdir(tmp_path / "new")
    readme = Path("README.md").read_text("utf-8").splitlines()
    example = next(line for line in readme if line.startswith("redraft run"))

    shown = redraft(*shlex.split(example)[1:])

    assert shown.code == 0
    assert "B-2210" in shown.out


@pytest.mark.parametrize("name", ["../x", "/etc/passwd", "Order"])
@pytest.mark.usefixtures("project")
def test_a_path_is_no_name(redraft: Command, name: str) -> None:
    """Nothing outside the project can be named."""
    shown = redraft("run", name, "--input", REQUEST)

    assert shown.code == 2
    assert "is not a NAME" in shown.err


@pytest.mark.usefixtures("project")
def test_an_unknown_model_is_a_wrong_call(redraft: Command) -> None:
    """The message lists the ways to name a model."""
    shown = redraft("run", "order_note", "--input", REQUEST, "--lm", "gpt")

    assert shown.code == 2
    assert "provider/model" in shown.err
