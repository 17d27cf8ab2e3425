"""Any model that DSPy reaches by itself, over the network; its price is not known here."""

import asyncio
import hashlib
import os
import threading
from collections.abc import Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from types import TracebackType

import dspy

# Public in use but not in DSPy's documentation: routing without a network or a key.
from dspy.clients.capabilities import resolve
from dspy.clients.lm import LM
from dspy.lm15 import LM15Error, ProviderError, Request, Response, UnknownModelError, Usage
from dspy.utils.exceptions import LMError

from redraft.errors import ModelError
from redraft.lm.engine import POLL_SECONDS, Poll
from redraft.lm.names import how_to_name


class ProviderEngine:
    """A model behind DSPy's own client, which picks the route by the name.

    Args:
        name: The name of the model, `provider/model`, as DSPy spells it.

    Raises:
        ModelError: DSPy does not know the provider, or its key is not set.
    """

    cost_usd: float | None = None
    context_tokens: int | None = None
    parallel = 8

    def __init__(self, name: str) -> None:
        # LiteLLM and DSPy fetch price tables when they are first asked about a model.
        os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
        self.name = name
        self.fingerprint = hashlib.sha256(name.encode()).hexdigest()
        self._lm = LM(name, cache=False, num_retries=0)
        self._check_route()

    @cached_property
    def supports_response_schema(self) -> bool:
        """Whether DSPy knows that the model keeps to a schema."""
        return bool(self._lm.supports_response_schema)

    @cached_property
    def supported_params(self) -> frozenset[str]:
        """What DSPy knows the model to take."""
        return frozenset(self._lm.supported_params)

    def complete(self, request: Request, poll: Poll) -> Response:
        """Answer one request; a caller that gives up leaves the connection to time out.

        Raises:
            LM15Error: The provider refused or failed.
        """
        poll()
        reply: Future[Response] = Future()
        # No pool: its threads are waited for when the interpreter ends, a stalled call with them.
        threading.Thread(target=self._fill, args=(reply, request), daemon=True).start()
        while not wait([reply], timeout=POLL_SECONDS).done:
            poll()
        return reply.result()

    async def acomplete(self, request: Request, poll: Poll) -> Response:
        """Answer one request; raises as `complete` does."""
        poll()
        call = asyncio.ensure_future(self._acall(request))
        try:
            while not call.done():
                poll()
                await asyncio.wait([call], timeout=POLL_SECONDS)
        finally:
            call.cancel()
        return call.result()

    def count_tokens(self, text: str) -> int | None:
        """Return None: only the provider counts its tokens."""
        del text
        return None

    def close(self) -> None:
        """Close the connections."""
        self._lm.close()

    def _check_route(self) -> None:
        try:
            route = resolve(self._lm)
        except UnknownModelError as error:
            if not self.supported_params:  # LiteLLM does not know the provider either
                raise ModelError(
                    f"no provider of {self.name!r} is known; {how_to_name()}", model=self.name
                ) from error
            return
        key = route.env_key
        if route.credential_policy == "key" and key and not route.placeholder_key:
            self._check_key(key)

    def _check_key(self, key: str) -> None:
        # Some providers read a second variable; lm15 names only the first.
        known = [key, "GOOGLE_API_KEY"] if key == "GEMINI_API_KEY" else [key]
        if not any(os.environ.get(name) for name in known):
            raise ModelError(
                f"{self.name!r} needs a key: set {' or '.join(known)}, or name another model",
                model=self.name,
            )

    def _fill(self, reply: "Future[Response]", request: Request) -> None:
        with _Landing(reply), _plain_errors(), _unrecorded():
            response = self._lm(request)
            reply.set_result(replace(response, usage=self.counted(response.usage)))

    async def _acall(self, request: Request) -> Response:
        with _plain_errors(), _unrecorded():
            response = await self._lm.acall(request)
        return replace(response, usage=self.counted(response.usage))

    def counted(self, told: Usage) -> Usage:
        """Return usage with cached input tokens counted in, which Anthropic alone leaves out."""
        if not self.name.startswith("anthropic/") or told.input_tokens is None:
            return told
        cached = (told.cache_read_tokens or 0) + (told.cache_write_tokens or 0)
        return replace(told, input_tokens=told.input_tokens + cached, total_tokens=None)


class _Landing:
    """Hands whatever ends a thread to the thread that waits for it."""

    def __init__(self, reply: "Future[Response]") -> None:
        self._reply = reply

    def __enter__(self) -> None:
        return None

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        if error is not None:
            self._reply.set_exception(error)
        return True


@contextmanager
def _plain_errors() -> Iterator[None]:
    """Turn DSPy's public errors back into the lm15 errors that they were made of."""
    try:
        yield
    except LMError as error:
        cause = error.__cause__
        if isinstance(cause, LM15Error):
            raise cause from error
        raise ProviderError(str(error), provider=error.provider) from error


@contextmanager
def _unrecorded() -> Iterator[None]:
    """Keep the inner call out of DSPy's history and counts: the outer one is in them already."""
    with dspy.context(disable_history=True, usage_tracker=None, callbacks=[], send_stream=None):
        yield
