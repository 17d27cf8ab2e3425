"""What the Messages API refuses, rule by rule, in its own order and close to its own words."""

import re
from collections.abc import Callable, Mapping
from typing import Any

from redraft.lm.capabilities import UNKNOWN, Capabilities, capabilities_of
from redraft.testing.messages_api.refusals import RefusedError
from redraft.testing.messages_api.replies import tokens_of
from redraft.testing.messages_api.schemas import schema_problem

_FIELDS = frozenset(
    {
        "cache_control",
        "inference_geo",
        "max_tokens",
        "messages",
        "metadata",
        "model",
        "output_config",
        "service_tier",
        "stop_sequences",
        "stream",
        "system",
        "temperature",
        "thinking",
        "top_k",
        "top_p",
    }
)
_MAX_MARKS = 4
_VERSION = re.compile(r"\d{4}-\d{2}-\d{2}")
_ROLES = ("user", "assistant")

Body = Mapping[str, Any]


def check_headers(headers: Mapping[str, str], key: str) -> None:
    """Refuse a request without the right key, version and type of content.

    Args:
        headers: By lower-case name.
        key: The key that is accepted.
    """
    given = headers.get("x-api-key") or headers.get("authorization", "").removeprefix("Bearer ")
    if given != key:
        raise RefusedError("invalid x-api-key", 401)
    if not _VERSION.fullmatch(headers.get("anthropic-version", "")):
        raise RefusedError("anthropic-version: header is required")


def check_message(body: object) -> Capabilities:
    """Refuse a request that the API would refuse; return what its model takes."""
    known = check_prompt(body)
    assert isinstance(body, Mapping)
    _check_limit(body, known)
    _check_sampling(body, known)
    stops = body.get("stop_sequences", [])
    if not isinstance(stops, list) or any(not str(stop).strip() for stop in stops):
        raise RefusedError("stop_sequences: each stop sequence must contain non-whitespace")
    if not isinstance(body.get("stream", False), bool):
        raise RefusedError("stream: Input should be a valid boolean")
    return known


def check_prompt(body: object) -> Capabilities:
    """Refuse what is wrong with the parts that are counted as well as answered."""
    if not isinstance(body, Mapping):
        raise RefusedError("The request body is not a JSON object")
    _no_others(body, _FIELDS, "")
    model = body.get("model")
    if not isinstance(model, str):
        raise RefusedError("model: Field required")
    known = capabilities_of(model)
    if known == UNKNOWN:
        raise RefusedError(f"model: {model}", 404)
    _check_system(body)
    _check_turns(body)
    marks = sum("cache_control" in block for block in blocks_of(body))
    if marks > _MAX_MARKS:
        raise RefusedError(
            f"A maximum of 4 blocks with cache_control may be provided. Found {marks}."
        )
    _check_output(body.get("output_config", {}), known)
    _check_thinking(body.get("thinking"), known)
    tokens = prompt_tokens(body)
    if known.context_tokens is not None and tokens > known.context_tokens:
        raise RefusedError(f"prompt is too long: {tokens} tokens > {known.context_tokens} maximum")
    return known


def blocks_of(body: Body) -> list[Mapping[str, Any]]:
    """Return the blocks of a prompt in the order in which they are cached."""
    system = body.get("system", [])
    blocks = [{"type": "text", "text": system}] if isinstance(system, str) else list(system)
    for turn in body.get("messages", []):
        content = turn["content"]
        blocks += [{"type": "text", "text": content}] if isinstance(content, str) else content
    return blocks


def prompt_tokens(body: Body) -> int:
    """Return the tokens of a prompt, its schema included."""
    schema = body.get("output_config", {}).get("format", "")
    turns = 4 * len(body["messages"])
    return turns + sum(tokens_of(b["text"]) for b in blocks_of(body)) + tokens_of(str(schema))


def _no_others(given: Body, known: frozenset[str], place: str) -> None:
    for name in given:
        if name not in known:
            raise RefusedError(f"{place}{name}: Extra inputs are not permitted")


def _check_system(body: Body) -> None:
    system = body.get("system", "none")
    if isinstance(system, str):
        system = [{"type": "text", "text": system}]
    if not isinstance(system, list):
        raise RefusedError("system: Input should be a string or a list of text blocks")
    for number, block in enumerate(system):
        _check_block(block, f"system.{number}")


