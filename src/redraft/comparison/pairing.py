"""The same rows in every cell: what pairs, what the first attempt was worth, what it cost."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from redraft.evaluator import RowResult, replayed
from redraft.records import Loop, Score, Usage
from redraft.statistics import mean_interval, upper_bound

Value = Callable[[RowResult], float]


@dataclass(frozen=True, slots=True)
class Cell:
    """What one program with one loop setting did on the paired rows.

    Attributes:
        mean: Mean score in [0, 1].
        low: Lower end of the mean's 95 % interval; None where there are too few rows.
        high: Upper end; None where there are too few rows.
        pass_rate: Share of rows that pass the rubric, in [0, 1].
        calls_per_answer: Mean number of calls to models.
        cost_usd: Dollars for all paired rows together; None where a price is unknown.
        unchecked_mean: Mean score on measures that no rule of the program decides, in [0, 1];
            None where the rubric has none.
    """

    mean: float
    low: float | None
    high: float | None
    pass_rate: float
    calls_per_answer: float
    cost_usd: float | None
    unchecked_mean: float | None


@dataclass(frozen=True, slots=True)
class Escaped:
    """Answers whose check passed and that fail the rubric all the same.

    Attributes:
        passed: Answers whose check passed.
        escaped: Those of them that fail the rubric.
        upper: One-sided 95 % upper bound of their share, rows taken as independent; None where
            no check passed.
    """

    passed: int
    escaped: int
    upper: float | None

    @property
    def share(self) -> float | None:
        """Share of the answers that passed the check, in [0, 1]; None where none did."""
        return self.escaped / self.passed if self.passed else None

    def record(self) -> dict[str, object]:
        """Return the JSON object of `redraft compare`."""
        return {
            "passed": self.passed,
            "escaped": self.escaped,
            "share": self.share,
            "upper": self.upper,
        }


def score_of(result: RowResult) -> Score:
    """Return the score of a row that is known to be measured."""
    assert result.score is not None
    return result.score


def value_of(result: RowResult) -> float:
    """Return the score's value of a row that is known to be measured."""
    return score_of(result).value


def measured_rows(arms: Sequence[Mapping[str, RowResult]]) -> tuple[str, ...]:
    """Return ids of the rows that every arm measured, in the order of the first arm."""
    return tuple(
        row_id
        for row_id in arms[0]
        if all(row_id in arm and arm[row_id].score is not None for arm in arms)
    )


def first_attempt(result: RowResult) -> RowResult:
    """Return what the same row gives with the loop off: the first attempt, unchecked.

    No call is made for it: the first request is the same with the loop on and off.
    """
    return replayed(result, Loop(enabled=False))


def cell_of(results: Sequence[RowResult], unchecked: Value | None, *, seed: int) -> Cell:
    """Return the cell of measured rows.

    Args:
        results: At least one.
        unchecked: Score of a row on measures that no rule decides; None where there are none.
        seed: Of the interval.
    """
    groups = [result.group for result in results]
    mean, low, high = mean_interval([value_of(r) for r in results], groups=groups, seed=seed)
    usage = sum((result.answer.usage for result in results), Usage())
    return Cell(
        mean=mean,
        low=low,
        high=high,
        pass_rate=fmean(score_of(r).passed for r in results),
        calls_per_answer=usage.calls / len(results),
        cost_usd=usage.cost_usd,
        unchecked_mean=None if unchecked is None else fmean(unchecked(r) for r in results),
    )


def escaped_from(results: Sequence[RowResult]) -> Escaped:
    """Count the answers that slipped through the check."""
    passed = [result for result in results if result.answer.passed]
    escaped = sum(not score_of(result).passed for result in passed)
    upper = upper_bound(escaped, len(passed)) if passed else None
    return Escaped(len(passed), escaped, upper)
