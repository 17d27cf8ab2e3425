"""Scripted models and contract suites: public, for users' own tests."""

from redraft.lm.script import Reply, Rule
from redraft.lm.scripted import Scripted
from redraft.testing.contract import ENGINE_PROMISES, Promise
from redraft.testing.engines import models_of

__all__ = ["ENGINE_PROMISES", "Promise", "Reply", "Rule", "Scripted", "models_of"]
