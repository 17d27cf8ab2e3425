"""Measures, the score they make, and what a measure must not do."""

import math
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redraft.errors import MeasureError, ProjectError, RubricError
from redraft.records import Check, Row
from redraft.rubric import Measure, Rubric, load_rubric

ROW = Row("r1", {"request": "a kettle"}, line=12)

units = st.floats(0, 1)
weights = st.floats(0.001, 1000)


def constant(value: object) -> Callable[[Row, str], object]:
    """Return a measure's function that always says the same."""
    return lambda _row, _draft: value


def measure(value: object, *, id: str = "m", weight: float = 1.0, **options: bool) -> Measure:
    """Return a measure that always says the same."""
    return Measure(id, weight, constant(value), **options)


def score_error(fn: Callable[[Row, str], object]) -> MeasureError:
    """Return the error that scoring with this function ends in."""
    with pytest.raises(MeasureError) as caught:
        Rubric([Measure("on_topic", 1, fn)], name="letter").score(ROW, "draft")
    return caught.value


# Scores


def test_the_value_is_the_weighted_mean() -> None:
    """Weights are relative to each other."""
    rubric = Rubric([measure(1.0, id="a", weight=3), measure(0.0, id="b", weight=1)])

    score = rubric.score(ROW, "draft")

    assert score.value == 0.75
    assert score.measures == {"a": 1.0, "b": 0.0}


@given(st.lists(st.tuples(units, weights), min_size=1, max_size=12))
def test_the_value_lies_between_the_measures(pairs: list[tuple[float, float]]) -> None:
    """A mean is never outside of what it is the mean of, rounding included."""
    rubric = Rubric([measure(v, id=str(n), weight=w) for n, (v, w) in enumerate(pairs)])

    value = rubric.score(ROW, "draft").value

    values = [v for v, _ in pairs]
    assert min(values) - 1e-12 <= value <= max(values) + 1e-12
    assert 0 <= value <= 1


@given(st.lists(weights, min_size=1, max_size=12))
def test_all_ones_make_exactly_one(given_weights: list[float]) -> None:
    """A perfect draft has the value 1, so that it can be compared with ==."""
    rubric = Rubric([measure(1, id=str(n), weight=w) for n, w in enumerate(given_weights)])

    assert rubric.score(ROW, "draft").value == 1.0


def test_a_measure_of_weight_0_is_only_reported() -> None:
    """It changes neither the value nor the feedback."""
    rubric = Rubric([measure(1.0, id="a"), measure((0.0, "too long"), id="b", weight=0)])

    score = rubric.score(ROW, "draft")

    assert score.value == 1.0
    assert score.measures["b"] == 0.0
    assert score.feedback == ()


def test_passed_needs_the_mark() -> None:
    """The mark itself is enough."""
    assert Rubric([measure(0.8)], passing=0.8).score(ROW, "draft").passed
    assert not Rubric([measure(0.79)], passing=0.8).score(ROW, "draft").passed


def test_passed_needs_every_must_pass_measure() -> None:
    """A high value does not make up for one that is below 1."""
    rubric = Rubric([measure(1, id="a", weight=99), measure(0.9, id="b", must_pass=True)])

    score = rubric.score(ROW, "draft")

    assert score.value > 0.99
    assert not score.passed


def test_feedback_is_for_measures_below_one() -> None:
    """In the rubric's order, with the measure's own sentence where it gave one."""
    rubric = Rubric(
        [
            measure((1.0, "all good"), id="a"),
            measure((0.5, "names no date"), id="b"),
            measure(0.25, id="c"),
        ]
    )

    assert rubric.score(ROW, "draft").feedback == ("names no date", "c: 0.25 of 1.")


@pytest.mark.parametrize("value", [True, 1, Fraction(1, 1), (1, ""), (True, "fine")])
def test_every_kind_of_number_is_a_value(value: object) -> None:
    """`True` is 1 and `False` is 0, as everywhere in Python."""
    score = Rubric([measure(value)]).score(ROW, "draft")

    assert score.value == 1.0
    assert type(score.measures["m"]) is float


@pytest.mark.parametrize(
    "value",
    [7, -0.1, 1.0001, math.nan, math.inf, 10**400, None, "0.5", (0.5, 3), (7, "x"), [], {}],
)
def test_what_is_no_number_in_0_to_1_is_an_error(value: object) -> None:
    """The error names rubric, measure, row, line and the value."""
    error = score_error(constant(value))

    assert str(error) == (
        f"metrics/letter.py: measure 'on_topic', row 'r1' (line 12): returned {value!r}; "
        "return a number in [0, 1], or that and text"
    )
    assert (error.program, error.measure_id, error.row_id) == ("letter", "on_topic", "r1")


def test_a_measure_that_raises_is_an_error() -> None:
    """The message is the measure's own, with the line where it went wrong."""

    def fails(row: Row, draft: str) -> float:
        return float(row.reference[draft])  # type: ignore[arg-type]

    error = score_error(fails)

    line = fails.__code__.co_firstlineno + 1
    assert f"raised KeyError: 'draft' (test_rubric.py:{line})" in str(error)
    assert isinstance(error.__cause__, KeyError)


def test_zero_has_the_reason_as_feedback() -> None:
    """An answer without a usable draft scores 0 everywhere and does not pass."""
    score = Rubric([measure(1, id="a"), measure(1, id="b")], passing=0).zero("reply cut off")

    assert (score.value, score.measures, score.passed) == (0.0, {"a": 0.0, "b": 0.0}, False)
    assert score.feedback == ("reply cut off",)


# Measures of checks


def gap_of(inputs: object, draft: str) -> str | None:
    """Say what a draft lacks."""
    return None if "kettle" in draft else f"names no kettle, for {inputs}"


