"""A model that says what a script tells it to: for tests, demonstrations and dry runs."""

import hashlib
import inspect
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from dspy.lm15 import (
    ContextLengthError,
    LM15Error,
    Message,
    RateLimitError,
    RefusalPart,
    Request,
    Response,
    ServerError,
    TimeoutError,
    Usage,
)

from redraft.errors import ModelError
from redraft.lm.engine import POLL_SECONDS, Poll, complete_in_thread
from redraft.lm.schema import misfit, wanted_schema
from redraft.lm.script import Reply, Rule, count_words, cut_words
from redraft.lm.wire import message_text, system_text

ReplyFunction = Callable[[Request], str | Reply]
Script = str | Reply | Sequence[str | Reply | Rule] | ReplyFunction


class Scripted:
    """An engine whose replies come from a list, from rules or from a function.

    With a function or with rules the reply depends on nothing but the request, so it is the same
    in any order and under any number of threads. Replies in a list are given out one by one; a
    single reply is given every time.

    Args:
        script: A function `fn(request)`; or one reply; or a list of replies and rules. Of a list
            the first rule that matches answers, else the next reply that was not given yet.
        name: The name of the model, `scripted/...`.
        promises_schema: Whether the model promises to keep to a `response_format`. A scripted
            reply that ends by itself and does not fit is then an error of the script.
        context_tokens: Words that prompt and reply may have together; None for no end.
        parallel: Requests that callers may have in flight at once; 1 or more.
        fingerprint: Stands for the script in keys of recorded replies; by default a digest of
            the replies, or of the function's source.
    """

    cost_usd: float | None = 0.0

    def __init__(
        self,
        script: Script,
        *,
        name: str = "scripted/test",
        promises_schema: bool = False,
        context_tokens: int | None = None,
        parallel: int = 8,
        fingerprint: str | None = None,
    ) -> None:
        self.name = name
        self.supports_response_schema = promises_schema
        self.context_tokens = context_tokens
        self.parallel = parallel
        self.fingerprint = fingerprint or _fingerprint(script)
        self._script = script
        self._lock = threading.Lock()
        self._given = 0
        self._requests: list[Request] = []

    @property
    def supported_params(self) -> frozenset[str]:
        """What a script may look at; `response_format` where a schema is promised."""
        schema = ("response_format",) if self.supports_response_schema else ()
        return frozenset({"max_tokens", "temperature", "seed", *schema})

    @property
    def requests(self) -> tuple[Request, ...]:
        """Every request so far, failed ones included, in the order of arrival."""
        with self._lock:
            return tuple(self._requests)

    def complete(self, request: Request, poll: Poll) -> Response:
        """Answer as the script says.

        Raises:
            LM15Error: The script says so, or the prompt does not fit the context.
            ModelError: The script has no reply left, or breaks the promise of a schema.
        """
        poll()
        schema = wanted_schema(request) if self.supports_response_schema else None
        reply = self._reply(request)
        prompt_tokens = self._prompt_tokens(request)
        _wait(reply.delay_seconds, poll)
        if reply.fail == "stall":
            _wait(float("inf"), poll)
        if reply.fail is not None:
            raise _error(reply, self.name)
        reply = self._counted(self._fitted(reply, request, prompt_tokens), prompt_tokens)
        if schema is not None and reply.finish_reason == "stop":
            self._keep_promise(reply.text, schema)
        return Response(
            id=None,
            model=self.name,
            message=_message(reply),
            finish_reason=reply.finish_reason,
            usage=Usage(input_tokens=reply.input_tokens, output_tokens=reply.output_tokens),
        )

    async def acomplete(self, request: Request, poll: Poll) -> Response:
        """Answer as `complete` does, in a thread."""
        return await complete_in_thread(self.complete, request, poll)

    def count_tokens(self, text: str) -> int | None:
        """Count words and punctuation marks: the tokens of a scripted model."""
        return count_words(text)

    def close(self) -> None:
        """Do nothing: a script holds nothing."""

    def _reply(self, request: Request) -> Reply:
        with self._lock:
            self._requests.append(request)
        found = self._script(request) if callable(self._script) else self._listed(request)
        return (Reply(found) if isinstance(found, str) else found).shaped()

    def _listed(self, request: Request) -> str | Reply:
        if isinstance(self._script, str | Reply):
            return self._script
        assert not callable(self._script)
        for entry in self._script:
            if isinstance(entry, Rule) and entry.matches(request):
                return entry.reply
        replies = [entry for entry in self._script if not isinstance(entry, Rule)]
        with self._lock:
            number = self._given
            self._given += 1
        if number >= len(replies):
            raise ModelError(
                f"the script of {self.name!r} has no reply for request {number + 1} that no rule "
                f"matches; it holds {len(replies)}",
                model=self.name,
            )
        return replies[number]

    def _prompt_tokens(self, request: Request) -> int:
        texts = [system_text(request), *(message_text(m) for m in request.messages)]
        tokens = sum(count_words(text) for text in texts)
        if self.context_tokens is not None and tokens >= self.context_tokens:
            raise ContextLengthError(
                f"the prompt has {tokens} tokens, the context of {self.name!r} "
                f"{self.context_tokens}",
                provider="scripted",
            )
        return tokens

    def _fitted(self, reply: Reply, request: Request, prompt_tokens: int) -> Reply:
        """Return the reply cut to the room there is."""
        if reply.finish_reason == "content_filter":
            return reply
        room = [request.config.max_tokens]
        if self.context_tokens is not None:
            room.append(self.context_tokens - prompt_tokens)
        text, whole = reply.text, True
        if known := [tokens for tokens in room if tokens is not None]:
            text, whole = cut_words(text, min(known))
        return reply if whole else replace(reply, text=text, finish_reason="length")

    def _counted(self, reply: Reply, prompt_tokens: int) -> Reply:
        written = count_words(reply.text)
        return replace(
            reply,
            input_tokens=prompt_tokens if reply.input_tokens is None else reply.input_tokens,
            output_tokens=written if reply.output_tokens is None else reply.output_tokens,
        )

    def _keep_promise(self, text: str, schema: Mapping[str, Any]) -> None:
        if (reason := misfit(text, schema)) is not None:
            raise ModelError(
                f"the script of {self.name!r} promises a schema and breaks it: {reason}",
                model=self.name,
            )


def _wait(seconds: float, poll: Poll) -> None:
    ends = time.monotonic() + seconds
    while (left := ends - time.monotonic()) > 0:
        poll()
        time.sleep(min(left, POLL_SECONDS))


def _error(reply: Reply, model: str) -> LM15Error:
    if reply.fail == "rate_limit":
        return RateLimitError(
            f"{model} was asked too often", status=429, retry_after=reply.retry_after
        )
    if reply.fail == "timeout":
        return TimeoutError(f"{model} did not answer in time", status=408)
    return ServerError(f"{model} is out of service", status=503)


def _message(reply: Reply) -> Message:
    if reply.finish_reason == "content_filter" and reply.text:
        return Message.assistant(RefusalPart(reply.text))
    return Message.assistant(reply.text)


def _fingerprint(script: Script) -> str:
    if callable(script):
        text = _source(script)
    elif isinstance(script, str | Reply):
        text = repr(script)
    else:
        text = repr(tuple(script))
    return hashlib.sha256(text.encode()).hexdigest()


def _source(function: ReplyFunction) -> str:
    try:
        return inspect.getsource(function)
    except (OSError, TypeError):
        return repr(type(function)) + getattr(function, "__qualname__", "")
