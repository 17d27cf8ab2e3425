"""How a draft is judged offline: weighted measures in [0, 1], and the score they make."""

import math
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from pathlib import Path

from redraft.errors import MeasureError, RubricError
from redraft.project import load_attribute
from redraft.records import Check, Row, Score

Measured = float | tuple[float, str]
MeasureFunction = Callable[[Row, str], Measured]


@dataclass(frozen=True, slots=True)
class Measure:
    """One weighted function of a row and a draft.

    Attributes:
        id: Name of the rule; a check or criterion of the same id is the same rule.
        weight: Share in the score, relative to the other weights; 0 or more, and 0 means that
            the measure is reported beside the score.
        fn: `fn(row, draft)` returns a number in [0, 1], higher is better, or that and a sentence
            that says what is wrong. `row.inputs` holds the inputs and all that `prepare` added.
        must_pass: Whether the draft fails the rubric when this is below 1.
        hidden: Whether the search is kept from seeing it; reports show it beside the score.
    """

    id: str
    weight: float
    fn: MeasureFunction
    must_pass: bool = False
    hidden: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.id, str) or not self.id.strip():
            raise RubricError(f"a measure's id must be a word, got {self.id!r}")
        weight = _number(self.weight)
        if weight is None or weight < 0:
            raise RubricError(
                f"measure {self.id!r}: the weight must be a finite number of 0 or more, got "
                f"{self.weight!r}; use 0 to report the measure without scoring it"
            )
        if not callable(self.fn):
            raise RubricError(
                f"measure {self.id!r}: fn must be a function of row and draft, got {self.fn!r}"
            )

    @classmethod
    def of(cls, check: Check, weight: float, *, hidden: bool = False) -> "Measure":
        """Make a measure of a check: 1 where it is met, else 0 with the gap as the sentence.

        Args:
            check: The check; its id and `must_pass` are taken over.
            weight: As in `Measure`.
            hidden: As in `Measure`.
        """

        def measured(row: Row, draft: str) -> Measured:
            gap = check.fn(row.inputs, draft)
            if gap is None:
                return 1.0
            if not isinstance(gap, str):
                raise TypeError(f"its check returned {gap!r}; a check returns None or a sentence")
            return 0.0, gap

        return cls(check.id, weight, measured, must_pass=check.must_pass, hidden=hidden)


@dataclass(frozen=True, slots=True)
class Rubric:
    """All measures of one program.

    Attributes:
        measures: At least one, with ids of their own and at least one weight above 0.
        passing: The value in [0, 1] that a draft must reach to pass.
        name: The NAME it was loaded by; empty for a rubric made in memory.
    """

    measures: Sequence[Measure]
    passing: float = 0.8
    name: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "measures", tuple(self.measures))
        for measure in self.measures:
            if not isinstance(measure, Measure):
                raise RubricError(f"a rubric holds measures, got {measure!r}")
        ids = [measure.id for measure in self.measures]
        twice = sorted({id_ for id_ in ids if ids.count(id_) > 1})
        if twice:
            raise RubricError(f"two measures have the id {twice[0]!r}; give each one its own")
        if not any(measure.weight > 0 for measure in self.measures):
            given = ", ".join(ids) or "there are no measures"
            raise RubricError(f"no measure has a weight above 0 ({given}); a score needs one")
        passing = _number(self.passing)
        if passing is None or not 0 <= passing <= 1:
            raise RubricError(f"passing must be a number in [0, 1], got {self.passing!r}")

    def score(self, row: Row, draft: str) -> Score:
        """Measure one draft.

        Args:
            row: The row, with the inputs and all prepared facts in `row.inputs`.
            draft: The draft.

        Raises:
            MeasureError: A measure raised, or returned no finite number in [0, 1].
        """
        values: dict[str, float] = {}
        feedback: list[str] = []
        for measure in self.measures:
            value, sentence = self._measure(measure, row, draft)
            values[measure.id] = value
            if value < 1 and (measure.weight > 0 or measure.must_pass):
                feedback.append(sentence or f"{measure.id}: {value:.2f} of 1.")
        mean = self._mean(values)
        must_pass = all(values[m.id] == 1 for m in self.measures if m.must_pass)
        return Score(mean, values, must_pass and mean >= self.passing, tuple(feedback))

    def zero(self, reason: str) -> Score:
        """Return the score of an answer without a usable draft: 0, with the reason as feedback."""
        return Score(0.0, {measure.id: 0.0 for measure in self.measures}, False, (reason,))

    def visible(self) -> "Rubric":
        """Return the rubric that a search may see: this one without its hidden measures.

        Raises:
            RubricError: Nothing with a weight is left.
        """
        shown = tuple(measure for measure in self.measures if not measure.hidden)
        if not any(measure.weight > 0 for measure in shown):
            raise RubricError(
                "every measure with a weight is hidden, so a search has nothing to go by; "
                "set hidden=False on one of them"
            )
        return replace(self, measures=shown)

    def _mean(self, values: dict[str, float]) -> float:
        # `fsum` rounds once, so that all ones make exactly 1.
        weighted = math.fsum(m.weight * values[m.id] for m in self.measures)
        return weighted / math.fsum(m.weight for m in self.measures)

    def _measure(self, measure: Measure, row: Row, draft: str) -> tuple[float, str]:
        try:
            measured: object = measure.fn(row, draft)
        except Exception as error:
            message = f"raised {type(error).__name__}: {error}{_place(error)}"
            raise self._error(measure, row, message) from error
        value, sentence = _split(measured)
        if value is None or not 0 <= value <= 1:
            raise self._error(
                measure, row, f"returned {measured!r}; return a number in [0, 1], or that and text"
            )
        return value, sentence

    def _error(self, measure: Measure, row: Row, message: str) -> MeasureError:
        file = f"metrics/{self.name}.py: " if self.name else ""
        line = f" (line {row.line})" if row.line is not None else ""
        return MeasureError(
            f"{file}measure {measure.id!r}, row {row.id!r}{line}: {message}",
            program=self.name,
            measure_id=measure.id,
            row_id=row.id,
        )


def load_rubric(root: Path, name: str) -> Rubric:
    """Return RUBRIC of `metrics/NAME.py`.

    Raises:
        ProjectError: The file is missing or does not load.
        RubricError: It holds no rubric, two of them, or one that is wrong.
    """
    rubric = load_attribute(root, "metrics", name=name, attribute="RUBRIC", kind=Rubric)
    return replace(rubric, name=name)


def _split(measured: object) -> tuple[float | None, str]:
    """Return value and sentence of what a measure returned; no value where it is neither."""
    match measured:
        case (value, str(sentence)):
            return _number(value), sentence
        case _:
            return _number(measured), ""


def _number(value: object) -> float | None:
    if not isinstance(value, Real):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def _place(error: Exception) -> str:
    """Return where in the measure's own file it went wrong, as ` (FILE:LINE)`."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename != __file__]
    own = [frame for frame in frames if frame.filename == frames[0].filename]
    return f" ({Path(own[-1].filename).name}:{own[-1].lineno})" if own else ""
