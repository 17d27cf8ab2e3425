"""Claude through the official SDK: the API, a gateway, Bedrock or Vertex behind one engine."""

import asyncio
import hashlib
import logging
import threading
import weakref
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import wait
from typing import Any, TypeVar

import anthropic
import httpx2
from anthropic import AsyncAnthropic
from dspy.lm15 import Adaptation, LM15Error, Request, Response

from redraft.errors import ModelError, RedraftError
from redraft.lm.anthropic_batches import outcome_of, results_of, state_of, submitted
from redraft.lm.anthropic_clients import Client, is_elsewhere, key_name, make_client, secrets_of
from redraft.lm.anthropic_errors import Asked, translated
from redraft.lm.anthropic_reply import Assembly, response_of
from redraft.lm.anthropic_request import Rendered, rendered, reply_tokens, with_longer_reply
from redraft.lm.anthropic_settings import AnthropicSettings
from redraft.lm.background import BackgroundLoop
from redraft.lm.bounds import Bound, text_bound
from redraft.lm.capabilities import capabilities_of, overridden
from redraft.lm.engine import POLL_SECONDS, Poll
from redraft.lm.paid import BatchEngine, BatchState
from redraft.lm.prices import Prices
from redraft.lm.wire import canonical_json, message_text, system_text

T = TypeVar("T")

_log = logging.getLogger(__name__)

# Of what the API adds for a schema: a text of its own that states it again.
_SCHEMA_TOKENS = 1_024


