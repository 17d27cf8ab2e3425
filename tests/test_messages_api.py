"""The stand-in refuses what the Messages API refuses, and counts as it counts."""

import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest

from redraft.testing.messages_api import ApiReply, Fault, MessagesApi

MODEL = "claude-haiku-4-5"
ASKED: dict[str, Any] = {
    "model": MODEL,
    "max_tokens": 64,
    "messages": [{"role": "user", "content": "Hello."}],
}
CLOSED = {
    "type": "object",
    "properties": {"x": {"type": "string"}},
    "required": ["x"],
    "additionalProperties": False,
}
LARGE = {"model": "claude-opus-5-5"}


@pytest.fixture
def api() -> Iterator[MessagesApi]:
    """Return a stand-in that says one thing."""
    with MessagesApi("A notice to the tenants.") as api:
        yield api


def post(api: MessagesApi, body: object, path: str = "/v1/messages", **headers: str) -> Any:
    """Send a request; return status and JSON body."""
    sent = {
        "authorization": f"Bearer {api.key}",
        "anthropic-version": "2023-06-01",
        "content-type": "application/json",
        **{name.replace("_", "-"): value for name, value in headers.items()},
    }
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"{api.url}{path}", data, sent)
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            raw = answer.read()
            return answer.status, json.loads(raw) if whole(answer) else raw.decode()
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read())


def whole(answer: Any) -> bool:
    """Return whether an answer is one JSON value."""
    return bool(answer.headers["content-type"] == "application/json")


def turns(*roles: str) -> dict[str, Any]:
    """Return turns of these roles."""
    return {"messages": [{"role": role, "content": "Words."} for role in roles]}


def block(**values: Any) -> dict[str, Any]:
    """Return one turn of one block."""
    content = [{"type": "text", "text": "Words.", **values}]
    return {"messages": [{"role": "user", "content": content}]}


