"""The ledger of looks at `gate` and `test`: `compiled/NAME/looks.jsonl`, which only grows."""

import fcntl
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from redraft.errors import ProjectError
from redraft.project import check_name
from redraft.records import Split
from redraft.statistics import look_level

DECIDES = "compile"

Outcome = Literal["confirmed", "likely", "not_confirmed", "worse"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """One reading of the rows of a split that claims are made on.

    Attributes:
        number: From 1, over all looks of this program.
        split: `gate` or `test`.
        command: Who looked: `compile`, `compare`, `evaluate`.
        artifact_id: What was measured; None for the program as its file stands, and for a
            compile, which has not written its artifact yet.
        rows_digest: Which rows; a look at other rows has another digest.
        level: One-sided level in (0, 1) of the decision made with this look; None where none is,
            as at `test`, or where `evaluate` reads `gate`.
        when: UTC, ISO 8601.
        outcome: What was decided; None until it is known, or for ever if the work was stopped.
    """

    number: int
    split: Split
    command: str
    artifact_id: str | None
    rows_digest: str
    level: float | None
    when: str
    outcome: Outcome | None = None


@dataclass(frozen=True, slots=True)
class Ledger:
    """Everything that one file of looks says.

    Attributes:
        looks: In the order in which they happened.
        problems: One sentence for each line that was cut off, as by a killed process. Its rows
            were not read, since a look is on disk before they are.
    """

    looks: tuple[Look, ...] = ()
    problems: tuple[str, ...] = ()


def ledger_path(root: Path, name: str) -> Path:
    """Return where the looks of a program are written."""
    return root / "compiled" / check_name(name) / "looks.jsonl"


def read_ledger(root: Path, name: str) -> Ledger:
    """Return all looks of a program; none where nothing has looked yet.

    Raises:
        ProjectError: The file cannot be read, or a whole line of it is not one of a ledger.
    """
    path = ledger_path(root, name)
    try:
        return _parse(path.read_bytes(), path)
    except FileNotFoundError:
        return Ledger()
    except OSError as error:
        raise ProjectError(
            f"cannot read {path}: {error.strerror}; check that it is a file"
        ) from error


def looks(
    root: Path, name: str, *, split: Split | None = None, rows_digest: str | None = None
) -> tuple[Look, ...]:
    """Return the looks of a program, at one split or at certain rows where these are named.

    Raises:
        ProjectError: As `read_ledger`.
    """
    return tuple(
        look
        for look in read_ledger(root, name).looks
        if split in (None, look.split) and rows_digest in (None, look.rows_digest)
    )


def gate_level(looks: Sequence[Look]) -> float:
    """Return the level of the next look at `gate`.

    Args:
        looks: Those at the same rows; only a compile's at `gate` count, since no other decides,
            and of them only those after the last confirmed gain. A look without an outcome counts
            as not confirmed.
    """
    since = 0
    for look in looks:
        if _decides(look.split, look.command):
            since = 0 if look.outcome == "confirmed" else since + 1
    return look_level(since + 1)


def record_look(
    root: Path,
    name: str,
    *,
    split: Split,
    command: str,
    rows_digest: str,
    artifact_id: str | None = None,
) -> Look:
    """Write down a look before its rows are read, and return it.

    The line is on disk when this returns. Number and level are settled while no other process
    can write, so two compiles at once never spend the same level.

    Args:
        root: The project.
        name: The program.
        split: The split that will be read.
        command: The command that reads it.
        rows_digest: Of the rows that will be read.
        artifact_id: What will be measured, where it has an id.

    Raises:
        ProjectError: The ledger cannot be read or written.
    """
    with _locked(ledger_path(root, name)) as file:
        before = _parse(_content(file), ledger_path(root, name)).looks
        same = [look for look in before if look.rows_digest == rows_digest]
        look = Look(
            number=max((look.number for look in before), default=0) + 1,
            split=split,
            command=command,
            artifact_id=artifact_id,
            rows_digest=rows_digest,
            level=gate_level(same) if _decides(split, command) else None,
            when=_now(),
        )
        line = asdict(look)
        del line["outcome"]
        _append(file, line)
    return look


def record_outcome(
    root: Path, name: str, *, look_number: int, outcome: Outcome, artifact_id: str | None = None
) -> None:
    """Write down what was decided with a look.

    Args:
        root: The project.
        name: The program.
        look_number: The look.
        outcome: The decision.
        artifact_id: What the compile wrote, where it wrote something.

    Raises:
        ProjectError: There is no such look, or the ledger cannot be read or written.
    """
    path = ledger_path(root, name)
    with _locked(path) as file:
        if all(look.number != look_number for look in _parse(_content(file), path).looks):
            raise ProjectError(f"{path} has no look {look_number}; record the look first")
        line = {"outcome_of": look_number, "outcome": outcome, "artifact_id": artifact_id}
        _append(file, {**line, "when": _now()})


def _decides(split: Split, command: str) -> bool:
    return split == "gate" and command == DECIDES


@contextmanager
def _locked(path: Path) -> Iterator[int]:
    """Open the ledger for appending while no other process may write; make it if need be."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield file
            os.fsync(file)
            _sync_folder(path.parent)
        finally:
            os.close(file)
    except OSError as error:
        raise ProjectError(f"cannot write {path}: {error.strerror}; check the folder") from error


def _sync_folder(folder: Path) -> None:
    # A new file is lost with its folder's entry, however well the file itself was synced.
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _content(file: int) -> bytes:
    return os.pread(file, os.fstat(file).st_size, 0)


def _append(file: int, line: Mapping[str, object]) -> None:
    # A line that was cut off ends here, so that it does not spoil the next one.
    content = _content(file)
    cut_off = content and not content.endswith(b"\n")
    text = ("\n" if cut_off else "") + json.dumps(line) + "\n"
    os.write(file, text.encode())


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _parse(content: bytes, path: Path) -> Ledger:
    found: dict[int, Look] = {}
    problems = []
    for number, text in enumerate(content.split(b"\n"), start=1):
        if not text.strip():
            continue
        try:
            line = json.loads(text)
        except ValueError:
            problems.append(f"{path}:{number}: a line was cut off, as by a killed process; ignored")
            continue
        if not _apply(line, found):
            raise ProjectError(
                f"{path}:{number}: this is neither a look nor its outcome; "
                "take the file back from version control, since it is only ever added to"
            )
    return Ledger(tuple(found.values()), tuple(problems))


def _apply(line: object, found: dict[int, Look]) -> bool:
    """Add a look, or an outcome to its look; return whether the line is one of them."""
    match line:
        case {
            "number": int(number),
            "split": "gate" | "test" as split,
            "command": str(command),
            "artifact_id": str() | None as artifact_id,
            "rows_digest": str(rows_digest),
            "level": float() | None as level,
            "when": str(when),
        } if number not in found:
            found[number] = Look(
                number=number,
                split=split,
                command=command,
                artifact_id=artifact_id,
                rows_digest=rows_digest,
                level=level,
                when=when,
            )
        case {
            "outcome_of": int(number),
            "outcome": "confirmed" | "likely" | "not_confirmed" | "worse" as outcome,
            "artifact_id": str() | None as artifact_id,
        } if number in found:
            known = artifact_id or found[number].artifact_id
            found[number] = replace(found[number], outcome=outcome, artifact_id=known)
        case _:
            return False
    return True
