"""Artifacts: written whole, verified when loaded, free of keys."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_project import make_project

from redraft.artifact import (
    Artifact,
    CompiledPredictor,
    Lineage,
    Rule,
    Search,
    build_artifact,
    file_digests,
    find_artifact,
    list_artifacts,
    load,
    read_artifact,
    read_evaluation,
    restore_program,
    verify_lineage,
    write_artifact,
)
from redraft.artifact.record import canonical_bytes, from_payload, parse_artifact, to_payload
from redraft.artifact.reload import check_reload, state_differences
from redraft.artifact.reload import main as reload_main
from redraft.errors import ArtifactError, DriftError, ModelError, ProjectError
from redraft.program import load_base
from redraft.records import Demo, Loop, Options, PredictorState
from redraft.testing import models_of

NAME = "notice"
DEMO = Demo({"request": "Lift 1 stops.", "notice": "The lift stops."}, "r1", "scripted/test")

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
        st.builds(Options, max_tokens=st.integers(1, 9999), temperature=st.floats(0, 2)),
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


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return a project of one program."""
    return make_project(tmp_path / "project")


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a project with one artifact, written once."""
    root = make_project(tmp_path_factory.mktemp("template"))
    written(root)
    return root


@pytest.fixture
def shipped(template: Path, tmp_path: Path) -> Path:
    """Return a copy of the project with one artifact."""
    return Path(shutil.copytree(template, tmp_path / "shipped"))


def compiled(root: Path, instructions: str = "Write it in plain words.") -> Artifact:
    """Return the artifact of the program with other instructions and one demo."""
    base = load_base(root, NAME).with_models(models_of("A notice."))
    state = base.state()
    predictors = {**state.predictors, "draft": PredictorState(instructions, (DEMO,))}
    program = base.with_state(replace(state, predictors=predictors))
    lineage = Lineage(program="p", files=file_digests(root, base), rubric="m", rows="t")
    return build_artifact(program, lineage=lineage, search=Search("bootstrap", 7))


def written(root: Path, instructions: str = "Write it in plain words.") -> Artifact:
    """Return an artifact that was written into the project."""
    artifact = compiled(root, instructions)
    write_artifact(root, artifact, evaluation={"gain": 0.1}, prompts="# Prompts\n")
    return artifact


def folder_of(root: Path, artifact: Artifact) -> Path:
    """Return where an artifact is written."""
    return root / "compiled" / NAME / artifact.id


@given(ARTIFACTS)
def test_load_of_save_is_the_artifact(artifact: Artifact) -> None:
    """What is written is what is read, byte for byte and value for value."""
    content = canonical_bytes(to_payload(artifact))

    again = parse_artifact(content.decode(), expected_id=artifact.id, where="artifact.json")

    assert again == artifact
    assert again.id == artifact.id
    assert canonical_bytes(to_payload(again)) == content


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


def test_loaded_program_is_the_compiled_one(shipped: Path) -> None:
    """Loading gives instructions, demos and settings back, and the artifact's id."""
    artifact = compiled(shipped)

    program = load(NAME, artifact.id[:4], root=shipped, models="scripted/replies.json")

    assert program.artifact_id == artifact.id
    assert program.state() == artifact.state
    assert program.answer(request="Lift 2 stops.").artifact_id == artifact.id


def test_load_never_changes_the_programs_file_or_another_copy(shipped: Path) -> None:
    """Base stays base, however often an artifact is loaded."""
    before = load(NAME, "base", root=shipped).state()

    load(NAME, compiled(shipped).id, root=shipped)

    assert load(NAME, "base", root=shipped).state() == before


def test_current_without_promotion_is_base(shipped: Path) -> None:
    """Nothing promoted means the program as its file stands."""
    assert load(NAME, root=shipped).artifact_id is None


def test_answering_needs_neither_rubric_nor_rows(shipped: Path) -> None:
    """A folder with programs/ and compiled/ alone answers."""
    artifact = compiled(shipped)
    for path in (
        *shipped.glob("metrics/*"),
        *shipped.glob("trainsets/*/*"),
        shipped / "pyproject.toml",
    ):
        path.unlink()

    program = load(NAME, artifact.id, root=shipped, models={"lm": "scripted/replies.json"})

    assert program(request="Lift 2 stops.").notice == "A short notice."


