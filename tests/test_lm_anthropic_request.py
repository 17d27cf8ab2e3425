"""Requests and replies of the Messages API, without a server."""

from typing import Any

import pytest
from dspy.lm15 import (
    CacheConfig,
    Config,
    FunctionTool,
    Message,
    Reasoning,
    Request,
    ServerError,
    UnsupportedFeatureError,
)
from lm_requests import request_of

from redraft.lm.anthropic_reply import Assembly, response_of
from redraft.lm.anthropic_request import rendered, reply_tokens, with_longer_reply
from redraft.lm.capabilities import UNKNOWN, capabilities_of

SMALL = capabilities_of("claude-haiku-4-5")
LARGE = capabilities_of("claude-opus-5-5")
CLOSED = {
    "type": "object",
    "properties": {"x": {"type": "string", "maxLength": 9}},
    "required": ["x"],
    "additionalProperties": False,
}


def notes(request: Request, known: Any = SMALL) -> dict[str, str]:
    """Return what is not sent as it was asked for, with what became of it."""
    return {note.field: note.action for note in rendered(request, known).adaptations}


def with_schema(schema: Any) -> Request:
    """Return a request whose reply is to fit a schema."""
    return request_of(max_tokens=9, response_format={"type": "json_schema", "schema": schema})


def test_limits_of_a_schema_are_noted() -> None:
    """What is only told to the model is on record."""
    sent = rendered(with_schema(CLOSED), SMALL)

    form = sent.body["output_config"]["format"]
    assert form["schema"]["properties"]["x"]["description"] == "(maxLength: 9)"
    assert "maxLength: 9" in sent.adaptations[-1].reason


@pytest.mark.parametrize(("schema", "known"), [({"type": "object"}, SMALL), (CLOSED, UNKNOWN)])
def test_a_schema_that_cannot_be_held_is_left_out(schema: Any, known: Any) -> None:
    """The prompt still says what is wanted."""
    assert notes(with_schema(schema), known)["config.response_format"] == "dropped"
    assert "output_config" not in rendered(with_schema(schema), known).body


def test_options_of_other_apis_are_noted() -> None:
    """None of them is sent."""
    request = request_of(max_tokens=9, seed=7, user_id="u", logprobs=2)

    assert notes(request) == {
        "config.seed": "dropped",
        "config.user_id": "dropped",
        "config.logprobs": "dropped",
    }


def test_a_temperature_goes_before_a_nucleus() -> None:
    """Models refuse both at once."""
    sent = rendered(request_of(max_tokens=9, temperature=0.5, top_p=0.9, top_k=5), SMALL)

    assert sent.sampling == {"temperature": 0.5, "top_k": 5}
    assert sent.adaptations[-1].field == "config.top_p"


def test_a_limit_that_nobody_set_is_noted() -> None:
    """The API must be told one."""
    assert notes(request_of()) == {"config.max_tokens": "defaulted"}


def test_a_limit_above_the_models_own_is_clamped() -> None:
    """The API would refuse it."""
    sent = rendered(request_of(max_tokens=999_999), SMALL)

    assert sent.body["max_tokens"] == 64_000
    assert with_longer_reply(request_of(max_tokens=999_999), SMALL) is None


@pytest.mark.parametrize(("effort", "room"), [("low", 2048), ("max", 32_768), (None, 8192)])
def test_room_for_thoughts_grows_with_effort(effort: Any, room: int) -> None:
    """Where the model thinks by itself."""
    reasoning = None if effort is None else Reasoning(effort=effort)
    request = request_of(max_tokens=9, reasoning=reasoning)

    assert reply_tokens(request, LARGE) == 9 + room
    assert reply_tokens(request, SMALL) == 9


@pytest.mark.parametrize(("known", "limit"), [(SMALL, 21_333), (UNKNOWN, 8_192)])
def test_long_replies_are_streamed_from_the_sdks_own_limit(known: Any, limit: int) -> None:
    """Above it the SDK refuses to wait for a whole one."""
    assert not rendered(request_of(max_tokens=limit), known).stream
    assert rendered(request_of(max_tokens=limit + 1), known).stream


def test_a_cache_can_be_turned_off() -> None:
    """By the request itself."""
    request = Request(
        model="anthropic/x",
        system="x" * 90_000,
        messages=(Message.user("Hi."),),
        config=Config(max_tokens=9, cache=CacheConfig(mode="off")),
    )

    assert rendered(request, SMALL).body["system"] == [{"type": "text", "text": "x" * 90_000}]


@pytest.mark.parametrize(
    "request_",
    [
        Request(
            model="anthropic/x",
            messages=(Message.user("Hi."),),
            tools=(FunctionTool(name="f", description="d", parameters={"type": "object"}),),
        ),
        Request(model="anthropic/x", messages=(Message.developer("Hi."),)),
    ],
)
def test_only_turns_of_text_are_sent(request_: Request) -> None:
    """Whatever else there is belongs to other programs."""
    with pytest.raises(UnsupportedFeatureError):
        rendered(request_, SMALL)


@pytest.mark.parametrize(
    "told",
    [{}, {"content": None, "usage": {}}, {"content": ["x"], "usage": {}}, {"content": []}],
)
def test_what_is_no_message_is_an_outage(told: dict[str, Any]) -> None:
    """A gateway's own page, say."""
    with pytest.raises(ServerError, match="form of the Messages API"):
        response_of(told, "anthropic/x")


@pytest.mark.parametrize(
    "event",
    [
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "x"}},
        {"type": "message_start"},
        {"no": "type"},
    ],
)
def test_a_stream_out_of_order_is_an_outage(event: dict[str, Any]) -> None:
    """No half of a reply is guessed."""
    with pytest.raises(ServerError, match="out of order"):
        Assembly().add(event)


def test_a_stream_without_an_end_was_cut() -> None:
    """Its last words never came."""
    assembly = Assembly()
    assembly.add({"type": "message_start", "message": {"usage": {}}})
    assembly.add({"type": "a word of next year"})

    with pytest.raises(ServerError, match="cut off"):
        assembly.message()
