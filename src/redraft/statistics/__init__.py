"""Paired differences with intervals, the gate, power, and counts."""

from redraft.statistics.effects import (
    FEWEST_FOR_A_CLAIM,
    Effect,
    mean_difference,
    mean_interval,
    paired_gain,
)
from redraft.statistics.gate import GateVerdict, gate_verdict, look_level
from redraft.statistics.power import detectable_with, smallest_detectable
from redraft.statistics.shares import holm, mcnemar_exact, upper_bound, wilson

__all__ = [
    "FEWEST_FOR_A_CLAIM",
    "Effect",
    "GateVerdict",
    "detectable_with",
    "gate_verdict",
    "holm",
    "look_level",
    "mcnemar_exact",
    "mean_difference",
    "mean_interval",
    "paired_gain",
    "smallest_detectable",
    "upper_bound",
    "wilson",
]
