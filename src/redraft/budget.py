"""Caps, and the meter that reserves before every call."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from redraft.errors import ConfigError
from redraft.records import Usage

StopReason = Literal["budget", "deadline", "cancelled"]
StopScope = Literal["answer", "run"]


class Stop(BaseException):
    """Ends work that would break a cap; an ordinary exception would become a score of 0 in DSPy.

    Only `program.py` and `compiler.py` may catch it.

    Attributes:
        reason: Which kind of cap was reached.
        scope: Whether the cap belongs to one answer or to the whole command.
    """

    def __init__(self, reason: StopReason, scope: StopScope) -> None:
        self.reason: StopReason = reason
        self.scope: StopScope = scope
        super().__init__(f"{scope} stopped by {reason}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Caps:
    """Hard stops for one answer; the first one reached ends the loop.

    Attributes:
        max_calls: Calls over all roles, retries and repair turns; 1 or more; None for no cap.
        max_tokens: Tokens sent and received over all calls; 1 or more; None for no cap.
        max_seconds: Wall time; above 0; None for no cap.
        max_cost_usd: Dollars over all calls; above 0; None for no cap. Calls of unknown price are
            refused under it.
    """

    max_calls: int | None = None
    max_tokens: int | None = None
    max_seconds: float | None = None
    max_cost_usd: float | None = None

    def __post_init__(self) -> None:
        for name, cap in (("max_calls", self.max_calls), ("max_tokens", self.max_tokens)):
            if cap is not None and cap < 1:
                raise ConfigError(f"{name} must be 1 or more, got {cap}; leave it out for no cap")
        for name, amount in (
            ("max_seconds", self.max_seconds),
            ("max_cost_usd", self.max_cost_usd),
        ):
            if amount is not None and not amount > 0:
                raise ConfigError(f"{name} must be above 0, got {amount}; leave it out for no cap")


class RunCaps(Caps):
    """Hard stops for a whole command; the same fields as `Caps`."""

    __slots__ = ()


class Meter:
    """Counts calls and reserves each one before it is made; safe under threads and tasks.

    A meter may have a parent: an answer's meter reserves in the command's meter too, so neither
    cap is ever overshot.

    Args:
        caps: The caps to keep.
        parent: The meter of the command, if this one belongs to an answer.
        scope: Whose caps these are; by default `run` without a parent, else `answer`.
        clock: Seconds that only go forward; replaced in tests.
    """

    def __init__(
        self,
        caps: Caps | None = None,
        *,
        parent: "Meter | None" = None,
        scope: StopScope | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._caps = caps or Caps()
        self._parent = parent
        self._scope: StopScope = scope or ("run" if parent is None else "answer")
        self._clock = clock
        self._started = clock()
        self._lock = threading.Lock()
        self._calls = 0
        self._tokens = 0
        self._cost_usd = 0.0
        self._spent = Usage()
        self._cancelled = threading.Event()

    @property
    def scope(self) -> StopScope:
        """Whether the caps are those of one answer or of the whole command."""
        return self._scope

    @property
    def spent(self) -> Usage:
        """Usage recorded so far, failed tries included."""
        with self._lock:
            return self._spent

    @property
    def calls_left(self) -> int | None:
        """Calls that may still be reserved here; None for no cap."""
        if self._caps.max_calls is None:
            return None
        with self._lock:
            return self._caps.max_calls - self._calls

    @property
    def counts_tokens(self) -> bool:
        """Whether tokens are capped here or in a parent, so that calls must state their bound."""
        parents = self._parent is not None and self._parent.counts_tokens
        return self._caps.max_tokens is not None or parents

    @property
    def tokens_left(self) -> int | None:
        """Tokens that may still be reserved here; None for no cap."""
        if self._caps.max_tokens is None:
            return None
        with self._lock:
            return self._caps.max_tokens - self._tokens

    @property
    def counts_cost(self) -> bool:
        """Whether dollars are capped here or in a parent, so that calls must state their price."""
        parents = self._parent is not None and self._parent.counts_cost
        return self._caps.max_cost_usd is not None or parents

    @property
    def cost_usd_left(self) -> float | None:
        """Dollars that may still be reserved here; None for no cap."""
        if self._caps.max_cost_usd is None:
            return None
        with self._lock:
            return self._caps.max_cost_usd - self._cost_usd

    @property
    def seconds(self) -> float:
        """Wall time since the meter was made."""
        return self._clock() - self._started

    @property
    def seconds_left(self) -> float | None:
        """Time until the nearest deadline, its parents' included; None for no deadline."""
        own = None if self._caps.max_seconds is None else self._caps.max_seconds - self.seconds
        parents = None if self._parent is None else self._parent.seconds_left
        known = [left for left in (own, parents) if left is not None]
        return min(known) if known else None

    def cancel(self) -> None:
        """Stop every later call, and the one in flight where its engine can."""
        self._cancelled.set()

    def check(self) -> None:
        """Raise `Stop` if a deadline has passed or the work was cancelled; engines poll this."""
        if self._parent is not None:
            self._parent.check()
        if self._cancelled.is_set():
            raise Stop("cancelled", self.scope)
        if self._caps.max_seconds is not None and self.seconds >= self._caps.max_seconds:
            raise Stop("deadline", self.scope)

    def reserve(self, tokens: int = 0, *, cost_usd: float = 0.0) -> None:
        """Take one call, and what it may need at most, from the caps before it is made.

        Args:
            tokens: Upper bound of the tokens sent and received; 0 where none are capped.
            cost_usd: Upper bound of its price in dollars; 0 where none are capped.

        Raises:
            Stop: No call, too few tokens or too few dollars are left, the deadline has passed, or
                the work was cancelled; nothing is reserved then, neither here nor in a parent.
        """
        self.check()
        with self._lock:
            if not self._fits(tokens, cost_usd):
                raise Stop("budget", self.scope)
            if self._parent is not None:
                self._parent.reserve(tokens, cost_usd=cost_usd)
            self._calls += 1
            self._tokens += tokens
            self._cost_usd += cost_usd

    def fits(self, tokens: int = 0, *, cost_usd: float = 0.0) -> bool:
        """Tell whether such a call could be reserved now, here and in the parents.

        Another thread may take the room before this one reserves it.
        """
        with self._lock:
            fits = self._fits(tokens, cost_usd)
        return fits and (self._parent is None or self._parent.fits(tokens, cost_usd=cost_usd))

    def record(
        self,
        usage: Usage,
        *,
        reserved_tokens: int | None = None,
        reserved_cost_usd: float | None = None,
    ) -> None:
        """Add what a call spent, here and in the parents.

        Args:
            usage: What the call spent.
            reserved_tokens: The bound it had reserved, which its real tokens replace; None where
                the real tokens are not known, so that the bound stays taken.
            reserved_cost_usd: The dollars it had reserved, which its real price replaces; None
                where that is not known, so that they stay taken.
        """
        with self._lock:
            self._spent = self._spent + usage
            if reserved_tokens is not None:
                self._tokens += usage.input_tokens + usage.output_tokens - reserved_tokens
            if reserved_cost_usd is not None and usage.cost_usd is not None:
                self._cost_usd += usage.cost_usd - reserved_cost_usd
        if self._parent is not None:
            self._parent.record(
                usage, reserved_tokens=reserved_tokens, reserved_cost_usd=reserved_cost_usd
            )

    def _fits(self, tokens: int, cost_usd: float) -> bool:
        """Tell whether one more call fits; the lock must be held."""
        caps = self._caps
        return (
            (caps.max_calls is None or self._calls < caps.max_calls)
            and (caps.max_tokens is None or self._tokens + tokens <= caps.max_tokens)
            and (caps.max_cost_usd is None or self._cost_usd + cost_usd <= caps.max_cost_usd)
        )
