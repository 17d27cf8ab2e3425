"""Records as pandas frames, for people who go on with tables."""

from dataclasses import asdict

import pandas as pd

from redraft.evaluator import Evaluation, RowResult
from redraft.records import Split


def evaluation_frame(evaluation: Evaluation) -> pd.DataFrame:
    """Return one line a row, in the order of the rows.

    Columns: `row_id`, `group`, `split`, `score` and `passed` of the rubric (missing where the row
    is not measured), `not_measured` (why), `draft`, `stopped_by`, `loop_passed`, `revisions`,
    `returned`, what the row spent (`calls`, `input_tokens`, ..., `cost_usd`), and one column
    `measure.ID` for each measure.
    """
    lines = [_line(result, evaluation.split) for result in evaluation.results]
    return pd.DataFrame.from_records(lines).astype({"score": float, "cost_usd": float})


def _line(result: RowResult, split: Split) -> dict[str, object]:
    answer, score = result.answer, result.score
    measures = {} if score is None else score.measures
    return {
        "row_id": result.row_id,
        "group": result.group,
        "split": split,
        "score": None if score is None else score.value,
        "passed": None if score is None else score.passed,
        "not_measured": result.not_measured,
        "draft": answer.draft,
        "stopped_by": answer.stopped_by,
        "loop_passed": answer.passed,
        "revisions": answer.revisions,
        "returned": answer.returned,
        **asdict(answer.usage),
        **{f"measure.{name}": value for name, value in measures.items()},
    }
