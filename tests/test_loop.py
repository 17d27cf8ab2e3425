"""The loop as a state machine: every way it can go, over outcomes that are made up."""

import asyncio
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redraft.errors import ConfigError
from redraft.loop import (
    Checked,
    CheckStep,
    Drafted,
    Failed,
    Halted,
    LoopEnd,
    Outcome,
    ResampleStep,
    ReviseStep,
    Step,
    adrive,
    drive,
    replay,
    run_loop,
)
from redraft.records import Answer, Criterion, Failure, Finding, Loop, StoppedBy, Usage, Verdict
from redraft.verdict import make_verdict

RESAMPLE = Loop(max_revisions=2, on_fail="resample")


TONE = Criterion("tone", "The tone is kind.", must_pass=False)


def finding(rule: str, status: str, *, must_pass: bool = True) -> Finding:
    gap = f"close {rule}" if status == "unmet" else ""
    return Finding(rule, status, "", "", gap, by="code", must_pass=must_pass)  # type: ignore[arg-type]  # tests give literals


def verdict(*findings: Finding, failure: Failure | None = None, asked: bool = True) -> Verdict:
    return make_verdict(
        findings, "draft", "checker", failure=failure, not_asked=() if asked else (TONE,)
    )


MET = verdict(finding("a", "met"))
UNMET = verdict(finding("a", "unmet"))


class Script:
    """Answers steps from a list of drafts and verdicts, and remembers what was asked."""

    def __init__(
        self, drafts: Sequence[str | Outcome], verdicts: Sequence[Verdict | Outcome]
    ) -> None:
        self.drafts = list(drafts)
        self.verdicts = list(verdicts)
        self.steps: list[Step] = []

    def __call__(self, step: Step) -> Outcome:
        self.steps.append(step)
        if isinstance(step, CheckStep):
            found = self.verdicts.pop(0)
            return Checked(found, Usage(calls=1)) if isinstance(found, Verdict) else found
        made = self.drafts.pop(0)
        return Drafted(made, Usage(calls=1), 0.5) if isinstance(made, str) else made


def run(loop: Loop, script: Script, *, checked: bool = True) -> LoopEnd:
    return drive(run_loop(loop, checked=checked), script)


@pytest.mark.parametrize("passes_on", [1, 2, 3])
def test_stops_at_first_pass(passes_on: int) -> None:
    """No draft is paid for after the check passed one."""
    script = Script(["one", "two", "three"], [UNMET] * (passes_on - 1) + [MET])

    end = run(Loop(max_revisions=2), script)

    assert end.stopped_by == "passed"
    assert len(end.attempts) == passes_on
    assert end.returned == passes_on


@pytest.mark.parametrize("cap", [0, 1, 3])
def test_cap_is_a_labelled_end(cap: int) -> None:
    """The cap counts revisions; attempts are one more."""
    script = Script([f"draft {n}" for n in range(9)], [UNMET] * 9)

    end = run(Loop(max_revisions=cap, on_fail="resample"), script)

    assert end.stopped_by == "max_revisions"
    assert len(end.attempts) == cap + 1


@pytest.mark.parametrize(("loop", "checked"), [(Loop(enabled=False), True), (Loop(), False)])
def test_unchecked_costs_one_draft(loop: Loop, checked: bool) -> None:
    """With the loop off, or nothing to check, the first draft is returned as it is."""
    script = Script(["one"], [])

    end = run(loop, script, checked=checked)

    assert (end.stopped_by, end.returned, end.best) == ("unchecked", 1, None)


def test_reviser_sees_must_pass_gaps_first() -> None:
    """Minor gaps ride along behind those that cost the revision."""
    failed = verdict(finding("b", "unmet", must_pass=False), finding("a", "unmet"))
    script = Script(["one", "two"], [failed, MET])

    run(Loop(), script)

    assert script.steps[2] == ReviseStep(2, "one", ("close a", "close b"))


def test_minor_finding_costs_no_revision() -> None:
    """A draft whose must-pass rules are met passes, whatever the minor ones say."""
    script = Script(["one"], [verdict(finding("a", "met"), finding("b", "unmet", must_pass=False))])

    assert run(Loop(), script).stopped_by == "passed"


