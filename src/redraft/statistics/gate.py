"""What the gate says of a compile, and the level that each look may spend."""

import math
from typing import Literal

from redraft.statistics.effects import Effect

GateVerdict = Literal["confirmed", "likely", "not_confirmed", "worse"]


def look_level(number: int) -> float:
    """Return the gate's one-sided level for a look.

    The levels of all looks together stay below 0.0915, so tries with nothing to win end in a
    promotion in less than 10 % of cases, however many there are.

    Args:
        number: Of the look, from 1, since the rows changed or a gain was last confirmed.

    Raises:
        ValueError: `number` is below 1.
    """
    if number < 1:
        raise ValueError(f"looks are counted from 1, got {number}")
    return 0.04 * math.pow(number, -1.6)


def gate_verdict(effect: Effect, level: float) -> GateVerdict:
    """Return what the gate says of compiled against opponent at its one-sided level."""
    if effect.p_greater is None or effect.p_less is None:
        return "not_confirmed"
    if effect.p_greater < level:
        return "confirmed"
    if effect.p_less < level:
        return "worse"
    return "likely" if effect.p_greater < 2 * level else "not_confirmed"
