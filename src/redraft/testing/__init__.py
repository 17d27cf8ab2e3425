"""Scripted models and contract suites: public, for users' own tests."""

from redraft.lm.script import Reply, Rule
from redraft.lm.scripted import Scripted
from redraft.testing.engines import models_of

__all__ = ["Reply", "Rule", "Scripted", "models_of"]
