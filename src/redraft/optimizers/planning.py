"""How much of a search fits a cap: worst cases are added up before a stage starts."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from redraft.optimizers.base import SearchTask
from redraft.optimizers.calls import drafter_calls, is_checked, worst_calls
from redraft.optimizers.candidates import most_candidates
from redraft.optimizers.halving import halving_calls
from redraft.records import Loop, OnFail

FEWEST_VAL_ROWS = 12
REVISER_SIZES = (2, 4)

_SHARES = (1.0, 0.75, 0.5, 0.35, 0.25)


@dataclass(frozen=True, slots=True, kw_only=True)
class Breadth:
    """How broadly drafter and loop are searched.

    Attributes:
        sets_per_size: Demo sets per size and source; 0 for none.
        max_revisions: The largest cap that is recorded.
        reviser_sets: Whether demos for the reviser are compared too.
    """

    sets_per_size: int
    max_revisions: int
    reviser_sets: bool


def choose_val_rows(task: SearchTask, *, pools: int) -> int:
    """Return how many `val` rows the search can afford; 0 where not even the smallest does.

    Fewer rows are taken rather than fewer than one demo set per size.

    Args:
        task: Its trials know the calls that are left.
        pools: Sources of demos there may be.
    """
    fewest = min(len(task.val), FEWEST_VAL_ROWS)
    counts = sorted({max(fewest, int(len(task.val) * share)) for share in _SHARES}, reverse=True)
    for sets in (1, 0):
        breadth = smallest_breadth(task, sets_per_size=sets)
        for rows in counts:
            if task.trials.fits(search_calls(task, rows, breadth, pools=pools)):
                return rows
    return 0


def choose_breadth(task: SearchTask, rows: int, *, pools: int) -> Breadth:
    """Return the broadest search of drafter and loop that fits the calls left now.

    Args:
        task: Its trials know the calls that are left.
        rows: `val` rows that are used.
        pools: Sources of demos there are.
    """
    for breadth in _breadths(task):
        if task.trials.fits(_choosing_calls(task, rows, breadth, pools=pools)):
            return breadth
    return smallest_breadth(task, sets_per_size=0)


def smallest_breadth(task: SearchTask, *, sets_per_size: int) -> Breadth:
    """Return the cheapest breadth with this many demo sets."""
    cap = min(task.program.loop.max_revisions, task.limits.max_revisions)
    return Breadth(sets_per_size=sets_per_size, max_revisions=cap, reviser_sets=False)


def search_calls(task: SearchTask, rows: int, breadth: Breadth, *, pools: int) -> int:
    """Return the worst-case calls of a whole search.

    Args:
        task: Program, opponent and limits.
        rows: `val` rows that are used.
        breadth: How broadly drafter and loop are searched.
        pools: Sources of demos there may be.
    """
    served = rows * worst_calls(task.program, task.opponent.loop)
    return served + earning_calls(task) + _choosing_calls(task, rows, breadth, pools=pools)


def fewest_calls(task: SearchTask, rows: int, breadth: Breadth, *, pools: int) -> int:
    """Return the calls of a search in which every first draft passes; see `search_calls`."""
    drafts = drafter_calls(task.program)
    asked = 1 if task.program.criteria else 0
    candidates = most_candidates(task, pools, sets_per_size=breadth.sets_per_size)
    drafting = halving_calls(candidates, rows, per_row=drafts)
    return 2 * rows * (drafts + asked) + earning_calls(task) + drafting


def earning_calls(task: SearchTask) -> int:
    """Return the worst-case calls of answering `train` rows with the loop off."""
    return min(task.limits.train_rows, len(task.train)) * drafter_calls(task.program)


def recorded_loop(task: SearchTask, on_fail: OnFail, *, max_revisions: int) -> Loop:
    """Return the settings under which trajectories are recorded for replay."""
    return replace(
        task.program.loop,
        on_fail=on_fail,
        max_revisions=max_revisions,
        returns=None,
        enabled=True,
    )


def recording_calls(task: SearchTask, rows: int, loop: Loop, *, reviser_sets: bool) -> int:
    """Return the worst-case calls of recording one way of trying again.

    Args:
        task: The program.
        rows: `val` rows that are used.
        loop: The settings that are recorded.
        reviser_sets: Whether demos for the reviser are compared too.
    """
    per_row = worst_calls(task.program, loop)
    extra = len(REVISER_SIZES) if reviser_sets and loop.on_fail == "revise" else 0
    return rows * per_row + halving_calls(extra, rows, per_row=per_row)


def _choosing_calls(task: SearchTask, rows: int, breadth: Breadth, *, pools: int) -> int:
    candidates = most_candidates(task, pools, sets_per_size=breadth.sets_per_size)
    drafting = halving_calls(candidates, rows, per_row=drafter_calls(task.program))
    loop = recorded_loop(task, task.program.loop.on_fail, max_revisions=breadth.max_revisions)
    if not is_checked(task.program, loop):
        # What is served is what was drafted, and that was measured already.
        return drafting
    return drafting + recording_calls(task, rows, loop, reviser_sets=breadth.reviser_sets)


def _breadths(task: SearchTask) -> Iterator[Breadth]:
    declared = min(task.program.loop.max_revisions, task.limits.max_revisions)
    caps = sorted({task.limits.max_revisions, declared}, reverse=True)
    for sets in range(task.limits.sets_per_size, -1, -1):
        for reviser_sets in (True, False):
            for cap in caps:
                yield Breadth(sets_per_size=sets, max_revisions=cap, reviser_sets=reviser_sets)
