"""Compiles in simulated worlds, judged by what they truly gained."""

import os
from pathlib import Path

import pytest

from redraft.artifact import load
from redraft.compilation import Compilation
from redraft.compiler import compile_program
from redraft.optimizers import SearchLimits
from redraft.testing.simulated import World, world_named

FULL = os.environ.get("REDRAFT_FULL") == "1"
COMPILES = 300 if FULL else 8
SEEDS = range(20) if FULL else range(2)
LEVEL = 0.04
ROWS = 160

QUICK = SearchLimits(sizes=(0, 2, 4), sets_per_size=2, train_rows=12, max_revisions=2)


def compiled(world: World, root: Path, seed: int, limits: SearchLimits = QUICK) -> Compilation:
    """Compile a world's program on rows of its own."""
    world.write_project(root, rows=ROWS, seed=seed)
    return compile_program(
        world.name, root=root, models=world.models(), limits=limits, seed=seed, threads=1
    )


def true_gain(world: World, root: Path, result: Compilation) -> float:
    """Return what the artifact that was found truly gains; 0 where nothing was found."""
    if result.artifact_id is None:
        return 0.0
    found = load(world.name, result.artifact_id, root=root, models=world.models())
    return world.true_gain(found.state())


@pytest.mark.full
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", ["demos", "format", "clustered"])
def test_bootstrap_finds_demos_that_truly_help(name: str, tmp_path: Path) -> None:
    """Where demos help, what is found gains on average, and a promotion is never a loss."""
    world = world_named(name)
    found: list[tuple[bool, float]] = []
    for seed in SEEDS:
        root = tmp_path / str(seed)
        result = compiled(world, root, seed)
        found.append((result.promoted, true_gain(world, root, result)))

    assert sum(gain for _, gain in found) / len(found) > 0.03
    assert all(gain > 0 for promoted, gain in found if promoted)


@pytest.mark.full
@pytest.mark.timeout(3600)
def test_bootstrap_finds_the_loop_that_draws_again(tmp_path: Path) -> None:
    """Where only a resample helps, the settings of the loop are what is found."""
    world = world_named("resample")

    result = compiled(world, tmp_path, seed=0)

    assert true_gain(world, tmp_path, result) > 0.03


@pytest.mark.full
@pytest.mark.timeout(3600)
def test_gate_promotes_nothing_more_often_than_its_level(tmp_path: Path) -> None:
    """In the null world, where nothing helps, at most 4 % of compiles end in a promotion."""
    world = world_named("null")

    promoted = sum(compiled(world, tmp_path / str(seed), seed).promoted for seed in range(COMPILES))

    assert promoted <= LEVEL * COMPILES + 2 * (LEVEL * COMPILES) ** 0.5
