"""Going on with a stored answer: what is taken as it was, what is asked, what is refused."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tiny_program import INPUTS, answered, broken_off, tiny

from redraft.budget import Caps
from redraft.calls import LostCall, RecordedCall
from redraft.errors import ResumeError
from redraft.events import CallEnded, CallStarted, DraftMade, Event, VerdictMade
from redraft.program import Program
from redraft.records import Check, Criterion, Loop, Options, PredictorState
from redraft.session import AnswerRun
from redraft.testing import Reply as Said
from redraft.testing import Scripted, models_of
from redraft.traces import TraceStore, recorded_calls, resume


@pytest.fixture
def store(tmp_path: Path) -> TraceStore:
    return TraceStore(tmp_path / "traces.sqlite")


def learner(**loop: Any) -> Program:
    return tiny(**loop).with_models(models_of(drafter="hello", reviser="sorry"))


@pytest.mark.parametrize(
    ("at", "count", "asked"),
    [
        (CallStarted, 1, ["draft", "revise"]),
        (CallEnded, 1, ["revise"]),
        (DraftMade, 1, ["revise"]),
        (VerdictMade, 1, ["revise"]),
        (CallStarted, 2, ["revise"]),
        (CallEnded, 2, []),
        (VerdictMade, 2, []),
    ],
)
def test_no_recorded_call_is_made_again(
    store: TraceStore, at: type[Event], count: int, asked: list[str]
) -> None:
    """Wherever it was broken off, only what was not recorded is asked for."""
    trace_id = broken_off(store, at, count=count)
    drafter, reviser = Scripted("hello"), Scripted("sorry")
    subject = tiny().with_models(learner_models(drafter, reviser))

    answer = resume(store, trace_id, subject)

    made = ["draft"] * len(drafter.requests) + ["revise"] * len(reviser.requests)
    assert made == asked
    assert (answer.draft, answer.passed, answer.trace_id) == ("sorry", True, trace_id)
    lost = 1 if at is CallStarted else 0
    assert answer.usage.calls == 2 + lost
    assert store.load(trace_id).answer == answer


def learner_models(drafter: Scripted, reviser: Scripted) -> Any:
    drafter.name, reviser.name = "scripted/drafter", "scripted/reviser"
    return models_of(drafter=drafter, reviser=reviser)


def test_a_resumed_trace_is_one_trace(store: TraceStore) -> None:
    """The lost call stays in it, the one made again gets the next number."""
    trace_id = broken_off(store, CallStarted, count=2)

    resume(store, trace_id, learner())

    trace = store.load(trace_id)
    assert [(c.sequence, c.predictor, c.outcome is None) for c in trace.calls] == [
        (1, "draft", False),
        (2, "revise", True),
        (3, "revise", False),
    ]
    assert trace.resumed == 1
    assert len(store.summaries()) == 1


def test_it_can_be_broken_off_again_and_again(store: TraceStore) -> None:
    """Each time costs the call in flight and no more."""
    trace_id = broken_off(store, CallStarted)

    answer = None
    for _ in range(2):
        answer = resume(store, trace_id, learner())

    assert answer is not None
    assert answer.usage.calls == 3
    assert store.load(trace_id).resumed == 2


def test_calls_in_flight_count_in_the_caps(store: TraceStore) -> None:
    """A cap of two leaves no call where one was recorded and one was lost."""
    trace_id = broken_off(store, CallStarted, count=2)

    answer = resume(store, trace_id, learner(), caps=Caps(max_calls=2))

    assert (answer.stopped_by, answer.draft, answer.usage.calls) == ("budget", "hello", 2)


def test_a_capped_answer_goes_on_with_more_revisions(store: TraceStore) -> None:
    """When a loop ends may change; what it asked may not."""
    first = learner(max_revisions=0).with_traces(store).answer(**INPUTS)

    answer = resume(store, first.trace_id or "", learner(max_revisions=1))

    assert (first.stopped_by, answer.passed) == ("max_revisions", True)
    assert (answer.usage.calls, answer.usage.reread) == (2, 1)


def test_an_answer_stopped_by_its_budget_goes_on(store: TraceStore) -> None:
    """A call that the cap did not allow was not spent."""
    from_start = learner().with_traces(store)
    first = from_start.answer_run(INPUTS, AnswerRun(caps=Caps(max_calls=1)))

    answer = resume(store, first.trace_id or "", learner())

    assert (first.stopped_by, answer.passed, answer.usage.calls) == ("budget", True, 2)


def test_an_outage_is_asked_again(store: TraceStore) -> None:
    """There was no answer to keep; the tries are spent."""
    first = answered(store, drafter=Said(fail="outage"))

    answer = resume(store, first.trace_id or "", learner())

    assert (first.stopped_by, answer.passed) == ("drafter_failed", True)
    assert answer.usage.calls == first.usage.calls + 2


def test_a_finished_answer_is_replayed_at_no_cost(store: TraceStore) -> None:
    """The same draft and verdict, and no call."""
    first = answered(store)
    silent = learner_models(Scripted([]), Scripted([]))

    answer = resume(store, first.trace_id or "", tiny().with_models(silent))

    assert (answer.draft, answer.stopped_by) == (first.draft, first.stopped_by)
    assert answer.usage.reread == answer.usage.calls == 2
    drafts = [(a.draft, a.verdict, a.diff) for a in answer.attempts]
    assert drafts == [(a.draft, a.verdict, a.diff) for a in first.attempts]


def refused(store: TraceStore, subject: Program, **given: Any) -> tuple[str, ...]:
    """Return why an answer cannot be resumed."""
    trace_id = broken_off(store, DraftMade)
    with pytest.raises(ResumeError, match=trace_id) as caught:
        resume(store, trace_id, subject, **given)
    return caught.value.differences


def test_what_changed_is_named(store: TraceStore) -> None:
    """Other inputs, models, loop, program: each in a line of its own."""
    other = models_of(drafter="x", reviser="x", checker="x")
    subject = tiny(on_fail="resample").named("other")
    subject = subject.with_models(replace(other, drafter=other.checker))

    differences = refused(store, subject, inputs={"request": "stairs"})

    assert differences == (
        "the program was 'tiny', now 'other'",
        "the inputs are others; leave them out to take those of the trace",
        "the drafter was 'scripted/drafter', now 'scripted/checker'",
        "on_fail was 'revise', now 'resample'",
    )


def test_changed_instructions_are_named(store: TraceStore) -> None:
    """A prompt that was tuned since would have asked something else."""
    state = learner().state()
    predictors = {**state.predictors, "draft": PredictorState("Write better.")}

    differences = refused(store, learner().with_state(replace(state, predictors=predictors)))

    assert differences == ("the instructions or demos of 'draft' changed",)


def test_a_prompt_that_was_not_used_may_change(store: TraceStore) -> None:
    """The reviser had not been asked when the answer was broken off."""
    trace_id = broken_off(store, DraftMade)
    state = learner().state()
    predictors = {**state.predictors, "revise": PredictorState("Revise better.")}

    answer = resume(store, trace_id, learner().with_state(replace(state, predictors=predictors)))

    assert answer.passed


def test_changed_options_are_named(store: TraceStore) -> None:
    """So would other limits and temperatures."""
    state = replace(learner().state(), options={"drafter": Options(max_tokens=9)})

    differences = refused(store, learner().with_state(state))

    assert differences == ("the options (max_tokens, temperatures) changed",)


def test_changed_rules_are_named(store: TraceStore) -> None:
    """Another set of rules is another loop."""
    checks = [Check("says_sorry", lambda facts, draft: None, "It apologises.")]
    subject = Program("request -> notice", checks=checks).named("tiny")

    differences = refused(store, subject.with_models(learner().models))  # type: ignore[arg-type]

    assert differences == ("the checks or criteria changed",)


def test_models_that_were_taken_away_are_named(store: TraceStore) -> None:
    """Nothing can answer without them."""
    assert refused(store, tiny()) == ("the drafter was 'scripted/drafter', now None",)


def test_a_redacted_trace_is_not_resumed(tmp_path: Path) -> None:
    """What it holds is not what was said."""
    store = TraceStore(tmp_path / "t.sqlite", redact=lambda text: text.replace("hello", "*"))

    assert "redacted" in refused(store, learner())[0]


def other_gap(facts: Mapping[str, object], draft: str) -> str | None:
    return None if "sorry" in draft else "Apologise."


def test_a_check_whose_code_changed_is_found_out(store: TraceStore) -> None:
    """Its rule reads the same, so only the gap that it gives shows that it is another."""
    trace_id = broken_off(store, CallEnded, count=2)
    checks = [Check("says_sorry", other_gap, "The notice says sorry.")]
    subject = Program("request -> notice", checks=checks, loop=Loop()).named("tiny")

    with pytest.raises(ResumeError, match="call 2 would not ask what it asked before"):
        resume(store, trace_id, subject.with_models(learner().models))  # type: ignore[arg-type]


def test_lost_calls_are_told_apart_from_recorded_ones(store: TraceStore) -> None:
    """In flight: what it spent is not known; a reply or a failure of the model is kept."""
    trace_id = broken_off(store, CallStarted, count=2)

    recorded, lost = recorded_calls(store.load(trace_id))

    assert isinstance(recorded, RecordedCall)
    assert lost == LostCall(None)


def test_the_checkers_calls_are_taken_too(store: TraceStore) -> None:
    """A verdict that was paid for is made from its recorded reply."""
    reply = '{"findings": {"kind": {"reason": "", "status": "met", "quote": "", "gap": ""}}}'
    rules = [Criterion("kind", "It is kind.")]
    subject = Program("request -> notice", criteria=rules).named("kind")
    spoken = subject.with_models(models_of(drafter="hi", checker=reply))
    trace_id = broken_off(store, VerdictMade, subject=spoken)
    checker = Scripted([], name="scripted/checker")
    silent = models_of(drafter=Scripted([], name="scripted/drafter"), checker=checker)

    answer = resume(store, trace_id, subject.with_models(silent))

    assert answer.passed
    assert checker.requests == ()
