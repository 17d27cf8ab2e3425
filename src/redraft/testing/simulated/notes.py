"""The task of every simulated world: a note that uses given words. Texts, and how they are read."""

import hashlib
import random
import re
from collections.abc import Sequence
from dataclasses import dataclass

FIELD = "note"
PARTS = 4
KINDS = ("plain", "formal", "brief")
INSTRUCTIONS = "Write the note that the request asks for."
OPENING = "Note: "

_VOCABULARY = (
    "amber anchor barley basin candle canvas cedar copper dahlia ember falcon fennel garnet "
    "gravel harbor hazel indigo ivory juniper kettle lantern linen marble meadow nickel nutmeg "
    "orchid pebble quartz raven saddle timber"
)
_WORDS = tuple(_VOCABULARY.split())
_OTHER_OPENING = "Well, I would say "
_TASK = re.compile(r"Write the (\w+) note (\w+)-(\d+)\. Words: (\w+(?:, \w+)*)")
_WORD = re.compile(r"[a-z]+")


@dataclass(frozen=True, slots=True)
class Task:
    """What a request asks for.

    Attributes:
        text: The request as the drafter reads it.
        kind: One of `KINDS`.
        group: Tasks of one group are alike.
        words: The words that the note must use; `PARTS` of them.
    """

    text: str
    kind: str
    group: str
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Content:
    """What is in a draft.

    Attributes:
        formed: Whether it has the form of a note.
        words: The task's words that it uses, in the task's order.
    """

    formed: bool
    words: tuple[str, ...]

    @property
    def whole(self) -> bool:
        """Whether nothing is missing."""
        return self.formed and len(self.words) == PARTS


def make_task(draw: random.Random, group: str, number: int) -> Task:
    """Return a task of a group, with words drawn at random."""
    kind = KINDS[int(share("kind", group) * len(KINDS))]
    words = draw.sample(_WORDS, PARTS)
    text = f"Write the {kind} note {group}-{number}. Words: {', '.join(words)}"
    return Task(text, kind, group, tuple(words))


def find_task(text: str) -> Task | None:
    """Return the first task in a text, wherever it stands; None where there is none."""
    found = _TASK.search(text)
    if found is None or found[1] not in KINDS:
        return None
    return Task(found[0], found[1], found[2], tuple(found[4].split(", ")))


def read_draft(task: Task, draft: str) -> Content:
    """Return what is in a draft, whoever wrote it."""
    used = set(_WORD.findall(draft))
    words = tuple(word for word in task.words if word in used)
    return Content(draft.startswith(OPENING), words)


def write_draft(content: Content, *, mark: str) -> str:
    """Return a draft; the mark at its end tells apart what is otherwise worded alike."""
    opening = OPENING if content.formed else _OTHER_OPENING
    return f"{opening}{', '.join(content.words) or 'nothing'}. [{mark}]"


def gap_of(task: Task, content: Content) -> str:
    """Return what a checker says of a draft that it turns down."""
    missing = [word for word in task.words if word not in content.words]
    said = [] if content.formed else [f"The text does not start with {OPENING.strip()!r}."]
    said += [f"These words are missing: {', '.join(missing)}."] if missing else []
    return " ".join(said) or "It could be worded better."


def share(*parts: object) -> float:
    """Return a number in [0, 1) that depends on nothing but the parts."""
    text = "/".join(map(str, parts))
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=6).digest()) / 2**48


def pick(weights: Sequence[float], place: float) -> int:
    """Return which of the weights, laid end to end, covers a place in [0, 1)."""
    reached = 0.0
    for number, weight in enumerate(weights):
        reached += weight
        if place < reached:
            return number
    return len(weights) - 1
