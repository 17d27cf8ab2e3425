"""Rows with everything that `prepare` adds, and a rubric tried on them, before a call is made."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from redraft.errors import InputError, TrainsetError
from redraft.program import Program
from redraft.records import Row
from redraft.rubric import Rubric

_SHOWN = 40


def with_facts(program: Program, rows: Iterable[Row]) -> tuple[Row, ...]:
    """Return the rows with the program's facts as their inputs.

    Args:
        program: Whose inputs the rows hold.
        rows: As they were read.

    Raises:
        TrainsetError: Inputs do not fit the program; all such rows are listed, each with file and
            line where there is one.
        PrepareError: The program's `prepare` cannot read a row.
    """
    full: list[Row] = []
    problems: list[str] = []
    for row in rows:
        try:
            full.append(replace(row, inputs=program.facts(row.inputs, row.id)))
        except InputError as error:
            problems.append(f"{_place(program, row)}row {row.id!r}: {error}")
    if problems:
        raise TrainsetError(_heading(program, problems), problems[:_SHOWN])
    return tuple(full)


def score_references(rubric: Rubric, rows: Iterable[Row]) -> None:
    """Try the measures on every row that has a `reference.draft`; no model is asked.

    Args:
        rubric: What is tried out.
        rows: With facts.

    Raises:
        MeasureError: A measure raised, or returned no number in [0, 1].
    """
    for row in rows:
        draft = row.reference.get("draft")
        if isinstance(draft, str):
            rubric.score(row, draft)


def _place(program: Program, row: Row) -> str:
    if row.file is None or row.line is None:
        return ""
    return f"trainsets/{program.name}/{row.file}:{row.line}: "


def _heading(program: Program, problems: Sequence[str]) -> str:
    many = "row does" if len(problems) == 1 else "rows do"
    shown = f"; the first {_SHOWN}" if len(problems) > _SHOWN else ""
    return f"{len(problems)} {many} not fit {program.name or 'the program'}{shown}:"
