"""What the simulated model makes of a request: which predictor asks, what it is shown, the task."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from dspy.lm15 import Request

from redraft.lm.script import count_words
from redraft.lm.wire import message_text, system_text
from redraft.testing.simulated.effects import Part, Prompt, ShownDemo
from redraft.testing.simulated.notes import find_task, read_draft, share

RULE = "whole"

_DRAFT_TO_JUDGE = re.compile(r"<draft (\w+)>\n(.*)\n</draft \1>\s*$", re.DOTALL)
_DRAFT_TO_REVISE = re.compile(r"^Previous draft:\n(.*)\n\nGaps:\n", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Turns:
    """The texts of a request.

    Attributes:
        system: Instructions, and the form of the output where it is structured.
        shown: User and assistant turns before the last one: the demos.
        last: The last turn: the task.
    """

    system: str
    shown: tuple[str, ...]
    last: str


def turns_of(request: Request) -> Turns:
    """Return the texts of a request."""
    texts = [message_text(message) for message in request.messages]
    return Turns(system_text(request), tuple(texts[:-1]), texts[-1])


def part_of(last: str) -> Part | None:
    """Return whose call it is by its last turn; None for none of the program's predictors."""
    if last.startswith("<task "):
        return "check"
    if _DRAFT_TO_REVISE.search(last):
        return "revise"
    task = find_task(last)
    return "draft" if task is not None and task.text == last else None


def given_draft(part: Part, last: str) -> str:
    """Return the draft that a checker or a reviser is given; empty where there is none."""
    found = (_DRAFT_TO_JUDGE if part == "check" else _DRAFT_TO_REVISE).search(last)
    if found is None:
        return ""
    return found[2] if part == "check" else found[1]


def read_prompt(part: Part, system: str, shown: Sequence[str]) -> Prompt:
    """Return what a predictor is shown beside its task; demos of other tasks are not seen."""
    pairs = zip(shown[::2], shown[1::2], strict=False)
    demos = (_demo(part, asked, reply) for asked, reply in pairs)
    tokens = sum(count_words(text) for text in (system, *shown))
    return Prompt(part, system.lower(), tuple(d for d in demos if d is not None), tokens)


def verdict_json(gap: str | None) -> str:
    """Return a checker's reply: met, or unmet with a gap."""
    finding = {
        "reason": "Everything is there." if gap is None else "Something is missing.",
        "status": "met" if gap is None else "unmet",
        "quote": "",
        "gap": gap or "",
    }
    return json.dumps({"findings": {RULE: finding}})


def _demo(part: Part, asked: str, reply: str) -> ShownDemo | None:
    task = find_task(asked)
    if task is None:
        return None
    if part == "check":
        whole = read_draft(task, given_draft(part, asked)).whole
        good = _says_met(reply) is whole
    else:
        good = read_draft(task, reply).whole
    return ShownDemo(task.kind, task.text, reply, share("worth", task.text), good)


def _says_met(reply: str) -> bool | None:
    try:
        return bool(json.loads(reply)["findings"][RULE]["status"] == "met")
    except (ValueError, KeyError, TypeError):
        return None
