"""What is measured: program, rubric and rows, given as objects or by one NAME."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict, Unpack

from redraft.artifact import (
    Lineage,
    ModelsGiven,
    connect_models,
    load,
    read_artifact,
    verify_lineage,
)
from redraft.errors import ConfigError
from redraft.evaluator.batch import check_batchable, evaluate_batch
from redraft.evaluator.facts import with_facts
from redraft.evaluator.results import Evaluation
from redraft.evaluator.rows import EvaluationRun, evaluate_rows
from redraft.looks import Look, record_look
from redraft.program import Program
from redraft.project import Folder, code_fingerprint, find_root, list_names
from redraft.records import SPLITS, Row, Split
from redraft.rubric import Rubric, load_rubric
from redraft.trainset import Trainset, load_trainset, make_trainset

RowsGiven = Trainset | Sequence[Row] | None


class Where(TypedDict, total=False):
    """Where names are looked up.

    Attributes:
        root: The project; by default the nearest one upward from the working directory.
        models: As in `redraft.load`; by default the program's own.
        artifact: `current`, `base` or an id, for a program given by its NAME.
        allow_drift: Whether to measure an artifact although program, rubric or rows changed.
    """

    root: Path | str | None
    models: ModelsGiven
    artifact: str
    allow_drift: bool


@dataclass(frozen=True, slots=True)
class Subject:
    """A program with what it is measured by.

    Attributes:
        program: With its models.
        rubric: Scores the drafts.
        trainset: Rows in their splits.
        root: The project; None where everything was given as objects.
    """

    program: Program
    rubric: Rubric
    trainset: Trainset
    root: Path | None

    def lineage(self, *, rubric: bool, rows: bool) -> Lineage:
        """Return what stands in the project now, to compare what an artifact was made from.

        Args:
            rubric: Whether the rubric is the project's; one given as an object is another on
                purpose.
            rows: Whether the rows are, likewise.

        Raises:
            ProjectError: A file of the project does not load.
        """
        assert self.root is not None
        name = self.program.name
        return Lineage(
            program=_fingerprint(self.root, "programs", name),
            rubric=_fingerprint(self.root, "metrics", name) if rubric else None,
            rows=self.trainset.digest if rows else None,
            splits=_members(self.trainset) if rows else {},
        )

    def look(self, split: Split, *, command: str) -> Look | None:
        """Write a look down before rows are read; None where the split or the project needs none.

        Args:
            split: The rows that will be read.
            command: The command that reads them.
        """
        if split not in ("gate", "test") or self.root is None or not self.program.name:
            return None
        return record_look(
            self.root,
            self.program.name,
            split=split,
            command=command,
            rows_digest=self.trainset.split_digest(split),
            artifact_id=self.program.artifact_id,
        )

    def rows(self, split: Split, limit: int | None = None) -> tuple[Row, ...]:
        """Return rows of a split in the order of the file; with a limit always the same ones.

        Args:
            split: Which split.
            limit: Rows at most; 1 or more; None for all.

        Raises:
            TrainsetError: The split is empty, or rows in it do not fit the program.
            ConfigError: The limit is below 1.
            PrepareError: The program's `prepare` cannot read a row.
        """
        if limit is not None and limit < 1:
            raise ConfigError(f"rows must be 1 or more, got {limit}; leave it out for all")
        found = self.trainset.split(split)
        # Files are often sorted by kind of row, so the first rows would not stand for all.
        chosen = {row.id for row in sorted(found, key=_draw)[:limit]}
        rows = tuple(row for row in found if row.id in chosen)
        # Found here, a row that the program cannot read costs neither a call nor a look.
        with_facts(self.program, rows)
        return rows


def resolve(
    program: Program | str,
    rubric: Rubric | None = None,
    rows: RowsGiven = None,
    **where: Unpack[Where],
) -> Subject:
    """Return program, rubric and rows; what is not given is loaded by the program's NAME.

    Args:
        program: A program, or the NAME of one.
        rubric: By default `metrics/NAME.py`'s.
        rows: By default those of `trainsets/NAME/`; rows in memory get their splits here.
        **where: Where names are looked up; see `Where`.

    Raises:
        ConfigError: Something that is not given cannot be loaded.
        ArtifactError: The artifact is not there, not whole, or was changed.
        DriftError: Program, rubric or rows are not those the artifact was compiled with.
    """
    by_name = isinstance(program, str)
    root = _root(where.get("root"), needed=by_name or rubric is None or rows is None)
    found = _program(program, root, where)
    trainset = _trainset(rows, found, root)
    if root is None:
        assert rubric is not None
        return Subject(found, rubric, trainset, None)
    subject = Subject(found, rubric or load_rubric(root, found.name), trainset, root)
    if found.artifact_id is not None:
        artifact = read_artifact(root, found.name, found.artifact_id)
        verify_lineage(
            artifact,
            subject.lineage(rubric=rubric is None, rows=rows is None),
            allow_drift=where.get("allow_drift", False),
        )
    return subject


def evaluate(
    program: Program | str,
    rubric: Rubric | None = None,
    rows: RowsGiven = None,
    *,
    split: Split = "val",
    limit: int | None = None,
    run: EvaluationRun | None = None,
    **where: Unpack[Where],
) -> Evaluation:
    """Answer the rows of one split and score the answers.

    Args:
        program: A program, or the NAME of one.
        rubric: By default `metrics/NAME.py`'s.
        rows: By default those of `trainsets/NAME/`.
        split: The rows to answer; reading `gate` or `test` is written down in `looks.jsonl`.
        limit: Rows at most, always the same ones; None for all.
        run: Seed, threads, caps, progress, a file for the results, a folder for a batch.
        **where: Where names are looked up; see `Where`.

    Returns:
        The evaluation; rows that a model did not answer are not measured in it.

    Raises:
        ConfigError: Program, rubric or rows cannot be loaded, or the split is empty.
        ArtifactError: The artifact is not there, was changed, or was compiled with others.
        PrepareError: The program's `prepare` cannot read a row.
        CheckError: A check raised.
        MeasureError: A measure raised, or returned no number in [0, 1].
        ModelError: No model is named, or it cannot be used.
    """
    subject = resolve(program, rubric, rows, **where)
    given = (where.get("models"), None if isinstance(program, str) else program.models)
    models = subject.program.models
    folder = None if run is None else run.batches
    try:
        chosen = subject.rows(split, limit)
        if folder is not None:
            check_batchable(subject.program)
        subject.look(split, command="evaluate")
        if run is None or folder is None:
            return evaluate_rows(subject.program, chosen, subject.rubric, run, split=split)
        return evaluate_batch(
            subject.program, chosen, subject.rubric, run, split=split, folder=folder
        )
    finally:
        # What was connected here is closed here; what the caller brought stays open.
        if models is not None and not any(models is own for own in given):
            models.close()


def _root(given: Path | str | None, *, needed: bool) -> Path | None:
    if given is not None:
        return Path(given)
    return find_root() if needed else None


def _program(program: Program | str, root: Path | None, where: Where) -> Program:
    models = where.get("models")
    if isinstance(program, Program):
        if models is None:
            return program
        return program.with_models(connect_models(models, root=root or Path.cwd()))
    return load(
        program,
        where.get("artifact", "current"),
        root=root,
        models=models,
        allow_drift=where.get("allow_drift", False),
    )


def _trainset(rows: RowsGiven, program: Program, root: Path | None) -> Trainset:
    if isinstance(rows, Trainset):
        return rows
    if rows is not None:
        return make_trainset(rows, name=program.name)
    assert root is not None
    return load_trainset(root, program.name, input_fields=program.input_fields)


def _fingerprint(root: Path, folder: Folder, name: str) -> str | None:
    return code_fingerprint(root, folder, name) if name in list_names(root, folder) else None


def _members(trainset: Trainset) -> dict[Split, tuple[str, ...]]:
    members: dict[Split, tuple[str, ...]] = {
        split: tuple(row.id for row in trainset.rows if row.split == split) for split in SPLITS
    }
    return members | {"gate": members["test"]} if trainset.gate_is_test else members


def _draw(row: Row) -> bytes:
    return hashlib.sha256(row.id.encode()).digest()
