"""Intervals and exact tests of counts."""

import math

import pytest
from scipy import stats

from redraft.errors import ComparisonError
from redraft.statistics import holm, mcnemar_exact, upper_bound, wilson


@pytest.mark.parametrize(("successes", "n"), [(0, 20), (3, 20), (20, 20), (150, 400)])
def test_wilson_is_the_textbook_interval(successes: int, n: int) -> None:
    """The interval is the one that scipy computes."""
    interval = stats.binomtest(successes, n).proportion_ci(method="wilson")

    assert wilson(successes, n) == pytest.approx((interval.low, interval.high), abs=1e-9)


@pytest.mark.parametrize(("successes", "n"), [(0, 60), (3, 20), (19, 20), (0, 5000)])
def test_upper_bound_is_clopper_pearson(successes: int, n: int) -> None:
    """The bound is the quantile of the beta distribution."""
    expected = stats.beta.ppf(0.95, successes + 1, n - successes)

    assert upper_bound(successes, n) == pytest.approx(expected, abs=1e-9)


def test_upper_bound_of_all_is_one() -> None:
    """Where every row counts, no bound below 1 is possible."""
    assert upper_bound(7, 7) == 1.0


@pytest.mark.parametrize(("successes", "n"), [(0, 0), (3, 2), (-1, 5)])
def test_a_share_needs_rows(successes: int, n: int) -> None:
    """No rows give no share."""
    with pytest.raises(ComparisonError, match="no share"):
        wilson(successes, n)


def test_mcnemar_counts_only_rows_that_changed() -> None:
    """Rows that pass both times, or never, say nothing."""
    before = [True] * 3 + [False] * 9 + [True] * 50
    after = [False] * 3 + [True] * 9 + [True] * 50

    assert mcnemar_exact(before, after) == pytest.approx(stats.binomtest(3, 12).pvalue)


def test_mcnemar_without_a_change_is_one() -> None:
    """No row changed: nothing speaks for a difference."""
    assert mcnemar_exact([True, False], [True, False]) == pytest.approx(1.0)


def test_mcnemar_needs_the_same_rows() -> None:
    """Passes are paired."""
    with pytest.raises(ComparisonError, match="cannot pair"):
        mcnemar_exact([True], [])


def test_holm_multiplies_by_the_tests_left() -> None:
    """The smallest p pays for all tests, the next for the rest, and order is kept."""
    assert holm([0.01, 0.04, None, 0.03]) == pytest.approx((0.03, 0.06, None, 0.06))


@pytest.mark.parametrize("ps", [(), (None, None)])
def test_holm_of_no_tests_adjusts_nothing(ps: tuple[None, ...]) -> None:
    """What was not tested is no test."""
    assert holm(ps) == ps


def test_holm_stays_in_range() -> None:
    """An adjusted p is at most 1."""
    adjusted = holm([0.6, 0.9])

    assert all(p is not None and math.isclose(p, 1.0) for p in adjusted)
