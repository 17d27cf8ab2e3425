"""Response to typed reply: what can be used of it, or why nothing can."""

import json
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pydantic
from dspy.lm15 import RefusalPart, Response
from dspy.signatures.signature import Signature
from dspy.utils import exceptions as lm_errors

from redraft.errors import ModelError, RedraftError
from redraft.records import Failure, FailureKind, Role

_OUTAGES = (
    lm_errors.LMRateLimitError,
    lm_errors.LMTimeoutError,
    lm_errors.LMServerError,
    lm_errors.LMTransportError,
    lm_errors.LMLockTimeoutError,
    lm_errors.LMStreamAssemblyError,
)
# Letters and symbols by their category, but nothing to see.
_BLANKS = frozenset("\u115f\u1160\u2800\u3164\uffa0")
_UNSEEN = frozenset({"Cc", "Cf", "Zl", "Zp", "Zs"})


class CallError(Exception):
    """A call gave nothing usable; caught where the call was made, never shown to a user.

    Attributes:
        failure: Why.
        text: What the model said all the same; may be empty.
    """

    def __init__(self, failure: Failure, text: str = "") -> None:
        self.failure = failure
        self.text = text
        super().__init__(failure.message)


@dataclass(frozen=True, slots=True)
class Reply:
    """What a predictor's call gave.

    Attributes:
        fields: Output fields by name.
        text: The reply verbatim.
    """

    fields: Mapping[str, object]
    text: str


def usable_text(response: Response, role: Role, *, max_tokens: int) -> str:
    """Return the text of a response that ended normally.

    Args:
        response: What the model gave.
        role: Whose call it was.
        max_tokens: Tokens that the reply could have.

    Raises:
        CallError: It was refused, truncated or empty, or cannot be written down as UTF-8.
    """
    text = (response.text or "").strip()
    written = text.encode(errors="replace").decode()
    refusal = response.message.first(RefusalPart)
    if refusal is not None or response.finish_reason == "content_filter":
        said = refusal.text if refusal is not None else text
        raise _failed("refused", role, f"{response.model} refused: {said!r}", written)
    if response.finish_reason == "length":
        raise _failed(*_unfinished(response, role, max_tokens), text=written)
    if written != text:
        message = "the reply holds half of a character pair"
        raise _failed("unparsable", role, message, written)
    if not is_visible(text):
        raise _failed("empty", role, "the reply was empty")
    return text


def parsed_fields(signature: type[Signature], text: str, role: Role) -> dict[str, Any]:
    """Return a structured reply's output fields as their types.

    Raises:
        CallError: It is not the JSON object that was asked for.
    """
    start, end = text.find("{"), text.rfind("}")
    try:
        found = json.loads(text[start : end + 1])
        json.dumps(found, ensure_ascii=False).encode()  # half a character pair cannot be sent on
        return {
            name: pydantic.TypeAdapter(info.annotation).validate_python(found[name])
            for name, info in signature.output_fields.items()
        }
    except (ValueError, KeyError, RecursionError) as error:
        message = f"the reply is not the JSON object that was asked for: {error}"
        raise _failed("unparsable", role, message, text) from error


def translated(error: lm_errors.DSPyError, role: Role) -> Exception:
    """Return what a failed call means: an outage, a prompt that is too long, or a wrong setting."""
    cause = error.__cause__
    if isinstance(cause, RedraftError):
        return cause
    name = error.model or "the model"
    if isinstance(error, _OUTAGES):
        return _failed("outage", role, f"{name} did not answer: {error.message}")
    if isinstance(error, lm_errors.ContextWindowExceededError):
        return _failed("too_long", role, f"the prompt does not fit {name}: {error.message}")
    return ModelError(f"{name} cannot be used: {error.message}", model=name)


def is_visible(text: str) -> bool:
    """Tell whether a reader would see anything at all."""
    return any(unicodedata.category(c) not in _UNSEEN and c not in _BLANKS for c in text)


def _unfinished(response: Response, role: Role, max_tokens: int) -> tuple[FailureKind, Role, str]:
    """Return what it means that a reply was not finished, as kind, role and sentence."""
    reason = (response.provider_data or {}).get("stop_reason", "max_tokens")
    if reason == "model_context_window_exceeded":
        return "too_long", role, f"prompt and reply do not fit {response.model}"
    if reason != "max_tokens":
        return "truncated", role, f"the reply was not finished: {reason}"
    message = f"the reply was cut off at max_tokens={max_tokens}"
    return "truncated", role, message


def _failed(kind: FailureKind, role: Role, message: str, text: str = "") -> CallError:
    return CallError(Failure(kind, role, message), text)
