"""The promises of an engine: each is broken by an engine that does not keep it."""

import time
from collections.abc import Callable

import pytest
from dspy.lm15 import Message, Request, Response, Usage

from redraft.lm.engine import Poll
from redraft.testing import ENGINE_PROMISES, Reply, Scripted
from redraft.testing.contract import HOSTILE

PROMISES = {promise.name: promise for promise in ENGINE_PROMISES}


def echo(request: Request) -> str:
    """Say something that depends on the request."""
    return f"{request.config.seed} said: {request.messages[-1].text} and so on and on"


class Altered(Scripted):
    """A script whose responses are altered on the way out."""

    def __init__(self, alter: Callable[[Request, Response], object], **told: object) -> None:
        super().__init__(echo, **told)
        self._alter = alter

    def complete(self, request: Request, poll: Poll) -> Response:
        response = super().complete(request, poll)
        return self._alter(request, response) or response


class Deaf(Scripted):
    """An engine that never polls."""

    def complete(self, request: Request, poll: Poll) -> Response:
        if "endless" in str(request.messages[-1].text):
            time.sleep(1.5)
        return super().complete(request, lambda: None)

    async def acomplete(self, request: Request, poll: Poll) -> Response:
        return self.complete(request, poll)


class Miscounting(Scripted):
    """An engine that reads special tokens in texts as such."""

    def complete(self, request: Request, poll: Poll) -> Response:
        response = super().complete(request, poll)
        texts = [str(request.system), *(str(message.text) for message in request.messages)]
        forged = sum(HOSTILE in text for text in texts)
        used = (response.usage.input_tokens or 0) - 20 * forged
        return rebuilt(response, usage=Usage(input_tokens=used, output_tokens=1))


class Careless(Scripted):
    """An engine that claims more than it keeps."""

    def complete(self, request: Request, poll: Poll) -> Response:
        return Scripted(self._script).complete(request, poll)


class Moody(Scripted):
    """An engine that says something else each time, and more together."""

    calls = 0

    def complete(self, request: Request, poll: Poll) -> Response:
        self.calls += 1
        response = super().complete(request, poll)
        return rebuilt(response, message=Message.assistant(f"reply {self.calls}"))


def rebuilt(response: Response, **changes: object) -> Response:
    """Return a response with other parts."""
    parts = {
        "id": None,
        "model": response.model,
        "message": response.message,
        "finish_reason": response.finish_reason,
        "usage": response.usage,
    }
    return Response(**(parts | changes))


def rewriting(request: Request, response: Response) -> None:
    """Change the request that was lent."""
    object.__setattr__(request, "system", "Something else.")


def of_usage(**tokens: int) -> Altered:
    """Return an engine that counts wrongly."""
    return Altered(lambda request, response: rebuilt(response, usage=Usage(**tokens)))


def of_reason(reason: str) -> Altered:
    """Return an engine that ends for another reason."""
    return Altered(lambda request, response: rebuilt(response, finish_reason=reason))


BREAKERS = {
    "identity": [Scripted("x", name="nameless"), Scripted("x", parallel=0)],
    "answers": [Scripted(""), Scripted(Reply("x", fail="refuse"))],
    "request": [Altered(rewriting)],
    "usage": [of_usage(), of_usage(input_tokens=5, output_tokens=5)],
    "max_tokens": [of_reason("stop"), of_usage(input_tokens=5, output_tokens=5)],
    "repeats": [Moody("x")],
    "seeds": [Scripted("Always.")],
    "schema": [
        Careless("Prose.", promises_schema=True),
        Careless('{"findings": []}', promises_schema=True),
    ],
    "wrong_schema": [Careless("Prose.", promises_schema=True)],
    "special_tokens": [Miscounting("x")],
    "context": [Careless("Yes.", context_tokens=5)],
    "polls": [Deaf("x")],
    "stops": [Deaf("x")],
    "stops_tasks": [Deaf("x")],
    "tasks": [Moody("x")],
    "threads": [Moody("x")],
}


@pytest.mark.parametrize(
    ("name", "engine"),
    [(name, engine) for name, engines in BREAKERS.items() for engine in engines],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_a_broken_promise_is_told(name: str, engine: Scripted) -> None:
    """Each check finds the engine that it is there for."""
    assert PROMISES[name].broken(engine)