class AnthropicEngine(BatchEngine):
    """One Claude model.

    All requests go through one client of the SDK and so share its pool of connections. It lives in
    an event loop of its own: threads and tasks wait for it there, and a caller that gives up
    cancels its request, which closes it. The SDK's own retries are off.

    Args:
        name: `anthropic/MODEL`, `anthropic-bedrock/MODEL` or `anthropic-vertex/MODEL`.
        settings: How it is reached, and what it takes in place of what is known.
        prices: What its tokens cost; None where that is not known.
        keyless: Whether it may lack what it needs to be asked: then it only estimates.

    Raises:
        ModelError: A key, a region or a library is missing.
        ConfigError: The settings say something of the model that cannot be.
    """

    cost_usd: float | None = None
    supported_params = frozenset(
        {"max_tokens", "temperature", "top_p", "top_k", "stop", "response_format", "reasoning"}
    )

    def __init__(
        self,
        name: str,
        *,
        settings: AnthropicSettings | None = None,
        prices: Prices | None = None,
        keyless: bool = False,
    ) -> None:
        self.name = name
        self.prices = prices
        self._settings = settings or AnthropicSettings()
        self._model = name.partition("/")[2]
        where = f'[tool.redraft.anthropic.models."{self._model}"]'
        stated = self._settings.models.get(self._model, {})
        self._known = overridden(capabilities_of(self._model), stated, where)
        self.context_tokens = self._known.context_tokens
        self.supports_response_schema = self._known.schemas
        self.parallel = self._settings.parallel
        self.fingerprint = _fingerprint(name, self._settings.base_url, stated)
        self._work = BackgroundLoop()
        self._client = _client(name, self._settings, keyless=keyless)
        self._key_name = key_name(name, self._settings)
        self._secrets = secrets_of(name, self._settings, self._client)
        self._lock = threading.Lock()
        self._shown: set[str] = set()
        # A program that forgets to close the engine ends as cleanly as one that does.
        self._forgotten = weakref.finalize(self, _close, self._work, self._client)

    def __repr__(self) -> str:
        return f"AnthropicEngine({self.name!r})"

    def complete(self, request: Request, poll: Poll) -> Response:
        """Answer one request.

        Raises:
            LM15Error: The API refused or failed.
            ModelError: Key or model were refused.
        """
        poll()
        reply = self._work.submit(self._answer(request))
        try:
            while not wait([reply], timeout=POLL_SECONDS).done:
                poll()
        finally:
            reply.cancel()
        return _result(reply.result())

    async def acomplete(self, request: Request, poll: Poll) -> Response:
        """Answer one request; cancelling the task closes it. Raises as `complete` does."""
        poll()
        reply = asyncio.wrap_future(self._work.submit(self._answer(request)))
        try:
            while not reply.done():
                poll()
                await asyncio.wait([reply], timeout=POLL_SECONDS)
        finally:
            reply.cancel()
        return _result(reply.result())

    def count_tokens(self, text: str) -> int | None:
        """Return None: only the API counts its tokens, a request at a time."""
        del text
        return None

    def count_request(self, request: Request) -> int | None:
        """Return the tokens of a request's prompt, counted by the API, which is free.

        None where there is no key to ask with.

        Raises:
            LM15Error: The API refused or failed.
            ModelError: Key or model were refused.
        """
        if self._client is None:
            return None
        counted: int = _result(self._work.submit(self._count(request)).result())
        return counted

    def bound(self, request: Request) -> Bound:
        """Return the most tokens that a request and its reply can have."""
        bound = text_bound(self, request)
        schema = 0
        if request.config.response_format is not None:
            schema = _SCHEMA_TOKENS + len(canonical_json(request.config.response_format))
        return Bound(
            input_tokens=bound.input_tokens + schema,
            output_tokens=reply_tokens(request, self._known),
        )

    def longer(self, request: Request, response: Response) -> Request | None:
        """Return the request with more room, where thoughts left too little for the text."""
        about = response.provider_data or {}
        cut = response.finish_reason == "length" and about.get("stop_reason") == "max_tokens"
        if not cut or not self._known.thinks:
            return None
        return with_longer_reply(request, self._known)

    def verify(self) -> None:
        """Ask the API for the model, which is free; a failure that may pass is let pass.

        Raises:
            ModelError: Key or model are refused.
        """
        found = self._work.submit(self._retrieve()).result()
        if isinstance(found, ModelError):
            raise found

    @property
    def takes_batches(self) -> bool:
        """Whether it asks the Claude API, or a gateway to it; the clouds take no such batches."""
        return self.name.partition("/")[0] == "anthropic"

    def submit(self, requests: Mapping[str, Request]) -> str:
        """Hand in requests and return the id of their batch. Raises as `complete` does."""
        sent = {key: rendered(request, self._known) for key, request in requests.items()}
        for one in sent.values():
            self._show(one.adaptations)
        work = self._guarded(list(requests.values()), lambda client: submitted(client, sent))
        batch_id: str = _result(self._work.submit(work).result())
        return batch_id

    def state(self, batch_id: str) -> BatchState | None:
        """Return how far a batch is; None for one that is not there. Raises as `complete` does."""
        work = self._guarded([], lambda client: state_of(client, batch_id))
        state: BatchState | None = _result(self._work.submit(work).result())
        return state

    def results(
        self, batch_id: str, requests: Mapping[str, Request]
    ) -> dict[str, Response | LM15Error]:
        """Return what came of those requests of a batch. Raises as `complete` does."""
        work = self._guarded([], lambda client: results_of(client, batch_id))
        told: dict[str, Mapping[str, Any]] = _result(self._work.submit(work).result())
        return {
            key: outcome_of(
                result, self._asked([requests[key]]), rendered(requests[key], self._known)
            )
            for key, result in told.items()
            if key in requests
        }

    def close(self) -> None:
        """Close the connections and end the engine's thread."""
        self._forgotten()

    async def _answer(self, request: Request) -> Response | LM15Error | RedraftError:
        sent = rendered(request, self._known)
        self._show(sent.adaptations)
        return await self._guarded([request], lambda client: self._create(client, sent))

    async def _create(self, client: Client, sent: Rendered) -> Response:
        extra = {"extra_body": sent.sampling} if sent.sampling else {}
        if sent.stream:
            told, request_id = await _streamed(client, sent.body, extra)
        else:
            message = await _messages(client).create(**sent.body, **extra)
            told = message.to_dict() if hasattr(message, "to_dict") else {}
            request_id = getattr(message, "_request_id", None)
        return response_of(told, self.name, request_id=request_id, adaptations=sent.adaptations)

    async def _count(self, request: Request) -> int | LM15Error | RedraftError:
        body = rendered(request, self._known).body
        taken = {k: v for k, v in body.items() if k not in ("max_tokens", "stop_sequences")}

        async def count(client: Client) -> int:
            counted = await _messages(client).count_tokens(**taken)
            return int(counted.input_tokens)

        return await self._guarded([request], count)

    async def _retrieve(self) -> object:
        async def retrieve(client: Client) -> object:
            if not isinstance(client, AsyncAnthropic):
                return None
            try:
                return await client.models.retrieve(self._model)
            except anthropic.NotFoundError:
                # A gateway need not offer a list of models.
                if is_elsewhere(self._settings):
                    return None
                raise

        return await self._guarded([], retrieve)

    async def _guarded(
        self, requests: Sequence[Request], call: Callable[[Client], Awaitable[T]]
    ) -> T | LM15Error | RedraftError:
        """Make a call; return, not raise, what its failure means, so that nothing hangs on it.

        The SDK's exceptions hold the key and the prompt, and stay behind here.
        """
        if self._client is None:
            return ModelError(f"{self.name!r} has no key, and can only estimate", model=self.name)
        try:
            return await call(self._client)
        except LM15Error as error:
            return error
        except (anthropic.AnthropicError, httpx2.HTTPError, ValueError, OSError) as error:
            return translated(error, self._asked(requests))

    def _asked(self, requests: Sequence[Request]) -> Asked:
        texts = tuple(text for request in requests for text in _texts(request))
        return Asked(self.name, self._key_name, texts, self._secrets)

    def _show(self, adaptations: Sequence[Adaptation]) -> None:
        """Say once what is not sent as it was asked for; every reply has it on record."""
        for note in adaptations:
            with self._lock:
                new = note.field not in self._shown
                self._shown.add(note.field)
            if new and note.action == "dropped":
                _log.warning("%s: %s is not sent: %s", self.name, note.field, note.reason)


def _result(found: T | LM15Error | RedraftError) -> T:
    """Return what a call gave, or raise the failure that it gave."""
    if isinstance(found, LM15Error | RedraftError):
        raise found
    return found


async def _streamed(
    client: Client, body: Mapping[str, Any], extra: Mapping[str, Any]
) -> tuple[Mapping[str, Any], str | None]:
    """Return a message that is fetched piece by piece, and the id of its request."""
    assembly = Assembly()
    stream = await _messages(client).create(**body, **extra, stream=True)
    async with stream:
        async for event in stream:
            assembly.add(event.to_dict())
    return assembly.message(), stream.response.headers.get("request-id")


def _messages(client: Client) -> Any:
    """Return the endpoint without its types: what is sent was put together key by key."""
    return client.messages


def _texts(request: Request) -> tuple[str, ...]:
    return (system_text(request), *(message_text(message) for message in request.messages))


def _fingerprint(name: str, base_url: str | None, stated: Mapping[str, object]) -> str:
    told = canonical_json([name, base_url, stated])
    return hashlib.sha256(told.encode()).hexdigest()


def _client(name: str, settings: AnthropicSettings, *, keyless: bool) -> Client | None:
    try:
        return make_client(name, settings)
    except ModelError:
        if keyless:
            return None
        raise


def _close(work: BackgroundLoop, client: Client | None) -> None:
    work.close(None if client is None else client.close())
