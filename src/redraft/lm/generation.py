"""Requests to llama.cpp and its replies, in its own words on one side and DSPy's on the other."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dspy.lm15 import (
    ContextLengthError,
    InvalidRequestError,
    LM15Error,
    Message,
    Request,
    Response,
    ServerError,
    TokenLogprob,
    TopLogprob,
    Usage,
)

from redraft.lm.schema import misfit

Chunk = Mapping[str, Any]

# Without an end a small model may write until its context is full, which takes over a minute.
_DEFAULT_MAX_TOKENS = 1024
# llama.cpp reads the largest 32-bit number as "any seed".
_SEEDS = 2**32 - 1


def prompt_room(prompt: Sequence[int], context_tokens: int, max_tokens: int | None) -> int:
    """Return how many tokens the reply may have.

    Raises:
        ContextLengthError: The prompt leaves no room for one.
    """
    left = context_tokens - len(prompt)
    if left < 1:
        raise ContextLengthError(
            f"the prompt has {len(prompt)} tokens and the context {context_tokens}",
            provider="local",
        )
    return min(left, max_tokens or _DEFAULT_MAX_TOKENS)


def body_of(
    request: Request, prompt: list[int], schema: Mapping[str, Any] | None, *, max_tokens: int
) -> dict[str, Any]:
    """Return the body of a completion request.

    A request without a seed gets seed 0, so that equal requests get equal replies.
    """
    config = request.config
    body: dict[str, Any] = {
        "prompt": prompt,
        "n_predict": max_tokens,
        "seed": (config.seed or 0) % _SEEDS,
        "cache_prompt": True,
        "return_progress": True,
    }
    asked = {
        "temperature": config.temperature,
        "top_p": config.top_p,
        "top_k": config.top_k,
        "n_probs": config.logprobs,
        "json_schema": schema,
        "stop": list(config.stop) or None,
    }
    return body | {key: value for key, value in asked.items() if value is not None}


def response_of(chunks: Sequence[Chunk], schema: Mapping[str, Any] | None, model: str) -> Response:
    """Return the response that a generation's chunks add up to.

    Raises:
        LM15Error: The generation failed, or a finished reply does not fit the schema.
    """
    for chunk in chunks:
        if "error" in chunk:
            raise _error(chunk["error"])
    choices = [choice for chunk in chunks for choice in chunk["choices"]]
    text = "".join(choice["text"] for choice in choices)
    reason = choices[-1]["finish_reason"]
    if schema is not None and reason == "stop" and (why := misfit(text, schema)) is not None:
        raise InvalidRequestError(
            f"{model} cannot keep to this response_format: {why}", provider="local"
        )
    scores = tuple(_logprobs(choices))
    return Response(
        id=None,
        model=model,
        message=Message.assistant(text),
        finish_reason="length" if reason == "length" else "stop",
        usage=_usage(chunks[-1]["usage"]),
        logprobs=scores or None,
    )


def _usage(told: Mapping[str, Any]) -> Usage:
    return Usage(
        input_tokens=told["prompt_tokens"],
        output_tokens=told["completion_tokens"],
        cache_read_tokens=told.get("prompt_tokens_details", {}).get("cached_tokens"),
    )


def _logprobs(choices: Sequence[Chunk]) -> Iterator[TokenLogprob]:
    for choice in choices:
        for token in (choice.get("logprobs") or {}).get("content", ()):
            top = tuple(TopLogprob(**_score(other)) for other in token.get("top_logprobs", ()))
            yield TokenLogprob(**_score(token), top=top)


def _score(token: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "token": token["token"],
        "logprob": token["logprob"],
        "bytes": tuple(token["bytes"]),
        "token_id": token["id"],
    }


def _error(told: Mapping[str, Any]) -> LM15Error:
    message, kind = told["message"], told["type"]
    if kind == "exceed_context_size_error":
        return ContextLengthError(message, provider="local")
    if kind == "invalid_request_error":
        return InvalidRequestError(message, provider="local")
    return ServerError(message, provider="local", status=told.get("code"))
