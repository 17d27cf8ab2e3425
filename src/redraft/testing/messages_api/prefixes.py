"""The prefix cache: what of a prompt was sent before, and marked."""

import hashlib
import threading
from collections.abc import Mapping
from typing import Any

from redraft.lm.capabilities import Capabilities
from redraft.testing.messages_api.replies import tokens_of
from redraft.testing.messages_api.validation import blocks_of, prompt_tokens

# How far back from a mark the API looks for a prefix that it knows.
_LOOK_BACK = 20


class PrefixCache:
    """Remembers marked prefixes, as the API does, but for ever; safe under threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: set[str] = set()
        self._reads = 0

    @property
    def reads(self) -> int:
        """Requests so far that read a prefix."""
        with self._lock:
            return self._reads

    def usage(self, body: Mapping[str, Any], model: Capabilities) -> dict[str, int]:
        """Return the input tokens of a request by kind, and remember its marked prefixes."""
        prefixes = _prefixes(body)
        marks = [n for n, block in enumerate(blocks_of(body)) if "cache_control" in block]
        least = model.min_cache_tokens or 0
        marked = [n for n in marks if prefixes[n][1] >= least]
        read = written = 0
        with self._lock:
            if marked:
                last = marked[-1]
                looked = prefixes[max(0, last - _LOOK_BACK) : last + 1]
                read = max((size for key, size in looked if key in self._known), default=0)
                written = prefixes[last][1] - read
                self._known.update(prefixes[n][0] for n in marked)
            self._reads += read > 0
        return {
            "input_tokens": prompt_tokens(body) - read - written,
            "cache_read_input_tokens": read,
            "cache_creation_input_tokens": written,
        }


def _prefixes(body: Mapping[str, Any]) -> list[tuple[str, int]]:
    """Return digest and tokens of the prompt up to each block, that block included."""
    # Another model or another form of reply reads another cache.
    form = body.get("output_config", {}).get("format")
    digest = hashlib.sha256(repr((body["model"], form)).encode())
    found, tokens = [], 0
    for block in blocks_of(body):
        digest.update(repr(block["text"]).encode())
        tokens += tokens_of(block["text"])
        found.append((digest.hexdigest(), tokens))
    return found
