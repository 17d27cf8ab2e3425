"""Everything that happened for one call of a program."""

from dataclasses import dataclass
from typing import Literal

from redraft.records.attempts import Attempt, Failure, Usage
from redraft.records.handoff import Handoff, Left, make_handoff

StoppedBy = Literal[
    "passed",
    "unchecked",
    "max_revisions",
    "no_progress",
    "budget",
    "deadline",
    "checker_failed",
    "drafter_failed",
    "reviser_failed",
    "refused",
    "cancelled",
]


@dataclass(frozen=True, slots=True)
class Answer:
    """Everything that happened for one call of a program.

    Attributes:
        draft: The draft that is returned; None exactly when attempt 1 gave none.
        passed: True only for `stopped_by == "passed"`, None for `unchecked`, else False.
        stopped_by: Why the loop ended.
        unmet: Ids of the returned draft's must-pass rules that are not met or could not be
            assessed, then of its minor ones.
        attempts: In order.
        returned: Number of the attempt whose draft is returned; None when there is no draft.
        best: Number of the best judged attempt; None when none was judged.
        usage: Over all roles and attempts, failed calls included.
        failure: Why a role gave nothing usable; None when every call did.
        artifact_id: The artifact that answered; None for the program as its file stands.
        trace_id: Where it is stored; None where it is not.
        left: What its caps had left when it ended; None where that is not known.
    """

    draft: str | None
    passed: bool | None
    stopped_by: StoppedBy
    unmet: tuple[str, ...]
    attempts: tuple[Attempt, ...]
    returned: int | None
    best: int | None
    usage: Usage
    failure: Failure | None = None
    artifact_id: str | None = None
    trace_id: str | None = None
    left: Left | None = None

    @property
    def revisions(self) -> int:
        """Further tries after the first draft; 0 or more."""
        return max(0, len(self.attempts) - 1)

    def handoff(self) -> Handoff:
        """Return what a person needs to go on from here: drafts, open rules, the next step."""
        return make_handoff(self)
