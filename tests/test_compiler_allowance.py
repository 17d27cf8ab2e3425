"""One command's caps, shared out to stages."""

import pytest

from redraft.budget import Stop
from redraft.compiler.allowance import Allowance
from redraft.records import Usage


class Clock:
    """Seconds that a test sets."""

    now = 0.0

    def __call__(self) -> float:
        """Return them."""
        return self.now


def test_stage_keeps_calls_for_later_ones() -> None:
    """What is kept back cannot be spent by an earlier stage."""
    allowance = Allowance(10)
    search = allowance.stage(keep_calls=6)

    for _ in range(4):
        search.reserve()
        search.record(Usage(calls=1))

    with pytest.raises(Stop):
        search.reserve()
    assert (allowance.calls_left, allowance.stage().calls_left) == (6, 6)


def test_unused_calls_go_to_later_stages() -> None:
    """A stage that spent less leaves more."""
    allowance = Allowance(10)
    search = allowance.stage(keep_calls=6)
    search.reserve()
    search.record(Usage(calls=1))

    assert allowance.stage().calls_left == 9


def test_stage_without_calls_makes_none() -> None:
    """Where everything is kept back, the first call stops."""
    meter = Allowance(10).stage(keep_calls=10)

    with pytest.raises(Stop) as caught:
        meter.reserve()
    assert caught.value.scope == "run"


def test_search_leaves_time_for_the_rest() -> None:
    """A stage gets its share of the time that is left."""
    clock = Clock()
    allowance = Allowance(10, max_seconds=100, clock=clock)
    clock.now = 20.0
    meter = allowance.stage(share=0.5)

    clock.now = 59.0
    meter.check()
    clock.now = 61.0

    with pytest.raises(Stop):
        meter.check()
    allowance.stage().check()


def test_stage_after_the_deadline_makes_no_call() -> None:
    """No time, no call."""
    clock = Clock()
    allowance = Allowance(10, max_seconds=5, clock=clock)
    clock.now = 6.0

    with pytest.raises(Stop):
        allowance.stage().reserve()
    assert allowance.seconds == 6.0


def test_tokens_and_dollars_are_shared_out_like_time() -> None:
    """A search leaves some of them for the gate, and all stages keep to the command's caps."""
    allowance = Allowance(10, max_tokens=100, max_cost_usd=1.0)

    search = allowance.stage(share=0.6)
    search.reserve(60, cost_usd=0.6)
    with pytest.raises(Stop):
        search.reserve(1)
    look = allowance.stage()

    assert (look.tokens_left, look.cost_usd_left) == (40, pytest.approx(0.4))


def test_a_stage_without_dollars_makes_no_call() -> None:
    """What was spent stays spent."""
    allowance = Allowance(10, max_cost_usd=1.0)
    allowance.stage().reserve(cost_usd=1.0)

    with pytest.raises(Stop):
        allowance.stage().reserve()
