"""How product texts are judged: the program's own rules, and three things that no check decides."""

import re

from programs.product_blurb import PROGRAM
from redraft import Measure, Row, Rubric
from redraft.checks import words

WEIGHTS = {
    "uses_words": 6.0,
    "max_words": 1.0,
    "exact_sentences": 1.5,
    "avoids_unsaid": 0.5,
    "ends_with_closing": 0.5,
    "names_the_thing": 1.0,
}

PLAIN = frozenset(
    re.findall(
        r"\w+",
        """a an and any are as at be but by can each every for from has have if in into is it its
        just more most no not of off on one or our so that the their them this to too up very we
        when while with you your""",
    )
)
NEW_WORDS = 2
LONGEST_LIST = 3


def adds_something(row: Row, draft: str) -> tuple[float, str]:
    """Measure how many words with a meaning the draft adds to those of the request, up to two."""
    known = _bare(str(row.inputs["request"])) | PLAIN
    new = len(_bare(draft) - known)
    return min(1.0, new / NEW_WORDS), f"It says little of its own: {new} words are new."


def not_recited(row: Row, draft: str) -> tuple[float, str]:
    """Measure whether the given words are woven in: 1 for up to three in a row, 0 for six."""
    given = "|".join(re.escape(word) for word in _given(row))
    listed = re.compile(rf"\b(?:{given})\b(?:(?:,| and|, and)? (?:{given})\b)*", re.IGNORECASE)
    runs = (
        len(re.findall(rf"\b(?:{given})\b", run, re.IGNORECASE)) for run in listed.findall(draft)
    )
    longest = max(runs, default=0)
    value = 1 - (longest - LONGEST_LIST) / 3
    return max(0.0, min(1.0, value)), f"It recites {longest} of the given words in a row."


def no_repetition(_row: Row, draft: str) -> tuple[float, str]:
    """Measure whether any three words in a row come twice."""
    folded = [word.strip(".,;:!?\"'").casefold() for word in words(draft)]
    runs = [tuple(folded[i : i + 3]) for i in range(len(folded) - 2)]
    return float(len(runs) == len(set(runs))), "It repeats three or more words in a row."


def _given(row: Row) -> list[str]:
    given = row.inputs["words"]
    assert isinstance(given, list)
    return [str(word) for word in given]


def _bare(text: str) -> set[str]:
    return set(re.findall(r"[\w'-]+", text.casefold()))


RUBRIC = Rubric(
    [
        *(Measure.of(check, WEIGHTS[check.id]) for check in PROGRAM.checks),
        Measure("adds_something", 1.0, adds_something),
        Measure("not_recited", 1.0, not_recited),
        # Kept from the search, to see whether what it gains is real.
        Measure("no_repetition", 0.5, no_repetition, hidden=True),
    ],
    passing=0.8,
)
