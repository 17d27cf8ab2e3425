"""Candidates for the drafter's prompt, and what a candidate's state is under other settings."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from redraft.comparison.alternatives import rules_pasted_in
from redraft.optimizers.base import Candidate, SearchTask
from redraft.optimizers.demos import Pool, drafter_inputs, tokens_of
from redraft.program import Program
from redraft.records import Demo, Loop, Options, PredictorState, ProgramState

DRAFT = "draft"
OPPONENT = "opponent"
RULES = "rules pasted in"

_TURN_TOKENS = 8  # what a chat template adds around one turn, generously


def under_loop(program: Program, state: ProgramState, loop: Loop) -> ProgramState:
    """Return a state with other loop settings; the reviser's entry comes and goes with them."""
    own = program.with_loop(loop).state().predictors
    predictors = {name: state.predictors.get(name, texts) for name, texts in own.items()}
    return replace(state, loop=loop, predictors=predictors)


def loop_off(program: Program, state: ProgramState) -> ProgramState:
    """Return a state with the loop off: what it drafts is attempt 1 of the state itself."""
    return under_loop(program, state, replace(state.loop, enabled=False))


def with_predictor(state: ProgramState, name: str, texts: PredictorState) -> ProgramState:
    """Return a state with another prompt for one predictor."""
    return replace(state, predictors={**state.predictors, name: texts})


def with_rules(program: Program, state: ProgramState) -> ProgramState | None:
    """Return the state with the checks' rules appended to the drafter's instructions.

    Criteria and measures are never pasted. None where there are no rules, or where the drafter is
    a module, so that it is open which predictor should be told.
    """
    pasted = rules_pasted_in(program.with_state(state)).program
    return None if pasted is None else pasted.state()


def draft_candidates(
    task: SearchTask, pools: Sequence[Pool], *, sets_per_size: int
) -> tuple[Candidate, ...]:
    """Return what is compared on `val` with the loop off, the opponent first.

    Beside it: the program as its file stands, the rules pasted in, and demo sets of every source
    and size. Sets that do not fit the model's context are left out, and said.
    """
    program = task.program
    opponent = loop_off(program, task.opponent)
    base = loop_off(program, program.state())
    found = [Candidate(OPPONENT, opponent, _demos_in(opponent))]
    if base != opponent:
        found.append(Candidate("base", base))
    pasted = with_rules(program, base)
    if pasted is not None:
        found.append(Candidate(RULES, pasted))
    for pool in pools:
        found += _set_candidates(task, base, pool, sets_per_size=sets_per_size)
    return tuple(found)


def most_candidates(task: SearchTask, pools: int, *, sets_per_size: int) -> int:
    """Return how many candidates there are at most, the opponent not counted.

    Args:
        task: Names the sizes.
        pools: Sources of demos.
        sets_per_size: Sets per size and source.
    """
    return 2 + pools * sets_per_size * sum(size > 0 for size in task.limits.sizes)


def _set_candidates(
    task: SearchTask, base: ProgramState, pool: Pool, *, sets_per_size: int
) -> Iterator[Candidate]:
    room = _demo_room(task, base)
    own = base.predictors[DRAFT]
    for size in sorted(set(task.limits.sizes)):
        sets = pool.sets(size, number=sets_per_size, seed=task.seed)
        for number, demos in enumerate(sets, start=1):
            if room is not None and _demo_tokens(task.program, demos) > room:
                task.trials.note(
                    f"Sets of {size} {pool.source} demos that do not fit the context of the "
                    "drafter's model were left out."
                )
                continue
            state = with_predictor(base, DRAFT, replace(own, demos=demos))
            yield Candidate(f"{pool.source} {size} #{number}", state, size)


def _demo_room(task: SearchTask, base: ProgramState) -> int | None:
    """Return the tokens that demos may have beside instructions, the longest task and a reply."""
    models = task.program.models
    limit = None if models is None else models.of("drafter").context_tokens
    if limit is None:
        return None
    longest = max(
        _texts_tokens(task.program, drafter_inputs(task.program, row)) for row in task.val
    )
    instructions = tokens_of(task.program, [base.predictors[DRAFT].instructions])
    reply = base.options.get("drafter", Options()).max_tokens
    return limit - reply - instructions - longest - 2 * _TURN_TOKENS


def _demo_tokens(program: Program, demos: Sequence[Demo]) -> int:
    return sum(_texts_tokens(program, demo.fields) + 2 * _TURN_TOKENS for demo in demos)


def _texts_tokens(program: Program, fields: Mapping[str, object]) -> int:
    return tokens_of(program, fields.values())


def _demos_in(state: ProgramState) -> int:
    return sum(len(texts.demos) for texts in state.predictors.values())
