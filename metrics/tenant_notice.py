"""How notices are judged: the program's own rules, and things that no check decides."""

import re

from programs.tenant_notice import PROGRAM
from redraft import Measure, Row, Rubric
from redraft.checks import says, sentences, words

WEIGHTS = {
    "states_dates": 3.0,
    "states_alternative": 3.0,
    "max_words": 1.0,
    "max_sentence_words": 1.0,
    "one_apology": 0.5,
}

STILTED = re.compile(
    r"\b(?:hereby|herewith|aforementioned|pursuant|henceforth|whilst|utili[sz]e\w*|commenc\w+|"
    r"endeavou?r\w*|facilitat\w+|prior to|in order to|with regard to|kindly be advised|"
    r"inconvenience caused|at this (?:point in )?time|in the event (?:that|of))\b",
    re.IGNORECASE,
)
ORDERS = re.compile(
    r"write a notice|tell tenants|both dates|the alternative|also say|\d+ words", re.IGNORECASE
)
EASY_SENTENCE = 16
SMALL_WORDS = frozenset({"the", "a", "an", "in", "on", "of", "to", "at", "for", "by", "and"})


def names_outage(row: Row, draft: str) -> tuple[float, str]:
    """Measure the share of the words for what is out of service that the draft has."""
    share, missing = _share_said(str(row.inputs["outage"]), draft)
    return share, f"It does not say clearly what is out of service: {missing}."


def passes_on_note(row: Row, draft: str) -> tuple[float, str]:
    """Measure the share of the words of the further note that the draft has; 1 without a note."""
    share, missing = _share_said(str(row.inputs["note"]), draft)
    return share, f"It does not pass on the whole note: {missing}."


def invents_nothing(row: Row, draft: str) -> tuple[float, str]:
    """Measure whether the draft has no number that the request lacks, and nothing left to fill."""
    request = str(row.inputs["request"])
    invented = set(re.findall(r"\d+", draft)) - set(re.findall(r"\d+", request))
    blanks = re.findall(r"\[[^\]]*\]", draft)
    wrong = sorted(invented) + blanks
    return float(not wrong), f"The request says nothing of {', '.join(wrong)}."


def only_the_notice(_row: Row, draft: str) -> tuple[float, str]:
    """Measure whether the draft leaves the orders of the request out."""
    echoed = ORDERS.search(draft)
    said = echoed[0] if echoed else ""
    return float(echoed is None), f"It repeats the request's own orders: {said!r}."


def plain_english(_row: Row, draft: str) -> tuple[float, str]:
    """Measure plain English: half for no stilted phrase, half for sentences of easy length."""
    stilted = STILTED.search(draft)
    parts = sentences(draft) or [""]
    average = len(words(draft)) / len(parts)
    easy = min(1.0, EASY_SENTENCE / max(average, 1.0))
    value = (float(stilted is None) + easy) / 2
    phrase = f"; it says {stilted[0]!r}" if stilted else ""
    return value, f"Its sentences have {average:.0f} words on average{phrase}."


def _share_said(text: str, draft: str) -> tuple[float, str]:
    bare = (word.strip(".,?!\"'").lower() for word in text.split())
    wanted = [word for word in bare if word and word not in SMALL_WORDS]
    missing = [word for word in wanted if not says(draft, word)]
    return 1 - len(missing) / max(1, len(wanted)), ", ".join(missing)


RUBRIC = Rubric(
    [
        *(Measure.of(check, WEIGHTS[check.id]) for check in PROGRAM.checks),
        Measure("names_outage", 1.5, names_outage),
        Measure("passes_on_note", 2.0, passes_on_note),
        Measure("invents_nothing", 1.0, invents_nothing),
        # Kept from the search, to see whether what it gains is real.
        Measure("only_the_notice", 0.5, only_the_notice, hidden=True),
        Measure("plain_english", 0.5, plain_english),
    ],
    passing=0.8,
)