def test_loading_pulls_in_nothing_of_the_offline_half(root: Path) -> None:
    """`redraft.load` loads neither tables nor statistics nor the search."""
    code = (
        "import sys, redraft\n"
        f"redraft.load({NAME!r}, root={str(root)!r})\n"
        "loaded = {name.partition('.')[0] for name in sys.modules}\n"
        "rooms = {name for name in sys.modules if name.startswith('redraft.')}\n"
        "print(sorted(loaded & {'pandas', 'scipy', 'optuna', 'statsmodels'}))\n"
        "print(sorted(r for r in rooms if r.split('.')[1] in ('trainset', 'rubric', 'evaluator',"
        " 'statistics', 'compiler', 'optimizers')))\n"
    )

    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, check=True, encoding="utf-8"
    )

    assert done.stdout == "[]\n[]\n"


def test_model_of_the_settings_is_used(root: Path) -> None:
    """Without `models` the project's settings name them."""
    program = load(NAME, root=root)

    assert program.answer(request="Lift 2 stops.").draft == "A short notice."


@pytest.mark.parametrize(
    "settings_text", ["[tool.redraft]\n", '[tool.redraft]\nlm = "scripted/x.json"\n']
)
def test_program_loads_without_a_usable_model(root: Path, settings_text: str) -> None:
    """Loading and rendering need no model; answering says which is missing."""
    (root / "pyproject.toml").write_text(settings_text)

    program = load(NAME, root=root)

    assert program.render("draft", {"request": "Hello."}).messages
    with pytest.raises(ModelError):
        program.answer(request="Lift 2 stops.")


def test_given_models_are_taken_as_they_are(root: Path) -> None:
    """A record of models is used as it stands."""
    models = models_of("Something else.")

    assert load(NAME, root=root, models=models).models is models


def test_edited_artifact_is_refused(shipped: Path) -> None:
    """A changed file does not answer; the error says how to edit one."""
    artifact = compiled(shipped)
    path = folder_of(shipped, artifact) / "artifact.json"
    path.write_text(path.read_text().replace("plain words", "rhymes"))

    with pytest.raises(ArtifactError, match=f"edit {artifact.id}"):
        load(NAME, artifact.id, root=shipped)


def test_truncated_artifact_is_refused(shipped: Path) -> None:
    """Half a file is said to be one."""
    artifact = compiled(shipped)
    path = folder_of(shipped, artifact) / "artifact.json"
    path.write_bytes(path.read_bytes()[:200])

    with pytest.raises(ArtifactError, match="not whole JSON"):
        load(NAME, artifact.id, root=shipped)


def test_artifact_without_its_file_is_refused(shipped: Path) -> None:
    """A folder that lost its content is no artifact."""
    artifact = compiled(shipped)
    (folder_of(shipped, artifact) / "artifact.json").unlink()

    with pytest.raises(ArtifactError, match="cannot read"):
        load(NAME, artifact.id, root=shipped)


def test_artifact_of_another_schema_is_refused(shipped: Path) -> None:
    """A later version's artifact is named as such."""
    artifact = compiled(shipped)
    path = folder_of(shipped, artifact) / "artifact.json"
    path.write_text(path.read_text().replace("redraft.artifact/1", "redraft.artifact/9"))

    with pytest.raises(ArtifactError, match="artifact/9"):
        load(NAME, artifact.id, root=shipped)


def test_artifact_with_a_missing_part_is_refused() -> None:
    """A payload that lacks a part is an error, not a traceback."""
    with pytest.raises(ArtifactError, match="lacks a part"):
        from_payload({"schema": "redraft.artifact/1", "program": "x"})


