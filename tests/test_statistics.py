"""Paired gains, intervals, the gate and power."""

import itertools
import math
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from redraft.errors import ComparisonError
from redraft.statistics import (
    Effect,
    detectable_with,
    gate_verdict,
    look_level,
    mean_difference,
    mean_interval,
    paired_gain,
    smallest_detectable,
)

STEADY = [0.3, 0.2, 0.25, 0.3, 0.35, 0.2, 0.25, 0.3] * 4


def _flipped_share(sums: list[float]) -> tuple[float, float, float]:
    """Return p both ways, p of a gain and p of a loss over every combination of signs."""
    observed = sum(sums)
    totals = [
        sum(s * d for s, d in zip(signs, sums, strict=True))
        for signs in itertools.product((1, -1), repeat=len(sums))
    ]
    near = 1e-9
    return (
        sum(abs(t) >= abs(observed) - near for t in totals) / len(totals),
        sum(t >= observed - near for t in totals) / len(totals),
        sum(t <= observed + near for t in totals) / len(totals),
    )


def test_estimate_is_the_mean_of_row_differences() -> None:
    """A gain is measured row by row."""
    effect = paired_gain([0.5, 0.5, 0.0], [1.0, 0.5, 0.25])

    assert effect.estimate == pytest.approx(0.25)
    assert (effect.n, effect.groups, effect.differing) == (3, 3, 2)


@pytest.mark.parametrize("differing", [0, 1, 5])
def test_no_claim_below_six_rows_that_differ(differing: int) -> None:
    """Where hardly any row differs, nothing is claimed, however many rows there are."""
    effect = mean_difference([1.0] * differing + [0.0] * (100 - differing))

    assert (effect.low, effect.high, effect.p, effect.p_greater, effect.p_less) == (None,) * 5
    assert effect.covers_zero


