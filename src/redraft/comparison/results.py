"""The record of a comparison: cells, gains, alternatives, what slipped through."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass

from redraft.comparison.alternatives import AlternativeName
from redraft.comparison.gains import Gain, Gains
from redraft.comparison.pairing import Cell, Escaped
from redraft.records import Loop, Split, Usage


@dataclass(frozen=True, slots=True)
class Measured:
    """What an alternative did.

    Attributes:
        off: Its first attempts, on the rows that it and all cells measured.
        on: The same with the loop on.
        gain: `compiled_on` minus this, p corrected over the alternatives.
    """

    off: Cell
    on: Cell
    gain: Gain


@dataclass(frozen=True, slots=True)
class AlternativeResult:
    """An alternative and what came of it.

    Attributes:
        name: Key in the record.
        title: What it is, as a person reads it.
        measured: None where it was left out, or no row of it was measured.
        left_out: Why it was not measured; None where it was.
    """

    name: AlternativeName
    title: str
    measured: Measured | None
    left_out: str | None = None

    def record(self) -> dict[str, object]:
        """Return the JSON object of `redraft compare`."""
        if self.measured is None:
            return {"title": self.title, "left_out": self.left_out}
        return {
            "title": self.title,
            "left_out": None,
            "off": asdict(self.measured.off),
            "on": asdict(self.measured.on),
            "compiled_gain": self.measured.gain.record(),
        }


@dataclass(frozen=True, slots=True)
class Feedback:
    """What the gaps that go back were worth beyond drawing again.

    Attributes:
        gain: The loop's gain minus the re-draws'; None where it was not measured.
        words: Why it was not measured; None where it was.
        none_sent: Whether the loop sends no feedback, so that the gain is 0 by construction.
    """

    gain: Gain | None
    words: str | None = None
    none_sent: bool = False

    def record(self) -> dict[str, object]:
        """Return the JSON object of `redraft compare`."""
        if self.gain is not None:
            return {**self.gain.record(), "words": None}
        estimate = 0.0 if self.none_sent else None
        return {"estimate": estimate, "low": None, "high": None, "words": self.words}


@dataclass(frozen=True, slots=True)
class Reread:
    """What of a comparison was read before.

    Attributes:
        replies: Recorded replies that were used again.
        gate_is_test: Whether the rows are also the gate's.
        compiles: Compiles that have looked at these rows.
        look: Number of this look; None where none is recorded.
    """

    replies: int
    gate_is_test: bool
    compiles: int
    look: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Base and artifact, loop off and on, on the same rows.

    Attributes:
        program: Its name; empty for one made in memory.
        artifact_id: The artifact; None for one made in memory.
        split: Where the rows come from.
        loop: The loop setting of `base_on` and `compiled_on`.
        n: Rows measured in every cell.
        not_measured: Rows dropped because a cell lacks them.
        reasons: Why rows of any run are not measured or went unchecked, each reason once.
        cells: `base_off`, `base_on`, `compiled_off`, `compiled_on`, `as_shipped`.
        gains: Of the score.
        unchecked: Gains on measures that no rule decides; None where the rubric has none.
        feedback: The loop's gain minus the re-draws'.
        alternatives: In the order they are shown.
        escaped: By cell with the loop on: `base_on`, `compiled_on`, `as_shipped`.
        reread: What was read before.
        usage: All calls of the comparison.
        notes: Sentences about how it was done.
        checker_outages: Measured rows, over all runs, whose checker's model did not answer.
    """

    program: str
    artifact_id: str | None
    split: Split
    loop: Loop
    n: int
    not_measured: int
    reasons: tuple[str, ...]
    cells: Mapping[str, Cell]
    gains: Gains
    unchecked: Gains | None
    feedback: Feedback
    alternatives: tuple[AlternativeResult, ...]
    escaped: Mapping[str, Escaped]
    reread: Reread
    usage: Usage
    notes: tuple[str, ...] = ()
    checker_outages: int = 0

    def record(self) -> dict[str, object]:
        """Return what `redraft compare --json` prints."""
        gains = self.gains
        return {
            "program": self.program,
            "artifact_id": self.artifact_id,
            "split": self.split,
            "n": self.n,
            "not_measured": self.not_measured,
            "checker_outages": self.checker_outages,
            "loop": asdict(self.loop),
            "cells": {name: asdict(cell) for name, cell in self.cells.items()},
            "build_time_gain": gains.build_time.record(),
            "answer_time_gain": gains.answer_time.record(),
            "interaction": gains.interaction.record(),
            "total_gain": gains.total.record(),
            "simple_effects": {name: gain.record() for name, gain in gains.simple.items()},
            "passes": asdict(gains.passes),
            "unchecked": None if self.unchecked is None else _main_gains(self.unchecked),
            "feedback_gain": self.feedback.record(),
            "alternatives": {a.name: a.record() for a in self.alternatives},
            "arms": {},
            "escaped": {name: found.record() for name, found in self.escaped.items()},
            "smallest_detectable": gains.total.smallest_detectable,
            "reread": asdict(self.reread),
            "usage": asdict(self.usage),
            "notes": list(self.notes),
        }


def _main_gains(gains: Gains) -> dict[str, object]:
    return {
        "build_time_gain": gains.build_time.record(),
        "answer_time_gain": gains.answer_time.record(),
        "total_gain": gains.total.record(),
    }
