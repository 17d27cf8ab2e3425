"""The runs of a comparison put together: rows paired, cells filled, gains worked out."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from redraft.comparison.alternatives import Alternative
from redraft.comparison.gains import Gain, Square, corrected, gain_between, gains_of
from redraft.comparison.pairing import (
    cell_of,
    escaped_from,
    first_attempt,
    measured_rows,
    value_of,
)
from redraft.comparison.results import (
    AlternativeResult,
    Comparison,
    Feedback,
    Measured,
    Reread,
)
from redraft.comparison.subject import Pair, by_id
from redraft.errors import OutageError
from redraft.evaluator import Evaluation, RowResult, replayed
from redraft.looks import Look, looks
from redraft.program import Program
from redraft.records import Split, Usage

Results = Mapping[str, RowResult]
BASE_TITLE = "base, as its file stands"
_TOO_LONG = "its prompt does not fit the context of the drafter's model"


@dataclass(frozen=True, slots=True)
class Report:
    """Circumstances of a comparison.

    Attributes:
        split: Where the rows come from.
        seed: Of the intervals.
        look: The look that was written down; None where none was needed.
    """

    split: Split
    seed: int
    look: Look | None


def put_together(
    pair: Pair,
    others: Sequence[Alternative],
    evaluations: Mapping[str, Evaluation],
    report: Report,
) -> Comparison:
    """Pair the rows of all runs, and return what they say.

    Args:
        pair: Base and artifact.
        others: The alternatives.
        evaluations: By name: `base_on`, `compiled_on`, and each alternative that was run.
        report: Circumstances.

    Raises:
        OutageError: Not one row was measured in every cell.
    """
    on = {name: by_id(found.results) for name, found in evaluations.items()}
    ids = measured_rows([on["base_on"], on["compiled_on"]])
    reasons = tuple(
        dict.fromkeys(reason for found in evaluations.values() for reason in found.reasons)
    )
    if not ids:
        raise OutageError(
            f"no row was measured in every cell: {'; '.join(reasons)}; "
            "run it again when the model answers, or with a higher cap",
            model=_drafter(pair.compiled),
        )
    square = _square(on, ids)
    cells = {**square.cells(), "as_shipped": _shipped(pair, square)}
    usage = sum((found.usage for found in evaluations.values()), Usage())
    unchecked = pair.unchecked
    return Comparison(
        program=pair.base.name,
        artifact_id=pair.shipped.artifact_id,
        split=report.split,
        loop=pair.loop,
        n=len(ids),
        not_measured=len(on["base_on"]) - len(ids),
        reasons=reasons,
        cells={n: cell_of(rows, unchecked, seed=report.seed) for n, rows in cells.items()},
        gains=gains_of(square, seed=report.seed),
        unchecked=None if not unchecked else gains_of(square, value=unchecked, seed=report.seed),
        feedback=_feedback(others, on, ids, seed=report.seed),
        alternatives=_Alternatives(pair, on, ids, report.seed).measure(others),
        escaped={
            name: escaped_from(cells[name]) for name in ("base_on", "compiled_on", "as_shipped")
        },
        reread=_reread(pair, usage, report),
        usage=usage,
        notes=pair.notes,
        checker_outages=sum(found.checker_outages for found in evaluations.values()),
    )


def _square(on: Mapping[str, Results], ids: Sequence[str]) -> Square:
    base_on = [on["base_on"][id_] for id_ in ids]
    compiled_on = [on["compiled_on"][id_] for id_ in ids]
    return Square(
        base_off=[first_attempt(result) for result in base_on],
        base_on=base_on,
        compiled_off=[first_attempt(result) for result in compiled_on],
        compiled_on=compiled_on,
    )


def _shipped(pair: Pair, square: Square) -> Sequence[RowResult]:
    """Return the rows as the artifact answers them with its own loop setting.

    That setting is the one of the comparison, or it makes no revisions: then the first attempts
    are its answers, and no call is made for it.
    """
    own = pair.shipped.loop
    if own == pair.loop:
        return square.compiled_on
    if not own.enabled:
        return square.compiled_off
    return [replayed(result, own) for result in square.compiled_on]


def _feedback(
    others: Sequence[Alternative], on: Mapping[str, Results], ids: Sequence[str], *, seed: int
) -> Feedback:
    """Return the loop's gain minus the re-draws'; both start from the same first attempt."""
    redraws = next(other for other in others if other.name == "redraws")
    if redraws.left_out is not None:
        return Feedback(None, f"No feedback to measure: {redraws.left_out}.", none_sent=True)
    shared = _shared(on["redraws"], ids)
    if not shared:
        return Feedback(None, "Not measured: no row of the re-draws was.")
    ours = [on["compiled_on"][id_] for id_ in shared]
    theirs = [value_of(on["redraws"][id_]) for id_ in shared]
    groups = [result.group for result in ours]
    return Feedback(gain_between(theirs, [value_of(r) for r in ours], groups, seed=seed))


@dataclass(frozen=True, slots=True)
class _Alternatives:
    """Compares the compiled program, loop on, with each alternative, loop on."""

    pair: Pair
    on: Mapping[str, Results]
    ids: Sequence[str]
    seed: int

    def measure(self, others: Sequence[Alternative]) -> tuple[AlternativeResult, ...]:
        base = AlternativeResult("base", BASE_TITLE, self._measured("base_on"))
        found = [base, *map(self._result, others)]
        tested = [result.measured.gain for result in found if result.measured is not None]
        adjusted = iter(corrected(tested))
        return tuple(_with_gain(result, adjusted) for result in found)

    def _result(self, other: Alternative) -> AlternativeResult:
        if other.program is None:
            return AlternativeResult(other.name, other.title, None, other.left_out)
        if all(map(_is_too_long, self.on[other.name].values())):
            # As a score of 0 it would flatter whatever it is compared with.
            return AlternativeResult(other.name, other.title, None, _TOO_LONG)
        measured = self._measured(other.name)
        why = "no row of it was measured" if measured is None else None
        return AlternativeResult(other.name, other.title, measured, why)

    def _measured(self, arm: str) -> Measured | None:
        shared = _shared(self.on[arm], self.ids)
        if not shared:
            return None
        theirs = [self.on[arm][id_] for id_ in shared]
        ours = [self.on["compiled_on"][id_] for id_ in shared]
        off = [first_attempt(result) for result in theirs]
        return Measured(
            off=cell_of(off, self.pair.unchecked, seed=self.seed),
            on=cell_of(theirs, self.pair.unchecked, seed=self.seed),
            gain=gain_between(
                [value_of(r) for r in theirs],
                [value_of(r) for r in ours],
                [r.group for r in ours],
                seed=self.seed,
            ),
        )


def _is_too_long(result: RowResult) -> bool:
    failure = result.answer.failure
    return failure is not None and failure.kind == "too_long" and not result.answer.attempts


def _with_gain(result: AlternativeResult, adjusted: Iterator[Gain]) -> AlternativeResult:
    if result.measured is None:
        return result
    return replace(result, measured=replace(result.measured, gain=next(adjusted)))


def _shared(arm: Results, ids: Sequence[str]) -> list[str]:
    """Return the paired rows that one more arm measured too."""
    return [id_ for id_ in ids if arm[id_].score is not None]


def _reread(pair: Pair, usage: Usage, report: Report) -> Reread:
    subject, compiles = pair.subject, 0
    if subject.root is not None and report.look is not None:
        digest = report.look.rows_digest
        seen = looks(subject.root, pair.base.name, rows_digest=digest)
        compiles = sum(look.command == "compile" for look in seen)
    return Reread(
        replies=usage.reread,
        gate_is_test=subject.trainset.gate_is_test,
        compiles=compiles,
        look=None if report.look is None else report.look.number,
    )


def _drafter(program: Program) -> str:
    return "" if program.models is None else program.models.of("drafter").name
