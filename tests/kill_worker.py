"""A process that answers in children of its own, so that a test can kill them one after another.

    python kill_worker.py STORE LOG

reads commands from stdin, one a line: an empty line answers anew, a trace's id resumes it. Each
gets a child of its own; its process id and, once it is gone, `gone` are printed.
"""

import json
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path

from dspy.lm15 import Request

from redraft.lm import Models
from redraft.lm.wire import last_user_text
from redraft.program import Program
from redraft.records import Criterion, Loop
from redraft.testing import Reply, models_of
from redraft.traces import TraceStore, resume

INPUTS = {"request": "lift"}
LAST = 4
CALLS = 2 * LAST
DELAY_SECONDS = 0.01


def program() -> Program:
    """Return a program that drafts, judges and revises until the fourth draft passes."""
    return Program(
        "request -> notice",
        criteria=[Criterion("complete", "It says everything.")],
        loop=Loop(max_revisions=LAST, patience=LAST),
    ).named("killed")


def models(log: Path) -> Models:
    """Return models that write down every request before they answer it, and take their time."""
    return models_of(
        drafter=_logged(log, "draft", lambda number: "version 1"),
        checker=_logged(log, "check", _verdict),
        reviser=_logged(log, "revise", lambda number: f"version {number + 1}"),
    )


def _logged(log: Path, word: str, say: Callable[[int], str]) -> Callable[[Request], Reply]:
    def reply(request: Request) -> Reply:
        with log.open("ab", buffering=0) as file:
            file.write(f"{word}\n".encode())
        found = re.search(r"version (\d)", last_user_text(request))
        number = int(found[1]) if found is not None else 0
        return Reply(say(number), delay_seconds=DELAY_SECONDS)

    return reply


def _verdict(number: int) -> str:
    met = number == LAST
    finding = {
        "reason": "",
        "status": "met" if met else "unmet",
        "quote": "",
        "gap": "" if met else f"Say more than version {number}.",
    }
    return json.dumps({"findings": {"complete": finding}})


def work(store: Path, log: Path, command: str) -> None:
    """Answer anew, or resume a trace."""
    subject = program().with_models(models(log))
    if command:
        resume(TraceStore(store), command, subject)
    else:
        subject.with_traces(TraceStore(store)).answer(**INPUTS)


def main() -> None:
    """Serve commands until stdin ends."""
    store, log = Path(sys.argv[1]), Path(sys.argv[2])
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            work(store, log, line.strip())
            os._exit(0)
        _say(str(child))
        os.waitpid(child, 0)
        _say("gone")


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
