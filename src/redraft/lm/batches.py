"""A batch: requests are noted, handed in together and fetched, also after a crash."""

import json
import logging
import os
import threading
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

from dspy.lm15 import LM15Error, Request, Response, ServerError

from redraft.budget import Meter
from redraft.errors import BudgetError, ConfigError, ModelError, OutageError
from redraft.lm.bounds import Bound
from redraft.lm.engine import Engine, Poll
from redraft.lm.model import Model
from redraft.lm.paid import BatchEngine, PaidEngine
from redraft.lm.pipeline import unknown_price
from redraft.lm.wire import request_digest

T = TypeVar("T")
Watch = Callable[[int, int], None]

_log = logging.getLogger(__name__)

SCHEMA = "redraft.batch/1"
_FIRST_PAUSE = 1.0
_LONGEST_PAUSE = 60.0
# Statuses that say for certain that a batch was not taken.
_NOT_TAKEN = frozenset({429, 503, 529})
_AGAIN = "it goes on at the provider, and the same command goes on with it"


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchNote:
    """What is written down of a batch before it is waited for; no text of a request is in it.

    Attributes:
        batch_id: The provider's id.
        model: The name of the model.
        fingerprint: The engine's.
        submitted: When, in ISO 8601, UTC.
        custom_ids: Ids of the requests: SHA-256 (hex) of each.
    """

    batch_id: str
    model: str
    fingerprint: str
    submitted: str
    custom_ids: tuple[str, ...]


class Batch:
    """Requests that one model answers in a batch, at the prices of batches.

    First `model` is asked: it takes recorded replies, notes every other request and fails it. Then
    `fetch` hands in what was noted, and from there on `model` answers it. `close` forgets it.

    Args:
        model: The model.
        folder: Where batches under way are written down.

    Raises:
        ModelError: The model takes no batches.
    """

    def __init__(self, model: Model, folder: Path) -> None:
        self._engine = batch_engine(model)
        self._source = model
        self._retry = model.retry
        self._folder = folder
        self._answers = _Answers(model.engine, self._engine)
        self._note: BatchNote | None = None
        self.model = model.behind(self._answers)

    def fetch(self, meter: Meter, *, reread: int = 0, watch: Watch | None = None) -> None:
        """Hand in what was noted, or go on with a batch that holds it, and wait for the replies.

        Args:
            meter: Its caps must have room for every request at once.
            reread: Calls that are answered from recorded replies, which count as well.
            watch: Called with requests done and requests in all.

        Raises:
            BudgetError: A cap has no room for the batch; nothing was handed in.
            OutageError: The provider failed or the time is over; the batch may go on.
            ModelError: Key or model were refused, or dollars are capped and the price is unknown.
            ConfigError: A file of a batch cannot be read, or the provider has not got its batch.
        """
        asked = self._answers.noted()
        self._check_caps(asked, meter, reread)
        if not asked:
            return
        self._note = self._find(asked) or self._submit(asked)
        _log.warning(
            "Batch %s of %d requests is under way; should this command end before it does, %s.",
            self._note.batch_id,
            len(self._note.custom_ids),
            _AGAIN,
        )
        self._wait(self._note, meter, watch)
        batch_id = self._note.batch_id
        told = self._patiently(lambda: self._engine.results(batch_id, asked), batch_id)
        self._answers.take({key: told.get(key, _missing(batch_id)) for key in asked})

    def close(self) -> None:
        """Forget the requests of the batch, once their replies are recorded or used."""
        if self._note is None:
            return
        asked, path = self._answers.noted(), self._path(self._note.batch_id)
        left = tuple(key for key in self._note.custom_ids if key not in asked)
        if left:
            _write(path, BatchNote(**{**asdict(self._note), "custom_ids": left}))
        else:
            path.unlink(missing_ok=True)

    def _check_caps(self, asked: Mapping[str, Request], meter: Meter, reread: int) -> None:
        bounds = [self._engine.bound(request) for request in asked.values()]
        _fits("calls", len(asked) + reread, meter.calls_left)
        _fits("tokens", sum(bound.tokens for bound in bounds), meter.tokens_left)
        if meter.cost_usd_left is not None:
            prices = self._answers.prices
            if prices is None:
                raise unknown_price(self._source.name)
            most = sum(
                prices.most(input_tokens=b.input_tokens, output_tokens=b.output_tokens)
                for b in bounds
            )
            _fits("cost_usd", most, meter.cost_usd_left)

    def _find(self, asked: Mapping[str, Request]) -> BatchNote | None:
        """Return a batch that was handed in before and holds all that is asked."""
        for path in sorted(self._folder.glob("*.json")):
            note = _read(path)
            same = note.fingerprint == self._source.fingerprint
            if same and set(asked) <= set(note.custom_ids):
                return note
        return None

    def _submit(self, asked: Mapping[str, Request]) -> BatchNote:
        self._folder.mkdir(parents=True, exist_ok=True)
        note = BatchNote(
            batch_id=self._handed_in(asked),
            model=self._source.name,
            fingerprint=self._source.fingerprint,
            submitted=datetime.now(UTC).isoformat(timespec="seconds"),
            custom_ids=tuple(asked),
        )
        _write(self._path(note.batch_id), note)
        return note

    def _handed_in(self, asked: Mapping[str, Request]) -> str:
        tried = 0
        while True:
            tried += 1
            try:
                return self._engine.submit(asked)
            except LM15Error as error:
                wait = self._retry.wait_seconds(error, tried=tried, digest=next(iter(asked)))
                # What may have been taken is not handed in twice.
                if wait is None or getattr(error, "status", None) not in _NOT_TAKEN:
                    raise OutageError(
                        f"{self._source.name!r} did not take the batch: {error}",
                        model=self._source.name,
                    ) from error
                self._retry.sleep(wait)

    def _wait(self, note: BatchNote, meter: Meter, watch: Watch | None) -> None:
        pause, batch_id = _FIRST_PAUSE, note.batch_id
        while True:
            state = self._patiently(lambda: self._engine.state(batch_id), batch_id)
            if state is None:
                raise ConfigError(
                    f"the provider has no batch {batch_id!r} any more; delete "
                    f"{self._path(batch_id)} to have it asked again"
                )
            if watch is not None:
                watch(state.done, state.total)
            if state.ended:
                return
            left = meter.seconds_left
            if left is not None and left <= 0:
                raise OutageError(
                    f"the time is over before batch {batch_id}; {_AGAIN}", model=note.model
                )
            self._retry.sleep(pause if left is None else min(pause, left))
            pause = min(2 * pause, _LONGEST_PAUSE)

    def _patiently(self, ask: Callable[[], T], batch_id: str) -> T:
        tried = 0
        while True:
            tried += 1
            try:
                return ask()
            except LM15Error as error:
                wait = self._retry.wait_seconds(error, tried=tried, digest=batch_id)
                if wait is None:
                    raise OutageError(
                        f"batch {batch_id} cannot be asked for: {error}; {_AGAIN}",
                        model=self._source.name,
                    ) from error
                self._retry.sleep(wait)

    def _path(self, batch_id: str) -> Path:
        return self._folder / f"{Path(batch_id).name}.json"


