"""Prices: read from a file, stated by a user, or unknown."""

import pytest

from redraft.errors import ConfigError
from redraft.lm.prices import Prices, Rates, prices_of
from redraft.records import Usage

HAIKU = "anthropic/claude-haiku-4-5"
RATES = Rates(input=1.0, output=5.0, cache_read=0.1, cache_write=1.25)
LONG = Rates(input=2.0, output=10.0, cache_read=0.2, cache_write=2.5)


def test_prices_come_with_their_source() -> None:
    """A version dates them."""
    prices = prices_of(HAIKU)

    assert prices is not None
    assert prices.source.startswith("the prices in LiteLLM ")
    assert prices.rates == Rates(input=1e-6, output=5e-6, cache_read=1e-7, cache_write=1.25e-6)
    assert prices.batch is not None
    assert prices.batch.input == prices.rates.input / 2


@pytest.mark.parametrize(
    "name",
    [
        "anthropic-bedrock/anthropic.claude-haiku-4-5-20251001-v1:0",
        "anthropic-vertex/claude-haiku-4-5@20251001",
    ],
)
def test_a_cloud_has_prices_of_its_own(name: str) -> None:
    """They are looked up under the cloud's own name of the model."""
    assert prices_of(name) is not None


@pytest.mark.parametrize(
    "name",
    ["anthropic/claude-novel-9", "anthropic/gpt-4o", "anthropic-vertex/claude-novel-9", "x/y"],
)
def test_an_unknown_price_is_unknown(name: str) -> None:
    """Another seller's price is none."""
    assert prices_of(name) is None


def test_prices_can_be_stated() -> None:
    """In dollars per million tokens; cached tokens cost as much as others if not stated."""
    prices = prices_of("anthropic/mine", {"anthropic/mine": {"input": 2, "output": 8.5}})

    assert prices is not None
    assert prices.rates == Rates(input=2e-6, output=8.5e-6, cache_read=2e-6, cache_write=2e-6)
    assert "tool.redraft.prices" in prices.source


@pytest.mark.parametrize(
    ("stated", "words"),
    [
        ({"input": 1}, "needs input and output"),
        (3, "needs input and output"),
        ({"input": 1, "output": 2, "reading": 3}, "no price 'reading'"),
        ({"input": -1, "output": 2}, "0 or more"),
        ({"input": 1, "output": True}, "0 or more"),
        ({"input": float("nan"), "output": 1}, "0 or more"),
    ],
)
def test_wrong_prices_are_refused(stated: object, words: str) -> None:
    """At load, with the table's place."""
    with pytest.raises(ConfigError, match=words):
        prices_of(HAIKU, {HAIKU: stated})


def test_cached_tokens_are_priced_as_such() -> None:
    """They are part of the input tokens and are not paid twice."""
    usage = Usage(input_tokens=100, output_tokens=10, cache_read_tokens=60, cache_write_tokens=30)

    assert RATES.cost(usage) == pytest.approx(10 * 1.0 + 60 * 0.1 + 30 * 1.25 + 10 * 5.0)


@pytest.mark.parametrize(("tokens", "cost"), [(100, 100.0), (101, 202.0)])
def test_long_prompts_cost_more(tokens: int, cost: float) -> None:
    """Where the table says so, from the first token."""
    prices = Prices(rates=RATES, long_tokens=100, long_rates=LONG, source="a test")

    assert prices.cost(Usage(input_tokens=tokens)) == pytest.approx(cost)


def test_the_highest_price_is_never_below_the_real_one() -> None:
    """Whatever of the prompt is cached, and on either side of a long prompt's limit."""
    prices = Prices(rates=RATES, long_tokens=100, long_rates=LONG, source="a test")
    for tokens in (1, 99, 100, 101, 5000):
        most = prices.most(input_tokens=tokens, output_tokens=7)
        for written in (0, tokens):
            usage = Usage(input_tokens=tokens, output_tokens=7, cache_write_tokens=written)
            assert (prices.cost(usage) or 0) <= most


def test_batches_have_prices_of_their_own() -> None:
    """Unknown where the table has none."""
    batched = Prices(rates=RATES, batch=LONG, source="a test")

    assert batched.cost(Usage(input_tokens=1), batch=True) == 2.0
    assert Prices(rates=RATES, source="a test").cost(Usage(), batch=True) is None


def test_a_model_with_long_prices_is_read_with_them() -> None:
    """The newest small model doubles and more above 100,000 tokens."""
    prices = prices_of("anthropic/claude-haiku-5-5")

    assert prices is not None
    assert prices.long_tokens == 100_000
    assert prices.long_rates is not None
    assert prices.long_rates.input > prices.rates.input
    assert prices.long_batch is not None


@pytest.mark.parametrize(("tokens", "cost"), [(100, 105.0), (101, 212.0)])
def test_a_likely_price_leaves_the_cache_out(tokens: int, cost: float) -> None:
    """By the rates of a prompt of that length."""
    prices = Prices(rates=RATES, long_tokens=100, long_rates=LONG, source="a test")

    assert prices.likely(input_tokens=tokens, output_tokens=1) == cost


def test_prices_of_a_batch_are_known_whole_or_not_at_all() -> None:
    """Long prompts included, where they cost more."""
    plain = Prices(rates=RATES, source="a test")
    whole = Prices(
        rates=LONG,
        batch=RATES,
        long_tokens=100,
        long_rates=LONG,
        long_batch=RATES,
        source="a test",
    )
    batch = whole.in_batch()

    assert plain.in_batch() is None
    assert Prices(rates=LONG, batch=RATES, long_rates=LONG, source="a test").in_batch() is None
    assert batch is not None
    assert (batch.rates, batch.long_rates) == (RATES, RATES)