def _check_turns(body: Body) -> None:
    turns = body.get("messages")
    if not isinstance(turns, list) or not turns:
        raise RefusedError("messages: at least one message is required")
    for number, turn in enumerate(turns):
        place = f"messages.{number}"
        if not isinstance(turn, Mapping):
            raise RefusedError(f"{place}: Input should be an object")
        _no_others(turn, frozenset({"role", "content"}), f"{place}.")
        if turn.get("role") != _ROLES[number % 2]:
            raise RefusedError(f"{place}: roles must alternate between user and assistant")
        _check_content(turn.get("content"), f"{place}.content")
    if turns[-1]["role"] != "user":
        raise RefusedError("This model does not support assistant message prefill.")


def _check_content(content: object, place: str) -> None:
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    if not isinstance(content, list) or not content:
        raise RefusedError(f"{place}: all messages must have non-empty content")
    for number, block in enumerate(content):
        _check_block(block, f"{place}.{number}")


def _check_block(block: object, place: str) -> None:
    if not isinstance(block, Mapping) or block.get("type") != "text":
        raise RefusedError(f"{place}: only text blocks are known here")
    _no_others(block, frozenset({"type", "text", "cache_control"}), f"{place}.")
    if not isinstance(block.get("text"), str) or not block["text"].strip():
        raise RefusedError(f"{place}: text content blocks must contain non-whitespace text")
    mark = block.get("cache_control", {"type": "ephemeral"})
    if mark.get("type") != "ephemeral" or mark.get("ttl", "5m") not in ("5m", "1h"):
        raise RefusedError(f"{place}.cache_control: Input should be ephemeral")


def _check_limit(body: Body, known: Capabilities) -> None:
    limit = body.get("max_tokens")
    if not isinstance(limit, int) or isinstance(limit, bool) or limit < 1:
        raise RefusedError("max_tokens: must be greater than or equal to 1")
    most = known.max_output_tokens
    if most is not None and limit > most:
        raise RefusedError(
            f"max_tokens: {limit} > {most}, which is the maximum allowed number of output tokens "
            f"for {body['model']}"
        )


def _check_sampling(body: Body, known: Capabilities) -> None:
    given = [name for name in ("temperature", "top_p", "top_k") if name in body]
    if given and not known.sampling:
        raise RefusedError(f"`{given[0]}` is not supported by this model")
    if "temperature" in given and "top_p" in given:
        raise RefusedError("`temperature` and `top_p` cannot both be specified for this model")
    for name in ("temperature", "top_p"):
        if name in given and not 0 <= body[name] <= 1:
            raise RefusedError(f"{name}: range: 0..1")


def _check_output(config: object, known: Capabilities) -> None:
    if not isinstance(config, Mapping):
        raise RefusedError("output_config: Input should be an object")
    _no_others(config, frozenset({"effort", "format"}), "output_config.")
    effort = config.get("effort")
    if effort is not None and effort not in known.efforts:
        raise RefusedError(f"output_config.effort: {effort!r} is not supported by this model")
    form = config.get("format")
    if form is None:
        return
    if not known.schemas:
        raise RefusedError("output_config.format: not supported by this model")
    if not isinstance(form, Mapping) or set(form) != {"type", "schema"}:
        raise RefusedError("output_config.format: needs type and schema, and nothing else")
    if form["type"] != "json_schema":
        raise RefusedError("output_config.format.type: Input should be 'json_schema'")
    problem = schema_problem(form["schema"])
    if problem is not None:
        raise RefusedError(f"output_config.format.schema: {problem}")


def _check_thinking(thinking: Any, known: Capabilities) -> None:
    if thinking is None:
        return
    kinds: Mapping[str, Callable[[], bool]] = {
        "adaptive": lambda: known.thinking != "never",
        "disabled": lambda: known.thinking != "always",
    }
    kind = str(thinking.get("type")) if isinstance(thinking, Mapping) else ""
    if kind not in kinds or not kinds[kind]():
        raise RefusedError(f"thinking.type: {kind!r} is not supported for this model")
