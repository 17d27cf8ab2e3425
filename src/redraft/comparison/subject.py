"""What is compared: base and artifact under one loop setting, by one rubric, on one split."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import fsum
from pathlib import Path

from redraft.artifact import current, find_artifact, list_artifacts
from redraft.budget import RunCaps
from redraft.comparison.alternatives import runs
from redraft.comparison.pairing import score_of
from redraft.errors import ArtifactError, ConfigError
from redraft.evaluator import RowResult, Subject, Where, resolve
from redraft.evaluator.rows import Progress
from redraft.evaluator.subject import RowsGiven
from redraft.program import Program, load_base
from redraft.project import find_root
from redraft.records import Loop, Row, Split
from redraft.rubric import Rubric


class Options(Where, total=False):
    """How a comparison is done; everything may be left out.

    Attributes:
        compiled: A compiled program, in place of an artifact.
        against: A text file with a user's own instructions, as one more alternative.
        split: The rows to answer; by default `test`.
        limit: Rows at most, always the same ones; None for all.
        seed: Of the models, of the demos that are drawn, and of the intervals; by default 0.
        threads: Rows at a time; None for as many as the models take.
        progress: Called after every row with answers done, answers in all, and spend so far.
        caps: Hard stops of the whole comparison.
        out: A folder that gets one file of JSON Lines a run, written row by row.
    """

    compiled: Program | None
    against: Path | None
    split: Split
    limit: int | None
    seed: int
    threads: int | None
    progress: Progress | None
    caps: RunCaps | None
    out: Path | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Base and artifact, ready to be measured alike.

    Attributes:
        base: The program as its file stands, with the loop setting of the comparison.
        compiled: The artifact, with the same loop setting.
        shipped: The artifact with its own loop setting.
        subject: Rubric, rows and project.
        notes: Sentences about the loop setting.
    """

    base: Program
    compiled: Program
    shipped: Program
    subject: Subject
    notes: tuple[str, ...]

    @property
    def loop(self) -> Loop:
        """The loop setting of the comparison."""
        return self.compiled.loop

    @property
    def train(self) -> tuple[Row, ...]:
        """Rows that demos may be made of; empty where there are none."""
        return tuple(row for row in self.subject.trainset.rows if row.split == "train")

    @property
    def unchecked(self) -> Callable[[RowResult], float] | None:
        """Score of a measured row on what no rule of the program decides; None without such."""
        rules = {c.id for c in self.base.checks} | {c.id for c in self.base.criteria}
        return score_without(self.subject.rubric, rules)


def open_pair(
    program: Program | str, rubric: Rubric | None, rows: RowsGiven, options: Options
) -> Pair:
    """Find what is compared; nothing is spent.

    Raises:
        ConfigError: Program, rubric or rows cannot be loaded, or there is nothing to compare with.
        ArtifactError: There is no artifact, or it cannot be used.
        DriftError: Program, rubric or rows are not those the artifact was compiled with.
    """
    where = Where(allow_drift=options.get("allow_drift", False))
    if options.get("models") is not None:
        where["models"] = options["models"]
    elif isinstance(program, Program) and program.models is not None:
        where["models"] = program.models
    if options.get("root") is not None:
        where["root"] = options["root"]
    compiled = options.get("compiled")
    if compiled is not None:
        subject = resolve(compiled, rubric, rows, **where)
    else:
        root = Path(options.get("root") or find_root())
        name = program if isinstance(program, str) else program.name
        where["root"], where["artifact"] = root, choose_artifact(root, name, options)
        subject = resolve(name, rubric, rows, **where)
    return _pair(_base(program, subject), subject)


def choose_artifact(root: Path, name: str, options: Options) -> str:
    """Return the id of the artifact to compare: asked for, else promoted, else the newest.

    Raises:
        ConfigError: The program has no name, or base would be compared with itself.
        ArtifactError: There is none.
    """
    if not name:
        raise ConfigError("a program made in memory has no artifacts; pass compiled=PROGRAM")
    asked = options.get("artifact")
    if asked == "base":
        raise ConfigError("base would be compared with itself; give --artifact ID, or leave it out")
    if asked not in (None, "current"):
        return find_artifact(root, name, str(asked))
    promoted = current(root, name)
    if promoted is not None:
        return promoted
    ids = list_artifacts(root, name)
    if asked is None and ids:
        return ids[-1]
    raise ArtifactError(
        f"{name} has no {'promoted artifact' if ids else 'artifact'} to compare with base; "
        + ("give --artifact ID, or promote one" if ids else f"run `redraft compile {name}` first")
    )


def common_loop(base: Loop, shipped: Loop) -> tuple[Loop, tuple[str, ...]]:
    """Return the loop setting of the cells with the loop on, and what to say about it."""
    if runs(shipped):
        return shipped, ()
    if runs(base):
        return base, (
            "The artifact's own loop makes no revisions, so the cells with the loop on use the "
            "program's loop settings; as shipped, it answers without.",
        )
    return replace(shipped, enabled=True), (
        "Neither artifact nor program has a loop that makes revisions, so looping has nothing to "
        "win here.",
    )


def score_without(rubric: Rubric, rules: set[str]) -> Callable[[RowResult], float] | None:
    """Return a row's weighted mean over measures of no such rule; None where none has a weight."""
    free = {m.id: m.weight for m in rubric.measures if m.weight > 0 and m.id not in rules}
    if not free:
        return None
    total = fsum(free.values())

    def value(result: RowResult) -> float:
        measures = score_of(result).measures
        return fsum(weight * measures[id_] for id_, weight in free.items()) / total

    return value


def _base(program: Program | str, subject: Subject) -> Program:
    if isinstance(program, Program):
        found = program
    else:
        assert subject.root is not None
        found = load_base(subject.root, program)
    models = subject.program.models
    return found if models is None else found.with_models(models)


def _pair(base: Program, subject: Subject) -> Pair:
    loop, notes = common_loop(base.loop, subject.program.loop)
    return Pair(
        base=base.with_loop(loop),
        compiled=subject.program.with_loop(loop),
        shipped=subject.program,
        subject=subject,
        notes=notes,
    )


def by_id(results: Sequence[RowResult]) -> dict[str, RowResult]:
    """Return results by the id of their row, in order."""
    return {result.row_id: result for result in results}