def test_resample_sees_no_gap() -> None:
    """A further draw is asked for by its number alone."""
    script = Script(["one", "two"], [UNMET, MET])

    run(RESAMPLE, script)

    assert script.steps[2] == ResampleStep(2)


@pytest.mark.parametrize(
    ("kind", "stopped_by"),
    [
        ("outage", "drafter_failed"),
        ("truncated", "drafter_failed"),
        ("empty", "drafter_failed"),
        ("unparsable", "drafter_failed"),
        ("refused", "refused"),
    ],
)
def test_first_draft_that_fails_leaves_no_draft(kind: str, stopped_by: StoppedBy) -> None:
    """Without a first draft there is nothing to return, and the reason is kept."""
    failure = Failure(kind, "drafter", "why")  # type: ignore[arg-type]  # tests give literals

    end = run(Loop(), Script([Failed(failure)], []))

    assert (end.stopped_by, end.returned, end.failure) == (stopped_by, None, failure)


@pytest.mark.parametrize(
    ("kind", "stopped_by"), [("outage", "reviser_failed"), ("refused", "refused")]
)
@pytest.mark.parametrize("on_fail", ["revise", "resample"])
def test_later_try_that_fails_returns_a_judged_draft(
    kind: str, stopped_by: StoppedBy, on_fail: str
) -> None:
    """A further try that gives nothing ends the loop with the draft that was judged."""
    failure = Failure(kind, "reviser", "why")  # type: ignore[arg-type]  # tests give literals

    end = run(Loop(on_fail=on_fail), Script(["one", Failed(failure)], [UNMET]))  # type: ignore[arg-type]

    assert (end.stopped_by, end.returned, len(end.attempts)) == (stopped_by, 1, 1)


def test_checker_outage_never_passes() -> None:
    """A verdict that could not be made ends the loop and is not the draft's fault."""
    outage = Failure("outage", "checker", "down")

    end = run(Loop(), Script(["one"], [verdict(finding("a", "met"), failure=outage)]))

    assert (end.stopped_by, end.failure, end.returned) == ("checker_failed", outage, 1)


def test_checker_outage_on_a_later_attempt_returns_the_judged_draft() -> None:
    """A draft that nobody judged is not returned while a judged one exists."""
    outage = Failure("outage", "checker", "down")
    script = Script(["one", "two"], [UNMET, verdict(failure=outage)])

    end = run(Loop(), script)

    assert (end.returned, end.best, len(end.attempts)) == (1, 1, 2)


def test_cannot_assess_alone_is_a_checker_that_failed() -> None:
    """With no gap to send back there is nothing to revise."""
    end = run(Loop(), Script(["one"], [verdict(finding("a", "cannot_assess"))]))

    assert end.stopped_by == "checker_failed"


def test_cannot_assess_beside_a_gap_goes_on() -> None:
    """Where another must-pass rule is unmet, its gap goes back."""
    mixed = verdict(finding("a", "cannot_assess"), finding("b", "unmet"))
    script = Script(["one", "two"], [mixed, MET])

    end = run(Loop(), script)

    assert end.stopped_by == "passed"
    assert script.steps[2] == ReviseStep(2, "one", ("close b",))


@pytest.mark.parametrize("reason", ["budget", "deadline", "cancelled"])
def test_halt_before_the_first_draft(reason: str) -> None:
    """A cap that is reached at once leaves no draft."""
    end = run(Loop(), Script([Halted(reason)], []))  # type: ignore[arg-type]  # tests give literals

    assert (end.stopped_by, end.returned) == (reason, None)


def test_halt_before_the_check_keeps_the_draft_unjudged() -> None:
    """A draft that could not be checked any more is returned, and did not pass."""
    end = run(Loop(), Script(["one"], [Halted("budget")]))

    assert (end.stopped_by, end.returned, end.best) == ("budget", 1, None)
    assert end.attempts[0].verdict is None


def test_halt_during_a_later_check_returns_the_judged_draft() -> None:
    """An unjudged revision stands in the record but is not returned."""
    end = run(Loop(), Script(["one", "two"], [UNMET, Halted("deadline")]))

    assert (end.returned, len(end.attempts)) == (1, 2)


def test_unchanged_revision_is_pointless() -> None:
    """The same text again is not judged twice, and ends the loop."""
    script = Script(["one", "one"], [UNMET])

    end = run(Loop(max_revisions=3), script)

    assert end.stopped_by == "no_progress"
    assert end.attempts[1].verdict == UNMET
    assert end.attempts[1].share_changed == 0.0


