"""The gate's one look: written down first, then both programs as they would be served."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from redraft.budget import Meter, Stop
from redraft.compiler.contest import Contest
from redraft.compiler.run import CompileRun
from redraft.evaluator import Evaluation, EvaluationRun, evaluate_rows
from redraft.looks import Look, record_look
from redraft.optimizers import require_measured, worst_calls
from redraft.program import Program
from redraft.records import Loop
from redraft.statistics import (
    Effect,
    GateVerdict,
    gate_verdict,
    paired_gain,
    smallest_detectable,
)

COMMAND = "compile"


@dataclass(frozen=True, slots=True, kw_only=True)
class GateResult:
    """What one look at the gate said.

    Attributes:
        look: The line in the ledger.
        verdict: What it says; `not_confirmed` where a cap cut it short.
        before: The opponent; None where a cap cut the look short.
        after: What was found; None likewise.
        effect: Paired gain; None likewise.
        smallest_detectable: Gain that these rows would show; None also where that is unknown.
    """

    look: Look
    verdict: GateVerdict
    before: Evaluation | None = None
    after: Evaluation | None = None
    effect: Effect | None = None
    smallest_detectable: float | None = None


def look_calls(contest: Contest, loop: Loop) -> int:
    """Return the worst-case calls of a look, if what was found answers with this loop."""
    both = worst_calls(contest.base, contest.opponent.loop) + worst_calls(contest.base, loop)
    return len(contest.gate) * both


def look(contest: Contest, found: Program, run: CompileRun, meter: Meter) -> GateResult:
    """Compare opponent and what was found on the rows of the gate.

    Args:
        contest: Opponent, rubric and rows.
        found: The program that may replace the opponent.
        run: Seed, threads and progress.
        meter: Pays for the look.

    Raises:
        OutageError: A model did not answer; the look stays in the ledger without an outcome.
    """
    entry = record_look(
        contest.root,
        contest.name,
        split="gate",
        command=COMMAND,
        rows_digest=contest.trainset.split_digest("gate"),
    )
    try:
        before = _measured(contest, contest.opponent, run, meter)
        after = _measured(contest, found, run, meter)
    except Stop:
        return GateResult(look=entry, verdict="not_confirmed")
    effect = gain(before, after)
    level = entry.level
    assert level is not None
    groups = [result.group for result in before.results]
    return GateResult(
        look=entry,
        verdict=gate_verdict(effect, level),
        before=before,
        after=after,
        effect=effect,
        smallest_detectable=smallest_detectable(
            differences(before, after), groups=groups, level=level
        ),
    )


def gain(before: Evaluation, after: Evaluation) -> Effect:
    """Return the paired gain over rows that are all measured in both."""
    return paired_gain(
        [score.value for score in before.scores],
        [score.value for score in after.scores],
        groups=[result.group for result in before.results],
    )


def differences(before: Evaluation, after: Evaluation) -> Sequence[float]:
    """Return the gain of each row."""
    pairs = zip(before.scores, after.scores, strict=True)
    return [b.value - a.value for a, b in pairs]


def _measured(contest: Contest, program: Program, run: CompileRun, meter: Meter) -> Evaluation:
    report = run.progress
    rows_run = EvaluationRun(seed=run.seed, threads=run.threads, meter=meter)
    if report is not None:
        rows_run = replace(
            rows_run, progress=lambda done, total, usage: report("gate", done, total, usage)
        )
    evaluation = evaluate_rows(program, contest.gate, contest.rubric, rows_run, split="gate")
    require_measured(evaluation, program)
    return evaluation
