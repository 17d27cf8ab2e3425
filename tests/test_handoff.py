"""What a person is handed when the loop ends: what is open, what was tried, what to do next."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from redraft.budget import Caps
from redraft.program import Program
from redraft.records import (
    Answer,
    Attempt,
    Check,
    Failure,
    FailureKind,
    Finding,
    FindingStatus,
    Left,
    Loop,
    Regression,
    StoppedBy,
    Usage,
    Verdict,
    regressions,
)
from redraft.session import AnswerRun
from redraft.testing import models_of


def finding(
    rule: str, status: FindingStatus, *, gap: str = "", quote: str = "", must_pass: bool = True
) -> Finding:
    return Finding(rule, status, "", quote, gap, by="model", must_pass=must_pass)


def attempt(number: int, *findings: Finding, **more: Any) -> Attempt:
    passed = all(f.status == "met" for f in findings if f.must_pass)
    verdict = Verdict(passed, findings, (), "d", "c")
    return Attempt(number, f"draft {number}", verdict, "", None, Usage(calls=2), 0.5, **more)


def stopped(by: StoppedBy, *attempts: Attempt, **more: Any) -> Answer:
    return Answer(
        draft=attempts[-1].draft if attempts else None,
        passed=False,
        stopped_by=by,
        unmet=(),
        attempts=attempts,
        returned=len(attempts) or None,
        best=len(attempts) or None,
        usage=Usage(),
        **more,
    )


MET, UNMET = finding("a", "met"), finding("a", "unmet", gap="Say a.")
OTHER = finding("b", "unmet", gap="Say b.")


def test_a_rule_that_is_met_and_then_unmet_is_a_regression() -> None:
    """With the attempt where it was last met, and the one that broke it."""
    found = regressions([attempt(1, MET), attempt(2, UNMET), attempt(3, MET), attempt(4, UNMET)])

    assert found == (Regression("a", 1, 2), Regression("a", 3, 4))


def test_an_attempt_that_did_not_decide_is_passed_over() -> None:
    """Met, not asked, unmet is a regression; unmet all along is none."""
    undecided = finding("a", "cannot_assess")

    assert regressions([attempt(1, MET), attempt(2, undecided), attempt(3, UNMET)]) == (
        Regression("a", 1, 3),
    )
    assert regressions([attempt(1, UNMET), attempt(2, UNMET)]) == ()


def test_an_unjudged_attempt_breaks_nothing() -> None:
    """Without a verdict nothing is known."""
    assert regressions([attempt(1, MET), replace(attempt(2), verdict=None)]) == ()


def test_the_handoff_holds_last_and_best_draft() -> None:
    """They may differ; both are there, with the best one's number."""
    answer = replace(stopped("max_revisions", attempt(1, OTHER), attempt(2, UNMET)), best=1)

    handoff = answer.handoff()

    assert (handoff.last, handoff.best, handoff.best_number) == ("draft 2", "draft 1", 1)
    assert "Last draft (attempt 2):\n  draft 2" in handoff.text()
    assert "Best draft (attempt 1):\n  draft 1" in handoff.text()


def test_open_rules_come_with_their_quotes() -> None:
    """Must-pass rules first, then minor ones; met ones are left out."""
    minor = finding("tone", "unmet", gap="Be kind.", quote="hey you", must_pass=False)
    unclear = finding("b", "cannot_assess")
    answer = stopped("max_revisions", attempt(1, minor, finding("c", "met"), unclear, UNMET))

    handoff = answer.handoff()

    assert [f.id for f in handoff.unmet] == ["b", "a", "tone"]
    assert '  x tone (minor): Be kind.\n      "hey you"' in handoff.text()


def test_what_was_tried_is_told_attempt_by_attempt() -> None:
    """The gaps sent back, the share changed, what stayed open, what broke."""
    second = replace(attempt(2, UNMET, finding("b", "met")), gaps=("Say b.",), share_changed=0.25)
    answer = stopped("max_revisions", attempt(1, MET, OTHER), second)

    first, then = answer.handoff().tried

    assert (first.gaps, first.unmet, first.broke) == ((), ("b",), ())
    assert (then.gaps, then.share_changed, then.unmet, then.broke) == (
        ("Say b.",),
        0.25,
        ("a",),
        ("a",),
    )
    text = answer.handoff().text()
    assert "  2. told Say b.; 25% of the text changed; open: a; broke a" in text


