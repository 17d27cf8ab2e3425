"""Artifacts: written whole, loaded back before success is reported, free of keys."""

import hashlib
import json
import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_project import DEMO, NAME, compiled, edit_program, folder_of, written

from redraft.artifact import (
    Artifact,
    CompiledPredictor,
    Lineage,
    Rule,
    Search,
    build_artifact,
    list_artifacts,
    read_artifact,
    read_evaluation,
    write_artifact,
)
from redraft.artifact.record import canonical_bytes, parse_artifact, to_payload
from redraft.artifact.reload import check_reload, state_differences
from redraft.artifact.reload import main as reload_main
from redraft.errors import ArtifactError, ProjectError
from redraft.program import load_base
from redraft.records import Demo, Loop, Options, PredictorState

TEXT = st.text(max_size=20)
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=5,
)
DEMOS = st.builds(Demo, st.dictionaries(TEXT, JSON, max_size=3), st.none() | TEXT, st.none() | TEXT)
NAMES = st.lists(TEXT, max_size=3).map(tuple)
ARTIFACTS = st.builds(
    Artifact,
    program=TEXT,
    predictors=st.dictionaries(
        TEXT,
        st.builds(
            CompiledPredictor, TEXT, st.lists(DEMOS, max_size=3).map(tuple), NAMES, NAMES, TEXT
        ),
        max_size=3,
    ),
    loop=st.builds(
        Loop,
        max_revisions=st.integers(0, 9),
        on_fail=st.sampled_from(["revise", "resample"]),
        returns=st.sampled_from([None, "last", "best"]),
        enabled=st.booleans(),
    ),
    options=st.dictionaries(
        st.sampled_from(["drafter", "checker"]),
        st.builds(
            Options,
            max_tokens=st.integers(1, 9999),
            temperature=st.floats(0, 2),
            effort=st.sampled_from([None, "low", "max"]),
        ),
    ),
    models=st.dictionaries(st.sampled_from(["drafter", "checker"]), TEXT),
    prompt_format=TEXT,
    rules=st.lists(
        st.builds(Rule, TEXT, st.sampled_from(["check", "criterion"]), TEXT, st.booleans()),
        max_size=3,
    ).map(tuple),
    lineage=st.builds(
        Lineage,
        program=st.none() | TEXT,
        files=st.dictionaries(TEXT, TEXT, max_size=2),
        rubric=st.none() | TEXT,
        rows=st.none() | TEXT,
        splits=st.dictionaries(st.sampled_from(["train", "val", "gate"]), NAMES),
    ),
    search=st.builds(Search, TEXT, st.integers(), st.dictionaries(TEXT, JSON, max_size=2)),
    parent=st.none() | TEXT,
)


@given(ARTIFACTS)
def test_load_of_save_is_the_artifact(artifact: Artifact) -> None:
    """What is written is what is read, byte for byte and value for value."""
    content = canonical_bytes(to_payload(artifact))

    again = parse_artifact(content.decode(), expected_id=artifact.id, where="artifact.json")

    assert again == artifact
    assert again.id == artifact.id
    assert canonical_bytes(to_payload(again)) == content


def test_an_effort_that_was_not_asked_for_is_not_written(shipped: Path) -> None:
    """Artifacts from before there was one keep their ids."""
    options = {"drafter": Options(), "checker": Options(effort="low")}

    payload = to_payload(replace(compiled(shipped), options=options))

    assert payload["options"] == {
        "drafter": {"max_tokens": 1024, "temperature": 0.0, "resample_temperature": 0.8},
        "checker": {
            "max_tokens": 1024,
            "temperature": 0.0,
            "resample_temperature": 0.8,
            "effort": "low",
        },
    }


def test_id_is_the_digest_of_the_file(shipped: Path) -> None:
    """`sha256sum artifact.json` begins with the name of its folder."""
    artifact = compiled(shipped)

    content = (folder_of(shipped, artifact) / "artifact.json").read_bytes()

    assert hashlib.sha256(content).hexdigest()[:12] == artifact.id


def test_written_folder_holds_artifact_prompts_and_evaluation(root: Path) -> None:
    """Times and spend stand beside the artifact, not in it."""
    artifact = written(root)

    names = sorted(path.name for path in folder_of(root, artifact).iterdir())
    assert names == ["PROMPTS.md", "artifact.json", "evaluation.json"]
    assert read_artifact(root, NAME, artifact.id) == artifact
    assert read_evaluation(root, NAME, artifact.id)["gain"] == 0.1
    assert not list((root / "compiled" / NAME).glob(".*"))


