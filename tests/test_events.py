"""What is told while an answer is under way, and how an interrupted one goes on."""

import asyncio
import json
from collections.abc import Mapping
from typing import Any

import pytest

from redraft.budget import Caps
from redraft.calls import NoReply, RecordedCall
from redraft.events import (
    AnswerStarted,
    AnswerStopped,
    CallEnded,
    CallStarted,
    DraftMade,
    DraftStarted,
    Event,
    FindingMade,
    RevisionStarted,
    TryFailed,
    VerdictMade,
)
from redraft.program import AnswerRun, Program
from redraft.records import Check, Criterion, Loop
from redraft.replies import Reply
from redraft.testing import Reply as Said
from redraft.testing import Scripted, models_of


def sorry(facts: Mapping[str, object], draft: str) -> str | None:
    return None if "sorry" in draft else "Say that we are sorry."


def program(**loop: Any) -> Program:
    checks = [Check("says_sorry", sorry, "The notice says sorry.")]
    return Program("request -> notice", checks=checks, loop=Loop(**loop)).named("tiny")


def watched(subject: Program, run: AnswerRun | None = None) -> list[Event]:
    seen: list[Event] = []
    base = run or AnswerRun()
    run = AnswerRun(observe=seen.append, recorded=base.recorded, caps=base.caps)
    subject.answer_run({"request": "lift"}, run)
    return seen


def kinds(events: list[Event]) -> list[type[Event]]:
    return [type(event) for event in events]


def test_every_step_is_told_in_order() -> None:
    """A watcher sees the loop as it goes: draft, findings, verdict, revision, stop."""
    events = watched(program().with_models(models_of(drafter="hello", reviser="sorry")))

    assert kinds(events) == [
        AnswerStarted,
        DraftStarted,
        CallStarted,
        CallEnded,
        DraftMade,
        FindingMade,
        VerdictMade,
        RevisionStarted,
        CallStarted,
        CallEnded,
        DraftMade,
        FindingMade,
        VerdictMade,
        AnswerStopped,
    ]
    assert isinstance(events[0], AnswerStarted)
    assert events[0].models["reviser"] == "scripted/reviser"
    assert isinstance(events[7], RevisionStarted)
    assert events[7].gaps == ("Say that we are sorry.",)


def test_a_call_counts_from_before_it_is_made() -> None:
    """Calls are numbered through the answer, and each end carries what it spent."""
    events = watched(program().with_models(models_of(drafter="hello", reviser="sorry")))

    started = [event for event in events if isinstance(event, CallStarted)]
    ended = [event for event in events if isinstance(event, CallEnded)]
    assert [(e.sequence, e.call.predictor) for e in started] == [(1, "draft"), (2, "revise")]
    assert [e.usage.calls for e in ended] == [1, 1]


def test_a_try_that_fails_is_told() -> None:
    """The failure is an event, and the stop still comes last."""
    events = watched(program().with_models(models_of(Said(fail="empty"))))

    assert kinds(events)[-2:] == [TryFailed, AnswerStopped]


def test_events_are_an_async_iterator() -> None:
    """The same events arrive while the answer is awaited."""
    subject = program(on_fail="resample").with_models(models_of(["hello", "sorry"]))

    async def collect() -> list[Event]:
        return [event async for event in subject.events(request="lift")]

    events = asyncio.run(collect())

    assert isinstance(events[-1], AnswerStopped)
    assert events[-1].answer.passed
    again = [event for event in events if isinstance(event, DraftStarted)]
    assert [(e.number, e.again) for e in again] == [(1, False), (2, True)]


def test_errors_come_out_of_the_iterator() -> None:
    """What `answer` would raise, the iterator raises."""

    async def collect() -> None:
        async for _ in program().events(request="lift"):
            raise AssertionError("nothing can be told without a model")

    with pytest.raises(Exception, match="no model is named"):
        asyncio.run(collect())


def test_leaving_early_stops_further_calls() -> None:
    """After the watcher has gone, no call is begun."""
    drafter = Scripted(lambda request: Said("hello", delay_seconds=0.05))
    subject = program(max_revisions=9, on_fail="resample").with_models(models_of(drafter))

    async def leave() -> None:
        stream = subject.events(request="lift")
        async for event in stream:
            if isinstance(event, DraftMade):
                break
        await stream.aclose()  # type: ignore[attr-defined]  # it is an async generator
        await asyncio.sleep(0.3)

    asyncio.run(leave())

    assert len(drafter.requests) <= 2


def recorded(events: list[Event]) -> tuple[RecordedCall, ...]:
    return tuple(
        RecordedCall(event.outcome, event.usage)
        for event in events
        if isinstance(event, CallEnded) and isinstance(event.outcome, Reply | NoReply)
    )


@pytest.mark.parametrize("made", [0, 1, 2, 3])
def test_resume_repeats_no_recorded_call(made: int) -> None:
    """What was recorded is taken as it was; only the rest is asked for."""
    texts = ["one", "two", "sorry"]
    subject = program(on_fail="resample")
    before = recorded(watched(subject.with_models(models_of(list(texts)))))[:made]
    drafter = Scripted(texts[made:])
    seen: list[Event] = []

    answer = subject.with_models(models_of(drafter)).answer_run(
        {"request": "lift"}, AnswerRun(recorded=before, observe=seen.append)
    )

    assert (answer.draft, answer.passed) == ("sorry", True)
    assert len(drafter.requests) == 3 - made
    assert answer.usage.calls == 3
    assert answer.usage.reread == made
    assert sum(isinstance(event, CallStarted) for event in seen) == 3 - made


def test_recorded_failures_are_taken_too() -> None:
    """A checker's unusable reply, once paid for, is not asked for again."""
    tone = Criterion("kind_tone", "The tone is kind.")
    subject = Program("request -> notice", criteria=[tone])
    good = json.dumps(
        {"findings": {"kind_tone": {"reason": "", "status": "met", "quote": "", "gap": ""}}}
    )
    first = subject.with_models(models_of(drafter="hi", checker=[Said(fail="empty"), good]))
    before = recorded(watched(first))
    checker = Scripted([good])

    answer = subject.with_models(models_of(drafter="never", checker=checker)).answer_run(
        {"request": "lift"}, AnswerRun(recorded=before[:2])
    )

    assert answer.passed
    assert len(checker.requests) == 1


def test_recorded_calls_count_in_the_caps() -> None:
    """An interrupted answer does not get its cap anew."""
    subject = program(on_fail="resample")
    before = recorded(watched(subject.with_models(models_of(["one", "two", "sorry"]))))[:1]
    run = AnswerRun(recorded=before, caps=Caps(max_calls=1))

    answer = subject.with_models(models_of("sorry")).answer_run({"request": "lift"}, run)

    assert (answer.stopped_by, answer.draft) == ("budget", "one")
