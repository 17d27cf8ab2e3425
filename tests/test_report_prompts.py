"""PROMPTS.md: what will be sent, and how it differs from the opponent's."""

from dataclasses import replace

import pytest

from redraft.program import Program
from redraft.records import Check, Criterion, Demo, Loop, PredictorState
from redraft.report.prompts import prompts_text

SHORT = Check("short", lambda *_: None, "Keep it short.")
BASE = Program("request -> notice", checks=[SHORT], loop=Loop(max_revisions=0)).named("notice")


def tuned(instructions: str, *demos: Demo) -> Program:
    """Return the program with another prompt."""
    state = replace(BASE.state(), predictors={"draft": PredictorState(instructions, demos)})
    return BASE.with_state(state).named("notice", "0123456789ab")


def test_prompts_are_shown_with_their_difference() -> None:
    """A stranger reads what was decided without running anything."""
    demo = Demo({"request": "Say hi.", "notice": "Hi."}, "r1", "scripted/test")
    program = tuned("Write it.", demo, Demo({"request": "Bye.", "notice": "Bye!"}))

    shown, _, difference = prompts_text(program, tuned("Write.")).partition(
        "\n### Difference from the opponent"
    )

    assert shown == (
        """# Prompts of notice 0123456789ab

Compared with 0123456789ab. Names in <> are filled in for each answer.

- Loop: check once, never try again
- Loop of the opponent: check once, never try again

## draft

2 demos: r1 by scripted/test, written by hand.

```text
[system]
Write it.

[user]
Say hi.

[assistant]
Hi.

[user]
Bye.

[assistant]
Bye!

[user]
<request>
```
"""
    )
    assert difference == "\n\n```diff\n" + "\n".join(
        [
            "--- opponent",
            "+++ compiled",
            "@@ -1,3 +1,15 @@",
            " [system]",
            "-Write.",
            "+Write it.",
            "+",
            "+[user]",
            "+Say hi.",
            "+",
            "+[assistant]",
            "+Hi.",
            "+",
            "+[user]",
            "+Bye.",
            "+",
            "+[assistant]",
            "+Bye!",
            " ",
            "```",
            "",
        ]
    )


def test_equal_prompts_have_no_difference() -> None:
    """A predictor that is sent the same says so."""
    assert "### Difference from the opponent\n\nNone.\n" in prompts_text(BASE, BASE)


def test_base_is_named_as_the_program_as_it_stands() -> None:
    """Without an artifact the opponent is the file."""
    assert "Compared with the program as its file stands." in prompts_text(BASE, BASE)


def test_new_predictor_has_nothing_to_compare_with() -> None:
    """A reviser that the opponent lacks is shown alone."""
    revising = BASE.with_loop(Loop(max_revisions=2, on_fail="revise"))

    text = prompts_text(revising, BASE)

    assert "The opponent has no revise." in text
    assert "- Loop: revise, at most 2 revisions, returns the last draft" in text


def test_rules_pasted_in_are_named() -> None:
    """The reader learns that the drafter is told the checks' rules."""
    assert "are pasted into the instructions" in prompts_text(tuned("Keep it short."), BASE)
    assert "are pasted into the instructions" not in prompts_text(tuned("Write."), BASE)


def test_checker_is_shown_with_its_criteria() -> None:
    """Every predictor of the program is there."""
    program = Program("request -> notice", criteria=[Criterion("kind", "It is kind.")])

    text = prompts_text(program, program)

    assert "## check" in text
    assert "It is kind." in text


@pytest.mark.parametrize(("ticks", "fence"), [("```", "````"), ("`````", "``````")])
def test_fence_is_longer_than_any_in_the_prompt(ticks: str, fence: str) -> None:
    """A prompt cannot end its own block."""
    text = prompts_text(tuned(f"Write {ticks}code{ticks}."), BASE)

    assert f"\n{fence}text\n" in text


def test_loop_that_is_off_is_said() -> None:
    """An unchecked draft is no small thing."""
    off = BASE.with_loop(Loop(enabled=False))

    assert "- Loop: off; the draft is returned unchecked" in prompts_text(off, BASE)
