"""The file of the store: whose it is, which version it has, what a damaged one says."""

import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from tiny_program import answered

from redraft.errors import TraceError
from redraft.traces import TraceStore
from redraft.traces.database import MIGRATIONS, Database


@pytest.fixture
def store(tmp_path: Path) -> TraceStore:
    return TraceStore(tmp_path / "traces.sqlite")


def test_a_file_that_is_no_database(tmp_path: Path) -> None:
    """It is not touched, and the message says what to do."""
    path = tmp_path / "t.sqlite"
    path.write_text("not a database, but long enough to be taken for one" * 20)

    with pytest.raises(TraceError, match="move the file away"):
        TraceStore(path).summaries()
    assert path.read_text().startswith("not a database")


def test_somebody_elses_database(tmp_path: Path) -> None:
    """Nothing is written into it."""
    path = tmp_path / "t.sqlite"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE theirs (x)")
    connection.close()

    with pytest.raises(TraceError, match="no store of traces"):
        TraceStore(path).summaries()


def test_a_newer_store(tmp_path: Path) -> None:
    """What a later version wrote is not read wrongly."""
    path = tmp_path / "t.sqlite"
    Database(path, migrations=(*MIGRATIONS, "CREATE TABLE later (x)")).read("SELECT 1")

    with pytest.raises(TraceError, match="newer Redraft"):
        TraceStore(path).summaries()


def test_an_older_store_is_brought_up_to_date(tmp_path: Path) -> None:
    """Only the migrations that it has not seen are run, and its rows stay."""
    path = tmp_path / "t.sqlite"
    first = "CREATE TABLE notes (text TEXT)"
    old = Database(path, migrations=(first,))
    old.write(("INSERT INTO notes VALUES (?)", ("kept",)))
    old.close()

    new = Database(path, migrations=(first, "ALTER TABLE notes ADD COLUMN number INTEGER"))

    assert [tuple(row) for row in new.read("SELECT * FROM notes")] == [("kept", None)]


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    """The folder's name is in the message."""
    (tmp_path / "file").write_text("")

    with pytest.raises(TraceError, match="cannot make the folder"):
        TraceStore(tmp_path / "file" / "t.sqlite").summaries()


def test_a_damaged_record_says_so(store: TraceStore) -> None:
    """A row that is not what was written is an error, not half an answer."""
    trace_id = answered(store).trace_id or ""
    Database(store.path).write(("UPDATE attempts SET record = '[]'", ()))

    with pytest.raises(TraceError, match="a stored Attempt cannot be read"):
        store.load(trace_id)


_WORKER = """
import sys
from redraft.traces.database import Database
database = Database(__import__("pathlib").Path(sys.argv[1]))
sys.stdin.readline()
for number in range(20):
    sql = "INSERT INTO traces (id, program, started, start, redacted) VALUES (?, '', '', '', 0)"
    database.write((sql, (f"{sys.argv[2]}-{number}",)))
"""


def test_processes_make_and_fill_a_store_together(tmp_path: Path) -> None:
    """None is turned away, and nothing that one of them wrote is lost."""
    path = tmp_path / "t.sqlite"
    workers = [
        subprocess.Popen(
            [sys.executable, "-c", _WORKER, str(path), str(n)], stdin=subprocess.PIPE, text=True
        )
        for n in range(4)
    ]

    for worker in workers:
        assert worker.stdin is not None
        worker.stdin.write("go\n")
        worker.stdin.close()

    assert [worker.wait(timeout=60) for worker in workers] == [0, 0, 0, 0]
    assert Database(path).read("SELECT count(*) FROM traces")[0][0] == 80


def test_statements_are_written_all_or_none(store: TraceStore) -> None:
    """A transaction that fails leaves nothing behind."""
    answered(store)
    database = Database(store.path)
    gone = ("DELETE FROM traces", ())

    with pytest.raises(TraceError):
        database.write(gone, ("INSERT INTO nowhere VALUES (1)", ()))

    assert len(store.summaries()) == 1
