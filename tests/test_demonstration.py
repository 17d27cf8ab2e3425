"""The demonstration's own parts: the scratch copy, the control, and what it does with nothing."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from redraft.artifact import load
from redraft.budget import RunCaps
from redraft.cli.init import make_project
from redraft.compilation import Compilation
from redraft.demonstration import (
    COMPILE_CALLS,
    CONTROLS,
    Stage,
    answer_both,
    compare_small,
    control_of,
    copy_project,
    hash_score,
)
from redraft.errors import ProjectError
from redraft.evaluator import Evaluation, evaluate
from redraft.records import Usage

NAME = "order_note"
UNCHANGED = Compilation(
    program=NAME,
    optimizer="bootstrap",
    seed=0,
    ending="unchanged",
    verdict="not_confirmed",
    opponent="base",
    usage=Usage(),
    seconds=1.0,
)


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    """Return a stage in the template's project, answered by a script."""
    root = tmp_path / "project"
    make_project(root)
    (root / "model.json").write_text('[{"reply": "Hello."}]', "utf-8")
    models = load(NAME, "base", root=root, models="scripted/model.json").models
    assert models is not None
    return Stage(name=NAME, root=root, models=models, out=tmp_path / "out")


def evaluated(stage: Stage, reply: str) -> Evaluation:
    """Return an evaluation in which every draft is `reply`."""
    (stage.root / "model.json").write_text(json.dumps([{"reply": reply}]), "utf-8")
    return evaluate(NAME, root=stage.root, models="scripted/model.json", split="val")


def test_copy_holds_nothing_that_was_compiled(stage: Stage, tmp_path: Path) -> None:
    """The scratch copy is a project of its own, as it was before any compile."""
    (stage.root / "compiled" / NAME).mkdir(parents=True)
    target = tmp_path / "scratch"
    target.mkdir()

    copy_project(stage.root, NAME, target)

    assert (target / "programs" / f"{NAME}.py").is_file()
    assert not (target / "compiled").exists()


def test_copy_of_a_program_that_is_not_there(stage: Stage, tmp_path: Path) -> None:
    """The message says where the demonstration can be run."""
    with pytest.raises(ProjectError, match="scripts/demo"):
        copy_project(stage.root, "product_blurb", tmp_path)


def test_control_scores_equal_drafts_equally(stage: Stage) -> None:
    """Where no draft differs there is no difference, and no claim."""
    same = evaluated(stage, "Hello.")

    control = control_of(stage, replace(UNCHANGED, before=same, after=same))

    assert control is not None
    assert control.effect.estimate == 0
    assert control.verdict == "not_confirmed"


def test_control_confirms_no_more_often_than_its_level(stage: Stage) -> None:
    """Under rubrics that know nothing of a draft the gate is seldom wrong."""
    before, after = evaluated(stage, "Hello."), evaluated(stage, "Good day.")

    control = control_of(stage, replace(UNCHANGED, before=before, after=after))

    assert control is not None
    # Twice the level leaves room for chance: four standard deviations of 200 draws.
    assert control.confirmed <= 2 * control.level * CONTROLS
    assert json.loads((stage.out / "control.json").read_text("utf-8"))["rubrics"] == CONTROLS


def test_nothing_compared_leaves_nothing_to_score(stage: Stage) -> None:
    """A compile that changed nothing has no drafts to score again, and no artifact to compare."""
    assert control_of(stage, UNCHANGED) is None
    assert compare_small(stage, UNCHANGED) is None


def test_only_base_answers_where_nothing_was_found(stage: Stage) -> None:
    """The request is answered all the same."""
    answers = answer_both(stage, UNCHANGED)

    assert list(answers) == ["base"]
    assert (stage.out / "answers.json").is_file()


def test_hash_score_can_be_computed_again() -> None:
    """As docs/formats.md says: six bytes of SHA-256 over salt, row id and draft."""
    assert hash_score("r1", "A draft.", 3) == pytest.approx(0.27089537581076684)
    assert hash_score("r1", "A draft.", 3) != hash_score("r1", "A draft.", 4)


def test_a_stage_without_caps_compiles_under_its_own(stage: Stage) -> None:
    """And spends what it needs afterwards."""
    assert stage.shared(0.6) == RunCaps(max_calls=COMPILE_CALLS)
    assert stage.after(Usage(calls=3)) == stage


def test_caps_in_tokens_and_dollars_hold_over_all_steps(stage: Stage) -> None:
    """The compile gets a share of them, the rest of the demo what is left."""
    caps = RunCaps(max_calls=50, max_tokens=1000, max_cost_usd=1.0)
    capped = replace(stage, caps=caps)
    spent = Usage(calls=40, input_tokens=500, output_tokens=100, cost_usd=0.75)

    assert capped.shared(0.5) == RunCaps(max_calls=50, max_tokens=500, max_cost_usd=0.5)
    assert capped.after(spent).caps == RunCaps(max_calls=50, max_tokens=400, max_cost_usd=0.25)


def test_caps_that_are_used_up_let_nothing_through(stage: Stage) -> None:
    """Less than any call takes is left."""
    caps = RunCaps(max_tokens=1000, max_cost_usd=1.0)
    spent = Usage(calls=40, input_tokens=900, output_tokens=100, cost_usd=1.0)

    left = replace(stage, caps=caps).after(spent).caps

    assert left is not None
    assert left.max_tokens == 1
    assert 0 < (left.max_cost_usd or 0) < 1e-9
