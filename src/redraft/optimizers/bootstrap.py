"""Choose demos by paired comparison, then loop settings from recorded trajectories."""

from collections.abc import Sequence

from redraft.evaluator import RowResult, replayed
from redraft.optimizers.base import Candidate, SearchTask
from redraft.optimizers.calls import is_checked
from redraft.optimizers.candidates import (
    OPPONENT,
    RULES,
    draft_candidates,
    loop_off,
    under_loop,
    with_predictor,
)
from redraft.optimizers.demos import (
    Pool,
    drafter_outputs,
    earned_pool,
    labelled_pool,
    require_fitting,
    spread,
)
from redraft.optimizers.halving import halve
from redraft.optimizers.loops import LoopTrial, choose_loop, replay_loops, value_of
from redraft.optimizers.planning import (
    REVISER_SIZES,
    Breadth,
    choose_breadth,
    choose_val_rows,
    earning_calls,
    fewest_calls,
    recorded_loop,
    recording_calls,
    search_calls,
)
from redraft.optimizers.reviser import has_usual_fields, reviser_demos
from redraft.records import OnFail, PredictorState, ProgramState, Row

_ALL_ON_FAIL: tuple[OnFail, ...] = ("revise", "resample")


class Bootstrap:
    """Demos for drafter and reviser, and settings of the loop; no model proposes instructions.

    1. The opponent answers `val` rows as it is served; its first attempts stand for it below.
    2. Demos are made from references of `train` rows, and from the opponent's answers to them
       that reach the mark.
    3. Demo sets, the file as it stands and the rules pasted in are compared with the loop off.
    4. The winner's trajectories are recorded with the loop on, with and without demos for the
       reviser, and every smaller setting of the loop is read off them.
    """

    name = "bootstrap"

    def search(self, task: SearchTask) -> ProgramState:
        """Return the best state found; how much is tried depends on the calls that are left."""
        pools = _labelled(task)
        count = choose_val_rows(task, pools=len(pools) + _can_earn(task))
        if count == 0:
            task.trials.note(
                "The cap leaves no room for a search beside the gate's look; give more calls."
            )
            return task.opponent
        rows = task.val[:count]
        served = task.trials.measure(task.opponent, rows, stage="opponent")
        pools += _earned(task)
        breadth = choose_breadth(task, count, pools=len(pools))
        state = _choose_drafter(task, rows, served, pools, breadth=breadth)
        task.trials.offer(state)
        return _choose_loop(task, rows, state, breadth)

    def estimate(self, task: SearchTask) -> tuple[int, int]:
        """Return the calls if every first draft passes, and if none does."""
        pools = len(_labelled(task)) + _can_earn(task)
        count = choose_val_rows(task, pools=pools)
        if count == 0:
            return 0, 0
        breadth = choose_breadth(task, count, pools=pools)
        best = fewest_calls(task, count, breadth, pools=pools)
        return best, search_calls(task, count, breadth, pools=pools)


def _can_earn(task: SearchTask) -> int:
    """Return 1 where an answer can be a demo: the draft is all that the drafter puts out."""
    outputs = drafter_outputs(task.program)
    return int(outputs == (task.program.draft_field,) and task.limits.train_rows > 0)


def _labelled(task: SearchTask) -> tuple[Pool, ...]:
    if not drafter_outputs(task.program):
        task.trials.note("The drafter is a module, so only the settings of the loop are tuned.")
        return ()
    pool = labelled_pool(task.program, task.train)
    require_fitting(pool, task.program)
    if not pool.rows:
        task.trials.note("No train row has a reference.draft, so there are no labelled demos.")
    return (pool,) if pool.rows else ()


def _earned(task: SearchTask) -> tuple[Pool, ...]:
    if not _can_earn(task) or not task.trials.fits(earning_calls(task)):
        return ()
    chosen = spread(task.train, seed=task.seed, place=0)[: task.limits.train_rows]
    state = loop_off(task.program, task.opponent)
    results = task.trials.measure(state, chosen, stage="bootstrap", split="train")
    answered = {row.id for row in chosen}
    rows = [row for row in task.train if row.id in answered]
    mark = task.rubric.passing if task.limits.mark is None else task.limits.mark
    pool = earned_pool(task.program, rows, results, task.rubric, mark=mark)
    if not pool.rows:
        task.trials.note(
            f"None of {len(rows)} answers to train rows reached the mark of {mark:g} with every "
            "must-pass measure, so no answer became a demo."
        )
    return (pool,) if pool.rows else ()


