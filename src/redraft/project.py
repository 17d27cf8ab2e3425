"""Find the project, read its settings, and load one name from one file of it."""

import ast
import hashlib
import importlib.util
import os
import re
import sys
import threading
import tomllib
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from types import ModuleType
from typing import Literal, TypeVar

from redraft.definitions import assigned_lines, find_fault
from redraft.errors import (
    ConfigError,
    MissingExtraError,
    ProgramError,
    ProjectError,
    RedraftError,
    RubricError,
)

Folder = Literal["programs", "metrics"]
CODE_FOLDERS: tuple[Folder, ...] = ("programs", "metrics")

MODEL_KEYS = ("lm", "drafter_lm", "checker_lm", "reviser_lm", "proposer_lm", "judge_lm")
COUNT_KEYS = ("compile_calls",)
TEXT_KEYS = ("traces", "redact")
TABLE_KEYS = ("anthropic", "prices")

T = TypeVar("T")

_PREFIX = "redraft_project_"
_NAME = re.compile(r"[a-z][a-z0-9_]*")
# Loading puts the project on `sys.path` for a moment, and that is one list for all threads.
_LOADING = threading.RLock()


@dataclass(frozen=True, slots=True)
class Config:
    """The `[tool.redraft]` table of `pyproject.toml`.

    Attributes:
        models: Model names by key: `lm` for every role, `checker_lm` and so on for one.
        compile_calls: Calls that a compile may spend when no cap is given; 1 or more.
        traces: File that answers are stored in, relative to the project; None for the default.
        redact: `FILE.py:FUNCTION` applied to every text before it is stored; None for none.
        tables: Tables about models, `anthropic` and `prices`, as they stand; read by `connect`.
    """

    models: Mapping[str, str] = field(default_factory=dict)
    compile_calls: int = 1200
    traces: str | None = None
    redact: str | None = None
    tables: Mapping[str, Mapping[str, object]] = field(default_factory=dict)


def find_root(start: Path | None = None) -> Path:
    """Return the nearest folder, upward from `start`, whose pyproject.toml has [tool.redraft].

    Args:
        start: Where to look first; by default the working directory.

    Raises:
        ProjectError: No such folder, or a pyproject.toml on the way cannot be read.
    """
    start = (start or Path.cwd()).resolve()
    if not start.is_dir():
        raise ProjectError(f"{start} is not a folder; name the folder of a project")
    without_table = None
    for folder in (start, *start.parents):
        path = folder / "pyproject.toml"
        if not path.is_file():
            continue
        if _read_table(path) is not None:
            return folder
        without_table = without_table or path
    seen = f" ({without_table} has none)" if without_table else ""
    raise ProjectError(
        f"no project in {start} or above it: no pyproject.toml has a [tool.redraft] table{seen}; "
        "make a project with 'redraft init', or add a line '[tool.redraft]' to the pyproject.toml "
        "beside your programs/ folder"
    )


def read_config(root: Path) -> Config:
    """Return the settings of the project in `root`, defaults filled in.

    Raises:
        ConfigError: A key is unknown, or a value has the wrong type or range.
    """
    path = root / "pyproject.toml"
    models: dict[str, str] = {}
    counts: dict[str, int] = {}
    texts: dict[str, str] = {}
    tables: dict[str, Mapping[str, object]] = {}
    for key, value in (_read_table(path) or {}).items():
        where = f"{path}: [tool.redraft] {key}"
        if key in MODEL_KEYS:
            models[key] = _model_name(value, where)
        elif key in COUNT_KEYS:
            counts[key] = _count(value, where)
        elif key in TEXT_KEYS:
            texts[key] = _text(value, where)
        elif key in TABLE_KEYS:
            tables[key] = _table(value, where)
        else:
            known = MODEL_KEYS + COUNT_KEYS + TEXT_KEYS + TABLE_KEYS
            remedy = f"the settings are {', '.join(known)}"
            raise ConfigError(f"{where}: there is no such setting; {_hint(key, known, remedy)}")
    traces, redact = texts.get("traces"), texts.get("redact")
    return Config(models=models, tables=tables, traces=traces, redact=redact, **counts)


def check_name(name: str) -> str:
    """Return `name` if it may name a program, rubric or trainset.

    Raises:
        ProjectError: It is not a lower-case word; this also keeps paths such as `../x` out.
    """
    if _NAME.fullmatch(name):
        return name
    raise ProjectError(
        f"{name!r} is not a NAME: use lower-case letters, digits and _, with a letter first, "
        "as in 'product_blurb' for programs/product_blurb.py"
    )


