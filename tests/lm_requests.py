"""Requests for tests of the models' room."""

from typing import Any

from dspy.lm15 import Config, Message, Request

from redraft.budget import Meter
from redraft.lm import Model


def request_of(text: str = "Hello.", *, model: str = "scripted/test", **config: Any) -> Request:
    """Return a request of one user turn."""
    return Request(model=model, messages=(Message.user(text),), config=Config(**config))


def ask(model: Model, text: str = "Hello.", meter: Meter | None = None, **config: Any) -> Any:
    """Return the response of a model to one user turn."""
    return model.lm(meter or Meter())(request_of(text, model=model.name, **config))