def held_to(schema: object, **config: Any) -> dict[str, Any]:
    """Return the option that holds a reply to a schema."""
    return {"output_config": {"format": {"type": "json_schema", "schema": schema, **config}}}


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"seed": 1}, "seed: Extra inputs are not permitted"),
    ({"model": 3}, "model: Field required"),
    ({"max_tokens": 0}, "max_tokens: must be greater"),
    ({"max_tokens": "9"}, "max_tokens: must be greater"),
    ({"max_tokens": 64_001}, "64001 > 64000"),
    ({**LARGE, "temperature": 0.0}, "`temperature` is not supported"),
    ({"temperature": 1.5}, "range: 0..1"),
    ({"temperature": 0.5, "top_p": 0.5}, "cannot both"),
    ({"messages": []}, "at least one message"),
    ({"messages": ["Hello."]}, "Input should be an object"),
    (turns("assistant"), "roles must alternate"),
    (turns("user", "user"), "roles must alternate"),
    (turns("user", "assistant"), "prefill"),
    (turns("system"), "roles must alternate"),
    ({"messages": [{"role": "user", "content": " "}]}, "non-whitespace"),
    ({"messages": [{"role": "user", "content": []}]}, "non-empty content"),
    ({"messages": [{"role": "user", "content": "x", "name": "y"}]}, "name: Extra"),
    (block(type="image"), "only text blocks"),
    (block(citations=1), "citations: Extra"),
    (block(cache_control={"type": "for ever"}), "should be ephemeral"),
    ({"system": ""}, "non-whitespace"),
    ({"system": 3}, "system: Input should be"),
    (
        {"system": [{"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}}] * 5},
        "Found 5",
    ),
    ({"stop_sequences": [" "]}, "non-whitespace"),
    ({"stream": "yes"}, "valid boolean"),
    ({"output_config": []}, "should be an object"),
    ({"output_config": {"style": 1}}, "output_config.style: Extra"),
    ({"output_config": {"effort": "high"}}, "output_config.effort"),
    ({**LARGE, "output_config": {"effort": "huge"}}, "output_config.effort"),
    (held_to(CLOSED, name="x"), "nothing else"),
    (held_to(CLOSED, type="json"), "should be 'json_schema'"),
    (held_to({"type": "object"}), "'additionalProperties' must be explicitly"),
    (held_to({"type": "string", "maxLength": 3}), "'maxLength' is not supported"),
    (held_to({"type": "nonsense"}), "type 'nonsense'"),
    (held_to({"description": "?"}), "a type is required"),
    (held_to({"type": "string", "format": "colour"}), "format 'colour'"),
    (held_to({"type": "array", "minItems": 2}), "'minItems'"),
    (held_to({"type": "array", "items": {"type": "x"}}), "$.items: type 'x'"),
    (held_to({"anyOf": [{"type": "x"}]}), "$.anyOf.0"),
    (held_to({**CLOSED, "properties": {"x": 3}}), "$.x is not an object"),
    ({"thinking": {"type": "adaptive"}}, "thinking.type"),
    ({**LARGE, "thinking": {"type": "disabled"}}, "thinking.type"),
    ({"messages": [{"role": "user", "content": "x" * 1_000_000}]}, "prompt is too long"),
]


@pytest.mark.parametrize(("wrong", "words"), WRONG, ids=[words for _, words in WRONG])
def test_wrong_requests_are_refused(api: MessagesApi, wrong: dict[str, Any], words: str) -> None:
    """As the API refuses them, with what is wrong and where."""
    status, told = post(api, ASKED | wrong)

    assert status == 400
    assert words in told["error"]["message"]
    assert told["error"]["type"] == "invalid_request_error"


@pytest.mark.parametrize(
    ("right", "text"),
    [
        ({}, "A notice to the tenants."),
        ({"temperature": 0.0, "stop_sequences": ["END"]}, "A notice to the tenants."),
        (held_to(CLOSED), "A notice to the tenants."),
        ({**LARGE, "output_config": {"effort": "max"}}, "A notice to the tenants."),
        ({**LARGE, "thinking": {"type": "adaptive"}}, "A notice to the tenants."),
        ({"system": "Be kind.", **turns("user", "assistant", "user")}, "A notice to the tenants."),
        ({"max_tokens": 2}, "A notice"[:8]),
    ],
)
def test_right_requests_are_answered(api: MessagesApi, right: dict[str, Any], text: str) -> None:
    """As the script says, under the request's own limit."""
    status, told = post(api, ASKED | right)

    assert (status, told["content"][0]["text"]) == (200, text)
    assert told["stop_reason"] == ("end_turn" if text.endswith(".") else "max_tokens")


@pytest.mark.parametrize(
    ("headers", "status", "words"),
    [
        ({"authorization": "Bearer wrong"}, 401, "x-api-key"),
        ({"anthropic_version": "soon"}, 400, "anthropic-version"),
    ],
)
def test_headers_are_checked(
    api: MessagesApi, headers: dict[str, str], status: int, words: str
) -> None:
    """The key and the version of the API."""
    found, told = post(api, ASKED, **headers)

    assert found == status
    assert words in told["error"]["message"]


@pytest.mark.parametrize(
    ("body", "path", "status"),
    [
        (ASKED | {"model": "claude-novel-9"}, "/v1/messages", 404),
        (ASKED, "/v1/complete", 404),
        ("no object", "/v1/messages", 400),
        (None, "/v1/models/claude-novel-9", 404),
        (None, "/v1/messages/batches/msgbatch_009", 404),
        ({"requests": []}, "/v1/messages/batches", 400),
        ({"requests": [{"custom_id": "x"}] * 2}, "/v1/messages/batches", 400),
    ],
)
def test_what_is_not_there_is_said_so(
    api: MessagesApi, body: object, path: str, status: int
) -> None:
    """Models, paths and batches."""
    assert post(api, body, path)[0] == status


def test_a_body_can_be_too_large(api: MessagesApi) -> None:
    """Above 32 MB nothing is read."""
    status, told = post(api, {"x": "y" * (33 * 1024 * 1024)})

    assert (status, told["error"]["type"]) == (413, "request_too_large")


def marked(text: str, task: str) -> dict[str, Any]:
    """Return a request with a marked system text."""
    system = [{"type": "text", "text": text, "cache_control": {"type": "ephemeral"}}]
    return ASKED | {"system": system, "messages": [{"role": "user", "content": task}]}


@pytest.mark.parametrize(("bytes_", "written"), [(4 * 4096, 4096), (4 * 4095, 0)])
def test_a_prefix_is_kept_from_its_least_length(
    api: MessagesApi, bytes_: int, written: int
) -> None:
    """Shorter ones are read anew each time, and nothing is said."""
    for task, read in (("One.", 0), ("Two.", written)):
        usage = post(api, marked("x" * bytes_, task))[1]["usage"]

        assert usage["cache_read_input_tokens"] == read
        assert usage["cache_creation_input_tokens"] == written - read
    assert api.cache.reads == (1 if written else 0)


def test_another_prefix_is_another_cache(api: MessagesApi) -> None:
    """One byte is enough, and so is another model or another form of reply."""
    for other in ({}, held_to(CLOSED), {"model": "claude-sonnet-4-5"}):
        post(api, marked("x" * 20_000, "One.") | other)
    post(api, marked("y" + "x" * 19_999, "One."))

    assert api.cache.reads == 0


def test_a_stream_tells_the_same(api: MessagesApi) -> None:
    """In the API's own events."""
    _, raw = post(api, ASKED | {"stream": True})

    events = [line.removeprefix("event: ") for line in raw.split("\n") if line.startswith("event")]
    assert events[:3] == ["message_start", "ping", "content_block_start"]
    assert events[-3:] == ["content_block_stop", "message_delta", "message_stop"]


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 429, 500, 529])
def test_faults_come_once_each(api: MessagesApi, status: int) -> None:
    """In the order in which they were asked for."""
    api.fail(Fault(status=status, retry_after="3"))

    assert [post(api, ASKED)[0], post(api, ASKED)[0]] == [status, 200]


