"""Artifacts: verified when they are loaded, by what changes an answer and where they came from."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from small_project import NAME, compiled, edit_program, folder_of, make_project, written

from redraft.artifact import (
    Lineage,
    Search,
    build_artifact,
    file_digests,
    find_artifact,
    load,
    restore_program,
    verify_lineage,
)
from redraft.artifact.record import (
    artifact_id,
    canonical_bytes,
    from_payload,
    parse_artifact,
    to_payload,
)
from redraft.errors import ArtifactError, DriftError, ModelError
from redraft.program import load_base
from redraft.testing import models_of


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

    with pytest.raises(ArtifactError, match=f"redraft artifacts {NAME} edit {artifact.id}"):
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


def test_artifact_of_a_version_with_fewer_settings_is_refused(root: Path) -> None:
    """A setting that was added since is not guessed: the id would no longer be that of the file."""
    payload = to_payload(compiled(root))
    del payload["loop"]["patience"]  # type: ignore[attr-defined]
    content = canonical_bytes(payload)

    with pytest.raises(ArtifactError, match="other parts"):
        parse_artifact(content.decode(), expected_id=artifact_id(payload), where="artifact.json")


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
