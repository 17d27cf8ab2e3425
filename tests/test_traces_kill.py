"""Runs killed at random points: the store holds a true prefix, and resume pays only once."""

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import kill_worker
import pytest

from redraft.records import Answer
from redraft.traces import Trace, TraceStore, resume

KILLS = 50 if os.environ.get("REDRAFT_FULL") else 5


class Victim:
    """Answers in children of another process, and kills them on time."""

    def __init__(self, folder: Path) -> None:
        self.store, self.log = TraceStore(folder / "t.sqlite"), folder / "log"
        self.log.touch()
        self._process = subprocess.Popen(
            [sys.executable, kill_worker.__file__, str(self.store.path), str(self.log)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(self, trace_id: str = "", *, kill_after: float | None = None) -> float:
        """Let a child answer anew, or resume; return how long it lived."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{trace_id}\n")
        self._process.stdin.flush()
        child = int(self._process.stdout.readline())
        began = time.monotonic()
        if kill_after is not None:
            time.sleep(kill_after)
            # Where the child was quicker, there is nobody to kill.
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
        assert self._process.stdout.readline() == "gone\n"
        return time.monotonic() - began

    def requests(self) -> list[str]:
        """Return what the models were asked since the last look."""
        words = self.log.read_text("utf-8").split()
        self.log.write_text("", "utf-8")
        return words

    def close(self) -> None:
        """End the other process."""
        self._process.communicate("", timeout=60)


@pytest.fixture
def victim(tmp_path: Path) -> Iterator[Victim]:
    made = Victim(tmp_path)
    yield made
    made.close()


def newest(store: TraceStore, known: set[str]) -> str | None:
    """Return the trace that was not there before; None if the run was killed before it began."""
    found = [s.id for s in store.summaries() if s.id not in known]
    return found[0] if found else None


def assert_prefix(trace: Trace, whole: Trace, asked: list[str]) -> None:
    """Hold that a trace says what happened in the run that was killed, as far as it got."""
    calls = [call for call in trace.calls if call.outcome is not None]
    flying = len(trace.calls) - len(calls)
    assert flying <= 1
    assert [c.outcome for c in calls] == [c.outcome for c in whole.calls[: len(calls)]]
    assert [c.predictor for c in trace.calls] == [
        c.predictor for c in whole.calls[: len(trace.calls)]
    ]
    # A call is written before it is made and after it has ended: so many were asked for.
    assert len(calls) <= len(asked) <= len(trace.calls)
    drafts = [(a.number, a.draft, a.diff, a.share_changed, a.gaps) for a in whole.attempts]
    made = [(a.number, a.draft, a.diff, a.share_changed, a.gaps) for a in trace.attempts]
    assert made == drafts[: len(made)]
    verdicts = [a.verdict for a in trace.attempts if a.verdict is not None]
    assert verdicts == [a.verdict for a in whole.attempts[: len(verdicts)]]
    assert len(made) - len(verdicts) <= 1


def finish(victim: Victim, trace_id: str) -> Answer:
    """Resume a trace to its end in this process."""
    subject = kill_worker.program().with_models(kill_worker.models(victim.log))
    return resume(victim.store, trace_id, subject)


@pytest.mark.full
def test_killed_at_random_points(victim: Victim) -> None:
    """Each kill costs at most the call in flight, which counts as spent; nothing is asked twice."""
    victim.run()
    victim.requests()
    seconds = victim.run()
    known = {summary.id for summary in victim.store.summaries()}
    whole = victim.store.load(victim.store.summaries()[0].id)
    assert len(victim.requests()) == len(whole.calls) == kill_worker.CALLS
    chance = random.Random(20261130)
    landed = 0

    for _ in range(KILLS):
        victim.run(kill_after=chance.uniform(0.1, 1.0) * seconds)
        asked = victim.requests()
        trace_id = newest(victim.store, known)
        if trace_id is None:
            assert asked == []
            continue
        known.add(trace_id)
        before = victim.store.load(trace_id)
        assert_prefix(before, whole, asked)
        recorded = sum(call.outcome is not None for call in before.calls)
        landed += before.answer is None

        answer = finish(victim, trace_id)

        assert len(victim.requests()) == kill_worker.CALLS - recorded
        assert (answer.passed, answer.draft) == (True, whole.attempts[-1].draft)
        assert answer.usage.calls == kill_worker.CALLS + len(before.calls) - recorded

    assert landed >= KILLS // 2


@pytest.mark.full
def test_killed_again_while_resuming(victim: Victim) -> None:
    """However often a run is killed, its trace adds up: one lost call a kill at most."""
    victim.run()
    victim.requests()
    seconds = victim.run()
    known = {summary.id for summary in victim.store.summaries()}
    victim.requests()
    chance = random.Random(7)
    trace_id = None
    while trace_id is None:
        victim.run(kill_after=0.3 * seconds)
        trace_id = newest(victim.store, known)
    kills = 1
    for _ in range(KILLS // 5 + 2):
        victim.run(trace_id, kill_after=chance.uniform(0.1, 0.5) * seconds)
        kills += 1

    answer = finish(victim, trace_id)

    trace = victim.store.load(trace_id)
    lost = sum(call.outcome is None for call in trace.calls)
    assert answer.passed
    assert lost <= kills
    assert answer.usage.calls == len(trace.calls) == kill_worker.CALLS + lost
    assert kill_worker.CALLS <= len(victim.requests()) <= kill_worker.CALLS + lost
