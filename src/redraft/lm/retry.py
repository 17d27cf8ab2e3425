"""The one retry layer: which failures are tried again, and how long to wait before."""

import hashlib
import time
from collections.abc import Callable
from dataclasses import dataclass

from dspy.lm15 import (
    InvalidRequestError,
    LM15Error,
    ProviderError,
    RateLimitError,
    ServerError,
    TimeoutError,
    TransportError,
)

from redraft.errors import ConfigError, ModelError

# Some providers answer "overloaded" or "too early" without a class of its own.
RETRIED_STATUSES = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})

_FIRST_ERROR = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class Retry:
    """When a failed try is made again.

    Attributes:
        tries: Tries of one call, the first included; 1 or more.
        base_seconds: Wait after the first try; it doubles with each further one.
        max_seconds: Longest wait; a server that asks for more is not waited for.
        sleep: Waits that many seconds; replaced in tests.
    """

    tries: int = 3
    base_seconds: float = 1.0
    max_seconds: float = 60.0
    sleep: Callable[[float], None] = time.sleep

    def __post_init__(self) -> None:
        if self.tries < 1:
            raise ConfigError(f"tries must be 1 or more, got {self.tries}; 1 never tries again")
        if self.base_seconds < 0 or self.max_seconds < self.base_seconds:
            raise ConfigError(
                "base_seconds must be 0 or more and max_seconds no less, "
                f"got {self.base_seconds} and {self.max_seconds}"
            )

    def wait_seconds(self, error: LM15Error, *, tried: int, digest: str) -> float | None:
        """Return how long to wait before the next try, or None to give up.

        Args:
            error: What the last try raised.
            tried: Tries made so far; 1 or more.
            digest: Digest of the request: waits differ between requests, so they do not come
                back all at once, and are the same whenever a command is repeated.
        """
        if tried >= self.tries or not is_outage(error):
            return None
        if error.retry_after is not None:
            hint: float = error.retry_after
            return hint if hint <= self.max_seconds else None
        longest = min(self.base_seconds * 2.0 ** (tried - 1), self.max_seconds)
        return longest * (0.5 + 0.5 * _share(f"{digest}:{tried}"))


def is_outage(error: LM15Error) -> bool:
    """Whether a failure may pass by itself: connection, rate limit, time-out, server error."""
    if isinstance(error, TransportError | RateLimitError | TimeoutError | ServerError):
        return True
    return isinstance(error, ProviderError) and error.status in RETRIED_STATUSES


def is_unpaid(error: BaseException | None) -> bool:
    """Whether a failed try cost nothing for certain: it was refused before a reply was begun."""
    if isinstance(error, InvalidRequestError | ModelError):
        return True
    return isinstance(error, ProviderError) and (error.status or 0) >= _FIRST_ERROR


def _share(text: str) -> float:
    """Return a number in [0, 1) that depends on nothing but the text."""
    digest = hashlib.sha256(text.encode()).digest()
    return int.from_bytes(digest[:6], "big") / 2**48
