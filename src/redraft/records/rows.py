"""Rows of a trainset, and what the rubric says of a draft for one."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Split = Literal["train", "val", "gate", "test"]
SPLITS: tuple[Split, ...] = ("train", "val", "gate", "test")


@dataclass(frozen=True, slots=True)
class Row:
    """One line of `rows.jsonl`.

    Attributes:
        id: Unique within the trainset.
        inputs: The program's input fields by name.
        reference: What is known about a good answer; `draft`, where present, may be a demo.
        tags: Kinds of row; splits are stratified by them.
        group: Rows of one group share a split and are resampled together; the id by default.
        split: Which split the row is in; None until splits are assigned.
        origin: Where the row comes from, in the author's words.
        line: Line in the file, from 1; None for a row made in memory.
        file: Name of that file, such as `rows.csv`; None likewise.
    """

    id: str
    inputs: Mapping[str, object]
    reference: Mapping[str, object] = field(default_factory=dict)
    tags: tuple[str, ...] = ()
    group: str = ""
    split: Split | None = None
    origin: str | None = None
    line: int | None = None
    file: str | None = None


@dataclass(frozen=True, slots=True)
class Score:
    """What the rubric says of one draft.

    Attributes:
        value: Weighted mean of the measures, in [0, 1].
        measures: Value of each measure in [0, 1], by id.
        passed: `value` reaches the rubric's mark and every must-pass measure is 1.
        feedback: One sentence per measure below 1, in the rubric's order.
    """

    value: float
    measures: Mapping[str, float]
    passed: bool
    feedback: tuple[str, ...] = ()