def test_draft_that_was_seen_before_is_pointless() -> None:
    """Going back and forth between two drafts ends the loop."""
    end = run(Loop(max_revisions=5, patience=9), Script(["one", "two", "one"], [UNMET, UNMET]))

    assert end.stopped_by == "no_progress"


def test_cap_is_tested_before_progress() -> None:
    """An unchanged draft on the last revision ended at the cap."""
    end = run(Loop(max_revisions=1), Script(["one", "one"], [UNMET]))

    assert end.stopped_by == "max_revisions"


def test_patience_runs_out() -> None:
    """The same rules unmet over `patience` revisions, with no fewer findings, end the loop."""
    script = Script(["one", "two", "three", "four"], [UNMET] * 4)

    end = run(Loop(max_revisions=9, patience=2), script)

    assert (end.stopped_by, len(end.attempts)) == ("no_progress", 3)


def test_fewer_findings_are_progress() -> None:
    """Closing minor findings keeps the loop going."""
    minor = finding("m", "unmet", must_pass=False)
    script = Script(["one", "two", "three"], [verdict(finding("a", "unmet"), minor), UNMET, MET])

    assert run(Loop(max_revisions=9, patience=1), script).stopped_by == "passed"


def test_resample_is_never_pointless() -> None:
    """A further draw may repeat a draft without ending the loop."""
    script = Script(["one", "one", "one"], [UNMET])

    end = run(Loop(max_revisions=2, on_fail="resample", patience=1), script)

    assert (end.stopped_by, len(end.attempts)) == ("max_revisions", 3)


@pytest.mark.parametrize(
    ("verdicts", "best"),
    [
        ([verdict(finding("a", "unmet"), finding("b", "unmet")), UNMET, UNMET], 2),
        ([verdict(finding("a", "unmet"), asked=False), UNMET, UNMET], 2),
        ([UNMET, verdict(finding("a", "unmet"), finding("b", "met")), UNMET], 2),
        ([UNMET, UNMET, UNMET], 1),
    ],
)
def test_best_is_fewest_unmet_then_asked_then_most_met_then_earliest(
    verdicts: list[Verdict], best: int
) -> None:
    """The order of drafts that all failed is fixed."""
    end = run(RESAMPLE, Script(["one", "two", "three"], verdicts))

    assert end.best == best
    assert end.returned == best


def test_last_is_returned_with_the_best_beside_it() -> None:
    """`revise` returns the last judged draft unless told otherwise."""
    worse = verdict(finding("a", "unmet"), finding("b", "unmet"))

    end = run(Loop(max_revisions=1), Script(["one", "two"], [UNMET, worse]))

    assert (end.returned, end.best) == (2, 1)


def test_diff_and_share_of_text_are_recorded() -> None:
    """Each revision shows what it changed."""
    end = run(Loop(), Script(["a b c d", "a b c e"], [UNMET, MET]))

    assert end.attempts[0].share_changed is None
    assert end.attempts[1].share_changed == pytest.approx(0.25)
    assert "-a b c d\n+a b c e" in end.attempts[1].diff


def test_usage_of_draft_and_check_is_the_attempts() -> None:
    """An attempt holds what its own calls cost."""
    end = run(Loop(), Script(["one"], [MET]))

    assert end.attempts[0].usage.calls == 2
    assert end.attempts[0].seconds == 0.5


def test_both_drivers_run_the_same_machine() -> None:
    """Awaiting outcomes changes nothing."""

    async def perform(step: Step) -> Outcome:
        return script(step)

    script = Script(["one", "two"], [UNMET, MET])
    expected = run(Loop(), Script(["one", "two"], [UNMET, MET]))

    assert asyncio.run(adrive(run_loop(Loop()), perform)) == expected


@pytest.mark.parametrize(("drafts", "verdicts"), [([Checked(MET)], []), (["one"], [Drafted("x")])])
def test_outcome_of_the_wrong_kind_is_a_bug(
    drafts: list[str | Outcome], verdicts: list[Verdict | Outcome]
) -> None:
    """A driver that mixes outcomes up is told so."""
    with pytest.raises(TypeError, match="step needs"):
        run(Loop(), Script(drafts, verdicts))


