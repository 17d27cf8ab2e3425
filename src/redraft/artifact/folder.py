"""The folder of a program's artifacts: found, read, and written whole or not at all."""

import contextlib
import json
import os
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from redraft.artifact.record import ID_DIGITS, Artifact, parse_artifact
from redraft.errors import ArtifactError
from redraft.project import check_name

ARTIFACT_FILE = "artifact.json"
EVALUATION_FILE = "evaluation.json"
PROMPTS_FILE = "PROMPTS.md"
STAGES = ".redraft"
SHORTEST_PREFIX = 4

_ID = re.compile(rf"[0-9a-f]{{{ID_DIGITS}}}")
_PREFIX = re.compile(rf"[0-9a-f]{{{SHORTEST_PREFIX},{ID_DIGITS}}}")
_STAGED = re.compile(r"\.writing-(?P<pid>[0-9]+)-.*")


def artifacts_folder(root: Path, name: str) -> Path:
    """Return `compiled/NAME`; it need not exist."""
    return root / "compiled" / check_name(name)


def list_artifacts(root: Path, name: str) -> tuple[str, ...]:
    """Return the ids of the program's artifacts, oldest first."""
    folder = artifacts_folder(root, name)
    found = [path for path in _entries(folder) if _ID.fullmatch(path.name)]
    return tuple(path.name for path in sorted(found, key=lambda p: (_written(p), p.name)))


def find_artifact(root: Path, name: str, prefix: str) -> str:
    """Return the id that starts with `prefix`: four or more of its digits.

    Raises:
        ArtifactError: None does, or several do; those that exist are listed.
    """
    ids = list_artifacts(root, name)
    found = [known for known in ids if known.startswith(prefix)]
    if _PREFIX.fullmatch(prefix) and len(found) == 1:
        return found[0]
    exist = f"{name} has {', '.join(ids)}" if ids else f"{name} has none; compile it first"
    if _PREFIX.fullmatch(prefix) and found:
        raise ArtifactError(
            f"{prefix!r} could be {' or '.join(found)}; give more digits", artifact_id=prefix
        )
    raise ArtifactError(
        f"there is no artifact {prefix!r} of {name}: give {SHORTEST_PREFIX} or more digits of an "
        f"id, 'current' or 'base'; {exist}",
        artifact_id=prefix,
    )


def read_artifact(root: Path, name: str, artifact_id: str) -> Artifact:
    """Return an artifact whose content has the id that its folder is named by.

    Args:
        root: The project.
        name: The program.
        artifact_id: The id, or four or more of its digits.

    Raises:
        ArtifactError: It is not there, not whole, was changed, or is of another program.
    """
    known = find_artifact(root, name, artifact_id)
    return read_folder(artifacts_folder(root, name) / known, name, known)


def read_folder(folder: Path, name: str, artifact_id: str) -> Artifact:
    """Return the artifact of a folder, wherever that is; see `read_artifact`."""
    path = folder / ARTIFACT_FILE
    try:
        text = path.read_bytes().decode()
    except (OSError, UnicodeDecodeError) as error:
        raise ArtifactError(
            f"cannot read {path}: {error}; restore it, or compile again", artifact_id=artifact_id
        ) from error
    artifact = parse_artifact(text, expected_id=artifact_id, where=str(path))
    if artifact.program != name:
        raise ArtifactError(
            f"{path} is an artifact of {artifact.program!r}, not of {name!r}; "
            f"use it with {artifact.program!r}, or compile {name!r}",
            artifact_id=artifact_id,
        )
    return artifact


def read_evaluation(root: Path, name: str, artifact_id: str) -> dict[str, object]:
    """Return what was measured when the artifact was compiled; empty where nothing was.

    Raises:
        ArtifactError: The artifact is not there, or the file is not whole.
    """
    path = artifacts_folder(root, name) / find_artifact(root, name, artifact_id) / EVALUATION_FILE
    try:
        return dict(json.loads(path.read_bytes()))
    except FileNotFoundError:
        return {}
    except (TypeError, ValueError) as error:
        raise ArtifactError(
            f"cannot read {path}: {error}; delete it if its numbers may go",
            artifact_id=artifact_id,
        ) from error


@contextmanager
def staged(root: Path, folder: Path, files: Mapping[str, bytes]) -> Iterator[Path]:
    """Write files into a folder under `.redraft/`; when the block ends well, put it in place.

    Until then nothing beside `folder` changes. A crash leaves the staged folder at worst; the
    next write removes it. A folder that is there already keeps its place and gets the new files
    one by one, each whole.
    """
    # A rename is whole only within one file system, so it is the project's own folder.
    stages = root / STAGES
    stages.mkdir(parents=True, exist_ok=True)
    for left_behind in (stages, folder.parent):
        remove_stale(left_behind)
    stage = stages / f".writing-{os.getpid()}-{folder.parent.name}-{folder.name}"
    shutil.rmtree(stage, ignore_errors=True)
    try:
        stage.mkdir()
        for name, content in files.items():
            _write_synced(stage / name, content)
        _sync_folder(stage)
        yield stage
        _put_in_place(stage, folder, files)
    finally:
        shutil.rmtree(stage, ignore_errors=True)


def _put_in_place(stage: Path, folder: Path, names: Iterable[str]) -> None:
    folder.parent.mkdir(parents=True, exist_ok=True)
    if folder.exists():
        for name in names:
            os.replace(stage / name, folder / name)
        _sync_folder(folder)
    else:
        os.rename(stage, folder)
    _sync_folder(folder.parent)


def replace_file(path: Path, content: str) -> None:
    """Write a file so that readers see the old content or the new, and a crash leaves one."""
    temporary = path.with_name(f".writing-{os.getpid()}-{path.name}")
    try:
        _write_synced(temporary, content.encode())
        os.replace(temporary, path)
        _sync_folder(path.parent)
    finally:
        temporary.unlink(missing_ok=True)


def append_line(path: Path, line: str) -> None:
    """Append one line and wait until it is on the disk; a torn last line stays by itself."""
    with path.open("a+b") as file:
        if file.tell() > 0:
            file.seek(-1, os.SEEK_END)
            if file.read(1) != b"\n":
                file.write(b"\n")
        file.write(f"{line}\n".encode())
        file.flush()
        os.fsync(file.fileno())


def remove_stale(folder: Path) -> None:
    """Remove what writers left behind whose process is gone."""
    for path in _entries(folder):
        match = _STAGED.fullmatch(path.name)
        if match is None or _is_running(int(match["pid"])):
            continue
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


def _entries(folder: Path) -> list[Path]:
    with contextlib.suppress(FileNotFoundError):
        return list(folder.iterdir())
    return []


def _written(folder: Path) -> str:
    # The time of the file would be that of the clone.
    try:
        return str(json.loads((folder / EVALUATION_FILE).read_bytes())["written"])
    except (OSError, ValueError, KeyError, TypeError):
        return ""


def _write_synced(path: Path, content: bytes) -> None:
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # pragma: no cover - tests may run as root, who may signal everyone
        return True
    return True
