"""Models that DSPy reaches by itself, on a provider on this machine."""

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from dspy.lm15 import (
    AuthError,
    LM15Error,
    ProviderError,
    RateLimitError,
    ServerError,
    TransportError,
    Usage,
)
from lm_requests import ask, request_of
from loopback import Body, Sent, said, serving

from redraft.errors import ModelError
from redraft.lm import Model, Retry, connect
from redraft.lm.provider import ProviderEngine


def failing(status: int, headers: dict[str, str] | None = None) -> Callable[[Body], Sent]:
    """Return an answer that is an error."""
    return lambda body: (status, headers or {}, {"error": {"message": "No."}})


def never() -> None:
    """Go on."""


def test_a_reply_is_what_the_provider_sent() -> None:
    """Text, reason and usage; the price is unknown."""
    with serving(lambda body: said("Hello there.", body=body)) as name:
        engine = ProviderEngine(name)
        reply = engine.complete(request_of("Hi.", model=name), never)

    assert (reply.text, reply.finish_reason) == ("Hello there.", "stop")
    assert (reply.usage.input_tokens, reply.usage.output_tokens) == (1, 2)
    assert (engine.cost_usd, engine.count_tokens("x"), engine.context_tokens) == (None, None, None)


@pytest.mark.parametrize(
    ("status", "kind"), [(401, AuthError), (429, RateLimitError), (503, ServerError)]
)
def test_failures_keep_their_kind(status: int, kind: type[LM15Error]) -> None:
    """The retry layer and the loop tell outages from wrong keys by it."""
    with serving(failing(status)) as name, pytest.raises(kind) as raised:
        ProviderEngine(name).complete(request_of(model=name), never)

    assert raised.value.status == status


def test_tasks_fail_alike() -> None:
    """The asynchronous path raises the same."""
    with serving(failing(503)) as name, pytest.raises(ServerError):
        asyncio.run(ProviderEngine(name).acomplete(request_of(model=name), never))


def test_the_servers_hint_is_kept() -> None:
    """The retry layer waits as long as it says."""
    with serving(failing(429, {"Retry-After": "7"})) as name, pytest.raises(LM15Error) as raised:
        ProviderEngine(name).complete(request_of(model=name), never)

    assert raised.value.retry_after == 7


def test_a_server_that_is_away_is_an_outage() -> None:
    """A refused connection may pass."""
    with serving(failing(500)) as name:
        engine = ProviderEngine(name)

    with pytest.raises(TransportError):
        engine.complete(request_of(model=name), never)


def test_what_dspy_did_not_expect_is_a_provider_error() -> None:
    """A reply in no known form is the provider's fault, and is not tried again."""
    odd: Body = {"choices": "none"}
    with serving(lambda body: (200, {}, odd)) as name, pytest.raises(ProviderError):
        ProviderEngine(name).complete(request_of(model=name), never)


def test_one_layer_tries_again() -> None:
    """DSPy's own retries are off, so two failures cost two tries."""
    asked: list[Body] = []

    def second_time(body: Body) -> Sent:
        asked.append(body)
        return said("Here.", body=body) if len(asked) == 2 else failing(503)(body)

    with serving(second_time) as name:
        model = Model(ProviderEngine(name), retry=Retry(base_seconds=0))
        reply = ask(model)
        model.close()

    assert (reply.text, len(asked)) == ("Here.", 2)


def test_a_caller_that_gives_up_is_free_at_once() -> None:
    """A provider that hangs holds nobody."""
    held = threading.Event()

    def hang(body: Body) -> Sent:
        held.wait(5)
        return said("Late.", body=body)

    def give_up() -> None:
        raise KeyboardInterrupt

    polls = iter([never, never, give_up])
    with serving(hang) as name:
        with pytest.raises(KeyboardInterrupt):
            ProviderEngine(name).complete(request_of(model=name), lambda: next(polls)())
        held.set()


@pytest.mark.parametrize(("name", "tokens"), [("anthropic/x", 9), ("ollama_chat/x", 4)])
def test_cached_tokens_are_input_tokens(
    monkeypatch: pytest.MonkeyPatch, name: str, tokens: int
) -> None:
    """Anthropic alone tells them apart; the others count them in already."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "a key")
    told = Usage(input_tokens=4, cache_read_tokens=3, cache_write_tokens=2)

    assert ProviderEngine(name).counted(told).input_tokens == tokens


def test_a_provider_that_nobody_knows_is_refused(tmp_path: Path) -> None:
    """Neither DSPy nor what it falls back on."""
    with pytest.raises(ModelError, match="no provider of 'nosuch/x' is known"):
        connect({"drafter": "nosuch/x"}, root=tmp_path)


def test_a_provider_that_only_litellm_knows_is_taken(tmp_path: Path) -> None:
    """Whether its key is set shows at the first call."""
    assert connect({"drafter": "cohere/x"}, root=tmp_path).of("drafter").name == "cohere/x"


@pytest.mark.parametrize("variable", ["OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY"])
def test_a_missing_key_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    """Before any work, with the variable to set."""
    for known in (variable, "GOOGLE_API_KEY"):
        monkeypatch.delenv(known, raising=False)
    name = f"{variable.partition('_')[0].lower()}/some-model"

    with pytest.raises(ModelError, match=f"needs a key: set {variable}"):
        connect({"drafter": name}, root=tmp_path)


def test_a_key_of_a_second_name_will_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Google's models read two variables."""
    monkeypatch.delenv("GEMINI_API_KEY", raising=False)
    monkeypatch.setenv("GOOGLE_API_KEY", "a key")

    assert connect({"drafter": "gemini/x"}, root=tmp_path).of("drafter").name == "gemini/x"


def test_local_servers_need_no_key(tmp_path: Path) -> None:
    """Nor a network to be named."""
    model = connect({"drafter": "ollama_chat/x"}, root=tmp_path).of("drafter")

    assert (model.cost, model.context_tokens) == (None, None)
