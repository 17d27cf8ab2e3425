"""The Message Batches API: many requests handed in at once, at half the price, answered later."""

from collections.abc import Mapping
from typing import Any

import anthropic
from dspy.lm15 import LM15Error, Response, ServerError

from redraft.lm.anthropic_clients import Client
from redraft.lm.anthropic_errors import Asked
from redraft.lm.anthropic_reply import response_of
from redraft.lm.anthropic_request import Rendered
from redraft.lm.paid import BatchState

# A failure of one request in a batch is told in the results, and is not paid for.
_NOT_PAID = 500


async def submitted(client: Client, sent: Mapping[str, Rendered]) -> str:
    """Hand in requests and return the id of their batch."""
    requests = [
        {"custom_id": key, "params": {**one.body, **one.sampling}} for key, one in sent.items()
    ]
    batch = await _batches(client).create(requests=requests)
    return str(batch.id)


async def state_of(client: Client, batch_id: str) -> BatchState | None:
    """Return how far a batch is; None for one that the API does not have any more."""
    try:
        batch = await _batches(client).retrieve(batch_id)
    except anthropic.NotFoundError:
        return None
    counts = batch.request_counts
    done = counts.succeeded + counts.errored + counts.canceled + counts.expired
    return BatchState(batch.processing_status == "ended", done, done + counts.processing)


async def results_of(client: Client, batch_id: str) -> dict[str, Mapping[str, Any]]:
    """Return the results of a batch that ended, by the ids of its requests."""
    found: dict[str, Mapping[str, Any]] = {}
    async for one in await _batches(client).results(batch_id):
        found[one.custom_id] = one.result.to_dict()
    return found


def outcome_of(result: Mapping[str, Any], asked: Asked, sent: Rendered) -> Response | LM15Error:
    """Return the reply in a result, or why there is none.

    Args:
        result: One result of a batch.
        asked: What must not show of the request.
        sent: The request.
    """
    kind = str(result.get("type"))
    if kind == "succeeded":
        try:
            return response_of(result["message"], asked.name, adaptations=sent.adaptations)
        except (LM15Error, KeyError):
            return ServerError("the reply in the batch has not the form of the Messages API")
    error = (result.get("error") or {}).get("error") or {}
    told = asked.shown(str(error.get("message") or ""))
    reason = ": ".join(part for part in (str(error.get("type") or ""), told) if part)
    message = f"{asked.name!r} did not answer in the batch: {kind}" + (f", {reason}" * bool(reason))
    failure = ServerError(message, provider="anthropic", status=_NOT_PAID)
    # DSPy's class appends advice about calls that are not ours.
    failure.message = message
    failure.args = (message,)
    return failure


def _batches(client: Client) -> Any:
    """Return the endpoint without its types: what is sent was put together key by key."""
    return client.messages.batches
