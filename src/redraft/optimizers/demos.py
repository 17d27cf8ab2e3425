"""Demos for the drafter: labelled ones from rows, earned ones from answers that score well."""

import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest
from typing import Literal

from redraft.errors import TrainsetError
from redraft.evaluator import RowResult
from redraft.program import Program
from redraft.records import Demo, Row, Score
from redraft.rubric import Rubric

Source = Literal["labelled", "earned"]

REFERENCE_DRAFT = "draft"


@dataclass(frozen=True, slots=True)
class Pool:
    """Demos of one source, by the row each was made from.

    Attributes:
        source: `labelled`: the row's reference; `earned`: an answer that reached the mark.
        rows: Rows that gave a demo, in the trainset's order.
        demos: One per row, by row id.
    """

    source: Source
    rows: tuple[Row, ...]
    demos: Mapping[str, Demo]

    def sets(self, size: int, *, number: int, seed: int) -> tuple[tuple[Demo, ...], ...]:
        """Return up to `number` different sets of `size` demos, spread over tags and groups.

        Sets of other sizes with the same place in the list begin with the same demos, so sizes
        are compared over the same material.
        """
        if size < 1 or len(self.rows) < size:
            return ()
        found: dict[frozenset[str], tuple[Demo, ...]] = {}
        for place in range(number):
            chosen = spread(self.rows, seed=seed, place=place)[:size]
            names = frozenset(row.id for row in chosen)
            found.setdefault(names, tuple(self.demos[row.id] for row in chosen))
        return tuple(found.values())


def labelled_pool(program: Program, rows: Sequence[Row]) -> Pool:
    """Return a demo for every row whose reference gives all that the drafter puts out.

    Raises:
        PrepareError: The program's `prepare` cannot read a row.
    """
    outputs = drafter_outputs(program)
    demos: dict[str, Demo] = {}
    for row in rows:
        given = {name: row.reference.get(_label(program, name)) for name in outputs}
        if outputs and all(value is not None for value in given.values()):
            demos[row.id] = Demo({**drafter_inputs(program, row), **given}, row_id=row.id)
    return _pool("labelled", rows, demos)


def earned_pool(
    program: Program,
    rows: Sequence[Row],
    results: Iterable[RowResult],
    rubric: Rubric,
    *,
    mark: float,
) -> Pool:
    """Return a demo for every answer that reaches the mark and every must-pass measure.

    Args:
        program: Whose drafter, with the loop off, answered.
        rows: The rows that were answered.
        results: One per row; all measured.
        rubric: Names the must-pass measures.
        mark: Score in [0, 1] that an answer must reach.
    """
    by_id = {row.id: row for row in rows}
    writer = None if program.models is None else program.models.of("drafter").name
    demos: dict[str, Demo] = {}
    for result in results:
        draft, score = result.answer.draft, result.score
        if draft is None or score is None or not reaches(score, rubric, mark=mark):
            continue
        inputs = drafter_inputs(program, by_id[result.row_id])
        fields = {**inputs, program.draft_field: draft}
        demos[result.row_id] = Demo(fields, row_id=result.row_id, model=writer)
    return _pool("earned", rows, demos)


def reaches(score: Score, rubric: Rubric, *, mark: float) -> bool:
    """Tell whether a score reaches the mark with every must-pass measure at 1."""
    must_pass = (score.measures[m.id] == 1 for m in rubric.measures if m.must_pass)
    return score.value >= mark and all(must_pass)


def spread(rows: Sequence[Row], *, seed: int, place: int) -> tuple[Row, ...]:
    """Return the rows in a seeded order whose start covers many tags and groups.

    Args:
        rows: Rows to order.
        seed: Seed of the search.
        place: Number of the order; each number gives another one.
    """
    draw = random.Random(f"{seed}/{place}")
    strata: defaultdict[tuple[str, ...], list[Row]] = defaultdict(list)
    for row in draw.sample(rows, len(rows)):
        strata[row.tags].append(row)
    turns = zip_longest(*strata.values())
    order = [row for row in chain.from_iterable(turns) if row is not None]
    seen: Counter[str] = Counter()
    nth_of_group: dict[str, int] = {}
    for row in order:
        nth_of_group[row.id] = seen[row.group]
        seen[row.group] += 1
    return tuple(sorted(order, key=lambda row: nth_of_group[row.id]))


def drafter_inputs(program: Program, row: Row) -> dict[str, object]:
    """Return the drafter's input fields for a row, prepared ones included."""
    facts = program.facts(row.inputs, row.id)
    return {name: facts[name] for name in (*program.input_fields, *program.prepared)}


def drafter_outputs(program: Program) -> tuple[str, ...]:
    """Return the drafter's output fields; empty where it is a module of several predictors."""
    if "draft" not in program.state().predictors:
        return ()
    return tuple(program.draft.signature.output_fields)


def require_fitting(pool: Pool, program: Program) -> None:
    """Return if every demo fits the model's context on its own.

    Raises:
        TrainsetError: One does not; file, line, field, size and limit are named.
    """
    models = program.models
    limit = None if models is None else models.of("drafter").context_tokens
    if limit is None:
        return
    problems = [
        f"{_place(row)}: field reference.{REFERENCE_DRAFT} of row {row.id!r} makes a demo of "
        f"{size} tokens, and the context of the drafter's model holds {limit}"
        for row in pool.rows
        if (size := tokens_of(program, pool.demos[row.id].fields.values())) > limit
    ]
    if problems:
        raise TrainsetError(
            f"trainset {program.name!r} has rows that no prompt can show as a demo; shorten "
            "them, leave out their reference, or use a model with a larger context",
            problems,
        )


def tokens_of(program: Program, values: Iterable[object]) -> int:
    """Return the tokens of texts for the drafter's model; bytes where only it can count."""
    models = program.models
    model = None if models is None else models.of("drafter")
    total = 0
    for value in values:
        text = str(value)
        counted = None if model is None else model.count_tokens(text)
        total += len(text.encode()) if counted is None else counted
    return total


def _label(program: Program, output: str) -> str:
    return REFERENCE_DRAFT if output == program.draft_field else output


def _pool(source: Source, rows: Sequence[Row], demos: Mapping[str, Demo]) -> Pool:
    return Pool(source, tuple(row for row in rows if row.id in demos), demos)


def _place(row: Row) -> str:
    return "rows made in memory" if row.line is None else f"{row.file} line {row.line}"
