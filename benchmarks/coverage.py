"""Measure what our intervals and our gate promise, in simulated worlds with a known truth.

    python benchmarks/coverage.py --datasets 400

prints three tables: how often a 95 % interval that makes a claim holds the truth (beside BCa, the
usual bootstrap interval), how often the gate promotes where there is nothing to win, and how often
a gain of the size that we call detectable is shown.
"""

import argparse
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from redraft.statistics import (
    detectable_with,
    gate_verdict,
    look_level,
    mean_difference,
)

Shape = Literal["passes", "even", "steps", "losses"]
Floats = NDArray[np.float64]

# Fewer flips than `compare` uses: the ends move by little, the run is ten times as quick.
FLIPS = 2_000
TRIES = 10
STEP_MEAN = 0.625
STEP_SQUARE = 0.46875


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """Where per-row differences come from.

    Attributes:
        rows: Rows in a data set.
        group_size: 1, or 4 for groups of one to four rows, half of which share one difference.
        ties: Share of rows that do not differ, in [0, 1).
        shape: `passes`: gains and losses of 1, 7 to 3. `even`: of 1, equally often, so nothing is
            won. `steps`: quarters up to 1. `losses`: nine small gains to one loss that undoes
            them, so nothing is won.
        gains: Share of gains among the rows of `steps` that differ.
    """

    rows: int
    group_size: int = 1
    ties: float = 0.0
    shape: Shape = "steps"
    gains: float = 0.7

    @property
    def truth(self) -> float:
        """The mean difference that an endless data set would show."""
        mean = {
            "passes": 0.4,
            "even": 0.0,
            "steps": STEP_MEAN * (2 * self.gains - 1),
            "losses": 0.0,
        }[self.shape]
        return mean * (1 - self.ties)

    def groups(self) -> NDArray[np.intp]:
        """Return the group of each row."""
        sizes = itertools.cycle((1,) if self.group_size == 1 else (1, 2, 3, 4))
        numbered = ((i, size) for i, size in enumerate(sizes))
        codes = itertools.chain.from_iterable([i] * size for i, size in numbered)
        return np.fromiter(itertools.islice(codes, self.rows), dtype=np.intp)

    def draw(self, random: np.random.Generator) -> Floats:
        """Return the differences of one data set."""
        groups = self.groups()
        own = self._differences(random, self.rows)
        if self.group_size == 1:
            return own
        count = int(groups[-1]) + 1
        shared = self._differences(random, count)[groups]
        return np.where((random.random(count) < 0.5)[groups], shared, own)

    def _differences(self, random: np.random.Generator, count: int) -> Floats:
        chance = random.random(count)
        if self.shape == "losses":
            sizes = np.where(chance < 0.9, 0.1, -0.9)
        elif self.shape == "steps":
            steps = random.integers(1, 5, count) / 4
            sizes = np.where(chance < self.gains, steps, -steps)
        else:
            sizes = np.where(chance < (0.7 if self.shape == "passes" else 0.5), 1.0, -1.0)
        return np.where(random.random(count) < self.ties, 0.0, sizes)


@dataclass(frozen=True, slots=True)
class Coverage:
    """How an interval did in one world.

    Attributes:
        claims: Share of data sets for which a claim was made.
        wrong: Share of all data sets for which a claim was made that misses the truth.
        covered: Share of claims that hold the truth; None where none was made.
        bca: The same share for BCa intervals on the same data sets.
        width: Mean width of the claims divided by that of BCa; None where none was made.
    """

    claims: float
    wrong: float
    covered: float | None
    bca: float | None
    width: float | None


def bca_interval(values: Floats, groups: NDArray[np.intp], seed: int) -> tuple[float, float]:
    """Return the 95 % bias-corrected and accelerated bootstrap interval of the mean."""
    sums, sizes = np.bincount(groups, weights=values), np.bincount(groups)
    units = len(sums)
    drawn = np.random.default_rng(seed).multinomial(units, np.full(units, 1 / units), size=FLIPS)
    means = np.sort((drawn @ sums) / (drawn @ sizes))
    estimate = values.mean()
    below = (np.mean(means < estimate) + np.mean(means <= estimate)) / 2
    normal = NormalDist()
    bias = normal.inv_cdf(float(np.clip(below, 0.001, 0.999)))
    left_out = (values.sum() - sums) / (len(values) - sizes)
    gaps = left_out.mean() - left_out
    spread = float(np.sum(gaps**2)) ** 1.5
    skew = float(np.sum(gaps**3)) / (6 * spread) if spread else 0.0
    reach = [bias + normal.inv_cdf(q) for q in (0.025, 0.975)]
    places = [normal.cdf(bias + r / (1 - skew * r)) for r in reach]
    low, high = (means[min(FLIPS - 1, int(place * FLIPS))] for place in places)
    return float(low), float(high)


