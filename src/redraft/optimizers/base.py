"""What an optimizer is given, what it gives back, and the contract for plug-ins."""

from dataclasses import dataclass
from typing import Protocol

from redraft.errors import ConfigError
from redraft.optimizers.trials import Trials
from redraft.program import Program
from redraft.records import OnFail, ProgramState, Row
from redraft.rubric import Rubric


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchLimits:
    """How much a compile looks at; smaller values are faster and find less.

    Attributes:
        val_rows: Rows for choosing; None for all of `val`.
        gate_rows: Rows for the gate's look; None for all of `gate`.
        train_rows: Rows that are answered to earn demos; 0 for none.
        sizes: Demos per prompt that are tried; 0 is always tried.
        sets_per_size: Sets of demos per size and source.
        mark: Rubric score in [0, 1] from which an answer becomes a demo; None for the rubric's
            `passing`.
        max_revisions: The largest loop cap that is tried.
        on_fail: Ways of trying again that are recorded; None for the program's own, then the
            other one where its calls fit.
    """

    val_rows: int | None = None
    gate_rows: int | None = None
    train_rows: int = 48
    sizes: tuple[int, ...] = (0, 1, 2, 4, 8)
    sets_per_size: int = 3
    mark: float | None = None
    max_revisions: int = 4
    on_fail: tuple[OnFail, ...] | None = None

    def __post_init__(self) -> None:
        for name in ("val_rows", "gate_rows"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ConfigError(f"{name} must be 1 or more, got {value}; leave it out for all")
        for name in ("train_rows", "sets_per_size", "max_revisions"):
            if getattr(self, name) < 0:
                raise ConfigError(f"{name} must be 0 or more, got {getattr(self, name)}")
        if any(size < 0 for size in self.sizes):
            raise ConfigError(f"sizes must be 0 or more, got {self.sizes}")
        if self.mark is not None and not 0 <= self.mark <= 1:
            raise ConfigError(f"mark must be in [0, 1], got {self.mark}")


@dataclass(frozen=True, slots=True)
class Candidate:
    """A proposal for what tuning may change.

    Attributes:
        name: What it is, for people: `opponent`, `labelled 4 #2`, `rules pasted in`.
        state: The proposal.
        demos: Demos it adds; what breaks a tie.
    """

    name: str
    state: ProgramState
    demos: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchTask:
    """Everything an optimizer may use; `gate` and `test` rows are not in it.

    Attributes:
        program: The program as its file stands, with its models.
        opponent: What must be beaten: the state of the artifact in `CURRENT`, else the program's.
        rubric: The rubric without hidden measures.
        train: Rows to make demos and proposals from.
        val: Rows to choose on, in one seeded order; no group is also in `train`.
        seed: Seed of every draw.
        limits: How much to look at.
        trials: Measures candidates and remembers what was measured.
    """

    program: Program
    opponent: ProgramState
    rubric: Rubric
    train: tuple[Row, ...]
    val: tuple[Row, ...]
    seed: int
    limits: SearchLimits
    trials: Trials


class Optimizer(Protocol):
    """Proposes what tuning may change of a program.

    The compiler makes one task and calls `search` once, in one thread. Afterwards it compares
    the returned state with the opponent on `val`, and on `gate` if that looks promising: an
    optimizer never decides what is promoted, and never sees the rows of the gate.

    An optimizer pays for calls only through `task.trials`, which keeps the caps. It starts a
    stage only if the stage's worst case fits `task.trials.calls_left`; where a cap is reached all
    the same, `budget.Stop` leaves `search` and the compiler goes on with the state last given
    to `task.trials.offer`. So it must not catch `Stop` and should offer its best so far after
    every stage.

    The same task must lead to the same state whatever the number of threads: draw from
    `random.Random` seeded with `task.seed`, never from the clock, and read results by row. The
    task, its program and its rows must not be changed. Demos may come from `train` rows only.
    It may raise any `RedraftError`; a model's bad answer is data and never an exception.

    Attributes:
        name: What `--optimizer` calls it; part of the artifact.
    """

    @property
    def name(self) -> str: ...

    def search(self, task: SearchTask) -> ProgramState:
        """Return the best state found; the opponent's own where nothing beats it."""
        ...

    def estimate(self, task: SearchTask) -> tuple[int, int]:
        """Return the fewest and the most calls that `search` would make; no call is made."""
        ...
