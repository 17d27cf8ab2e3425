"""Models that run in this process on llama.cpp; nothing is loaded before the first call."""

import os
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

from dspy.lm15 import Request, Response

import redraft.lm as room
from redraft.errors import MissingExtraError, ModelError
from redraft.lm.engine import POLL_SECONDS, Abandoned, Poll, complete_in_thread
from redraft.lm.generation import body_of, prompt_room, response_of
from redraft.lm.pull import file_sha256
from redraft.lm.schema import wanted_schema
from redraft.lm.turns import TurnWriter


class LocalEngine:
    """One model file run by llama.cpp.

    One request is answered at a time, in a thread of its own; others wait for their turn. So a
    caller that gives up is free at once, and llama.cpp stops at the next token.

    Args:
        name: The name of the model, `local/...`.
        locate: Returns the model file, fetching it first if need be; called on first use.
        sha256: SHA-256 (hex) of the file where it is known; else it is read when needed.
        context_tokens: Tokens of the context where they are known; else the file is loaded to
            find out.
    """

    cost_usd: float | None = 0.0
    parallel = 1
    supports_response_schema = True
    supported_params = frozenset(
        {
            "max_tokens",
            "temperature",
            "top_p",
            "top_k",
            "seed",
            "stop",
            "logprobs",
            "response_format",
        }
    )

    def __init__(
        self,
        name: str,
        locate: Callable[[], Path],
        *,
        sha256: str | None = None,
        context_tokens: int | None = None,
    ) -> None:
        self.name = name
        self._locate = locate
        self._sha256 = sha256
        self._context_tokens = context_tokens
        self._loading = threading.Lock()
        self._loaded: _Loaded | None = None
        self._worker: ThreadPoolExecutor | None = None

    @property
    def fingerprint(self) -> str:
        """SHA-256 (hex) of the model file."""
        with self._loading:
            if self._sha256 is None:
                self._sha256 = file_sha256(self._locate())
            return self._sha256

    @property
    def context_tokens(self) -> int | None:
        """Tokens that prompt and reply may have together."""
        if self._context_tokens is None:
            self._context_tokens = self._load().server.context_tokens
        return self._context_tokens

    def complete(self, request: Request, poll: Poll) -> Response:
        """Answer one request.

        Raises:
            ContextLengthError: The prompt fills the context.
            InvalidRequestError: The `response_format` is no schema that the model can keep to.
            UnsupportedFeatureError: The request holds something other than text.
            ModelError: The model file cannot be had or loaded, or its chat template refuses.
            MissingExtraError: The package that runs local models is not installed.
        """
        poll()
        cancelled = threading.Event()
        job = self._thread().submit(self._answer, request, cancelled)
        try:
            while not wait([job], timeout=POLL_SECONDS).done:
                poll()
            return job.result()
        finally:
            cancelled.set()

    async def acomplete(self, request: Request, poll: Poll) -> Response:
        """Answer as `complete` does, without blocking the event loop."""
        return await complete_in_thread(self.complete, request, poll)

    def count_tokens(self, text: str) -> int | None:
        """Return how many tokens `text` has as data, whatever special tokens it spells out."""
        return len(self._load().writer.text_tokens(text))

    def close(self) -> None:
        """Unload the model; the next call loads it again."""
        with self._loading:
            worker, self._worker = self._worker, None
            self._loaded = None
        if worker is not None:
            worker.shutdown(wait=True, cancel_futures=True)

    def _answer(self, request: Request, cancelled: threading.Event) -> Response:
        if cancelled.is_set():
            raise Abandoned
        schema = wanted_schema(request)
        loaded = self._load()
        prompt = self._prompt(loaded, request)
        most = prompt_room(prompt, loaded.server.context_tokens, request.config.max_tokens)
        chunks: list[Mapping[str, Any]] = []

        def collect(chunk: Mapping[str, Any]) -> bool:
            chunks.append(chunk)
            return cancelled.is_set()

        loaded.server.generate(body_of(request, prompt, schema, max_tokens=most), collect)
        if cancelled.is_set():
            raise Abandoned
        return response_of(chunks, schema, self.name)

    def _prompt(self, loaded: "_Loaded", request: Request) -> list[int]:
        try:
            return loaded.writer.tokens(request)
        except ValueError as error:
            raise ModelError(
                f"{self.name!r} cannot take these turns: {error}", model=self.name
            ) from error

    def _thread(self) -> ThreadPoolExecutor:
        with self._loading:
            if self._worker is None:
                self._worker = ThreadPoolExecutor(1, thread_name_prefix="redraft-local")
            return self._worker

    def _load(self) -> "_Loaded":
        with self._loading:
            if self._loaded is None:
                self._loaded = _Loaded(self.name, self._locate())
            return self._loaded


class _Loaded:
    """A loaded model and what writes its prompts."""

    def __init__(self, name: str, path: Path) -> None:
        # Read by OpenMP when xllamacpp loads it: threads that wait for each other sleep instead of
        # spinning, which on two busy cores was three times as fast and on idle ones hardly slower.
        os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
        try:
            server_class = room.LlamaServer
        except ImportError as error:
            raise MissingExtraError(f"the model {name!r}", "local") from error
        try:
            self.server = server_class(path)
        except (RuntimeError, ValueError, OSError) as error:
            raise ModelError(
                f"llama.cpp cannot load {path} for {name!r}: {error}; "
                "it must be a GGUF file of a chat model",
                model=name,
            ) from error
        self.writer = TurnWriter(self.server)
