"""Retries: what is tried again, and after how long."""

import pytest
from dspy.lm15 import (
    AuthError,
    ContextLengthError,
    LM15Error,
    ProviderError,
    RateLimitError,
    ServerError,
    TimeoutError,
    TransportError,
)

from redraft.errors import ConfigError
from redraft.lm import Retry
from redraft.lm.retry import is_outage

OUTAGES = [
    TransportError("cut off"),
    RateLimitError("too often", status=429),
    ServerError("down", status=503),
    ProviderError("overloaded", status=529),
    TimeoutError("late", status=408),
]
FINAL = [
    AuthError("bad key", status=401),
    ContextLengthError("too long", status=400),
    ProviderError("odd", status=418),
]


@pytest.mark.parametrize("error", OUTAGES, ids=lambda e: type(e).__name__)
def test_outages_are_tried_again(error: LM15Error) -> None:
    """A failure that may pass by itself is worth another try."""
    assert is_outage(error)
    assert Retry().wait_seconds(error, tried=1, digest="d") is not None


@pytest.mark.parametrize("error", FINAL, ids=lambda e: type(e).__name__)
def test_other_failures_are_final(error: LM15Error) -> None:
    """What another try cannot cure is not paid for twice."""
    assert Retry().wait_seconds(error, tried=1, digest="d") is None


def test_gives_up_after_the_last_try() -> None:
    """`tries` counts the first one."""
    assert Retry(tries=3).wait_seconds(OUTAGES[0], tried=3, digest="d") is None


def test_waits_double_up_to_the_longest() -> None:
    """Each wait lies between half of its bound and the bound."""
    retry = Retry(tries=9, base_seconds=1, max_seconds=6)

    waits = [retry.wait_seconds(OUTAGES[0], tried=n, digest="d") or 0 for n in range(1, 6)]

    bounds = [1, 2, 4, 6, 6]
    assert all(bound / 2 <= wait <= bound for wait, bound in zip(waits, bounds, strict=True))


def test_waits_repeat_and_differ_between_requests() -> None:
    """A repeated command waits alike; requests that failed together do not come back together."""
    retry = Retry()

    first = retry.wait_seconds(OUTAGES[0], tried=1, digest="one")

    assert retry.wait_seconds(OUTAGES[0], tried=1, digest="one") == first
    assert retry.wait_seconds(OUTAGES[0], tried=1, digest="two") != first


def test_honours_the_hint_of_the_server() -> None:
    """The server knows best when to come back."""
    error = RateLimitError("too often", status=429, retry_after=7)

    assert Retry().wait_seconds(error, tried=1, digest="d") == 7


def test_gives_up_when_the_server_asks_for_too_long() -> None:
    """Coming back earlier than asked would fail again."""
    error = RateLimitError("too often", status=429, retry_after=61)

    assert Retry(max_seconds=60).wait_seconds(error, tried=1, digest="d") is None


@pytest.mark.parametrize(
    "wrong", [{"tries": 0}, {"base_seconds": -1.0}, {"base_seconds": 5.0, "max_seconds": 1.0}]
)
def test_wrong_settings_are_refused(wrong: dict[str, int]) -> None:
    """Bad settings fail before the first call."""
    with pytest.raises(ConfigError):
        Retry(**wrong)
