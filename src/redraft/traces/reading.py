"""Rows of the store as traces."""

import json
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import replace

from redraft.calls import CallOutcome, NoReply
from redraft.loop import Halted
from redraft.records import Answer, Attempt, Usage
from redraft.replies import Reply
from redraft.traces.codec import load
from redraft.traces.database import Database, Value
from redraft.traces.trace import Recheck, Start, StoredCall, Trace, TraceFilter, TraceSummary

_OUTCOMES: tuple[tuple[str, type[Reply] | type[NoReply] | type[Halted]], ...] = (
    ("reply", Reply),
    ("failed", NoReply),
    ("halted", Halted),
)


def read_trace(database: Database, row: sqlite3.Row) -> Trace:
    """Return the whole trace of a row of `traces`."""
    trace_id = row["id"]
    attempts = _records(database, "attempts", trace_id, order="number")
    made = tuple(load(Attempt, text) for text in attempts)
    answer = None if row["answer"] is None else load(Answer, row["answer"])
    return Trace(
        id=trace_id,
        program=row["program"],
        artifact_id=row["artifact_id"],
        started=row["started"],
        ended=row["ended"],
        resumed=row["resumed"],
        redacted=bool(row["redacted"]),
        start=load(Start, row["start"]),
        attempts=made,
        calls=read_calls(database, trace_id),
        answer=None if answer is None else replace(answer, attempts=made),
        rechecks=tuple(
            load(Recheck, text) for text in _records(database, "rechecks", trace_id, order="number")
        ),
    )


def read_calls(database: Database, trace_id: str) -> tuple[StoredCall, ...]:
    """Return the calls of a trace, in order."""
    sql = "SELECT * FROM calls WHERE trace_id = ? ORDER BY sequence"
    return tuple(_call(row) for row in database.read(sql, (trace_id,)))


def read_summaries(
    database: Database, wanted: TraceFilter, limit: int | None
) -> tuple[TraceSummary, ...]:
    """Return the newest traces that are meant, newest first."""
    where, values = conditions(wanted)
    sql = (
        "SELECT id, program, artifact_id, started, stopped_by, passed, "
        "(SELECT count(*) FROM attempts WHERE trace_id = id) AS attempts, "
        # A call in flight counts as one; one that a cap stopped before it was made as none.
        "(SELECT coalesce(sum(coalesce(json_extract(usage, '$.calls'), 1)), 0) FROM calls "
        "WHERE trace_id = id) AS calls "
        f"FROM traces {where} ORDER BY started DESC, id DESC LIMIT ?"
    )
    rows = database.read(sql, (*values, -1 if limit is None else limit))
    return tuple(_summary(row) for row in rows)


def conditions(wanted: TraceFilter) -> tuple[str, tuple[Value, ...]]:
    """Return a filter as SQL: the WHERE clause, empty for no filter, and its values."""
    tests: list[str] = []
    values: list[Value] = []
    passed = None if wanted.passed is None else int(wanted.passed)
    columns: Mapping[str, Value] = {
        "program": wanted.program,
        "passed": passed,
        "stopped_by": wanted.stopped_by,
    }
    for column, value in columns.items():
        if value is not None:
            tests.append(f"{column} = ?")
            values.append(value)
    if wanted.finished is not None:
        tests.append(f"ended IS {'NOT ' if wanted.finished else ''}NULL")
    return ("WHERE " + " AND ".join(tests) if tests else "", tuple(values))


def _summary(row: sqlite3.Row) -> TraceSummary:
    passed = None if row["passed"] is None else bool(row["passed"])
    return TraceSummary(**{**dict(row), "passed": passed})


def _call(row: sqlite3.Row) -> StoredCall:
    values = {key: row[key] for key in row.keys() if key != "trace_id"}  # noqa: SIM118 - a Row
    outcome = None if row["outcome"] is None else _outcome(row["outcome"])
    usage = None if row["usage"] is None else load(Usage, row["usage"])
    return StoredCall(**{**values, "outcome": outcome, "usage": usage})


def _outcome(text: str) -> CallOutcome:
    stored = json.loads(text)
    word, kind = next((word, kind) for word, kind in _OUTCOMES if word in stored)
    return load(kind, json.dumps(stored[word]))


def _records(database: Database, table: str, trace_id: str, *, order: str) -> Sequence[str]:
    sql = f"SELECT record FROM {table} WHERE trace_id = ? ORDER BY {order}"
    return [row["record"] for row in database.read(sql, (trace_id,))]
