"""What the stand-in answers: a script's words as messages and as streams."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

Body = Mapping[str, Any]

_BYTES_PER_TOKEN = 4
_PIECE = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiReply:
    """One reply.

    Attributes:
        text: What it says.
        stop_reason: Why it ends; a text that is longer than `max_tokens` ends by that.
        thinking_tokens: Tokens of thoughts before it, which count in `max_tokens`.
        delay_seconds: How long it takes to begin.
        explanation: Why the request was refused, for `stop_reason="refusal"`.
    """

    text: str = ""
    stop_reason: str = "end_turn"
    thinking_tokens: int = 0
    delay_seconds: float = 0.0
    explanation: str | None = None

    def cut(self, max_tokens: int) -> "ApiReply":
        """Return the reply as it is under a limit."""
        left = max_tokens - self.thinking_tokens
        if tokens_of(self.text) <= left:
            return self
        thoughts = min(self.thinking_tokens, max_tokens)
        text = self.text.encode()[: max(0, left) * _BYTES_PER_TOKEN].decode(errors="ignore")
        return replace(self, text=text, thinking_tokens=thoughts, stop_reason="max_tokens")


Script = str | ApiReply | Callable[[Body], str | ApiReply]


def tokens_of(text: str) -> int:
    """Return how many tokens the stand-in counts in a text: one for four bytes."""
    return -(-len(text.encode(errors="replace")) // _BYTES_PER_TOKEN)


def reply_of(script: Script, body: Body) -> ApiReply:
    """Return what a script says to a request, under the request's own limit."""
    said = script(body) if callable(script) else script
    reply = ApiReply(text=said) if isinstance(said, str) else said
    return reply.cut(body["max_tokens"])


def message_of(reply: ApiReply, body: Body, *, number: int, usage: Mapping[str, Any]) -> Body:
    """Return a reply as a message of the API."""
    thoughts = {"type": "thinking", "thinking": "", "signature": "none"}
    content = [thoughts] if reply.thinking_tokens else []
    if reply.text:
        content.append({"type": "text", "text": reply.text})
    details = {"type": "refusal", "category": None, "explanation": reply.explanation}
    return {
        "id": f"msg_{number:06}",
        "type": "message",
        "role": "assistant",
        "model": body["model"],
        "content": content,
        "stop_reason": reply.stop_reason,
        "stop_sequence": None,
        "stop_details": details if reply.stop_reason == "refusal" else None,
        "usage": {
            **usage,
            "output_tokens": tokens_of(reply.text) + reply.thinking_tokens,
            "output_tokens_details": {"thinking_tokens": reply.thinking_tokens},
        },
    }


def events_of(message: Body) -> Iterator[bytes]:
    """Yield a message as the events of a stream."""
    usage = message["usage"]
    begun = {
        **message,
        "content": [],
        "stop_reason": None,
        "stop_details": None,
        "usage": {**usage, "output_tokens": 1},
    }
    yield _event("message_start", message=begun)
    yield _event("ping")
    for index, block in enumerate(message["content"]):
        yield from _block_events(index, block)
    ended = {name: message[name] for name in ("stop_reason", "stop_sequence", "stop_details")}
    counted = {name: usage[name] for name in ("output_tokens", "output_tokens_details")}
    yield _event("message_delta", delta=ended, usage=counted)
    yield _event("message_stop")


def _block_events(index: int, block: Body) -> Iterator[bytes]:
    empty = {**block, "text": ""} if block["type"] == "text" else dict(block)
    yield _event("content_block_start", index=index, content_block=empty)
    text = block.get("text", "")
    for start in range(0, len(text), _PIECE):
        delta = {"type": "text_delta", "text": text[start : start + _PIECE]}
        yield _event("content_block_delta", index=index, delta=delta)
    yield _event("content_block_stop", index=index)


def _event(kind: str, **values: object) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **values})}\n\n".encode()
