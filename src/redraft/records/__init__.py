"""Frozen values that travel between rooms: settings, rows, findings, verdicts, answers, scores."""

from redraft.records.answers import Answer, StoppedBy
from redraft.records.attempts import (
    Attempt,
    Failure,
    FailureKind,
    Finding,
    FindingBy,
    FindingStatus,
    Usage,
    Verdict,
)
from redraft.records.handoff import Handoff, Left, Try
from redraft.records.regressions import Regression, regressions
from redraft.records.rows import SPLITS, Row, Score, Split
from redraft.records.settings import (
    Check,
    CheckFunction,
    Criterion,
    Demo,
    Effort,
    Loop,
    OnFail,
    Options,
    PredictorState,
    ProgramState,
    Returns,
    Role,
)

__all__ = [
    "SPLITS",
    "Answer",
    "Attempt",
    "Check",
    "CheckFunction",
    "Criterion",
    "Demo",
    "Effort",
    "Failure",
    "FailureKind",
    "Finding",
    "FindingBy",
    "FindingStatus",
    "Handoff",
    "Left",
    "Loop",
    "OnFail",
    "Options",
    "PredictorState",
    "ProgramState",
    "Regression",
    "Returns",
    "Role",
    "Row",
    "Score",
    "Split",
    "StoppedBy",
    "Try",
    "Usage",
    "Verdict",
    "regressions",
]
