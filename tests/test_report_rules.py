"""The rule table of `redraft validate`: what it says of each rule, and when it warns."""

import json

import pytest

from redraft.program import Program
from redraft.records import Check, Criterion, Loop, Row
from redraft.report.rules import Rule, RuleTable, make_rule_table, render_rule_table
from redraft.rubric import Measure, Rubric


def no_gap(_inputs: object, _draft: str) -> str | None:
    """Find nothing to complain about."""
    return None


def half(_row: Row, _draft: str) -> float:
    """Score every draft 0.5."""
    return 0.5


SHORT = Check("short", no_gap, "Under 40 words.")
DATES = Check("dates", no_gap, "Names every date.", told=False)
PLAIN = Criterion("plain_words", "Every sentence is plain English.", must_pass=False, told=True)


def table(
    measures: list[Measure],
    *,
    checks: tuple[Check, ...] = (SHORT,),
    criteria: tuple[Criterion, ...] = (),
) -> RuleTable:
    """Return the rule table of a small program."""
    program = Program("request -> notice", checks=checks, criteria=criteria, loop=Loop())
    return make_rule_table(program.named("letter"), Rubric(measures))


def test_a_rule_joins_check_and_measure_by_id() -> None:
    """One line says all about it."""
    (rule, _) = table([Measure.of(SHORT, 3), Measure("tone", 1, half)]).rules

    assert rule == Rule(
        id="short",
        told=True,
        checked_by="code",
        must_pass=True,
        scored=True,
        weight=3.0,
        share=0.75,
        hidden=False,
        sentence="Under 40 words.",
    )


def test_checks_come_first_then_criteria_then_measures() -> None:
    """In the order of the files."""
    made = table([Measure("tone", 1, half), Measure("plain_words", 1, half)], criteria=(PLAIN,))

    assert [(rule.id, rule.checked_by) for rule in made.rules] == [
        ("short", "code"),
        ("plain_words", "model"),
        ("tone", None),
    ]


def test_overlap_is_the_weight_that_checks_decide() -> None:
    """What the model decides, or nobody, is not in it."""
    made = table(
        [Measure.of(SHORT, 1), Measure("plain_words", 1, half), Measure("tone", 2, half)],
        criteria=(PLAIN,),
    )

    assert made.overlap == 0.25


@pytest.mark.parametrize(
    ("measures", "checks", "criteria", "warning"),
    [
        (
            [Measure.of(SHORT, 1), Measure("tone", 1, half)],
            (SHORT,),
            (),
            "'tone' is scored but told to nobody: the drafter can learn it from demos only",
        ),
        (
            [Measure.of(DATES, 1), Measure("tone", 1, half, hidden=True)],
            (DATES,),
            (),
            "'dates' is scored but told to nobody: the drafter can learn it from demos and gaps",
        ),
        (
            [Measure("plain_words", 1, half)],
            (SHORT,),
            (PLAIN,),
            "'short' is checked but not scored: revisions are spent on what the rubric does not",
        ),
        (
            [Measure.of(SHORT, 0), Measure("plain_words", 1, half)],
            (SHORT,),
            (PLAIN,),
            "'short' is checked but not scored: revisions are spent on what the rubric does not",
        ),
        (
            [Measure.of(SHORT, 1), Measure("tone", 1, half, hidden=True)],
            (SHORT,),
            (PLAIN,),
            "criterion 'plain_words' has no measure in metrics/letter.py, so only people can say",
        ),
        ([Measure.of(SHORT, 1)], (SHORT,), (), "checks decide all that is scored"),
    ],
)
def test_warns_of_a_rule_that_stands_alone(
    measures: list[Measure],
    checks: tuple[Check, ...],
    criteria: tuple[Criterion, ...],
    warning: str,
) -> None:
    """Scored but told to nobody, checked but not scored, a criterion without a measure."""
    (found,) = table(measures, checks=checks, criteria=criteria).warnings

    assert found.startswith(warning)


def test_warns_of_a_criterion_named_by_one_word() -> None:
    """A gap that holds the word could not be used, so the draft would never pass."""
    criterion = Criterion("short", "It is brief.", told=True)

    (found,) = table([Measure("short", 1, half)], checks=(), criteria=(criterion,)).warnings

    assert found.startswith("criterion 'short' is named by one word")


def test_a_hidden_measure_is_not_warned_about() -> None:
    """It is meant to be told to nobody."""
    made = table([Measure.of(SHORT, 1), Measure("tone", 1, half, hidden=True)])

    assert made.warnings == ()


def test_the_record_is_json() -> None:
    """`--json` prints it as it is."""
    record = table([Measure.of(SHORT, 1)]).record()

    assert json.loads(json.dumps(record)) == record
    assert list(record) == ["program", "rules", "overlap", "warnings"]


def test_the_text_is_a_table() -> None:
    """One line for each rule, columns aligned; then what there is to think about."""
    made = table(
        [
            Measure.of(SHORT, 3),
            Measure("plain_words", 0, half),
            Measure("tone", 1, half, hidden=True),
        ],
        criteria=(PLAIN,),
    )

    assert render_rule_table(made) == (
        "rule         told  checked by  must pass  weight  share  hidden  what it says\n"
        "short        yes   code        yes        3       75%    no      Under 40 words.\n"
        "plain_words  yes   model       no         0       -      no      "
        "Every sentence is plain English.\n"
        "tone         no    nobody      -          1       25%    yes\n"
        "\n"
        "overlap: 75% of the rubric's weight is decided by checks\n"
        "warning: 'plain_words' is checked but not scored: revisions are spent on what the rubric "
        "does not see; give its measure in metrics/letter.py a weight\n"
    )