def test_artifact_of_another_program_is_refused(shipped: Path) -> None:
    """A folder that was copied under another name does not answer for it."""
    artifact = compiled(shipped)
    make_project(shipped, "other")
    (shipped / "compiled" / "other").mkdir()
    folder_of(shipped, artifact).rename(shipped / "compiled" / "other" / artifact.id)

    with pytest.raises(ArtifactError, match="of 'notice', not of 'other'"):
        load("other", artifact.id, root=shipped)


@pytest.mark.parametrize("prefix", ["abc", "zzzz", "", "../x"])
def test_unknown_id_lists_those_that_exist(shipped: Path, prefix: str) -> None:
    """The error names every artifact there is."""
    artifact = compiled(shipped)

    with pytest.raises(ArtifactError, match=artifact.id):
        find_artifact(shipped, NAME, prefix)


def test_unknown_id_without_any_artifact_says_compile(root: Path) -> None:
    """With none there, the remedy is to make one."""
    with pytest.raises(ArtifactError, match="compile it first"):
        find_artifact(root, NAME, "abcd")


def test_prefix_of_two_ids_is_refused(root: Path) -> None:
    """An ambiguous prefix names both."""
    for name in ("abcd00000000", "abcd11111111"):
        (root / "compiled" / NAME / name).mkdir(parents=True)

    with pytest.raises(ArtifactError, match="abcd00000000 or abcd11111111"):
        find_artifact(root, NAME, "abcd")


def test_name_that_is_a_path_is_refused(root: Path) -> None:
    """A NAME never leaves compiled/."""
    with pytest.raises(ProjectError, match="not a NAME"):
        list_artifacts(root, "../x")


def edit_program(root: Path, old: str, new: str) -> None:
    """Change the program's file."""
    path = root / "programs" / f"{NAME}.py"
    path.write_text(path.read_text().replace(old, new))


DRIFTS = [
    ("notice: str", "letter: str", "outputs letter, and had notice"),
    ("request: str", "wish: str", "inputs wish, and had request"),
    ("max_words(8)", "max_words(9)", "check 'max_words' is"),
    ("checks=[max_words(8)],", "", "check 'max_words' is gone"),
    ("[max_words(8)]", "[max_words(8), min_words(1)]", "check 'min_words' is new"),
    ("Every sentence is plain", "Each line is plain", "criterion 'plain' is"),
    ("must_pass=False", "must_pass=True", "minor, criterion"),
    (
        'criteria=[Criterion("plain", "Every sentence is plain English.", must_pass=False)],',
        "",
        "predictor 'check' is gone",
    ),
    (
        "request: str = dspy.InputField()",
        "request: str = dspy.InputField()\n    day: str = dspy.InputField()",
        "request, day",
    ),
    ('files=["words.txt"]', "files=[]", "not declared any more"),
    ('"words.txt"]', '"words.txt", "../notice.py"]', "is declared now"),
    ("draft=Draft,", "draft=Draft, options={},", ""),
]


@pytest.mark.parametrize(("old", "new", "line"), DRIFTS)
def test_change_of_the_program_that_changes_answers_is_drift(
    shipped: Path, old: str, new: str, line: str
) -> None:
    """Loading names what changed, and lets it pass only when told to."""
    artifact = compiled(shipped)
    edit_program(shipped, old, new)

    if not line:
        assert load(NAME, artifact.id, root=shipped).artifact_id == artifact.id
        return
    with pytest.raises(DriftError) as caught:
        load(NAME, artifact.id, root=shipped)
    assert line in "\n".join(caught.value.differences)
    assert load(NAME, artifact.id, root=shipped, allow_drift=True).artifact_id == artifact.id


def test_new_description_of_a_field_is_drift(root: Path) -> None:
    """What reaches the model is compared, not only names."""
    edit_program(
        root,
        "notice: str = dspy.OutputField()",
        'notice: str = dspy.OutputField()\n    tone: str = dspy.OutputField(desc="Its tone.")',
    )
    edit_program(root, "draft=Draft,", 'draft=Draft, draft_field="notice",')
    base = load_base(root, NAME)
    lineage = Lineage(files=file_digests(root, base))
    artifact = build_artifact(base, lineage=lineage, search=Search("identity", 0))
    edit_program(root, "Its tone.", "Its mood.")

    with pytest.raises(DriftError, match="sends another request"):
        restore_program(root, artifact)


