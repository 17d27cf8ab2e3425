"""llama.cpp inside this process; the only file that imports xllamacpp."""

import http.client
import json
import os
import secrets
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import xllamacpp

# What a request may need together with its reply; longer contexts take memory from the start.
CONTEXT_TOKENS = 8192
# Prompts are read in pieces of this size; a cancel waits for the piece in hand.
_BATCH_TOKENS = 128
_PREFIX_CACHE_MIB = 1024

OnChunk = Callable[[Mapping[str, Any]], bool]


class LlamaServer:
    """One loaded model; its methods are safe under threads.

    Attributes:
        address: Host and port of its HTTP server, on this machine only.
        key: What that server wants to be shown.
        context_tokens: Tokens that prompt and reply may have together.

    Args:
        path: The model file.

    Raises:
        RuntimeError, ValueError: llama.cpp cannot load the file.
    """

    def __init__(self, path: Path) -> None:
        self.key = secrets.token_hex(16)
        self._server = xllamacpp.Server(_params(path, self.key))
        self.address = urlsplit(self._server.listening_address).netloc
        about = self._ask("GET", "/v1/models")["data"][0]["meta"]
        self.context_tokens = min(CONTEXT_TOKENS, int(about["n_ctx_train"]))

    def render(self, turns: Sequence[Mapping[str, str]]) -> str:
        """Return turns (`role`, `content`) as the model's chat template writes them.

        Raises:
            ValueError: The template refuses these turns.
        """
        rendered = self._ask("POST", "/apply-template", {"messages": list(turns)})
        return str(rendered["prompt"])

    def tokenize(self, text: str, *, special: bool, first: bool = False) -> tuple[int, ...]:
        """Return the tokens of a text.

        Args:
            text: The text.
            special: Whether names of special tokens in the text become those tokens.
            first: Whether the text opens the prompt, and so takes the model's opening token.
        """
        body = {"content": text, "parse_special": special, "add_special": first}
        return tuple(self._ask("POST", "/tokenize", body)["tokens"])

    def generate(self, body: Mapping[str, Any], on_chunk: OnChunk) -> None:
        """Generate a reply chunk by chunk; stop as soon as `on_chunk` returns True.

        `on_chunk` must not raise. A refused request arrives as a chunk with `error`.
        """
        self._server.handle_completions({**body, "stream": True}, on_chunk)

    def _ask(self, method: str, path: str, body: object = None) -> Any:
        # The loopback server is asked directly: a proxy that the environment names is not for it.
        connection = http.client.HTTPConnection(self.address, timeout=60)
        try:
            headers = {
                "Authorization": f"Bearer {self.key}",
                "Content-Type": "application/json",
            }
            sent = None if body is None else json.dumps(body).encode()
            connection.request(method, path, sent, headers)
            response = connection.getresponse()
            told = json.loads(response.read())
        finally:
            connection.close()
        if response.status != http.client.OK:
            raise ValueError(told["error"]["message"])
        return told


def _params(path: Path, key: str) -> Any:
    params = xllamacpp.CommonParams()
    params.model.path = str(path)
    params.n_ctx = CONTEXT_TOKENS
    params.n_batch = params.n_ubatch = _BATCH_TOKENS
    # One slot: with more, what is decoded together changes the replies, and two cores are not
    # faster for it.
    params.n_parallel = 1
    params.cache_ram_mib = _PREFIX_CACHE_MIB
    params.verbosity = -1
    params.api_keys = [key]
    params.ui = False
    params.endpoint_slots = False
    # Measured on two cores, waiting threads asleep (see `local.py` for those of OpenMP): while
    # tokens come one by one, half of the cores are faster than all; a prompt gains from every one.
    params.cpuparams.n_threads = max(1, _cores() // 2)
    params.cpuparams_batch.n_threads = _cores()
    params.cpuparams.poll = params.cpuparams_batch.poll = 0
    return params


def _cores() -> int:
    """Return the cores that this process may use, where the system tells; else all there are."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
