"""Measure candidates, pay for each row once, and remember the best so far."""

import dataclasses
import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from typing import NoReturn

from redraft.budget import Meter, Stop
from redraft.errors import OutageError
from redraft.evaluator import Evaluation, EvaluationRun, RowResult, evaluate_rows
from redraft.program import Program
from redraft.records import ProgramState, Row, Split, Usage
from redraft.rubric import Rubric

Progress = Callable[[str, int, int, Usage], None]


@dataclasses.dataclass(slots=True)
class Memory:
    """What a compile has learned so far.

    Attributes:
        results: By digest of the candidate's state, then by row.
        best: The state last offered; None where there was none.
        notes: What a person should know about the search.
    """

    results: dict[str, dict[str, RowResult]] = dataclasses.field(default_factory=dict)
    best: ProgramState | None = None
    notes: list[str] = dataclasses.field(default_factory=list)


class Trials:
    """Results by candidate and row, for one compile.

    Args:
        program: The program as its file stands, with its models.
        rubric: Scores the drafts.
        run: Seed, threads and the meter that pays.
        progress: Called with stage, rows done, rows in all and spend so far.
        memory: What is known already; nothing by default.
    """

    def __init__(
        self,
        program: Program,
        rubric: Rubric,
        run: EvaluationRun,
        progress: Progress | None = None,
        *,
        memory: "Memory | None" = None,
    ) -> None:
        self._program = program
        self._rubric = rubric
        self._run = run
        self._progress = progress
        self._memory = memory or Memory()

    @property
    def calls_left(self) -> int | None:
        """Calls that the search may still make; None for no cap."""
        return None if self._run.meter is None else self._run.meter.calls_left

    @property
    def best(self) -> ProgramState | None:
        """The state last offered; None where there was none."""
        return self._memory.best

    @property
    def notes(self) -> tuple[str, ...]:
        """What a person should know about the search, one sentence each."""
        return tuple(self._memory.notes)

    def fits(self, calls: int) -> bool:
        """Tell whether a stage with this worst case may start."""
        return self.calls_left is None or calls <= self.calls_left

    def offer(self, state: ProgramState) -> None:
        """Say that `state` is the best so far; it is what remains if a cap ends the search."""
        self._memory.best = state

    def note(self, sentence: str) -> None:
        """Keep a sentence for the report; the same one is kept once."""
        if sentence not in self._memory.notes:
            self._memory.notes.append(sentence)

    def measure(
        self, state: ProgramState, rows: Sequence[Row], *, stage: str, split: Split = "val"
    ) -> tuple[RowResult, ...]:
        """Return the results of a candidate on rows, in their order; known rows cost nothing.

        Raises:
            OutageError: A model did not answer.
            Stop: A cap of the command was reached; nothing of this call is remembered.
        """
        known = self._memory.results.setdefault(state_key(state), {})
        missing = [row for row in rows if row.id not in known]
        if missing:
            program = self._program.with_state(state)
            evaluation = evaluate_rows(
                program, missing, self._rubric, self._run_of(stage), split=split
            )
            require_measured(evaluation, program)
            known.update({result.row_id: result for result in evaluation.results})
        return tuple(known[row.id] for row in rows)

    def keep(self, state: ProgramState, results: Sequence[RowResult]) -> None:
        """Remember results that were not paid for, such as replayed ones."""
        known = self._memory.results.setdefault(state_key(state), {})
        for result in results:
            known.setdefault(result.row_id, result)

    def known(self, state: ProgramState) -> Mapping[str, RowResult]:
        """Return what is known of a candidate, by row."""
        return dict(self._memory.results.get(state_key(state), {}))

    def paid_by(self, meter: Meter, progress: Progress | None) -> "Trials":
        """Return trials that share everything known and that another meter pays for."""
        run = dataclasses.replace(self._run, meter=meter)
        return Trials(self._program, self._rubric, run, progress, memory=self._memory)

    def _run_of(self, stage: str) -> EvaluationRun:
        report = self._progress
        if report is None:
            return self._run
        return dataclasses.replace(
            self._run, progress=lambda done, total, usage: report(stage, done, total, usage)
        )


def state_key(state: ProgramState) -> str:
    """Return a digest that equal states share."""
    text = json.dumps(dataclasses.asdict(state), sort_keys=True, ensure_ascii=False, default=str)
    return hashlib.sha256(text.encode()).hexdigest()


def require_measured(evaluation: Evaluation, program: Program) -> None:
    """Return if every row is measured as it would be with all models at work.

    A checker that was down leaves a draft to score, but what its loop is worth stays open.

    Raises:
        OutageError: A model did not answer; it is named.
        Stop: A cap of the command kept rows from being measured.
    """
    unmeasured = [r for r in evaluation.results if r.score is None or _is_outage(r)]
    if not unmeasured:
        return
    if evaluation.cut_short:
        raise Stop("budget", "run")
    _raise_outage(evaluation, program, unmeasured)


def _is_outage(result: RowResult) -> bool:
    failure = result.answer.failure
    return failure is not None and failure.kind == "outage"


def _raise_outage(
    evaluation: Evaluation, program: Program, unmeasured: Sequence[RowResult]
) -> NoReturn:
    failure = next(r.answer.failure for r in unmeasured if r.answer.failure is not None)
    models = program.models
    name = "" if models is None else models.of(failure.role).name
    raise OutageError(
        f"model {name!r} did not answer for {len(unmeasured)} of {len(evaluation.results)} "
        f"{evaluation.split} rows, so they are not measured: {failure.message}; "
        "try again when it answers, replies recorded so far are reused",
        model=name,
    )
