"""Drafts with something marked in them: words that a checker quoted or a revision changed."""

import difflib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.text import Text

from redraft.records import Finding

_QUOTE_STYLES = {"met": "green", "unmet": "red", "cannot_assess": "yellow"}
_SAME_MARKS = ('"“”„«»', "'‘’")


@dataclass(frozen=True, slots=True)
class Span:
    """Where a finding's quote stands in a draft: characters `start` to `end`."""

    start: int
    end: int
    number: int
    status: str


def quote_spans(draft: str, findings: Sequence[Finding]) -> tuple[Span, ...]:
    """Return where the findings' quotes stand, from left to right; findings count from 1.

    White space and quotation marks may differ. A quote that is not there, or stands inside
    another one, has no span.
    """
    found: list[Span] = []
    for number, finding in enumerate(findings, start=1):
        match = re.search(_pattern(finding.quote), draft) if finding.quote.strip() else None
        if match is not None:
            found.append(Span(match.start(), match.end(), number, finding.status))
    found.sort(key=lambda span: (span.start, -span.end))
    return tuple(_apart(found))


def marked_quotes(draft: str, spans: Sequence[Span]) -> Text:
    """Return a draft with each quote in brackets, followed by its finding's number."""
    text, at = Text(), 0
    for span in spans:
        text.append(draft[at : span.start])
        text.append(f"[{draft[span.start : span.end]}]", style=_QUOTE_STYLES[span.status])
        text.append(f"({span.number})", style="bold")
        at = span.end
    text.append(draft[at:])
    return text


def word_diff(before: str, after: str, *, plain: bool) -> Text:
    """Return `after` with what was taken out and put in, word by word.

    Args:
        before: The earlier draft.
        after: The later draft.
        plain: Whether changes are put in [-marks-]{+of their own+}, since no colour is shown.
    """
    old, new = _words(before), _words(after)
    text = Text()
    for word, a, b, c, d in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if word == "equal":
            text.append("".join(new[c:d]))
            continue
        taken, put = "".join(old[a:b]), "".join(new[c:d])
        if taken:
            text.append(f"[-{taken}-]" if plain else taken, style="red strike")
        if put:
            text.append(f"{{+{put}+}}" if plain else put, style="green")
    return text


def _apart(spans: Sequence[Span]) -> Iterator[Span]:
    end = 0
    for span in spans:
        if span.start >= end:
            yield span
            end = span.end


def _words(text: str) -> list[str]:
    return re.findall(r"\s+|\w+|[^\w\s]", text)


def _pattern(quote: str) -> str:
    return r"\s+".join("".join(map(_character, word)) for word in quote.split())


def _character(character: str) -> str:
    marks = next((marks for marks in _SAME_MARKS if character in marks), None)
    return re.escape(character) if marks is None else f"[{marks}]"
