"""The optimizer that changes nothing: what every other one is held against."""

from redraft.optimizers.base import SearchTask
from redraft.records import ProgramState


class Identity:
    """Returns the opponent unchanged, so a compile with it always ends `not_confirmed`."""

    name = "identity"

    def search(self, task: SearchTask) -> ProgramState:
        """Return the opponent's state; no call is made."""
        return task.opponent

    def estimate(self, task: SearchTask) -> tuple[int, int]:  # noqa: ARG002 - nothing to look at
        """Return no calls."""
        return 0, 0
