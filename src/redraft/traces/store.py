"""The store of answers: begun, written as they happen, listed, read back, pruned."""

import secrets
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from redraft.errors import TraceError
from redraft.traces.codec import Redact, dump
from redraft.traces.database import Database
from redraft.traces.reading import conditions, read_calls, read_summaries, read_trace
from redraft.traces.redaction import Redactor
from redraft.traces.trace import Pruned, Recheck, StoredCall, Trace, TraceFilter, TraceSummary
from redraft.traces.writer import Clock, TraceWriter, timestamp

SHORTEST_PREFIX = 4
_ID_BYTES = 6
_EVERY = TraceFilter()


def _utc_now() -> datetime:
    return datetime.now(UTC)


class TraceStore:
    """Answers in one SQLite file; safe under threads, and beside other processes.

    Copying a store, however deep, gives the same store, since programs are copied freely.

    Args:
        path: The file; it and its folder are made on first use.
        redact: Given a text that a person or a model wrote, returns what may be stored of it.
        now: The time; replaced in tests.
    """

    def __init__(
        self, path: Path | str, *, redact: Redact | None = None, now: Clock = _utc_now
    ) -> None:
        self._database = Database(Path(path))
        self._redact = redact
        self._now = now

    def __copy__(self) -> "TraceStore":
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> "TraceStore":
        return self

    @property
    def path(self) -> Path:
        """The file."""
        return self._database.path

    def begin(self) -> TraceWriter:
        """Begin the trace of one answer; nothing is written before its first event."""
        return self._writer(secrets.token_hex(_ID_BYTES))

    def reopen(self, trace_id: str) -> TraceWriter:
        """Go on with the trace of an answer that was interrupted."""
        return self._writer(trace_id, read_calls(self._database, trace_id))

    def find(self, prefix: str) -> str:
        """Return the id that starts with `prefix`: four or more of its digits.

        Raises:
            TraceError: None does, or several do.
        """
        sql = "SELECT id FROM traces WHERE substr(id, 1, ?) = ? ORDER BY id LIMIT 3"
        found = [row["id"] for row in self._database.read(sql, (len(prefix), prefix))]
        if len(prefix) >= SHORTEST_PREFIX and len(found) == 1:
            return str(found[0])
        if len(prefix) >= SHORTEST_PREFIX and found:
            raise TraceError(f"{prefix!r} could be {' or '.join(found)}; give more digits")
        raise TraceError(
            f"there is no trace {prefix!r} in {self.path}: give {SHORTEST_PREFIX} or more digits "
            "of an id; 'redraft traces list' shows them"
        )

    def load(self, trace_id: str) -> Trace:
        """Return a trace by its id, or by four or more of its digits.

        Raises:
            TraceError: There is no such trace, or it cannot be read.
        """
        sql = "SELECT * FROM traces WHERE id = ?"
        return read_trace(self._database, self._database.read(sql, (self.find(trace_id),))[0])

    def summaries(
        self, wanted: TraceFilter = _EVERY, *, limit: int | None = None
    ) -> tuple[TraceSummary, ...]:
        """Return the newest traces that are meant, newest first; all of them without a limit."""
        return read_summaries(self._database, wanted, limit)

    def traces(self, wanted: TraceFilter = _EVERY) -> Iterator[Trace]:
        """Yield the traces that are meant, oldest first, read one by one."""
        where, values = conditions(wanted)
        sql = f"SELECT id FROM traces {where} ORDER BY started, id"
        for row in self._database.read(sql, values):
            for found in self._database.read("SELECT * FROM traces WHERE id = ?", (row["id"],)):
                yield read_trace(self._database, found)

    def add_recheck(self, trace_id: str, recheck: Recheck) -> None:
        """Store what another checker said beside the old verdict."""
        record = dump(recheck, Redactor(self._redact).applies)
        self._database.write(
            ("INSERT INTO rechecks (trace_id, record) VALUES (?, ?)", (trace_id, record))
        )

    def prune(
        self,
        *,
        older_than_days: float | None = None,
        keep: int | None = None,
        dry_run: bool = False,
    ) -> Pruned:
        """Delete old traces for good.

        Args:
            older_than_days: Only traces that began longer ago than this; None for any age.
            keep: How many of the newest traces stay whatever their age; None for none.
            dry_run: Say what would go, and delete nothing.
        """
        limit = timestamp(self._now() - timedelta(days=older_than_days or 0))
        every = self.summaries()
        old = [s for s in every[keep or 0 :] if older_than_days is None or s.started < limit]
        ids = tuple(summary.id for summary in reversed(old))
        if ids and not dry_run:
            self._database.write(*(("DELETE FROM traces WHERE id = ?", (gone,)) for gone in ids))
            self._database.shrink()
        return Pruned(ids=ids, kept=len(every) - len(ids))

    def time(self) -> str:
        """Return the time as traces hold it."""
        return timestamp(self._now())

    def close(self) -> None:
        """Close the file; the next use opens it again."""
        self._database.close()

    def _writer(self, trace_id: str, made: tuple[StoredCall, ...] | None = None) -> TraceWriter:
        return TraceWriter(
            self._database, trace_id, redactor=Redactor(self._redact), now=self._now, made=made
        )
