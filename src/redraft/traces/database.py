"""The file of a trace store: SQLite, claimed, migrated, and shared by threads and processes."""

import sqlite3
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from redraft.errors import TraceError

Value = str | int | float | None
Statement = tuple[str, Sequence[Value]]

# Marks a file as ours, so that some other database is never written to.
_APPLICATION_ID = 0x52445254
_BUSY_SECONDS = 30.0

# The nth entry brings a store of version n to version n + 1; entries are added, never changed.
MIGRATIONS: tuple[str, ...] = (
    """
    CREATE TABLE traces (
        id TEXT PRIMARY KEY,
        program TEXT NOT NULL,
        artifact_id TEXT,
        started TEXT NOT NULL,
        start TEXT NOT NULL,
        redacted INTEGER NOT NULL,
        resumed INTEGER NOT NULL DEFAULT 0,
        ended TEXT,
        stopped_by TEXT,
        passed INTEGER,
        answer TEXT
    ) STRICT;
    CREATE INDEX traces_by_time ON traces (started);
    CREATE TABLE calls (
        trace_id TEXT NOT NULL REFERENCES traces ON DELETE CASCADE,
        sequence INTEGER NOT NULL,
        attempt INTEGER NOT NULL,
        predictor TEXT NOT NULL,
        role TEXT NOT NULL,
        model TEXT NOT NULL,
        digest TEXT NOT NULL,
        started TEXT NOT NULL,
        outcome TEXT,
        usage TEXT,
        seconds REAL,
        PRIMARY KEY (trace_id, sequence)
    ) STRICT;
    CREATE TABLE attempts (
        trace_id TEXT NOT NULL REFERENCES traces ON DELETE CASCADE,
        number INTEGER NOT NULL,
        record TEXT NOT NULL,
        PRIMARY KEY (trace_id, number)
    ) STRICT;
    CREATE TABLE rechecks (
        number INTEGER PRIMARY KEY,
        trace_id TEXT NOT NULL REFERENCES traces ON DELETE CASCADE,
        record TEXT NOT NULL
    ) STRICT;
    CREATE INDEX rechecks_by_trace ON rechecks (trace_id);
    """,
)


class Database:
    """One SQLite file in WAL mode; safe under threads, and beside other processes.

    Every write is committed before it returns. A killed process loses nothing that was committed;
    a power cut may lose the last moments (`synchronous = NORMAL`), never the file's wholeness.

    Args:
        path: The file; it and its folder are made on first use.
        migrations: Replaced in tests.
    """

    def __init__(self, path: Path, *, migrations: Sequence[str] = MIGRATIONS) -> None:
        self.path = path
        self._migrations = migrations
        self._lock = threading.RLock()
        self._connection: sqlite3.Connection | None = None

    def write(self, *statements: Statement) -> None:
        """Run statements that change something: all of them, or none.

        Raises:
            TraceError: The file cannot be written, or a row is there already.
        """
        with self._using() as connection:
            if len(statements) == 1:
                connection.execute(*statements[0])
                return
            with _transaction(connection):
                for sql, values in statements:
                    connection.execute(sql, values)

    def read(self, sql: str, values: Sequence[Value] = ()) -> list[sqlite3.Row]:
        """Return the rows of a query.

        Raises:
            TraceError: The file cannot be read.
        """
        with self._using() as connection:
            return connection.execute(sql, values).fetchall()

    def shrink(self) -> None:
        """Give the space of deleted rows back, so that their text is gone from the file as well."""
        with self._using() as connection:
            connection.execute("VACUUM")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def close(self) -> None:
        """Close the file; the next use opens it again."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    @contextmanager
    def _using(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            try:
                if self._connection is None:
                    self._connection = self._connect()
                yield self._connection
            except sqlite3.Error as error:
                raise TraceError(
                    f"cannot use the traces in {self.path}: {error}; move the file away to begin "
                    "afresh, name another under traces in [tool.redraft], or do not store"
                ) from error

    def _connect(self) -> sqlite3.Connection:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise TraceError(
                f"cannot make the folder of {self.path}: {error.strerror}; name another file"
            ) from error
        connection = sqlite3.connect(
            self.path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False
        )
        with ExitStack() as undo:
            undo.callback(connection.close)
            connection.row_factory = sqlite3.Row
            self._prepare(connection)
            undo.pop_all()
        return connection

    def _prepare(self, connection: sqlite3.Connection) -> None:
        # Two processes may make the file at once: only a write lock shows that it is still new.
        with _transaction(connection):
            version = self._version(connection)
            for script in self._migrations[version:]:
                for statement in filter(str.strip, script.split(";")):
                    connection.execute(statement)
            connection.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {len(self._migrations)}")
        _set_journal(connection)
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("PRAGMA foreign_keys = ON")

    def _version(self, connection: sqlite3.Connection) -> int:
        version, owner = _pragma(connection, "user_version"), _pragma(connection, "application_id")
        tables = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]
        if owner != _APPLICATION_ID and (tables, version, owner) != (0, 0, 0):
            raise TraceError(
                f"{self.path} is a database, but no store of traces; name another file"
            )
        known = len(self._migrations)
        if version > known:
            raise TraceError(
                f"{self.path} was written by a newer Redraft (version {version} of its tables, "
                f"this one reads up to {known}); upgrade Redraft, or name another file"
            )
        return version


@contextmanager
def _transaction(connection: sqlite3.Connection) -> Iterator[None]:
    connection.execute("BEGIN IMMEDIATE")
    with connection:
        yield


def _set_journal(connection: sqlite3.Connection) -> None:
    """Switch to WAL; SQLite does not wait for other processes here, so it is tried again."""
    ends = time.monotonic() + _BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError:
            if time.monotonic() > ends:
                raise
            time.sleep(0.01)
        else:
            return


def _pragma(connection: sqlite3.Connection, name: str) -> int:
    return int(connection.execute(f"PRAGMA {name}").fetchone()[0])