def coverage(world: World, *, datasets: int, seed: int) -> Coverage:
    """Return how often our interval, and BCa, hold the truth of a world."""
    random = np.random.default_rng([seed, world.rows, round(world.ties * 100), world.group_size])
    groups = world.groups()
    ours, theirs, widths = [], [], []
    for number in range(datasets):
        values = world.draw(random)
        effect = mean_difference(values.tolist(), groups=groups.tolist(), seed=number, flips=FLIPS)
        if effect.low is None or effect.high is None:
            continue
        low, high = bca_interval(values, groups, seed=number)
        ours.append(effect.low - 1e-9 <= world.truth <= effect.high + 1e-9)
        theirs.append(low - 1e-9 <= world.truth <= high + 1e-9)
        widths.append((effect.high - effect.low, high - low))
    claims = len(ours) / datasets
    if not ours:
        return Coverage(claims, 0.0, None, None, None)
    mean_widths = np.mean(widths, axis=0)
    return Coverage(
        claims,
        (len(ours) - sum(ours)) / datasets,
        float(np.mean(ours)),
        float(np.mean(theirs)),
        float(mean_widths[0] / mean_widths[1]),
    )


@dataclass(frozen=True, slots=True)
class GateErrors:
    """What the gate does where there is nothing to win.

    Attributes:
        val_passes: Share of candidates whose lower bound on `val` is above 0.
        confirmed: Share of first looks that end `confirmed`.
        promoted: Share of runs of ten tries, `val` first and the gate after it, that promote.
        promoted_unscreened: The same if every try looked at the gate.
    """

    val_passes: float
    confirmed: float
    promoted: float
    promoted_unscreened: float


def gate_errors(world: World, *, datasets: int, seed: int) -> GateErrors:
    """Return how often the gate is wrong in a world without a gain."""
    random = np.random.default_rng([seed, 1])
    groups = world.groups().tolist()
    effects = [
        mean_difference(world.draw(random).tolist(), groups=groups, seed=number, flips=FLIPS)
        for number in range(datasets)
    ]
    passes = np.array([effect.low is not None and effect.low > 0 for effect in effects])
    confirmed = np.array(
        [
            [gate_verdict(effect, look_level(look)) == "confirmed" for effect in effects]
            for look in range(1, TRIES + 1)
        ]
    )
    runs = [
        _ten_tries(passes, confirmed, random.integers(0, datasets, (2, TRIES)))
        for _ in range(4_000)
    ]
    screened, unscreened = np.mean(runs, axis=0)
    return GateErrors(
        float(passes.mean()), float(confirmed[0].mean()), float(screened), float(unscreened)
    )


def _ten_tries(
    passes: NDArray[np.bool_], confirmed: NDArray[np.bool_], picks: NDArray[np.int64]
) -> tuple[bool, bool]:
    """Return whether ten tries promote: with the screen on `val`, and without it."""
    looking = passes[picks[0]]
    looks = np.cumsum(looking) - 1
    screened = bool(np.any(looking & confirmed[np.maximum(looks, 0), picks[1]]))
    return screened, bool(np.any(confirmed[np.arange(TRIES), picks[1]]))


