"""Several votes per criterion: fresh seeds, an early stop, and a majority that fails closed."""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redraft.artifact.behaviour import build_artifact
from redraft.artifact.record import Lineage, Search, canonical_bytes, from_payload, to_payload
from redraft.budget import Caps
from redraft.errors import ConfigError
from redraft.estimate import answer_calls as planned_calls
from redraft.lm.scripted import Script
from redraft.optimizers.calls import answer_calls, worst_calls
from redraft.program import AnswerRun, Program
from redraft.records import Answer, Criterion, FindingStatus, Loop, Options, Verdict
from redraft.report.prompts import prompts_text
from redraft.testing import Reply, Scripted, models_of
from redraft.verdict import Review, cannot_assess
from redraft.votes import is_decided, majority

KIND = Criterion("kind_tone", "The reader is addressed kindly.")
PLAIN = Criterion("plain_english", "Every sentence is plain.", must_pass=False)
STATUSES: tuple[FindingStatus, ...] = ("met", "unmet", "cannot_assess")


def said(kind: str = "", plain: str = "", *, reason: str = "r") -> str:
    """A checker's reply: a rule is met unless a gap is given; "?" is a rule left open."""
    entries = {
        name: {
            "reason": reason,
            "status": "cannot_assess" if gap == "?" else "unmet" if gap else "met",
            "quote": "",
            "gap": gap.strip("?"),
        }
        for name, gap in (("kind_tone", kind), ("plain_english", plain))
    }
    return json.dumps({"findings": entries})


YES, NO, OPEN = said(), said("Be kind."), said("?")


def program(votes: int, **loop: Any) -> Program:
    settings = Loop(**{"max_revisions": 0, "votes": votes, **loop})
    return Program("request -> notice", criteria=[KIND, PLAIN], loop=settings)


def answered(checker: Script, *, votes: int = 3, run: AnswerRun | None = None) -> Answer:
    models = models_of(drafter="hello", checker=checker)
    return program(votes).with_models(models).answer_run({"request": "x"}, run or AnswerRun())


def verdict_of(answer: Answer) -> Verdict:
    found = answer.attempts[0].verdict
    assert found is not None
    return found


@pytest.mark.parametrize("votes", [0, -1, 2, 4])
def test_votes_are_odd(votes: int) -> None:
    """A number that could tie is refused when the loop is made."""
    with pytest.raises(ConfigError, match="votes must be odd"):
        Loop(votes=votes)


@pytest.mark.parametrize(
    ("replies", "status", "calls"),
    [
        ([YES, YES], "met", 2),
        ([NO, NO], "unmet", 2),
        ([YES, NO, YES], "met", 3),
        ([NO, YES, NO], "unmet", 3),
        ([YES, OPEN, YES], "met", 3),
        ([OPEN, OPEN], "cannot_assess", 2),
        ([YES, NO, OPEN], "cannot_assess", 3),
    ],
)
def test_most_votes_decide_and_no_further_one_is_asked_for(
    replies: list[Script], status: str, calls: int
) -> None:
    """A vote is a counted call, and none is made that can change nothing."""
    answer = answered(replies)  # type: ignore[arg-type]  # replies are scripts of one text

    assert verdict_of(answer).findings[0].status == status
    assert answer.passed is (status == "met")
    assert answer.usage.calls == 1 + calls


def test_one_vote_is_the_default() -> None:
    """Without the setting a draft is judged once."""
    assert Loop().votes == 1
    assert answered([YES], votes=1).usage.calls == 2


def test_the_finding_is_that_of_the_first_vote_of_the_majority() -> None:
    """Reason, quote and gap come from one vote, never mixed."""
    first, second = said("Greet the reader.", reason="one"), said("Be kind.", reason="two")

    found = verdict_of(answered([YES, first, second])).findings[0]

    assert (found.reason, found.gap) == ("one", "Greet the reader.")


def test_votes_that_do_not_agree_are_told_in_the_reason() -> None:
    """A person reads how the votes fell."""
    found = verdict_of(answered([YES, NO, OPEN])).findings[0]

    assert found.reason == ("no status has most of the 3 votes: 1 cannot_assess, 1 met, 1 unmet")


def test_minor_criteria_cost_no_votes() -> None:
    """They are settled by the votes that the must-pass ones needed; a tie leaves them open."""
    answer = answered([said(), said(plain="Use short words.")])

    assert answer.passed
    assert [f.status for f in verdict_of(answer).findings] == ["met", "cannot_assess"]
    assert answer.unmet == ("plain_english",)


def test_only_minor_criteria_are_judged_once() -> None:
    """Where nothing can cost a revision, one vote is enough."""
    subject = Program("request -> notice", criteria=[PLAIN], loop=Loop(max_revisions=0, votes=5))
    lone = json.dumps(
        {"findings": {"plain_english": {"reason": "", "status": "met", "quote": "", "gap": ""}}}
    )

    answer = subject.with_models(models_of(drafter="hello", checker=[lone])).answer(request="x")

    assert (answer.passed, answer.usage.calls) == (True, 2)


