"""A small seeded part of `benchmarks/coverage.py`: what the intervals and the gate promise."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

BENCHMARK = Path(__file__).parents[1] / "benchmarks" / "coverage.py"


@pytest.fixture(scope="module")
def benchmark() -> ModuleType:
    spec = importlib.util.spec_from_file_location("coverage_benchmark", BENCHMARK)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Dataclasses look their module up by name.
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("rows", "group_size", "ties", "shape"),
    [
        (24, 1, 0.5, "steps"),
        (48, 1, 0.75, "losses"),
        (48, 4, 0.5, "passes"),
        (100, 1, 0.9, "passes"),
        (100, 4, 0.9, "steps"),
        (200, 1, 0.9, "losses"),
    ],
)
def test_claims_hold_the_truth(
    benchmark: ModuleType, rows: int, group_size: int, ties: float, shape: str
) -> None:
    """At most a few in twenty claims miss, with ties, groups and rare large losses."""
    world = benchmark.World(rows=rows, group_size=group_size, ties=ties, shape=shape)

    seen = benchmark.coverage(world, datasets=120, seed=0)

    assert seen.covered is not None
    # Three standard errors below 0.95 over the data sets that allow a claim.
    assert seen.covered >= 0.95 - 3 * (0.95 * 0.05 / (120 * seen.claims)) ** 0.5


def test_few_rows_with_many_ties_make_few_claims(benchmark: ModuleType) -> None:
    """Where hardly anything differs, hardly anything is claimed."""
    world = benchmark.World(rows=24, ties=0.9, shape="passes")

    assert benchmark.coverage(world, datasets=60, seed=0).claims < 0.1


@pytest.mark.parametrize("group_size", [1, 4])
def test_ten_tries_with_nothing_to_win_rarely_promote(
    benchmark: ModuleType, group_size: int
) -> None:
    """The levels of all looks together keep wrong promotions below one in ten."""
    world = benchmark.World(rows=60, group_size=group_size, ties=0.5, shape="even")

    seen = benchmark.gate_errors(world, datasets=200, seed=0)

    assert seen.promoted < 0.1
    assert seen.confirmed <= 0.04 + 3 * (0.04 * 0.96 / 200) ** 0.5


def test_detectable_gain_is_shown(benchmark: ModuleType) -> None:
    """A gain of the size that is called detectable is shown in about four of five data sets."""
    world = benchmark.World(rows=100, ties=0.5, shape="steps")

    measured = benchmark.power(world, datasets=150, seed=0)

    assert measured is not None
    assert 0.7 < measured[1] < 0.97


def test_no_power_without_room(benchmark: ModuleType) -> None:
    """Where rows could not differ enough for a gain to show, none is simulated."""
    assert benchmark.power(benchmark.World(rows=24, ties=0.9), datasets=10, seed=0) is None
