"""What the stand-in remembers of a request."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True)
class ApiRequest:
    """One request as it arrived.

    Attributes:
        path: What was asked for.
        headers: By lower-case name.
        body: The JSON body; None for a request without one.
        given_up: Whether the caller closed the connection before it was answered.
    """

    path: str
    headers: Mapping[str, str] = field(repr=False)
    body: Any
    given_up: bool = False
