"""Artifacts as text: shown, compared, and edited into new ones."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redraft.artifact import (
    Artifact,
    CompiledPredictor,
    Lineage,
    Search,
    build_artifact,
    diff_artifacts,
    edit_artifact,
    editable_text,
    file_digests,
    list_artifacts,
    parse_editable,
    read_artifact,
    read_evaluation,
    write_artifact,
)
from redraft.errors import ArtifactError
from redraft.program import Program, load_base
from redraft.records import Demo, Loop, Options, PredictorState

NAME = "notice"
DEMO = Demo({"request": "Lift 1 stops.", "notice": 'The lift\n"stops".'}, "r1", "scripted/test")

TEXT = st.text(st.characters(codec="utf-8") | st.sampled_from('"\\\n\r\x7f\t'), max_size=12)
VALUES = TEXT | st.none() | st.integers() | st.lists(TEXT, max_size=2)
PREDICTORS = st.dictionaries(
    TEXT,
    st.builds(
        CompiledPredictor,
        TEXT,
        st.lists(
            st.builds(
                Demo, st.dictionaries(TEXT, VALUES, max_size=3), st.none() | TEXT, st.none() | TEXT
            ),
            max_size=2,
        ).map(tuple),
        st.just(()),
        st.just(()),
        st.just(""),
    ),
    max_size=3,
)


def compiled(root: Path) -> Artifact:
    """Return the artifact of the program with one demo."""
    base = load_base(root, NAME)
    state = base.state()
    predictors = {**state.predictors, "draft": PredictorState("Write.\nShort.", (DEMO,))}
    lineage = Lineage(files=file_digests(root, base))
    program = base.with_state(replace(state, predictors=predictors))
    artifact = build_artifact(program, lineage=lineage, search=Search("bootstrap", 7))
    return replace(artifact, models={"drafter": "scripted/test"})


def bare(predictors: dict[str, CompiledPredictor]) -> Artifact:
    """Return an artifact that holds nothing but predictors."""
    return Artifact(
        program="x",
        predictors=predictors,
        loop=Loop(),
        options={},
        models={},
        prompt_format="",
        rules=(),
        lineage=Lineage(),
        search=Search("", 0),
    )


@given(PREDICTORS)
def test_editable_text_reads_back(predictors: dict[str, CompiledPredictor]) -> None:
    """Whatever instructions and demos hold, the text for the editor loses nothing."""
    artifact = bare(predictors)

    assert parse_editable(editable_text(artifact), artifact.state) == artifact.state


def test_editable_text_is_readable(root: Path) -> None:
    """Lines stay lines, and quotes stay quotes."""
    text = editable_text(compiled(root))

    start = text.index('["draft"]')
    assert text[start : text.index('["revise"]')] == (
        '["draft"]\n'
        'instructions = """\n'
        "Write.\n"
        'Short."""\n'
        "\n"
        '[["draft".demos]]\n'
        'row_id = "r1"\n'
        'model = "scripted/test"\n'
        '["draft".demos.fields]\n'
        '"request" = "Lift 1 stops."\n'
        '"notice" = """\n'
        "The lift\n"
        '"stops"."""\n'
        "\n"
    )


def test_edit_makes_a_new_artifact_with_its_parent(root: Path) -> None:
    """The edited artifact stays as it is; the new one says where it comes from."""
    parent = compiled(root)
    write_artifact(root, parent, evaluation={"gain": 1}, prompts="")

    made = edit_artifact(
        root,
        NAME,
        parent.id[:5],
        editor=lambda text: text.replace("Short.", "Very short."),
        describe=lambda program: program.state().predictors["draft"].instructions,
    )

    assert made.parent == parent.id
    assert made.predictors["draft"].instructions == "Write.\nVery short."
    assert made.predictors["draft"].demos == (DEMO,)
    assert made.models == parent.models
    assert read_artifact(root, NAME, parent.id) == parent
    assert read_artifact(root, NAME, made.id) == made
    assert set(list_artifacts(root, NAME)) == {parent.id, made.id}
    assert "gain" not in read_evaluation(root, NAME, made.id)
    prompts = root / "compiled" / NAME / made.id / "PROMPTS.md"
    assert prompts.read_text() == "Write.\nVery short."


