"""`redraft traces`, and what `redraft run` stores, resumes and hands over."""

import json
from pathlib import Path

import pytest
from doors import REQUEST, Command, use_model

from redraft.cli.answer_text import ending
from redraft.cli.trace_text import trace_text
from redraft.errors import RedraftError
from redraft.events import CallEnded, Event
from redraft.lm import connect
from redraft.program import load_base
from redraft.session import AnswerRun
from redraft.traces import TraceStore, open_store

INPUTS = {"request": REQUEST.partition("=")[2]}

# Writes a first note without the facts, then one that states them.
SLOW_LEARNER = """
NOTES = ("Your order is on its way.", "Your order B-2210 arrives on 4 May.")
seeds = []


def reply(request):
    if request.config.seed not in seeds:
        seeds.append(request.config.seed)
    return NOTES[min(seeds.index(request.config.seed), 1)]
"""
STUBBORN = 'def reply(request):\n    return "Hello."\n'


@pytest.fixture
def learner(project: Path) -> Path:
    """Return the project with a model whose second draft passes."""
    use_model(project, SLOW_LEARNER)
    return project


def run(redraft: Command, *words: str) -> str:
    """Answer the request and return the trace's id."""
    shown = redraft("run", "order_note", "--input", REQUEST, "--json", *words)
    trace_id = json.loads(shown.out)["trace_id"]
    assert isinstance(trace_id, str)
    return trace_id


@pytest.mark.usefixtures("learner")
def test_an_answer_is_stored_and_listed(redraft: Command) -> None:
    """`run` stores by default; `list` shows what ended how."""
    trace_id = run(redraft)

    shown = redraft("traces", "list")

    assert shown.code == 0
    header, line = shown.out.splitlines()
    assert header.split() == ["ID", "BEGAN", "PROGRAM", "ARTIFACT", "ENDED", "ATTEMPTS", "CALLS"]
    assert line.split()[0] == trace_id
    assert line.split()[-3:] == ["passed", "2", "2"]


@pytest.mark.usefixtures("project")
def test_nothing_is_stored_on_request(redraft: Command, project: Path) -> None:
    """With `--no-store` there is no trace, not even a file."""
    shown = redraft("run", "order_note", "--input", REQUEST, "--no-store", "--json")

    assert json.loads(shown.out)["trace_id"] is None
    assert not (project / ".redraft" / "traces.sqlite").exists()


@pytest.mark.usefixtures("project")
def test_an_empty_store_says_so(redraft: Command) -> None:
    """No traces is no error."""
    shown = redraft("traces", "list")

    assert (shown.code, shown.out) == (0, "no such traces\n")


@pytest.mark.usefixtures("learner")
def test_show_is_a_picture_of_the_loop(redraft: Command) -> None:
    """Drafts, what changed, findings, what was spent, why it stopped; plain where nobody looks."""
    trace_id = run(redraft)

    shown = redraft("traces", "show", trace_id[:6])

    lines = shown.out.splitlines()
    assert lines[0] == f"order_note {trace_id}, as its file stands"
    assert "  | Your order is on its way." in lines
    assert "  ~ Your order [-is-]{+B-2210 arrives+} on [-its-]{+4+} [-way-]{+May+}." in lines
    assert "  x states_facts: The draft does not state 'B-2210', '4 May'." in lines
    assert lines[-1].startswith("Ended: passed, 2 calls")
    assert "\x1b" not in shown.out


@pytest.mark.usefixtures("learner")
def test_show_as_json_is_the_record(redraft: Command) -> None:
    """The answer with its attempts, and every call with what came of it."""
    trace_id = run(redraft)

    record = json.loads(redraft("traces", "show", trace_id, "--json").out)

    assert record["id"] == trace_id
    assert len(record["answer"]["attempts"]) == 2
    assert [call["outcome"]["text"][:10] for call in record["calls"]] == ["Your order"] * 2
    assert "attempts" not in record


@pytest.mark.usefixtures("learner")
def test_diff_shows_words_and_findings(redraft: Command) -> None:
    """From the first attempt to the last, or between two that are named."""
    trace_id = run(redraft)

    first_to_last = redraft("traces", "diff", trace_id)
    named = redraft("traces", "diff", trace_id, "1", "2")

    assert first_to_last.out == named.out
    assert "states_facts: unmet -> met" in named.out
    assert "B-2210" in named.out


