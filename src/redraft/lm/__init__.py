"""The only room that talks to a model."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from redraft.lm.anthropic import AnthropicEngine
    from redraft.lm.anthropic_settings import AnthropicSettings
    from redraft.lm.cache import ReplyStore
    from redraft.lm.catalogue import ModelInfo, list_models
    from redraft.lm.connection import connect
    from redraft.lm.engine import Engine
    from redraft.lm.llama import LlamaServer
    from redraft.lm.model import Model, Models
    from redraft.lm.names import model_names
    from redraft.lm.prices import Prices
    from redraft.lm.pull import pull
    from redraft.lm.retry import Retry
    from redraft.lm.script import Reply, Rule
    from redraft.lm.scripted import Scripted

__all__ = [
    "AnthropicEngine",
    "AnthropicSettings",
    "Engine",
    "LlamaServer",
    "Model",
    "ModelInfo",
    "Models",
    "Prices",
    "Reply",
    "ReplyStore",
    "Retry",
    "Rule",
    "Scripted",
    "connect",
    "list_models",
    "model_names",
    "pull",
]

# Where each name lives. Importing one of these files may load an SDK, so each waits until asked.
_HOMES = {
    "AnthropicEngine": "anthropic",
    "AnthropicSettings": "anthropic_settings",
    "Engine": "engine",
    "LlamaServer": "llama",
    "Model": "model",
    "ModelInfo": "catalogue",
    "Models": "model",
    "Prices": "prices",
    "Reply": "script",
    "ReplyStore": "cache",
    "Retry": "retry",
    "Rule": "script",
    "Scripted": "scripted",
    "connect": "connection",
    "list_models": "catalogue",
    "model_names": "names",
    "pull": "pull",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
