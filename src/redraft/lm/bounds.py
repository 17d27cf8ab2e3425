"""How many tokens a request and its reply can have at most."""

from dataclasses import dataclass

from dspy.lm15 import Request

from redraft.lm.engine import Engine
from redraft.lm.wire import canonical_json, message_text, system_text

# What a chat template adds: a few marks around every turn, and for some models a system text of
# its own where a request has none.
_TURN_TOKENS = 16
_PROMPT_TOKENS = 96
# The longest reply of any model we know, for a request that names no limit.
_LONGEST_REPLY = 128_000
# Of English, and about right for most languages that are written with an alphabet.
_BYTES_PER_TOKEN = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """The most tokens that one call can take.

    Attributes:
        input_tokens: Of the prompt.
        output_tokens: Of the reply.
    """

    input_tokens: int
    output_tokens: int

    @property
    def tokens(self) -> int:
        """Of both."""
        return self.input_tokens + self.output_tokens


@dataclass(frozen=True, slots=True)
class TokenCount:
    """Tokens of a prompt.

    Attributes:
        tokens: How many.
        is_exact: Whether the provider counted the whole prompt; else a token is taken to have four
            bytes, or the model counted the texts alone.
    """

    tokens: int
    is_exact: bool


def estimated_tokens(engine: Engine, request: Request) -> TokenCount:
    """Return the likely tokens of a prompt without asking a provider."""
    texts = _texts(request)
    counted = [engine.count_tokens(text) for text in texts]
    around = _TURN_TOKENS * len(request.messages) // 2
    known = [count for count in counted if count is not None]
    if len(known) == len(texts):
        return TokenCount(around + sum(known), is_exact=False)
    return TokenCount(around + sum(map(_bytes, texts)) // _BYTES_PER_TOKEN, is_exact=False)


def likely_tokens(engine: Engine, text: str) -> int:
    """Return the likely tokens of a text without asking a provider."""
    counted = engine.count_tokens(text)
    return -(-_bytes(text) // _BYTES_PER_TOKEN) if counted is None else counted


def text_bound(engine: Engine, request: Request) -> Bound:
    """Return the bound of a request of texts: counted by the model where it can, else bytes.

    A token stands for at least one byte of text, whatever the model.
    """
    around = _PROMPT_TOKENS + _TURN_TOKENS * len(request.messages)
    return Bound(
        input_tokens=around + sum(_tokens(engine, text) for text in _texts(request)),
        output_tokens=request.config.max_tokens or engine.context_tokens or _LONGEST_REPLY,
    )


def _texts(request: Request) -> list[str]:
    texts = [message_text(message) for message in request.messages]
    texts.append(system_text(request))
    schema = request.config.response_format
    return texts if schema is None else [*texts, canonical_json(schema)]


def _bytes(text: str) -> int:
    return len(text.encode(errors="replace"))


def _tokens(engine: Engine, text: str) -> int:
    counted = engine.count_tokens(text)
    return _bytes(text) if counted is None else counted
