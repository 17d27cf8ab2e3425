"""Claude's engine over the stand-in: what is sent, what comes back, what a call costs."""

import asyncio
import builtins
import json
import logging
import threading
from concurrent.futures import CancelledError, ThreadPoolExecutor

import pytest
from claude import LARGE, SMALL, asking, last_body, never
from dspy.lm15 import (
    Config,
    ContextLengthError,
    InvalidRequestError,
    Message,
    RateLimitError,
    Reasoning,
    RefusalPart,
    Request,
    ServerError,
    TimeoutError,
    TransportError,
)
from lm_requests import ask, request_of

from redraft.budget import Caps, Meter, Stop
from redraft.errors import ModelError
from redraft.lm import AnthropicEngine, Model, Retry
from redraft.testing.messages_api import ApiReply, ApiRequest, Fault

INSTRUCTIONS = "Write a notice to the tenant, in three short sentences. " * 300


def demos_request(task: str = "The lift is out.", *, model: str = SMALL) -> Request:
    """Return a request with long instructions and one demo."""
    return Request(
        model=model,
        system=INSTRUCTIONS,
        messages=(Message.user("Heating."), Message.assistant("Cold."), Message.user(task)),
        config=Config(max_tokens=64, temperature=0.0),
    )


def test_a_reply_is_what_the_api_said() -> None:
    """Text, reason, ids and tokens."""
    with asking("Hello there.") as (engine, _):
        reply = engine.complete(request_of("Hi.", model=SMALL, max_tokens=9), never)

    assert (reply.text, reply.finish_reason, reply.model) == ("Hello there.", "stop", SMALL)
    assert reply.provider_data == {
        "stop_reason": "end_turn",
        "served_by": "claude-haiku-4-5",
        "request_id": "req_000001",
    }
    assert reply.usage.output_tokens == 3


def test_one_try_is_one_request() -> None:
    """The SDK's own retries are off."""
    with asking() as (engine, api):
        api.fail(Fault(status=529))
        with pytest.raises(ServerError):
            engine.complete(request_of(model=SMALL), never)

        assert len(api.requests) == 1


def test_instructions_demos_and_task_stand_in_this_order() -> None:
    """What does not change comes first, and a mark ends it."""
    with asking() as (engine, api):
        engine.complete(demos_request(), never)
        body = last_body(api)

    mark = {"cache_control": {"type": "ephemeral"}}
    assert body["system"] == [{"type": "text", "text": INSTRUCTIONS, **mark}]
    assert body["messages"] == [
        {"role": "user", "content": [{"type": "text", "text": "Heating."}]},
        {"role": "assistant", "content": [{"type": "text", "text": "Cold.", **mark}]},
        {"role": "user", "content": [{"type": "text", "text": "The lift is out."}]},
    ]


def test_a_short_prefix_is_not_marked() -> None:
    """The API would not keep it."""
    with asking() as (engine, api):
        engine.complete(request_of(model=SMALL), never)

        assert "cache_control" not in json.dumps(last_body(api))


def test_forty_answers_read_one_prefix() -> None:
    """Of 40 requests with the same instructions and demos, 39 read what the first one wrote."""
    with asking() as (engine, api):
        first = engine.complete(demos_request("Row 0."), never).usage
        later = [engine.complete(demos_request(f"Row {n}."), never).usage for n in range(1, 40)]

        assert api.cache.reads == 39
    assert (first.cache_read_tokens or 0) == 0 < (first.cache_write_tokens or 0)
    assert {usage.cache_read_tokens for usage in later} == {first.cache_write_tokens}
    assert {usage.cache_write_tokens for usage in later} == {0}


def test_equal_requests_are_equal_bytes() -> None:
    """A prompt that changed between calls would never be read from the cache."""
    with asking() as (engine, api):
        for _ in range(3):
            engine.complete(demos_request(), never)

        sent = {json.dumps(request.body) for request in api.requests}
    assert len(sent) == 1


def test_cached_tokens_are_input_tokens() -> None:
    """Anthropic counts them beside the others; here they are part of them."""
    with asking() as (engine, _):
        usage = [engine.complete(demos_request(), never).usage for _ in range(2)]

    assert usage[0].input_tokens == usage[1].input_tokens
    assert (usage[1].input_tokens or 0) > (usage[1].cache_read_tokens or 0) > 4096


