"""Claude's engine over the stand-in, for tests."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pytest

from redraft.lm import AnthropicEngine, AnthropicSettings, Prices
from redraft.lm.prices import prices_of
from redraft.testing.messages_api import MessagesApi
from redraft.testing.messages_api.replies import Script

SMALL = "anthropic/claude-haiku-4-5"
LARGE = "anthropic/claude-opus-5-5"


@contextmanager
def asking(
    script: Script = "Yes.", *, name: str = SMALL, prices: Prices | None = None, **settings: Any
) -> Iterator[tuple[AnthropicEngine, MessagesApi]]:
    """Yield an engine and the stand-in that it asks; the environment names both."""
    with MessagesApi(script) as api, pytest.MonkeyPatch.context() as patch:
        for variable, value in api.environment.items():
            patch.setenv(variable, value)
        engine = AnthropicEngine(
            name,
            settings=AnthropicSettings(**settings),
            prices=prices or prices_of(name),
        )
        try:
            yield engine, api
        finally:
            engine.close()


def never() -> None:
    """Go on."""


def last_body(api: MessagesApi) -> Mapping[str, Any]:
    """Return the body of the last request."""
    body: Mapping[str, Any] = api.requests[-1].body
    return body