def list_names(root: Path, folder: Folder) -> tuple[str, ...]:
    """Return the names that have a file in `folder`, sorted."""
    found = (path.stem for path in (root / folder).glob("*.py"))
    return tuple(sorted(name for name in found if _NAME.fullmatch(name)))


def source_path(root: Path, folder: Folder, name: str) -> Path:
    """Return the path of the file of `name`.

    Raises:
        ProjectError: The name is not one, or has no file; the names that exist are listed.
    """
    path = root / folder / f"{check_name(name)}.py"
    if path.is_file():
        return path
    names = list_names(root, folder)
    exist = f"{folder}/ has {', '.join(names)}" if names else f"{folder}/ holds no files yet"
    hint = _hint(name, names, "write that file or name another")
    raise ProjectError(f"there is no {folder}/{name}.py in {root}; {exist}; {hint}")


def source_fingerprint(paths: Path | Iterable[Path]) -> str:
    """Return the SHA-256 (hex) over the bytes of one file, or of several in the given order.

    Raises:
        ProjectError: A file cannot be read.
    """
    if isinstance(paths, Path):
        return hashlib.sha256(_read_bytes(paths)).hexdigest()
    digests = (hashlib.sha256(_read_bytes(path)).digest() for path in paths)
    return hashlib.sha256(b"".join(digests)).hexdigest()


def code_fingerprint(root: Path, folder: Folder, name: str) -> str:
    """Return the SHA-256 (hex) over `folder/name.py` and what it imports from the project.

    The file is run to see what it imports, as `load_attribute` runs it.

    Raises:
        ProjectError: The file is missing or does not load.
    """
    root = root.resolve()
    path = source_path(root, folder, name)
    shown = f"{folder}/{name}.py"
    _, imported = _run(_parse(path, shown), path, root=root, shown=shown)
    helpers = sorted(set(imported) - {path})
    return source_fingerprint([path, *helpers] if helpers else path)


def load_attribute(root: Path, folder: Folder, *, name: str, attribute: str, kind: type[T]) -> T:
    """Run `folder/name.py` as a fresh module and return its `attribute`.

    While the file runs it may import from the project, as in `from programs.helper import x`.
    Nothing of the project is left behind under such a name, so two projects can be loaded in one
    process and an edited file is read again.

    Args:
        root: The project.
        folder: Which of its folders.
        name: The file, without `.py`.
        attribute: What the file must define: `PROGRAM` or `RUBRIC`.
        kind: The type that it must have.

    Raises:
        ProjectError: The file is missing or does not load; file, line and message are named.
        ProgramError, RubricError: The file defines no such value, another type, or two of them.
    """
    root = root.resolve()
    path = source_path(root, folder, name)
    shown = f"{folder}/{name}.py"
    tree = _parse(path, shown)
    module, _ = _run(tree, path, root=root, shown=shown)
    lines = assigned_lines(tree)
    fault = find_fault(module, lines, attribute=attribute, kind=kind)
    if fault is not None:
        error = ProgramError if folder == "programs" else RubricError
        raise error(f"{shown}{fault}")
    value: T = getattr(module, attribute)
    return value


def load_function(root: Path, name: str) -> Callable[[str], str]:
    """Run a file of the project as a fresh module and return a function of it, text to text.

    Args:
        root: The project.
        name: `FILE.py:FUNCTION`, with the file relative to the project.

    Raises:
        ProjectError: The name has another form, or the file is missing, does not load or has no
            such function.
    """
    file, separator, attribute = name.partition(".py:")
    path = root.resolve() / f"{file}.py"
    if not separator or not attribute.isidentifier():
        raise ProjectError(f"{name!r} names no function; write FILE.py:FUNCTION")
    shown = f"{file}.py"
    module, _ = _run(_parse(path, shown), path, root=root.resolve(), shown=shown)
    found = getattr(module, attribute, 0)
    if not callable(found):
        raise ProjectError(f"{shown} has no function {attribute!r}; define it, or name another")
    function: Callable[[str], str] = found
    return function


def _parse(path: Path, shown: str) -> ast.Module:
    try:
        return ast.parse(_read_bytes(path), filename=str(path))
    except (SyntaxError, ValueError) as error:
        line = getattr(error, "lineno", None)
        at = f":{line}" if line else ""
        message = getattr(error, "msg", error)
        raise ProjectError(f"{shown}{at}: {message}; correct the Python there") from error