def _choose_drafter(
    task: SearchTask,
    rows: Sequence[Row],
    served: Sequence[RowResult],
    pools: Sequence[Pool],
    *,
    breadth: Breadth,
) -> ProgramState:
    """Return the opponent, or the program with the best drafter's prompt and the same loop."""
    program = task.program
    candidates = draft_candidates(task, pools, sets_per_size=breadth.sets_per_size)
    off = candidates[0].state
    task.trials.keep(off, [replayed(result, off.loop) for result in served])

    def measure(candidate: Candidate, count: int) -> list[float]:
        results = task.trials.measure(candidate.state, rows[:count], stage="demos")
        return [value_of(result) for result in results]

    ranked = halve(candidates, len(rows), measure, cost=lambda c: (c.demos,))
    winner = candidates[ranked[0].index]
    if winner.name == OPPONENT:
        return task.opponent
    if winner.name == RULES:
        task.trials.note("The checks' rules are pasted into the drafter's instructions.")
    return under_loop(program, winner.state, program.loop)


def _choose_loop(
    task: SearchTask, rows: Sequence[Row], state: ProgramState, breadth: Breadth
) -> ProgramState:
    """Return the state with the settings of the loop that are worth their calls."""
    trials: list[LoopTrial] = []
    for on_fail in _ways(task, breadth):
        loop = recorded_loop(task, on_fail, max_revisions=breadth.max_revisions)
        reviser_sets = breadth.reviser_sets and on_fail == task.program.loop.on_fail
        worst = recording_calls(task, len(rows), loop, reviser_sets=reviser_sets)
        if not is_checked(task.program, loop) or not task.trials.fits(worst):
            continue
        recorded = _record(task, rows, under_loop(task.program, state, loop), reviser_sets)
        results = task.trials.measure(recorded, rows, stage="loop")
        trials += replay_loops(task.program, recorded, results)
    if not trials:
        return state
    chosen = choose_loop(trials)
    task.trials.keep(chosen.state, chosen.results)
    return chosen.state


def _ways(task: SearchTask, breadth: Breadth) -> tuple[OnFail, ...]:
    """Return the program's own way of trying again first, then the other one."""
    ways = task.limits.on_fail
    if ways is None:
        ways = tuple(sorted(_ALL_ON_FAIL, key=lambda way: way != task.program.loop.on_fail))
    # Without a revision both ways are the same.
    return ways[:1] if breadth.max_revisions == 0 else ways


def _record(
    task: SearchTask, rows: Sequence[Row], state: ProgramState, reviser_sets: bool
) -> ProgramState:
    """Return the state whose recording is used: with the reviser's demos, if they help."""
    candidates = [Candidate("reviser 0", state)]
    if reviser_sets and state.loop.on_fail == "revise":
        candidates += _reviser_candidates(task, state)

    def measure(candidate: Candidate, count: int) -> list[float]:
        results = task.trials.measure(candidate.state, rows[:count], stage="loop")
        return [value_of(result) for result in results]

    ranked = halve(candidates, len(rows), measure, cost=lambda c: (c.demos,))
    return candidates[ranked[0].index].state


def _reviser_candidates(task: SearchTask, state: ProgramState) -> list[Candidate]:
    program = task.program.with_loop(state.loop)
    if not has_usual_fields(program) or "revise" not in state.predictors:
        return []
    known = task.trials.known(loop_off(task.program, task.opponent))
    drafted = [known[row.id] for row in task.train if row.id in known]
    demos = reviser_demos(program, task.train, drafted, seed=task.seed, most=max(REVISER_SIZES))
    own = state.predictors["revise"]
    return [
        Candidate(
            f"reviser {size}",
            with_predictor(state, "revise", PredictorState(own.instructions, demos[:size])),
            size,
        )
        for size in REVISER_SIZES
        if size <= len(demos)
    ]
