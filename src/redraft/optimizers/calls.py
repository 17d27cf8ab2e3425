"""What answers cost in calls: the worst case that is reserved, and what an answer did cost."""

from redraft.program import Program
from redraft.records import Answer, Loop

_CALLS_PER_VOTE = 2  # a checker's call and its one repair turn


def worst_calls(program: Program, loop: Loop) -> int:
    """Return the calls that one answer makes at most, tries after an outage not counted.

    Args:
        program: Its drafter, checks and criteria.
        loop: The settings it would answer with.
    """
    drafts = drafter_calls(program)
    if not is_checked(program, loop):
        return drafts
    again = 1 if loop.on_fail == "revise" else drafts
    return drafts + loop.max_revisions * again + _votes(program, loop) * _CALLS_PER_VOTE


def answer_calls(program: Program, loop: Loop, answer: Answer) -> int:
    """Return the calls that an answer made under these settings, repairs and retries left out.

    Those are left out so that a slow network does not change which settings are chosen.
    """
    drafts = drafter_calls(program)
    if not is_checked(program, loop):
        return drafts
    again = 1 if loop.on_fail == "revise" else drafts
    asked = sum(len(a.verdict.replies) for a in answer.attempts if a.verdict is not None)
    return drafts + answer.revisions * again + asked


def is_checked(program: Program, loop: Loop) -> bool:
    """Tell whether anything is checked under these settings."""
    return loop.enabled and bool(program.checks or program.criteria)


def drafter_calls(program: Program) -> int:
    """Return the calls of one draft: one per predictor of the drafter."""
    return sum(name.partition(".")[0] == "draft" for name in program.state().predictors)


def _votes(program: Program, loop: Loop) -> int:
    """Return how often the model checker is asked at most, over all attempts."""
    if not program.criteria:
        return 0
    attempts = loop.max_revisions + 1
    if any(c.must_pass for c in program.criteria):
        return attempts * loop.votes
    # Minor criteria are settled by one vote, and a model that is asked only after every must-pass
    # check is met cannot cause another revision: it is asked on the last attempt alone.
    return attempts if loop.ask_after_failed_checks else 1
