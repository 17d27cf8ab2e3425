"""Rows whose drafts are asked for in one batch, at the prices of batches."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from redraft.budget import Meter
from redraft.errors import ConfigError, ModelError
from redraft.evaluator.results import Evaluation
from redraft.evaluator.rows import EvaluationRun, evaluate_rows
from redraft.lm import Models
from redraft.lm.batches import Batch, batch_engine
from redraft.program import Program
from redraft.records import Row, Split, Usage
from redraft.rubric import Rubric


def evaluate_batch(
    program: Program,
    rows: Sequence[Row],
    rubric: Rubric,
    run: EvaluationRun,
    *,
    split: Split,
    folder: Path,
) -> Evaluation:
    """Answer and score every row with one call each, handed in as one batch.

    What is recorded is not asked again. A batch that was handed in before and not fetched is gone
    on with. Rows whose request errored or expired are not measured.

    Args:
        program: With its models, and its loop off.
        rows: Rows to answer.
        rubric: Scores the drafts.
        run: How the rows are worked through; its caps must have room for all of them at once.
        split: Where the rows come from.
        folder: Where batches under way are written down.

    Raises:
        ConfigError: The program needs more than one call a row.
        ModelError: The drafter's model takes no batches, or cannot be used.
        BudgetError: A cap has no room for the batch; nothing was handed in.
        OutageError: The provider failed or the time is over; the batch may go on.
        PrepareError: The program's `prepare` cannot read a row; no call was made then.
        MeasureError: A measure raised, or returned no number in [0, 1].
    """
    models = check_batchable(program)
    batch = Batch(models.of("drafter"), folder)
    asked = program.with_models(replace(models, drafter=batch.model))
    # The first time round only notes what is to be asked.
    dry = Meter()
    noting = EvaluationRun(seed=run.seed, threads=1, meter=dry)
    evaluate_rows(asked, rows, rubric, noting, split=split)
    meter = run.meter or Meter()

    def watch(done: int, total: int) -> None:
        if run.progress is not None:
            run.progress(done, total, Usage())

    batch.fetch(meter, reread=dry.spent.reread, watch=watch)
    evaluation = evaluate_rows(asked, rows, rubric, replace(run, meter=meter), split=split)
    batch.close()
    return evaluation


def check_batchable(program: Program) -> Models:
    """Return the models of a program whose answers can be asked for in one batch.

    Raises:
        ConfigError: An answer takes more than one call.
        ModelError: The drafter's model takes no batches, or none is named.
    """
    if program.loop.enabled and (program.checks or program.criteria):
        raise ConfigError("a batch takes one call a row; turn the loop off with --no-loop")
    calls = len(program.draft.predictors())
    if calls != 1:
        raise ConfigError(f"a batch takes one call a row, and a draft here takes {calls}")
    if program.models is None:
        raise ModelError("no model is named; pass models=", model="")
    batch_engine(program.models.of("drafter"))
    return program.models
