"""One call through an engine: tried again on outages, metered, answered from the store."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from dspy.lm15 import LM15Error, Request, Response

from redraft.budget import Meter
from redraft.lm.cache import ReplyStore
from redraft.lm.engine import POLL_SECONDS, Engine, Poll
from redraft.lm.retry import Retry
from redraft.lm.wire import request_digest
from redraft.records import Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class Pipeline:
    """Everything that stands between a request and an engine, for one meter.

    Each try is reserved in the meter before it is made and recorded after it, whether it was
    answered by the engine, answered from the store or failed. So a budget decides the same
    whatever was recorded before.

    Attributes:
        engine: Answers.
        meter: Reserves and records.
        retry: Which failures are tried again.
        store: Recorded replies; None to ask the engine every time.
        replicate: Number of the repetition, from 0: each has its own recorded replies.
    """

    engine: Engine
    meter: Meter
    retry: Retry = field(default_factory=Retry)
    store: ReplyStore | None = None
    replicate: int = 0

    def complete(self, request: Request) -> Response:
        """Answer one request.

        Raises:
            LM15Error: The last try failed, or a failure that no further try would cure.
            Stop: A cap was reached or the work was cancelled.
        """
        tried = 0
        while True:
            tried += 1
            try:
                return self._try(request)
            except LM15Error as error:
                for pause in self._pauses(error, request, tried):
                    self.retry.sleep(pause)

    async def acomplete(self, request: Request) -> Response:
        """Answer one request without blocking the event loop; raises as `complete` does."""
        tried = 0
        while True:
            tried += 1
            try:
                return await self._atry(request)
            except LM15Error as error:
                for pause in self._pauses(error, request, tried):
                    await asyncio.sleep(pause)

    def _try(self, request: Request) -> Response:
        with self._metered(request) as slip:
            if slip.response is None:
                slip.response = self.engine.complete(request, self._poll)
        return slip.reply

    async def _atry(self, request: Request) -> Response:
        with self._metered(request) as slip:
            if slip.response is None:
                slip.response = await self.engine.acomplete(request, self._poll)
        return slip.reply

    @property
    def _poll(self) -> Poll:
        return self.meter.check

    @contextmanager
    def _metered(self, request: Request) -> Iterator["_Slip"]:
        self.meter.reserve()
        slip = _Slip(self.engine)
        try:
            slip.response = self._recorded(request)
            slip.reread = slip.response is not None
            yield slip
        finally:
            self.meter.record(slip.usage)
        if self.store is not None and not slip.reread:
            self.store.put(request, slip.reply, self.engine.fingerprint, self.replicate)

    def _recorded(self, request: Request) -> Response | None:
        if self.store is None:
            return None
        return self.store.get(request, self.engine.fingerprint, self.replicate)

    def _pauses(self, error: LM15Error, request: Request, tried: int) -> Iterator[float]:
        """Yield the wait in short pieces, polling before each; raise `error` to give up."""
        digest = request_digest(request)
        left = self.retry.wait_seconds(error, tried=tried, digest=digest)
        if left is None:
            raise error
        while left > 0:
            self._poll()
            pause = min(left, POLL_SECONDS)
            yield pause
            left -= pause


@dataclass(slots=True)
class _Slip:
    """What is known about one try so far."""

    engine: Engine
    response: Response | None = None
    reread: bool = False

    @property
    def reply(self) -> Response:
        """The response of a try that ended well."""
        assert self.response is not None
        return self.response

    @property
    def usage(self) -> Usage:
        """What the try spent, as far as the provider told."""
        if self.response is None:
            return Usage(calls=1, cost_usd=self.engine.cost_usd)
        told = self.response.usage
        return Usage(
            calls=1,
            input_tokens=told.input_tokens or 0,
            output_tokens=told.output_tokens or 0,
            cache_read_tokens=told.cache_read_tokens or 0,
            cache_write_tokens=told.cache_write_tokens or 0,
            cost_usd=self.engine.cost_usd,
            reread=int(self.reread),
        )
