"""Scripted models and contract suites: public, for users' own tests."""

from redraft.lm.script import Reply, Rule
from redraft.lm.scripted import Scripted
from redraft.testing.contract import ENGINE_PROMISES, Promise
from redraft.testing.engines import models_of
from redraft.testing.hostile import ATTACK_KINDS, Attack, Fenced, attacks, fenced

__all__ = [
    "ATTACK_KINDS",
    "ENGINE_PROMISES",
    "Attack",
    "Fenced",
    "Promise",
    "Reply",
    "Rule",
    "Scripted",
    "attacks",
    "fenced",
    "models_of",
]
