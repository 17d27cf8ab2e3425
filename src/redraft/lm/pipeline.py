"""One call through an engine: tried again on outages, metered, answered from the store."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from dspy.lm15 import LM15Error, Request, Response

from redraft.budget import Meter
from redraft.errors import ModelError
from redraft.lm.bounds import Bound, estimated_tokens, text_bound
from redraft.lm.cache import ReplyStore
from redraft.lm.engine import POLL_SECONDS, Engine, Poll
from redraft.lm.pace import Pace
from redraft.lm.paid import PaidEngine
from redraft.lm.retry import Retry, is_unpaid
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
        pace: Rates to stay below; None for none.
    """

    engine: Engine
    meter: Meter
    retry: Retry = field(default_factory=Retry)
    store: ReplyStore | None = None
    replicate: int = 0
    pace: Pace | None = None

    def complete(self, request: Request) -> Response:
        """Answer one request.

        Raises:
            LM15Error: The last try failed, or a failure that no further try would cure.
            Stop: A cap was reached or the work was cancelled.
            ModelError: The price is not known, and dollars are capped.
        """
        response = self._persist(request)
        longer = self._longer(request, response)
        return response if longer is None else self._persist(longer)

    async def acomplete(self, request: Request) -> Response:
        """Answer one request without blocking the event loop; raises as `complete` does."""
        response = await self._apersist(request)
        longer = self._longer(request, response)
        return response if longer is None else await self._apersist(longer)

    def _persist(self, request: Request) -> Response:
        tried = 0
        while True:
            tried += 1
            try:
                return self._try(request)
            except LM15Error as error:
                for pause in self._pauses(error, request, tried):
                    self.retry.sleep(pause)

    async def _apersist(self, request: Request) -> Response:
        tried = 0
        while True:
            tried += 1
            try:
                return await self._atry(request)
            except LM15Error as error:
                for pause in self._pauses(error, request, tried):
                    await asyncio.sleep(pause)

    def _try(self, request: Request) -> Response:
        recorded = self._recorded(request)
        for pause in self._paces(request, recorded):
            self.retry.sleep(pause)
        with self._metered(request, recorded) as slip:
            if slip.response is None:
                slip.response = self.engine.complete(request, self._poll)
        return slip.reply

    async def _atry(self, request: Request) -> Response:
        recorded = self._recorded(request)
        for pause in self._paces(request, recorded):
            await asyncio.sleep(pause)
        with self._metered(request, recorded) as slip:
            if slip.response is None:
                slip.response = await self.engine.acomplete(request, self._poll)
        return slip.reply

    @property
    def _poll(self) -> Poll:
        return self.meter.check

    @contextmanager
    def _metered(self, request: Request, recorded: Response | None) -> Iterator["_Slip"]:
        tokens, cost_usd = self._most(request)
        self.meter.reserve(tokens, cost_usd=cost_usd)
        slip = _Slip(self.engine, recorded, reread=recorded is not None)
        try:
            yield slip
        except (LM15Error, ModelError) as error:
            slip.unpaid = is_unpaid(error)
            raise
        finally:
            known = slip.is_known
            self.meter.record(
                slip.usage,
                reserved_tokens=tokens if known else None,
                reserved_cost_usd=cost_usd if known else None,
            )
        if self.store is not None and not slip.reread:
            self.store.put(request, slip.reply, self.engine.fingerprint, self.replicate)

    def _recorded(self, request: Request) -> Response | None:
        if self.store is None:
            return None
        return self.store.get(request, self.engine.fingerprint, self.replicate)

    def _longer(self, request: Request, response: Response) -> Request | None:
        """Return the request that may get a cut reply whole, where there is room for it."""
        if not isinstance(self.engine, PaidEngine):
            return None
        longer = self.engine.longer(request, response)
        if longer is None:
            return None
        tokens, cost_usd = self._most(longer)
        return longer if self.meter.fits(tokens, cost_usd=cost_usd) else None

    def _most(self, request: Request) -> tuple[int, float]:
        """Return the most tokens and dollars that a try can take; 0 where none are capped."""
        if not self.meter.counts_tokens and not self.meter.counts_cost:
            return 0, 0.0
        bound = self._bound(request)
        return bound.tokens, self._most_usd(bound) if self.meter.counts_cost else 0.0

    def _bound(self, request: Request) -> Bound:
        if isinstance(self.engine, PaidEngine):
            return self.engine.bound(request)
        return text_bound(self.engine, request)

    def _most_usd(self, bound: Bound) -> float:
        prices = self.engine.prices if isinstance(self.engine, PaidEngine) else None
        if prices is not None:
            return prices.most(input_tokens=bound.input_tokens, output_tokens=bound.output_tokens)
        if self.engine.cost_usd is not None:
            return self.engine.cost_usd
        raise unknown_price(self.engine.name)

    def _paces(self, request: Request, recorded: Response | None) -> Iterator[float]:
        """Yield waits, polling before each, until the pace has room for the request."""
        if self.pace is None or recorded is not None:
            return
        sent = estimated_tokens(self.engine, request).tokens
        expected = sent + self._bound(request).output_tokens
        while (left := self.pace.take(expected)) > 0:
            self._poll()
            yield min(left, POLL_SECONDS)

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


def unknown_price(name: str) -> ModelError:
    """Return the error of a cap in dollars on a model whose price is not known."""
    return ModelError(
        f"what {name!r} costs is not known, so max_cost_usd cannot be kept; cap calls instead, "
        f'or give its prices under [tool.redraft.prices."{name}"]',
        model=name,
    )


@dataclass(slots=True)
class _Slip:
    """What is known about one try so far."""

    engine: Engine
    response: Response | None = None
    reread: bool = False
    unpaid: bool = False

    @property
    def reply(self) -> Response:
        """The response of a try that ended well."""
        assert self.response is not None
        return self.response

    @property
    def is_known(self) -> bool:
        """Whether what the try spent is known, so that its reservation can be replaced."""
        if self.response is None:
            return self.unpaid
        told = self.response.usage
        return told.input_tokens is not None and told.output_tokens is not None

    @property
    def usage(self) -> Usage:
        """What the try spent, as far as the provider told."""
        if self.response is None:
            paid = isinstance(self.engine, PaidEngine) and not self.unpaid
            return Usage(calls=1, cost_usd=None if paid else self._free)
        told = self.response.usage
        usage = Usage(
            calls=1,
            input_tokens=told.input_tokens or 0,
            output_tokens=told.output_tokens or 0,
            cache_read_tokens=told.cache_read_tokens or 0,
            cache_write_tokens=told.cache_write_tokens or 0,
            reread=int(self.reread),
        )
        return replace(usage, cost_usd=self._cost(usage))

    @property
    def _free(self) -> float | None:
        return 0.0 if isinstance(self.engine, PaidEngine) else self.engine.cost_usd

    def _cost(self, usage: Usage) -> float | None:
        if not isinstance(self.engine, PaidEngine):
            return self.engine.cost_usd
        if self.engine.prices is None or not self.is_known:
            return None
        return self.engine.prices.cost(usage)
