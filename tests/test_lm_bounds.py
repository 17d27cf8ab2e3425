"""How many tokens a call can have, and caps on tokens that no call passes."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from dspy.lm15 import Config, Message, Request
from lm_requests import ask, request_of

from redraft.budget import Caps, Meter, Stop
from redraft.lm import Model, Reply, Retry, Scripted
from redraft.lm.bounds import estimated_tokens, text_bound


class Uncounted(Scripted):
    """A model that cannot count."""

    def count_tokens(self, text: str) -> int | None:
        return None


def test_texts_are_counted_where_the_model_can() -> None:
    """System text, turns and schema, and some for what stands around them."""
    request = Request(
        model="scripted/test",
        system="one two",
        messages=(Message.user("three four five"),),
        config=Config(max_tokens=9),
    )

    bound = text_bound(Scripted("Yes."), request)

    assert (bound.input_tokens, bound.output_tokens) == (96 + 16 + 5, 9)
    assert bound.tokens == bound.input_tokens + 9


def test_a_token_has_at_least_a_byte() -> None:
    """So bytes bound what nobody here can count."""
    bound = text_bound(Uncounted("Yes."), request_of("é" * 10, max_tokens=1))

    assert bound.input_tokens == 96 + 16 + 20


@pytest.mark.parametrize(("context", "most"), [(400, 400), (None, 128_000)])
def test_a_reply_without_a_limit_is_bounded_by_the_context(context: int | None, most: int) -> None:
    """Or by the longest of any model."""
    assert text_bound(Scripted("Yes.", context_tokens=context), request_of()).output_tokens == most


def test_estimates_say_that_they_are_none_of_the_providers() -> None:
    """Counted texts where the model counts, four bytes a token where it does not."""
    counted = estimated_tokens(Scripted("Yes."), request_of("one two three"))
    guessed = Model(Uncounted("Yes.")).count_request(request_of("x" * 400))

    assert (counted.tokens, counted.is_exact) == (8 + 3, False)
    assert (guessed.tokens, guessed.is_exact) == (8 + 100, False)


@pytest.mark.parametrize("engine", [Scripted, Uncounted])
def test_a_cap_on_tokens_is_never_passed(engine: type[Scripted]) -> None:
    """Under threads, with tries that fail and replies of all lengths."""
    script = {n: Reply("word " * (n % 30 + 1)) for n in range(60)}

    def say(request: Request) -> Reply:
        number = int(str(request.messages[-1].text).split()[1])
        if number % 5 == 0 and number not in failed:
            failed.add(number)
            return Reply(fail="outage")
        return script[number]

    failed: set[int] = set()
    model = Model(engine(say), retry=Retry(base_seconds=0))
    meter = Meter(Caps(max_tokens=2_000))

    def call(number: int) -> None:
        try:
            ask(model, f"row {number} of the table", meter, max_tokens=40)
        except Stop:
            return

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(call, range(60)))

    spent = meter.spent
    assert 0 < spent.input_tokens + spent.output_tokens <= 2_000
    assert (meter.tokens_left or 0) >= 0


def test_real_tokens_replace_the_bound() -> None:
    """A cap lasts for as many calls as their real tokens allow."""
    meter = Meter(Caps(max_tokens=400))
    model = Model(Scripted("Yes."))

    for _ in range(20):
        ask(model, meter=meter, max_tokens=40)

    assert meter.tokens_left == 400 - 20 * 4


def test_a_free_model_needs_no_price() -> None:
    """A cap in dollars holds over models that cost nothing."""
    meter = Meter(Caps(max_cost_usd=0.01))

    ask(Model(Scripted("Yes.")), meter=meter)

    assert meter.cost_usd_left == 0.01
