"""A request as tokens: the chat template's special tokens are real, the user's are text."""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Protocol

from dspy.lm15 import Message, Request, TextPart, UnsupportedFeatureError

from redraft.lm.wire import message_text, system_text

Tokens = tuple[int, ...]

# Stand for the texts while the template is rendered. Letters and digits only, so that no
# template trims, escapes or splits them.
_MARK = "TEXT{:04d}OF7C1E"

_TEMPLATES_KEPT = 64
_TEXTS_KEPT = 2048


class Template(Protocol):
    """What a loaded model must offer; `LlamaServer` does."""

    def render(self, turns: Sequence[Mapping[str, str]]) -> str:
        """Return turns (`role`, `content`) as the chat template writes them, or ValueError."""
        ...

    def tokenize(self, text: str, *, special: bool, first: bool = False) -> Tokens:
        """Return a text's tokens; `special` lets it name special ones, `first` opens the prompt."""
        ...


class TurnWriter:
    """Writes requests as tokens for one loaded model; safe under threads.

    A chat template is rendered with marks in place of the texts. What stands between the marks
    is tokenized with special tokens, each text without. So a text that spells out the end of a
    turn stays a text, byte for byte, and cannot forge a turn.

    Args:
        template: Template and tokens of the loaded model.
    """

    def __init__(self, template: Template) -> None:
        self._template = template
        # Demos repeat from request to request; so do the roles of a program's turns.
        self._frame: Callable[[tuple[str, ...]], tuple[Tokens, ...]] = lru_cache(_TEMPLATES_KEPT)(
            self._make_frame
        )
        self.text_tokens: Callable[[str], Tokens] = lru_cache(_TEXTS_KEPT)(self._tokenize_text)

    def tokens(self, request: Request) -> list[int]:
        """Return the prompt of a request.

        Raises:
            UnsupportedFeatureError: The request holds something other than text.
            ValueError: The chat template refuses these turns, or leaves one out.
        """
        turns = _turns(request)
        frame = self._frame(tuple(role for role, _ in turns))
        prompt = list(frame[0])
        for (_, text), after in zip(turns, frame[1:], strict=True):
            prompt += self.text_tokens(text)
            prompt += after
        return prompt

    def _make_frame(self, roles: tuple[str, ...]) -> tuple[Tokens, ...]:
        marks = [_MARK.format(number) for number in range(len(roles))]
        rendered = self._template.render(
            [{"role": role, "content": mark} for role, mark in zip(roles, marks, strict=True)]
        )
        pieces = _split(rendered, marks)
        return tuple(
            self._template.tokenize(piece, special=True, first=number == 0)
            for number, piece in enumerate(pieces)
        )

    def _tokenize_text(self, text: str) -> Tokens:
        return self._template.tokenize(text, special=False)


def _turns(request: Request) -> list[tuple[str, str]]:
    if request.tools:
        raise UnsupportedFeatureError("local models take no tools", feature="tools")
    system = system_text(request)
    turns = [("system", system)] if system else []
    for message in request.messages:
        _require_text(message)
        role = "system" if message.role == "developer" else message.role
        turns.append((role, message_text(message)))
    return turns


def _require_text(message: Message) -> None:
    other = [part.type for part in message.parts if not isinstance(part, TextPart)]
    if other or message.role == "tool":
        raise UnsupportedFeatureError(
            f"local models take text only, not {(other or ['tool results'])[0]}",
            feature="messages",
        )


def _split(rendered: str, marks: Sequence[str]) -> list[str]:
    """Return what stands before, between and after the marks."""
    pieces = []
    for mark in marks:
        before, found, rendered = rendered.partition(mark)
        if not found or mark in rendered:
            raise ValueError("the chat template leaves out, repeats or reorders turns")
        pieces.append(before)
    return [*pieces, rendered]
