"""A comparison as a person reads it: what was found, and what was not."""

from dataclasses import replace
from typing import Any

import pytest

from redraft.comparison import (
    AlternativeResult,
    Cell,
    Comparison,
    Escaped,
    Feedback,
    Gain,
    Gains,
    Measured,
    PassGain,
    Reread,
)
from redraft.records import Loop, Usage
from redraft.report.comparison import claim, comparison_markdown, comparison_text
from redraft.report.sections import Section, markdown, plain_text, signed
from redraft.statistics import Effect


def effect(estimate: float, low: float | None, high: float | None, differing: int = 30) -> Effect:
    """Return an effect on 60 rows in 20 groups."""
    p = None if low is None else 0.01
    return Effect(estimate, low, high, p, p, p, 60, 20, differing)


def gain(
    estimate: float,
    low: float | None = None,
    high: float | None = None,
    *,
    missing: float | None = 0.4,
    **parts: Any,
) -> Gain:
    """Return a gain on rows that would show 0.08."""
    differing = 4 if low is None else 30
    return Gain(effect(estimate, low, high, differing), 0.08, missing=missing, **parts)


def cell(mean: float, calls: float = 1.0, **parts: Any) -> Cell:
    """Return a cell whose interval is a tenth on each side."""
    values = {"pass_rate": mean - 0.1, "cost_usd": 0.0, "unchecked_mean": mean - 0.05, **parts}
    return Cell(mean, mean - 0.1, min(1.0, mean + 0.1), calls_per_answer=calls, **values)


GAINS = Gains(
    build_time=gain(0.25, 0.15, 0.35),
    answer_time=gain(0.03, -0.04, 0.09),
    interaction=gain(-0.02, -0.1, 0.06, missing=None),
    total=gain(0.28, 0.17, 0.39),
    simple={},
    passes=PassGain(0.4, 0.75, 0.00042),
)
COMPARISON = Comparison(
    program="product_blurb",
    artifact_id="0123456789ab",
    split="test",
    loop=Loop(on_fail="resample"),
    n=60,
    not_measured=0,
    reasons=(),
    cells={
        "base_off": cell(0.55),
        "base_on": cell(0.6, 1.8),
        "compiled_off": cell(0.82),
        "compiled_on": cell(0.83, 1.2),
        "as_shipped": cell(0.83, 1.2),
    },
    gains=GAINS,
    unchecked=GAINS,
    feedback=Feedback(None, "No feedback to measure: the loop draws again.", none_sent=True),
    alternatives=(
        AlternativeResult(
            "base",
            "base, as its file stands",
            Measured(cell(0.55), cell(0.6, 1.8), gain(0.23, 0.12, 0.34, p_holm=0.002)),
        ),
        AlternativeResult("labelled_demos", "4 labelled demos", None, "no row has one"),
    ),
    escaped={
        "base_on": Escaped(30, 6, 0.36),
        "compiled_on": Escaped(50, 2, 0.12),
        "as_shipped": Escaped(50, 2, 0.12),
    },
    reread=Reread(replies=0, gate_is_test=False, compiles=0, look=3),
    usage=Usage(calls=300),
)

