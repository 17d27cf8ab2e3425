"""Whatever goes wrong in a call, the answer ends as documented and never passes by it."""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import pytest
from dspy.lm15 import Request

from redraft.budget import Caps
from redraft.errors import ModelError
from redraft.lm import Models
from redraft.program import AnswerRun, Program
from redraft.records import Answer, Check, Criterion, FailureKind, Loop, OnFail, StoppedBy
from redraft.testing import Reply, Scripted, models_of

Place = Literal["drafter", "checker", "reviser"]

KIND = Criterion("kind_tone", "The reader is addressed kindly.")
GAP = "Say that we are sorry."


def sorry(facts: Mapping[str, object], draft: str) -> str | None:
    return None if "sorry" in draft else GAP


SORRY = Check("says_sorry", sorry, "The notice says sorry.")


def wrote(notice: object) -> str:
    """A writer's reply: structured, so that it can be malformed."""
    return json.dumps({"thoughts": "I thought about it for quite a while.", "notice": notice})


def judged(gap: str = "", status: str = "") -> str:
    finding = {"reason": "r", "status": status or ("unmet" if gap else "met"), "quote": ""}
    return json.dumps({"findings": {"kind_tone": {**finding, "gap": gap}}})


POOR, GOOD = wrote("The lift is broken."), wrote("We are sorry about the lift.")
MET = judged()


def writer_fault(name: str) -> Reply:
    """A reply of a drafter or reviser that went wrong."""
    if name == "contradictory":
        return Reply(wrote(["two", "notices"]))
    return Reply(GOOD, fail=name)  # type: ignore[arg-type]  # the other names are a script's own


def checker_fault(name: str) -> Reply:
    """A reply of a checker that went wrong."""
    if name == "contradictory":
        return Reply(judged(gap="Be kind.", status="met"))
    return Reply(MET, fail=name)  # type: ignore[arg-type]  # the other names are a script's own


OUTAGES = ("outage", "timeout", "rate_limit")
WRITER_FAULTS: Mapping[str, tuple[FailureKind, bool]] = {
    "outage": ("outage", False),
    "timeout": ("outage", False),
    "rate_limit": ("outage", False),
    "empty": ("empty", False),
    "truncate": ("truncated", False),
    "malformed": ("unparsable", False),
    "contradictory": ("unparsable", False),
    "refuse": ("refused", True),
}
CHECKER_FAULTS = (*OUTAGES, "empty", "truncate", "malformed", "contradictory", "refuse")

both_ways = pytest.mark.parametrize("on_fail", ["revise", "resample"])
both_doors = pytest.mark.parametrize("door", ["sync", "async"])


def program(on_fail: OnFail) -> Program:
    return Program(
        "request -> thoughts, notice",
        draft_field="notice",
        checks=[SORRY],
        criteria=[KIND],
        revise="request, previous_draft, gaps -> thoughts, notice",
        loop=Loop(on_fail=on_fail, max_revisions=2),
    )


@dataclass(frozen=True, slots=True)
class Case:
    """One answer to be had."""

    on_fail: OnFail
    door: str

    def answer(self, models: Models, caps: Caps | None = None) -> Answer:
        """Return the answer, by the door that the case names."""
        subject, run = program(self.on_fail).with_models(models), AnswerRun(caps=caps)
        if self.door == "async":
            return asyncio.run(subject.aanswer_run({"request": "lift"}, run))
        return subject.answer_run({"request": "lift"}, run)

    def models(self, place: Place, *replies: Any) -> Models:
        """Return models of which one gives these replies, and the others do well.

        The reviser of a loop that draws again is the drafter's second call.
        """
        if place == "drafter":
            return models_of(drafter=list(replies), checker=MET)
        if place == "checker":
            return models_of(drafter=GOOD, checker=list(replies))
        if self.on_fail == "resample":
            return models_of(drafter=[POOR, *replies], checker=MET)
        return models_of(drafter=POOR, reviser=list(replies), checker=MET)


@pytest.fixture
def case(on_fail: OnFail, door: str) -> Case:
    """The way an answer is asked for."""
    return Case(on_fail, door)


@both_ways
@both_doors
@pytest.mark.parametrize("fault", WRITER_FAULTS)
def test_a_first_draft_that_fails_leaves_no_draft(case: Case, fault: str) -> None:
    """The stop says whose fault it was, and nothing is returned or judged."""
    kind, refused = WRITER_FAULTS[fault]

    answer = case.answer(case.models("drafter", *[writer_fault(fault)] * 3))

    expected: StoppedBy = "refused" if refused else "drafter_failed"
    assert (answer.stopped_by, answer.passed, answer.draft) == (expected, False, None)
    assert answer.failure is not None
    assert (answer.failure.kind, answer.failure.role) == (kind, "drafter")
    assert answer.usage.calls == (3 if fault in OUTAGES else 1)


