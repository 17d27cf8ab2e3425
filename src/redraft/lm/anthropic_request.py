"""A request in the words of the Messages API, and what of it the model does not take."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

from dspy.lm15 import Adaptation, Message, Reasoning, Request, TextPart, UnsupportedFeatureError

from redraft.lm.anthropic_schema import closed_schema
from redraft.lm.capabilities import UNKNOWN, Capabilities
from redraft.lm.schema import wanted_schema
from redraft.lm.wire import message_text, system_text
from redraft.records import Effort

# The SDK answers in one piece up to here; what may take longer than ten minutes it streams.
STREAM_ABOVE = 21_333
# For a few models of earlier generations it streams sooner; we know them as "unknown".
STREAM_UNKNOWN_ABOVE = 8_192

# Room for thoughts, which count in `max_tokens` on the wire, by effort. Without an effort the
# API works at "high".
THINKING_TOKENS: Mapping[Effort, int] = {
    "low": 2_048,
    "medium": 4_096,
    "high": 8_192,
    "xhigh": 16_384,
    "max": 32_768,
}
_DEFAULT_MAX_TOKENS = 8_192
_EFFORTS: tuple[Effort, ...] = get_args(Effort)
# Short words of English have about four bytes a token; three errs on the side of a mark that the
# API ignores, which costs nothing.
_BYTES_PER_TOKEN = 3
_MARK = {"type": "ephemeral"}
_NO_TEXT = "(no text)"
_NOT_TAKEN = (
    "seed",
    "frequency_penalty",
    "presence_penalty",
    "logprobs",
    "probabilities",
    "service_tier",
    "user_id",
    "store",
    "tool_choice",
    "extensions",
)

_Action = Literal["dropped", "clamped", "substituted", "defaulted"]


@dataclass(slots=True)
class Rendered:
    """One request as it goes out.

    Attributes:
        body: What the SDK knows by name.
        sampling: Sampling options, for which the SDK has no names any more.
        adaptations: What differs from what was asked.
        stream: Whether the reply is fetched piece by piece.
    """

    body: dict[str, Any] = field(default_factory=dict)
    sampling: dict[str, Any] = field(default_factory=dict)
    adaptations: list[Adaptation] = field(default_factory=list)
    stream: bool = False

    def note(
        self, name: str, action: _Action, reason: str, *, asked: Any = None, applied: Any = None
    ) -> None:
        """Record one difference."""
        self.adaptations.append(Adaptation(name, action, reason, asked, applied))


def rendered(request: Request, known: Capabilities) -> Rendered:
    """Return a request as the Messages API takes it: instructions, demos, task.

    Args:
        request: Turns of text.
        known: What the model takes. What it does not take is left out and noted.

    Raises:
        UnsupportedFeatureError: The request holds tools, or something other than text.
        InvalidRequestError: Its `response_format` is no JSON schema.
    """
    out = Rendered()
    out.body["model"] = request.model.partition("/")[2]
    out.body["max_tokens"] = _max_tokens(request, known, out)
    _write_turns(request, known, out)
    _write_output(request, known, out)
    _write_sampling(request, known, out)
    if request.config.stop:
        out.body["stop_sequences"] = list(request.config.stop)
    for name in _NOT_TAKEN:
        asked = getattr(request.config, name)
        if asked is not None:
            out.note(f"config.{name}", "dropped", "the Messages API has no such option")
    limit = STREAM_UNKNOWN_ABOVE if known == UNKNOWN else STREAM_ABOVE
    out.stream = out.body["max_tokens"] > limit
    return out


def reply_tokens(request: Request, known: Capabilities) -> int:
    """Return the most tokens that the reply to a request can have, thoughts included."""
    return _max_tokens(request, known, Rendered())


def with_longer_reply(request: Request, known: Capabilities) -> Request | None:
    """Return the request with four times the room for thoughts and twice that for text.

    None where the model has no more room to give.
    """
    config = request.config
    asked = config.max_tokens or _DEFAULT_MAX_TOKENS
    effort = "high" if config.reasoning is None else config.reasoning.effort
    room = Reasoning(effort=effort, thinking_budget=4 * _thinking_tokens(request, known))
    longer = replace(request, config=replace(config, max_tokens=2 * asked, reasoning=room))
    gained = reply_tokens(longer, known) > reply_tokens(request, known)
    return longer if gained else None


def _max_tokens(request: Request, known: Capabilities, out: Rendered) -> int:
    asked = request.config.max_tokens
    wanted = asked or _DEFAULT_MAX_TOKENS
    if asked is None:
        reason = "the Messages API must be told a limit"
        out.note("config.max_tokens", "defaulted", reason, applied=wanted)
    if known.thinks:
        wanted += _thinking_tokens(request, known)
        reason = "the model thinks before it replies, and its thoughts count in the limit"
        out.note("config.max_tokens", "substituted", reason, asked=asked, applied=wanted)
    if known.max_output_tokens is not None and wanted > known.max_output_tokens:
        reason = "the model's replies are no longer"
        most = known.max_output_tokens
        out.note("config.max_tokens", "clamped", reason, asked=wanted, applied=most)
        return most
    return wanted


def _thinking_tokens(request: Request, known: Capabilities) -> int:
    if not known.thinks:
        return 1
    reasoning = request.config.reasoning
    if reasoning is not None and reasoning.thinking_budget is not None:
        return int(reasoning.thinking_budget)
    effort: Any = "high" if reasoning is None else reasoning.effort
    return THINKING_TOKENS.get(effort, THINKING_TOKENS["high"])


def _write_turns(request: Request, known: Capabilities, out: Rendered) -> None:
    if request.tools:
        raise UnsupportedFeatureError("Claude is asked without tools here", feature="tools")
    system = system_text(request)
    turns = [_turn(message, out) for message in request.messages]
    demos = _last_demo(request.messages)
    if known.min_cache_tokens is not None and _caches(request):
        least = known.min_cache_tokens * _BYTES_PER_TOKEN
        written = _bytes([system])
        is_long = written >= least
        if system:
            out.body["system"] = [_block(system, marked=is_long)]
        if demos is not None:
            written += _bytes([message_text(m) for m in request.messages[: demos + 1]])
            if written >= least:
                turns[demos]["content"][-1]["cache_control"] = dict(_MARK)
    elif system:
        out.body["system"] = [_block(system)]
    out.body["messages"] = turns


def _caches(request: Request) -> bool:
    return request.config.cache is None or request.config.cache.mode != "off"


def _last_demo(messages: Sequence[Message]) -> int | None:
    """Return the index of the last reply before the task; None where there are no demos."""
    replies = [n for n, message in enumerate(messages[:-1]) if message.role == "assistant"]
    return replies[-1] if replies else None


def _turn(message: Message, out: Rendered) -> dict[str, Any]:
    other = [part.type for part in message.parts if not isinstance(part, TextPart)]
    if other or message.role not in ("user", "assistant"):
        what = other[0] if other else f"a turn of the {message.role}"
        raise UnsupportedFeatureError(f"Claude is sent text only, not {what}", feature="messages")
    text = message_text(message)
    if not text.strip():
        reason = "the Messages API refuses a turn without text"
        out.note("messages", "substituted", reason, asked=text, applied=_NO_TEXT)
        text = _NO_TEXT
    return {"role": message.role, "content": [_block(text)]}


def _block(text: str, *, marked: bool = False) -> dict[str, Any]:
    block: dict[str, Any] = {"type": "text", "text": text}
    return block | ({"cache_control": dict(_MARK)} if marked else {})


def _bytes(texts: Sequence[str]) -> int:
    return sum(len(text.encode(errors="replace")) for text in texts)


def _write_output(request: Request, known: Capabilities, out: Rendered) -> None:
    config: dict[str, Any] = {}
    effort = _effort(request, known, out)
    if effort is not None:
        config["effort"] = effort
    form = _format(request, known, out)
    if form is not None:
        config["format"] = form
    if config:
        out.body["output_config"] = config


def _effort(request: Request, known: Capabilities, out: Rendered) -> Effort | None:
    reasoning = request.config.reasoning
    if reasoning is None:
        return None
    name, asked = "config.reasoning.effort", reasoning.effort
    if asked not in _EFFORTS or not known.efforts:
        out.note(name, "dropped", "the model is not known to take it", asked=asked)
        return None
    below = [e for e in known.efforts if _EFFORTS.index(e) <= _EFFORTS.index(asked)]
    nearest = below[-1] if below else known.efforts[0]
    if nearest != asked:
        out.note(name, "clamped", "the model has no such level", asked=asked, applied=nearest)
    return nearest


def _format(request: Request, known: Capabilities, out: Rendered) -> Mapping[str, Any] | None:
    schema = wanted_schema(request)
    if schema is None:
        return None
    name = "config.response_format"
    if not known.schemas:
        out.note(name, "dropped", "the model is not known to keep to a schema")
        return None
    closed = closed_schema(schema)
    if closed.schema is None:
        out.note(name, "dropped", "the Messages API takes no objects of free keys")
        return None
    if closed.told:
        told = "; ".join(closed.told)
        out.note(name, "substituted", f"the Messages API cannot hold a reply to {told}")
    return {"type": "json_schema", "schema": closed.schema}


def _write_sampling(request: Request, known: Capabilities, out: Rendered) -> None:
    config = request.config
    for name in ("temperature", "top_p", "top_k"):
        asked = getattr(config, name)
        if asked is None:
            continue
        if not known.sampling:
            reason = "the model is not known to take it, and varies its replies by itself alone"
            out.note(f"config.{name}", "dropped", reason, asked=asked)
        elif name == "top_p" and config.temperature is not None:
            reason = "the model takes it or a temperature, not both"
            out.note(f"config.{name}", "dropped", reason, asked=asked)
        elif name == "temperature" and asked > 1:
            out.note(f"config.{name}", "clamped", "1 is the highest", asked=asked, applied=1.0)
            out.sampling[name] = 1.0
        else:
            out.sampling[name] = asked
