"""A whole program over scripted models: what is sent, what comes back, and when it stops."""

import asyncio
import json
from collections.abc import Mapping
from typing import Any

import dspy
import pytest
from dspy.lm15 import Request

from redraft.budget import Caps, Meter, RunCaps
from redraft.errors import CheckError, InputError, ModelError, PrepareError, ProgramError
from redraft.program import AnswerRun, Program
from redraft.records import Check, Criterion, Demo, Loop, Options, PredictorState, ProgramState
from redraft.testing import Reply, Scripted, models_of

TONE = Criterion("kind_tone", "The reader is addressed kindly.")
PLAIN = Criterion("plain_english", "Every sentence is plain.", must_pass=False)


class Draft(dspy.Signature):  # type: ignore[misc]  # DSPy has no types
    """Write the notice."""

    request: str = dspy.InputField()
    notice: str = dspy.OutputField()


def sorry(facts: Mapping[str, object], draft: str) -> str | None:
    return None if "sorry" in draft else "Say that we are sorry."


SORRY = Check("says_sorry", sorry, "The notice says sorry.")


def verdict(**entries: str) -> str:
    """A checker's reply: each criterion met, or unmet with the gap that is given."""
    findings = {
        name: {"reason": "r", "status": "unmet" if gap else "met", "quote": "", "gap": gap}
        for name, gap in entries.items()
    }
    return json.dumps({"findings": findings})


def texts(request: Request) -> str:
    return f"{request.system}\n" + "\n".join(str(m.text) for m in request.messages)


def test_a_draft_that_needs_nothing_costs_one_draft_and_one_check() -> None:
    """No call is made that the answer does not need."""
    program = Program(Draft, checks=[SORRY], criteria=[TONE]).with_models(
        models_of(drafter="sorry", checker=verdict(kind_tone=""))
    )

    answer = program.answer(request="lift")

    assert (answer.draft, answer.passed, answer.stopped_by) == ("sorry", True, "passed")
    assert answer.usage.calls == 2
    assert answer.unmet == ()


def test_the_model_is_not_asked_after_a_failed_check() -> None:
    """Code decides first; the criteria stand as not asked."""
    program = Program(
        Draft, checks=[SORRY], criteria=[TONE], loop=Loop(max_revisions=0)
    ).with_models(models_of(drafter="hello", checker=verdict(kind_tone="")))

    answer = program.answer(request="lift")

    first = answer.attempts[0].verdict
    assert first is not None
    assert first.not_asked == ("kind_tone",)
    assert (answer.usage.calls, answer.unmet) == (1, ("says_sorry",))


def test_a_setting_asks_the_model_anyway() -> None:
    """All gaps can be had at once, for one more call."""
    loop = Loop(max_revisions=0, ask_after_failed_checks=True)
    program = Program(Draft, checks=[SORRY], criteria=[TONE], loop=loop).with_models(
        models_of(drafter="hello", checker=verdict(kind_tone="Be kind."))
    )

    assert program.answer(request="lift").unmet == ("says_sorry", "kind_tone")


def test_the_gap_goes_back_and_never_the_rule() -> None:
    """The reviser sees the task, its draft and the gaps; no id, no statement, no rule."""
    reviser = Scripted(["sorry, kindly"])
    program = Program(Draft, checks=[SORRY], criteria=[TONE]).with_models(
        models_of(drafter="hello", checker=verdict(kind_tone=""), reviser=reviser)
    )

    answer = program.answer(request="the lift")

    sent = texts(reviser.requests[0])
    assert answer.passed
    assert "the lift" in sent
    assert "hello" in sent
    assert "- Say that we are sorry." in sent
    for secret in ("says_sorry", "The notice says sorry.", "kind_tone", TONE.statement):
        assert secret not in sent


def test_the_checker_sees_nothing_of_the_drafter() -> None:
    """No instructions, demos or earlier attempts reach the checker."""
    checker = Scripted([verdict(kind_tone="Be kind."), verdict(kind_tone="")])
    program = Program(Draft, criteria=[TONE]).with_models(
        models_of(drafter="first draft", checker=checker, reviser="second draft")
    )
    state = program.state()
    demo = Demo({"request": "DEMO_IN", "notice": "DEMO_OUT"})
    predictors = dict(state.predictors) | {"draft": PredictorState("SECRET_TASK", (demo,))}
    tuned = program.with_state(ProgramState(predictors, state.loop, state.options))

    tuned.answer(request="lift")

    second = texts(checker.requests[1])
    assert "second draft" in second
    for unseen in ("first draft", "SECRET_TASK", "DEMO_IN", "DEMO_OUT", "Be kind."):
        assert unseen not in second


