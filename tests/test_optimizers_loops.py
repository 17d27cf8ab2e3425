"""Loop settings read off recorded trajectories."""

from dataclasses import replace

import pytest

from redraft.evaluator import EvaluationRun, RowResult, evaluate_rows
from redraft.optimizers.loops import LoopTrial, choose_loop, replay_loops, value_of
from redraft.program import Program
from redraft.records import Check, Loop, Row
from redraft.rubric import Measure, Rubric
from redraft.testing import models_of

ENOUGH = Check("enough", lambda _, d: None if len(d.split()) > 3 else "Say more.", "Four words.")
RUBRIC = Rubric([Measure("words", 1.0, lambda _, d: min(4, len(d.split())) / 4)])
RESAMPLE = Loop(max_revisions=3, on_fail="resample")


def recorded(drafts: list[str], *, rows: int = 1) -> tuple[Program, tuple[RowResult, ...]]:
    """Return a program and the results of rows that each get these drafts in turn."""
    program = Program("request -> notice", checks=[ENOUGH], loop=RESAMPLE)
    program = program.with_models(models_of(drafts * rows))
    given = [Row(f"r{n}", {"request": "Go."}, split="val") for n in range(rows)]
    run = EvaluationRun(threads=1)
    return program, evaluate_rows(program, given, RUBRIC, run, split="val").results


def trial_at(trials: tuple[LoopTrial, ...], cap: int) -> LoopTrial:
    """Return the trial of a cap with the default draft returned."""
    loop = replace(RESAMPLE, max_revisions=cap)
    return next(trial for trial in trials if trial.state.loop == loop)


def test_every_smaller_cap_is_read_off_one_recording() -> None:
    """Scores of all caps come from the same attempts, and the loop off from the first.

    Neither of two drafts that fail the same check is better, so the first one is returned.
    """
    program, results = recorded(["a", "a b", "a b c d"])

    trials = replay_loops(program, program.state(), results)

    off = next(trial for trial in trials if not trial.state.loop.enabled)
    assert [off.mean, *(trial_at(trials, cap).mean for cap in range(4))] == [
        0.25,
        0.25,
        0.25,
        1.0,
        1.0,
    ]
    assert [trial_at(trials, cap).calls for cap in range(4)] == [1, 2, 3, 3]


def test_other_draft_returned_is_a_setting_too() -> None:
    """With a cap above 0, the last and the best draft are both tried."""
    program, results = recorded(["a b c", "a", "a", "a"])

    trials = replay_loops(program, program.state(), results)

    found = {(t.state.loop.max_revisions, t.state.loop.returned): t.mean for t in trials}
    assert (found[3, "best"], found[3, "last"]) == (0.75, 0.25)


def test_extra_calls_must_buy_a_gain_that_shows() -> None:
    """A setting within one standard error of the best is preferred if it costs less."""
    program, results = recorded(["a b c d"], rows=6)

    chosen = choose_loop(replay_loops(program, program.state(), results))

    assert (chosen.state.loop.enabled, chosen.state.loop.max_revisions) == (True, 0)


def test_calls_that_buy_a_gain_are_spent() -> None:
    """The cheapest of the settings that reach the best mean wins."""
    program, results = recorded(["a", "a", "a b c d"], rows=6)

    chosen = choose_loop(replay_loops(program, program.state(), results))

    assert chosen.state.loop.max_revisions == 2
    assert chosen.mean == 1.0


def test_row_that_is_not_measured_has_no_value() -> None:
    """An unmeasured row is never 0."""
    _, (result,) = recorded(["a b c d"])

    with pytest.raises(ValueError, match="not measured"):
        value_of(replace(result, score=None))
