"""Successive halving: the same rows for every candidate, more rows for fewer of them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import TypeVar

ItemT = TypeVar("ItemT")

FIRST_RUNG_ROWS = 8
_SAME = 9  # decimals: means that agree this far are a tie, whatever the order of summing


@dataclass(frozen=True, slots=True)
class Standing:
    """How one candidate fared in the last rung it took part in.

    Attributes:
        index: Its place in the list of candidates; 0 is the opponent.
        rows: Rows it was measured on; 1 or more.
        gain: Mean paired difference to the opponent over those rows, in [-1, 1].
    """

    index: int
    rows: int
    gain: float


def rungs(rows: int) -> tuple[int, ...]:
    """Return how many rows each rung covers: doubling, the last one covers all.

    Args:
        rows: Rows there are; 1 or more.
    """
    sizes = [rows]
    while (sizes[0] + 1) // 2 >= FIRST_RUNG_ROWS:
        sizes.insert(0, (sizes[0] + 1) // 2)
    return tuple(sizes)


def halving_calls(candidates: int, rows: int, *, per_row: int = 1) -> int:
    """Return the calls that `halve` makes at most, the opponent's own rows not counted.

    Args:
        candidates: Candidates beside the opponent; 0 or more.
        rows: Rows of the last rung.
        per_row: Worst-case calls for one row.
    """
    calls, before, left = 0, 0, candidates
    for size in rungs(rows):
        calls += left * (size - before)
        before, left = size, _kept(left)
    return calls * per_row


def halve(
    candidates: Sequence[ItemT],
    rows: int,
    measure: Callable[[ItemT, int], Sequence[float]],
    *,
    cost: Callable[[ItemT], tuple[int, ...]],
) -> tuple[Standing, ...]:
    """Rank candidates by their paired difference to the first one, the opponent.

    In each rung everyone left is measured on the same first rows; the better half goes on, and
    the opponent always does. Equal gains are decided by cost, then by order.

    Args:
        candidates: The opponent first; at least one.
        rows: Rows of the last rung; 1 or more.
        measure: `measure(candidate, n)` returns the scores of the first `n` rows, in order. It is
            called again with a larger `n` and should not pay for a row twice.
        cost: What breaks a tie; the lower one wins.

    Returns:
        Standings of all that reached the last rung, the best first.
    """
    left = list(range(len(candidates)))
    ranked: list[Standing] = []
    for size in rungs(rows):
        opponent = measure(candidates[0], size)
        standings = [
            Standing(i, size, _gain(opponent, measure(candidates[i], size)) if i else 0.0)
            for i in left
        ]
        ranked = sorted(standings, key=lambda s: (-s.gain, cost(candidates[s.index]), s.index))
        challengers = [s.index for s in ranked if s.index]
        left = [0, *challengers[: _kept(len(challengers))]]
    return tuple(ranked)


def _gain(before: Sequence[float], after: Sequence[float]) -> float:
    return round(fmean(b - a for a, b in zip(before, after, strict=True)), _SAME)


def _kept(candidates: int) -> int:
    return (candidates + 1) // 2
