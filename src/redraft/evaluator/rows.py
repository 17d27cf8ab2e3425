"""A program answers rows, and a rubric scores what it answered."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from dataclasses import dataclass, replace
from pathlib import Path

from redraft.budget import Meter
from redraft.errors import ConfigError
from redraft.evaluator.results import Evaluation, RowResult, row_record
from redraft.loop import replay
from redraft.program import Program
from redraft.records import Answer, Attempt, Loop, Row, Score, Split, Usage
from redraft.rubric import Rubric
from redraft.session import AnswerRun, answer_of

Progress = Callable[[int, int, Usage], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationRun:
    """How rows are worked through.

    Attributes:
        seed: Draws the models' seeds, with row id and attempt.
        threads: Rows at a time, 1 or more; None for as many as the models take.
        meter: The command's meter; None for no caps.
        progress: Called after every row with rows done, rows in all, and spend so far.
        sink: A file that gets one JSON object a row, written and flushed row by row.
        batches: Folder of the batches under way, to ask for all drafts in one batch; None to ask
            row by row. Only `evaluate` can.
    """

    seed: int = 0
    threads: int | None = None
    meter: Meter | None = None
    progress: Progress | None = None
    sink: Path | None = None
    batches: Path | None = None

    def __post_init__(self) -> None:
        if self.threads is not None and self.threads < 1:
            raise ConfigError(f"threads must be 1 or more, got {self.threads}")


def evaluate_rows(
    program: Program,
    rows: Sequence[Row],
    rubric: Rubric,
    run: EvaluationRun | None = None,
    *,
    split: Split,
) -> Evaluation:
    """Answer and score every row; results are in row order, whatever the number of threads.

    Args:
        program: With the models to answer with.
        rows: Rows to answer, with the program's inputs.
        rubric: Scores the drafts.
        run: How the rows are worked through.
        split: Where the rows come from.

    Raises:
        PrepareError: The program's `prepare` cannot read a row; no call was made then.
        CheckError: A check raised.
        MeasureError: A measure raised, or returned no number in [0, 1].
        ModelError: The program has no model to answer with, or it cannot be used.
    """
    run = run or EvaluationRun()
    meter = run.meter or Meter()
    full = [replace(row, inputs=program.facts(row.inputs, row.id)) for row in rows]

    def work(row: Row, row_with_facts: Row) -> RowResult:
        one = AnswerRun(
            seed=run.seed,
            seed_key=row.id,
            row_id=row.id,
            facts=row_with_facts.inputs,
            meter=meter,
            strict=True,
        )
        return score_answer(program.answer_run(row.inputs, one), row_with_facts, rubric)

    results: list[RowResult] = []
    with _lines_to(run.sink) as write, ThreadPoolExecutor(_threads(program, run)) as pool:

        def finish(result: RowResult) -> None:
            results.append(result)
            write(row_record(result, split))
            if run.progress is not None:
                run.progress(len(results), len(rows), meter.spent)

        futures = [
            pool.submit(copy_context().run, work, row, row_with_facts)
            for row, row_with_facts in zip(rows, full, strict=True)
        ]
        _finish_in_order(futures, meter, finish=finish)
    usage = sum((r.answer.usage for r in results), Usage())
    return Evaluation(program.name, program.artifact_id, split, tuple(results), usage)


def score_answer(answer: Answer, row: Row, rubric: Rubric) -> RowResult:
    """Return what the rubric says of an answer and of each attempt.

    Args:
        answer: What the program made of the row.
        row: The row; its inputs hold what `prepare` added.
        rubric: Scores the drafts.

    Raises:
        MeasureError: A measure raised, or returned no number in [0, 1].
    """
    group = row.group or row.id
    reason = _unmeasurable(answer)
    if reason is not None:
        return RowResult(row.id, group, answer, None, not_measured=reason)
    by_draft: dict[str, Score] = {}
    for attempt in answer.attempts:
        if attempt.draft not in by_draft:
            by_draft[attempt.draft] = rubric.score(row, attempt.draft)
    attempt_scores = tuple(by_draft[attempt.draft] for attempt in answer.attempts)
    if answer.returned is not None:
        score = attempt_scores[answer.returned - 1]
    else:
        score = rubric.zero(answer.failure.message if answer.failure else "there is no draft")
    return RowResult(row.id, group, answer, score, attempt_scores)


def replayed(result: RowResult, loop: Loop) -> RowResult:
    """Return what the same recorded attempts give under other loop settings.

    Args:
        result: Recorded with the same `on_fail` and at least as high a cap.
        loop: The settings to try.

    Raises:
        ValueError: The recording ends before these settings would have stopped.
    """
    if result.score is None or result.answer.returned is None:
        return result
    answer = _replayed_answer(result.answer, loop)
    assert answer.returned is not None
    scores = result.attempt_scores[: len(answer.attempts)]
    return replace(result, answer=answer, score=scores[answer.returned - 1], attempt_scores=scores)


def _replayed_answer(answer: Answer, loop: Loop) -> Answer:
    end = replay(answer, loop)
    same = end.stopped_by == answer.stopped_by and len(end.attempts) == len(answer.attempts)
    return answer_of(end, answer.usage if same else _spent(end.attempts), answer.artifact_id)


def _spent(attempts: Sequence[Attempt]) -> Usage:
    return sum((attempt.usage for attempt in attempts), Usage())


def _unmeasurable(answer: Answer) -> str | None:
    """Return why an answer says nothing about the program, if it does not.

    A checker that did not answer costs nothing but the loop: the draft is there. A drafter or
    reviser that did not answer leaves open what would have been returned.
    """
    failure = answer.failure
    if failure is None or failure.kind not in ("outage", "run_cap"):
        return None
    if failure.kind == "outage" and failure.role == "checker" and answer.returned is not None:
        return None
    return failure.message


def _threads(program: Program, run: EvaluationRun) -> int:
    if run.threads is not None:
        return run.threads
    models = program.models
    used = (models.drafter, models.checker, models.reviser) if models is not None else ()
    return min((model.parallel for model in used if model is not None), default=1)


def _finish_in_order(
    futures: Sequence[Future[RowResult]], meter: Meter, *, finish: Callable[[RowResult], None]
) -> None:
    """Hand on the results in order; if one fails, or the user interrupts, stop all others."""
    finished = False
    try:
        for future in futures:
            finish(future.result())
        finished = True
    finally:
        if not finished:
            meter.cancel()
            for future in futures:
                future.cancel()


@contextmanager
def _lines_to(path: Path | None) -> Iterator[Callable[[Mapping[str, object]], None]]:
    """Open a file of JSON Lines; each line is whole once it is written."""
    if path is None:
        yield lambda _: None
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8") as file:

        def write(record: Mapping[str, object]) -> None:
            file.write(json.dumps(record, ensure_ascii=False) + "\n")
            file.flush()

        yield write