def test_no_claim_below_six_groups_that_differ() -> None:
    """Many rows in few groups are few."""
    groups = [i // 8 for i in range(40)]

    assert mean_difference([0.5] * 40, groups=groups).low is None
    assert mean_difference([0.5] * 40).low is not None


def test_six_rows_that_differ_are_enough() -> None:
    """Six rows can reach one side's 2.5 %."""
    effect = mean_difference([1.0] * 6)

    assert effect.p_greater == pytest.approx(1 / 64)
    assert effect.low is not None


@given(st.lists(st.integers(-4, 4).filter(bool), min_size=6, max_size=9))
def test_p_is_exact_where_all_flips_can_be_listed(quarters: list[int]) -> None:
    """Few groups: every combination of signs is counted."""
    differences = [q / 4 for q in quarters]

    effect = mean_difference(differences, flips=50)

    expected = _flipped_share(differences)
    assert (effect.p, effect.p_greater, effect.p_less) == pytest.approx(expected)


def test_random_flips_never_give_a_p_of_zero() -> None:
    """Random flips count the observed signs among them."""
    effect = mean_difference([1.0] * 60, flips=999)

    assert effect.p_greater == pytest.approx(1 / 1000)
    assert effect.p_less == pytest.approx(1.0)


def test_random_flips_agree_with_the_exact_test() -> None:
    """Above the size that is listed, p is close to what listing would give."""
    differences = [0.5, -0.25, 0.25, 0.75, -0.5] * 3

    effect = mean_difference(differences)

    exact = _flipped_share(differences)
    assert effect.p_greater == pytest.approx(exact[1], abs=0.012)
    assert effect.p_less == pytest.approx(exact[2], abs=0.012)


def test_same_seed_same_numbers() -> None:
    """A result repeats."""
    assert mean_difference(STEADY, seed=3) == mean_difference(STEADY, seed=3)


def test_names_of_groups_do_not_matter() -> None:
    """Groups are told apart, not ordered."""
    rows = len(STEADY)

    numbered = mean_difference(STEADY, groups=[i // 2 for i in range(rows)])
    named = mean_difference(STEADY, groups=[f"g{99 - i // 2}" for i in range(rows)])

    assert numbered == named


def _width(effect: Effect) -> float:
    assert effect.low is not None
    assert effect.high is not None
    return effect.high - effect.low


def test_rows_of_one_group_count_once() -> None:
    """Copies of the same rows narrow the interval only where they pretend to be new groups."""
    rows = [1.0, -0.5, 0.5, 0.0, 0.75, -0.75] * 6

    pretended = mean_difference(rows * 4)
    honest = mean_difference(rows * 4, groups=list(range(len(rows))) * 4)

    assert _width(honest) > 1.6 * _width(pretended)
    assert honest.groups == len(rows)


@given(st.lists(st.floats(-1, 1), min_size=6, max_size=40))
def test_interval_holds_the_estimate(differences: list[float]) -> None:
    """Whatever the rows, low <= estimate <= high and p is in (0, 1]."""
    effect = mean_difference(differences, flips=200)

    if effect.low is not None and effect.high is not None and effect.p is not None:
        assert effect.low <= effect.estimate <= effect.high
        assert 0 < effect.p <= 1


def test_steady_gain_is_found() -> None:
    """A gain in every row has an interval above 0."""
    effect = mean_difference(STEADY)

    assert not effect.covers_zero
    assert effect.p_greater is not None
    assert effect.p_greater < 0.001


def test_opposite_gains_cancel() -> None:
    """Gains and losses of one size leave 0 possible."""
    effect = mean_difference([0.5, -0.5] * 20)

    assert effect.covers_zero
    assert effect.p == pytest.approx(1.0)


def test_wider_scale_gives_wider_interval() -> None:
    """Differences of differences reach to 2, and so do the hypothetical rows."""
    narrow = mean_difference(STEADY)
    wide = mean_difference(STEADY, bound=2.0)

    assert _width(wide) > _width(narrow)


def test_rounding_noise_is_a_tie() -> None:
    """0.3 - 0.1 and 0.2 are the same gain."""
    effect = paired_gain([0.1 + 0.2] * 50, [0.3] * 50)

    assert effect.differing == 0


@pytest.mark.parametrize(("before", "after"), [([], []), ([0.5], [0.5, 1.0])])
def test_unpaired_scores_are_an_error(before: list[float], after: list[float]) -> None:
    """Runs over other rows cannot be compared."""
    with pytest.raises(ComparisonError, match="same split"):
        paired_gain(before, after)


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_score_that_is_no_number_is_an_error(bad: float) -> None:
    """Rows without a measurement are left out before, never passed as NaN."""
    with pytest.raises(ComparisonError, match="not measured"):
        mean_difference([0.5, bad])


def test_groups_must_fit_the_rows() -> None:
    """One group a row."""
    with pytest.raises(ComparisonError, match="2 rows have 1 groups"):
        mean_difference([0.5, 0.5], groups=["a"])


def test_no_rows_is_an_error() -> None:
    """A mean of nothing is not 0."""
    with pytest.raises(ComparisonError, match="no rows"):
        mean_interval([])


def test_mean_interval_at_the_ceiling_keeps_room_below() -> None:
    """Sixty perfect rows do not prove perfection."""
    mean, low, high = mean_interval([1.0] * 60)

    assert mean == high == 1.0
    assert low is not None
    assert 0.9 < low < 1.0


def test_mean_interval_needs_six_groups() -> None:
    """Five groups give a mean and no interval."""
    assert mean_interval([0.5] * 50, groups=[i % 5 for i in range(50)]) == (0.5, None, None)


def test_twenty_thousand_flips_are_quick() -> None:
    """A comparison of 200 rows does not keep anyone waiting."""
    differences = np.random.default_rng(0).normal(0.1, 0.3, 200).clip(-1, 1).tolist()
    mean_difference(differences)

    started = time.perf_counter()
    mean_difference(differences)

    assert time.perf_counter() - started < 1.0


def test_detectable_gain_shrinks_with_rows() -> None:
    """More rows show smaller gains."""
    few, many = smallest_detectable(STEADY), smallest_detectable(STEADY * 4)

    assert few is not None
    assert many is not None
    assert many < few


def test_detectable_gain_is_none_below_six_groups() -> None:
    """Five groups show nothing."""
    assert smallest_detectable([0.1, 0.2, 0.3, 0.4, 0.5]) is None


def test_detectable_gain_is_none_above_the_scale() -> None:
    """Where not even a gain of 1 would show, no number is given."""
    assert smallest_detectable([1.0, -1.0] * 3) is None


@pytest.mark.parametrize("level", [0.04, 0.01, 0.001])
def test_detectable_gain_is_so_many_standard_errors(level: float) -> None:
    """With few groups and a strict level too, Student's quantiles are exact."""
    reach = stats.t.ppf(1 - min(level, 0.025), 7) + stats.t.ppf(0.8, 7)
    error = math.sqrt(2 * 8 / 7) / (80 + 2)

    found = detectable_with(0.0, rows=80, groups=8, level=level)

    assert found == pytest.approx(reach * error, abs=1e-9)


def test_detectable_gain_can_be_guessed_before_spending() -> None:
    """A good guess at the spread gives what the rows give later."""
    differences = [0.4, 0.0] * 30

    before = detectable_with(0.2, rows=60, groups=60)

    assert before == pytest.approx(smallest_detectable(differences), rel=0.01)


def test_detectable_gain_grows_as_the_level_shrinks() -> None:
    """A later look needs a larger gain."""
    first = smallest_detectable(STEADY, level=look_level(1))
    tenth = smallest_detectable(STEADY, level=look_level(10))

    assert first is not None
    assert tenth is not None
    assert tenth > first


def test_levels_of_all_looks_stay_below_a_tenth() -> None:
    """However many tries, a promotion with nothing to win stays rare."""
    assert look_level(1) == 0.04
    assert sum(look_level(j) for j in range(1, 200_000)) < 0.0915


def test_looks_are_counted_from_one() -> None:
    """There is no look before the first."""
    with pytest.raises(ValueError, match="from 1"):
        look_level(0)


@pytest.mark.parametrize(
    ("greater", "less", "verdict"),
    [
        (0.01, 0.99, "confirmed"),
        (0.04, 0.97, "likely"),
        (0.07, 0.94, "likely"),
        (0.08, 0.93, "not_confirmed"),
        (0.99, 0.01, "worse"),
        (None, None, "not_confirmed"),
    ],
)
def test_gate_verdict(greater: float | None, less: float | None, verdict: str) -> None:
    """Below the level confirmed, below twice the level likely, the other way worse."""
    effect = Effect(0.1, 0.0, 0.2, 0.5, greater, less, 60, 60, 30)

    assert gate_verdict(effect, 0.04) == verdict
