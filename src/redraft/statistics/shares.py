"""Shares of rows: intervals, bounds and exact tests of counts, and correction for many tests."""

import math
from collections.abc import Sequence
from statistics import NormalDist

from redraft.errors import ComparisonError


def wilson(successes: int, n: int) -> tuple[float, float]:
    """Return the 95 % Wilson interval of a share.

    Raises:
        ComparisonError: There are no rows.
    """
    share, z = _share(successes, n), NormalDist().inv_cdf(0.975)
    centre = share + z * z / (2 * n)
    half = z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    scale = 1 + z * z / n
    return max(0.0, (centre - half) / scale), min(1.0, (centre + half) / scale)


def upper_bound(successes: int, n: int) -> float:
    """Return the one-sided 95 % Clopper-Pearson upper bound of a share.

    Raises:
        ComparisonError: There are no rows.
    """
    low, high = _share(successes, n), 1.0
    if successes == n:
        return 1.0
    for _ in range(50):
        middle = (low + high) / 2
        if _binomial_at_most(successes, n, middle) > 0.05:
            low = middle
        else:
            high = middle
    return high


def mcnemar_exact(before: Sequence[bool], after: Sequence[bool]) -> float:
    """Return the two-sided exact McNemar p of paired passes; rows count as independent.

    Raises:
        ComparisonError: The two runs do not cover the same rows, or no rows.
    """
    if not before or len(before) != len(after):
        raise ComparisonError(f"cannot pair {len(before)} rows with {len(after)}")
    gained = sum(b and not a for a, b in zip(before, after, strict=True))
    lost = sum(a and not b for a, b in zip(before, after, strict=True))
    return min(1.0, 2 * _binomial_at_most(min(gained, lost), gained + lost, 0.5))


def holm(ps: Sequence[float | None]) -> tuple[float | None, ...]:
    """Return p values adjusted for testing all of them (Holm); None stays None and is no test."""
    tested = sorted((p, i) for i, p in enumerate(ps) if p is not None)
    adjusted: list[float | None] = [None] * len(ps)
    highest = 0.0
    for rank, (p, i) in enumerate(tested):
        highest = max(highest, min(1.0, p * (len(tested) - rank)))
        adjusted[i] = highest
    return tuple(adjusted)


def _share(successes: int, n: int) -> float:
    if n < 1 or not 0 <= successes <= n:
        raise ComparisonError(f"{successes} of {n} rows is no share; measure at least one row")
    return successes / n


def _binomial_at_most(most: int, n: int, share: float) -> float:
    """Return the chance of at most `most` successes in n tries; by logarithms, for large n.

    The share must lie between 0 and 1, neither included.
    """
    yes, no = math.log(share), math.log1p(-share)
    ways = math.lgamma(n + 1)
    return math.fsum(
        math.exp(ways - math.lgamma(k + 1) - math.lgamma(n - k + 1) + k * yes + (n - k) * no)
        for k in range(most + 1)
    )
