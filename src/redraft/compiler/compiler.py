"""Rows -> optimizer -> gate -> artifact: nothing is promoted that does not beat the opponent."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from typing import Unpack

from redraft.artifact import (
    Artifact,
    Reason,
    Search,
    build_artifact,
    current,
    promote,
    write_artifact,
)
from redraft.budget import RunCaps, Stop
from redraft.compilation import Compilation, Ending
from redraft.compiler.allowance import SEARCH_SHARE, Allowance
from redraft.compiler.contest import Contest, opened
from redraft.compiler.gate import GateResult, look, look_calls
from redraft.compiler.reserve import Reserve, open_allowance, reserve_look
from redraft.compiler.run import CompileOptions, CompileRun
from redraft.compiler.val import Lead, compare_on_val
from redraft.evaluator import EvaluationRun
from redraft.evaluator.subject import RowsGiven
from redraft.looks import record_outcome
from redraft.optimizers import Optimizer, Progress, SearchTask, Trials, optimizer_named
from redraft.program import Program
from redraft.records import ProgramState, Usage
from redraft.report.prompts import prompts_text
from redraft.rubric import Rubric


@dataclass(frozen=True, slots=True, kw_only=True)
class _Job:
    contest: Contest
    method: Optimizer
    run: CompileRun
    allowance: Allowance
    reserve: Reserve


def compile_program(
    program: Program | str,
    rubric: Rubric | None = None,
    rows: RowsGiven = None,
    *,
    optimizer: str | Optimizer = "bootstrap",
    caps: RunCaps | None = None,
    **options: Unpack[CompileOptions],
) -> Compilation:
    """Tune a program on rows, and promote what is found if it beats the opponent.

    The opponent is the artifact in `CURRENT`, or the program as its file stands. Rows of `train`
    and `val` are searched; what is found goes on to one look at `gate` if the lower bound of its
    gain on `val` is above 0. Whatever is found is written under `compiled/NAME/`, so that a person
    may promote it later. Nothing there changes before the end, except the line of the look.

    Args:
        program: A NAME, or a program whose name has a file in `programs/`.
        rubric: Scores drafts; `metrics/NAME.py` by default. Hidden measures count at the gate only.
        rows: `trainsets/NAME/` by default; rows without a split get one.
        optimizer: The method, or its name.
        caps: Hard stops; without `max_calls`, `compile_calls` of the settings holds (1,200). The
            worst case of the gate's look is kept back; a cap ends the search, and the best so far
            goes on to the gate. A search may use three fifths of `max_seconds`.
        **options: Seed, promotion, models and the rest; see `CompileRun`.

    Raises:
        BudgetError: `max_calls` does not even pay for the gate's look.
        OutageError: A model did not answer; nothing was measured and nothing is written.
        RedraftError: Program, rubric, rows or models are missing or wrong; no call was made.
    """
    run = CompileRun(**options)
    method = optimizer_named(optimizer) if isinstance(optimizer, str) else optimizer
    with opened(program, rubric, rows, run) as contest:
        allowance = open_allowance(contest.root, caps)
        job = _Job(
            contest=contest,
            method=method,
            run=replace(run, progress=_with_total(run.progress, allowance)),
            allowance=allowance,
            reserve=reserve_look(contest, run.limits, allowance.calls),
        )
        return _compile(job)


def search_task(
    contest: Contest, run: CompileRun, reserve: Reserve, allowance: Allowance
) -> SearchTask:
    """Return what an optimizer is given: everything but the rows of gate and test."""
    meter = allowance.stage(keep_calls=reserve.calls, share=SEARCH_SHARE)
    rubric = contest.rubric.visible()
    rows_run = EvaluationRun(seed=run.seed, threads=run.threads, meter=meter)
    return SearchTask(
        program=contest.base,
        opponent=contest.opponent.state(),
        rubric=rubric,
        train=contest.train,
        val=contest.val,
        seed=run.seed,
        limits=reserve.limits,
        trials=Trials(contest.base, rubric, rows_run, run.progress),
    )


def _compile(job: _Job) -> Compilation:
    task = search_task(job.contest, job.run, job.reserve, job.allowance)
    found = job.contest.base.with_state(_search(job, task))
    if found.state() == job.contest.opponent.state():
        return _ended(job, "unchanged", task.trials.notes)
    needed = look_calls(job.contest, found.loop)
    lead = _lead(job, task, found, keep_calls=needed)
    if lead is None:
        return _concluded(job, found, _ended(job, "not_compared", task.trials.notes))
    if not lead.is_gain:
        return _concluded(job, found, _without_look(job, lead, "no_lead", task.trials.notes))
    if needed > job.allowance.calls_left:
        return _concluded(job, found, _without_look(job, lead, "no_calls", task.trials.notes))
    result = look(job.contest, found, job.run, job.allowance.stage())
    return _concluded(job, found, _after_look(job, result, task.trials.notes))


def _search(job: _Job, task: SearchTask) -> ProgramState:
    """Return what the optimizer found, or its best so far where a cap ended it."""
    try:
        return job.method.search(task)
    except Stop:
        task.trials.note("A cap ended the search, so its best so far was taken.")
        return task.trials.best or task.opponent


def _lead(job: _Job, task: SearchTask, found: Program, *, keep_calls: int) -> Lead | None:
    """Return the lead on `val`; None where a cap leaves nothing to compare."""
    meter = job.allowance.stage(keep_calls=keep_calls)
    try:
        return compare_on_val(task, found, task.trials.paid_by(meter, job.run.progress))
    except Stop:
        return None


def _ended(job: _Job, ending: Ending, notes: Sequence[str]) -> Compilation:
    return Compilation(
        program=job.contest.name,
        optimizer=job.method.name,
        seed=job.run.seed,
        ending=ending,
        verdict="not_confirmed",
        opponent=job.contest.opponent_name,
        usage=job.allowance.spent,
        seconds=job.allowance.seconds,
        notes=(*job.contest.notes, *notes),
    )


def _without_look(job: _Job, lead: Lead, ending: Ending, notes: Sequence[str]) -> Compilation:
    return replace(
        _ended(job, ending, notes),
        before=lead.before,
        after=lead.after,
        effect=lead.effect,
        smallest_detectable=lead.smallest_detectable,
    )


def _after_look(job: _Job, result: GateResult, notes: Sequence[str]) -> Compilation:
    return replace(
        _ended(job, "gate_cut_short" if result.effect is None else "gate", notes),
        verdict=result.verdict,
        before=result.before,
        after=result.after,
        effect=result.effect,
        smallest_detectable=result.smallest_detectable,
        look=result.look,
    )


def _concluded(job: _Job, found: Program, compilation: Compilation) -> Compilation:
    """Write the artifact, then what the look said, and only then change `CURRENT`."""
    contest = job.contest
    artifact = build_artifact(found, lineage=contest.lineage(), search=_settings(job))
    compilation = replace(compilation, artifact_id=artifact.id)
    write_artifact(
        contest.root,
        artifact,
        evaluation=_evaluation(compilation),
        prompts=prompts_text(found.named(contest.name, artifact.id), contest.opponent),
    )
    if compilation.look is not None:
        record_outcome(
            contest.root,
            contest.name,
            look_number=compilation.look.number,
            outcome=compilation.verdict,
            artifact_id=artifact.id,
        )
    return _promoted(job, artifact, compilation)


def _promoted(job: _Job, artifact: Artifact, compilation: Compilation) -> Compilation:
    contest = job.contest
    if not _may_promote(job.run, compilation):
        return compilation
    if current(contest.root, contest.name) != contest.opponent_id:
        note = (
            "CURRENT was changed while this compile ran, so it was not promoted over an artifact "
            "it was never measured against; compile again."
        )
        return replace(compilation, notes=(*compilation.notes, note))
    reason = Reason(
        who="redraft compile",
        why=f"{compilation.verdict}, promote={job.run.promote}",
        opponent=contest.opponent_name,
        look=None if compilation.look is None else compilation.look.number,
    )
    promote(contest.root, contest.name, artifact.id, reason=reason)
    return replace(compilation, promoted=True)


def _may_promote(run: CompileRun, compilation: Compilation) -> bool:
    if run.promote == "always":
        return True
    accepted = {"confirmed": ("confirmed",), "likely": ("confirmed", "likely"), "never": ()}
    return compilation.verdict in accepted[run.promote]


def _settings(job: _Job) -> Search:
    limits = job.reserve.limits
    settings: dict[str, object] = {
        "train_rows": limits.train_rows,
        "sizes": list(limits.sizes),
        "sets_per_size": limits.sets_per_size,
        "mark": limits.mark,
        "max_revisions": limits.max_revisions,
        "on_fail": None if limits.on_fail is None else list(limits.on_fail),
        "max_calls": job.allowance.calls,
    }
    return Search(job.method.name, job.run.seed, settings)


def _evaluation(compilation: Compilation) -> dict[str, object]:
    record = compilation.record()
    decided_later = ("artifact_id", "promoted")
    return {
        **{name: value for name, value in record.items() if name not in decided_later},
        "seconds": compilation.seconds,
        "versions": {
            "python": ".".join(map(str, sys.version_info[:3])),
            "redraft": version("redraft"),
            "dspy": version("dspy"),
        },
    }


def _with_total(progress: Progress | None, allowance: Allowance) -> Progress | None:
    """Return the callback with the spend of all stages in place of the stage's own."""
    if progress is None:
        return None

    def report(stage: str, done: int, total: int, usage: Usage) -> None:  # noqa: ARG001
        progress(stage, done, total, allowance.spent)

    return report
