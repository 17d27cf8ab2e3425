"""The 2x2, the alternatives, and what slips through: what each half was worth."""

from redraft.comparison.alternatives import Alternative, AlternativeName
from redraft.comparison.gains import Gain, Gains, PassGain
from redraft.comparison.measurement import Plan, compare, plan_comparison
from redraft.comparison.pairing import Cell, Escaped
from redraft.comparison.results import (
    AlternativeResult,
    Comparison,
    Feedback,
    Measured,
    Reread,
)
from redraft.comparison.subject import Options, Pair

__all__ = [
    "Alternative",
    "AlternativeName",
    "AlternativeResult",
    "Cell",
    "Comparison",
    "Escaped",
    "Feedback",
    "Gain",
    "Gains",
    "Measured",
    "Options",
    "Pair",
    "PassGain",
    "Plan",
    "Reread",
    "compare",
    "plan_comparison",
]
