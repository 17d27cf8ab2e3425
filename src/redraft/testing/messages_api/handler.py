"""One connection to the stand-in: reads requests, checks them, answers, streams or fails."""

import json
import select
import socket
import time
from collections.abc import Iterable, Mapping
from http.server import BaseHTTPRequestHandler
from typing import TYPE_CHECKING, Any, ClassVar

from redraft.testing.messages_api.faults import Fault
from redraft.testing.messages_api.records import ApiRequest
from redraft.testing.messages_api.refusals import Refusal, RefusedError
from redraft.testing.messages_api.replies import events_of, message_of, reply_of
from redraft.testing.messages_api.validation import (
    check_headers,
    check_message,
    check_prompt,
    prompt_tokens,
)

if TYPE_CHECKING:
    from redraft.testing.messages_api.server import MessagesApi

_MESSAGES = "/v1/messages"
_COUNT = "/v1/messages/count_tokens"
_BATCHES = "/v1/messages/batches"
_MODELS = "/v1/models/"
_MOST_BYTES = 32 * 1024 * 1024
_STEP_SECONDS = 0.02
_STALL_SECONDS = 30.0


class Handler(BaseHTTPRequestHandler):
    """Answers the requests of one connection."""

    api: ClassVar["MessagesApi"]
    protocol_version = "HTTP/1.1"
    # Headers and body leave in one packet, and streamed pieces at once.
    disable_nagle_algorithm = True
    wbufsize = -1

    def do_GET(self) -> None:
        """Answer about a model or a batch."""
        self._serve(None)

    def do_POST(self) -> None:
        """Answer a request for a message, a count or a batch."""
        self._serve(self.rfile.read(int(self.headers.get("Content-Length", 0))))

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing on stderr."""

    def _serve(self, raw: bytes | None) -> None:
        path = self.path.partition("?")[0]
        headers = {name.lower(): value for name, value in self.headers.items()}
        taken = ApiRequest(path, headers, _parsed(raw))
        number = self.api.took(taken, self.client_address)
        self._request_id = f"req_{number:06}"
        try:
            check_headers(headers, self.api.key)
            if raw is not None and len(raw) > _MOST_BYTES:
                raise RefusedError("Request exceeds the maximum size", 413)
            self._route(path, taken, number)
        except RefusedError as error:
            self._refuse(error.refusal)
        except (BrokenPipeError, ConnectionResetError):
            taken.given_up = True
            self.close_connection = True

    def _route(self, path: str, taken: ApiRequest, number: int) -> None:
        if path == _MESSAGES and taken.body is not None:
            self._message(taken, number)
        elif path == _COUNT and taken.body is not None:
            check_prompt(taken.body)
            self._send({"input_tokens": prompt_tokens(taken.body)})
        elif path.startswith(_MODELS):
            self._model(path.removeprefix(_MODELS))
        elif path.startswith(_BATCHES):
            self._batch(path.removeprefix(_BATCHES).strip("/"), taken.body)
        else:
            raise RefusedError("Not found", 404)

    def _message(self, taken: ApiRequest, number: int) -> None:
        fault = self.api.next_fault()
        if fault is not None and fault.kind == "status":
            self._refuse(fault.refusal())
            return
        if fault is not None and fault.kind == "stall":
            self._wait(_STALL_SECONDS)
            self.close_connection = True
            return
        body = taken.body
        model = check_message(body)
        reply = reply_of(self.api.script, body)
        self._wait(reply.delay_seconds)
        usage = self.api.cache.usage(body, model)
        message = message_of(reply, body, number=number, usage=usage)
        if body.get("stream"):
            self._stream(events_of(message), fault)
        elif fault is not None:
            self._spoil(message, fault)
        else:
            self._send(message)

    def _model(self, name: str) -> None:
        check_prompt({"model": name, "messages": [{"role": "user", "content": "?"}]})
        self._send(
            {
                "id": name,
                "type": "model",
                "display_name": name,
                "created_at": "2026-01-01T00:00:00Z",
                "lifecycle": "active",
            }
        )

    def _batch(self, rest: str, body: Any) -> None:
        found = self.api.batches.answer(rest, body)
        if isinstance(found, bytes):
            self._send_bytes(found, "application/x-jsonl")
        else:
            self._send(found)

    def _send(self, value: Mapping[str, Any]) -> None:
        self._send_bytes(json.dumps(value).encode(), "application/json")

    def _send_bytes(
        self,
        sent: bytes,
        kind: str,
        *,
        status: int = 200,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self._begin(status, kind, {**(headers or {}), "Content-Length": str(len(sent))})
        self.wfile.write(sent)
        self.wfile.flush()

    def _begin(self, status: int, kind: str, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("request-id", self._request_id)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()

    def _refuse(self, refusal: Refusal) -> None:
        sent = json.dumps(refusal.body(self._request_id)).encode()
        self._send_bytes(sent, "application/json", status=refusal.status, headers=refusal.headers)

    def _stream(self, events: Iterable[bytes], fault: Fault | None) -> None:
        self._begin(200, "text/event-stream", {"Transfer-Encoding": "chunked"})
        for number, event in enumerate(events):
            if fault is not None and number == 3:
                if fault.kind == "malformed":
                    self._chunk(b"event: content_block_delta\ndata: {not json\n\n")
                self.close_connection = True
                self.connection.shutdown(socket.SHUT_RDWR)
                return
            self._chunk(event)
        self._chunk(b"")

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        self.wfile.flush()

    def _spoil(self, message: Mapping[str, Any], fault: Fault) -> None:
        sent = json.dumps(message).encode()
        if fault.kind == "malformed":
            self._send_bytes(b"{not json", "application/json")
            return
        self._begin(200, "application/json", {"Content-Length": str(len(sent))})
        self.wfile.write(sent[: len(sent) // 2])
        self.wfile.flush()
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)

    def _wait(self, seconds: float) -> None:
        """Wait; notice a caller that closes the connection meanwhile.

        Raises:
            ConnectionResetError: It did.
        """
        ends = time.monotonic() + seconds
        while (left := ends - time.monotonic()) > 0:
            readable, _, _ = select.select([self.connection], [], [], min(left, _STEP_SECONDS))
            if readable and not self.connection.recv(1, socket.MSG_PEEK):
                raise ConnectionResetError
            if readable:
                time.sleep(min(left, _STEP_SECONDS))


def _parsed(raw: bytes | None) -> Any:
    if raw is None:
        return None
    try:
        return json.loads(raw)
    except ValueError:
        return "not JSON"