def answer_of(end: LoopEnd) -> Answer:
    draft = None if end.returned is None else end.attempts[end.returned - 1].draft
    passed = end.stopped_by == "passed"
    return Answer(
        draft,
        passed,
        end.stopped_by,
        (),
        end.attempts,
        end.returned,
        end.best,
        Usage(),
        end.failure,
    )


def test_replay_with_a_lower_cap() -> None:
    """What a smaller cap would have given is read off the recording."""
    recorded = run(RESAMPLE, Script(["one", "two", "three"], [UNMET, MET]))

    end = replay(answer_of(recorded), Loop(max_revisions=0, on_fail="resample"))

    assert (end.stopped_by, end.returned) == ("max_revisions", 1)


def test_replay_with_the_loop_off_pays_for_no_check() -> None:
    """An answer that is not checked costs its draft alone."""
    recorded = run(RESAMPLE, Script(["one", "two"], [UNMET, MET]))

    end = replay(answer_of(recorded), Loop(enabled=False))

    assert [attempt.usage.calls for attempt in end.attempts] == [1]


def test_replay_beyond_the_recording_is_refused() -> None:
    """Nothing is made up where the recording ends."""
    recorded = run(Loop(max_revisions=0), Script(["one"], [UNMET]))

    with pytest.raises(ValueError, match="attempt 2 was never made"):
        replay(answer_of(recorded), RESAMPLE)


def test_replay_beyond_an_unchecked_recording_is_refused() -> None:
    """A draft that was never judged has no verdict to replay."""
    halted = run(Loop(), Script(["one"], [Halted("budget")]))

    assert replay(answer_of(halted), Loop()).stopped_by == "budget"


@pytest.mark.parametrize(
    "settings",
    [{"max_revisions": -1}, {"patience": 0}, {"on_fail": "retry"}, {"returns": "first"}],
)
def test_loop_settings_are_checked(settings: dict[str, int]) -> None:
    """A setting that means nothing is refused when it is made."""
    with pytest.raises(ConfigError):
        Loop(**settings)  # type: ignore[arg-type]  # the point of the test


FAILURES = st.builds(
    Failure,
    st.sampled_from(["outage", "truncated", "refused", "empty"]),
    st.sampled_from(["drafter", "reviser"]),
    st.just("why"),
)
FINDINGS = st.lists(
    st.builds(
        finding,
        st.sampled_from(["a", "b", "c"]),
        st.sampled_from(["met", "unmet", "cannot_assess"]),
        must_pass=st.booleans(),
    ),
    max_size=3,
)
HALTS = st.builds(Halted, st.sampled_from(["budget", "deadline", "cancelled"]))
DRAFTS = st.one_of(st.sampled_from(["one", "two", "three"]), st.builds(Failed, FAILURES), HALTS)
VERDICTS = st.one_of(
    st.builds(lambda found: verdict(*found), FINDINGS),
    st.builds(lambda found, why: verdict(*found, failure=why), FINDINGS, FAILURES),
    HALTS,
)
LOOPS = st.builds(
    Loop,
    max_revisions=st.integers(0, 4),
    on_fail=st.sampled_from(["revise", "resample"]),
    returns=st.sampled_from([None, "last", "best"]),
    patience=st.integers(1, 3),
    enabled=st.booleans(),
)


@given(LOOPS, st.lists(DRAFTS, min_size=5, max_size=5), st.lists(VERDICTS, min_size=5, max_size=5))
def test_every_run_ends_within_its_cap_and_fails_closed(
    loop: Loop, drafts: list[str | Outcome], verdicts: list[Verdict | Outcome]
) -> None:
    """Whatever the models do: the loop ends, keeps the cap, and passes only what passed."""
    end = run(loop, Script(drafts, verdicts))

    assert len(end.attempts) <= loop.max_revisions + 1
    assert (end.returned is None) == (not end.attempts)
    judged = [a.number for a in end.attempts if a.verdict is not None and not a.verdict.failure]
    if judged:
        assert end.returned in judged
    if end.stopped_by == "passed":
        assert end.returned is not None
        last = end.attempts[end.returned - 1].verdict
        assert last is not None
        assert last.passed
    assert replay(answer_of(end), loop) == end