def test_requests_are_kept(api: MessagesApi) -> None:
    """With their bodies; a repr shows no header."""
    post(api, ASKED)

    assert api.requests[0].body == ASKED
    assert api.key not in repr(api.requests[0])


def test_a_refusal_is_a_reply(api: MessagesApi) -> None:
    """It ends in its own way, and says why."""
    api.script = ApiReply(stop_reason="refusal", explanation="Not this.")

    _, told = post(api, ASKED)

    assert (told["stop_reason"], told["stop_details"]["explanation"]) == ("refusal", "Not this.")


def test_a_batch_is_answered_later(api: MessagesApi) -> None:
    """Each request for itself: answered, lost or refused."""
    api.batches.lost = {"b": "expired", "c": "errored"}
    ids = ("a", "b", "c", "d")
    wanted = [{"custom_id": i, "params": ASKED | ({"seed": 1} if i == "d" else {})} for i in ids]

    _, batch = post(api, {"requests": wanted}, "/v1/messages/batches")
    path = f"/v1/messages/batches/{batch['id']}"
    states = [post(api, None, path)[1] for _ in range(2)]
    _, raw = post(api, None, f"{path}/results")

    assert [state["processing_status"] for state in states] == ["in_progress", "ended"]
    assert states[1]["request_counts"]["succeeded"] == 1
    kinds = {r["custom_id"]: r["result"]["type"] for r in results(raw)}
    assert kinds == {"a": "succeeded", "b": "expired", "c": "errored", "d": "errored"}


def results(raw: Any) -> list[Any]:
    """Return the lines of a batch's results."""
    text = raw if isinstance(raw, str) else json.dumps(raw)
    return [json.loads(line) for line in text.splitlines()]
