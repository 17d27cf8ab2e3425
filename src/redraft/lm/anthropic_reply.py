"""What the Messages API answers, whole or piece by piece, as DSPy's response."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from dspy.lm15 import Adaptation, Message, RefusalPart, Response, ServerError, TextPart, Usage

_Finish = Literal["stop", "length", "content_filter"]

# A reason that is not listed means that the reply was not finished. `pause_turn` and `tool_use`
# belong to tools, of which none is ever offered; the window being full is told apart from
# `max_tokens` by the reason itself, which every response carries.
_FINISHED: Mapping[str, _Finish] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "refusal": "content_filter",
}
_REFUSED = "The model refused, and gave no reason."


def response_of(
    told: Mapping[str, Any],
    name: str,
    *,
    request_id: str | None = None,
    adaptations: Sequence[Adaptation] = (),
) -> Response:
    """Return the response that a message of the API is.

    Args:
        told: The message.
        name: The model, as the user names it.
        request_id: The provider's id of the request, for its support.
        adaptations: What was sent that differs from what was asked.

    Raises:
        ServerError: It is no message.
    """
    try:
        blocks = [block for block in told["content"] if block.get("type") == "text"]
        text = "".join(block["text"] for block in blocks)
        usage = _usage(told["usage"])
    except (KeyError, TypeError, AttributeError) as error:
        raise ServerError(
            "the reply has not the form of the Messages API", request_id=request_id
        ) from error
    reason = told.get("stop_reason")
    finish = _FINISHED.get(str(reason), "length")
    return Response(
        id=told.get("id") or None,
        model=name,
        message=_message(told, text, refused=finish == "content_filter"),
        finish_reason=finish,
        usage=usage,
        provider_data=_about(told, request_id),
        adaptations=tuple(adaptations),
    )


def _message(told: Mapping[str, Any], text: str, *, refused: bool) -> Message:
    if not refused:
        return Message.assistant(text)
    details = told.get("stop_details") or {}
    why = details.get("explanation") or details.get("category") or _REFUSED
    parts = (TextPart(text), RefusalPart(why)) if text else (RefusalPart(why),)
    return Message(role="assistant", parts=parts)


def _usage(told: Mapping[str, Any]) -> Usage:
    """Return usage with cached tokens counted in; Anthropic counts them beside the others."""
    read = told.get("cache_read_input_tokens") or 0
    written = told.get("cache_creation_input_tokens") or 0
    details = told.get("output_tokens_details") or {}
    return Usage(
        input_tokens=told["input_tokens"] + read + written,
        output_tokens=told["output_tokens"],
        cache_read_tokens=read,
        cache_write_tokens=written,
        reasoning_tokens=details.get("thinking_tokens"),
    )


def _about(told: Mapping[str, Any], request_id: str | None) -> dict[str, Any]:
    details = told.get("stop_details") or {}
    about = {
        "stop_reason": told.get("stop_reason"),
        "stop_sequence": told.get("stop_sequence"),
        "refused_as": details.get("category"),
        "served_by": told.get("model"),
        "request_id": request_id,
    }
    return {name: value for name, value in about.items() if value is not None}


class Assembly:
    """A message put together from the events of a stream.

    It is whole once the stream said so itself; what ends before that was cut off.
    """

    def __init__(self) -> None:
        self._message: dict[str, Any] = {}
        self._blocks: dict[int, dict[str, Any]] = {}
        self._ended = False

    def add(self, event: Mapping[str, Any]) -> None:
        """Take the next event.

        Raises:
            ServerError: It does not fit what came before.
        """
        try:
            self._take(event)
        except (KeyError, TypeError, AttributeError) as error:
            raise ServerError("the stream of the reply is out of order") from error

    def message(self) -> Mapping[str, Any]:
        """Return the message.

        Raises:
            ServerError: The stream ended before the message did.
        """
        if not self._ended:
            raise ServerError("the stream of the reply was cut off")
        blocks = [self._blocks[index] for index in sorted(self._blocks)]
        return {**self._message, "content": blocks}

    def _take(self, event: Mapping[str, Any]) -> None:
        kind = event["type"]
        if kind == "message_start":
            self._message = dict(event["message"])
        elif kind == "content_block_start":
            self._blocks[event["index"]] = dict(event["content_block"])
        elif kind == "content_block_delta":
            self._extend(self._blocks[event["index"]], event["delta"])
        elif kind == "message_delta":
            self._message.update(event["delta"])
            counted = {k: v for k, v in event["usage"].items() if v is not None}
            self._message["usage"] = {**self._message["usage"], **counted}
        elif kind == "message_stop":
            self._ended = bool(self._message)

    def _extend(self, block: dict[str, Any], delta: Mapping[str, Any]) -> None:
        if delta["type"] == "text_delta":
            block["text"] += delta["text"]
