"""The only room that talks to a model."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from redraft.lm.cache import ReplyStore
    from redraft.lm.connection import connect
    from redraft.lm.engine import Engine
    from redraft.lm.model import Model, Models
    from redraft.lm.names import model_names
    from redraft.lm.retry import Retry
    from redraft.lm.script import Reply, Rule
    from redraft.lm.scripted import Scripted

__all__ = [
    "Engine",
    "Model",
    "Models",
    "Reply",
    "ReplyStore",
    "Retry",
    "Rule",
    "Scripted",
    "connect",
    "model_names",
]

# Where each name lives. Importing one of these files may load an SDK, so each waits until asked.
_HOMES = {
    "Engine": "engine",
    "Model": "model",
    "Models": "model",
    "Reply": "script",
    "ReplyStore": "cache",
    "Retry": "retry",
    "Rule": "script",
    "Scripted": "scripted",
    "connect": "connection",
    "model_names": "names",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
