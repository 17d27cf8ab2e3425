"""One answer: what it records, how an interrupted one goes on, and judging without drafting."""

import asyncio
import json
from collections.abc import Mapping
from typing import Any

import pytest

from redraft.budget import Caps
from redraft.calls import LostCall, RecordedCall
from redraft.errors import ResumeError
from redraft.events import AnswerStarted, CallEnded, CallStarted, Event
from redraft.loop import Checked, Halted
from redraft.program import AnswerRun, Program
from redraft.records import Answer, Check, Criterion, Left, Loop, Usage
from redraft.replies import Reply
from redraft.testing import Scripted, models_of

INPUTS = {"request": "lift"}


def sorry(facts: Mapping[str, object], draft: str) -> str | None:
    return None if "sorry" in draft else "Say that we are sorry."


def program(**loop: Any) -> Program:
    checks = [Check("says_sorry", sorry, "The notice says sorry.")]
    return Program("request -> notice", checks=checks, loop=Loop(**loop)).named("tiny")


class Notes:
    """A record of one answer in memory."""

    trace_id = "n1"

    def __init__(self) -> None:
        self.events: list[Event] = []

    def __call__(self, event: Event) -> None:
        self.events.append(event)


class Book:
    """A recorder that keeps its recordings."""

    def __init__(self) -> None:
        self.begun: list[Notes] = []

    def begin(self) -> Notes:
        self.begun.append(Notes())
        return self.begun[-1]

    def __deepcopy__(self, memo: object) -> "Book":
        return self


def test_a_recorded_answer_names_its_trace() -> None:
    """The recorder of a program begins one record per answer, and the answer says which."""
    book = Book()
    subject = program().with_models(models_of("sorry")).with_traces(book)

    answer = subject.answer(**INPUTS)

    assert answer.trace_id == "n1"
    assert len(book.begun) == 1


def test_the_start_tells_what_answers() -> None:
    """A record can be compared with a program that wants to go on with it."""
    notes = Notes()
    subject = program().with_models(models_of("sorry"))

    subject.answer_run(INPUTS, AnswerRun(recording=notes))

    started = notes.events[0]
    assert isinstance(started, AnswerStarted)
    assert started.state == subject.state()


def test_a_run_with_its_own_recording_begins_no_other() -> None:
    """Whoever resumes an answer says where it is recorded."""
    book = Book()
    subject = program().with_models(models_of("sorry")).with_traces(book)

    subject.answer_run(INPUTS, AnswerRun(recording=Notes()))

    assert book.begun == []


def test_an_answer_says_what_its_caps_had_left() -> None:
    """Revisions are those of the loop, calls those of the cap."""
    subject = program(max_revisions=3).with_models(models_of(drafter="no", reviser="sorry"))

    answer = subject.answer_run(INPUTS, AnswerRun(caps=Caps(max_calls=5)))

    assert answer.left == Left(revisions=2, calls=3)


def call_of(subject: Program, reply: str) -> RecordedCall:
    notes = Notes()
    subject.with_models(models_of(reply)).answer_run(INPUTS, AnswerRun(recording=notes))
    ended = next(event for event in notes.events if isinstance(event, CallEnded))
    assert isinstance(ended.outcome, Reply)
    return RecordedCall(ended.outcome, ended.usage)


def resumed(recorded: list[RecordedCall | LostCall], **run: Any) -> tuple[Answer, list[Event]]:
    seen: list[Event] = []
    subject = program(on_fail="resample").with_models(models_of("sorry"))
    circumstances = AnswerRun(recorded=tuple(recorded), observe=seen.append, **run)
    return subject.answer_run(INPUTS, circumstances), seen


def test_a_lost_call_is_spent_and_made_again() -> None:
    """A call in flight at a kill costs one call, and its number is not given out twice."""
    answer, seen = resumed([LostCall()])

    assert answer.usage.calls == 2
    assert answer.usage.cost_usd == 0.0
    assert [event.sequence for event in seen if isinstance(event, CallStarted)] == [2]


def test_an_awaited_answer_goes_on_too() -> None:
    """Recorded calls are taken as they were, whoever drives the loop."""
    call = call_of(program(), "sorry")
    subject = program().with_models(models_of(Scripted([])))

    answer = asyncio.run(subject.aanswer_run(INPUTS, AnswerRun(recorded=(call,))))

    assert (answer.draft, answer.usage.reread) == ("sorry", 1)


def test_a_lost_call_counts_in_the_caps() -> None:
    """What was spent before the kill cannot be spent again."""
    answer, _ = resumed([LostCall()], caps=Caps(max_calls=1))

    assert (answer.stopped_by, answer.usage.calls) == ("budget", 1)


def test_recorded_tokens_count_in_the_caps() -> None:
    """A recorded call takes its tokens from the cap as it did before."""
    call = call_of(program(), "no")
    heavy = RecordedCall(call.outcome, Usage(calls=1, input_tokens=900, output_tokens=101))

    answer, _ = resumed([heavy], caps=Caps(max_tokens=1000))

    assert answer.stopped_by == "budget"


def test_a_call_that_would_ask_something_else_is_refused() -> None:
    """A reply is never taken for the answer to another question."""
    call = call_of(program(), "no")

    with pytest.raises(ResumeError, match="call 1 would not ask"):
        resumed([RecordedCall(call.outcome, call.usage, digest="0" * 64)])


TONE = Criterion("kind_tone", "The tone is kind.")
MET = json.dumps(
    {"findings": {"kind_tone": {"reason": "", "status": "met", "quote": "", "gap": ""}}}
)


def test_a_draft_is_judged_without_drafting() -> None:
    """Checks first, then the model, as in the loop; nothing is recorded."""
    drafter, book = Scripted([]), Book()
    subject = Program("request -> notice", criteria=[TONE]).with_traces(book)
    subject = subject.with_models(models_of(drafter=drafter, checker=MET))

    outcome = subject.verdict_on(INPUTS, "Dear all", AnswerRun())

    assert isinstance(outcome, Checked)
    assert (outcome.verdict.passed, outcome.usage.calls) == (True, 1)
    assert (drafter.requests, book.begun) == ((), [])


def test_judging_keeps_to_caps() -> None:
    """A cap that leaves no call leaves no verdict."""
    reply = json.dumps({"findings": {}})
    subject = Program("request -> notice", criteria=[TONE]).with_models(models_of(reply))

    outcome = subject.verdict_on(INPUTS, "Dear all", AnswerRun(caps=Caps(max_calls=1)))

    assert outcome == Halted("budget")