def test_attempt_one_is_the_loop_off() -> None:
    """The first request has the same bytes whatever the loop's settings are."""
    drafter = Scripted(lambda request: "hello")
    program = Program(Draft, checks=[SORRY], loop=Loop(on_fail="resample")).with_models(
        models_of(drafter=drafter)
    )

    program.answer(request="lift")
    program.with_loop(Loop(enabled=False)).answer(request="lift")

    assert drafter.requests[0] == drafter.requests[3]


def test_resample_sends_the_same_request_with_another_seed_and_temperature() -> None:
    """Only the draw differs between attempts."""
    drafter = Scripted(["hello", "sorry"])
    loop = Loop(on_fail="resample")
    program = Program(Draft, checks=[SORRY], loop=loop).with_models(models_of(drafter=drafter))

    assert program.answer(request="lift").passed

    first, second = drafter.requests
    assert first.messages == second.messages
    assert first.config.seed != second.config.seed
    assert (first.config.temperature, second.config.temperature) == (0.0, 0.8)


def test_seeds_come_from_run_row_and_attempt() -> None:
    """The same row of the same run is drawn alike; another run is not."""
    drafter = Scripted(lambda request: "sorry")
    program = Program(Draft, checks=[SORRY]).with_models(models_of(drafter=drafter))

    for seed, key in ((0, "r1"), (0, "r1"), (1, "r1"), (0, "r2")):
        program.answer_run({"request": "lift"}, AnswerRun(seed=seed, seed_key=key))

    seeds = [request.config.seed for request in drafter.requests]
    assert seeds[0] == seeds[1]
    assert len(set(seeds)) == 3


@pytest.mark.parametrize(
    ("first", "second", "stopped_by"),
    [
        ("no json", verdict(kind_tone=""), "passed"),
        (Reply(verdict(kind_tone=""), finish_reason="length"), verdict(kind_tone=""), "passed"),
        (verdict(other=""), verdict(kind_tone=""), "passed"),
        ("no json", "no json", "checker_failed"),
    ],
)
def test_one_counted_repair_turn(first: Any, second: str, stopped_by: str) -> None:
    """A checker's unusable reply is asked for once more, and then fails closed."""
    program = Program(Draft, criteria=[TONE]).with_models(
        models_of(drafter="hello", checker=[first, second])
    )

    answer = program.answer(request="lift")

    assert (answer.stopped_by, answer.usage.calls) == (stopped_by, 3)


def test_an_outage_of_the_checker_never_passes() -> None:
    """The answer says which model was down; the draft is kept."""
    program = Program(Draft, criteria=[TONE]).with_models(
        models_of(drafter="hello", checker=Reply(fail="outage"))
    )

    answer = program.answer(request="lift")

    assert (answer.draft, answer.passed, answer.stopped_by) == ("hello", False, "checker_failed")
    assert answer.failure is not None
    assert answer.failure.kind == "outage"


def test_a_check_that_raises_fails_closed_while_answering() -> None:
    """At answer time nothing is raised; offline the error is."""
    program = Program(Draft, checks=[Check("bad", lambda f, d: f["x"], "Bad.")]).with_models(  # type: ignore[arg-type,return-value]
        models_of("hello")
    )

    answer = program.answer(request="lift")

    assert (answer.stopped_by, answer.passed) == ("checker_failed", False)
    with pytest.raises(CheckError):
        program.answer_run({"request": "lift"}, AnswerRun(strict=True))


def test_the_answers_own_cap_is_a_labelled_end() -> None:
    """A cap on calls ends the loop with the draft that was judged."""
    program = Program(Draft, checks=[SORRY]).with_models(models_of("hello"))

    answer = program.answer_run({"request": "lift"}, AnswerRun(caps=Caps(max_calls=1)))

    assert (answer.stopped_by, answer.draft, answer.failure) == ("budget", "hello", None)


def test_the_commands_cap_is_not_measured() -> None:
    """A row that the command's cap cut short is told apart from a finished one."""
    program = Program(Draft, checks=[SORRY]).with_models(models_of("hello"))
    meter = Meter(RunCaps(max_calls=1))

    answer = program.answer_run({"request": "lift"}, AnswerRun(meter=meter))

    assert answer.failure is not None
    assert answer.failure.kind == "run_cap"
    assert meter.spent.calls == 1


