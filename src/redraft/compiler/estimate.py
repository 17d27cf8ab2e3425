"""What a compile would spend, and what its gate could tell, before a call is made."""

from dataclasses import asdict, dataclass
from typing import Unpack

from redraft.budget import RunCaps
from redraft.compiler.compiler import search_task
from redraft.compiler.contest import Contest, opened
from redraft.compiler.gate import look_calls
from redraft.compiler.reserve import open_allowance, reserve_look
from redraft.compiler.run import CompileOptions, CompileRun
from redraft.evaluator.subject import RowsGiven
from redraft.looks import gate_level, looks
from redraft.optimizers import Optimizer, optimizer_named
from redraft.program import Program
from redraft.rubric import Rubric
from redraft.statistics import detectable_with

# A guess at the standard deviation of per-row gains, before any is measured.
GAIN_SPREAD = 0.3


@dataclass(frozen=True, slots=True, kw_only=True)
class CompileEstimate:
    """What a compile would do.

    Attributes:
        best: Calls if every first draft passes and the gate is not looked at.
        expected: Calls half way between best and worst.
        worst: Calls if no draft passes; tries after an outage come on top, within the cap.
        cap: Calls that it may make.
        needed: The smallest cap that pays for the gate's look.
        demos: Demos that a prompt may get at most.
        val_rows: Rows there are for choosing.
        gate_rows: Rows of the gate's look.
        level: One-sided level of that look.
        smallest_detectable: Gain that the look would show in four of five repetitions, if rows
            differ as they often do; None where there are too few.
    """

    best: int
    expected: int
    worst: int
    cap: int
    needed: int
    demos: int
    val_rows: int
    gate_rows: int
    level: float
    smallest_detectable: float | None

    def record(self) -> dict[str, object]:
        """Return the estimate as JSON-ready values."""
        return asdict(self)


def estimate_compile(
    program: Program | str,
    rubric: Rubric | None = None,
    rows: RowsGiven = None,
    *,
    optimizer: str | Optimizer = "bootstrap",
    caps: RunCaps | None = None,
    **options: Unpack[CompileOptions],
) -> CompileEstimate:
    """Return what `compile_program` would spend with the same arguments; no call is made.

    Raises:
        BudgetError: `max_calls` does not even pay for the gate's look.
        RedraftError: Program, rubric, rows or models are missing or wrong.
    """
    run = CompileRun(**options)
    method = optimizer_named(optimizer) if isinstance(optimizer, str) else optimizer
    with opened(program, rubric, rows, run) as contest:
        allowance = open_allowance(contest.root, caps)
        reserve = reserve_look(contest, run.limits, allowance.calls)
        task = search_task(contest, run, reserve, allowance)
        fewest, most = method.estimate(task)
        worst = min(allowance.calls, most + reserve.calls) if most else 0
        level, detectable = _gate_power(contest)
        return CompileEstimate(
            best=fewest,
            expected=(fewest + worst) // 2,
            worst=worst,
            cap=allowance.calls,
            needed=look_calls(contest, contest.base.loop),
            demos=max(run.limits.sizes, default=0),
            val_rows=len(contest.val),
            gate_rows=len(contest.gate),
            level=level,
            smallest_detectable=detectable,
        )


def _gate_power(contest: Contest) -> tuple[float, float | None]:
    digest = contest.trainset.split_digest("gate")
    level = gate_level(looks(contest.root, contest.name, rows_digest=digest))
    groups = len({row.group for row in contest.gate})
    return level, detectable_with(GAIN_SPREAD, rows=len(contest.gate), groups=groups, level=level)