def power(world: World, *, datasets: int, seed: int) -> tuple[float, float] | None:
    """Return the detectable gain of a world, and how often it is shown; None where none fits."""
    groups = world.groups()
    spread = float(np.sqrt(STEP_SQUARE * (1 - world.ties)))
    # Groups of one to four of which half differ alike spread as rows / 2 single rows would.
    alike = world.rows if world.group_size == 1 else world.rows // 2
    gain = detectable_with(spread, rows=world.rows, groups=alike)
    if gain is None or gain > STEP_MEAN * (1 - world.ties):
        return None
    gains = (1 + gain / (STEP_MEAN * (1 - world.ties))) / 2
    better = World(
        rows=world.rows, group_size=world.group_size, ties=world.ties, shape="steps", gains=gains
    )
    random = np.random.default_rng([seed, 2])
    shown = 0
    for number in range(datasets):
        effect = mean_difference(
            better.draw(random).tolist(), groups=groups.tolist(), seed=number, flips=FLIPS
        )
        above = effect.low is not None and effect.low > 0
        shown += above and gate_verdict(effect, look_level(1)) == "confirmed"
    return gain, shown / datasets


def worlds(rows: Sequence[int], ties: Sequence[float], shapes: Sequence[Shape]) -> Iterator[World]:
    """Yield every combination, with and without groups."""
    for count, group_size, shape, share in itertools.product(rows, (1, 4), shapes, ties):
        yield World(rows=count, group_size=group_size, ties=share, shape=shape)


def _cell(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _line(*cells: object) -> str:
    return "| " + " | ".join(str(cell) for cell in cells) + " |"


def _heading(*names: str) -> str:
    return _line(*names) + "\n" + _line(*("---" for _ in names))


def _place(world: World) -> tuple[str, ...]:
    groups = "1" if world.group_size == 1 else "1-4"
    return str(world.rows), groups, world.shape, f"{world.ties:.2f}"


def print_coverage(rows: Sequence[int], *, datasets: int, seed: int) -> None:
    """Print one line a world, then the worst of all."""
    print("\nIntervals: share of claims that hold the truth (95 % promised)\n")
    print(_heading("rows", "group", "shape", "ties", "claims", "wrong", "ours", "BCa", "width/BCa"))
    ours, theirs = [], []
    for world in worlds(rows, (0.0, 0.5, 0.75, 0.9), ("passes", "even", "steps", "losses")):
        seen = coverage(world, datasets=datasets, seed=seed)
        cells = (seen.claims, seen.wrong, seen.covered, seen.bca, seen.width)
        print(_line(*_place(world), *(_cell(c) for c in cells)), flush=True)
        # A share of a few claims is noise.
        if seen.covered is not None and seen.bca is not None and seen.claims >= 0.5:
            ours.append(seen.covered)
            theirs.append(seen.bca)
    print(f"\nWhere at least half of the data sets allow a claim ({len(ours)} worlds):")
    print(f"ours: mean {np.mean(ours):.3f}, worst {min(ours):.3f}")
    print(f"BCa:  mean {np.mean(theirs):.3f}, worst {min(theirs):.3f}")


def print_gate(rows: Sequence[int], *, datasets: int, seed: int) -> None:
    """Print how often the gate promotes where there is nothing to win."""
    print("\nGate: share of wrong outcomes where there is nothing to win\n")
    names = ("rows", "group", "shape", "ties", "val passes", "confirmed", "10 tries", "no screen")
    print(_heading(*names))
    for world in worlds(rows, (0.0, 0.5, 0.9), ("even", "losses")):
        seen = gate_errors(world, datasets=datasets, seed=seed)
        cells = (seen.val_passes, seen.confirmed, seen.promoted, seen.promoted_unscreened)
        print(_line(*_place(world), *(_cell(c) for c in cells)), flush=True)


def print_power(rows: Sequence[int], *, datasets: int, seed: int) -> None:
    """Print how often a gain of the detectable size is shown."""
    print("\nPower: share of data sets that show the smallest detectable gain (0.8 promised)\n")
    print(_heading("rows", "group", "shape", "ties", "gain", "shown"))
    for world in worlds(rows, (0.0, 0.5, 0.75), ("steps",)):
        seen = power(world, datasets=datasets, seed=seed)
        if seen is not None:
            print(_line(*_place(world), *(_cell(c) for c in seen)), flush=True)


def main() -> None:
    """Parse the command line and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--datasets", type=int, default=400, help="data sets a world (400)")
    parser.add_argument("--rows", type=int, nargs="+", default=[24, 48, 100, 200])
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    print_coverage(given.rows, datasets=given.datasets, seed=given.seed)
    print_gate(given.rows, datasets=given.datasets, seed=given.seed)
    print_power(given.rows, datasets=given.datasets, seed=given.seed)


if __name__ == "__main__":
    main()