def test_calling_it_as_a_module_gives_a_prediction() -> None:
    """DSPy's own callers get the draft under its name, and the trace of every call."""
    program = Program(Draft, checks=[SORRY]).with_models(
        models_of(drafter="hello", reviser="sorry")
    )

    with dspy.context(trace=[]):
        prediction = program(request="lift")
        traced = [program_call[0] for program_call in dspy.settings.trace]

    assert prediction.notice == "sorry"
    assert prediction.answer.passed
    assert traced == [program.draft, program.revise]


def test_async_answers_are_the_same() -> None:
    """Awaiting changes nothing but who waits."""
    program = Program(Draft, checks=[SORRY], criteria=[TONE]).with_models(
        models_of(
            lambda request: verdict(kind_tone="") if request.config.response_format else "sorry"
        )
    )

    async def both() -> tuple[Any, Any]:
        return await program.aanswer(request="lift"), await program.acall(request="lift")

    answer, prediction = asyncio.run(both())

    assert answer.stopped_by == program.answer(request="lift").stopped_by
    assert prediction.notice == "sorry"


class Plain(dspy.Module):  # type: ignore[misc]  # DSPy has no types
    """A user's drafter that cannot be awaited."""

    def __init__(self) -> None:
        super().__init__()
        self.write = dspy.Predict(Draft)

    def forward(self, request: str) -> dspy.Prediction:
        """Write the notice."""
        return self.write(request=request)


@pytest.mark.parametrize("script", ["sorry", Reply(fail="outage")])
def test_a_module_with_forward_alone_can_be_awaited(script: Any) -> None:
    """It answers, fails and counts its calls as it does when it is called."""
    program = Program(Plain(), checks=[SORRY], draft_field="notice").with_models(
        models_of(drafter=script, reviser="sorry")
    )

    awaited, called = asyncio.run(program.aanswer(request="lift")), program.answer(request="lift")

    assert awaited.stopped_by == called.stopped_by
    assert awaited.draft == called.draft
    assert awaited.usage.calls == called.usage.calls >= 1


def test_async_failures_are_typed_too() -> None:
    """Outages and caps end an awaited answer as they end another."""
    down = Program(Draft).with_models(models_of(Reply(fail="outage")))
    capped = Program(Draft, checks=[SORRY]).with_models(models_of("hello"))

    assert asyncio.run(down.aanswer(request="x")).stopped_by == "drafter_failed"
    run = AnswerRun(caps=Caps(max_calls=1))
    assert asyncio.run(capped.aanswer_run({"request": "x"}, run)).stopped_by == "budget"


def test_prepare_feeds_predictors_and_checks() -> None:
    """Prepared fields go to the predictor; the other keys are facts for checks alone."""

    class Sourced(dspy.Signature):  # type: ignore[misc]  # DSPy has no types
        """Answer from the sources."""

        request: str = dspy.InputField()
        sources: str = dspy.InputField()
        notice: str = dspy.OutputField()

    seen: list[dict[str, object]] = []
    drafter = Scripted(lambda request: "sorry")
    program = Program(
        Sourced,
        checks=[Check("sees", lambda facts, draft: seen.append(dict(facts)), "Sees.")],  # type: ignore[func-returns-value]
        prepare=lambda inputs: {"sources": "FOUND", "limit": 40},
        prepared=["sources"],
    ).with_models(models_of(drafter))

    program.answer(request="lift")

    assert program.input_fields == ("request",)
    assert "FOUND" in texts(drafter.requests[0])
    assert "40" not in texts(drafter.requests[0])
    assert seen == [{"request": "lift", "sources": "FOUND", "limit": 40}]


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ({"reqest": "x"}, "did you mean 'request'"),
        ({"zzz": "x"}, "it takes request"),
        ({}, "needs the input 'request'"),
        ({"request": 3}, "must be of type str"),
        ({"request": "\ud800"}, "half of a character pair"),
    ],
)
def test_inputs_that_do_not_fit_are_named(inputs: dict[str, Any], message: str) -> None:
    """Nothing is sent for inputs that the program does not take."""
    with pytest.raises(InputError, match=message):
        Program(Draft).with_models(models_of("x")).answer(**inputs)


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (ValueError("say it as: X"), "say it as: X"),
        ([], "must return a dict, got list"),
        ({}, "did not supply 'request'"),
        ({"request": ["\udc80"]}, "'request' holds half of a character pair"),
    ],
)
def test_prepare_that_fails_is_named(returned: Any, message: str) -> None:
    """The program and the row stand in the error, before any call."""

    def prepare(inputs: dict[str, Any]) -> Any:
        if isinstance(returned, Exception):
            raise returned
        return returned

    class Two(dspy.Signature):  # type: ignore[misc]  # DSPy has no types
        """Write."""

        title: str = dspy.InputField()
        request: str = dspy.InputField()
        notice: str = dspy.OutputField()

    program = Program(Two, prepare=prepare, prepared=["request"]).named("tiny")

    with pytest.raises(PrepareError, match=message) as caught:
        program.facts({"title": "x"}, "r7")

    assert (caught.value.program, caught.value.row_id) == ("tiny", "r7")


