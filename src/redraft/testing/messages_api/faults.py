"""Failures that a test asks for."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from redraft.testing.messages_api.refusals import Refusal

FaultKind = Literal["status", "stall", "cut", "malformed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """How one request fails.

    Attributes:
        status: The HTTP status it gets, such as 429 or 529; 200 for the other kinds.
        retry_after: Value of the `retry-after` header; None for none.
        kind: `status` answers with an error, `stall` never answers, `cut` closes the connection in
            the middle of the reply, `malformed` sends what is no reply.
        message: What the error says.
    """

    status: int = 200
    retry_after: str | None = None
    kind: FaultKind = "status"
    message: str = "Injected by a test."

    def refusal(self) -> Refusal:
        """Return the error that is sent."""
        headers: Mapping[str, str] = (
            {} if self.retry_after is None else {"retry-after": self.retry_after}
        )
        return Refusal(self.status, self.message, headers)
