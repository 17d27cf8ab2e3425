"""Stored drafts judged again: what is stored beside the old verdicts, and how far they agree."""

import json
from pathlib import Path

import pytest
from tiny_program import INPUTS

from redraft.budget import Meter, RunCaps
from redraft.program import Program
from redraft.records import Answer, Criterion, FindingStatus, Loop
from redraft.testing import Scripted, models_of
from redraft.traces import Agreement, TraceStore, agreement, recheck

RULES = [Criterion("kind", "It is kind."), Criterion("short", "It is short.", must_pass=False)]


@pytest.fixture
def store(tmp_path: Path) -> TraceStore:
    return TraceStore(tmp_path / "traces.sqlite")


def verdict(kind: FindingStatus, short: FindingStatus = "met") -> str:
    statuses = {"kind": kind, "short": short}
    findings = {
        rule: {"reason": "", "status": s, "quote": "", "gap": "Do better." if s == "unmet" else ""}
        for rule, s in statuses.items()
    }
    return json.dumps({"findings": findings})


def program() -> Program:
    return Program("request -> notice", criteria=RULES, loop=Loop(max_revisions=1)).named("kind")


@pytest.fixture
def answer(store: TraceStore) -> Answer:
    """Return a stored answer whose first draft failed and whose second passed."""
    scripts = models_of(
        drafter="one", reviser="two", checker=[verdict("unmet"), verdict("met", "unmet")]
    )
    return program().with_models(scripts).with_traces(store).answer(**INPUTS)


def test_every_draft_is_judged_again_and_none_is_drafted(store: TraceStore, answer: Answer) -> None:
    """The new verdicts are stored, the old ones stay."""
    drafter = Scripted([])
    judge = program().with_models(models_of(drafter=drafter, checker=verdict("met")))

    rechecks = recheck(store, answer.trace_id or "", judge)

    trace = store.load(answer.trace_id or "")
    assert trace.rechecks == rechecks
    assert trace.answer == answer
    assert [(r.number, r.verdict.passed, r.checker) for r in rechecks] == [
        (1, True, "scripted/checker"),
        (2, True, "scripted/checker"),
    ]
    assert drafter.requests == ()


def test_agreement_counts_verdicts_and_findings(store: TraceStore, answer: Answer) -> None:
    """Per draft whether both passed it, per rule whether both said the same."""
    judge = program().with_models(models_of(checker=[verdict("met"), verdict("unmet", "unmet")]))

    rechecks = recheck(store, answer.trace_id or "", judge)

    assert agreement(answer.attempts, rechecks) == Agreement(
        drafts=2, same_verdict=0, now_passed=1, now_failed=1, findings=4, same_finding=2
    )


def test_a_draft_without_old_verdict_agrees_with_nothing(store: TraceStore, answer: Answer) -> None:
    """There is nothing to compare it with."""
    judge = program().with_models(models_of(checker=verdict("met")))

    rechecks = recheck(store, answer.trace_id or "", judge)

    assert agreement((), rechecks) == Agreement()


def test_a_spent_cap_leaves_the_rest_out(store: TraceStore, answer: Answer) -> None:
    """What was judged until then is kept."""
    judge = program().with_models(models_of(checker=verdict("met")))
    meter = Meter(RunCaps(max_calls=1))

    rechecks = recheck(store, answer.trace_id or "", judge, meter=meter)

    assert [r.number for r in rechecks] == [1]
    assert len(store.load(answer.trace_id or "").rechecks) == 1


def test_code_alone_asks_no_checker(store: TraceStore) -> None:
    """A program without criteria names no model."""
    subject = Program("request -> notice").named("bare").with_models(models_of("hi"))
    answer = subject.with_traces(store).answer(**INPUTS)

    (judged,) = recheck(store, answer.trace_id or "", subject)

    assert (judged.checker, judged.usage.calls, judged.verdict.passed) == (None, 0, True)