@pytest.mark.parametrize(
    ("reason", "finish"),
    [
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        ("max_tokens", "length"),
        ("refusal", "content_filter"),
        ("pause_turn", "length"),
        ("model_context_window_exceeded", "length"),
        ("a reason of next year", "length"),
    ],
)
@pytest.mark.parametrize("max_tokens", [64, 30_000])
def test_every_stop_reason_has_its_outcome(reason: str, finish: str, max_tokens: int) -> None:
    """Only a reply that ended by itself is one, whole or in pieces."""
    with asking(ApiReply(text="So far.", stop_reason=reason)) as (engine, _):
        reply = engine.complete(request_of(model=SMALL, max_tokens=max_tokens), never)

    assert reply.finish_reason == finish
    assert (reply.provider_data or {})["stop_reason"] == reason


def test_a_refusal_says_why() -> None:
    """The reason is kept apart from what was said before it."""
    said = ApiReply(stop_reason="refusal", explanation="Not this.")
    with asking(said) as (engine, _):
        reply = engine.complete(request_of(model=SMALL), never)

    refusal = reply.message.first(RefusalPart)
    assert refusal is not None
    assert refusal.text == "Not this."


def test_long_replies_are_streamed() -> None:
    """Above the limit up to which the SDK waits for a whole reply, and to the same effect."""
    said = ApiReply(text="A long notice. " * 40, thinking_tokens=5)
    with asking(said, name=LARGE) as (engine, api):
        short = engine.complete(request_of(model=LARGE, max_tokens=1000), never)
        long = engine.complete(request_of(model=LARGE, max_tokens=60_000), never)

        streamed = [request.body.get("stream", False) for request in api.requests]
    assert streamed == [False, True]
    assert (short.text, short.finish_reason) == (long.text, long.finish_reason)
    assert short.usage == long.usage
    assert long.usage.reasoning_tokens == 5
    assert (long.provider_data or {})["request_id"] == "req_000002"