def test_artifact_holds_what_it_was_made_of(root: Path) -> None:
    """Instructions, demos with their origin, fields, rules, models and files are all there."""
    artifact = compiled(root)

    assert artifact.predictors["draft"].instructions == "Write it in plain words."
    assert artifact.predictors["draft"].demos == (DEMO,)
    assert artifact.predictors["draft"].inputs == ("request",)
    assert artifact.predictors["draft"].outputs == ("notice",)
    assert set(artifact.predictors) == {"draft", "check", "revise"}
    assert [rule.id for rule in artifact.rules] == ["max_words", "plain"]
    assert artifact.models["drafter"] == "scripted/test"
    assert set(artifact.lineage.files) == {"words.txt"}


def test_equal_compiles_have_equal_ids(root: Path) -> None:
    """The id holds no time and no chance, and forgets what only the evaluation knows."""
    assert written(root).id == written(root).id
    assert list_artifacts(root, NAME) == (compiled(root).id,)
    assert compiled(root, "Other.").id != compiled(root).id


def test_name_that_is_a_path_is_refused(root: Path) -> None:
    """A NAME never leaves compiled/."""
    with pytest.raises(ProjectError, match="not a NAME"):
        list_artifacts(root, "../x")


KEYS = [
    "sk-ant-api03-" + "a" * 30,
    "sk-proj-" + "b" * 30,
    "AKIA" + "C" * 16,
    "ghp_" + "d" * 36,
    "hf_" + "e" * 34,
    "-----BEGIN RSA PRIVATE KEY-----",
]


@pytest.mark.parametrize("key", KEYS)
def test_key_is_never_written(root: Path, key: str) -> None:
    """A text that looks like a key stops the write; the error does not repeat it."""
    artifact = compiled(root, f"Use {key} to log in.")

    with pytest.raises(ArtifactError, match="draft > instructions") as caught:
        write_artifact(root, artifact, evaluation={}, prompts="")

    assert key not in str(caught.value)
    assert not (root / "compiled").exists()


