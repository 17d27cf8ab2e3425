"""A call: each try reserved and recorded, outages tried again, recorded replies counted."""

import asyncio
from pathlib import Path

import pytest
from dspy.utils.exceptions import ContextWindowExceededError, LMServerError
from lm_requests import ask, request_of

from redraft.budget import Caps, Meter, Stop
from redraft.lm import Model, Reply, ReplyStore, Retry, Scripted
from redraft.lm.engine import Engine
from redraft.records import Usage

DOWN = Reply(fail="outage")


class Clock:
    """Counts the seconds that were slept, and lets none pass."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def sleep(self, seconds: float) -> None:
        self.seconds += seconds


def model_of(*script: str | Reply, store: ReplyStore | None = None, **retry: float) -> Model:
    """Return a model that never waits for real."""
    return Model(Scripted(list(script)), retry=Retry(sleep=Clock().sleep, **retry), store=store)


class Priced(Scripted):
    """A script whose calls cost an unknown amount."""

    cost_usd = None


def test_outages_are_tried_again_until_one_answers() -> None:
    """Two outages cost two calls more."""
    meter = Meter()

    reply = ask(model_of(DOWN, DOWN, "Here."), meter=meter)

    assert reply.text == "Here."
    assert meter.spent.calls == 3


def test_the_last_outage_reaches_the_caller() -> None:
    """After the last try the error is the provider's, and every try was paid for."""
    meter = Meter()

    with pytest.raises(LMServerError):
        ask(model_of(DOWN, DOWN, DOWN, "Too late."), meter=meter)

    assert meter.spent.calls == 3


def test_a_final_failure_is_not_tried_again() -> None:
    """A prompt that is too long stays too long."""
    engine = Scripted("Yes.", context_tokens=3)
    meter = Meter()

    with pytest.raises(ContextWindowExceededError):
        ask(Model(engine), "far too many words", meter)

    assert meter.spent.calls == 1


def test_each_try_takes_from_the_cap() -> None:
    """A cap on calls is exact, retries included."""
    engine = Scripted(DOWN)
    meter = Meter(Caps(max_calls=2))

    with pytest.raises(Stop):
        ask(Model(engine, retry=Retry(base_seconds=0)), meter=meter)

    assert len(engine.requests) == 2


def test_waits_as_long_as_it_should() -> None:
    """The waits add up to what the server asked for."""
    clock = Clock()
    busy = Reply(fail="rate_limit", retry_after=3.0)
    model = Model(Scripted([busy, "Here."]), retry=Retry(sleep=clock.sleep))

    ask(model)

    assert clock.seconds == pytest.approx(3.0)


def test_a_wait_ends_when_the_work_is_cancelled() -> None:
    """Nothing sleeps through a cancel."""
    meter = Meter()

    def sleep(seconds: float) -> None:
        meter.cancel()

    with pytest.raises(Stop, match="cancelled"):
        ask(Model(Scripted(DOWN), retry=Retry(sleep=sleep)), meter=meter)


def test_tasks_wait_too() -> None:
    """The asynchronous path tries again alike."""
    model = Model(Scripted([DOWN, "Here."]), retry=Retry(base_seconds=0.001))
    meter = Meter()

    reply = asyncio.run(model.lm(meter).acall(request_of()))

    assert (reply.text, meter.spent.calls) == ("Here.", 2)


def test_usage_is_what_the_provider_told() -> None:
    """Tokens of a reply are added to the meter."""
    meter = Meter()

    ask(model_of(Reply("Here.", input_tokens=11, output_tokens=5)), meter=meter)

    assert meter.spent == Usage(calls=1, input_tokens=11, output_tokens=5)


@pytest.mark.parametrize("script", ["Here.", DOWN], ids=["answered", "failed"])
def test_an_unknown_price_stays_unknown(script: str | Reply) -> None:
    """A call of unknown price makes the sum unknown, whether it answered or failed."""
    meter = Meter()
    model = Model(Priced([script, "Here."]), retry=Retry(base_seconds=0))

    ask(model, meter=meter)

    assert model.cost is None
    assert meter.spent.cost_usd is None


def test_a_recorded_reply_counts_as_a_call(tmp_path: Path) -> None:
    """What was recorded before changes no budget."""
    engine, store, meter = Scripted("Here."), ReplyStore(tmp_path / "r.sqlite"), Meter()
    model = Model(engine, store=store)

    replies = [ask(model, meter=meter).text for _ in range(3)]

    assert replies == ["Here."] * 3
    assert len(engine.requests) == 1
    assert (meter.spent.calls, meter.spent.reread) == (3, 2)


def test_tasks_reread_too(tmp_path: Path) -> None:
    """The asynchronous path uses the same records."""
    engine = Scripted("Here.")
    model, meter = Model(engine, store=ReplyStore(tmp_path / "r.sqlite")), Meter()

    for _ in range(2):
        asyncio.run(model.lm(meter).acall(request_of()))

    assert (len(engine.requests), meter.spent.reread) == (1, 1)


def test_replicates_have_replies_of_their_own(tmp_path: Path) -> None:
    """A repetition asks again, and is found again under its number."""
    engine = Scripted(["one", "two"])
    model = Model(engine, store=ReplyStore(tmp_path / "r.sqlite"))

    said = [model.lm(Meter(), replicate=n)(request_of()).text for n in (0, 1, 0, 1)]

    assert said == ["one", "two", "one", "two"]


def test_failures_are_never_recorded(tmp_path: Path) -> None:
    """An outage of today is not tomorrow's answer."""
    model = model_of(DOWN, "Here.", store=ReplyStore(tmp_path / "r.sqlite"), tries=1)
    with pytest.raises(LMServerError):
        ask(model)

    assert ask(model).text == "Here."


@pytest.mark.parametrize("answer", ["truncate", "refuse", "empty"])
def test_bad_answers_are_recorded(tmp_path: Path, answer: str) -> None:
    """Truncated, refused and empty replies are answers of the model."""
    engine = Scripted(Reply("Some words here.", fail=answer))
    model = Model(engine, store=ReplyStore(tmp_path / "r.sqlite"))

    first, second = ask(model), ask(model)

    assert first == second
    assert len(engine.requests) == 1


def test_a_script_is_an_engine() -> None:
    """The protocol can be checked at run time."""
    assert isinstance(Scripted("Here."), Engine)
