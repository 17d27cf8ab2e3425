"""Batches: many requests handed in at once, answered later."""

import json
import re
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from redraft.testing.messages_api.refusals import RefusedError
from redraft.testing.messages_api.replies import message_of, reply_of
from redraft.testing.messages_api.validation import check_message

if TYPE_CHECKING:
    from redraft.testing.messages_api.server import MessagesApi

_CUSTOM_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_CREATED = "2026-01-01T00:00:00Z"
_EXPIRES = "2026-01-02T00:00:00Z"


class Batches:
    """The batches of one stand-in.

    Attributes:
        polls: How often a batch says that it is in progress before it has ended.
        lost: Outcomes by `custom_id` of requests that are not answered: `errored`, `expired` or
            `canceled`.
    """

    def __init__(self, api: "MessagesApi") -> None:
        self.polls = 1
        self.lost: dict[str, str] = {}
        self._api = api
        self._lock = threading.Lock()
        self._batches: list[list[dict[str, Any]]] = []
        self._asked: dict[str, int] = {}

    def answer(self, rest: str, body: Any) -> dict[str, Any] | bytes:
        """Answer a request; `rest` is its path below `/v1/messages/batches`."""
        if not rest:
            return self._create(body)
        batch_id, _, action = rest.partition("/")
        results = self._results_of(batch_id)
        if action == "results":
            return b"".join(json.dumps(result).encode() + b"\n" for result in results)
        with self._lock:
            self._asked[batch_id] = self._asked.get(batch_id, 0) + 1
            ended = self._asked[batch_id] > self.polls
        return self._about(batch_id, results, ended=ended)

    def _create(self, body: Any) -> dict[str, Any]:
        requests = body.get("requests") if isinstance(body, Mapping) else None
        if not isinstance(requests, list) or not requests or set(body) != {"requests"}:
            raise RefusedError("requests: at least one request is required")
        ids = [request.get("custom_id") for request in requests]
        if not all(isinstance(one, str) and _CUSTOM_ID.fullmatch(one) for one in ids):
            raise RefusedError("requests: custom_id must match ^[a-zA-Z0-9_-]{1,64}$")
        if len(set(ids)) != len(ids):
            raise RefusedError("requests: custom_id must be unique within a batch")
        results = [self._result(str(r["custom_id"]), r.get("params")) for r in requests]
        with self._lock:
            self._batches.append(results)
            batch_id = f"msgbatch_{len(self._batches):03}"
        return self._about(batch_id, results, ended=False)

    def _result(self, custom_id: str, params: Any) -> dict[str, Any]:
        lost = self.lost.get(custom_id)
        error: dict[str, Any]
        if lost == "errored":
            error = {"type": "error", "error": {"type": "api_error", "message": "Lost."}}
            return {"custom_id": custom_id, "result": {"type": "errored", "error": error}}
        if lost is not None:
            return {"custom_id": custom_id, "result": {"type": lost}}
        try:
            model = check_message(params)
        except RefusedError as refused:
            error = refused.refusal.body("req_batch")
            return {"custom_id": custom_id, "result": {"type": "errored", "error": error}}
        reply = reply_of(self._api.script, params)
        usage = self._api.cache.usage(params, model)
        message = message_of(reply, params, number=0, usage={**usage, "service_tier": "batch"})
        return {"custom_id": custom_id, "result": {"type": "succeeded", "message": message}}

    def _results_of(self, batch_id: str) -> list[dict[str, Any]]:
        number = batch_id.removeprefix("msgbatch_")
        with self._lock:
            if not number.isdigit() or not 0 < int(number) <= len(self._batches):
                raise RefusedError(f"batch {batch_id} not found", 404)
            return self._batches[int(number) - 1]

    def _about(
        self, batch_id: str, results: list[dict[str, Any]], *, ended: bool
    ) -> dict[str, Any]:
        kinds = [result["result"]["type"] for result in results] if ended else []
        names = ("succeeded", "errored", "canceled", "expired")
        counts = {name: kinds.count(name) for name in names}
        url = f"{self._api.url}/v1/messages/batches/{batch_id}/results"
        return {
            "id": batch_id,
            "type": "message_batch",
            "processing_status": "ended" if ended else "in_progress",
            "request_counts": {**counts, "processing": 0 if ended else len(results)},
            "created_at": _CREATED,
            "expires_at": _EXPIRES,
            "ended_at": _CREATED if ended else None,
            "archived_at": None,
            "cancel_initiated_at": None,
            "results_url": url if ended else None,
        }
