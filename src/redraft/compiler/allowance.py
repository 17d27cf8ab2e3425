"""One command's caps, shared out to stages that follow each other."""

import time
from collections.abc import Callable

from redraft.budget import Caps, Meter, RunCaps
from redraft.records import Usage

# Part of the time, tokens and dollars that a search may use, so that the gate's look has some left.
SEARCH_SHARE = 0.6


class Allowance:
    """Gives every stage a meter of its own; together they never pass the command's caps.

    Args:
        max_calls: Calls that all stages may make together; 1 or more.
        max_seconds: Wall time; None for no cap.
        max_tokens: Tokens sent and received; None for no cap.
        max_cost_usd: Dollars; None for no cap.
        clock: Seconds that only go forward; replaced in tests.
    """

    def __init__(
        self,
        max_calls: int,
        *,
        max_seconds: float | None = None,
        max_tokens: int | None = None,
        max_cost_usd: float | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._calls = max_calls
        self._clock = clock
        caps = RunCaps(
            max_calls=max_calls,
            max_seconds=max_seconds,
            max_tokens=max_tokens,
            max_cost_usd=max_cost_usd,
        )
        self._command = Meter(caps, clock=clock)

    @property
    def spent(self) -> Usage:
        """Usage of all stages so far."""
        return self._command.spent

    @property
    def seconds(self) -> float:
        """Wall time since the command started."""
        return self._command.seconds

    @property
    def calls(self) -> int:
        """Calls that all stages may make together."""
        return self._calls

    @property
    def calls_left(self) -> int:
        """Calls that no stage has made."""
        return self._calls - self._command.spent.calls

    def stage(self, *, keep_calls: int = 0, share: float = 1.0) -> Meter:
        """Return the meter of the next stage; the stages before it must be over.

        Args:
            keep_calls: Calls that are kept for later stages.
            share: Share of what is left of time, tokens and dollars, in (0, 1].
        """
        calls, seconds = self.calls_left - keep_calls, self._command.seconds_left
        tokens, cost_usd = self._command.tokens_left, self._command.cost_usd_left
        left = (calls, seconds, tokens, cost_usd)
        has_any = all(amount is None or amount > 0 for amount in left)
        caps = Caps(max_calls=max(1, calls))
        if has_any:
            caps = Caps(
                max_calls=calls,
                max_seconds=None if seconds is None else seconds * share,
                max_tokens=None if tokens is None else max(1, int(tokens * share)),
                max_cost_usd=None if cost_usd is None else cost_usd * share,
            )
        meter = Meter(caps, parent=self._command, scope="run", clock=self._clock)
        if not has_any:
            meter.cancel()
        return meter
