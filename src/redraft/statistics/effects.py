"""Paired differences with intervals and p; rows of one group are kept together."""

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from redraft.errors import ComparisonError

# Below this many rows, or groups, that differ, a sign-flip cannot reach 2.5 % on one side.
FEWEST_FOR_A_CLAIM = 6
FLIPS = 20_000

_ENUMERATED_GROUPS = 14
_ZERO = 1e-9

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Effect:
    """A mean difference over rows, with what can be claimed about it.

    Attributes:
        estimate: Mean difference; above 0 means that the second of the two is better.
        low: Lower end of the two-sided 95 % interval; None where no claim is made.
        high: Upper end; None where no claim is made.
        p: Chance of a difference this large either way if the two were exchangeable.
        p_greater: Chance of a gain this large if the two were exchangeable.
        p_less: Chance of a loss this large if the two were exchangeable.
        n: Rows.
        groups: Groups of rows, the unit that is resampled.
        differing: Groups in which at least one row differs.
    """

    estimate: float
    low: float | None
    high: float | None
    p: float | None
    p_greater: float | None
    p_less: float | None
    n: int
    groups: int
    differing: int

    @property
    def covers_zero(self) -> bool:
        """Whether no difference at all remains possible; true where no claim is made."""
        return self.low is None or self.high is None or self.low <= 0 <= self.high


def paired_gain(
    before: Sequence[float],
    after: Sequence[float],
    *,
    groups: Sequence[Hashable] | None = None,
    seed: int = 0,
) -> Effect:
    """Return the mean gain of `after` over `before`, row by row.

    Args:
        before: Rubric scores in [0, 1], one per row.
        after: Scores of the same rows, in the same order.
        groups: Group of each row; each row is its own group where it is left out.
        seed: Of the sign flips; the same seed gives the same numbers.

    Raises:
        ComparisonError: The two runs do not cover the same rows, or no rows.
    """
    if not before or len(before) != len(after):
        raise ComparisonError(
            f"cannot pair {len(before)} scores with {len(after)}; "
            "evaluate both artifacts on the same split first"
        )
    differences = [b - a for a, b in zip(before, after, strict=True)]
    return mean_difference(differences, groups=groups, seed=seed)


def mean_difference(
    differences: Sequence[float],
    *,
    groups: Sequence[Hashable] | None = None,
    bound: float = 1.0,
    seed: int = 0,
    flips: int = FLIPS,
) -> Effect:
    """Return the mean of per-row differences with its interval and p.

    The interval inverts the sign-flip test (its ends are quantiles of the means of random subsets
    of groups) after adding two hypothetical rows: the largest gain and the largest loss that the
    scale allows, which a short sample with many ties may have missed. It was chosen by coverage
    over worlds of 24 to 200 rows, up to 90 % ties, rare large losses and groups: its claims hold
    the truth in 0.968 of cases on average and in 0.890 at worst, those of a BCa bootstrap in 0.902
    and 0.532 (`python benchmarks/coverage.py --datasets 300`; see `docs/design/intervals.md`).

    The p values are sign-flip tests over whole groups without those two rows: exact for up to 14
    groups that differ, else over random flips. They test that the two are exchangeable, so a
    small p with an interval around 0 means: they differ, and the mean may still be 0.

    Args:
        differences: One per row.
        groups: Group of each row; each row is its own group where it is left out.
        bound: The largest difference that a row can have, either way; above 0.
        seed: Of the random flips.
        flips: Number of random flips.

    Raises:
        ComparisonError: There are no rows, or a difference is no finite number.
    """
    values, codes = by_row(differences, groups)
    sums, sizes = by_group(values, codes)
    estimate = float(values.mean())
    differing = _differing(values, codes)
    counts = (len(values), len(sums), differing)
    if min(differing, int(np.count_nonzero(values))) < FEWEST_FOR_A_CLAIM:
        return Effect(estimate, None, None, None, None, None, *counts)
    low, high = _interval(sums, sizes, extremes=(-bound, bound), seed=seed, flips=flips)
    p, greater, less = _sign_flip(sums, seed=seed, flips=flips)
    return Effect(estimate, min(low, estimate), max(high, estimate), p, greater, less, *counts)


