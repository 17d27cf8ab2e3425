"""A provider on this machine: OpenAI's chat protocol, answered by a function."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

from dspy.lm15 import (
    AccessPolicy,
    OpenAIChatCompat,
    ProviderDefinition,
    register_provider,
    unregister_provider,
)

PROVIDER = "loopback"

Body = dict[str, Any]
# Status, headers and body of an answer.
Sent = tuple[int, dict[str, str], Body]


class _Handler(BaseHTTPRequestHandler):
    answer: ClassVar[Callable[[Body], Sent]]

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        status, headers, told = type(self).answer(body)
        sent = json.dumps(told).encode()
        try:
            self.send_response(status)
            for name, value in {**headers, "Content-Type": "application/json"}.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(sent)))
            self.end_headers()
            self.wfile.write(sent)
        except (BrokenPipeError, ConnectionResetError):
            pass  # the caller gave up

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing on stderr."""


@contextmanager
def serving(answer: Callable[[Body], Sent]) -> Iterator[str]:
    """Serve answers on a free port of this machine; yield the name of a model behind them."""
    handler = type("Handler", (_Handler,), {"answer": staticmethod(answer)})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    access = AccessPolicy(provider=PROVIDER, base_url=f"http://127.0.0.1:{server.server_port}/v1")
    compat = OpenAIChatCompat.preset("openai")
    register_provider(ProviderDefinition.chat(access, compat=compat, placeholder_key="none"))
    try:
        yield f"{PROVIDER}/small"
    finally:
        unregister_provider(PROVIDER)
        server.shutdown()
        thread.join()
        server.server_close()


def said(text: str, *, body: Body, reason: str = "stop") -> Sent:
    """Return a reply of the chat protocol, with words counted as tokens."""
    prompt = sum(len(str(message["content"]).split()) for message in body["messages"])
    written = len(text.split())
    message = {"role": "assistant", "content": text}
    return (
        200,
        {},
        {
            "id": "1",
            "object": "chat.completion",
            "created": 0,
            "model": body["model"],
            "choices": [{"index": 0, "message": message, "finish_reason": reason}],
            "usage": {
                "prompt_tokens": prompt,
                "completion_tokens": written,
                "total_tokens": prompt + written,
            },
        },
    )


def chatty(body: Body) -> Sent:
    """Answer with words that depend on the request alone, and keep to its limits."""
    text = str(body["messages"][-1]["content"])
    if "endless" in text:
        time.sleep(3)
    words = f"seed {body.get('seed')} hears {len(text)} letters and answers at length".split()
    most = body.get("max_tokens") or body.get("max_completion_tokens") or len(words)
    cut = len(words) > most
    return said(" ".join(words[:most]), body=body, reason="length" if cut else "stop")
