"""Requests to llama.cpp, and what its chunks add up to."""

import pytest
from dspy.lm15 import ContextLengthError, InvalidRequestError, LM15Error, ServerError
from lm_requests import request_of

from redraft.lm.generation import body_of, prompt_room, response_of

USAGE = {
    "prompt_tokens": 5,
    "completion_tokens": 2,
    "prompt_tokens_details": {"cached_tokens": 4},
}
OBJECT = {"type": "object"}


def chunks_of(*texts: str, reason: str = "stop") -> list[dict[str, object]]:
    """Return the chunks of one reply."""
    chunks: list[dict[str, object]] = [
        {"choices": [{"text": text, "finish_reason": None}]} for text in texts
    ]
    return [*chunks, {"choices": [{"text": "", "finish_reason": reason}], "usage": USAGE}]


def failed(kind: str) -> list[dict[str, object]]:
    """Return what comes instead of a reply."""
    return [{"error": {"message": "No.", "type": kind, "code": 400}}]


def test_the_room_is_what_was_asked_for() -> None:
    """Where the context has it."""
    assert prompt_room([1, 2, 3], 100, 10) == 10


def test_the_room_ends_with_the_context() -> None:
    """Prompt and reply share it."""
    assert prompt_room([1, 2, 3], 10, 100) == 7


def test_a_reply_always_has_an_end() -> None:
    """Without one a small model writes until the context is full."""
    assert prompt_room([1], 8192, None) == 1024


def test_a_full_context_is_refused() -> None:
    """There is no room for a reply."""
    with pytest.raises(ContextLengthError, match="3 tokens and the context 3"):
        prompt_room([1, 2, 3], 3, 10)


def test_options_reach_the_body() -> None:
    """Each under the name that llama.cpp gives it; zero is a value."""
    request = request_of(temperature=0.0, top_p=0.5, top_k=3, seed=9, stop=("x",), logprobs=0)

    body = body_of(request, [1], OBJECT, max_tokens=4)

    wanted = {"temperature": 0.0, "top_p": 0.5, "top_k": 3, "seed": 9, "stop": ["x"]}
    assert wanted.items() <= body.items()
    assert {"n_probs": 0, "n_predict": 4, "json_schema": OBJECT, "prompt": [1]}.items() <= (
        body.items()
    )


def test_options_that_are_not_given_are_not_sent() -> None:
    """The model's own values hold."""
    assert not {"temperature", "stop", "json_schema"} & set(
        body_of(request_of(), [1], None, max_tokens=4)
    )


@pytest.mark.parametrize("seed", [None, -1, 2**32 - 1, 2**40])
def test_every_seed_repeats(seed: int | None) -> None:
    """The number that means "any seed" is never sent."""
    body = body_of(request_of(seed=seed), [1], None, max_tokens=4)

    assert 0 <= body["seed"] < 2**32 - 1


def test_chunks_add_up() -> None:
    """Text, reason and usage."""
    reply = response_of(chunks_of("Hel", "lo."), None, "local/x")

    assert (reply.text, reply.finish_reason, reply.model) == ("Hello.", "stop", "local/x")
    assert (reply.usage.input_tokens, reply.usage.output_tokens) == (5, 2)
    assert reply.usage.cache_read_tokens == 4


def test_a_cut_reply_says_so() -> None:
    """Even if it does not fit its schema, since it is not whole."""
    assert response_of(chunks_of("{", reason="length"), OBJECT, "x").finish_reason == "length"


def test_a_whole_reply_fits_its_schema() -> None:
    """What the grammar should have kept is looked at once more."""
    with pytest.raises(InvalidRequestError, match="cannot keep to this response_format"):
        response_of(chunks_of("Prose."), OBJECT, "local/x")


def test_log_probabilities_are_kept() -> None:
    """With their alternatives."""
    other = {"token": "b", "logprob": -2.0, "bytes": [98], "id": 2}
    token = {"token": "a", "logprob": -0.5, "bytes": [97], "id": 1, "top_logprobs": [other]}
    chunk = {"choices": [{"text": "a", "finish_reason": None, "logprobs": {"content": [token]}}]}

    reply = response_of([chunk, *chunks_of()], None, "local/x")

    assert reply.logprobs is not None
    assert (reply.logprobs[0].token, reply.logprobs[0].top[0].logprob) == ("a", -2.0)


@pytest.mark.parametrize(
    ("kind", "error"),
    [
        ("exceed_context_size_error", ContextLengthError),
        ("invalid_request_error", InvalidRequestError),
        ("server_error", ServerError),
    ],
)
def test_failures_keep_their_kind(kind: str, error: type[LM15Error]) -> None:
    """So that the loop knows what another try is worth."""
    with pytest.raises(error, match=r"No\."):
        response_of(failed(kind), None, "local/x")
