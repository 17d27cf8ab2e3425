"""Tests of successive halving over recorded scores."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redraft.optimizers.halving import halve, halving_calls, rungs


class Recorded:
    """Candidates as lists of recorded scores; counts the rows that were paid for."""

    def __init__(self, *scores: list[float]) -> None:
        self.scores = scores
        self.paid: dict[int, int] = {}

    def measure(self, index: int, rows: int) -> list[float]:
        """Return the first recorded scores of a candidate."""
        self.paid[index] = max(rows, self.paid.get(index, 0))
        return self.scores[index][:rows]

    def ranking(self, *, rows: int, cost: dict[int, int] | None = None) -> list[int]:
        """Return candidates by rank."""
        names = range(len(self.scores))
        found = halve(names, rows, self.measure, cost=lambda i: ((cost or {}).get(i, 0),))
        return [standing.index for standing in found]


def test_last_rung_covers_every_row() -> None:
    """Rungs double and end with all rows."""
    assert rungs(60) == (8, 15, 30, 60)


def test_few_rows_make_one_rung() -> None:
    """Halving does not start on fewer rows than mean something."""
    assert rungs(12) == (12,)


def test_best_candidate_wins() -> None:
    """The largest paired difference over the same rows comes first."""
    recorded = Recorded([0.5] * 32, [0.4] * 32, [0.9] * 32, [0.6] * 32)

    assert recorded.ranking(rows=32)[0] == 2


def test_opponent_reaches_the_last_rung() -> None:
    """The opponent is never dropped, however badly it starts."""
    recorded = Recorded([0.0] * 32, *([1.0 - i / 10] * 32 for i in range(6)))

    assert 0 in recorded.ranking(rows=32)


def test_worse_half_is_not_paid_for_again() -> None:
    """A candidate that is dropped costs no further row."""
    recorded = Recorded([0.5] * 32, [0.9] * 32, [0.1] * 32)

    recorded.ranking(rows=32)

    assert recorded.paid == {0: 32, 1: 32, 2: 8}


def test_tie_goes_to_the_cheaper() -> None:
    """Equal gains are decided by fewer demos."""
    recorded = Recorded([0.5] * 16, [0.9] * 16, [0.9] * 16)

    assert recorded.ranking(rows=16, cost={1: 8, 2: 4})[0] == 2


def test_tie_with_opponent_keeps_opponent() -> None:
    """A candidate that is only as good as the opponent does not replace it."""
    recorded = Recorded([0.5] * 16, [0.5] * 16)

    assert recorded.ranking(rows=16) == [0, 1]


def test_opponent_alone_is_ranked() -> None:
    """Nothing to choose from is a normal case."""
    assert Recorded([0.5] * 16).ranking(rows=16) == [0]


@given(candidates=st.integers(0, 30), rows=st.integers(1, 200))
def test_calls_are_what_halving_pays(candidates: int, rows: int) -> None:
    """The worst case that is reserved is exactly what is measured."""
    recorded = Recorded(*([i / 100] * rows for i in range(candidates + 1)))

    recorded.ranking(rows=rows)

    paid = sum(count for index, count in recorded.paid.items() if index)
    assert halving_calls(candidates, rows) == paid


@pytest.mark.parametrize("per_row", [1, 3])
def test_calls_scale_with_calls_per_row(per_row: int) -> None:
    """With the loop on, each row may cost more than one call."""
    assert halving_calls(3, 16, per_row=per_row) == per_row * halving_calls(3, 16)
