"""Program x rows x rubric -> Evaluation: what a program is worth on rows it was given."""

from redraft.evaluator.batch import check_batchable, evaluate_batch
from redraft.evaluator.facts import score_references, with_facts
from redraft.evaluator.results import Evaluation, RowResult, row_record
from redraft.evaluator.rows import EvaluationRun, Progress, evaluate_rows, replayed, score_answer
from redraft.evaluator.subject import RowsGiven, Subject, Where, evaluate, resolve

__all__ = [
    "Evaluation",
    "EvaluationRun",
    "Progress",
    "RowResult",
    "RowsGiven",
    "Subject",
    "Where",
    "check_batchable",
    "evaluate",
    "evaluate_batch",
    "evaluate_rows",
    "replayed",
    "resolve",
    "row_record",
    "score_answer",
    "score_references",
    "with_facts",
]
