"""Makes models from their names; no model is loaded and no network used before the first call."""

import hashlib
import runpy
from collections.abc import Mapping
from pathlib import Path

import redraft.lm as room
from redraft.errors import MissingExtraError, ModelError
from redraft.lm.anthropic_settings import AnthropicSettings, settings_of
from redraft.lm.cache import ReplyStore
from redraft.lm.catalogue import SMOLLM2, runtime_installed
from redraft.lm.engine import Engine
from redraft.lm.local import LocalEngine
from redraft.lm.model import Model, Models
from redraft.lm.names import ANTHROPIC, check_model_name, check_roles
from redraft.lm.pace import Pace
from redraft.lm.prices import prices_of
from redraft.lm.provider import ProviderEngine
from redraft.lm.pull import pull_with_bar
from redraft.lm.retry import Retry
from redraft.lm.script import read_script
from redraft.lm.scripted import Scripted
from redraft.records import Role

# What a file of the user's own can raise while it is read.
_LOAD_ERRORS = (
    SyntaxError,
    ImportError,
    NameError,
    AttributeError,
    TypeError,
    ValueError,
    LookupError,
    ArithmeticError,
    OSError,
)


def connect(
    names: Mapping[Role, str],
    *,
    root: Path,
    recorded: Path | None = None,
    retry: Retry | None = None,
    tables: Mapping[str, Mapping[str, object]] | None = None,
    keyless: bool = False,
) -> Models:
    """Return the models of the named roles; equal names with equal settings share one engine.

    Args:
        names: The model of each role, `provider/model`.
        root: The project's root; `scripted/FILE` is relative to it.
        recorded: File of recorded replies that may be reused and added to; None for none. Only
            offline commands use one, answering never does.
        retry: Which failures are tried again.
        tables: The tables of `[tool.redraft]` about models: `anthropic` and `prices`.
        keyless: Whether Claude may be named without a key, to estimate what it would cost.

    Raises:
        ConfigError: A table says something that cannot be.
        ModelError: A role or name is unknown, its file is missing or wrong, or its key is not set.
        MissingExtraError: A model needs an optional part that is not installed.
    """
    check_roles(names)
    store = None if recorded is None else ReplyStore(recorded)
    maker = _Maker(root, tables or {}, store, retry, keyless=keyless)
    return Models(**{role: maker.model(role, name) for role, name in names.items()})


class _Maker:
    """Makes each model once, however many roles use it."""

    def __init__(
        self,
        root: Path,
        tables: Mapping[str, Mapping[str, object]],
        store: ReplyStore | None,
        retry: Retry | None,
        *,
        keyless: bool,
    ) -> None:
        self._root = root
        self._tables = tables
        self._store = store
        self._retry = retry
        self._keyless = keyless
        self._made: list[tuple[str, AnthropicSettings | None, Model]] = []

    def model(self, role: Role, name: str) -> Model:
        """Return the model of a role."""
        settings = None
        if check_model_name(name).partition("/")[0] in ANTHROPIC:
            settings = settings_of(self._tables.get("anthropic", {}), role)
        for made_name, made_settings, model in self._made:
            if (made_name, made_settings) == (name, settings):
                return model
        model = self._make(name, settings)
        self._made.append((name, settings, model))
        return model

    def _make(self, name: str, settings: AnthropicSettings | None) -> Model:
        if settings is None:
            return Model(_engine(name, self._root), retry=self._retry, store=self._store)
        prices = prices_of(name, self._tables.get("prices"))
        engine = room.AnthropicEngine(name, settings=settings, prices=prices, keyless=self._keyless)
        limited = settings.max_rpm is not None or settings.max_tpm is not None
        pace = Pace(max_rpm=settings.max_rpm, max_tpm=settings.max_tpm) if limited else None
        return Model(engine, retry=self._retry, store=self._store, pace=pace)


def _engine(name: str, root: Path) -> Engine:
    provider, _, rest = name.partition("/")
    if provider == "scripted":
        return _scripted(name, root, rest)
    if provider == "local":
        return _local(name, root, rest)
    return ProviderEngine(name)


def _local(name: str, root: Path, rest: str) -> LocalEngine:
    if not runtime_installed():
        raise MissingExtraError(f"the model {name!r}", "local")
    if name == SMOLLM2.name:
        return LocalEngine(
            name,
            pull_with_bar,
            sha256=SMOLLM2.file_sha256,
            context_tokens=SMOLLM2.context_tokens,
        )
    path = root / Path(rest).expanduser()
    if not path.is_file():
        raise ModelError(
            f"there is no model file {path}; a local model is {SMOLLM2.name} or local/PATH.gguf, "
            "with the path relative to the project's root",
            model=name,
        )
    return LocalEngine(name, lambda: path)


def _scripted(name: str, root: Path, rest: str) -> Scripted:
    file, _, function = rest.partition(".py:")
    path = root / (f"{file}.py" if function else rest)
    if not path.is_file():
        raise ModelError(
            f"there is no script {path}; scripted/FILE is relative to the project's root",
            model=name,
        )
    if path.suffix == ".py":
        return _from_function(name, path, function or "reply")
    if path.suffix not in (".json", ".jsonl"):
        raise ModelError(f"a script is a .json, .jsonl or .py file, not {path.name!r}", model=name)
    script = read_script(path, name)
    return Scripted(
        script.entries,
        name=name,
        promises_schema=script.promises_schema,
        context_tokens=script.context_tokens,
    )


def _from_function(name: str, path: Path, function: str) -> Scripted:
    """Load a function from a file of the user's own, without leaving the file imported."""
    try:
        found = runpy.run_path(str(path)).get(function)
    except _LOAD_ERRORS as error:
        raise ModelError(f"the script {path} does not load: {error!r}", model=name) from error
    if not callable(found):
        raise ModelError(
            f"the script {path} has no function {function!r}; define reply(request), "
            f"or name another: scripted/{path.name}:FUNCTION",
            model=name,
        )
    digest = hashlib.sha256(path.read_bytes() + function.encode()).hexdigest()
    return Scripted(found, name=name, fingerprint=digest)
