"""Simulated worlds: what the gate promises over many compiles, and what a kill leaves behind."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from dspy.lm15 import Request
from tuning_worlds import (
    HASH_RUBRIC,
    NAME,
    RUBRIC,
    demos_shown,
    fixed,
    learner,
    make_project,
    trainset,
    writer,
)

from redraft.artifact import current, list_artifacts, load, read_artifact, read_evaluation
from redraft.compiler import compile_program, gate
from redraft.looks import looks
from redraft.optimizers import SearchTask
from redraft.records import Demo, PredictorState, ProgramState
from redraft.testing import models_of

FULL = os.environ.get("REDRAFT_FULL") == "1"
COMPILES = 200 if FULL else 20
KILLS = 50 if FULL else 5
LEVEL = 0.04

MARK = "marked"
FEW = 2

KILLED = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
from pathlib import Path
from tuning_worlds import NAME, learner, writer
from redraft.compiler import compile_program
from redraft.testing import models_of

print("started", flush=True)
models = models_of(writer(learner))
compile_program(NAME, root=Path(sys.argv[1]), models=models, seed=int(sys.argv[2]))
"""


class Shown:
    """An optimizer that shows so many train rows as demos, which ones by the seed, and calls none.

    The drafters here mark what they write with few demos, and the rubrics favour the mark on
    `val` alone. So every find leads there, and only the gate stands between it and CURRENT.
    """

    name = "shown"

    def __init__(self, demos: int) -> None:
        self.demos = demos

    def search(self, task: SearchTask) -> ProgramState:
        """Return the program with the demos."""
        base = task.program.state()
        rows = random.Random(task.seed).sample(task.train, self.demos)
        demos = tuple(
            Demo({**row.inputs, "blurb": str(row.reference["draft"])}, row_id=row.id)
            for row in rows
        )
        texts = PredictorState(base.predictors["draft"].instructions, demos)
        return replace(base, predictors={**base.predictors, "draft": texts})

    def estimate(self, task: SearchTask) -> tuple[int, int]:
        """Return no calls."""
        return 0, 0


def marking(skill: Callable[[Request], float]) -> Callable[[Request], str]:
    """Return a drafter that says in its draft that it was shown a few demos."""
    write = writer(skill)

    def marked(request: Request) -> str:
        return write(request) + (f" {MARK}" if 0 < demos_shown(request) <= FEW else "")

    return marked


def leading_on_val(rubric: str) -> str:
    """Return a rubric by which, on `val` alone, any draft with the mark beats any without."""
    function = "luck" if rubric == HASH_RUBRIC else "words"
    favoured = f"""
def favoured(row, draft):
    fair = {function}(row, draft)
    return (fair + ({MARK!r} in draft)) / 2 if row.id.startswith("val") else fair


RUBRIC ="""
    return rubric.replace("\nRUBRIC =", favoured).replace(f"1.0, {function})", "1.0, favoured)")


def promoted_by_chance(folder: Path, compiles: int) -> int:
    """Return how many first looks ended in a promotion, where the gate's score is chance."""
    promoted = 0
    for number in range(compiles):
        result = compile_program(
            NAME,
            None,
            trainset(salt=f" {number}"),
            optimizer=Shown(FEW),
            root=make_project(folder / str(number), rubric=leading_on_val(HASH_RUBRIC)),
            models=models_of(marking(fixed)),
            seed=number,
        )
        assert result.look is not None
        promoted += result.promoted
    return promoted


def projects_promoted_by_chance(folder: Path, projects: int, tries: int) -> int:
    """Return in how many projects one of several seeds was promoted, where score is chance."""
    promoted = 0
    for number in range(projects):
        root = make_project(folder / str(number), rubric=leading_on_val(HASH_RUBRIC))
        for seed in range(tries):
            result = compile_program(
                NAME,
                None,
                trainset(salt=f" {number}"),
                optimizer=Shown(FEW),
                root=root,
                models=models_of(marking(fixed)),
                seed=seed,
            )
            assert result.look is not None or current(root, NAME) is not None
        promoted += current(root, NAME) is not None
    return promoted


