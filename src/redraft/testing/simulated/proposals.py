"""What the simulated model replies to a request for better instructions."""

import random
import re
from collections.abc import Sequence

from redraft.testing.simulated.notes import INSTRUCTIONS

_FIELD = re.compile(r"\[\[ ## (\w+) ## \]\]")
_KEPT = 0.4  # chance that a sentence of the pool is in a proposal


def propose(sentences: Sequence[str], draw: random.Random) -> str:
    """Return instructions: the task's own and some sentences of the pool, in any order."""
    kept = [sentence for sentence in sentences if draw.random() < _KEPT]
    return " ".join([INSTRUCTIONS, *draw.sample(kept, len(kept))])


def shaped(instructions: str, asked: str) -> str:
    """Return instructions in the form that the request asks for: fields, a code block, or text."""
    fields = [name for name in _FIELD.findall(asked) if name != "completed"]
    if fields:
        return f"[[ ## {fields[-1]} ## ]]\n{instructions}\n\n[[ ## completed ## ]]"
    return f"```\n{instructions}\n```" if "```" in asked else instructions
