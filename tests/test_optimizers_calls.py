"""What answers cost: the worst case that is reserved, and what they did cost."""

import dspy
import pytest

from redraft.optimizers.calls import answer_calls, drafter_calls, worst_calls
from redraft.program import Program
from redraft.records import Check, Criterion, Loop
from redraft.testing import models_of

NEVER = Check("never", lambda _, __: "Not good enough.", "Be good enough.")
MINOR = Criterion("plain", "It is plain.", must_pass=False)
MUST = Criterion("kind", "It is kind.")
UNREADABLE = "I would rather not say."


class TwoSteps(dspy.Module):  # type: ignore[misc]  # DSPy has no types
    """A drafter that plans first."""

    def __init__(self) -> None:
        super().__init__()
        self.plan = dspy.Predict("request -> plan")
        self.write = dspy.Predict("request, plan -> notice")

    def forward(self, request: str) -> dspy.Prediction:
        """Plan, then write."""
        return self.write(request=request, plan=self.plan(request=request).plan)


@pytest.mark.parametrize(
    ("rules", "loop", "calls"),
    [
        ({}, Loop(), 1),
        ({"checks": [NEVER]}, Loop(enabled=False), 1),
        ({"checks": [NEVER]}, Loop(max_revisions=0), 1),
        ({"checks": [NEVER]}, Loop(max_revisions=2), 3),
        ({"checks": [NEVER], "criteria": [MINOR]}, Loop(max_revisions=2), 5),
        (
            {"checks": [NEVER], "criteria": [MINOR]},
            Loop(max_revisions=2, ask_after_failed_checks=True),
            9,
        ),
        ({"criteria": [MUST]}, Loop(max_revisions=2), 9),
        ({"criteria": [MUST]}, Loop(max_revisions=1, votes=3), 14),
        ({"criteria": [MINOR]}, Loop(max_revisions=1, votes=3), 4),
    ],
)
def test_worst_case_counts_drafts_votes_and_repairs(
    rules: dict[str, list[Check] | list[Criterion]], loop: Loop, calls: int
) -> None:
    """Every attempt that may need a model's verdict counts it twice, for the repair turn."""
    program = Program("request -> notice", loop=loop, **rules)  # type: ignore[arg-type]  # lists

    assert worst_calls(program, loop) == calls


@pytest.mark.parametrize("on_fail", ["revise", "resample"])
@pytest.mark.parametrize("criterion", [MINOR, MUST])
def test_no_answer_costs_more_than_the_worst_case(on_fail: str, criterion: Criterion) -> None:
    """A checker that never replies as asked costs the most there is."""
    loop = Loop(max_revisions=2, on_fail=on_fail)  # type: ignore[arg-type]  # one of the words
    drafts = iter(f"Draft {n}." for n in range(100))

    program = Program("request -> notice", criteria=[criterion], loop=loop)
    program = program.with_models(models_of(lambda _: next(drafts), checker=UNREADABLE))

    answer = program.answer(request="Write.")

    assert answer.usage.calls <= worst_calls(program, loop)


def test_module_counts_each_of_its_predictors() -> None:
    """A drafter of two steps makes two calls a draft, and again for a re-draw."""
    program = Program(TwoSteps(), checks=[NEVER], draft_field="notice")

    assert drafter_calls(program) == 2
    assert worst_calls(program, Loop(max_revisions=2, on_fail="resample")) == 6
    assert worst_calls(program, Loop(max_revisions=2, on_fail="revise")) == 4


def test_retries_are_no_cost_of_a_setting() -> None:
    """What an answer cost counts its drafts, not the tries after an outage."""
    loop = Loop(max_revisions=1, on_fail="resample")
    program = Program("request -> notice", checks=[NEVER], loop=loop)
    program = program.with_models(models_of(["First.", "Second."]))

    answer = program.answer(request="Write.")

    assert answer_calls(program, loop, answer) == 2
    assert answer_calls(program, Loop(enabled=False), answer) == 1
