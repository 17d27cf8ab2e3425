"""Shares of rows: intervals, bounds and exact tests of counts, and correction for many tests."""

from collections.abc import Sequence

from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import proportion_confint

from redraft.errors import ComparisonError


def wilson(successes: int, n: int) -> tuple[float, float]:
    """Return the 95 % Wilson interval of a share.

    Raises:
        ComparisonError: There are no rows.
    """
    _require_share(successes, n)
    low, high = proportion_confint(successes, n, method="wilson")
    return max(0.0, float(low)), min(1.0, float(high))


def upper_bound(successes: int, n: int) -> float:
    """Return the one-sided 95 % Clopper-Pearson upper bound of a share.

    Raises:
        ComparisonError: There are no rows.
    """
    _require_share(successes, n)
    # The upper end of the two-sided 90 % interval.
    return float(proportion_confint(successes, n, alpha=0.1, method="beta")[1])


def mcnemar_exact(before: Sequence[bool], after: Sequence[bool]) -> float:
    """Return the two-sided exact McNemar p of paired passes; rows count as independent.

    Raises:
        ComparisonError: The two runs do not cover the same rows, or no rows.
    """
    if not before or len(before) != len(after):
        raise ComparisonError(f"cannot pair {len(before)} rows with {len(after)}")
    gained = sum(b and not a for a, b in zip(before, after, strict=True))
    lost = sum(a and not b for a, b in zip(before, after, strict=True))
    return float(mcnemar([[0, lost], [gained, 0]], exact=True).pvalue)


def holm(ps: Sequence[float | None]) -> tuple[float | None, ...]:
    """Return p values adjusted for testing all of them (Holm); None stays None and is no test."""
    tested = [p for p in ps if p is not None]
    adjusted = iter(multipletests(tested, method="holm")[1].tolist() if tested else ())
    return tuple(None if p is None else next(adjusted) for p in ps)


def _require_share(successes: int, n: int) -> None:
    if n < 1 or not 0 <= successes <= n:
        raise ComparisonError(f"{successes} of {n} rows is no share; measure at least one row")