def test_an_attempt_without_verdict_is_said_to_be_unjudged() -> None:
    """It may be anything."""
    answer = stopped("budget", replace(attempt(1), verdict=None))

    assert "1. not judged" in answer.handoff().text()


def test_what_is_left_is_told_in_its_units() -> None:
    """Only caps that there were."""
    left = Left(revisions=1, calls=3, tokens=1200, seconds=4.26)

    text = stopped("no_progress", attempt(1, UNMET), left=left).handoff().text()

    assert "Left: 1 revision, 3 calls, 1,200 tokens, 4.3 s." in text


FAILED = stopped("drafter_failed")


def failed(kind: FailureKind) -> Answer:
    return replace(FAILED, failure=Failure(kind, "drafter", "It raised."), trace_id="ab12")


@pytest.mark.parametrize(
    ("answer", "step"),
    [
        (stopped("passed"), "nothing; the draft passed."),
        (stopped("unchecked"), "read the draft; nothing has checked it."),
        (
            stopped("budget", trace_id="ab12"),
            "resume trace ab12 with a higher cap; no recorded call is paid for again.",
        ),
        (stopped("deadline", trace_id="ab12"), "resume trace ab12 with more time;"),
        (stopped("cancelled", trace_id="ab12"), "resume trace ab12; no recorded"),
        (stopped("budget"), "answer again with a higher cap; this answer was not stored"),
        (failed("outage"), "resume trace ab12 when the model answers again;"),
        (
            failed("truncated"),
            "raise max_tokens of the drafter, whose reply was cut off, or ask for less:",
        ),
        (failed("too_long"), "shorten the inputs;"),
        (failed("refused"), "reword the request,"),
        (failed("check_error"), "correct the check: It raised."),
        (failed("empty"), "name another model for the drafter;"),
        (
            stopped("max_revisions", attempt(1, UNMET, OTHER), attempt(2, UNMET), trace_id="ab12"),
            "resume trace ab12 with one more revision (the last one closed a rule, for 2 calls);",
        ),
        (
            stopped("max_revisions", attempt(1, UNMET, OTHER)),
            "edit the draft of attempt 1 by hand: Say a. (1 more)",
        ),
        (stopped("no_progress", attempt(1, UNMET)), "edit the draft of attempt 1 by hand: Say a."),
        (
            stopped("checker_failed", attempt(1, finding("a", "cannot_assess"))),
            "read the draft of attempt 1 and decide a; the checker could not.",
        ),
        (stopped("refused"), "write the draft by hand."),
    ],
)
def test_the_cheapest_next_step(answer: Answer, step: str) -> None:
    """It fits how the loop ended."""
    assert answer.handoff().next_step.startswith(step)
    assert answer.handoff().text().endswith(f"Next: {answer.handoff().next_step}")


def sorry(facts: Mapping[str, object], draft: str) -> str | None:
    return None if "sorry" in draft else "Say that we are sorry."


def test_a_cap_hit_hands_over_what_the_loop_did() -> None:
    """From a real loop: gaps, what is left, and the step that follows."""
    checks = [Check("says_sorry", sorry, "The notice says sorry.")]
    subject = Program("request -> notice", checks=checks, loop=Loop(max_revisions=1))
    subject = subject.with_models(models_of(drafter="hello", reviser="hello there"))

    handoff = subject.answer_run({"request": "lift"}, AnswerRun(caps=Caps(max_calls=9))).handoff()

    assert handoff.stopped_by == "max_revisions"
    assert [tried.gaps for tried in handoff.tried] == [(), ("Say that we are sorry.",)]
    assert handoff.left == Left(revisions=0, calls=7)
    assert handoff.next_step == "edit the draft of attempt 1 by hand: Say that we are sorry."
