"""Demos for the reviser: a draft that falls short, its gaps, and the reference that closes them."""

import random
import re
from collections.abc import Iterable, Iterator, Sequence

from redraft.evaluator import RowResult
from redraft.optimizers.demos import REFERENCE_DRAFT, drafter_inputs, spread
from redraft.program import Program
from redraft.records import Demo, Row, Verdict
from redraft.signatures import GAPS, PREVIOUS_DRAFT

_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
_DROPPED_WORDS = 3


def reviser_demos(
    program: Program, rows: Sequence[Row], results: Iterable[RowResult], *, seed: int, most: int
) -> tuple[Demo, ...]:
    """Return demos made from rows with a reference, the model's own failed drafts first.

    A failed draft is one the opponent wrote; where it wrote none that fails, the reference is
    broken mechanically. Gaps come from the program's checks alone, so no model is asked, and a
    reference that itself fails a must-pass check is not used.

    Args:
        program: With a `revise` predictor of the usual fields.
        rows: `train` rows.
        results: What the opponent drafted for some of them.
        seed: Seed of the search.
        most: Demos wanted.
    """
    drafts = {r.row_id: r.answer.attempts[0].draft for r in results if r.answer.attempts}
    own: list[Demo] = []
    broken: list[Demo] = []
    for row in spread(rows, seed=seed, place=0):
        reference = row.reference.get(REFERENCE_DRAFT)
        if not isinstance(reference, str) or _judged(program, row, reference).blocking:
            continue
        failed = drafts.get(row.id)
        demo = None if failed is None else _demo(program, row, failed, reference)
        if demo is not None:
            own.append(demo)
        elif (demo := _broken_demo(program, row, reference, seed)) is not None:
            broken.append(demo)
    return tuple((own + broken)[:most])


def has_usual_fields(program: Program) -> bool:
    """Tell whether the reviser takes the drafter's inputs, the draft and the gaps, no more."""
    if "revise" not in program.state().predictors:
        return False
    signature = program.revise.signature
    usual = {*program.input_fields, *program.prepared, PREVIOUS_DRAFT, GAPS}
    return set(signature.input_fields) == usual and list(signature.output_fields) == [
        program.draft_field
    ]


def breakages(draft: str, *, seed: int) -> Iterator[str]:
    """Yield drafts that lack or repeat something: a sentence, the longest words, all of it.

    Args:
        draft: A good draft.
        seed: Decides which comes first.
    """
    makers = [_without_last_sentence, _without_longest_words, _twice_as_long]
    random.Random(f"{seed}/{draft}").shuffle(makers)
    for make in makers:
        broken = make(draft)
        if broken and broken != draft:
            yield broken


def _broken_demo(program: Program, row: Row, reference: str, seed: int) -> Demo | None:
    for broken in breakages(reference, seed=seed):
        demo = _demo(program, row, broken, reference)
        if demo is not None:
            return demo
    return None


def _demo(program: Program, row: Row, failed: str, reference: str) -> Demo | None:
    """Return the demo, or None where no must-pass check finds a gap."""
    verdict = _judged(program, row, failed)
    if not verdict.blocking or failed == reference:
        return None
    unmet = [f for f in verdict.findings if f.status == "unmet"]
    gaps = [f.gap for f in sorted(unmet, key=lambda f: not f.must_pass)]
    fields = {
        **drafter_inputs(program, row),
        PREVIOUS_DRAFT: failed,
        GAPS: "\n".join(f"- {gap}" for gap in gaps),
        program.draft_field: reference,
    }
    return Demo(fields, row_id=row.id)


def _judged(program: Program, row: Row, draft: str) -> Verdict:
    return program.judge(program.facts(row.inputs, row.id), draft, row.id)


def _without_last_sentence(draft: str) -> str:
    return " ".join(_SENTENCE_END.split(draft.strip())[:-1])


def _without_longest_words(draft: str) -> str:
    words = draft.split()
    longest = sorted(words, key=len, reverse=True)[:_DROPPED_WORDS]
    return " ".join(word for word in words if word not in longest)


def _twice_as_long(draft: str) -> str:
    return f"{draft} {draft}"