def batch_engine(model: Model) -> BatchEngine:
    """Return the engine of a model that takes batches.

    Raises:
        ModelError: It takes none.
    """
    engine = model.engine
    if not isinstance(engine, BatchEngine) or not engine.takes_batches:
        raise ModelError(
            f"{model.name!r} takes no batches, which the Claude API alone offers; name "
            "anthropic/MODEL, or leave --batch out",
            model=model.name,
        )
    return engine


class _Answers(PaidEngine):
    """Answers what came of a batch, at its prices; notes what was not asked yet.

    Args:
        engine: The model itself.
        provider: The same, as what takes batches.
    """

    cost_usd: float | None = None

    def __init__(self, engine: Engine, provider: BatchEngine) -> None:
        self._engine = engine
        self._provider = provider
        self._lock = threading.Lock()
        self._noted: dict[str, Request] = {}
        self._told: dict[str, Response | LM15Error] = {}
        self.prices = None if provider.prices is None else provider.prices.in_batch()
        self.name = engine.name
        self.fingerprint = engine.fingerprint
        self.supports_response_schema = engine.supports_response_schema
        self.supported_params = engine.supported_params
        self.context_tokens = engine.context_tokens
        self.parallel = engine.parallel

    def noted(self) -> dict[str, Request]:
        """Return the requests that are not recorded, by their digests."""
        with self._lock:
            return dict(self._noted)

    def take(self, told: Mapping[str, Response | LM15Error]) -> None:
        """Take what came of the requests."""
        self._told = dict(told)

    def complete(self, request: Request, poll: Poll) -> Response:
        """Return the reply, or raise why there is none."""
        poll()
        key = request_digest(request)
        with self._lock:
            self._noted[key] = request
        told = self._told.get(key)
        if isinstance(told, Response):
            return told
        raise told or ServerError("not asked yet", status=503)

    async def acomplete(self, request: Request, poll: Poll) -> Response:
        """Return the reply, or raise why there is none."""
        return self.complete(request, poll)

    def count_tokens(self, text: str) -> int | None:
        """Return what the model itself counts."""
        return self._engine.count_tokens(text)

    def bound(self, request: Request) -> Bound:
        """Return the most tokens that a request and its reply can have."""
        return self._provider.bound(request)

    def longer(self, request: Request, response: Response) -> Request | None:
        """Return None: a batch is one wave, and nothing in it is asked twice."""
        del request, response
        return None

    def count_request(self, request: Request) -> int | None:
        """Return the tokens of a prompt, counted by the provider."""
        return self._provider.count_request(request)

    def verify(self) -> None:
        """Ask the provider whether key and model are accepted."""
        self._provider.verify()

    def close(self) -> None:
        """Leave the model itself open: it belongs to whoever made it."""


def _missing(batch_id: str) -> LM15Error:
    return ServerError(f"batch {batch_id} has no result for the request", status=500)


def _fits(what: str, needed: float, left: float | None) -> None:
    if left is not None and needed > left:
        raise BudgetError(
            f"max_{what} is {left:g}, and the batch may take {needed:g}, all at once; give more, "
            "or fewer rows",
            cap=left,
            needed=needed,
        )


def _read(path: Path) -> BatchNote:
    try:
        values = json.loads(path.read_text("utf-8"))
        if values.pop("schema") != SCHEMA:
            raise ValueError("another schema")
        note = BatchNote(**values)
        return BatchNote(**{**asdict(note), "custom_ids": tuple(note.custom_ids)})
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise ConfigError(
            f"{path} is no file of a batch ({error}); delete it if the batch may be asked again"
        ) from error


def _write(path: Path, note: BatchNote) -> None:
    """Write a file whole or not at all, and on disk before anything is waited for."""
    new = path.with_suffix(".new")
    with new.open("w", encoding="utf-8") as file:
        json.dump({"schema": SCHEMA, **asdict(note)}, file, indent=2)
        file.write("\n")
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)
