"""How the Messages API says no."""

from collections.abc import Mapping
from dataclasses import dataclass, field

_TYPES: Mapping[int, str] = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    500: "api_error",
    504: "timeout_error",
    529: "overloaded_error",
}


@dataclass(frozen=True, slots=True)
class Refusal:
    """An answer that is an error.

    Attributes:
        status: The HTTP status.
        message: What is wrong.
        headers: Further headers, such as `retry-after`.
    """

    status: int
    message: str
    headers: Mapping[str, str] = field(default_factory=dict)

    def body(self, request_id: str) -> dict[str, object]:
        """Return the JSON body."""
        kind = _TYPES.get(self.status, "api_error")
        return {
            "type": "error",
            "error": {"type": kind, "message": self.message},
            "request_id": request_id,
        }


class RefusedError(Exception):
    """Ends the reading of a request that the API would refuse."""

    def __init__(self, message: str, status: int = 400) -> None:
        self.refusal = Refusal(status, message)
        super().__init__(message)
