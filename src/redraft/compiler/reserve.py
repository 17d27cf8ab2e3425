"""What is kept back for the gate's look before the search may spend anything."""

from dataclasses import dataclass, replace
from pathlib import Path

from redraft.budget import RunCaps
from redraft.compiler.allowance import Allowance
from redraft.compiler.contest import Contest
from redraft.compiler.gate import look_calls
from redraft.errors import BudgetError
from redraft.optimizers import SearchLimits
from redraft.project import read_config
from redraft.records import Loop, OnFail

_WAYS: tuple[OnFail, ...] = ("revise", "resample")


@dataclass(frozen=True, slots=True)
class Reserve:
    """Calls that are kept for the gate, and the limits under which they are enough.

    Attributes:
        calls: Worst case of the look, whatever the search finds within the limits.
        limits: Those of the user, with a smaller loop cap where the calls ask for it.
    """

    calls: int
    limits: SearchLimits


def open_allowance(root: Path, caps: RunCaps | None) -> Allowance:
    """Return the allowance of a compile: without `max_calls`, the project's settings hold."""
    given = caps or RunCaps()
    calls = given.max_calls
    if calls is None:
        calls = read_config(root).compile_calls
    return Allowance(
        calls,
        max_seconds=given.max_seconds,
        max_tokens=given.max_tokens,
        max_cost_usd=given.max_cost_usd,
    )


def reserve_look(contest: Contest, limits: SearchLimits, calls: int) -> Reserve:
    """Return what is kept back for the look.

    Loops with more revisions than the program's own are searched only if their look takes no more
    than half of the calls.

    Args:
        contest: Rows of the gate and what answers them.
        limits: Those of the user.
        calls: Calls that the whole compile may make.

    Raises:
        BudgetError: The calls do not pay for the look; the smallest cap that would do is named.
    """
    own = look_calls(contest, contest.base.loop)
    if own > calls:
        raise BudgetError(
            f"max_calls is {calls}, and the gate's look alone may take {own}: {len(contest.gate)} "
            f"rows, answered by the opponent and by what is found; give --max-calls {own} or "
            "more, and some for the search",
            cap=calls,
            needed=own,
        )
    ways = _WAYS if limits.on_fail is None else limits.on_fail
    for cap in range(limits.max_revisions, -1, -1):
        loops = [_loop(contest, way, cap) for way in ways]
        most = max([own, *(look_calls(contest, loop) for loop in loops)])
        if most <= max(own, calls // 2):
            return Reserve(most, replace(limits, max_revisions=cap))
    return Reserve(own, replace(limits, on_fail=()))


def _loop(contest: Contest, on_fail: OnFail, max_revisions: int) -> Loop:
    return replace(contest.base.loop, on_fail=on_fail, max_revisions=max_revisions, enabled=True)
