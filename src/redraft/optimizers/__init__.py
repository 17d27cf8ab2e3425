"""The only room that proposes prompts."""

from redraft.optimizers.base import Candidate, Optimizer, SearchLimits, SearchTask
from redraft.optimizers.bootstrap import Bootstrap
from redraft.optimizers.calls import worst_calls
from redraft.optimizers.demos import spread
from redraft.optimizers.identity import Identity
from redraft.optimizers.registry import OPTIMIZERS, optimizer_named
from redraft.optimizers.trials import Progress, Trials, require_measured

__all__ = [
    "OPTIMIZERS",
    "Bootstrap",
    "Candidate",
    "Identity",
    "Optimizer",
    "Progress",
    "SearchLimits",
    "SearchTask",
    "Trials",
    "optimizer_named",
    "require_measured",
    "spread",
    "worst_calls",
]
