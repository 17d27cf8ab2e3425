"""Demos for the reviser: drafts that fall short, with their gaps."""

from dataclasses import replace

import pytest

from redraft.evaluator import EvaluationRun, RowResult, evaluate_rows
from redraft.optimizers.reviser import breakages, has_usual_fields, reviser_demos
from redraft.program import Program
from redraft.records import Check, Loop, Row
from redraft.rubric import Measure, Rubric
from redraft.testing import models_of

RUBRIC = Rubric([Measure("any", 1.0, lambda *_: 1.0)])
REVISE = Loop(max_revisions=1, on_fail="revise")


def gap_of(_: object, draft: str) -> str | None:
    """Return the gap of a draft without the word needed."""
    return None if "needed" in draft else "The word is missing."


NEEDED = Check("needed", gap_of, "Say the word.")
POLITE = Check(
    "polite",
    lambda _, draft: None if "please" in draft else "It is blunt.",
    "Be polite.",
    must_pass=False,
)


def program(**parts: object) -> Program:
    """Return a program that revises."""
    return Program("request -> notice", checks=[POLITE, NEEDED], loop=REVISE, **parts)  # type: ignore[arg-type]


def row(number: int, draft: str = "All that is needed, please. Thanks.") -> Row:
    """Return a row with a reference."""
    id_ = f"r{number}"
    return Row(id_, {"request": f"Ask {number}."}, {"draft": draft}, group=id_, split="train")


def drafted(text: str, rows: list[Row]) -> tuple[RowResult, ...]:
    """Return results in which every row got this draft."""
    made = Program("request -> notice").with_models(models_of(lambda _: text))
    return evaluate_rows(made, rows, RUBRIC, EvaluationRun(), split="train").results


def test_failed_draft_becomes_a_demo_with_its_gaps() -> None:
    """Must-pass gaps come first, as the loop sends them; the reference closes them."""
    rows = [row(1)]

    (demo,) = reviser_demos(program(), rows, drafted("Hello.", rows), seed=0, most=4)

    assert demo.fields == {
        "request": "Ask 1.",
        "previous_draft": "Hello.",
        "gaps": "- The word is missing.\n- It is blunt.",
        "notice": "All that is needed, please. Thanks.",
    }
    assert demo.row_id == "r1"


def test_draft_that_passes_gives_way_to_a_broken_reference() -> None:
    """Where the model did not fail, the reference is broken until a check finds a gap."""
    rows = [row(1)]

    (demo,) = reviser_demos(program(), rows, drafted("needed", rows), seed=0, most=4)

    assert "needed" not in str(demo.fields["previous_draft"])
    assert "- The word is missing." in str(demo.fields["gaps"])


def test_reference_that_fails_a_check_is_not_shown() -> None:
    """A reference must close the gap that it is shown for."""
    rows = [row(1, draft="Nothing of the sort.")]

    assert reviser_demos(program(), rows, drafted("Hello.", rows), seed=0, most=4) == ()


def test_row_without_a_reference_is_passed_over() -> None:
    """There is nothing to revise towards."""
    rows = [replace(row(1), reference={})]

    assert reviser_demos(program(), rows, (), seed=0, most=4) == ()


def test_own_failures_come_before_broken_references() -> None:
    """What the model did wrong teaches more than what was broken on purpose."""
    rows = [row(n) for n in range(4)]
    results = drafted("Hello.", rows[3:])

    demos = reviser_demos(program(), rows, results, seed=0, most=2)

    assert demos[0].row_id == "r3"
    assert len(demos) == 2


def test_draft_that_cannot_be_broken_gives_no_demo() -> None:
    """Some checks pass whatever is taken away."""
    lenient = Check("lenient", lambda *_: None, "Anything goes.")
    made = Program("request -> notice", checks=[lenient], loop=REVISE)

    assert reviser_demos(made, [row(1)], (), seed=0, most=4) == ()


def test_breakages_lack_or_repeat_something() -> None:
    """A sentence, the longest words, or the length is wrong, in a seeded order."""
    broken = list(breakages("Short one. A considerably longer sentence.", seed=0))

    assert sorted(broken) == sorted(
        [
            "Short one.",
            "Short one. A",
            "Short one. A considerably longer sentence. Short one. A considerably longer sentence.",
        ]
    )
    assert broken == list(breakages("Short one. A considerably longer sentence.", seed=0))


def test_single_word_can_only_be_repeated() -> None:
    """Nothing is left of one word when something is taken away."""
    assert list(breakages("Word", seed=0)) == ["Word Word"]


@pytest.mark.parametrize(
    ("signature", "usual"),
    [
        (None, True),
        ("request, previous_draft, gaps -> notice", True),
        ("request, tone, previous_draft, gaps -> notice", False),
        ("request, previous_draft, gaps -> why, notice", False),
    ],
)
def test_demos_are_made_for_revisers_with_the_usual_fields(
    signature: str | None, usual: bool
) -> None:
    """A reviser with further fields would be shown demos that lack them."""
    assert has_usual_fields(program(revise=signature)) is usual


def test_program_that_draws_again_has_no_reviser() -> None:
    """Without a reviser there is nobody to show demos to."""
    assert not has_usual_fields(program().with_loop(Loop(on_fail="resample")))
