"""What a command says it would spend."""

from redraft.cli.spending import Calls, answer_calls
from redraft.program import Program
from redraft.records import Check, Criterion, Loop

NEVER = Check("never", lambda facts, draft: "Say more.", "It says more.")
KIND = Criterion("kind", "It is kind.")


def test_without_a_loop_an_answer_is_one_call() -> None:
    """Nothing is checked and nothing is tried again."""
    program = Program("request -> note", checks=[NEVER], loop=Loop(enabled=False))

    assert answer_calls(program, 10) == Calls(10, 10, 10)


def test_criteria_and_revisions_cost_calls() -> None:
    """At worst every attempt is checked with a repair turn."""
    program = Program("request -> note", criteria=[KIND], loop=Loop(max_revisions=2))

    assert answer_calls(program, 1) == Calls(best=2, expected=4, worst=9)