@pytest.mark.parametrize("place", ["evaluation", "prompts", "key"])
def test_value_of_a_key_variable_is_never_written(
    root: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    """Values of this environment's key variables are looked for everywhere."""
    monkeypatch.setenv("SOME_SERVICE_TOKEN", "correct-horse")
    evaluation = {"note": "correct-horse"} if place == "evaluation" else {}
    evaluation = {"correct-horse": ["x"]} if place == "key" else evaluation
    prompts = "say correct-horse" if place == "prompts" else ""

    with pytest.raises(ArtifactError, match="SOME_SERVICE_TOKEN"):
        write_artifact(root, compiled(root), evaluation=evaluation, prompts=prompts)

    assert not (root / "compiled").exists()


def test_short_value_of_a_key_variable_is_no_key(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A word such as `test` in a key variable does not stop every write."""
    monkeypatch.setenv("SOME_API_KEY", "plain")

    assert written(root).id in list_artifacts(root, NAME)


@pytest.mark.parametrize("value", [float("nan"), object()])
def test_demo_that_json_cannot_hold_is_refused(root: Path, value: object) -> None:
    """A demo is JSON or it is not written."""
    base = load_base(root, NAME)
    demo = Demo({"request": value, "notice": "x"})
    state = base.state()
    predictors = {**state.predictors, "draft": PredictorState("x", (demo,))}
    program = base.with_state(replace(state, predictors=predictors))

    with pytest.raises(ArtifactError, match="JSON only"):
        build_artifact(program, lineage=Lineage(), search=Search("bootstrap", 0))


def test_evaluation_that_json_cannot_hold_is_refused(root: Path) -> None:
    """NaN is no number to compare with."""
    with pytest.raises(ArtifactError, match="evaluation"):
        write_artifact(root, compiled(root), evaluation={"mean": float("nan")}, prompts="")

    assert not (root / "compiled").exists()


def test_artifact_that_does_not_load_back_is_not_written(root: Path) -> None:
    """Success is reported only after a fresh process has loaded what was written."""
    artifact = compiled(root)
    edit_program(root, "notice: str", "letter: str")

    with pytest.raises(ArtifactError, match="does not load in a fresh process"):
        write_artifact(root, artifact, evaluation={}, prompts="")

    assert list_artifacts(root, NAME) == ()
    assert not (root / "compiled" / NAME).exists()


def test_program_that_takes_for_ever_to_import_is_not_waited_for(shipped: Path) -> None:
    """The fresh process has a deadline."""
    artifact = compiled(shipped)

    with pytest.raises(ArtifactError, match="took over"):
        check_reload(shipped, folder_of(shipped, artifact), artifact=artifact, max_seconds=0.01)


def test_fresh_process_prints_the_state(shipped: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What the fresh process prints is all that tuning chose."""
    artifact = compiled(shipped)
    arguments = [str(shipped), str(folder_of(shipped, artifact)), NAME, artifact.id]

    assert reload_main(arguments) == 0

    found = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert found["predictors"]["draft"]["demos"][0]["row_id"] == "r1"
    assert found["loop"]["max_revisions"] == 1


def test_fresh_process_says_why_it_could_not_load(
    shipped: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The error of the fresh process reaches the user."""
    arguments = [str(shipped), str(shipped), NAME, "abcdefabcdef"]

    assert reload_main(arguments) == 2

    assert "cannot read" in capsys.readouterr().err


def test_artifacts_are_listed_oldest_first(root: Path) -> None:
    """The order is that of writing, which a clone keeps."""
    folder = root / "compiled" / NAME
    for artifact_id, second in (("aaaaaaaaaaaa", 2), ("bbbbbbbbbbbb", 1), ("cccccccccccc", 3)):
        (folder / artifact_id).mkdir(parents=True)
        written_at = json.dumps({"written": f"2026-01-01T00:00:0{second}+00:00"})
        (folder / artifact_id / "evaluation.json").write_text(written_at)
    (folder / "dddddddddddd").mkdir()

    assert [i[0] for i in list_artifacts(root, NAME)] == ["d", "b", "a", "c"]


def test_artifact_without_evaluation_has_none(shipped: Path) -> None:
    """Answering needs no evaluation; one that is broken is said to be."""
    artifact = compiled(shipped)
    path = folder_of(shipped, artifact) / "evaluation.json"
    path.write_text("[1")

    with pytest.raises(ArtifactError, match=r"evaluation\.json"):
        read_evaluation(shipped, NAME, artifact.id)
    path.unlink()
    assert read_evaluation(shipped, NAME, artifact.id) == {}


def test_program_that_prints_when_it_is_imported_is_written(root: Path) -> None:
    """What a program's file prints does not disturb the comparison."""
    edit_program(root, "PROGRAM = ", "print('hello')\nPROGRAM = ")

    assert written(root).id in list_artifacts(root, NAME)


def test_states_are_compared_predictor_by_predictor() -> None:
    """The error after a bad reload says which part came back differently."""
    one = {"loop": 1, "options": 2, "predictors": {"draft": "a", "check": "b"}}
    other = {"loop": 1, "options": 3, "predictors": {"draft": "x", "check": "b"}}

    assert state_differences(one, other) == "options, predictor 'draft'"
    assert state_differences(one, one) == ""


def test_folder_of_a_killed_writer_is_removed(root: Path) -> None:
    """A crash leaves a staged folder at worst, and the next write takes it away."""
    done = subprocess.run(
        [sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, check=True
    )
    parent, stages = root / "compiled" / NAME, root / ".redraft"
    parent.mkdir(parents=True)
    stale = stages / f".writing-{int(done.stdout)}-{NAME}-abcdefabcdef"
    other = stages / f".writing-{os.getppid()}-{NAME}-abcdefabcdef"
    for folder in (stale, other):
        folder.mkdir(parents=True)
        (folder / "artifact.json").write_text("{")
    (parent / f".writing-{int(done.stdout)}-CURRENT").write_text("x")

    assert list_artifacts(root, NAME) == ()
    written(root)

    assert [path.name for path in stages.glob(".*")] == [other.name]
    assert not list(parent.glob(".*"))


def test_kill_while_writing_leaves_no_artifact(root: Path) -> None:
    """Killed before success was reported, the writer has changed nothing under compiled/."""
    code = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from pathlib import Path\n"
        "from small_project import written\n"
        "written(Path(sys.argv[2]))\n"
    )
    arguments = [sys.executable, "-c", code, str(Path(__file__).parent), str(root)]
    parent, stages = root / "compiled" / NAME, root / ".redraft"
    with subprocess.Popen(arguments) as writer:
        while writer.poll() is None and not list(stages.glob(".writing-*/artifact.json")):
            time.sleep(0.01)
        writer.kill()

    assert not parent.exists()
    assert written(root).id in list_artifacts(root, NAME)
    assert not list(stages.glob(".*"))