def test_options_that_a_model_refuses_are_left_out_and_noted(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Each reply has it on record, and it is said once."""
    with asking(name=LARGE) as (engine, api), caplog.at_level(logging.WARNING):
        replies = [
            engine.complete(request_of(model=LARGE, max_tokens=9, temperature=0.8), never)
            for _ in range(2)
        ]

        assert "temperature" not in last_body(api)
    for reply in replies:
        noted = {note.field: note for note in reply.adaptations}
        assert noted["config.temperature"].action == "dropped"
        assert noted["config.temperature"].asked == 0.8
    said = [record.getMessage() for record in caplog.records]
    assert len(said) == 1
    assert "config.temperature is not sent" in said[0]


def test_options_that_a_model_takes_are_sent() -> None:
    """Where a temperature is known to be taken, and as high as it may be."""
    with asking() as (engine, api):
        engine.complete(request_of(model=SMALL, temperature=0.5, stop=("END",)), never)
        sent = last_body(api)
        reply = engine.complete(request_of(model=SMALL, temperature=1.5), never)

        assert last_body(api)["temperature"] == 1.0
    assert (sent["temperature"], sent["stop_sequences"]) == (0.5, ["END"])
    assert ("config.temperature", "clamped") in {(n.field, n.action) for n in reply.adaptations}


@pytest.mark.parametrize(
    ("model", "asked", "sent"),
    [
        ("claude-opus-5-5", "high", "high"),
        ("claude-sonnet-4-6", "xhigh", "high"),
        ("claude-sonnet-4-6", "max", "max"),
        ("claude-opus-5-5", "minimal", None),
        ("claude-haiku-4-5", "high", None),
    ],
)
def test_effort_is_the_nearest_that_the_model_has(model: str, asked: str, sent: str | None) -> None:
    """A level that it lacks becomes the next lower one; a model without any is asked for none."""
    name = f"anthropic/{model}"
    with asking(name=name) as (engine, api):
        reasoning = Reasoning(effort=asked)
        engine.complete(request_of(model=name, max_tokens=9, reasoning=reasoning), never)

        assert last_body(api).get("output_config", {}).get("effort") == sent


def test_thoughts_have_room_of_their_own() -> None:
    """They count in the API's limit, so a short reply would not fit into its own limit."""
    said = ApiReply(text="A notice.", thinking_tokens=900)
    with asking(said, name=LARGE) as (engine, _):
        reply = engine.complete(request_of(model=LARGE, max_tokens=9), never)

    assert (reply.text, reply.finish_reason) == ("A notice.", "stop")


def test_a_reply_that_thoughts_cut_is_asked_for_once_more() -> None:
    """With more room, and as a call of its own."""
    said = ApiReply(text="A notice.", thinking_tokens=20_000)
    meter = Meter()
    with asking(said, name=LARGE) as (engine, api):
        reply = ask(Model(engine), meter=meter, max_tokens=9)

        limits = [request.body["max_tokens"] for request in api.requests]
    assert (reply.text, reply.finish_reason, meter.spent.calls) == ("A notice.", "stop", 2)
    assert limits == [9 + 8192, 18 + 4 * 8192]


def test_a_longer_reply_is_asked_for_only_inside_the_budget() -> None:
    """What was said so far is the reply, where there is no room for another call."""
    said = ApiReply(text="A notice.", thinking_tokens=20_000)
    with asking(said, name=LARGE) as (engine, api):
        reply = ask(Model(engine), meter=Meter(Caps(max_calls=1)), max_tokens=9)

        assert (reply.finish_reason, len(api.requests)) == ("length", 1)


def test_a_reply_that_was_cut_at_its_own_limit_stays_cut() -> None:
    """Where the model does not think, the limit is the user's own."""
    with asking("Far too many words for that.") as (engine, api):
        reply = ask(Model(engine), max_tokens=2)

        assert (reply.finish_reason, len(api.requests)) == ("length", 1)


def test_an_unknown_model_is_sent_nothing_optional() -> None:
    """Whatever it does not take would be refused."""
    name = "anthropic/claude-novel-9"
    with asking(name=name) as (engine, api):
        with pytest.raises(ModelError, match="claude-novel-9"):
            engine.complete(
                Request(
                    model=name,
                    system=INSTRUCTIONS,
                    messages=(Message.user("Hi."),),
                    config=Config(
                        max_tokens=9,
                        temperature=0.0,
                        reasoning=Reasoning(effort="low"),
                        response_format={"type": "json_schema", "schema": {"type": "object"}},
                    ),
                ),
                never,
            )

        assert set(last_body(api)) == {"model", "max_tokens", "system", "messages"}
        assert "cache_control" not in json.dumps(last_body(api))


def test_what_a_model_takes_can_be_stated() -> None:
    """A newer model can be used before this table knows it."""
    stated = {"claude-haiku-4-5": {"sampling": False, "max_output_tokens": 5}}
    with asking(models=stated) as (engine, api):
        engine.complete(request_of(model=SMALL, temperature=0.0, max_tokens=9), never)

        assert "temperature" not in last_body(api)
        assert last_body(api)["max_tokens"] == 5


def test_turns_without_text_are_sent_as_such() -> None:
    """The API refuses a turn that holds nothing."""
    with asking() as (engine, api):
        engine.complete(request_of(" ", model=SMALL), never)

        assert last_body(api)["messages"][0]["content"][0]["text"] == "(no text)"


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        (Fault(status=400), InvalidRequestError),
        (Fault(status=400, message="prompt is too long: 9 > 8"), ContextLengthError),
        (Fault(status=413), ContextLengthError),
        (Fault(status=429, retry_after="7"), RateLimitError),
        (Fault(status=500), ServerError),
        (Fault(status=504), TimeoutError),
        (Fault(status=529), ServerError),
        (Fault(kind="cut"), TransportError),
        (Fault(kind="malformed"), TransportError),
    ],
)
def test_failures_have_their_kind(fault: Fault, kind: type[Exception]) -> None:
    """The retry layer and the loop tell what may pass by it."""
    with asking() as (engine, api):
        api.fail(fault)
        with pytest.raises(kind) as raised:
            engine.complete(request_of(model=SMALL), never)

    assert type(raised.value) is kind