@both_ways
@both_doors
@pytest.mark.parametrize("fault", WRITER_FAULTS)
def test_a_later_try_that_fails_returns_the_judged_draft(case: Case, fault: str) -> None:
    """What was judged before is what there is."""
    kind, refused = WRITER_FAULTS[fault]

    answer = case.answer(case.models("reviser", *[writer_fault(fault)] * 3))

    expected: StoppedBy = "refused" if refused else "reviser_failed"
    assert (answer.stopped_by, answer.passed) == (expected, False)
    assert answer.draft == "The lift is broken."
    assert answer.unmet == ("says_sorry",)
    assert answer.failure is not None
    assert answer.failure.kind == kind
    assert answer.usage.calls == (4 if fault in OUTAGES else 2)


@both_ways
@both_doors
@pytest.mark.parametrize("nothing", ["", " \n", "\u200b"])
def test_an_empty_draft_in_a_whole_reply_is_empty(case: Case, nothing: str) -> None:
    """A reply of the right form that holds no draft is no draft, first or later."""
    first = case.answer(case.models("drafter", wrote(nothing)))
    later = case.answer(case.models("reviser", wrote(nothing)))

    assert (first.stopped_by, first.draft) == ("drafter_failed", None)
    assert (later.stopped_by, later.draft) == ("reviser_failed", "The lift is broken.")
    assert first.failure is not None
    assert first.failure.kind == "empty"


@both_ways
@both_doors
@pytest.mark.parametrize("fault", CHECKER_FAULTS)
def test_a_checker_that_fails_never_passes(case: Case, fault: str) -> None:
    """The draft is kept; nobody says that it is good."""
    answer = case.answer(case.models("checker", *[checker_fault(fault)] * 3))

    assert (answer.stopped_by, answer.passed) == ("checker_failed", False)
    assert answer.draft == "We are sorry about the lift."
    if fault in OUTAGES:
        assert answer.failure is not None
        assert (answer.failure.kind, answer.failure.role) == ("outage", "checker")
        assert answer.usage.calls == 4
    else:
        assert answer.failure is None
        assert answer.unmet == ("kind_tone",)
        assert answer.usage.calls == 3


@both_ways
@both_doors
@pytest.mark.parametrize("fault", CHECKER_FAULTS)
def test_a_checker_that_recovers_is_heard(case: Case, fault: str) -> None:
    """One bad reply costs a call, a try after an outage or the repair turn, and no more."""
    answer = case.answer(case.models("checker", checker_fault(fault), MET))

    assert (answer.stopped_by, answer.passed, answer.usage.calls) == ("passed", True, 3)


@both_ways
@both_doors
@pytest.mark.parametrize("fault", OUTAGES)
@pytest.mark.parametrize(("place", "calls"), [("drafter", 3), ("reviser", 4)])
def test_a_writer_that_recovers_is_heard(case: Case, fault: str, place: Place, calls: int) -> None:
    """A 429 and then a draft is a draft, and both tries are counted."""
    answer = case.answer(case.models(place, writer_fault(fault), GOOD))

    assert (answer.stopped_by, answer.passed, answer.usage.calls) == ("passed", True, calls)


@both_ways
@both_doors
@pytest.mark.parametrize(
    ("place", "draft"),
    [
        ("drafter", None),
        ("checker", "We are sorry about the lift."),
        ("reviser", "The lift is broken."),
    ],
)
def test_a_call_that_hangs_ends_at_the_deadline(
    case: Case, place: Place, draft: str | None
) -> None:
    """Nothing hangs: the call in flight is stopped and the answer says why."""
    models = case.models(place, Reply(fail="stall"))

    answer = case.answer(models, Caps(max_seconds=0.3))

    assert (answer.stopped_by, answer.passed, answer.draft) == ("deadline", False, draft)


@both_ways
@both_doors
@pytest.mark.parametrize("place", ["drafter", "checker", "reviser"])
def test_an_engine_that_is_broken_is_an_error(case: Case, place: Place) -> None:
    """What is no outage and no answer is a bug, and nothing is returned that hides it."""

    drawn_again = place == "reviser" and case.on_fail == "resample"
    before = iter([POOR] if drawn_again else [])

    def broken(request: Request) -> str:
        for reply in before:
            return reply
        raise RuntimeError("a bug")

    scripts = {"drafter": POOR if place == "reviser" else GOOD, "checker": MET, "reviser": GOOD}
    role = "drafter" if drawn_again else place

    with pytest.raises(ModelError, match="a bug"):
        case.answer(models_of(**{**scripts, role: broken}))  # type: ignore[arg-type]


@both_ways
@both_doors
@pytest.mark.parametrize("fault", ["outage", "truncate", "malformed", "refuse", "contradictory"])
@pytest.mark.parametrize("cap", [1, 2, 3])
def test_a_cap_holds_through_faults(case: Case, fault: str, cap: int) -> None:
    """Retries and repair turns are paid from the same purse, and the purse decides."""
    checker = Scripted(lambda request: checker_fault(fault))

    answer = case.answer(models_of(drafter=GOOD, checker=checker), Caps(max_calls=cap))

    assert answer.passed is False
    assert answer.usage.calls <= cap
    assert len(checker.requests) == answer.usage.calls - 1
    repaired = cap >= 3 and fault != "outage"
    assert answer.stopped_by == ("checker_failed" if repaired else "budget")


