"""The store of one project, as its settings say."""

from pathlib import Path

from redraft.project import load_function, read_config
from redraft.traces.store import TraceStore

DEFAULT_PATH = Path(".redraft") / "traces.sqlite"


def open_store(root: Path, path: Path | None = None) -> TraceStore:
    """Return the store of the project in `root`; no file is made before something is stored.

    Args:
        root: The project; `traces` and `redact` in its [tool.redraft] say where and how.
        path: The file, in place of the one that the settings name.

    Raises:
        ConfigError: A setting is wrong.
        ProjectError: `redact` names no function, or its file does not load.
    """
    config = read_config(root)
    redact = None if config.redact is None else load_function(root, config.redact)
    return TraceStore(path or root / (config.traces or DEFAULT_PATH), redact=redact)