@pytest.mark.parametrize("kind", ["cut", "malformed"])
def test_a_stream_that_breaks_is_an_outage(kind: str) -> None:
    """Half a reply is none, and the next try gets a whole one."""
    with asking("A notice.") as (engine, api):
        api.fail(Fault(kind=kind))  # type: ignore[arg-type]  # one of the kinds above
        model = Model(engine, retry=Retry(base_seconds=0))
        reply = ask(model, max_tokens=30_000)

        assert (reply.text, len(api.requests)) == ("A notice.", 2)


@pytest.mark.parametrize(
    ("status", "words"), [(401, "check the key in ANTHROPIC_API_KEY"), (403, "check the key")]
)
def test_a_refused_key_is_one_sentence(status: int, words: str) -> None:
    """With the request's id for the provider's support, and no advice of other libraries."""
    with asking() as (engine, api):
        api.fail(Fault(status=status))
        with pytest.raises(ModelError, match=words) as raised:
            engine.complete(request_of(model=SMALL), never)

    assert "\n" not in str(raised.value)
    assert "req_000001" in str(raised.value)


def test_the_servers_hint_is_waited_for() -> None:
    """A rate limit says how long it lasts."""
    slept: list[float] = []
    with asking() as (engine, api):
        api.fail(Fault(status=429, retry_after="3"))
        reply = ask(Model(engine, retry=Retry(sleep=slept.append)))

    assert reply.text == "Yes."
    assert sum(slept) == pytest.approx(3.0)


def test_giving_up_names_the_request() -> None:
    """So that the provider can be asked what happened."""
    with asking() as (engine, api):
        api.fail(Fault(status=529), Fault(status=529))
        model = Model(engine, retry=Retry(base_seconds=0, tries=2))
        with pytest.raises(Exception, match="req_000002") as raised:
            ask(model)

    assert getattr(raised.value, "request_id", None) == "req_000002"


def test_a_caller_that_gives_up_closes_its_request() -> None:
    """The API stops working for nobody."""
    with asking(ApiReply(text="Late.", delay_seconds=20)) as (engine, api):

        async def give_up() -> None:
            with pytest.raises(builtins.TimeoutError):
                await asyncio.wait_for(
                    engine.acomplete(request_of(model=SMALL, max_tokens=9), never), 0.3
                )

        asyncio.run(give_up())

        assert closed(api.requests[0])


def test_a_deadline_closes_a_stalled_request() -> None:
    """An API that never answers holds nobody."""
    with asking() as (engine, api):
        api.fail(Fault(kind="stall"))
        with pytest.raises(Stop, match="deadline"):
            ask(Model(engine), meter=Meter(Caps(max_seconds=0.3)))

        assert closed(api.requests[0])


def closed(request: ApiRequest) -> bool:
    """Wait for up to a second until the stand-in saw that a caller went away."""
    for _ in range(50):
        if request.given_up:
            return True
        threading.Event().wait(0.02)
    return False


def test_two_hundred_answers_share_one_pool() -> None:
    """Tasks and threads alike; what was opened is used again."""
    with asking("Yes.", parallel=200) as (engine, api):

        async def many() -> list[str | None]:
            asked = [request_of(f"Row {n}", model=SMALL, max_tokens=9) for n in range(200)]
            replies = await asyncio.gather(*(engine.acomplete(r, never) for r in asked))
            return [reply.text for reply in replies]

        assert asyncio.run(many()) == ["Yes."] * 200
        opened = api.connections
        with ThreadPoolExecutor(8) as pool:
            again = [request_of(f"Row {n}", model=SMALL, max_tokens=9) for n in range(40)]
            list(pool.map(lambda r: engine.complete(r, never), again))

        assert opened <= 200
        assert api.connections == opened


def test_closing_leaves_nothing_behind() -> None:
    """No thread and no task, not even of a call in flight; closing again does no harm."""
    before = threading.active_count()
    late = ApiReply(text="Late.", delay_seconds=20)
    with asking(late) as (engine, _), ThreadPoolExecutor(1) as pool:
        call = pool.submit(engine.complete, request_of(model=SMALL), never)
        threading.Event().wait(0.2)
        engine.close()
        engine.close()

        assert isinstance(call.exception(2), CancelledError)
    assert threading.active_count() <= before


