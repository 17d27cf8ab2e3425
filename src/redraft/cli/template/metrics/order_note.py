"""How good a note is: what its checks decide, and whether it speaks to the customer."""

import re

from programs.order_note import CHECKS
from redraft import Measure, Rubric


def speaks_to_the_customer(row, draft):
    """Return 1 for a note that says "you" or "your", else 0 and what is wrong."""
    if re.search(r"\byou(r|rs)?\b", draft, re.IGNORECASE):
        return 1.0
    return 0.0, "The note does not speak to the customer; say 'you' or 'your order'."


RUBRIC = Rubric(
    [
        *(Measure.of(check, weight=2) for check in CHECKS),
        Measure("speaks_to_the_customer", weight=1, fn=speaks_to_the_customer),
    ],
    passing=0.8,
)