def test_prepare_must_not_replace_an_input() -> None:
    """What the caller said stays what the caller said."""
    program = Program(Draft, prepare=lambda inputs: {"request": "other"})

    with pytest.raises(PrepareError, match="must not replace the input 'request'"):
        program.facts({"request": "x"})


def test_without_a_model_nothing_is_answered() -> None:
    """The error lists the ways to name one."""
    with pytest.raises(ModelError, match="--lm"):
        Program(Draft).answer(request="x")


class TwoOutputs(dspy.Signature):  # type: ignore[misc]  # DSPy has no types
    """Write."""

    request: str = dspy.InputField()
    notice: str = dspy.OutputField()
    title: str = dspy.OutputField()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"draft": 3}, "draft must be a signature"),
        ({"draft": "request -> -> notice"}, "draft must be a signature"),
        ({"draft": "photo: dspy.Image -> notice"}, "'photo' has the type Image; .* text only"),
        ({"draft": "request -> notice: int"}, "must be a str"),
        ({"draft": "gaps -> notice"}, "a name that the loop uses"),
        ({"draft": TwoOutputs}, "name the one that is the draft"),
        ({"draft": TwoOutputs, "draft_field": "body"}, "not an output of the drafter"),
        ({"draft": dspy.Module()}, "has no predictor"),
        ({"draft": Draft, "checks": [TONE]}, "is not a Check"),
        ({"draft": Draft, "criteria": [SORRY]}, "is not a Criterion"),
        ({"draft": Draft, "checks": [SORRY, SORRY]}, "used by two rules"),
        ({"draft": Draft, "prepared": ["sources"]}, "no input of the drafter"),
        ({"draft": Draft, "prepared": ["request"]}, "no prepare to supply it"),
        ({"draft": Draft, "check": "draft -> findings"}, "without criteria"),
        ({"draft": Draft, "criteria": [TONE], "check": "draft -> findings"}, "'criteria'"),
        ({"draft": Draft, "checks": [SORRY], "revise": "request -> notice"}, "'previous_draft'"),
    ],
)
def test_programs_that_do_not_fit_together_are_refused(
    arguments: dict[str, Any], message: str
) -> None:
    """Everything that can be told from the file is told when it loads."""
    with pytest.raises(ProgramError, match=message):
        Program(arguments.pop("draft"), **arguments)


def test_own_signatures_replace_the_defaults() -> None:
    """A checker and a reviser of one's own are called with the fields they declare."""
    program = Program(
        Draft,
        checks=[SORRY],
        criteria=[TONE],
        check="draft, criteria -> thoughts, findings",
        revise="previous_draft, gaps -> notice",
    ).with_models(models_of(drafter="hello", checker=verdict(kind_tone=""), reviser="sorry"))

    assert program.answer(request="lift").passed
    assert set(program.check.signature.input_fields) == {"draft", "criteria"}