def test_a_call_is_priced_with_its_cached_tokens() -> None:
    """Written ones cost more than others, read ones much less."""
    meters = (Meter(), Meter())
    with asking("Yes.") as (engine, _):
        model = Model(engine)
        for meter in meters:
            model.lm(meter)(demos_request())

    first, second = (meter.spent for meter in meters)
    rates = {"input": 1e-6, "output": 5e-6, "read": 1e-7, "write": 1.25e-6}
    plain = second.input_tokens - second.cache_read_tokens
    assert second.cost_usd == pytest.approx(
        plain * rates["input"] + second.cache_read_tokens * rates["read"] + rates["output"]
    )
    assert (first.cost_usd or 0) > 5 * (second.cost_usd or 0)


def test_a_cap_in_dollars_is_never_passed() -> None:
    """Each call reserves the most that it can cost, whatever is in flight."""
    meter = Meter(Caps(max_cost_usd=0.004))
    with asking("A notice of some length for the tenant.") as (engine, api):
        model = Model(engine)

        def call(number: int) -> bool:
            try:
                ask(model, f"Row {number}.", meter, max_tokens=100)
            except Stop:
                return False
            return True

        with ThreadPoolExecutor(8) as pool:
            made = sum(pool.map(call, range(40)))

        assert 0 < made < 40
        assert made == len(api.requests)
    assert 0 < (meter.spent.cost_usd or 0) <= 0.004


def test_a_refused_try_costs_nothing() -> None:
    """An overloaded API bills no tokens, so its reservation is given back."""
    meter = Meter(Caps(max_cost_usd=1.0, max_tokens=10_000))
    with asking() as (engine, api):
        api.fail(Fault(status=529), Fault(status=529))
        ask(Model(engine, retry=Retry(base_seconds=0)), meter=meter, max_tokens=100)

    spent = meter.spent
    assert (spent.calls, meter.tokens_left) == (3, 10_000 - spent.input_tokens - 1)
    assert spent.cost_usd is not None


def test_what_a_broken_try_cost_is_unknown() -> None:
    """The provider may bill a reply that never arrived: the reservation stays."""
    meter = Meter(Caps(max_cost_usd=1.0))
    with asking() as (engine, api):
        api.fail(Fault(kind="cut"))
        ask(Model(engine, retry=Retry(base_seconds=0)), meter=meter, max_tokens=10_000)

    assert meter.spent.cost_usd is None
    assert (meter.cost_usd_left or 0) < 0.95


def test_a_cap_in_dollars_needs_a_price() -> None:
    """An unknown price is unknown, and no cap can be kept with it."""
    with asking(name="anthropic/claude-novel-9") as (engine, api):
        with pytest.raises(Exception, match="costs is not known") as raised:
            ask(Model(engine), meter=Meter(Caps(max_cost_usd=1.0)))

        assert isinstance(raised.value.__cause__, ModelError)
        assert api.requests == ()


def test_prompts_are_counted_by_the_api() -> None:
    """It is free, and exact."""
    with asking() as (engine, api):
        count = Model(engine).count_request(demos_request())

        assert api.requests[-1].path == "/v1/messages/count_tokens"
    assert count.is_exact
    assert count.tokens > 4096


@pytest.mark.parametrize(("key", "words"), [("wrong", "check the key"), (None, None)])
def test_a_key_can_be_verified_before_any_work(key: str | None, words: str | None) -> None:
    """One sentence, and no message was asked for."""
    with asking() as (engine, api):
        if key is not None:
            api.key = key
        if words is None:
            engine.verify()
        else:
            with pytest.raises(ModelError, match=words):
                engine.verify()

        assert [request.path for request in api.requests] == ["/v1/models/claude-haiku-4-5"]


def test_an_engine_shows_only_its_name() -> None:
    """Neither key nor headers."""
    with asking(headers={"X-Team": "secret"}) as (engine, api):
        assert repr(engine) == "AnthropicEngine('anthropic/claude-haiku-4-5')"
        assert api.key not in repr(vars(engine)["_settings"])
        assert "secret" not in repr(vars(engine)["_settings"])


def test_engines_are_told_apart_by_where_they_ask() -> None:
    """A gateway may answer differently, so its replies are recorded apart."""
    with asking() as (plain, _), asking(base_url="http://127.0.0.1:9") as (gateway, _):
        assert plain.fingerprint != gateway.fingerprint
        assert isinstance(plain, AnthropicEngine)
