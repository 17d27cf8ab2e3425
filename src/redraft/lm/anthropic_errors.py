"""What the SDK raises, in DSPy's words: which failures pass, and nothing of key or prompt."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

import anthropic
from anthropic import APIError, APIStatusError
from dspy import lm15
from dspy.lm15 import LM15Error

from redraft.errors import ModelError, RedraftError

# Subclasses have the meaning of the nearest class that is listed; a test walks the SDK's tree.
MEANINGS: Mapping[type[BaseException], type[LM15Error]] = {
    anthropic.BadRequestError: lm15.InvalidRequestError,
    anthropic.AuthenticationError: lm15.AuthError,
    anthropic.PaymentRequiredError: lm15.BillingError,
    anthropic.PermissionDeniedError: lm15.AuthError,
    anthropic.NotFoundError: lm15.UnsupportedModelError,
    anthropic.RequestTimeoutError: lm15.TimeoutError,
    anthropic.ConflictError: lm15.ServerError,
    anthropic.PreconditionFailedError: lm15.InvalidRequestError,
    anthropic.ContentTooLargeError: lm15.ContextLengthError,
    anthropic.UnprocessableEntityError: lm15.InvalidRequestError,
    anthropic.RateLimitError: lm15.RateLimitError,
    anthropic.RequestHeaderFieldsTooLargeError: lm15.InvalidRequestError,
    anthropic.ClientClosedRequestError: lm15.TransportError,
    anthropic.HTTPNotImplementedError: lm15.InvalidRequestError,
    anthropic.GatewayTimeoutError: lm15.TimeoutError,
    anthropic.InternalServerError: lm15.ServerError,
    anthropic.APITimeoutError: lm15.TimeoutError,
    anthropic.APIConnectionError: lm15.TransportError,
    anthropic.APIResponseValidationError: lm15.ServerError,
    anthropic.APIWebhookValidationError: lm15.InvalidRequestError,
    anthropic.RetryableError: lm15.TransportError,
    anthropic.CredentialsError: lm15.NotConfiguredError,
    # Of a status that has no class of its own, such as an error in the middle of a stream.
    anthropic.APIStatusError: lm15.ServerError,
    anthropic.APIError: lm15.ServerError,
    # What remains is about the SDK's own set-up: a cloud's library that is missing, say.
    anthropic.AnthropicError: lm15.NotConfiguredError,
}
_UNUSABLE = (
    lm15.AuthError,
    lm15.BillingError,
    lm15.UnsupportedModelError,
    lm15.NotConfiguredError,
)
# Meanings of the `type` of an error that arrives in a stream, under a status that says all is well.
_STREAMED: Mapping[str, type[LM15Error]] = {
    "rate_limit_error": lm15.RateLimitError,
    "invalid_request_error": lm15.InvalidRequestError,
    "request_too_large": lm15.ContextLengthError,
    "authentication_error": lm15.AuthError,
    "permission_error": lm15.AuthError,
}
_TOO_LONG = ("prompt is too long", "context window", "context length", "context limit")
_LONGEST_MESSAGE = 300
# A run of the prompt as long as this, in a provider's message, is taken for the prompt.
_REPEATED = 24
_HIDDEN = "[hidden]"
_FIRST_ERROR = 400


@dataclass(frozen=True, slots=True)
class Asked:
    """What must not show in an error, and how to speak of the model.

    Attributes:
        name: The model.
        key_name: The environment variable that holds its key.
        texts: Texts of the request.
        secrets: The key and the values of headers.
    """

    name: str
    key_name: str
    texts: tuple[str, ...] = ()
    secrets: tuple[str, ...] = ()

    def shown(self, message: str) -> str:
        """Return a provider's message without secrets and without what it repeats of the prompt."""
        for secret in self.secrets:
            message = message.replace(secret, _HIDDEN)
        message = " ".join(message.split())[:_LONGEST_MESSAGE]
        return "" if _repeats(message, self.texts) else message


def translated(error: BaseException, asked: Asked) -> LM15Error | RedraftError:
    """Return what an exception of the SDK means; raise it without the SDK's own as its cause.

    Args:
        error: What the SDK raised: it holds key, headers and prompt.
        asked: What must not show.
    """
    meaning = meaning_of(error)
    status = error.status_code if isinstance(error, APIStatusError) else None
    request_id = error.request_id if isinstance(error, APIStatusError) else None
    message = _message(error, asked)
    if meaning is lm15.InvalidRequestError and any(w in message.lower() for w in _TOO_LONG):
        meaning = lm15.ContextLengthError
    if issubclass(meaning, _UNUSABLE):
        return ModelError(_refusal(meaning, message, asked, request_id), model=asked.name)
    told = f"{message} (request {request_id})" if request_id else message
    failure = meaning(
        told,
        provider="anthropic",
        status=status,
        request_id=request_id,
        retry_after=_retry_after(error),
    )
    # DSPy's classes append advice of several lines, some of it about calls that are not ours.
    failure.message = told
    failure.args = (told,)
    return failure


def meaning_of(error: BaseException) -> type[LM15Error]:
    """Return the kind of failure that an exception of the SDK is."""
    kind = type(error)
    streamed = isinstance(error, APIStatusError) and error.status_code < _FIRST_ERROR
    if streamed and isinstance(error, APIStatusError):
        return _STREAMED.get(str(error.type), lm15.ServerError)
    return next((MEANINGS[c] for c in kind.__mro__ if c in MEANINGS), lm15.TransportError)


def _message(error: BaseException, asked: Asked) -> str:
    if isinstance(error, APIStatusError):
        what = f"HTTP {error.status_code}" + (f" {error.type}" if error.type else "")
        detail = asked.shown(str(error.api_message or ""))
        return f"{what}: {detail}" if detail else what
    if isinstance(error, anthropic.APITimeoutError):
        return "the API did not answer in time"
    if isinstance(error, anthropic.APIConnectionError):
        return f"no connection to the API ({type(error.__cause__ or error).__name__})"
    if isinstance(error, APIError) or not isinstance(error, anthropic.AnthropicError):
        return f"the reply could not be read ({type(error).__name__})"
    return asked.shown(str(error)) or type(error).__name__


def _refusal(meaning: type[LM15Error], message: str, asked: Asked, request_id: str | None) -> str:
    where = f" (request {request_id})" if request_id else ""
    if meaning is lm15.AuthError:
        remedy = f"check the key in {asked.key_name}, or name another model"
    elif meaning is lm15.UnsupportedModelError:
        remedy = "name a model that the API has"
    elif meaning is lm15.BillingError:
        remedy = "settle the account, or name another model"
    else:
        remedy = "complete the set-up, or name another model"
    return f"{asked.name!r} was refused: {message}{where}; {remedy}"


def _retry_after(error: BaseException) -> float | None:
    """Return the seconds that the server asks to wait, however it writes them."""
    if not isinstance(error, APIStatusError):
        return None
    headers = error.response.headers
    try:
        return max(0.0, float(headers["retry-after-ms"]) / 1000)
    except (KeyError, ValueError):
        pass
    written = headers.get("retry-after", "")
    try:
        return max(0.0, float(written))
    except ValueError:
        pass
    try:
        return max(0.0, (parsedate_to_datetime(written) - datetime.now(UTC)).total_seconds())
    except (ValueError, TypeError):
        return None


def _repeats(message: str, texts: Iterable[str]) -> bool:
    """Tell whether a message holds a long run of one of the texts."""
    runs = {message[n : n + _REPEATED] for n in range(len(message) - _REPEATED + 1)}
    return any(run in " ".join(text.split()) for text in texts for run in runs)
