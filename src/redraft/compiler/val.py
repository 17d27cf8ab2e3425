"""Whether what was found leads on `val`: else the gate is not looked at."""

from dataclasses import dataclass

from redraft.compiler.gate import differences, gain
from redraft.evaluator import Evaluation
from redraft.optimizers import SearchTask, Trials, worst_calls
from redraft.program import Program
from redraft.records import Row, Usage
from redraft.statistics import Effect, smallest_detectable


@dataclass(frozen=True, slots=True, kw_only=True)
class Lead:
    """What was found against the opponent on `val`, both as they are served.

    Attributes:
        before: The opponent.
        after: What was found.
        effect: Paired gain; choosing flatters it.
        smallest_detectable: Gain that these rows would show.
    """

    before: Evaluation
    after: Evaluation
    effect: Effect
    smallest_detectable: float | None

    @property
    def is_gain(self) -> bool:
        """Whether the lower bound of the gain is above 0."""
        return self.effect.low is not None and self.effect.low > 0


def compare_on_val(task: SearchTask, found: Program, trials: Trials) -> Lead | None:
    """Return the lead, over rows that both answered already if there are any.

    Args:
        task: Opponent and rows.
        found: What was found.
        trials: Knows what was measured, and pays for what was not.

    Returns:
        The lead; None where no row was answered and none can be paid for.

    Raises:
        OutageError: A model did not answer.
        Stop: A cap of the command was reached.
    """
    rows = _rows(task, found, trials)
    if not rows:
        return None
    before = _evaluated(task.program, task, trials, rows, found=False)
    after = _evaluated(found, task, trials, rows, found=True)
    effect = gain(before, after)
    groups = [result.group for result in before.results]
    return Lead(
        before=before,
        after=after,
        effect=effect,
        smallest_detectable=smallest_detectable(differences(before, after), groups=groups),
    )


def _rows(task: SearchTask, found: Program, trials: Trials) -> tuple[Row, ...]:
    known = trials.known(task.opponent).keys() & trials.known(found.state()).keys()
    answered = tuple(row for row in task.val if row.id in known)
    if answered or trials.calls_left is None:
        return answered or task.val
    both = worst_calls(task.program, task.opponent.loop) + worst_calls(task.program, found.loop)
    return task.val[: trials.calls_left // both]


def _evaluated(
    program: Program, task: SearchTask, trials: Trials, rows: tuple[Row, ...], *, found: bool
) -> Evaluation:
    state = program.state() if found else task.opponent
    results = trials.measure(state, rows, stage="val")
    usage = sum((result.answer.usage for result in results), Usage())
    return Evaluation(program.name, None, "val", results, usage)
