"""Run base, artifact and alternatives over the same rows, and say what each half was worth."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Unpack

from redraft.budget import Meter
from redraft.comparison.alternatives import Alternative, alternatives_to
from redraft.comparison.assembly import Report, put_together
from redraft.comparison.results import Comparison
from redraft.comparison.subject import Options, Pair, open_pair
from redraft.evaluator import Evaluation, EvaluationRun, evaluate_rows
from redraft.evaluator.rows import Progress
from redraft.evaluator.subject import RowsGiven
from redraft.program import Program
from redraft.records import Row, Split, Usage
from redraft.rubric import Rubric


def compare(
    program: Program | str,
    rubric: Rubric | None = None,
    rows: RowsGiven = None,
    **options: Unpack[Options],
) -> Comparison:
    """Measure what compiling bought, what looping bought, both, and what slips through.

    Args:
        program: The program as its file stands, or its NAME.
        rubric: By default `metrics/NAME.py`'s.
        rows: A whole trainset; by default that of `trainsets/NAME/`.
        **options: The artifact, the rows to answer, caps and so on; see `Options`.

    Returns:
        The comparison; rows that a cell lacks are dropped from all cells and counted.

    Raises:
        ConfigError: Program, rubric or rows cannot be loaded, or there is nothing to compare with.
        ArtifactError: There is no artifact, or it cannot be used.
        PrepareError: The program's `prepare` cannot read a row.
        CheckError: A check raised.
        MeasureError: A measure raised, or returned no number in [0, 1].
        ModelError: No model is named, or it cannot be used.
        OutageError: Not one row was measured in every cell.
    """
    plan = _plan(program, rubric, rows, options)
    split, seed = options.get("split", "test"), options.get("seed", 0)
    look = plan.pair.subject.look(split, command="compare")
    evaluations = _Runner(plan.rows, plan.pair.subject.rubric, split, options).run(plan.programs)
    return put_together(plan.pair, plan.others, evaluations, Report(split, seed, look))


@dataclass(frozen=True, slots=True)
class Plan:
    """What a comparison would run.

    Attributes:
        pair: Base and artifact.
        others: The alternatives.
        rows: Each program answers all of these.
    """

    pair: Pair
    others: tuple[Alternative, ...]
    rows: tuple[Row, ...]

    @property
    def programs(self) -> dict[str, Program]:
        """Every program that answers the rows, by the name of its file of rows."""
        found = {"base_on": self.pair.base, "compiled_on": self.pair.compiled}
        return found | {o.name: o.program for o in self.others if o.program is not None}


def plan_comparison(
    program: Program | str,
    rubric: Rubric | None = None,
    rows: RowsGiven = None,
    **options: Unpack[Options],
) -> Plan:
    """Return what `compare` would run with the same arguments; nothing is spent or written down.

    Raises:
        ConfigError: Program, rubric or rows cannot be loaded, or there is nothing to compare with.
        ArtifactError: There is no artifact, or it cannot be used.
        PrepareError: The program's `prepare` cannot read a row.
    """
    return _plan(program, rubric, rows, options)


def _plan(program: Program | str, rubric: Rubric | None, rows: RowsGiven, options: Options) -> Plan:
    pair = open_pair(program, rubric, rows, options)
    chosen = pair.subject.rows(options.get("split", "test"), options.get("limit"))
    others = alternatives_to(
        pair.base,
        pair.compiled,
        pair.train,
        against=options.get("against"),
        seed=options.get("seed", 0),
    )
    return Plan(pair, others, chosen)


@dataclass(frozen=True, slots=True)
class _Runner:
    """Answers the same rows with one program after the other, under one meter."""

    rows: Sequence[Row]
    rubric: Rubric
    split: Split
    options: Options

    def run(self, programs: Mapping[str, Program]) -> dict[str, Evaluation]:
        meter = Meter(self.options.get("caps"))
        out = self.options.get("out")
        found = {}
        for done, (name, program) in enumerate(programs.items()):
            run = EvaluationRun(
                seed=self.options.get("seed", 0),
                threads=self.options.get("threads"),
                meter=meter,
                progress=self._progress(done, len(programs)),
                sink=None if out is None else Path(out) / f"{name}.jsonl",
            )
            found[name] = evaluate_rows(program, self.rows, self.rubric, run, split=self.split)
        return found

    def _progress(self, runs_done: int, runs: int) -> Progress | None:
        """Return a callback that counts over all runs."""
        progress = self.options.get("progress")
        if progress is None:
            return None

        def count(done: int, of: int, usage: Usage) -> None:
            progress(runs_done * of + done, runs * of, usage)

        return count