TEXT = """\
product_blurb: artifact 0123456789ab and base on 60 rows of test (20 groups)
  score     loop off           loop on            calls an answer  pass rate
  base      0.55 [0.45, 0.65]  0.60 [0.50, 0.70]  1.0 / 1.8        0.45 / 0.50
  compiled  0.82 [0.72, 0.92]  0.83 [0.73, 0.93]  1.0 / 1.2        0.72 / 0.73
  As shipped: 0.83 [0.73, 0.93], 1.2 calls an answer, 73 % pass the rubric.
  Brackets are 95 % intervals. Loop off is the first attempt of the run with the loop on.

What slips through
  Compiled, loop on: 2 of the 50 answers that passed the check fail the rubric all the same: 4 %,
    and at most 12 % (95 % bound, rows taken as independent).
  Base, loop on: 6 of the 30 answers that passed the check fail the rubric all the same: 20 %, and
    at most 36 % (95 % bound, rows taken as independent).

What each half was worth
  Compiling: +0.25 [+0.15, +0.35], a gain; 62 % of what was missing. These 60 rows would show gains
    from 0.08 up.
  Looping: +0.03 [-0.04, +0.09], no gain found. These 60 rows would show gains from 0.08 up.
  Both together: +0.28 [+0.17, +0.39], a gain; 70 % of what was missing. These 60 rows would show
    gains from 0.08 up.
  Interaction: -0.02 [-0.10, +0.06], no sign that looping is worth more or less once compiled.
  No feedback to measure: the loop draws again.
  Rows that pass the rubric: 40 % before, 75 % with both (exact McNemar p = 0.00042, rows taken as
    independent).
  On measures that no check or criterion decides: 0.50 before, 0.78 with both; +0.28 [+0.17, +0.39],
    a gain.

What else would do
  alternative               loop off  loop on  calls an answer  compiled against it
  base, as its file stands  0.55      0.60     1.8              +0.23 [+0.12, +0.34], a gain
  All have the same loop; the last column is compiled minus alternative, loop on.
  4 labelled demos: left out, no row has one.
  A gain is claimed where the interval is above 0 and p, corrected for the number of alternatives
    (Holm), is below 0.05.

What this does not show
  It shows nothing about other models, or about rows unlike these.
  No gain found does not mean none: smaller gains than these rows would show may well be missed.
  The intervals allow for one row, unseen, that loses or wins everything; rarer or larger accidents
    they cannot see."""


def changed(**changes: Any) -> str:
    """Return the text of the comparison with some fields changed, its lines joined."""
    return " ".join(comparison_text(replace(COMPARISON, **changes)).split())


def test_text_is_pinned() -> None:
    """The report on a terminal, word by word."""
    assert comparison_text(COMPARISON) == TEXT


def test_markdown_has_the_same_parts() -> None:
    """Markdown holds the same headings, tables and sentences."""
    found = comparison_markdown(COMPARISON)

    assert found.count("## ") == 5
    assert "| base | 0.55 [0.45, 0.65] | 0.60 [0.50, 0.70] | 1.0 / 1.8 | 0.45 / 0.50 |" in found
    assert "- Looping: +0.03 [-0.04, +0.09], no gain found." in found


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (gain(0.2, 0.1, 0.3), "a gain"),
        (gain(-0.2, -0.3, -0.1), "a loss"),
        (gain(0.05, -0.1, 0.2), "no gain found"),
        (gain(0.05), "no gain found: too few rows differ (4 groups)"),
        (gain(0.2, 0.1, 0.3, p_holm=0.2), "no gain found once corrected"),
    ],
)
def test_claim(found: Gain, words: str) -> None:
    """A gain is one only where the interval, and the correction, say so."""
    assert claim(found).startswith(words)


def test_one_group_is_one_group() -> None:
    """Counts agree with their nouns."""
    assert claim(Gain(effect(0.1, None, None, differing=1), None)).endswith("(1 group)")


def test_no_headroom_has_its_own_words() -> None:
    """Where hardly anything was missing, that is said."""
    gains = replace(GAINS, build_time=gain(0.005, -0.01, 0.02, missing=0.01))

    assert "no headroom: hardly anything was missing before" in changed(gains=gains)


def test_rows_that_could_show_nothing_are_named() -> None:
    """Too few rows for any gain are called that."""
    nothing = replace(gain(0.1), smallest_detectable=None)

    assert "No gain would show on these 60 rows." in changed(gains=replace(GAINS, total=nothing))


@pytest.mark.parametrize(
    ("interaction", "words"),
    [
        (gain(0.1, 0.02, 0.2), "looping is worth more once compiled"),
        (gain(-0.1, -0.2, -0.02), "looping is worth less once compiled"),
    ],
)
def test_interaction_in_words(interaction: Gain, words: str) -> None:
    """The sign of the interaction is put into words."""
    assert words in changed(gains=replace(GAINS, interaction=interaction))


def test_feedback_has_a_sentence_where_it_was_measured() -> None:
    """What the gaps were worth stands beside what looping was worth."""
    text = changed(feedback=Feedback(gain(0.1, 0.04, 0.2)))

    assert "Feedback, beyond drawing again: +0.10 [+0.04, +0.20], a gain" in text


