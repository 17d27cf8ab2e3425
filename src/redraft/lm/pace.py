"""Keeps a role's requests below the rates that a provider allows it."""

import threading
import time
from collections import deque
from collections.abc import Callable

from redraft.errors import ConfigError

_WINDOW_SECONDS = 60.0


class Pace:
    """Tells each request how long to wait, so that no minute holds too many; safe under threads.

    Args:
        max_rpm: Requests in any minute; 1 or more; None for no limit.
        max_tpm: Tokens in any minute, sent and received; 1 or more; None for no limit.
        clock: Seconds that only go forward; replaced in tests.

    Raises:
        ConfigError: A limit is below 1.
    """

    def __init__(
        self,
        *,
        max_rpm: int | None = None,
        max_tpm: int | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        for name, limit in (("max_rpm", max_rpm), ("max_tpm", max_tpm)):
            if limit is not None and limit < 1:
                raise ConfigError(f"{name} must be 1 or more, got {limit}; leave it out for none")
        self._max_rpm = max_rpm
        self._max_tpm = max_tpm
        self._clock = clock
        self._lock = threading.Lock()
        self._made: deque[tuple[float, int]] = deque()

    def take(self, tokens: int) -> float:
        """Take a request's place in the current minute.

        Args:
            tokens: What the request is expected to need. One that needs more than a minute may
                hold waits for a minute of its own.

        Returns:
            0.0 where the place was taken; else the seconds after which to ask again.
        """
        with self._lock:
            now = self._clock()
            while self._made and now - self._made[0][0] >= _WINDOW_SECONDS:
                self._made.popleft()
            ends = max(self._requests_over(), self._tokens_over(tokens))
            if ends == 0:
                self._made.append((now, tokens))
                return 0.0
            return self._made[ends - 1][0] + _WINDOW_SECONDS - now

    def _requests_over(self) -> int:
        """Return how many of the oldest requests must end their minute first."""
        if self._max_rpm is None:
            return 0
        return max(0, len(self._made) + 1 - self._max_rpm)

    def _tokens_over(self, tokens: int) -> int:
        if self._max_tpm is None:
            return 0
        over = sum(taken for _, taken in self._made) + tokens - self._max_tpm
        ended = 0
        while over > 0 and ended < len(self._made):
            over -= self._made[ended][1]
            ended += 1
        return ended
