"""The HTTP server of the stand-in, on the loopback address."""

import threading
from collections import deque
from http.server import ThreadingHTTPServer
from types import TracebackType

from redraft.testing.messages_api.batches import Batches
from redraft.testing.messages_api.faults import Fault
from redraft.testing.messages_api.handler import Handler
from redraft.testing.messages_api.prefixes import PrefixCache
from redraft.testing.messages_api.records import ApiRequest
from redraft.testing.messages_api.replies import Script

KEY = "sk-ant-stand-in"


class MessagesApi:
    """A Messages API that refuses what the real one would; use it as a context.

    It checks every request, counts what its prefix cache would save, streams, keeps batches, and
    fails when it is told to. Four bytes are a token. It listens on this machine only.

    Args:
        script: What it says: a text, a reply, or a function of the request's body.
        key: The key that it accepts.
    """

    def __init__(self, script: Script, *, key: str = KEY) -> None:
        self.script = script
        self.key = key
        self.cache = PrefixCache()
        self.batches = Batches(self)
        self._lock = threading.Lock()
        self._requests: list[ApiRequest] = []
        self._faults: deque[Fault] = deque()
        self._connections: set[tuple[str, int]] = set()
        self._server = _Server(("127.0.0.1", 0), type("BoundHandler", (Handler,), {"api": self}))
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))

    def __enter__(self) -> "MessagesApi":
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self._server.server_port}"

    @property
    def environment(self) -> dict[str, str]:
        """Environment variables that send the SDK here."""
        return {"ANTHROPIC_BASE_URL": self.url, "ANTHROPIC_API_KEY": self.key}

    @property
    def requests(self) -> tuple[ApiRequest, ...]:
        """Every request so far, refused ones included, in the order of arrival."""
        with self._lock:
            return tuple(self._requests)

    @property
    def connections(self) -> int:
        """Connections that were opened to it so far."""
        with self._lock:
            return len(self._connections)

    def fail(self, *faults: Fault) -> None:
        """Make the next requests for a message fail, one fault each."""
        with self._lock:
            self._faults.extend(faults)

    def took(self, request: ApiRequest, address: tuple[str, int]) -> int:
        """Remember a request; return its number, from 1. The server's own handlers call this."""
        with self._lock:
            self._requests.append(request)
            self._connections.add(address)
            return len(self._requests)

    def next_fault(self) -> Fault | None:
        """Return how the request in hand is to fail; the server's own handlers call this."""
        with self._lock:
            return self._faults.popleft() if self._faults else None


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    # Callers may come by the hundred at once.
    request_queue_size = 256

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing of callers that went away."""