def test_feedback_without_words_has_no_sentence() -> None:
    """Nothing is said where there is nothing to say."""
    assert "eedback to measure" not in changed(feedback=Feedback(None))


def test_dropped_rows_are_counted_with_the_reason() -> None:
    """Rows that one cell lacks are named, and the model that did not answer."""
    text = changed(not_measured=2, reasons=("scripted/test did not answer.",))

    assert "2 rows were not measured in every cell" in text
    assert "scripted/test did not answer." in text


def test_reread_rows_are_named() -> None:
    """Rows that the gate used too are no fresh test."""
    text = changed(reread=Reread(replies=40, gate_is_test=True, compiles=1, look=3))

    assert "Re-read: these rows are also the gate's" in text
    assert "1 compile has looked at them" in text
    assert "40 of 300 calls were answered from recorded replies." in text


@pytest.mark.parametrize(
    ("gate_is_test", "compiles", "words"),
    [(False, 2, "2 compiles have looked"), (True, 0, "No compile has looked")],
)
def test_looks_of_compiles_are_counted(gate_is_test: bool, compiles: int, words: str) -> None:
    """How often compiles have looked at these rows is said."""
    reread = Reread(replies=0, gate_is_test=gate_is_test, compiles=compiles, look=3)

    assert words in changed(reread=reread)


def test_no_passed_answers_has_its_own_words() -> None:
    """A share of no answers is not 0 %."""
    escaped = {**COMPARISON.escaped, "base_on": Escaped(0, 0, None)}

    assert "no answer passed the check, so none could slip through" in changed(escaped=escaped)


def test_rubric_of_checks_alone_is_named() -> None:
    """A loop that stops on what it is scored on proves little."""
    assert "Every measure of the rubric is a rule" in changed(unchecked=None)


@pytest.mark.parametrize(
    ("cost_usd", "words"),
    [(None, "at an unknown price"), (0.5, "$0.5000 in all"), (0.0, "1.2 calls an answer, 73 %")],
)
def test_price_of_the_shipped_answers(cost_usd: float | None, words: str) -> None:
    """Dollars stand beside calls; an unknown price is called that."""
    shipped = cell(0.83, 1.2, cost_usd=cost_usd)

    assert words in changed(cells={**COMPARISON.cells, "as_shipped": shipped})


def test_too_few_rows_have_no_interval() -> None:
    """A mean of a handful of rows stands alone."""
    few = replace(cell(0.83), low=None, high=None)

    text = changed(cells={**COMPARISON.cells, "as_shipped": few})

    assert "As shipped: 0.83 (too few rows for an interval)" in text


def test_programs_made_in_memory_have_words() -> None:
    """Neither a name nor an id is needed."""
    assert changed(program="", artifact_id=None).startswith("the program: compiled and base")


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.25, "+0.25"), (-0.1, "-0.10"), (0.0, "0.00"), (0.0021, "+0.0021"), (-0.00001, "0.00")],
)
def test_signed_numbers(value: float, text: str) -> None:
    """A difference that is not 0 never reads as 0."""
    assert signed(value) == text


def test_cells_of_a_markdown_table_are_escaped() -> None:
    """A bar in a cell stays in it."""
    section = Section("Title", (("a", "b"), ("x|y", "z")))

    assert "| x\\|y | z |" in markdown([section], level=3)
    assert markdown([section], level=3).startswith("### Title")


def test_sections_may_hold_sentences_alone() -> None:
    """A section without a table is its title and its sentences."""
    assert plain_text([Section("Title", items=("One.",))]) == "Title\n  One."


def test_sentences_are_wrapped_at_the_width() -> None:
    """A narrow terminal breaks no line of its own."""
    shown = plain_text([Section("Title", items=("One two three four.",))], width=12)

    assert shown == "Title\n  One two\n    three\n    four."


def test_answers_that_went_unchecked_are_named() -> None:
    """A checker that was down is no result of the loop."""
    text = comparison_text(
        replace(COMPARISON, checker_outages=3, reasons=("model 'local/x' did not answer",))
    )

    assert "3 answers, over all runs, went unchecked" in text
    assert "local/x" in text
