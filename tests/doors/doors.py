"""What tests of the command line share: results, and scripted models for a project."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

GOOD_MODEL = '''
"""Replies to the sample program of the template: states each fact, in one short sentence."""

import re

from redraft.lm.wire import last_user_text


def reply(request):
    facts = re.findall(r"[A-Z]-\\d{4}|\\d{1,2} [A-Z][a-z]+", last_user_text(request))
    return "Your note: " + ", ".join(facts) + "."
'''

REQUEST = "request=Order B-2210 arrives on 4 May. Tell the customer."


@dataclass(frozen=True, slots=True)
class Result:
    """What one command did: its exit code and what it printed."""

    code: int
    out: str
    err: str


Command = Callable[..., Result]


def use_model(root: Path, source: str) -> None:
    """Let a project's every role be answered by a Python function `reply(request)`."""
    (root / "model.py").write_text(source, "utf-8")
    settings = root / "pyproject.toml"
    text = settings.read_text("utf-8").replace("local/smollm2-135m", "scripted/model.py")
    settings.write_text(text, "utf-8")
