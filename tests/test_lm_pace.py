"""No minute holds more requests or tokens than a provider allows."""

import asyncio
import random

import pytest
from lm_requests import ask, request_of

from redraft.budget import Meter, Stop
from redraft.errors import ConfigError
from redraft.lm import Model, Scripted
from redraft.lm.pace import Pace


class Clock:
    """Seconds that pass when something sleeps."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


def made(pace: Pace, clock: Clock, sizes: list[int]) -> list[tuple[float, int]]:
    """Make requests one after the other as fast as the pace lets them; return when each was."""
    times = []
    for tokens in sizes:
        while (left := pace.take(tokens)) > 0:
            clock.sleep(left)
        times.append((clock.now, tokens))
    return times


def test_requests_wait_for_their_minute() -> None:
    """Two at once, the third a minute after the first."""
    clock = Clock()

    times = made(Pace(max_rpm=2, clock=clock), clock, [1, 1, 1, 1])

    assert [when for when, _ in times] == [0, 0, 60, 60]


def test_tokens_wait_for_their_minute() -> None:
    """As many of the oldest end their minute as the next one needs."""
    clock = Clock()

    times = made(Pace(max_tpm=100, clock=clock), clock, [60, 40, 50, 50])

    assert [when for when, _ in times] == [0, 0, 60, 60]


def test_a_request_larger_than_a_minute_has_one_of_its_own() -> None:
    """It can be made, and nothing beside it."""
    clock = Clock()

    times = made(Pace(max_tpm=100, clock=clock), clock, [10, 500, 10])

    assert [when for when, _ in times] == [0, 60, 120]


def test_no_minute_is_ever_over_its_limits() -> None:
    """Whatever sizes come."""
    clock, draw = Clock(), random.Random(5)
    sizes = [draw.randint(1, 60) for _ in range(200)]

    times = made(Pace(max_rpm=7, max_tpm=150, clock=clock), clock, sizes)

    for start, _ in times:
        window = [tokens for when, tokens in times if start <= when < start + 60]
        assert len(window) <= 7
        assert sum(window) <= 150


def test_a_limit_below_one_is_refused() -> None:
    """It would never let anything through."""
    with pytest.raises(ConfigError, match="max_rpm must be 1 or more, got 0"):
        Pace(max_rpm=0)


def test_a_model_keeps_its_pace() -> None:
    """A call that must wait can still be cancelled."""
    model = Model(Scripted("Yes."), pace=Pace(max_rpm=1))
    meter = Meter()
    ask(model, meter=meter)
    meter.cancel()

    with pytest.raises(Stop, match="cancelled"):
        ask(model, meter=meter)

    assert meter.spent.calls == 1


def test_tasks_keep_the_pace_too() -> None:
    """Nobody's event loop is blocked by it."""
    clock = Clock()
    model = Model(Scripted("Yes."), pace=Pace(max_rpm=1, clock=clock))

    async def both() -> list[str | None]:
        lm = model.lm(Meter())
        first = await lm.acall(request_of())
        clock.sleep(59.9)
        asyncio.get_running_loop().call_later(0.02, clock.sleep, 1.0)
        second = await lm.acall(request_of())
        return [first.text, second.text]

    assert asyncio.run(both()) == ["Yes.", "Yes."]