def mean_interval(
    values: Sequence[float], *, groups: Sequence[Hashable] | None = None, seed: int = 0
) -> tuple[float, float | None, float | None]:
    """Return the mean of scores in [0, 1] and its 95 % interval.

    The method is that of `mean_difference`; the two hypothetical rows score 0 and 1.

    Returns:
        Mean, low, high; the ends are None below six rows or groups.

    Raises:
        ComparisonError: There are no rows, or a value is no finite number.
    """
    numbers, codes = by_row(values, groups)
    sums, sizes = by_group(numbers, codes)
    mean = float(numbers.mean())
    if len(sums) < FEWEST_FOR_A_CLAIM:
        return mean, None, None
    low, high = _interval(sums, sizes, extremes=(0.0, 1.0), seed=seed, flips=FLIPS)
    return mean, min(low, mean), max(high, mean)


def by_row(
    values: Sequence[float], groups: Sequence[Hashable] | None
) -> tuple[Floats, NDArray[np.intp]]:
    """Check the values and number their groups in order of first appearance."""
    # Rounded, so that 0.3 - 0.1 and 0.2 are one difference and ties stay ties.
    numbers = np.array([round(float(value), 12) for value in values], dtype=np.float64)
    if numbers.size == 0:
        raise ComparisonError("there are no rows to compare; choose another split or more rows")
    if not np.isfinite(numbers).all():
        raise ComparisonError("a score is no finite number; leave out rows that were not measured")
    if groups is None:
        return numbers, np.arange(numbers.size)
    if len(groups) != numbers.size:
        raise ComparisonError(f"{numbers.size} rows have {len(groups)} groups; give one a row")
    seen: dict[Hashable, int] = {}
    return numbers, np.array([seen.setdefault(group, len(seen)) for group in groups])


def by_group(values: Floats, codes: NDArray[np.intp]) -> tuple[Floats, Floats]:
    """Return sum and number of rows of each group."""
    sizes = np.bincount(codes).astype(np.float64)
    sums = np.zeros(len(sizes))
    np.add.at(sums, codes, values)
    return sums.round(12), sizes


def _differing(values: Floats, codes: NDArray[np.intp]) -> int:
    return len(np.unique(codes[values != 0]))


def _random_subsets(units: int, *, seed: int, flips: int) -> Floats:
    """Return `flips` random subsets of the units, one a line, as 0 and 1."""
    random = np.random.default_rng(seed)
    packed = random.integers(0, 256, size=(flips, -(-units // 8)), dtype=np.uint8)
    return np.unpackbits(packed, axis=1, count=units).astype(np.float64)


def _interval(
    sums: Floats, sizes: Floats, *, extremes: tuple[float, float], seed: int, flips: int
) -> tuple[float, float]:
    """Return quantiles of the means of random subsets, two extreme rows added."""
    subsets = _random_subsets(len(sums) + 2, seed=seed, flips=flips)
    rows = subsets @ np.append(sizes, (1.0, 1.0))
    totals = subsets @ np.append(sums, extremes)
    means = np.sort(totals[rows > 0] / rows[rows > 0])
    cut = max(0, math.floor(0.025 * (len(means) + 1)) - 1)
    return float(means[cut]), float(means[-1 - cut])


def _sign_flip(sums: Floats, *, seed: int, flips: int) -> tuple[float, float, float]:
    """Return two-sided p, p of a gain, p of a loss.

    Flipping the groups of a subset S changes the total by -2 sum(S), so the flipped total is at
    least the observed one exactly when sum(S) <= 0, and at most the observed one when >= 0.
    """
    moving = sums[sums != 0]
    exact = len(moving) <= _ENUMERATED_GROUPS
    if exact:
        flipped = np.zeros(1)
        for value in moving:
            flipped = np.concatenate([flipped, flipped + value])
    else:
        flipped = _random_subsets(len(moving), seed=seed, flips=flips) @ moving
    total = moving.sum()
    extreme = (
        np.abs(total - 2 * flipped) >= abs(total) - _ZERO,
        flipped <= _ZERO,
        flipped >= -_ZERO,
    )
    # The observed signs are among the enumerated ones; random flips get them added.
    added = 0 if exact else 1
    both, greater, less = ((int(e.sum()) + added) / (len(flipped) + added) for e in extreme)
    return both, greater, less
