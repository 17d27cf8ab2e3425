"""What there is to gain and by what, and the advice that follows from the numbers."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Literal

from redraft.records import Usage

Advice = Literal["stop", "compile", "loop", "get_labels", "write_by_hand"]

_NEAR_CEILING = 0.95
_LITTLE = 0.02
_LOW = 0.5
_MOST = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Headroom:
    """What several drafts of each of some `train` rows say, with the loop off.

    Attributes:
        program: Its name.
        opponent: `base`, or the id of the artifact in `CURRENT`: what drafted.
        rows: Rows that were drafted.
        draws: Drafts of each; the first one as it is served, the others at the temperature of
            resampling.
        mean: Mean score of first drafts, in [0, 1].
        best_of: Mean score of each row's best draft by the rubric: what choosing could give.
        perfect_checker: What drawing again would give with a checker that is always right, by cap
            on revisions: the first draft that passes the rubric, else the first one.
        lost: Points lost by first drafts, by cause: no usable draft at all (truncated, empty,
            refused, unparsable), or a measure's id. They sum to 1 - `mean`.
        format_share: Share of what is lost that is lost for want of a usable draft; None where
            nothing is lost.
        noise_share: Share of the variance of scores that lies between drafts of one row, in
            [0, 1]; None where all scores are equal.
        gate_rows: Rows of the gate's look.
        smallest_detectable: Gain that the look would show in four of five repetitions, if
            candidates differ by as much as two drafts of one row; None where there are too few.
        references: `train` rows with a `reference.draft`.
        usage: What this cost.
        advice: What to do next.
        reason: Why, in a sentence.
    """

    program: str
    opponent: str
    rows: int
    draws: int
    mean: float
    best_of: float
    perfect_checker: Mapping[int, float]
    lost: Mapping[str, float]
    format_share: float | None
    noise_share: float | None
    gate_rows: int
    smallest_detectable: float | None
    references: int
    usage: Usage
    advice: Advice = "compile"
    reason: str = ""

    def record(self) -> dict[str, object]:
        """Return what `redraft compile --headroom --json` prints."""
        caps = {str(cap): score for cap, score in self.perfect_checker.items()}
        return asdict(self) | {"perfect_checker": caps}


def advised(headroom: Headroom) -> Headroom:
    """Return the same with advice and its reason, made from the numbers alone."""
    advice, reason = _advice(headroom)
    return replace(headroom, advice=advice, reason=reason)


def _advice(found: Headroom) -> tuple[Advice, str]:
    lost, smallest = 1 - found.mean, found.smallest_detectable
    if found.mean >= _NEAR_CEILING and (smallest is None or lost < smallest):
        return "stop", f"Only {lost:.2f} is left to gain, less than the gate could confirm."
    if smallest is None or lost < smallest:
        least = "any gain" if smallest is None else f"less than {smallest:.2f}"
        return "get_labels", (
            f"With {found.gate_rows} gate rows the gate cannot confirm {least}, and "
            f"{lost:.2f} is left to gain."
        )
    if found.format_share is not None and found.format_share >= _MOST:
        return "write_by_hand", (
            f"{found.format_share:.0%} of the loss is replies without a usable draft: ask for a "
            "shorter reply in the instructions, or raise max_tokens."
        )
    if found.mean < _LOW and found.best_of - found.mean < _LITTLE and not found.references:
        return "write_by_hand", (
            "No draw does better than the first, and there is no reference.draft to learn from."
        )
    return _loop_or_compile(found)


def _loop_or_compile(found: Headroom) -> tuple[Advice, str]:
    lost = 1 - found.mean
    checked = found.perfect_checker[2] - found.mean
    if checked >= _MOST * lost:
        return "loop", (
            f"Two further draws and a checker that is right would win {checked:.2f} of the "
            f"{lost:.2f} that is lost."
        )
    return "compile", (
        f"{lost:.2f} is lost, and drawing again would win back at most "
        f"{max(0.0, found.best_of - found.mean):.2f} of it."
    )
