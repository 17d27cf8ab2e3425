"""An evaluation as a pandas frame."""

import pandas as pd

from redraft.evaluator import Evaluation, evaluate_rows
from redraft.program import Program
from redraft.records import Check, Loop, Row
from redraft.report.frames import evaluation_frame
from redraft.rubric import Measure, Rubric
from redraft.testing import Reply, Rule, models_of

ROWS = [Row(f"r{n}", {"request": f"Request {n}."}, split="val") for n in range(3)]
RUBRIC = Rubric([Measure("short", 1.0, lambda _, draft: 1 / len(draft.split()))])
ALWAYS = Check("always", lambda _facts, _draft: None, "Always met.")


def evaluation() -> Evaluation:
    """Return an evaluation of three rows; the second is not measured."""
    script = [Rule(Reply(fail="outage"), user="1"), Rule("one two")]
    program = Program("request -> notice", checks=[ALWAYS], loop=Loop(max_revisions=0))
    return evaluate_rows(program.with_models(models_of(script)), ROWS, RUBRIC, split="val")


def test_frame_has_a_line_a_row() -> None:
    """Scores, measures and spend stand beside the row they belong to."""
    frame = evaluation_frame(evaluation())

    assert list(frame["row_id"]) == ["r0", "r1", "r2"]
    assert list(frame["measure.short"].dropna()) == [0.5, 0.5]
    assert list(frame["stopped_by"]) == ["passed", "drafter_failed", "passed"]
    assert frame.loc[0, "calls"] == 1
    assert frame.loc[0, "split"] == "val"
    assert frame.loc[2, "draft"] == "one two"


def test_unmeasured_row_has_no_score_in_the_frame() -> None:
    """A row without a score is missing, never 0, so that pandas' mean is the evaluation's."""
    made = evaluation()

    frame = evaluation_frame(made)

    assert pd.isna(frame.loc[1, "score"])
    assert frame["score"].mean() == made.mean
    assert "scripted/test" in str(frame.loc[1, "not_measured"])
