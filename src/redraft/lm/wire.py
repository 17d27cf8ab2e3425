"""Requests and responses as canonical JSON: for keys, seeds and recorded replies."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

# DSPy publishes lm15's types but not their JSON form; it is imported here and nowhere else.
from dspy._vendor.lm15.serde import request_to_dict, response_from_dict, response_to_dict
from dspy.lm15 import Message, Request, Response, TextPart


def canonical_json(value: object) -> str:
    """Return JSON with sorted keys and no spaces: equal values have equal bytes."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def request_json(request: Request) -> str:
    """Return the whole request as canonical JSON."""
    return canonical_json(request_to_dict(request))


def request_digest(request: Request) -> str:
    """Return the SHA-256 (hex) of the whole request."""
    return hashlib.sha256(request_json(request).encode()).hexdigest()


def dump_response(response: Response) -> Mapping[str, Any]:
    """Return a response as JSON-ready values; `load_response` gives an equal one back."""
    values: Mapping[str, Any] = response_to_dict(response, include_provider_data=True)
    return values


def load_response(values: Mapping[str, Any]) -> Response:
    """Return the response that `dump_response` was given.

    Raises:
        KeyError, TypeError, ValueError: The values are not a dumped response.
    """
    return response_from_dict(dict(values))


def message_text(message: Message) -> str:
    """Return the text parts of a message, joined by line breaks."""
    return "\n".join(part.text for part in message.parts if isinstance(part, TextPart))


def system_text(request: Request) -> str:
    """Return the system text of a request; empty where it has none."""
    system = request.system
    if system is None or isinstance(system, str):
        return system or ""
    return "\n".join(part.text for part in system if isinstance(part, TextPart))


def last_user_text(request: Request) -> str:
    """Return the text of the last user turn; empty where there is none."""
    turns = [message for message in request.messages if message.role == "user"]
    return message_text(turns[-1]) if turns else ""
