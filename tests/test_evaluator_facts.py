"""Rows that do not fit their program, and rubrics that crash, found before a call is made."""

from pathlib import Path

import pytest
from small_project import NAME

from redraft.compiler import compile_program
from redraft.errors import MeasureError, TrainsetError
from redraft.evaluator import evaluate, score_references, with_facts
from redraft.looks import looks
from redraft.program import load_base
from redraft.records import Row
from redraft.rubric import Measure, Rubric
from redraft.trainset import load_trainset


def spoil(root: Path) -> None:
    """Give every row a number where the program takes a text."""
    path = root / "trainsets" / NAME / "rows.jsonl"
    lines = [f'{{"id": "n{n}", "inputs": {{"request": {n}}}}}\n' for n in range(60)]
    path.write_text("".join(lines), "utf-8")


def test_rows_of_the_wrong_type_are_listed_with_file_and_line(root: Path) -> None:
    """All at once, so that one look at the file is enough."""
    spoil(root)
    program, rows = load_base(root, NAME), load_trainset(root, NAME).rows

    with pytest.raises(TrainsetError) as caught:
        with_facts(program, rows[:2])

    first, second = caught.value.problems
    assert first.startswith("trainsets/notice/rows.jsonl:1: row 'n0': input 'request' must be")
    assert second.startswith("trainsets/notice/rows.jsonl:2: ")
    assert str(caught.value).startswith("2 rows do not fit notice:")


def test_a_long_list_is_cut(root: Path) -> None:
    """The heading still tells how many there are."""
    spoil(root)

    with pytest.raises(TrainsetError, match="60 rows do not fit notice; the first 40:") as caught:
        with_facts(load_base(root, NAME), load_trainset(root, NAME).rows)

    assert len(caught.value.problems) == 40


def test_a_row_made_in_memory_is_named_by_its_id(root: Path) -> None:
    """It has neither file nor line."""
    with pytest.raises(TrainsetError, match="1 row does not fit") as caught:
        with_facts(load_base(root, NAME), [Row("a", {"request": 3})])

    assert caught.value.problems[0].startswith("row 'a': ")


def test_evaluate_and_compile_say_so_before_a_look(root: Path) -> None:
    """Both find it before a call and before a look."""
    spoil(root)

    with pytest.raises(TrainsetError, match=r"rows\.jsonl:\d+: row 'n\d+'"):
        evaluate(NAME, root=root, split="test")
    with pytest.raises(TrainsetError, match=r"rows\.jsonl:\d+: row 'n\d+'"):
        compile_program(NAME, root=root)

    assert looks(root, NAME) == ()


def test_a_rubric_that_crashes_is_found_on_reference_drafts() -> None:
    """Rows without a reference draft are passed over."""
    rubric = Rubric([Measure("kind", 1.0, lambda row, _draft: float(row.inputs["tone"] == "kind"))])
    rows = [Row("a", {}), Row("b", {"tone": "kind"}, reference={"draft": "Hello."})]

    score_references(rubric, rows)
    with pytest.raises(MeasureError, match=r"row 'c'.*KeyError"):
        score_references(rubric, [*rows, Row("c", {}, reference={"draft": "Hello."})])
