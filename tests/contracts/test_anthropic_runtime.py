"""Claude's engine against a Messages API that we did not write: the embedded runtime's own server.

That server ignores `output_config.format`, so no schema is asked of it.
"""

import asyncio
from collections.abc import Iterator

import pytest

from redraft.errors import ModelError
from redraft.lm import AnthropicEngine
from redraft.lm.catalogue import SMOLLM2, runtime_installed
from redraft.lm.llama import LlamaServer
from redraft.lm.pull import pull
from redraft.testing import ENGINE_PROMISES, Promise
from redraft.testing.contract import ask

pytestmark = pytest.mark.local_model

# Claude takes no seed, so the server draws each reply anew; closing comes when all is done.
NOT_PROMISED = frozenset({"repeats", "tasks", "threads", "closes"})
KEPT = [promise for promise in ENGINE_PROMISES if promise.name not in NOT_PROMISED]


@pytest.fixture(scope="module")
def engine() -> Iterator[AnthropicEngine]:
    """The engine over the embedded model, reached as ANTHROPIC_BASE_URL says."""
    if not runtime_installed():
        pytest.skip("xllamacpp is not installed")
    try:
        pull()
    except ModelError as error:
        pytest.skip(f"the embedded model cannot be had: {error}")
    server = LlamaServer(SMOLLM2.path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ANTHROPIC_BASE_URL", f"http://{server.address}")
        patch.setenv("ANTHROPIC_API_KEY", server.key)
        engine = AnthropicEngine("anthropic/smollm2-135m")
        yield engine
        engine.close()


@pytest.mark.parametrize("promise", KEPT, ids=lambda p: p.name)
def test_the_engine_keeps_its_promises(engine: AnthropicEngine, promise: Promise) -> None:
    """Over a server with its own reading of the API."""
    assert promise.broken(engine) is None


def test_a_streamed_reply_is_a_whole_one(engine: AnthropicEngine) -> None:
    """Pieces, counts and the reason come from the server's own events."""
    reply = engine.complete(ask(engine, "Say hello.", max_tokens=9_000), lambda: None)

    assert reply.text
    assert reply.finish_reason == "stop"
    assert (reply.usage.input_tokens or 0) > 0 < (reply.usage.output_tokens or 0)


def test_prompts_are_counted(engine: AnthropicEngine) -> None:
    """By the server's own end point."""
    short, long = (engine.count_request(ask(engine, "Hello. " * n)) for n in (1, 40))

    assert 0 < short < long


def test_tasks_are_answered(engine: AnthropicEngine) -> None:
    """Several at once."""

    async def several() -> list[str | None]:
        asked = [ask(engine, f"Name {n} towns.", max_tokens=4) for n in range(3)]
        replies = await asyncio.gather(*(engine.acomplete(r, lambda: None) for r in asked))
        return [reply.text for reply in replies]

    assert all(asyncio.run(several()))