@both_ways
@both_doors
def test_a_refused_draft_is_told_from_a_refused_check(case: Case) -> None:
    """The first is an answer of the drafter; the second leaves the draft unjudged."""
    drafter = case.answer(case.models("drafter", writer_fault("refuse")))
    checker = case.answer(case.models("checker", *[checker_fault("refuse")] * 2))

    assert (drafter.stopped_by, checker.stopped_by) == ("refused", "checker_failed")
    verdict = checker.attempts[0].verdict
    assert verdict is not None
    assert "refused" in verdict.findings[-1].reason


# --- a citation that is real but was not retrieved ----------------------------------------------

SECTIONS = {
    "4": "Keep the door shut.",
    "5": "Call the engineer before the lift is used again.",
    "6": "Tell the owner.",
}


def retrieve(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Give the drafter two sections of a rulebook that has three."""
    return {"sources": "\n".join(f"Section {n}: {SECTIONS[n]}" for n in ("4", "5"))}


def retrieved_only(facts: Mapping[str, object], draft: str) -> str | None:
    """Name a section that is cited and was not among the sources."""
    for number in SECTIONS:
        if f"section {number}" in draft and f"Section {number}:" not in str(facts["sources"]):
            return f"The draft cites section {number}, which is not among the sources; cite one."
    return None


def advice(**loop: Any) -> Program:
    return Program(
        "question, sources -> advice",
        checks=[Check("cites_sources", retrieved_only, "Only sources that are given are cited.")],
        criteria=[Criterion("supported", "What is said is what the cited section says.")],
        prepare=retrieve,
        prepared=["sources"],
        loop=Loop(**loop),
    )


SUPPORTED = json.dumps(
    {
        "findings": {
            "supported": {
                "reason": "Section 5 says so.",
                "status": "met",
                "quote": "section 5",
                "gap": "",
            }
        }
    }
)
WRONG = "Call the engineer first (section 6)."
RIGHT = "Call the engineer first (section 5)."


def test_a_real_section_that_was_not_retrieved_is_named_and_replaced() -> None:
    """The check names section 6, the revision cites a retrieved one, and that passes."""
    reviser = Scripted([RIGHT])
    models = models_of(drafter=WRONG, reviser=reviser, checker=[SUPPORTED])

    answer = advice().with_models(models).answer(question="The lift stopped. What now?")

    first, second = (attempt.verdict for attempt in answer.attempts)
    assert first is not None
    assert second is not None
    assert first.findings[0].gap.startswith("The draft cites section 6")
    assert first.not_asked == ("supported",)
    assert "- The draft cites section 6" in str(reviser.requests[0].messages[-1].text)
    assert "(section 6)." in answer.attempts[1].diff
    assert (answer.draft, answer.stopped_by, answer.passed) == (RIGHT, "passed", True)
    assert answer.usage.calls == 3


def test_a_citation_that_is_never_corrected_ends_at_the_cap() -> None:
    """The stop is recorded, with the rule that is still unmet."""
    tries = [f"Call the engineer on day {n} (section 6)." for n in range(3)]
    models = models_of(drafter=WRONG, reviser=tries, checker=SUPPORTED)

    answer = advice(max_revisions=1).with_models(models).answer(question="The lift stopped.")

    assert (answer.stopped_by, answer.passed) == ("max_revisions", False)
    assert answer.unmet == ("cites_sources",)
    assert len(answer.attempts) == 2


def test_a_citation_that_needs_nothing_costs_one_draft_and_one_check() -> None:
    """A draft that cites what was retrieved is not touched."""
    models = models_of(drafter=RIGHT, reviser=[], checker=[SUPPORTED])

    answer = advice().with_models(models).answer(question="The lift stopped.")

    assert (answer.passed, answer.usage.calls, len(answer.attempts)) == (True, 2, 1)


def test_a_model_may_name_the_section_instead_of_code() -> None:
    """A checker that never passes sends its gap back and ends at the cap."""
    gap = "Section 6 was not retrieved; cite section 4 or 5."
    finding = {"reason": "It is not there.", "status": "unmet", "quote": "section 6", "gap": gap}
    checker = Scripted(lambda request: json.dumps({"findings": {"supported": finding}}))
    reviser = Scripted(["Do call (section 6).", "Do ring (section 6)."])
    subject = Program(
        "question -> advice",
        criteria=[Criterion("supported", "What is said is what the cited section says.")],
        loop=Loop(max_revisions=2),
    )

    answer = subject.with_models(models_of(drafter=WRONG, reviser=reviser, checker=checker)).answer(
        question="The lift stopped."
    )

    assert (answer.stopped_by, len(answer.attempts)) == ("max_revisions", 3)
    assert all(f"- {gap}" in str(r.messages[-1].text) for r in reviser.requests)
