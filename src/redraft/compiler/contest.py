"""Everything that a compile works on, found and checked before the first call."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from redraft.artifact import (
    Lineage,
    ModelsGiven,
    connect_models,
    current,
    file_digests,
    lineage_differences,
    read_artifact,
    restore_program,
)
from redraft.compiler.run import CompileRun
from redraft.errors import ConfigError, DriftError
from redraft.evaluator import Subject, resolve, with_facts
from redraft.evaluator.subject import RowsGiven
from redraft.lm import Models, connect, model_names
from redraft.optimizers import spread
from redraft.program import Program
from redraft.project import code_fingerprint, find_root, read_config
from redraft.records import Row, Split
from redraft.rubric import Rubric
from redraft.trainset import Trainset
from redraft.trainset.splits import group_of

BASE = "base"
REPLIES = Path(".redraft") / "replies.sqlite"

# The same rows of `gate` for every seed, so that another seed does not read fresh ones.
_GATE_ORDER = 0
_READ: tuple[Split, ...] = ("train", "val", "gate")


@dataclass(frozen=True, slots=True, kw_only=True)
class Contest:
    """What is compiled, against what, on which rows.

    Attributes:
        root: The project.
        base: The program as its file stands, with its models.
        opponent: What must be beaten, with the same models.
        opponent_id: The artifact in `CURRENT`; None for base.
        rubric: Scores drafts; the search gets it without hidden measures.
        trainset: All rows.
        train: Rows to learn from.
        val: Rows to choose on, in a seeded order.
        gate: Rows of the gate's look.
        notes: What a person should know, one sentence each.
    """

    root: Path
    base: Program
    opponent: Program
    opponent_id: str | None
    rubric: Rubric
    trainset: Trainset
    train: tuple[Row, ...]
    val: tuple[Row, ...]
    gate: tuple[Row, ...]
    notes: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The program's name."""
        return self.base.name

    @property
    def opponent_name(self) -> str:
        """The opponent's artifact id, or `base`."""
        return self.opponent_id or BASE

    def lineage(self) -> Lineage:
        """Return what an artifact made here is made from."""
        read = zip(_READ, (self.train, self.val, self.gate), strict=True)
        return Lineage(
            program=code_fingerprint(self.root, "programs", self.name),
            files=file_digests(self.root, self.base),
            rubric=_rubric_fingerprint(self.root, self.rubric),
            rows=self.trainset.digest,
            splits={split: tuple(row.id for row in rows) for split, rows in read},
        )


@contextmanager
def opened(
    program: Program | str, rubric: Rubric | None, rows: RowsGiven, run: CompileRun
) -> Iterator[Contest]:
    """Find program, opponent, rubric and rows; close the models that were connected for it.

    Raises:
        RedraftError: Something is missing or wrong; no call was made.
    """
    root = find_root() if run.root is None else Path(run.root)
    name = program if isinstance(program, str) else program.name
    if not name:
        raise ConfigError(
            "a program needs a name to be compiled, and programs/NAME.py to be loaded from; "
            "pass that NAME, or program.named(NAME)"
        )
    own = None if isinstance(program, str) else program.models
    given = run.models if run.models is not None else own
    models = _models(given, root, fresh=run.fresh)
    try:
        subject = resolve(program, rubric, rows, root=root, artifact=BASE, models=models)
        now = subject.lineage(rubric=rubric is None, rows=rows is None)
        yield _contest(root, subject, now, run)
    finally:
        if models is not given:
            models.close()


def _contest(root: Path, subject: Subject, now: Lineage, run: CompileRun) -> Contest:
    base, trainset = subject.program, subject.trainset
    opponent_id, opponent, notes = _opponent(root, base, now)
    train, val, gate = (_grouped(trainset.split(name)) for name in _READ)
    val = spread(val, seed=run.seed, place=0)[: run.limits.val_rows]
    gate = spread(gate, seed=_GATE_ORDER, place=0)[: run.limits.gate_rows]
    # Found here, a row that the program cannot read costs neither a call nor a look.
    with_facts(base, (*train, *val, *gate))
    return Contest(
        root=root,
        base=base,
        opponent=opponent,
        opponent_id=opponent_id,
        rubric=subject.rubric,
        trainset=trainset,
        train=train,
        val=val,
        gate=gate,
        notes=(*notes, *_shown_rows(opponent, (*val, *gate))),
    )


def _models(given: ModelsGiven, root: Path, *, fresh: bool) -> Models:
    """Return the models given, else those of the settings with their recorded replies."""
    if given is not None:
        return connect_models(given, root=root)
    config = read_config(root)
    recorded = None if fresh else root / REPLIES
    names = model_names(config.models, {})
    return connect(names, root=root, recorded=recorded, tables=config.tables)


def _grouped(rows: Sequence[Row]) -> tuple[Row, ...]:
    return tuple(replace(row, group=group_of(row)) for row in rows)


def _shown_rows(opponent: Program, rows: Sequence[Row]) -> Iterator[str]:
    """Yield a sentence where the opponent was shown rows that it is measured on now."""
    predictors = opponent.state().predictors.values()
    shown = {demo.row_id for texts in predictors for demo in texts.demos}
    known = [row.id for row in rows if row.id in shown]
    if known:
        yield (
            f"The opponent's demos come from {len(known)} rows that are measured now, such as "
            f"{known[0]!r}, since the splits changed; that flatters it."
        )


def _opponent(
    root: Path, base: Program, now: Lineage
) -> tuple[str | None, Program, tuple[str, ...]]:
    """Return what must be beaten: the artifact in `CURRENT`, else the program as it stands.

    An artifact that no longer fits the program's file is still the one to beat, as far as it can
    be restored: a compile is how it is replaced. What else changed since is said in the notes.
    """
    opponent_id = current(root, base.name)
    if opponent_id is None:
        return None, base, ()
    artifact = read_artifact(root, base.name, opponent_id)
    notes = []
    try:
        opponent = restore_program(root, artifact)
    except DriftError as error:
        differences = "; ".join(error.differences)
        notes.append(
            f"The opponent {opponent_id} was compiled for another state of the program "
            f"({differences}) and is measured with the program as it stands."
        )
        opponent = restore_program(root, artifact, allow_drift=True)
    changed = "; ".join(lineage_differences(artifact, now))
    if changed:
        notes.append(
            f"The opponent {opponent_id} is measured with what is there now, and its earlier "
            f"numbers do not compare: {changed}."
        )
    assert base.models is not None
    return opponent_id, opponent.with_models(base.models), tuple(notes)


def _rubric_fingerprint(root: Path, rubric: Rubric) -> str | None:
    return code_fingerprint(root, "metrics", rubric.name) if rubric.name else None
