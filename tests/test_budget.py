"""Caps are kept exactly, under threads too."""

import asyncio
import threading

import pytest

from redraft.budget import Caps, Meter, RunCaps, Stop
from redraft.errors import ConfigError
from redraft.records import Usage


class Clock:
    """A clock that only moves when it is told to."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.parametrize(
    "caps", [{"max_calls": 0}, {"max_tokens": 0}, {"max_seconds": 0}, {"max_cost_usd": 0}]
)
def test_refuses_caps_that_allow_nothing(caps: dict[str, float]) -> None:
    """A cap is at least one call and more than no time."""
    with pytest.raises(ConfigError, match="leave it out for no cap"):
        RunCaps(**caps)


def test_stops_before_the_call_that_would_break_the_cap() -> None:
    """The last call within the cap is made, the next one is not."""
    meter = Meter(Caps(max_calls=2))

    meter.reserve()
    meter.reserve()
    with pytest.raises(Stop) as stop:
        meter.reserve()

    assert (stop.value.reason, stop.value.scope) == ("budget", "run")
    assert meter.calls_left == 0


def test_stop_is_no_ordinary_exception() -> None:
    """A library that catches Exception cannot turn a stop into a score."""
    assert not issubclass(Stop, Exception)


def test_reserves_in_the_commands_meter_too() -> None:
    """An answer cannot spend what the command has not left."""
    command = Meter(RunCaps(max_calls=1))
    answer = Meter(Caps(max_calls=5), parent=command)

    answer.reserve()
    with pytest.raises(Stop) as stop:
        answer.reserve()

    assert stop.value.scope == "run"
    assert answer.calls_left == 4


def test_refused_reservation_is_not_counted_in_the_parent() -> None:
    """A call that the answer's own cap refuses costs the command nothing."""
    command = Meter(RunCaps(max_calls=5))
    answer = Meter(Caps(max_calls=1), parent=command)

    answer.reserve()
    with pytest.raises(Stop):
        answer.reserve()

    assert command.calls_left == 4


def test_deadline_is_the_nearest_of_answer_and_command() -> None:
    """Engines are told the earlier of both deadlines."""
    clock = Clock()
    command = Meter(RunCaps(max_seconds=10), clock=clock)
    answer = Meter(Caps(max_seconds=60), parent=command, clock=clock)

    clock.now = 4.0

    assert answer.seconds_left == 6.0
    clock.now = 10.0
    with pytest.raises(Stop) as stop:
        answer.check()
    assert (stop.value.reason, stop.value.scope) == ("deadline", "run")


def test_no_deadline_is_none() -> None:
    """Without a cap on seconds nothing is polled for."""
    assert Meter().seconds_left is None
    assert Meter().calls_left is None


def test_cancelled_meter_stops_its_answers() -> None:
    """Cancelling the command stops every answer under it."""
    command = Meter()
    answer = Meter(parent=command)

    command.cancel()

    with pytest.raises(Stop) as stop:
        answer.reserve()
    assert stop.value.reason == "cancelled"


def test_records_usage_in_the_parent() -> None:
    """What an answer spends is the command's spend as well."""
    command = Meter()
    answer = Meter(parent=command, scope="answer")

    answer.record(Usage(calls=1, input_tokens=7))
    answer.record(Usage(calls=1, cost_usd=None))

    assert command.spent == Usage(calls=2, input_tokens=7, cost_usd=None)
    assert answer.scope == "answer"


def test_threads_never_overshoot() -> None:
    """Of 400 reservations from 8 threads exactly the cap goes through."""
    meter = Meter(Caps(max_calls=100))
    made = []

    def spend() -> None:
        for _ in range(50):
            try:
                meter.reserve()
            except Stop:
                return
            made.append(1)

    threads = [threading.Thread(target=spend) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(made) == 100


def test_tasks_never_overshoot() -> None:
    """Tasks of one event loop share a cap as threads do."""
    meter = Meter(Caps(max_calls=3))

    async def spend() -> bool:
        await asyncio.sleep(0)
        try:
            meter.reserve()
        except Stop:
            return False
        return True

    async def all_of_them() -> list[bool]:
        return list(await asyncio.gather(*(spend() for _ in range(10))))

    assert sum(asyncio.run(all_of_them())) == 3


def test_tokens_are_taken_at_their_bound_and_given_back() -> None:
    """A call's bound is held until its real tokens are known."""
    meter = Meter(Caps(max_tokens=100))

    meter.reserve(60)
    with pytest.raises(Stop):
        meter.reserve(41)
    meter.record(Usage(calls=1, input_tokens=10, output_tokens=5), reserved_tokens=60)

    assert meter.tokens_left == 85


def test_bound_stays_taken_where_the_spend_is_unknown() -> None:
    """A try that failed may have been paid for all the same."""
    meter = Meter(Caps(max_tokens=100))

    meter.reserve(60)
    meter.record(Usage(calls=1))

    assert meter.tokens_left == 40


def test_the_commands_tokens_are_the_answers_too() -> None:
    """A parent's cap on tokens is kept, and calls under it must state their bound."""
    command = Meter(RunCaps(max_tokens=50))
    answer = Meter(parent=command)

    with pytest.raises(Stop) as stop:
        answer.reserve(51)

    assert stop.value.scope == "run"
    assert (answer.counts_tokens, Meter().counts_tokens) == (True, False)
    assert (answer.tokens_left, command.tokens_left) == (None, 50)


def test_dollars_are_taken_at_their_bound_and_given_back() -> None:
    """A call's highest price is held until its real one is known."""
    meter = Meter(Caps(max_cost_usd=1.0))

    meter.reserve(cost_usd=0.6)
    with pytest.raises(Stop):
        meter.reserve(cost_usd=0.5)
    meter.record(Usage(calls=1, cost_usd=0.1), reserved_cost_usd=0.6)

    assert meter.cost_usd_left == pytest.approx(0.9)


@pytest.mark.parametrize(
    ("usage", "reserved"), [(Usage(calls=1), None), (Usage(calls=1, cost_usd=None), 0.6)]
)
def test_dollars_stay_taken_where_the_price_is_unknown(
    usage: Usage, reserved: float | None
) -> None:
    """A try that failed may be on the bill all the same."""
    meter = Meter(Caps(max_cost_usd=1.0))

    meter.reserve(cost_usd=0.6)
    meter.record(usage, reserved_cost_usd=reserved)

    assert meter.cost_usd_left == pytest.approx(0.4)


def test_the_commands_dollars_are_the_answers_too() -> None:
    """A parent's cap on dollars is kept, and calls under it must state their price."""
    command = Meter(RunCaps(max_cost_usd=0.5))
    answer = Meter(parent=command)

    with pytest.raises(Stop) as stop:
        answer.reserve(cost_usd=0.51)

    assert stop.value.scope == "run"
    assert (answer.counts_cost, Meter().counts_cost) == (True, False)
    assert (answer.cost_usd_left, command.cost_usd_left) == (None, 0.5)
