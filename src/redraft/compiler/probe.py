"""Drafts some rows several times, for a tenth of a compile's calls: before more is spent."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from math import sqrt
from statistics import fmean, variance
from typing import Unpack

from redraft.budget import Meter, RunCaps, Stop
from redraft.compiler.allowance import Allowance
from redraft.compiler.contest import Contest, opened
from redraft.compiler.headroom import Headroom, advised
from redraft.compiler.reserve import open_allowance
from redraft.compiler.run import CompileOptions, CompileRun
from redraft.errors import BudgetError
from redraft.evaluator import EvaluationRun, RowResult, evaluate_rows
from redraft.evaluator.subject import RowsGiven
from redraft.looks import gate_level, looks
from redraft.optimizers import require_measured, spread, worst_calls
from redraft.program import Program
from redraft.records import Options, Row, Score, Usage
from redraft.rubric import Rubric
from redraft.statistics import detectable_with

NO_DRAFT = "no draft"
SHARE_OF_CALLS = 10  # one in so many of a compile's calls

_DRAWS = 8
_FEWEST_DRAWS = 3
_FEWEST_ROWS = 6
_CAPS = (1, 2, 4)


def measure_headroom(
    program: Program | str,
    rubric: Rubric | None = None,
    rows: RowsGiven = None,
    *,
    caps: RunCaps | None = None,
    **options: Unpack[CompileOptions],
) -> Headroom:
    """Draft some `train` rows several times, and say what a compile or a loop could gain.

    No row of `val`, `gate` or `test` is answered, and nothing is written.

    Args:
        program: A NAME, or a program whose name has a file in `programs/`.
        rubric: Scores drafts; `metrics/NAME.py` by default.
        rows: `trainsets/NAME/` by default.
        caps: Caps of the compile; a tenth of its calls may be spent here.
        **options: As for `compile_program`.

    Raises:
        BudgetError: A tenth of the calls does not pay for six rows, or a cap ended the work.
        OutageError: A model did not answer.
        RedraftError: Program, rubric, rows or models are missing or wrong; no call was made.
    """
    run = CompileRun(**options)
    with opened(program, rubric, rows, run) as contest:
        allowance = open_allowance(contest.root, caps)
        chosen = _chosen_rows(contest, run, allowance.calls)
        draws = _drawn(contest, run, chosen, allowance)
        if len(draws) < _FEWEST_DRAWS:
            raise BudgetError(
                f"a cap ended the work after {len(draws)} drafts of each row, and at least "
                f"{_FEWEST_DRAWS} are needed; give --max-calls, --max-seconds, --max-tokens or "
                "--max-cost-usd more room",
                cap=len(draws),
                needed=_FEWEST_DRAWS,
            )
        return advised(_measured(contest, draws, allowance.spent))


def headroom_calls(
    program: Program | str,
    rubric: Rubric | None = None,
    rows: RowsGiven = None,
    *,
    caps: RunCaps | None = None,
    **options: Unpack[CompileOptions],
) -> int:
    """Return the calls that `measure_headroom` would make, tries after an outage not counted.

    Raises:
        BudgetError: A tenth of the calls does not pay for six rows.
        RedraftError: Program, rubric, rows or models are missing or wrong.
    """
    run = CompileRun(**options)
    with opened(program, rubric, rows, run) as contest:
        chosen = _chosen_rows(contest, run, open_allowance(contest.root, caps).calls)
        return len(chosen) * _row_calls(contest)


def _affordable(calls: int) -> int:
    return calls // SHARE_OF_CALLS


def _row_calls(contest: Contest) -> int:
    off = replace(contest.base.loop, enabled=False)
    return _DRAWS * worst_calls(contest.base, off)


def _chosen_rows(contest: Contest, run: CompileRun, calls: int) -> tuple[Row, ...]:
    """Return the rows that a tenth of the calls pays for."""
    per_row = _row_calls(contest)
    fewest = min(_FEWEST_ROWS, len(contest.train)) * per_row
    affordable = _affordable(calls)
    if affordable < fewest:
        needed = fewest * SHARE_OF_CALLS
        raise BudgetError(
            f"a tenth of {calls} calls is {affordable}, and drafting {_FEWEST_ROWS} rows "
            f"{_DRAWS} times takes {fewest}; give --max-calls {needed} or more",
            cap=calls,
            needed=needed,
        )
    return spread(contest.train, seed=run.seed, place=0)[: affordable // per_row]


def _drawn(
    contest: Contest, run: CompileRun, rows: Sequence[Row], allowance: Allowance
) -> list[tuple[RowResult, ...]]:
    """Return the results of every draw, each over all rows in their order.

    Tries after an outage count too, so a cap may be reached before the last draw: then there are
    fewer of them.
    """
    meter = allowance.stage(keep_calls=allowance.calls - _affordable(allowance.calls))
    first = contest.opponent.with_loop(replace(contest.opponent.loop, enabled=False))
    again = _at_resample_temperature(first)
    draws: list[tuple[RowResult, ...]] = []
    for number in range(_DRAWS):
        program = again if number else first
        rows_run = _rows_run(run, meter, number)
        try:
            evaluation = evaluate_rows(
                program, rows, contest.rubric.visible(), rows_run, split="train"
            )
            require_measured(evaluation, program)
        except Stop:
            break
        draws.append(evaluation.results)
    return draws


def _at_resample_temperature(program: Program) -> Program:
    state = program.state()
    own = state.options.get("drafter", Options())
    hot = replace(own, temperature=own.resample_temperature)
    return program.with_state(replace(state, options={**state.options, "drafter": hot}))


def _rows_run(run: CompileRun, meter: Meter, number: int) -> EvaluationRun:
    rows_run = EvaluationRun(seed=run.seed + number, threads=run.threads, meter=meter)
    told = run.progress
    if told is None:
        return rows_run
    return replace(
        rows_run, progress=lambda done, total, usage: told("headroom", done, total, usage)
    )


def _measured(contest: Contest, draws: Sequence[Sequence[RowResult]], usage: Usage) -> Headroom:
    by_row = [[_score(result) for result in results] for results in zip(*draws, strict=True)]
    values = [[score.value for score in scores] for scores in by_row]
    mean = fmean(row[0] for row in values)
    lost = _lost(contest.rubric.visible(), draws[0])
    within, between = _variances([row[1:] for row in values])
    return Headroom(
        program=contest.name,
        opponent=contest.opponent_name,
        rows=len(values),
        draws=len(draws),
        mean=mean,
        best_of=fmean(map(max, values)),
        perfect_checker={cap: _perfectly_checked(by_row, cap) for cap in _CAPS if cap < len(draws)},
        lost=lost,
        format_share=lost[NO_DRAFT] / (1 - mean) if mean < 1 else None,
        noise_share=within / (within + between) if within + between > 0 else None,
        gate_rows=len(contest.gate),
        smallest_detectable=_detectable(contest, spread=sqrt(2 * within)),
        references=sum("draft" in row.reference for row in contest.train),
        usage=usage,
    )


def _score(result: RowResult) -> Score:
    assert result.score is not None
    return result.score


def _perfectly_checked(by_row: Sequence[Sequence[Score]], cap: int) -> float:
    """Return the mean score of the first drafts that pass, within a cap on revisions."""
    served = (
        next((score for score in scores[: cap + 1] if score.passed), scores[0]) for scores in by_row
    )
    return fmean(score.value for score in served)


def _lost(rubric: Rubric, results: Sequence[RowResult]) -> dict[str, float]:
    """Return mean points lost by cause, in the rubric's order."""
    whole = sum(measure.weight for measure in rubric.measures)
    lost: defaultdict[str, float] = defaultdict(float, {NO_DRAFT: 0.0})
    for result in results:
        if result.answer.draft is None:
            lost[NO_DRAFT] += 1 / len(results)
            continue
        for measure in rubric.measures:
            missed = 1 - _score(result).measures[measure.id]
            lost[measure.id] += measure.weight * missed / whole / len(results)
    return dict(lost)


def _variances(values: Sequence[Sequence[float]]) -> tuple[float, float]:
    """Return the variance between drafts of one row, and that between rows without it."""
    within = fmean(variance(row) for row in values)
    if len(values) < 2:
        return within, 0.0
    means = variance(fmean(row) for row in values)
    return within, max(0.0, means - within / len(values[0]))


def _detectable(contest: Contest, *, spread: float) -> float | None:
    digest = contest.trainset.split_digest("gate")
    level = gate_level(looks(contest.root, contest.name, rows_digest=digest))
    groups = len({row.group for row in contest.gate})
    return detectable_with(spread, rows=len(contest.gate), groups=groups, level=level)
