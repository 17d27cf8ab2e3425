"""What tokens cost: the table that LiteLLM maintains, read as a file and never from the network."""

import gzip
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from redraft.errors import ConfigError
from redraft.records import Usage

_LITELLM_FILE = "model_prices_and_context_window_backup.json"
_DSPY_FOLDER = Path("clients", "model_metadata")
_LONG = "_above_{}k_tokens"
# Prompt sizes, in thousands of tokens, from which some models cost more.
_LONG_THOUSANDS = (100, 200)
# Who the table says a model is bought from, by the first part of our own names.
_SELLERS: Mapping[str, tuple[str, ...]] = {
    "anthropic": ("anthropic",),
    "anthropic-bedrock": ("bedrock", "bedrock_converse"),
    "anthropic-vertex": ("vertex_ai-anthropic_models",),
}
_KEY_PREFIXES = {"anthropic-vertex": "vertex_ai/"}
_PER_MILLION = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """Dollars per token; 0 or more."""

    input: float
    output: float
    cache_read: float
    cache_write: float

    @property
    def highest_input(self) -> float:
        """The most that a token of the prompt can cost."""
        return max(self.input, self.cache_read, self.cache_write)

    def cost(self, usage: Usage) -> float:
        """Return the price of tokens in dollars; cached ones are part of the input tokens."""
        plain = usage.input_tokens - usage.cache_read_tokens - usage.cache_write_tokens
        return (
            plain * self.input
            + usage.cache_read_tokens * self.cache_read
            + usage.cache_write_tokens * self.cache_write
            + usage.output_tokens * self.output
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Prices:
    """The prices of one model.

    Attributes:
        rates: What a request costs.
        batch: What it costs in a batch; None where that is not known.
        long_tokens: Tokens of a prompt above which the long rates hold; None where there are none.
        long_rates: What a request with a longer prompt costs.
        long_batch: What it costs in a batch.
        source: Where the prices come from, with a version or a date.
    """

    rates: Rates
    batch: Rates | None = None
    long_tokens: int | None = None
    long_rates: Rates | None = None
    long_batch: Rates | None = None
    source: str

    def cost(self, usage: Usage, *, batch: bool = False) -> float | None:
        """Return the price of one reply in dollars; None for a batch of unknown price."""
        rates = self._rates(usage.input_tokens, batch=batch)
        return None if rates is None else rates.cost(usage)

    def most(self, *, input_tokens: float, output_tokens: float) -> float:
        """Return the most dollars that a request of at most so many tokens can cost."""
        return max(
            r.highest_input * input_tokens + r.output * output_tokens
            for r in self._options(input_tokens)
        )

    def likely(self, *, input_tokens: float, output_tokens: float) -> float:
        """Return the dollars of a request of about so many tokens, none of them cached."""
        rates = self._options(input_tokens)[-1]
        return rates.input * input_tokens + rates.output * output_tokens

    def in_batch(self) -> "Prices | None":
        """Return what the same costs in a batch; None where that is not known."""
        if self.batch is None or (self.long_rates is not None and self.long_batch is None):
            return None
        return replace(self, rates=self.batch, long_rates=self.long_batch)

    def _options(self, input_tokens: float) -> list[Rates]:
        """Return the rates that a prompt of at most so many tokens may have, the longest last."""
        if self.long_rates is None or input_tokens <= (self.long_tokens or 0):
            return [self.rates]
        return [self.rates, self.long_rates]

    def _rates(self, input_tokens: int, *, batch: bool) -> Rates | None:
        if self.long_tokens is None or input_tokens <= self.long_tokens:
            return self.batch if batch else self.rates
        return self.long_batch if batch else self.long_rates


def prices_of(name: str, overrides: Mapping[str, object] | None = None) -> Prices | None:
    """Return the prices of a model, or None where they are not known.

    Args:
        name: The model's name, `anthropic/...`, `anthropic-bedrock/...` or `anthropic-vertex/...`.
        overrides: The table `[tool.redraft.prices]`: by the model's name, dollars per million
            tokens as `input`, `output` and, if they differ, `cache_read` and `cache_write`.

    Raises:
        ConfigError: The overrides of this model are not such prices.
    """
    if overrides is not None and name in overrides:
        return _stated(name, overrides[name])
    provider, _, model = name.partition("/")
    for table, source in _tables():
        entry = table.get(_KEY_PREFIXES.get(provider, "") + model)
        if isinstance(entry, dict) and entry.get("litellm_provider") in _SELLERS.get(provider, ()):
            return _read(entry, source)
    return None


def _stated(name: str, values: object) -> Prices:
    where = f'[tool.redraft.prices."{name}"]'
    if not isinstance(values, Mapping) or not {"input", "output"} <= set(values):
        raise ConfigError(f"{where} needs input and output, in dollars per million tokens")
    for key, value in values.items():
        if key not in ("input", "output", "cache_read", "cache_write"):
            raise ConfigError(
                f"{where}: there is no price {key!r}; there are input, output, cache_read and "
                "cache_write"
            )
        if isinstance(value, bool) or not isinstance(value, int | float) or not value >= 0:
            raise ConfigError(f"{where}: {key} must be a number of 0 or more, got {value!r}")
    stated = {key: float(value) * _PER_MILLION for key, value in values.items()}
    cached = {"cache_read": stated["input"], "cache_write": stated["input"]}
    return Prices(rates=Rates(**{**cached, **stated}), source=where)


def _read(entry: Mapping[str, Any], source: str) -> Prices | None:
    plain = _rates_of(entry, "")
    if plain is None:
        return None
    thousands = next((n for n in _LONG_THOUSANDS if _rates_of(entry, _LONG.format(n))), None)
    long = "" if thousands is None else _LONG.format(thousands)
    return Prices(
        rates=plain,
        batch=_rates_of(entry, "_batches"),
        long_tokens=None if thousands is None else thousands * 1000,
        long_rates=_rates_of(entry, long) if long else None,
        long_batch=_rates_of(entry, f"{long}_batches") if long else None,
        source=source,
    )


def _rates_of(entry: Mapping[str, Any], suffix: str) -> Rates | None:
    given = {
        "input": entry.get(f"input_cost_per_token{suffix}"),
        "output": entry.get(f"output_cost_per_token{suffix}"),
        "cache_read": entry.get(f"cache_read_input_token_cost{suffix}"),
        "cache_write": entry.get(f"cache_creation_input_token_cost{suffix}"),
    }
    if given["input"] is None or given["output"] is None:
        return None
    # A table without a price for cached tokens prices them as any other.
    return Rates(**{k: float(given["input"] if v is None else v) for k, v in given.items()})


@cache
def _tables() -> tuple[tuple[Mapping[str, Any], str], ...]:
    """Return the tables that are installed, the likely newer one first, each with its source."""
    found = []
    for package in ("litellm", "dspy"):
        spec = find_spec(package)
        if spec is None or spec.origin is None:
            continue
        folder = Path(spec.origin).parent
        table = _litellm_table(folder) if package == "litellm" else _dspy_table(folder)
        if table is not None:
            found.append(table)
    return tuple(found)


def _litellm_table(folder: Path) -> tuple[Mapping[str, Any], str] | None:
    path = folder / _LITELLM_FILE
    try:
        source = f"the prices in LiteLLM {version('litellm')}"
        return json.loads(path.read_bytes()), source
    except (OSError, ValueError, PackageNotFoundError):
        return None


def _dspy_table(folder: Path) -> tuple[Mapping[str, Any], str] | None:
    try:
        content = gzip.decompress((folder / _DSPY_FOLDER / "snapshot.json.gz").read_bytes())
        origin = json.loads((folder / _DSPY_FOLDER / "provenance.json").read_bytes())
        return json.loads(content), f"the prices of LiteLLM {origin['version']} in DSPy"
    except (OSError, ValueError, KeyError):
        return None