@pytest.mark.usefixtures("learner")
def test_diff_needs_attempts_that_exist(redraft: Command) -> None:
    """The message names those that do."""
    trace_id = run(redraft)

    shown = redraft("traces", "diff", trace_id, "1", "7")

    assert shown.code == 2
    assert "has 1, 2" in shown.err


@pytest.mark.usefixtures("learner")
def test_export_is_json_lines(redraft: Command) -> None:
    """One trace a line, oldest first, filtered as a list is."""
    ids = [run(redraft), run(redraft)]

    lines = redraft("traces", "export", "--program", "order_note").out.splitlines()
    one = redraft("traces", "export", ids[1][:6]).out.splitlines()

    assert [json.loads(line)["id"] for line in lines] == ids
    assert [json.loads(line)["id"] for line in one] == ids[1:]
    assert redraft("traces", "export", "--not-passed").out == ""


@pytest.mark.usefixtures("learner")
def test_recheck_judges_again_and_keeps_both(redraft: Command) -> None:
    """New verdicts stand beside the old ones, and the command says how far they agree."""
    trace_id = run(redraft)

    shown = redraft("traces", "recheck", trace_id)

    assert shown.code == 0
    assert "2 drafts judged again: 2 verdicts agree" in shown.out
    assert "judged again" in redraft("traces", "show", trace_id).out


@pytest.mark.usefixtures("learner")
def test_recheck_says_what_it_would_take(redraft: Command) -> None:
    """A dry run judges nothing."""
    trace_id = run(redraft)

    shown = redraft("traces", "recheck", trace_id, "--dry-run", "--json")

    assert json.loads(shown.out)["drafts"] == 2
    assert "judged again" not in redraft("traces", "show", trace_id).out


@pytest.mark.usefixtures("learner")
def test_prune_says_what_went(redraft: Command) -> None:
    """The newest stay; a dry run deletes nothing."""
    for _ in range(3):
        run(redraft)

    would = redraft("traces", "prune", "--keep", "1", "--dry-run")
    did = redraft("traces", "prune", "--keep", "1", "--json")

    assert would.out == "Would delete 2 traces; 1 stay.\n"
    assert json.loads(did.out)["kept"] == 1
    assert len(redraft("traces", "list").out.splitlines()) == 2


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("prune",), "--older-than DAYS, --keep N or both"),
        (("prune", "abcd", "--keep", "1"), "takes no ID"),
        (("show",), "one trace, got 0"),
        (("show", "abcd", "efgh"), "one trace, got 2"),
        (("show", "abcd"), "no trace 'abcd'"),
        (("recheck",), "needs the ID"),
        (("list", "--stopped-by", "tired"), "is no end"),
    ],
)
@pytest.mark.usefixtures("project")
def test_a_wrong_call_says_what_would_be_right(
    redraft: Command, words: tuple[str, ...], said: str
) -> None:
    """Exit code 2."""
    shown = redraft("traces", *words)

    assert shown.code == 2
    assert said in shown.err


@pytest.mark.usefixtures("learner")
def test_a_list_can_ask_for_one_end(redraft: Command) -> None:
    """By the word, or for those that never ended."""
    run(redraft)

    assert (
        len(json.loads(redraft("traces", "list", "--stopped-by", "passed", "--json").out)["traces"])
        == 1
    )
    assert redraft("traces", "list", "--stopped-by", "unfinished").out == "no such traces\n"


def interrupted(root: Path) -> str:
    """Answer the request until the first call has ended, then stop; return the trace's id."""

    def leave(event: Event) -> None:
        if isinstance(event, CallEnded):
            raise RedraftError("gone")

    models = connect({"drafter": "scripted/model.py"}, root=root)
    program = load_base(root, "order_note").with_models(models).with_traces(open_store(root))
    with pytest.raises(RedraftError):
        program.answer_run(INPUTS, AnswerRun(observe=leave))
    return open_store(root).summaries()[0].id