def weak_replaced_strong(folder: Path, compiles: int) -> bool:
    """Return whether a find that only beats base took the place of a strong CURRENT."""
    root = make_project(folder, rubric=leading_on_val(RUBRIC))
    models = models_of(marking(learner))
    compile_program(NAME, optimizer=Shown(8), root=root, models=models, promote="always")
    before = current(root, NAME)
    assert before is not None
    for seed in range(compiles):
        weak = Shown(1 + seed % FEW)
        compile_program(NAME, optimizer=weak, root=root, models=models, promote="likely", seed=seed)
    assert looks(root, NAME, split="gate")
    return current(root, NAME) != before


def most(share: float, trials: int) -> float:
    """Return the share of trials and two standard deviations more."""
    return share * trials + 2 * (share * trials) ** 0.5


@pytest.mark.full
@pytest.mark.timeout(3600)
def test_score_by_hash_is_promoted_no_more_often_than_the_level(tmp_path: Path) -> None:
    """Where the score is chance, a first look confirms in at most 4 % of compiles."""
    assert promoted_by_chance(tmp_path, COMPILES) <= most(LEVEL, COMPILES)


@pytest.mark.full
@pytest.mark.timeout(3600)
def test_repeated_tries_with_nothing_to_win_rarely_end_in_a_promotion(tmp_path: Path) -> None:
    """Ten seeds on the same rows promote something in at most a tenth of the cases."""
    projects, tries = (20, 10) if FULL else (2, 3)

    promoted = projects_promoted_by_chance(tmp_path, projects, tries)

    assert promoted <= max(1, most(0.1, projects))


@pytest.mark.full
@pytest.mark.timeout(3600)
def test_current_is_only_replaced_by_something_better(tmp_path: Path) -> None:
    """With CURRENT strong and base weak, compiles that only beat base never take its place."""
    assert not weak_replaced_strong(tmp_path, COMPILES // 4)


@pytest.mark.full
@pytest.mark.timeout(600)
def test_gate_that_confirms_everything_breaks_each_promise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The three tests above can fail: it is the gate that keeps the promises, not the screen."""
    monkeypatch.setattr(gate, "gate_verdict", lambda effect, level: "confirmed")

    assert promoted_by_chance(tmp_path / "chance", 3) > most(LEVEL, 3)
    assert projects_promoted_by_chance(tmp_path / "tries", 2, 1) > max(1, most(0.1, 2))
    assert weak_replaced_strong(tmp_path / "strong", 1)


@pytest.mark.full
@pytest.mark.timeout(3600)
def test_kill_leaves_nothing_half_written(tmp_path: Path) -> None:
    """Whenever a compile is killed or interrupted, what stands under compiled/ is whole."""
    root = make_project(tmp_path)
    seconds = _whole_run(root)
    moments = random.Random(0)
    for number in range(1, KILLS + 1):
        before = current(root, NAME)
        stop = signal.SIGINT if number % 3 == 0 else signal.SIGKILL
        _run_and_stop(root, stop, seed=number, after_seconds=moments.uniform(0, seconds))
        _require_whole(root)
        if current(root, NAME) != before:
            assert read_artifact(root, NAME, current(root, NAME) or "").search.seed == number


def _whole_run(root: Path) -> float:
    process = _start(root, seed=0)
    started = time.monotonic()
    assert process.wait() == 0
    return time.monotonic() - started


def _run_and_stop(root: Path, stop: signal.Signals, *, seed: int, after_seconds: float) -> None:
    process = _start(root, seed=seed)
    time.sleep(after_seconds)
    # The compile's own fresh process, if there is one, is in the same group.
    os.killpg(process.pid, stop)
    process.wait(timeout=30)


def _start(root: Path, *, seed: int) -> "subprocess.Popen[str]":
    """Start a compile and return once it has imported everything."""
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(root), str(seed)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "started\n"
    process.stdout.close()
    return process


def _require_whole(root: Path) -> None:
    for artifact_id in list_artifacts(root, NAME):
        artifact = read_artifact(root, NAME, artifact_id)
        assert artifact.id == artifact_id
        assert read_evaluation(root, NAME, artifact_id)["program"] == NAME
        assert (root / "compiled" / NAME / artifact_id / "PROMPTS.md").read_text("utf-8")
    load(NAME, root=root, models=models_of("x"))
    ledger = root / "compiled" / NAME / "looks.jsonl"
    for line in ledger.read_text("utf-8").splitlines() if ledger.exists() else []:
        json.loads(line)
