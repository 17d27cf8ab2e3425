"""One call of a predictor, and what can come of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from redraft.adapter import CallSettings, Reply
from redraft.loop import Halted
from redraft.records import Failure, Usage


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a predictor that is to be made.

    Attributes:
        predictor: `draft`, `check` or `revise`.
        fields: Values of its input fields.
        settings: How it is called.
    """

    predictor: str
    fields: Mapping[str, Any]
    settings: CallSettings


@dataclass(frozen=True, slots=True)
class NoReply:
    """A call that gave nothing usable, and what the model said all the same."""

    failure: Failure
    text: str = ""


CallOutcome = Reply | NoReply | Halted


@dataclass(frozen=True, slots=True)
class RecordedCall:
    """A call that an earlier, interrupted run of the same answer made.

    Attributes:
        outcome: What came of it.
        usage: What it spent, its failed tries included.
    """

    outcome: Reply | NoReply
    usage: Usage