def test_an_interrupted_answer_goes_on(redraft: Command, project: Path) -> None:
    """The recorded call is not made again; inputs, artifact and loop are the trace's."""
    trace_id = interrupted(project)

    before = redraft("traces", "show", trace_id)
    shown = redraft("run", "order_note", "--resume", trace_id, "--json")

    assert f"redraft run order_note --resume {trace_id}" in before.out
    record = json.loads(shown.out)
    assert (shown.code, record["trace_id"]) == (0, trace_id)
    assert (record["usage"]["calls"], record["usage"]["reread"]) == (1, 1)
    assert "resumed once" in redraft("traces", "show", trace_id).out


def test_a_cap_can_be_raised_on_resume(redraft: Command, learner: Path) -> None:
    """A capped answer goes on with more revisions, and pays only for those."""
    trace_id = run(redraft, "--max-revisions", "0")

    shown = redraft("run", "order_note", "--resume", trace_id, "--max-revisions", "1", "--json")

    record = json.loads(shown.out)
    assert (record["usage"]["calls"], record["usage"]["reread"]) == (2, 1)
    assert len(record["attempts"]) == 2


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--input", "request=Something else."), "the inputs are others"),
        (("--no-store",), "leave --no-store out"),
    ],
)
def test_resume_refuses_what_is_not_the_same_answer(
    redraft: Command, project: Path, words: tuple[str, ...], said: str
) -> None:
    """Exit code 2, before any call, naming what differs."""
    trace_id = interrupted(project)

    shown = redraft("run", "order_note", "--resume", trace_id, *words)

    assert shown.code == 2
    assert said in shown.err


def test_resume_of_another_programs_answer(redraft: Command, project: Path) -> None:
    """The message holds the command that would be right."""
    trace_id = interrupted(project)
    source = project / "programs" / "order_note.py"
    (project / "programs" / "other_note.py").write_text(source.read_text("utf-8"), "utf-8")

    shown = redraft("run", "other_note", "--resume", trace_id)

    assert shown.code == 2
    assert f"redraft run order_note --resume {trace_id}" in shown.err


def test_a_draft_that_does_not_pass_is_handed_over(redraft: Command, project: Path) -> None:
    """What is open, what was tried, what is left, what to do next: on stderr, exit code 3."""
    use_model(project, STUBBORN)

    shown = redraft("run", "order_note", "--input", REQUEST)

    assert shown.code == 3
    assert "Stopped by max_revisions after 3 attempts." in shown.err
    assert "Next: edit the draft of attempt 1 by hand" in shown.err
    assert "Stored: redraft traces show" in shown.err
    assert shown.out == "Hello.\n"


def test_the_projects_redaction_is_applied(redraft: Command, project: Path) -> None:
    """`redact` in the settings names a function of the project."""
    (project / "privacy.py").write_text(
        'def mask(text):\n    return text.replace("B-2210", "ORDER")\n', "utf-8"
    )
    settings = project / "pyproject.toml"
    settings.write_text(settings.read_text("utf-8") + 'redact = "privacy.py:mask"\n', "utf-8")

    trace_id = run(redraft)

    shown = redraft("traces", "show", trace_id)
    assert "B-2210" not in shown.out
    assert "texts are redacted" in shown.out


def test_the_settings_name_the_file(redraft: Command, project: Path) -> None:
    """`traces` in the settings, or `--store` on the command line."""
    settings = project / "pyproject.toml"
    settings.write_text(settings.read_text("utf-8") + 'traces = "kept/here.sqlite"\n', "utf-8")

    trace_id = run(redraft)

    assert TraceStore(project / "kept" / "here.sqlite").load(trace_id).id == trace_id
    shown = redraft("traces", "list", "--store", str(project / "kept" / "here.sqlite"))
    assert trace_id in shown.out


def test_colour_is_for_terminals(redraft: Command, learner: Path) -> None:
    """With colour, changes need no marks of their own."""
    trace = open_store(learner).load(run(redraft))
    assert trace.answer is not None

    text = trace_text(trace, plain=False)

    assert "{+" not in text.plain
    assert any("strike" in str(span.style) for span in text.spans)
    assert text.plain.endswith(ending(trace.answer))
