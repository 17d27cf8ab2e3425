"""Simulated models whose true scores are known: for tests of optimizers, one's own among them."""

from redraft.testing.simulated.effects import ALWAYS, CHANCE, NEVER, Cue, Skill
from redraft.testing.simulated.engine import Simulated
from redraft.testing.simulated.mind import Level, Mind
from redraft.testing.simulated.world import World
from redraft.testing.simulated.worlds import WORLDS, world_named

__all__ = [
    "ALWAYS",
    "CHANCE",
    "NEVER",
    "WORLDS",
    "Cue",
    "Level",
    "Mind",
    "Simulated",
    "Skill",
    "World",
    "world_named",
]
