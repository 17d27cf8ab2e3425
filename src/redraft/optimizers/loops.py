"""Choose loop settings from recorded trajectories: replayed, never paid for twice."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean, variance

from redraft.evaluator import RowResult, replayed
from redraft.optimizers.calls import answer_calls
from redraft.optimizers.candidates import under_loop
from redraft.program import Program
from redraft.records import Loop, OnFail, ProgramState, Returns

_SAME = 1e-9


@dataclass(frozen=True, slots=True)
class LoopTrial:
    """What one setting of the loop gives on rows that were recorded.

    Attributes:
        state: The recorded program under the setting.
        results: One per row, replayed.
        calls: Mean calls of an answer.
    """

    state: ProgramState
    results: tuple[RowResult, ...]
    calls: float

    @property
    def scores(self) -> tuple[float, ...]:
        """Scores in [0, 1], row by row."""
        return tuple(value_of(result) for result in self.results)

    @property
    def mean(self) -> float:
        """Mean score in [0, 1]."""
        return fmean(self.scores)


def replay_loops(
    program: Program, recorded: ProgramState, results: Sequence[RowResult]
) -> tuple[LoopTrial, ...]:
    """Return what every smaller setting would have given on the same attempts.

    Args:
        program: The program as its file stands.
        recorded: What was recorded; the cap of its loop is the largest that is tried.
        results: Recorded results, one per row; all measured.
    """
    loop = recorded.loop
    settings = [replace(loop, enabled=False)] + [
        replace(loop, max_revisions=cap, returns=returns)
        for cap in range(loop.max_revisions + 1)
        for returns in _returns(loop.on_fail, cap)
    ]
    return tuple(_replay(program, recorded, setting, results) for setting in settings)


def choose_loop(trials: Sequence[LoopTrial]) -> LoopTrial:
    """Return the cheapest setting that is as good as the best one, as far as one can tell.

    A setting is as good when the best one's mean lead over it, row by row, is no more than that
    lead's standard error: extra calls must buy a gain that shows. Equal costs are decided by the
    mean, then for a loop that checks, then for fewer revisions and the default `returns`.

    Args:
        trials: At least one; all over the same rows.
    """
    best = max(trials, key=lambda trial: trial.mean)
    return min((t for t in trials if _is_as_good(t, best)), key=_order)


def value_of(result: RowResult) -> float:
    """Return a measured row's score in [0, 1].

    Raises:
        ValueError: The row is not measured.
    """
    if result.score is None:
        raise ValueError(f"row {result.row_id!r} is not measured")
    return result.score.value


def _returns(on_fail: OnFail, cap: int) -> tuple[Returns | None, ...]:
    if cap == 0:
        return (None,)
    return (None, "best") if on_fail == "revise" else (None, "last")


def _replay(
    program: Program, recorded: ProgramState, loop: Loop, results: Sequence[RowResult]
) -> LoopTrial:
    found = tuple(replayed(result, loop) for result in results)
    calls = fmean(answer_calls(program, loop, result.answer) for result in found)
    return LoopTrial(under_loop(program, recorded, loop), found, calls)


def _is_as_good(trial: LoopTrial, best: LoopTrial) -> bool:
    leads = [b - t for b, t in zip(best.scores, trial.scores, strict=True)]
    error = math.sqrt(variance(leads) / len(leads)) if len(leads) > 1 else 0.0
    return fmean(leads) <= error + _SAME


def _order(trial: LoopTrial) -> tuple[float, float, bool, int, bool]:
    loop = trial.state.loop
    return (
        round(trial.calls, 9),
        -round(trial.mean, 9),
        not loop.enabled,
        loop.max_revisions,
        loop.returns is not None,
    )
