"""Every exception of the SDK has a meaning, and none shows a key or a prompt."""

import io
import logging
import traceback
from collections.abc import Iterator

import anthropic
import httpx2
import pytest
from anthropic import APIStatusError
from claude import SMALL, asking, never
from dspy import lm15
from lm_requests import request_of

from redraft.errors import ModelError
from redraft.lm.anthropic_errors import MEANINGS, Asked, meaning_of, translated
from redraft.testing.messages_api import Fault

SECRET = "sk-ant-planted-secret-0001"
PROMPT = "The planted prompt about flat 12 and its tenant, word for word."


def tree(root: type[BaseException]) -> Iterator[type[BaseException]]:
    """Yield a class and everything below it."""
    yield root
    for below in root.__subclasses__():
        yield from tree(below)


def status_error(kind: type[APIStatusError], status: int, **headers: str) -> APIStatusError:
    """Return an exception as the SDK makes it."""
    request = httpx2.Request("POST", "http://127.0.0.1/v1/messages")
    response = httpx2.Response(status, headers=headers, request=request)
    return kind("No.", response=response, body=None)


# These are about the SDK's set-up or about tools, never about a request of ours.
SET_UP = frozenset(
    {
        "AnthropicError",
        "MissingDependencyError",
        "MutuallyExclusiveAuthError",
        "StreamAlreadyConsumed",
        "ToolsetClosedError",
        "ToolsetConfigError",
        "ToolsetContractError",
        "ToolsetUsageError",
        "ToolsetsFixedError",
        "WorkloadIdentityError",
    }
)


def test_every_exception_of_the_sdk_has_a_counterpart() -> None:
    """A class that a later SDK adds fails here until it is given one."""
    kinds = [k for k in tree(anthropic.AnthropicError) if k.__module__.startswith("anthropic")]
    nearest = {kind: next(c for c in kind.__mro__ if c in MEANINGS) for kind in kinds}

    general = {k.__name__ for k, near in nearest.items() if near is anthropic.AnthropicError}
    statuses = {k.__name__ for k, near in nearest.items() if near is APIStatusError}

    assert general <= SET_UP
    assert statuses == {"APIStatusError"}


@pytest.mark.parametrize(
    ("kind", "status", "meaning"),
    [
        (anthropic.OverloadedError, 529, lm15.ServerError),
        (anthropic.ServiceUnavailableError, 503, lm15.ServerError),
        (anthropic.GatewayTimeoutError, 504, lm15.TimeoutError),
        (anthropic.ConflictError, 409, lm15.ServerError),
        (anthropic.APIStatusError, 418, lm15.ServerError),
    ],
)
def test_a_class_has_the_meaning_of_the_nearest(
    kind: type[APIStatusError], status: int, meaning: type[Exception]
) -> None:
    """Subclasses inherit it."""
    assert meaning_of(status_error(kind, status)) is meaning


def test_what_is_no_exception_of_the_sdk_is_a_broken_connection() -> None:
    """A stream that is no JSON, or a socket that closed under the client."""
    assert meaning_of(ValueError("no JSON")) is lm15.TransportError


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after": "Thu, 01 Jan 1970 00:00:00 GMT"}, 0.0),
        ({"retry-after": "soon"}, None),
        ({}, None),
    ],
)
def test_the_servers_hint_is_read(headers: dict[str, str], seconds: float | None) -> None:
    """In seconds, in milliseconds, or as a date."""
    error = status_error(anthropic.RateLimitError, 429, **headers)

    failure = translated(error, Asked(SMALL, "KEY"))

    assert isinstance(failure, lm15.RateLimitError)
    assert failure.retry_after == seconds


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (status_error(anthropic.PaymentRequiredError, 402), "settle the account"),
        (status_error(anthropic.NotFoundError, 404), "name a model that the API has"),
        (anthropic.CredentialsError("no profile"), "complete the set-up"),
    ],
)
def test_what_no_further_call_would_cure_is_an_error_of_the_model(
    error: Exception, words: str
) -> None:
    """One sentence that ends with what to do."""
    failure = translated(error, Asked(SMALL, "KEY"))

    assert isinstance(failure, ModelError)
    assert words in str(failure)
    assert "\n" not in str(failure)


@pytest.mark.parametrize(
    "fault",
    [
        Fault(status=400, message=f"messages.0: {PROMPT}"),
        Fault(status=401, message=f"the key {SECRET} is revoked"),
        Fault(status=500, message=f"{SECRET} {PROMPT}"),
        Fault(status=404, message=PROMPT[5:50]),
        Fault(kind="cut"),
        Fault(kind="malformed"),
    ],
)
@pytest.mark.parametrize("max_tokens", [64, 30_000])
def test_no_error_shows_key_header_or_prompt(
    fault: Fault, max_tokens: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not in its text, its traceback or a log, nor in anything that hangs on it."""
    monkeypatch.setenv("PLANTED_KEY", SECRET)
    log = io.StringIO()
    handler = logging.StreamHandler(log)
    logging.getLogger().addHandler(handler)
    settings = {"key_env": "PLANTED_KEY", "headers": {"X-Team": f"team-{SECRET}"}}
    try:
        with asking(**settings) as (engine, api):
            api.key = SECRET
            api.fail(fault)
            request = request_of(PROMPT, model=SMALL, max_tokens=max_tokens)
            with pytest.raises((lm15.LM15Error, ModelError)) as raised:
                engine.complete(request, never)

            assert api.requests[0].headers["x-team"] == f"team-{SECRET}"
    finally:
        logging.getLogger().removeHandler(handler)

    shown = "".join(traceback.format_exception(raised.value)) + log.getvalue()
    assert SECRET not in shown
    assert PROMPT[5:50] not in shown
    assert (raised.value.__cause__, raised.value.__context__) == (None, None)


def test_a_stalled_api_times_out_as_an_outage() -> None:
    """What the SDK says of it holds no address."""
    error = anthropic.APITimeoutError(httpx2.Request("POST", "http://user:pass@127.0.0.1/"))

    failure = translated(error, Asked(SMALL, "KEY"))

    assert isinstance(failure, lm15.TimeoutError)
    assert "pass" not in str(failure)


@pytest.mark.parametrize("kind", [("overloaded_error", lm15.ServerError)])
def test_an_error_in_a_stream_has_its_own_type(kind: tuple[str, type[Exception]]) -> None:
    """Its status said that all is well."""
    error = status_error(anthropic.APIStatusError, 200)
    error.type = kind[0]  # type: ignore[assignment]  # any of the API's words

    assert meaning_of(error) is kind[1]
