"""How a compile ended, in words, with what to do next."""

from dataclasses import replace

import pytest

from redraft.compilation import Compilation, Ending
from redraft.evaluator import Evaluation, EvaluationRun, evaluate_rows
from redraft.looks import Look
from redraft.program import Program
from redraft.records import Row, Usage
from redraft.report.compilation import compilation_text
from redraft.rubric import Measure, Rubric
from redraft.statistics import Effect, GateVerdict
from redraft.testing import models_of

ROWS = [Row(f"r{n}", {"request": f"Ask {n}."}, group=f"r{n}", split="gate") for n in range(8)]
RUBRIC = Rubric([Measure("words", 1.0, lambda _, draft: len(draft) / 10)])
LOOK = Look(
    number=2,
    split="gate",
    command="compile",
    artifact_id=None,
    rows_digest="d",
    level=0.0132,
    when="2026-01-01T00:00:00+00:00",
)
EFFECT = Effect(0.4, 0.2, 0.6, 0.002, 0.001, 0.999, 8, 8, 8)


def evaluated(draft: str, split: str = "gate") -> Evaluation:
    """Return an evaluation in which every draft is the same."""
    program = Program("request -> notice").with_models(models_of(draft))
    return evaluate_rows(program, ROWS, RUBRIC, EvaluationRun(), split=split)  # type: ignore[arg-type]


COMPARED = Compilation(
    program="notice",
    optimizer="bootstrap",
    seed=0,
    ending="gate",
    verdict="confirmed",
    opponent="base",
    artifact_id="0123456789ab",
    promoted=True,
    before=evaluated("four"),
    after=evaluated("eightish"),
    effect=EFFECT,
    smallest_detectable=0.25,
    look=LOOK,
    usage=Usage(calls=120, reread=20),
    seconds=61.4,
    notes=("The rules are pasted in.",),
)
BARE = replace(COMPARED, before=None, after=None, effect=None, look=None, notes=())


def test_confirmed_gain_is_told_with_its_numbers() -> None:
    """Decision, both sides, the gain, what the gate could tell, the spend, the next step."""
    assert compilation_text(COMPARED) == (
        """notice: The gain is confirmed.
opponent base: mean score 0.400, 0% pass the rubric
compiled 0123456789ab: mean score 0.800, 100% pass the rubric
gain on 8 gate rows in 8 groups: +0.400 (95 % +0.200 to +0.600)
smallest gain these rows would show: 0.250
look 2 at the gate: one-sided p 0.0010, level 0.0132
The rules are pasted in.
120 calls, 20 of them recorded replies, 61 s, $0.00
0123456789ab answers now; see what it says in compiled/notice/0123456789ab/PROMPTS.md"""
    )


@pytest.mark.parametrize(
    ("verdict", "words"),
    [
        ("likely", "likely, but not confirmed"),
        ("not_confirmed", "No gain was confirmed."),
        ("worse", "worse than the opponent"),
    ],
)
def test_every_verdict_has_its_words(verdict: GateVerdict, words: str) -> None:
    """What was found stays there for a person to promote."""
    text = compilation_text(replace(COMPARED, verdict=verdict, promoted=False))

    assert words in text
    assert "redraft artifacts notice promote 0123456789ab promotes it all the same" in text


@pytest.mark.parametrize(
    ("ending", "words"),
    [
        ("not_compared", "before the candidate was compared"),
        ("no_lead", "the gate did not look. No gain was found, which is a normal outcome"),
        ("no_calls", "do not pay for the gate's look"),
        ("gate_cut_short", "a cap ended the gate's look"),
    ],
)
def test_every_ending_has_its_words(ending: Ending, words: str) -> None:
    """Where the gate did not decide, the reader learns why."""
    bare = replace(BARE, ending=ending, verdict="not_confirmed", promoted=False)

    assert words in compilation_text(bare)


def test_nothing_found_says_what_to_try() -> None:
    """No artifact, no path to read."""
    text = compilation_text(
        replace(BARE, ending="unchanged", artifact_id=None, promoted=False, verdict="not_confirmed")
    )

    assert "nothing better than the opponent was found" in text
    assert text.endswith("add rows to trainsets/notice, or try again with another --seed.")


def test_cap_asks_for_a_larger_one() -> None:
    """A compile that was cut short is tried again with more."""
    text = compilation_text(replace(BARE, ending="not_compared", promoted=False))

    assert text.endswith("with a larger --max-calls or --max-seconds.")


def test_numbers_of_val_are_marked_as_flattered() -> None:
    """A reader must not take a chosen number for a measured one."""
    compared = replace(COMPARED, before=evaluated("four", "val"), after=evaluated("five!", "val"))

    assert "(val was chosen on, which flatters it)" in compilation_text(compared)


def test_too_few_differences_claim_nothing() -> None:
    """Without an interval there is no p either."""
    nothing = replace(EFFECT, low=None, high=None, p=None, p_greater=None, p_less=None)

    text = compilation_text(replace(COMPARED, effect=nothing, smallest_detectable=None))

    assert "+0.400 (no interval)" in text
    assert "too few rows differ for a p" in text


def test_tiny_p_is_a_bound() -> None:
    """Random flips cannot tell smaller ones apart."""
    tiny = replace(EFFECT, p_greater=0.00005)

    assert "one-sided p below 0.0001" in compilation_text(replace(COMPARED, effect=tiny))


def test_unknown_cost_is_not_0() -> None:
    """A price that nobody knows is said to be unknown."""
    text = compilation_text(replace(COMPARED, usage=Usage(calls=3, cost_usd=None)))

    assert "3 calls, 61 s, unknown cost" in text


@pytest.mark.parametrize(
    ("verdict", "promoted", "exit_code"),
    [("confirmed", False, 0), ("likely", True, 3), ("worse", True, 3), ("worse", False, 3)],
)
def test_exit_code_follows_the_verdict_whatever_is_promoted(
    verdict: GateVerdict, promoted: bool, exit_code: int
) -> None:
    """3 is a finished compile with a negative outcome."""
    assert replace(COMPARED, verdict=verdict, promoted=promoted).exit_code == exit_code
