"""The smallest gain that a number of rows can show."""

import math
from collections.abc import Hashable, Sequence

from scipy import stats

from redraft.statistics.effects import FEWEST_FOR_A_CLAIM, by_group, by_row


def smallest_detectable(
    differences: Sequence[float],
    *,
    groups: Sequence[Hashable] | None = None,
    level: float = 0.04,
    power: float = 0.8,
) -> float | None:
    """Return the smallest mean gain that rows like these would show.

    "Show" means a one-sided p below `level` and an interval above 0. The gain is
    (t(1 - level) + t(power)) standard errors, with the two hypothetical rows of `mean_difference`
    in the standard error; simulated, it is shown in 0.81 to 0.98 of data sets
    (`python benchmarks/coverage.py`).

    Args:
        differences: One per row, as measured; their mean does not matter, only their spread.
        groups: Group of each row; each row is its own group where it is left out.
        level: One-sided level at which a gain counts as shown.
        power: Share of repetitions in which it should be shown.

    Returns:
        A gain in (0, 1]; None where there are fewer than six groups or a gain of 1 would not do.

    Raises:
        ComparisonError: There are no rows, or a difference is no finite number.
    """
    values, codes = by_row(differences, groups)
    sums, sizes = by_group(values, codes)
    squares = float(((sums - values.mean() * sizes) ** 2).sum())
    return _detectable(squares, rows=len(values), groups=len(sums), level=level, power=power)


def detectable_with(
    spread: float, *, rows: int, groups: int, level: float = 0.04, power: float = 0.8
) -> float | None:
    """Return what `smallest_detectable` would, before anything is measured.

    Args:
        spread: A guess at the standard deviation of the per-row differences, 0 or more.
        rows: Rows that will be measured.
        groups: Groups among them; rows of one group are taken to differ alike.
        level: One-sided level at which a gain counts as shown.
        power: Share of repetitions in which it should be shown.
    """
    squares = spread**2 * rows * rows / max(1, groups)
    return _detectable(squares, rows=rows, groups=groups, level=level, power=power)


def _detectable(
    squares: float, *, rows: int, groups: int, level: float, power: float
) -> float | None:
    if groups < FEWEST_FOR_A_CLAIM:
        return None
    # The interval is at 2.5 % on a side, so a laxer level cannot show more.
    reach = float(stats.t.ppf([1 - min(level, 0.025), power], groups - 1).sum())
    error = math.sqrt((squares + 2) * groups / (groups - 1)) / (rows + 2)
    gain = reach * error
    return gain if gain <= 1 else None