def test_edit_changes_loop_settings_and_options(root: Path) -> None:
    """What the text shows can be changed; what is left out stays as it was."""
    parent = compiled(root)
    write_artifact(root, parent, evaluation={}, prompts="")

    def editor(text: str) -> str:
        changed = text.replace("max_revisions = 1", "max_revisions = 3")
        changed = changed.replace('returns = ""', 'returns = "best"').replace("patience = 2\n", "")
        return changed + "[options.proposer]\nmax_tokens = 77\ntemperature = 1\n"

    made = edit_artifact(root, NAME, parent.id, editor=editor, describe=_nothing)

    assert made.loop == replace(parent.loop, max_revisions=3, returns="best")
    assert made.options["proposer"] == Options(max_tokens=77, temperature=1.0)
    assert made.state.predictors == parent.state.predictors
    assert read_artifact(root, NAME, made.id) == made


BAD_EDITS = [
    (lambda text: text, "nothing was changed"),
    (lambda text: text.replace('["draft"]', "[draft"), "cannot be read"),
    (lambda text: text.replace('["draft"', '["sketch"'), "sketch"),
    (lambda _: "", "lacks the predictor 'draft'"),
    (lambda text: text.replace("[loop]", "[loops]"), "did you mean 'loop'"),
    (lambda text: text.replace("patience =", "patiense ="), "did you mean 'patience'"),
    (lambda text: text.replace("votes = 1", "votes = 2"), "votes must be odd"),
    (lambda text: text.replace("votes = 1", "votes = true"), "must be a whole number"),
    (lambda text: text.replace('returns = ""', 'returns = "first"'), "'last' or 'best'"),
    (lambda text: text + "[options.draftr]\n", "did you mean 'drafter'"),
    (lambda text: text + "[options.checker]\nmax_token = 9\n", "did you mean 'max_tokens'"),
    (lambda text: "loop = 3\n" + text.partition("[loop]")[0], "must be a table"),
    (lambda text: text.replace("max_revisions = 1", "max_revisions = 0"), "predictor 'revise'"),
    (lambda text: text.replace("instructions =", "instruction =", 1), "'instruction' is not known"),
    (lambda text: text.replace("row_id =", "row ="), "'row' is not known"),
    (lambda text: text.replace('"notice" =', '"letter" ='), "lacks the output field 'notice'"),
    (lambda _: "[draft]\ninstructions = 7\n", "must be a text"),
]


@pytest.mark.parametrize(("editor", "words"), BAD_EDITS)
def test_edit_that_cannot_be_used_writes_nothing(root: Path, editor: object, words: str) -> None:
    """The error says what is wrong with the text."""
    parent = compiled(root)
    write_artifact(root, parent, evaluation={}, prompts="")

    with pytest.raises(ArtifactError, match=words):
        edit_artifact(root, NAME, parent.id, editor=editor, describe=_nothing)  # type: ignore[arg-type]

    assert list_artifacts(root, NAME) == (parent.id,)


def _nothing(_: Program) -> str:
    return ""


def test_diff_shows_what_changed_and_no_more(root: Path) -> None:
    """Instructions, demos, loop settings and options are compared as text."""
    before = compiled(root)
    draft = replace(before.predictors["draft"], instructions="Write.\nLong.")
    after = replace(
        before,
        predictors={**before.predictors, "draft": draft},
        loop=Loop(max_revisions=3),
    )

    lines = diff_artifacts(before, after).splitlines()

    changed = [line for line in lines if line[0] in "+-" and not line.startswith("+++ ")][1:]
    assert changed == [
        f"-# Artifact {before.id} of notice.",
        f"+# Artifact {after.id} of notice.",
        '-Short."""',
        '+Long."""',
        "-max_revisions = 1",
        "+max_revisions = 3",
    ]


def test_equal_artifacts_have_no_diff(root: Path) -> None:
    """Nothing changed, nothing shown."""
    assert diff_artifacts(compiled(root), compiled(root)) == ""
