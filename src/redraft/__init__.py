"""Compile write-and-check prompts, answer with a capped loop, measure what each was worth."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from redraft.artifact import load
    from redraft.budget import Caps, RunCaps
    from redraft.comparison import compare
    from redraft.compiler import compile_program
    from redraft.errors import RedraftError
    from redraft.evaluator import evaluate
    from redraft.lm import Models, connect
    from redraft.program import Program
    from redraft.records import Answer, Check, Criterion, Loop, Options, Row, Score, Usage
    from redraft.rubric import Measure, Rubric
    from redraft.session import AnswerRun
    from redraft.traces import TraceStore

_ROOMS = {
    "Answer": "records",
    "AnswerRun": "session",
    "Caps": "budget",
    "Check": "records",
    "Criterion": "records",
    "Loop": "records",
    "Measure": "rubric",
    "Models": "lm",
    "Options": "records",
    "Program": "program",
    "RedraftError": "errors",
    "Row": "records",
    "Rubric": "rubric",
    "RunCaps": "budget",
    "Score": "records",
    "TraceStore": "traces",
    "Usage": "records",
    "compare": "comparison",
    "compile_program": "compiler",
    "connect": "lm",
    "evaluate": "evaluator",
    "load": "artifact",
}

__all__ = [
    "Answer",
    "AnswerRun",
    "Caps",
    "Check",
    "Criterion",
    "Loop",
    "Measure",
    "Models",
    "Options",
    "Program",
    "RedraftError",
    "Row",
    "Rubric",
    "RunCaps",
    "Score",
    "TraceStore",
    "Usage",
    "compare",
    "compile_program",
    "connect",
    "evaluate",
    "load",
]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that the package itself starts at once.

    Raises:
        MissingExtraError: It needs an optional part that is not installed.
    """
    if name not in _ROOMS:
        raise AttributeError(f"module 'redraft' has no attribute {name!r}")
    try:
        return getattr(importlib.import_module(f"redraft.{_ROOMS[name]}"), name)
    except ModuleNotFoundError as error:
        missing = importlib.import_module("redraft.errors").missing_extra(error, f"redraft.{name}")
        if missing is None:
            raise
        raise missing from error


def __dir__() -> list[str]:
    return sorted(__all__)
