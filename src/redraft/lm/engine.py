"""The contract of an engine: one model behind one try, without retry, store or budget."""

import asyncio
import threading
from collections.abc import Callable
from typing import Protocol, runtime_checkable

from dspy.lm15 import Request, Response

Poll = Callable[[], None]

POLL_SECONDS = 0.05


@runtime_checkable
class Engine(Protocol):
    """One model that answers one request at a time or several.

    Redraft calls `complete` or `acomplete` once per try, from any thread or event loop, with up
    to `parallel` requests in flight. Retries, recorded replies, metering and caps are wrapped
    around an engine; it must not add its own.

    An engine raises `dspy.lm15` errors for everything that a provider can refuse or fail at, and
    `redraft.errors.ModelError` where the model cannot be used at all. It never changes a
    request. It calls `poll` at least ten times a second while it waits, and stops working within
    a second when `poll` raises; what `poll` raised must reach the caller unchanged.

    Attributes:
        name: The model as the user names it, `provider/model`; equals `Request.model`.
        fingerprint: Changes when equal requests may get other replies: a digest of the model
            file, the script or the name. Part of the key of recorded replies.
        supports_response_schema: Whether a reply that ended by itself always fits
            `Config.response_format`.
        supported_params: Names of the `Config` fields that the engine takes, in OpenAI's spelling:
            they change a reply, or the reply says in its `adaptations` that they did not.
        context_tokens: Tokens that prompt and reply may have together; None when unknown.
        parallel: Requests that may be in flight at once; 1 or more.
        cost_usd: 0.0 where every call is free; None where calls cost an unknown amount.
    """

    @property
    def name(self) -> str: ...
    @property
    def fingerprint(self) -> str: ...
    @property
    def supports_response_schema(self) -> bool: ...
    @property
    def supported_params(self) -> frozenset[str]: ...
    @property
    def context_tokens(self) -> int | None: ...
    @property
    def parallel(self) -> int: ...
    @property
    def cost_usd(self) -> float | None: ...

    def complete(self, request: Request, poll: Poll) -> Response:
        """Answer one request."""
        ...

    async def acomplete(self, request: Request, poll: Poll) -> Response:
        """Answer one request without blocking the event loop; cancelling the task stops it."""
        ...

    def count_tokens(self, text: str) -> int | None:
        """Return how many tokens `text` has as data, or None where only the provider knows."""
        ...

    def close(self) -> None:
        """Free what the engine holds; it may be called twice, and again after no call at all."""
        ...


class Abandoned(BaseException):
    """Tells a worker thread that the task which waited for it is gone."""


async def complete_in_thread(
    complete: Callable[[Request, Poll], Response], request: Request, poll: Poll
) -> Response:
    """Run a blocking `complete` for an event loop.

    Cancelling the awaiting task makes the next poll in the thread raise, so the engine stops too.
    """
    abandoned = threading.Event()

    def poll_both() -> None:
        if abandoned.is_set():
            raise Abandoned
        poll()

    try:
        return await asyncio.to_thread(complete, request, poll_both)
    except asyncio.CancelledError:
        abandoned.set()
        raise