@pytest.mark.parametrize("given", [{"notice": None}, {"other": "A text."}])
def test_a_module_that_gives_no_draft_has_not_drafted(given: dict[str, object]) -> None:
    """Nothing is no draft that reads `None`."""

    class Silent(dspy.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.write = dspy.Predict(Draft)

        def forward(self, **_: object) -> dspy.Prediction:
            return dspy.Prediction(**given)

    answer = Program(Silent()).with_models(models_of("A text.")).answer(request="lift")

    assert (answer.draft, answer.stopped_by) == (None, "drafter_failed")


def test_a_module_may_draft() -> None:
    """Names get a prefix, and the declared output is the draft."""
    program = Program(dspy.ChainOfThought(Draft), draft_field="notice", checks=[SORRY])
    reply = json.dumps({"reasoning": "because", "notice": "sorry"})

    answer = program.with_models(models_of(reply)).answer(request="lift")

    assert next(name for name, _ in program.named_predictors()) == "draft.predict"
    assert (answer.draft, answer.passed) == ("sorry", True)


def test_the_reviser_exists_only_where_it_is_called() -> None:
    """A predictor that is never called would stall an optimizer."""
    program = Program(Draft, checks=[SORRY])

    def names(loop: Loop) -> list[str]:
        return [name for name, _ in program.with_loop(loop).named_predictors()]

    assert names(Loop()) == ["draft", "revise"]
    assert names(Loop(on_fail="resample")) == ["draft"]
    assert names(Loop(max_revisions=0)) == ["draft"]
    assert names(Loop(enabled=False)) == ["draft"]
    assert [name for name, _ in Program(Draft).named_predictors()] == ["draft"]


def test_state_goes_out_and_comes_back() -> None:
    """What tuning changes is plain values, demos with their origin included."""
    program = Program(Draft, checks=[SORRY], options={"drafter": Options(max_tokens=9)})
    demo = Demo({"request": "a", "notice": "b"}, row_id="r1", model="m")
    state = ProgramState(
        {"draft": PredictorState("Do it.", (demo,))}, Loop(on_fail="resample"), program.options
    )

    tuned = program.with_state(state)

    assert tuned.state() == state
    assert program.state() != state
    assert tuned.render("draft", {"request": "c"}).system == "Do it."


def test_state_of_another_program_is_refused() -> None:
    """A predictor that is not there is named."""
    state = ProgramState({"translate": PredictorState("x")}, Loop(), {})

    with pytest.raises(ProgramError, match="no predictor 'translate'"):
        Program(Draft, checks=[SORRY]).with_state(state)


def test_a_request_can_be_seen_without_a_model() -> None:
    """The checker's request holds the criteria, whoever renders it."""
    program = Program(Draft, criteria=[TONE, PLAIN])

    request = program.render("check", {"request": "lift", "draft": "sorry"})

    assert "- kind_tone: The reader is addressed kindly." in str(request.system)
    with pytest.raises(ProgramError, match="no predictor 'judge'"):
        program.render("judge", {})


def test_what_is_rendered_is_what_is_sent() -> None:
    """`render` shows the request of the call, but for model and seed."""
    drafter, checker = Scripted(["sorry"]), Scripted([verdict(kind_tone="")], promises_schema=True)
    program = Program(Draft, criteria=[TONE])

    program.with_models(models_of(drafter=drafter, checker=checker)).answer(request="lift")

    shown = program.render("check", {"request": "lift", "draft": "sorry"})
    assert checker.requests[0].messages == shown.messages
    assert checker.requests[0].system == shown.system
    assert checker.requests[0].config.response_format == shown.config.response_format
    drafted = program.render("draft", {"request": "lift"})
    assert drafter.requests[0].messages == drafted.messages


def test_judge_asks_no_model() -> None:
    """The checks alone say what is missing; what they cannot say has not passed."""
    verdict_of_code = Program(Draft, checks=[SORRY], criteria=[TONE]).judge({}, "sorry")

    assert not verdict_of_code.passed
    assert verdict_of_code.not_asked == ("kind_tone",)


def test_digest_of_the_checker_follows_its_prompt() -> None:
    """Verdicts of another prompt can be told apart."""
    program = Program(Draft, criteria=[TONE])
    state = program.state()
    predictors = dict(state.predictors) | {"check": PredictorState("Judge harder.")}

    tuned = program.with_state(ProgramState(predictors, state.loop, state.options))

    assert tuned.checker_digest != program.checker_digest


def test_copies_share_nothing_that_changes() -> None:
    """Loading and tuning never touch the program in the file."""
    program = Program(Draft, checks=[SORRY])

    copy = program.with_loop(Loop(enabled=False)).named("other", "abc")
    copy.draft.demos.append(dspy.Example(request="a", notice="b"))

    assert (program.name, copy.name, copy.artifact_id) == ("", "other", "abc")
    assert program.draft.demos == []
    assert program.loop == Loop()