def test_a_measure_of_a_check_takes_its_id_and_must_pass() -> None:
    """They are one rule."""
    check = Check("kettle", gap_of, "Names the kettle.", must_pass=False)

    made = Measure.of(check, 2, hidden=True)

    assert (made.id, made.weight, made.must_pass, made.hidden) == ("kettle", 2, False, True)


def test_a_measure_of_a_check_is_0_with_the_gap() -> None:
    """What is told to the writer is also the feedback; the check sees the row's facts."""
    rubric = Rubric([Measure.of(Check("kettle", gap_of, "Names the kettle."), 1)])

    assert rubric.score(ROW, "a kettle").value == 1.0
    assert rubric.score(ROW, "a pan").feedback == (f"names no kettle, for {ROW.inputs}",)


def test_a_check_that_returns_no_gap_is_an_error() -> None:
    """A check that returns True is not silently met or unmet."""
    check = Check("kettle", lambda _inputs, _draft: True, "x")  # type: ignore[arg-type, return-value]

    with pytest.raises(MeasureError, match="its check returned True; a check returns None or a"):
        Rubric([Measure.of(check, 1)]).score(ROW, "draft")


def test_a_check_that_raises_names_its_own_line() -> None:
    """The place is in the check, not in the measure made of it."""

    def fails(_inputs: object, draft: str) -> str | None:
        return draft[99]

    with pytest.raises(MeasureError, match=f"test_rubric.py:{fails.__code__.co_firstlineno + 1}"):
        Rubric([Measure.of(Check("c", fails, "x"), 1)]).score(ROW, "draft")


# Hidden measures


def test_visible_leaves_hidden_measures_out() -> None:
    """A search sees neither their value nor their feedback; the mark stays."""
    rubric = Rubric([measure(1, id="a"), measure(0, id="b", hidden=True)], passing=0.6)

    score = rubric.visible().score(ROW, "draft")

    assert score.measures == {"a": 1.0}
    assert rubric.visible().passing == 0.6


def test_something_must_stay_visible() -> None:
    """A search with nothing to go by is refused before it spends anything."""
    with pytest.raises(RubricError, match="set hidden=False on one of them"):
        Rubric([measure(1, hidden=True), measure(1, id="b", weight=0)]).visible()


# What a rubric must be


@pytest.mark.parametrize("weight", [-1, math.nan, math.inf, 10**400, None, "2"])
def test_a_weight_is_a_finite_number_from_0(weight: float) -> None:
    """The measure and the value are named."""
    with pytest.raises(RubricError, match=f"measure 'm': the weight must .* got {weight!r}"):
        measure(1, weight=weight)


def test_weights_must_not_all_be_0() -> None:
    """The mean would divide by 0."""
    with pytest.raises(RubricError, match=r"no measure has a weight above 0 \(a, b\)"):
        Rubric([measure(1, id="a", weight=0), measure(1, id="b", weight=0)])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Rubric([]), "there are no measures"),
        (lambda: Rubric([measure(1), measure(0)]), "two measures have the id 'm'"),
        (lambda: Rubric([gap_of]), "a rubric holds measures, got <function gap_of"),
        (lambda: Rubric([measure(1)], passing=8), r"passing must be a number in \[0, 1\], got 8"),
        (lambda: Rubric([measure(1)], passing=math.nan), "passing must be a number"),
        (lambda: Measure("", 1, gap_of), "a measure's id must be a word, got ''"),
        (lambda: Measure("m", 1, "gap_of"), "measure 'm': fn must be a function of row and draft"),
    ],
)
def test_a_wrong_rubric_is_refused(make: Callable[[], object], message: str) -> None:
    """At load, before anything is spent."""
    with pytest.raises(RubricError, match=message):
        make()


# Files


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A project with one rubric."""
    (tmp_path / "metrics").mkdir()
    (tmp_path / "metrics" / "letter.py").write_text(
        "from redraft.rubric import Measure, Rubric\n"
        "RUBRIC = Rubric([Measure('a', 1, lambda row, draft: 1.0)])\n"
    )
    return tmp_path


def test_loads_a_rubric_under_its_name(root: Path) -> None:
    """Messages can then say which file is meant."""
    assert load_rubric(root, "letter").name == "letter"


def test_a_rubric_file_with_weights_of_0_names_the_line(root: Path) -> None:
    """File and line stand before the remedy."""
    path = root / "metrics" / "letter.py"
    path.write_text(path.read_text().replace("'a', 1", "'a', 0"))

    with pytest.raises(RubricError, match=r"^metrics/letter.py:2: no measure has a weight above 0"):
        load_rubric(root, "letter")


def test_a_missing_rubric_is_named(root: Path) -> None:
    """The rubrics that exist are listed."""
    with pytest.raises(ProjectError, match=r"no metrics/poem.py in .*metrics/ has letter"):
        load_rubric(root, "poem")


def test_a_rubric_may_take_checks_from_its_program(root: Path) -> None:
    """The program's file is imported by the name of its folder, and not kept under it."""
    (root / "programs").mkdir()
    (root / "programs" / "letter.py").write_text(
        "from redraft.records import Check\n"
        "CHECKS = [Check('short', lambda inputs, draft: None, 'Is short.')]\n"
    )
    (root / "metrics" / "letter.py").write_text(
        "from programs.letter import CHECKS\n"
        "from redraft.rubric import Measure, Rubric\n"
        "RUBRIC = Rubric([Measure.of(check, 1) for check in CHECKS])\n"
    )

    rubric = load_rubric(root, "letter")

    assert [measure.id for measure in rubric.measures] == ["short"]
    assert "programs.letter" not in sys.modules