def test_new_predictor_is_drift(root: Path) -> None:
    """A criterion that was added brings a checker which was never compiled."""
    edit_program(root, "criteria=[", "criteria=[] and [")
    artifact = written(root)
    edit_program(root, "criteria=[] and [", "criteria=[")

    with pytest.raises(DriftError, match="predictor 'check' is new"):
        load(NAME, artifact.id, root=root)


@pytest.mark.parametrize("change", ["write", "remove"])
def test_changed_file_is_drift(shipped: Path, change: str) -> None:
    """A declared file that changed, or is gone, is named."""
    artifact = compiled(shipped)
    path = shipped / "programs" / NAME / "words.txt"
    if change == "write":
        path.write_text("other\n")
    else:
        path.unlink()

    with pytest.raises(DriftError, match=r"words\.txt"):
        load(NAME, artifact.id, root=shipped)


def test_other_prompt_format_is_drift(root: Path) -> None:
    """A version that writes prompts otherwise says so, instead of naming every predictor."""
    artifact = replace(compiled(root), prompt_format="redraft.prompt/0")

    with pytest.raises(DriftError, match="prompt/0") as caught:
        restore_program(root, artifact)

    assert len(caught.value.differences) == 1


def test_comment_in_the_programs_file_is_no_drift(shipped: Path) -> None:
    """What does not change an answer does not stop one."""
    artifact = compiled(shipped)
    edit_program(shipped, "PROGRAM = ", "# the program\nPROGRAM = ")

    assert load(NAME, artifact.id, root=shipped).artifact_id == artifact.id


@pytest.mark.parametrize(
    ("found", "line"),
    [
        (Lineage(program="x", rubric="m", rows="t"), "programs/notice.py"),
        (Lineage(program="p", rubric="x", rows="t"), "metrics/notice.py"),
        (Lineage(program="p", rubric="m", rows="x"), "trainsets/notice/"),
    ],
)
def test_measuring_with_something_else_is_drift(root: Path, found: Lineage, line: str) -> None:
    """Numbers are compared only over the same program, rubric and rows."""
    artifact = compiled(root)

    with pytest.raises(DriftError, match=line):
        verify_lineage(artifact, found)
    verify_lineage(artifact, found, allow_drift=True)


def test_unknown_parts_of_lineage_are_not_compared(root: Path) -> None:
    """A rubric made in memory has no file to compare."""
    verify_lineage(compiled(root), Lineage(program="p", rows="t"))


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
    assert not list((root / "compiled" / NAME).iterdir())


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
    """A crash leaves a hidden folder at worst, and the next write takes it away."""
    done = subprocess.run(
        [sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, check=True
    )
    parent = root / "compiled" / NAME
    stale = parent / f".writing-{int(done.stdout)}-abcdefabcdef"
    other = parent / f".writing-{os.getppid()}-abcdefabcdef"
    for folder in (stale, other):
        folder.mkdir(parents=True)
        (folder / "artifact.json").write_text("{")
    (parent / f".writing-{int(done.stdout)}-CURRENT").write_text("x")

    assert list_artifacts(root, NAME) == ()
    written(root)

    assert [path.name for path in parent.glob(".*")] == [other.name]


def test_kill_while_writing_leaves_no_artifact(root: Path) -> None:
    """Killed before success was reported, the writer leaves nothing that counts."""
    code = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from pathlib import Path\n"
        "from test_artifact import written\n"
        "written(Path(sys.argv[2]))\n"
    )
    arguments = [sys.executable, "-c", code, str(Path(__file__).parent), str(root)]
    with subprocess.Popen(arguments) as writer:
        parent = root / "compiled" / NAME
        while writer.poll() is None and not list(parent.glob(".writing-*/artifact.json")):
            time.sleep(0.01)
        writer.kill()

    assert list_artifacts(root, NAME) == ()
    assert written(root).id in list_artifacts(root, NAME)
    assert not list(parent.glob(".*"))
