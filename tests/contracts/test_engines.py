"""Every engine keeps every promise of `redraft.testing`."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from dspy.lm15 import Request
from loopback import chatty, serving

from redraft.errors import ModelError
from redraft.lm import AnthropicEngine, Engine
from redraft.lm.catalogue import SMOLLM2, runtime_installed
from redraft.lm.local import LocalEngine
from redraft.lm.provider import ProviderEngine
from redraft.lm.pull import pull
from redraft.testing import ENGINE_PROMISES, Promise, Reply, Scripted
from redraft.testing.messages_api import ApiReply, MessagesApi


def talkative(request: Request) -> str | Reply:
    """Answer with words that depend on the request alone."""
    asked = str(request.messages[-1].text)
    if request.config.response_format is not None:
        return json.dumps({"findings": [{"status": "met", "reason": "It is."}]})
    slow = 3.0 if "endless" in asked else 0.0
    drawn = hashlib.sha256(f"{asked}{request.config.seed}".encode()).hexdigest()
    return Reply(f"{drawn} is what came of it, and there is more.", delay_seconds=slow)


@pytest.fixture(scope="module")
def scripted() -> Engine:
    """A script that promises a schema and has a context."""
    return Scripted(talkative, promises_schema=True, context_tokens=400)


@pytest.fixture(scope="module")
def provider() -> Iterator[Engine]:
    """A provider on this machine, reached as any other is."""
    with serving(chatty) as name:
        yield ProviderEngine(name)


def claude_says(body: Mapping[str, Any]) -> ApiReply:
    """Answer with words that depend on the request alone, slowly where there is no end."""
    asked = body["messages"][-1]["content"][-1]["text"]
    if "output_config" in body:
        return ApiReply(text=json.dumps({"findings": [{"status": "met", "reason": "It is."}]}))
    slow = 3.0 if "endless" in asked else 0.0
    drawn = hashlib.sha256(asked.encode()).hexdigest()
    return ApiReply(text=f"{drawn} is what came of it, and there is more.", delay_seconds=slow)


@pytest.fixture(scope="module")
def claude() -> Iterator[Engine]:
    """Claude's engine over a strict stand-in of the Messages API."""
    with MessagesApi(claude_says) as api, pytest.MonkeyPatch.context() as patch:
        for name, value in api.environment.items():
            patch.setenv(name, value)
        engine = AnthropicEngine("anthropic/claude-haiku-4-5")
        yield engine
        engine.close()


@pytest.fixture(scope="module")
def local() -> Iterator[Engine]:
    """The embedded model."""
    if not runtime_installed():
        pytest.skip("xllamacpp is not installed")
    try:
        pull()
    except ModelError as error:
        pytest.skip(f"the embedded model cannot be had: {error}")
    engine = LocalEngine(SMOLLM2.name, lambda: SMOLLM2.path)
    yield engine
    engine.close()


every_promise = pytest.mark.parametrize("promise", ENGINE_PROMISES, ids=lambda p: p.name)


@every_promise
def test_scripted_keeps_its_promises(scripted: Engine, promise: Promise) -> None:
    """A script stands for any engine, so it must keep to what they promise."""
    assert promise.broken(scripted) is None


@every_promise
def test_provider_keeps_its_promises(provider: Engine, promise: Promise) -> None:
    """What DSPy reaches by itself behaves like our own engines."""
    assert promise.broken(provider) is None


@every_promise
def test_claude_keeps_its_promises(claude: Engine, promise: Promise) -> None:
    """The SDK's client behaves like our own engines, over an API that checks every request."""
    assert promise.broken(claude) is None


@pytest.mark.local_model
@every_promise
def test_local_model_keeps_its_promises(local: Engine, promise: Promise) -> None:
    """The embedded model keeps every promise, special tokens in texts among them."""
    assert promise.broken(local) is None
