"""Demos for the drafter: where they come from, how sets are drawn, what fits."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redraft.errors import TrainsetError
from redraft.evaluator import EvaluationRun, RowResult, evaluate_rows
from redraft.optimizers.demos import (
    drafter_outputs,
    earned_pool,
    labelled_pool,
    require_fitting,
    spread,
)
from redraft.program import Program
from redraft.records import Row
from redraft.rubric import Measure, Rubric
from redraft.testing import Scripted, models_of

ASKS = "request -> notice"


def row(number: int, **parts: object) -> Row:
    """Return a row with a reference."""
    inputs, reference = {"request": f"Ask {number}."}, {"draft": f"Say {number}."}
    made = Row(f"r{number}", inputs, reference, group=f"g{number}")
    return replace(made, **parts)  # type: ignore[arg-type]  # any field


def answered(program: Program, rows: list[Row], rubric: Rubric) -> tuple[RowResult, ...]:
    """Return what the program drafts for rows."""
    return evaluate_rows(program, rows, rubric, EvaluationRun(), split="train").results


def test_labelled_demo_holds_inputs_and_the_reference() -> None:
    """A demo's fields are the predictor's, and it names its row."""
    pool = labelled_pool(Program(ASKS), [row(1)])

    demo = pool.demos["r1"]

    assert demo.fields == {"request": "Ask 1.", "notice": "Say 1."}
    assert (demo.row_id, demo.model) == ("r1", None)


def test_prepared_fields_are_part_of_a_demo() -> None:
    """`prepare` runs before a demo is made, and its facts stay out of it."""
    program = Program(
        "request, sources -> notice",
        prepare=lambda inputs: {"sources": inputs["request"].upper(), "fact": 1},
        prepared=("sources",),
    )

    pool = labelled_pool(program, [row(1)])

    assert pool.demos["r1"].fields == {
        "request": "Ask 1.",
        "sources": "ASK 1.",
        "notice": "Say 1.",
    }


def test_row_without_a_reference_gives_no_labelled_demo() -> None:
    """Only rows that know an answer can show one."""
    pool = labelled_pool(Program(ASKS), [row(1), row(2, reference={})])

    assert [r.id for r in pool.rows] == ["r1"]


def test_further_outputs_come_from_the_reference() -> None:
    """A drafter with two outputs needs both in the reference."""
    program = Program("request -> plan, notice", draft_field="notice")
    full = row(1, reference={"draft": "Say 1.", "plan": "Be short."})

    pool = labelled_pool(program, [full, row(2)])

    assert list(pool.demos) == ["r1"]
    assert pool.demos["r1"].fields["plan"] == "Be short."
    assert drafter_outputs(program) == ("plan", "notice")


def test_answer_that_reaches_the_mark_becomes_a_demo() -> None:
    """An earned demo names the model that wrote it; one below the mark is left."""
    rubric = Rubric([Measure("good", 1.0, lambda _, draft: 1.0 if "1" in draft else 0.5)])
    program = Program(ASKS).with_models(models_of(["Fine 1.", "Fine 2."]))
    rows = [row(1), row(2)]

    pool = earned_pool(program, rows, answered(program, rows, rubric), rubric, mark=0.8)

    assert [(d.fields["notice"], d.model) for d in pool.demos.values()] == [
        ("Fine 1.", "scripted/test")
    ]


def test_answer_that_fails_a_must_pass_measure_is_no_demo() -> None:
    """A high score does not make up for a must-pass measure."""
    rubric = Rubric(
        [
            Measure("good", 9.0, lambda *_: 1.0),
            Measure("safe", 1.0, lambda *_: 0.0, must_pass=True),
        ]
    )
    program = Program(ASKS).with_models(models_of("Fine."))

    pool = earned_pool(program, [row(1)], answered(program, [row(1)], rubric), rubric, mark=0.5)

    assert pool.rows == ()


def test_answer_without_a_draft_is_no_demo() -> None:
    """An empty reply scores 0 and shows nothing."""
    rubric = Rubric([Measure("good", 1.0, lambda *_: 1.0)])
    program = Program(ASKS).with_models(models_of(lambda _: ""))

    pool = earned_pool(program, [row(1)], answered(program, [row(1)], rubric), rubric, mark=0.0)

    assert pool.rows == ()


def test_sets_of_one_place_begin_alike() -> None:
    """A larger set is a smaller one and more, so sizes are compared over the same demos."""
    pool = labelled_pool(Program(ASKS), [row(n) for n in range(20)])

    small, large = (pool.sets(size, number=1, seed=0)[0] for size in (2, 4))

    assert large[:2] == small


def test_sets_differ_and_follow_the_seed() -> None:
    """Sets of one size hold other demos, and the seed decides which."""
    pool = labelled_pool(Program(ASKS), [row(n) for n in range(20)])

    sets = pool.sets(4, number=3, seed=0)

    assert len(set(sets_of(sets))) == 3
    assert sets == pool.sets(4, number=3, seed=0)
    assert sets != pool.sets(4, number=3, seed=1)


def sets_of(sets: tuple[tuple[object, ...], ...]) -> list[str]:
    """Return sets as texts."""
    return [str(demos) for demos in sets]


def test_set_of_all_there_is_is_drawn_once() -> None:
    """The same demos in another order are no other set; more than there are is none."""
    pool = labelled_pool(Program(ASKS), [row(1), row(2)])

    assert len(pool.sets(2, number=3, seed=0)) == 1
    assert pool.sets(3, number=3, seed=0) == ()
    assert pool.sets(0, number=3, seed=0) == ()


@given(seed=st.integers(0, 50), place=st.integers(0, 5))
def test_spread_begins_with_every_tag(seed: int, place: int) -> None:
    """The first rows cover the tags, whichever seed."""
    rows = [row(n, tags=("common",) if n < 17 else (f"rare{n}",)) for n in range(20)]

    order = spread(rows, seed=seed, place=place)

    assert {r.tags for r in order[:4]} == {r.tags for r in rows}
    assert sorted(r.id for r in order) == sorted(r.id for r in rows)


def test_spread_takes_each_group_once_first() -> None:
    """Rows of one group say much the same, so the second of a group comes late."""
    rows = [row(n, group=f"g{n // 4}") for n in range(16)]

    order = spread(rows, seed=0, place=0)

    assert len({r.group for r in order[:4]}) == 4


def test_demo_larger_than_the_context_names_the_line() -> None:
    """A row that no prompt can hold is an error with line, field, size and limit."""
    program = Program(ASKS).named("notice")
    program = program.with_models(models_of(Scripted("x", context_tokens=30)))
    long = row(1, line=17, file="rows.csv", reference={"draft": "word " * 40})
    pool = labelled_pool(program, [row(2), long])

    with pytest.raises(TrainsetError) as caught:
        require_fitting(pool, program)

    (problem,) = caught.value.problems
    for fact in ("rows.csv line 17", "reference.draft", "'r1'", "43 tokens", "30"):
        assert fact in problem


def test_demos_fit_a_model_of_unknown_context() -> None:
    """Where no limit is known, none is enforced."""
    program = Program(ASKS).with_models(models_of("x"))

    require_fitting(labelled_pool(program, [row(1)]), program)
