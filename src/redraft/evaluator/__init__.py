"""Program x rows x rubric -> Evaluation: what a program is worth on rows it was given."""

from redraft.evaluator.results import Evaluation, RowResult, row_record
from redraft.evaluator.rows import EvaluationRun, evaluate_rows, replayed, score_answer

__all__ = [
    "Evaluation",
    "EvaluationRun",
    "RowResult",
    "evaluate_rows",
    "replayed",
    "row_record",
    "score_answer",
]