def _run(
    tree: ast.Module, path: Path, *, root: Path, shown: str
) -> tuple[ModuleType, Sequence[Path]]:
    """Return the module of a file, and the files of the project that it imported."""
    # Not the import system: it may take a cached compilation of a file that was just edited.
    project = hashlib.sha256(str(root.resolve()).encode()).hexdigest()[:8]
    spec = importlib.util.spec_from_file_location(
        f"{_PREFIX}{project}.{path.parent.name}.{path.stem}", path
    )
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    with _project_on_path(root, path.parent) as imported:
        # Registered under its long name, where dataclasses and pydantic look types up.
        sys.modules[module.__name__] = module
        try:
            exec(compile(tree, str(path), "exec"), module.__dict__)
        except MissingExtraError:
            raise
        except (Exception, SystemExit) as error:
            raise _load_error(error, root=root, shown=shown) from error
    return module, imported


def _load_error(error: BaseException, *, root: Path, shown: str) -> RedraftError:
    """Say what went wrong in the user's own words: their file, their line, the message."""
    where = shown
    for frame in traceback.extract_tb(error.__traceback__):
        path = Path(frame.filename)
        if any(path.is_relative_to(root / folder) for folder in CODE_FOLDERS):
            where = f"{path.relative_to(root).as_posix()}:{frame.lineno}"
    if isinstance(error, ProgramError | RubricError | ProjectError):
        return type(error)(f"{where}: {error}")
    if isinstance(error, RedraftError):
        return ConfigError(f"{where}: {error}")
    remedy = "correct it there"
    if isinstance(error, ImportError):
        remedy = "install what it imports in this environment, or correct the import"
    return ProjectError(f"{where}: {type(error).__name__}: {error}; {remedy}")


@contextmanager
def _project_on_path(root: Path, folder: Path) -> Iterator[Sequence[Path]]:
    """Let a file import from its project, and forget what it imported from there afterwards.

    Yields:
        A list that is empty until the end, and then holds the files of what was imported.
    """
    imported: list[Path] = []
    with _LOADING:
        path_before = list(sys.path)
        hidden = _take_modules(root)
        # The folder goes last, so that a program named like a library does not hide it.
        sys.path[:] = [str(root), *path_before, str(folder)]
        importlib.invalidate_caches()
        try:
            yield imported
        finally:
            sys.path[:] = path_before
            files = map(_file_of, _take_modules(root).values())
            imported += [Path(file) for file in files if file]
            sys.modules.update(hidden)


def _take_modules(root: Path) -> dict[str, ModuleType]:
    """Remove and return the modules that were imported by a bare name from project folders."""
    inside = tuple(f"{root / folder}{os.sep}" for folder in CODE_FOLDERS)
    taken = {
        name: module
        for name, module in list(sys.modules.items())
        if name.partition(".")[0] in CODE_FOLDERS
        or (_file_of(module).startswith(inside) and not name.startswith(_PREFIX))
    }
    for name in taken:
        del sys.modules[name]
    return taken


def _file_of(module: ModuleType) -> str:
    # Not `getattr`: some libraries import half of themselves when asked for an attribute.
    file = getattr(module, "__dict__", {}).get("__file__")
    return file if isinstance(file, str) else ""


def _read_bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise ProjectError(f"cannot read {path}: {reason}; check that it is a file") from error


def _read_table(path: Path) -> Mapping[str, object] | None:
    """Return [tool.redraft]; None where the file has no such table."""
    try:
        tool = tomllib.loads(_read_bytes(path).decode("utf-8")).get("tool")
    except UnicodeDecodeError as error:
        raise ProjectError(f"{path}: byte {error.start} is not UTF-8; save it as UTF-8") from error
    except tomllib.TOMLDecodeError as error:
        raise ProjectError(f"{path} is not valid TOML: {error}; correct it there") from error
    table = tool.get("redraft") if isinstance(tool, dict) else None
    if table is not None and not isinstance(table, dict):
        raise ConfigError(f"{path}: redraft must be a table, [tool.redraft]; got {table!r}")
    return table


def _model_name(value: object, where: str) -> str:
    if isinstance(value, str) and value.strip():
        return value
    raise ConfigError(f'{where} must be a model\'s name, as in "local/smollm2-135m"; got {value!r}')


def _text(value: object, where: str) -> str:
    if isinstance(value, str) and value.strip():
        return value
    raise ConfigError(f"{where} must be a text that is not empty; got {value!r}")


def _table(value: object, where: str) -> Mapping[str, object]:
    if isinstance(value, dict):
        return value
    raise ConfigError(f"{where} must be a table; got {value!r}")


def _count(value: object, where: str) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and value >= 1:
        return value
    raise ConfigError(f"{where} must be a whole number of 1 or more; got {value!r}")


def _hint(word: str, known: Sequence[str], otherwise: str) -> str:
    near = get_close_matches(word, known, n=1)
    return f"did you mean {near[0]!r}?" if near else otherwise
