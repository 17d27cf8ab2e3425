"""Simulated worlds: what the gate promises over many compiles, and what a kill leaves behind."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from tuning_worlds import (
    HASH_RUBRIC,
    NAME,
    fixed,
    learner,
    make_project,
    trainset,
    writer,
)

from redraft.artifact import current, list_artifacts, load, read_artifact, read_evaluation
from redraft.compiler import compile_program
from redraft.optimizers import SearchLimits
from redraft.testing import models_of

FULL = os.environ.get("REDRAFT_FULL") == "1"
COMPILES = 200 if FULL else 20
KILLS = 50 if FULL else 5
LEVEL = 0.04

QUICK = SearchLimits(sizes=(0, 2, 4), sets_per_size=1, train_rows=0, max_revisions=0)

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


@pytest.mark.full
@pytest.mark.timeout(3600)
def test_score_by_hash_is_promoted_no_more_often_than_the_level(tmp_path: Path) -> None:
    """Where the score is chance, a first look confirms in at most 4 % of compiles."""
    promoted = 0
    for number in range(COMPILES):
        root = make_project(tmp_path / str(number), rubric=HASH_RUBRIC)
        result = compile_program(
            NAME,
            None,
            trainset(salt=f" {number}"),
            root=root,
            models=models_of(writer(fixed)),
            limits=QUICK,
            seed=number,
        )
        promoted += result.promoted

    assert promoted <= LEVEL * COMPILES + 2 * (LEVEL * COMPILES) ** 0.5


@pytest.mark.full
@pytest.mark.timeout(3600)
def test_repeated_tries_with_nothing_to_win_rarely_end_in_a_promotion(tmp_path: Path) -> None:
    """Ten seeds on the same rows promote something in at most a tenth of the cases."""
    projects, tries = (20, 10) if FULL else (2, 3)
    promoted = 0
    for number in range(projects):
        root = make_project(tmp_path / str(number), rubric=HASH_RUBRIC)
        rows = trainset(salt=f" {number}")
        for seed in range(tries):
            compile_program(
                NAME,
                None,
                rows,
                root=root,
                models=models_of(writer(fixed)),
                limits=QUICK,
                seed=seed,
            )
        promoted += current(root, NAME) is not None

    assert promoted <= max(1, 0.1 * projects + 2 * (0.1 * projects) ** 0.5)


@pytest.mark.full
@pytest.mark.timeout(3600)
def test_current_is_only_replaced_by_something_better(tmp_path: Path) -> None:
    """With CURRENT strong and base weak, compiles that only beat base never take its place."""
    root = make_project(tmp_path)
    strong = replace(QUICK, sizes=(8,), sets_per_size=1)
    compile_program(NAME, root=root, models=models_of(writer(learner)), limits=strong)
    before = current(root, NAME)

    for seed in range(COMPILES // 4):
        compile_program(
            NAME,
            root=root,
            models=models_of(writer(learner)),
            limits=replace(QUICK, sizes=(1, 2)),
            promote="likely",
            seed=seed,
        )

    assert before is not None
    assert current(root, NAME) == before


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
