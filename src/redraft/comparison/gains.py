"""Differences between cells, with what can be claimed about them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from redraft.comparison.pairing import Value, score_of, value_of
from redraft.evaluator import RowResult
from redraft.statistics import (
    Effect,
    holm,
    mcnemar_exact,
    mean_difference,
    smallest_detectable,
)

# A two-sided 95 % interval is above 0 at this one-sided level.
SIDE = 0.025


Scores = tuple[Sequence[float], Sequence[float]]


@dataclass(frozen=True, slots=True)
class Gain:
    """One difference between cells.

    Attributes:
        effect: Estimate, interval and p.
        smallest_detectable: The gain that these rows would show in four of five repetitions;
            None where no gain would do.
        missing: Mean of what was missing to 1 before, in [0, 1]; None for differences of
            differences.
        p_holm: `effect.p` corrected for the alternatives tested beside it; None where no claim
            is made or nothing was tested beside it.
    """

    effect: Effect
    smallest_detectable: float | None
    missing: float | None = None
    p_holm: float | None = None

    @property
    def share_of_error_removed(self) -> float | None:
        """The gain divided by what was missing; None where nothing was, or it is not known."""
        return self.effect.estimate / self.missing if self.missing else None

    def record(self) -> dict[str, object]:
        """Return the JSON object of `redraft compare`."""
        effect = self.effect
        return {
            "estimate": effect.estimate,
            "low": effect.low,
            "high": effect.high,
            "p": effect.p,
            "p_holm": self.p_holm,
            "n": effect.n,
            "groups": effect.groups,
            "differing": effect.differing,
            "smallest_detectable": self.smallest_detectable,
            "share_of_error_removed": self.share_of_error_removed,
        }


@dataclass(frozen=True, slots=True)
class PassGain:
    """Rows that pass the rubric before and after.

    Attributes:
        before: Share in [0, 1].
        after: Share in [0, 1].
        p: Exact McNemar, two-sided, rows taken as independent.
    """

    before: float
    after: float
    p: float


@dataclass(frozen=True, slots=True)
class Square:
    """The four cells of the 2x2, paired by row.

    Attributes:
        base_off: First attempts of the program as its file stands.
        base_on: The same with the loop on.
        compiled_off: First attempts of the artifact.
        compiled_on: The same with the loop on.
    """

    base_off: Sequence[RowResult]
    base_on: Sequence[RowResult]
    compiled_off: Sequence[RowResult]
    compiled_on: Sequence[RowResult]

    def cells(self) -> dict[str, Sequence[RowResult]]:
        """Return the rows by the name of their cell."""
        return {
            "base_off": self.base_off,
            "base_on": self.base_on,
            "compiled_off": self.compiled_off,
            "compiled_on": self.compiled_on,
        }


@dataclass(frozen=True, slots=True)
class Gains:
    """What each half was worth, and both.

    Attributes:
        build_time: What compiling bought, averaged over loop off and on.
        answer_time: What looping bought, averaged over base and compiled.
        interaction: By how much looping bought more once compiled; in [-2, 2].
        total: From `base_off` to `compiled_on`.
        simple: The single steps: `build_time_off`, `build_time_on`, `answer_time_base`,
            `answer_time_compiled`.
        passes: Rows that pass the rubric, from `base_off` to `compiled_on`.
    """

    build_time: Gain
    answer_time: Gain
    interaction: Gain
    total: Gain
    simple: dict[str, Gain]
    passes: PassGain


def gains_of(square: Square, *, value: Value = value_of, seed: int) -> Gains:
    """Return main effects, interaction, total and simple effects.

    Args:
        square: The four cells.
        value: What counts of a row, in [0, 1].
        seed: Of the intervals.
    """
    groups = [result.group for result in square.base_off]
    b_off, b_on, c_off, c_on = ([value(r) for r in rows] for rows in square.cells().values())

    def main(first: Scores, second: Scores) -> Gain:
        """Average two steps; what was missing before is averaged too."""
        before = [(a + b) / 2 for a, b in zip(first[0], second[0], strict=True)]
        after = [(a + b) / 2 for a, b in zip(first[1], second[1], strict=True)]
        return gain_between(before, after, groups, seed=seed)

    rows = zip(b_off, b_on, c_off, c_on, strict=True)
    differences = [(dd - cc) - (bb - aa) for aa, bb, cc, dd in rows]
    return Gains(
        build_time=main((b_off, c_off), (b_on, c_on)),
        answer_time=main((b_off, b_on), (c_off, c_on)),
        interaction=_gain(differences, groups, bound=2.0, seed=seed),
        total=gain_between(b_off, c_on, groups, seed=seed),
        simple={
            "build_time_off": gain_between(b_off, c_off, groups, seed=seed),
            "build_time_on": gain_between(b_on, c_on, groups, seed=seed),
            "answer_time_base": gain_between(b_off, b_on, groups, seed=seed),
            "answer_time_compiled": gain_between(c_off, c_on, groups, seed=seed),
        },
        passes=_pass_gain(square.base_off, square.compiled_on),
    )


def gain_between(
    before: Sequence[float], after: Sequence[float], groups: Sequence[str], *, seed: int
) -> Gain:
    """Return the gain of one column of scores in [0, 1] over another of the same rows."""
    differences = [b - a for a, b in zip(before, after, strict=True)]
    gain = _gain(differences, groups, bound=1.0, seed=seed)
    # Rounded, so that a mean of ones leaves nothing missing.
    return replace(gain, missing=round(1 - fmean(before), 12))


def corrected(gains: Sequence[Gain]) -> tuple[Gain, ...]:
    """Return the gains with p corrected for testing all of them."""
    adjusted = holm([gain.effect.p for gain in gains])
    return tuple(replace(gain, p_holm=p) for gain, p in zip(gains, adjusted, strict=True))


def _gain(differences: Sequence[float], groups: Sequence[str], *, bound: float, seed: int) -> Gain:
    effect = mean_difference(differences, groups=groups, bound=bound, seed=seed)
    return Gain(effect, smallest_detectable(differences, groups=groups, level=SIDE))


def _pass_gain(before: Sequence[RowResult], after: Sequence[RowResult]) -> PassGain:
    was = [score_of(result).passed for result in before]
    now = [score_of(result).passed for result in after]
    return PassGain(fmean(was), fmean(now), mcnemar_exact(was, now))
