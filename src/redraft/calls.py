"""One call of a predictor, and what can come of it."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from redraft.adapter import CallSettings, as_text
from redraft.loop import Halted
from redraft.records import Failure, Usage
from redraft.replies import Reply


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
        digest: `call_digest` of the call; None where it was not kept.
    """

    outcome: Reply | NoReply
    usage: Usage
    digest: str | None = None


@dataclass(frozen=True, slots=True)
class LostCall:
    """A call that an earlier run began and that gave nothing: it is spent, and made again.

    Attributes:
        usage: What it spent; None where the run was ended before that was known.
    """

    usage: Usage | None = None


def call_digest(call: Call) -> str:
    """Return the SHA-256 (hex) of what is asked; the predictor's own prompt is not in it."""
    fields = {name: as_text(value) for name, value in call.fields.items()}
    text = json.dumps([call.predictor, fields, repr(call.settings)], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()