def test_each_vote_has_its_own_repair_turn_and_all_replies_are_kept() -> None:
    """What the checker said is kept verbatim, vote by vote."""
    answer = answered(["no json", YES, YES])

    assert verdict_of(answer).replies == (("no json", YES), (YES,))
    assert verdict_of(answer).reply == YES
    assert answer.usage.calls == 4


def test_a_vote_that_cannot_be_used_never_helps_to_pass() -> None:
    """One sound vote of three decides nothing."""
    answer = answered([YES, "no", "no", "no", "no"])

    assert verdict_of(answer).findings[0].status == "cannot_assess"
    assert (answer.stopped_by, answer.usage.calls) == ("checker_failed", 6)


@pytest.mark.parametrize("place", [0, 1])
def test_an_outage_in_any_vote_fails_closed(place: int) -> None:
    """A majority that was not reached before the outage is none."""
    replies: list[str | Reply] = [YES] * place
    answer = answered([*replies, *[Reply(fail="outage")] * 3])

    assert (answer.stopped_by, answer.passed) == ("checker_failed", False)
    assert answer.failure is not None
    assert answer.failure.kind == "outage"
    assert verdict_of(answer).replies == ((YES,),) * place + (("",),)


def test_a_prompt_that_is_too_long_is_not_sent_again() -> None:
    """Every further vote would fail in the same way."""
    checker = Scripted([YES], context_tokens=10)

    answer = answered(checker)  # type: ignore[arg-type]  # an engine stands in for its script

    assert (answer.stopped_by, len(checker.requests)) == ("checker_failed", 1)


def test_votes_are_drawn_with_fresh_seeds_and_temperature() -> None:
    """The first vote is the call of a loop with one; the others differ in the draw alone."""
    checker = Scripted([YES, NO, YES])
    models = models_of(drafter="hello", checker=checker)
    subject = replace_options(program(3), temperature=0.0, resample_temperature=0.6)
    alone = Scripted([YES])

    subject.with_models(models).answer(request="x")
    subject.with_loop(Loop(max_revisions=0)).with_models(
        models_of(drafter="hello", checker=alone)
    ).answer(request="x")

    assert checker.requests[0] == alone.requests[0]
    configs = [request.config for request in checker.requests]
    assert [config.temperature for config in configs] == [0.0, 0.6, 0.6]
    assert len({config.seed for config in configs}) == 3
    assert len({request.messages for request in checker.requests}) == 1


def replace_options(subject: Program, **checker: Any) -> Program:
    state = subject.state()
    return subject.with_state(replace(state, options={"checker": Options(**checker)}))


def test_votes_keep_the_cap_on_calls() -> None:
    """A cap in the middle of the votes ends the answer, and nothing passed."""
    answer = answered([YES, YES], run=AnswerRun(caps=Caps(max_calls=2)))

    assert (answer.stopped_by, answer.passed, answer.draft) == ("budget", False, "hello")
    assert answer.usage.calls == 2


def test_the_worst_case_counts_every_vote_and_repair() -> None:
    """What is reserved for an answer is never less than what it may spend."""
    subject = program(3, max_revisions=1)

    assert worst_calls(subject, subject.loop) == 2 + 2 * 3 * 2
    assert planned_calls(subject, 1).worst == 2 + 2 * 3 * 2
    assert planned_calls(subject, 1).best == 1 + 2
    assert answer_calls(subject, subject.loop, answered([YES, NO, YES])) == 1 + 3


def test_an_artifact_carries_the_votes() -> None:
    """What is compiled with votes answers with votes."""
    made = build_artifact(program(5).named("tiny"), lineage=Lineage(), search=Search("edit", 0))

    read = from_payload(json.loads(canonical_bytes(to_payload(made))))

    assert read == made
    assert read.loop.votes == 5


def test_the_prompts_page_names_the_votes() -> None:
    """A reader of PROMPTS.md learns what a check costs."""
    assert "by most of 3 votes" in prompts_text(program(3).named("tiny"), program(3).named("tiny"))


def review(*statuses: FindingStatus) -> Review:
    findings = tuple(
        replace(cannot_assess(criterion, "r"), status=status)
        for criterion, status in zip((KIND, PLAIN), statuses, strict=True)
    )
    return Review(findings, (), needs_repair=False)


@given(
    st.sampled_from([1, 3, 5, 7]),
    st.lists(st.sampled_from(STATUSES), min_size=7, max_size=7),
    st.lists(st.sampled_from(STATUSES), min_size=7, max_size=7),
)
def test_stopping_early_changes_nothing(
    votes: int, kind: Sequence[FindingStatus], plain: Sequence[FindingStatus]
) -> None:
    """The must-pass status after the early stop is that of all the votes."""
    reviews = [review(*pair) for pair in zip(kind, plain, strict=True)][:votes]
    cast = 1
    while cast < votes and not is_decided(reviews[:cast], (KIND, PLAIN), votes=votes):
        cast += 1

    early = majority(reviews[:cast], (KIND, PLAIN))

    assert early[0].status == majority(reviews, (KIND, PLAIN))[0].status
    assert (early[0].status == "met") == (list(kind[:votes]).count("met") * 2 > votes)
