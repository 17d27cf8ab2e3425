"""The store of recorded replies: JSON in SQLite, shared by threads and processes."""

import hashlib
import json
import sqlite3
import threading
from contextlib import ExitStack
from pathlib import Path

from dspy.lm15 import Request, Response

from redraft.errors import ConfigError
from redraft.lm.wire import canonical_json, dump_response, load_response, request_json

# Marks a file as ours, so that some other database is never written to.
_APPLICATION_ID = 0x52445246
_SCHEMA_VERSION = 1
_BUSY_SECONDS = 30.0


class ReplyStore:
    """Replies by request, so that a repeated command asks only what it has not asked before.

    A reply is stored once the engine has answered in full; truncated, empty and refused replies
    are answers and are stored, failures never. What is stored is never changed: where two
    processes answer the same request, the first reply stays.

    Args:
        path: The file; it and its folder are made on first use.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None

    @property
    def path(self) -> Path:
        """The file."""
        return self._path

    def get(self, request: Request, fingerprint: str, replicate: int = 0) -> Response | None:
        """Return the recorded reply, or None where there is none.

        Args:
            request: The whole request, seed and options included.
            fingerprint: The engine's.
            replicate: Number of the repetition, from 0.

        Raises:
            ConfigError: The file is not a store, is damaged, or cannot be opened.
        """
        key = reply_key(request, fingerprint, replicate)
        with self._lock:
            try:
                row = (
                    self._open().execute("SELECT reply FROM replies WHERE key = ?", (key,))
                ).fetchone()
                return None if row is None else load_response(json.loads(row[0]))
            except (sqlite3.Error, KeyError, TypeError, ValueError) as error:
                raise self._unusable(error) from error

    def put(self, request: Request, reply: Response, fingerprint: str, replicate: int = 0) -> None:
        """Record a reply, unless one is recorded already.

        Raises:
            ConfigError: The file is not a store, is damaged, or cannot be written.
        """
        key = reply_key(request, fingerprint, replicate)
        text = canonical_json(dump_response(reply))
        with self._lock:
            try:
                self._open().execute("INSERT OR IGNORE INTO replies VALUES (?, ?)", (key, text))
            except sqlite3.Error as error:
                raise self._unusable(error) from error

    def close(self) -> None:
        """Close the file; the next use opens it again."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            self._connection = self._connect()
        return self._connection

    def _connect(self) -> sqlite3.Connection:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise self._unusable(error) from error
        connection = sqlite3.connect(
            self._path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False
        )
        with ExitStack() as undo:
            undo.callback(connection.close)
            self._prepare(connection)
            undo.pop_all()
        return connection

    def _prepare(self, connection: sqlite3.Connection) -> None:
        """Claim a new file, or make sure that an old one is a store of this version."""
        # Two processes may make the file at once: only a write lock shows that it is still new.
        connection.execute("BEGIN IMMEDIATE")
        found = _pragma(connection, "application_id"), _pragma(connection, "user_version")
        tables = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]
        if tables == 0 and found == (0, 0):
            connection.execute("CREATE TABLE replies (key TEXT PRIMARY KEY, reply TEXT NOT NULL)")
            connection.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {_SCHEMA_VERSION}")
        elif found != (_APPLICATION_ID, _SCHEMA_VERSION):
            connection.execute("ROLLBACK")
            raise ConfigError(
                f"{self._path} is not a store of recorded replies of this version of Redraft; "
                "name another file, or delete this one if it may go"
            )
        connection.execute("COMMIT")
        connection.execute("PRAGMA journal_mode = WAL")
        # A reply lost to a power cut is asked for again; waiting for the disk each time is not
        # worth it.
        connection.execute("PRAGMA synchronous = NORMAL")

    def _unusable(self, error: Exception) -> ConfigError:
        return ConfigError(
            f"cannot use the recorded replies in {self._path}: {error}; "
            "delete the file to record afresh, or name another"
        )


def reply_key(request: Request, fingerprint: str, replicate: int = 0) -> str:
    """Return the key of a reply: SHA-256 (hex) of request, fingerprint and replicate number."""
    parts = canonical_json([request_json(request), fingerprint, replicate])
    return hashlib.sha256(parts.encode()).hexdigest()


def _pragma(connection: sqlite3.Connection, name: str) -> int:
    return int(connection.execute(f"PRAGMA {name}").fetchone()[0])
