"""How notices are judged: the program's own rules, and things that no check decides."""

import re

from programs.tenant_notice import PROGRAM, dates_in, missing_words
from redraft import Measure, Row, Rubric
from redraft.checks import sentences, words

WEIGHTS = {
    "states_dates": 2.0,
    "names_outage": 1.0,
    "states_alternative": 2.0,
    "max_words": 1.0,
    "max_sentence_words": 0.5,
    "one_apology": 0.5,
    "passes_on_note": 1.0,
}

STILTED = re.compile(
    r"\b(?:hereby|herewith|aforementioned|pursuant|henceforth|whilst|utili[sz]e\w*|commenc\w+|"
    r"endeavou?r\w*|facilitat\w+|prior to|in order to|with regard to|kindly be advised|"
    r"inconvenience caused|at this (?:point in )?time|in the event (?:that|of))\b",
    re.IGNORECASE,
)
# What a reader could act on; the number of a day or a year that the request has is no invention.
PARTICULARS = re.compile(
    r"\d+|\b(?:mon|tues|wednes|thurs|fri|satur|sun)day\b|\S+@\S+|\bwww\.\S+", re.IGNORECASE
)
BLANK = re.compile(r"\[[^\]]*\]|_{3,}")
ORDERS = re.compile(
    r"\b(?:write|draft) (?:a|the) notice|\btell (?:tenants|everyone)|\bboth dates|"
    r"\bthe alternative\b|\b(?:also mention|alternative|instead|out of service):|\d+ words",
    re.IGNORECASE,
)
EASY_SENTENCE = 16
OPENING = 2


def outage_first(row: Row, draft: str) -> tuple[float, str]:
    """Measure the share of the words for what is out of service in the first two sentences."""
    wanted = row.inputs["outage"]
    assert isinstance(wanted, list)
    missing = missing_words(wanted, " ".join(sentences(draft)[:OPENING]))
    said = f"Its first two sentences do not say what is out of service: {', '.join(missing)}."
    return 1 - len(missing) / len(wanted), said


def invents_nothing(row: Row, draft: str) -> tuple[float, str]:
    """Measure whether no number, date, weekday or address is new, and nothing is left to fill."""
    request, dates = str(row.inputs["request"]), row.inputs["dates"]
    assert isinstance(dates, list)
    known = {found.casefold() for found in PARTICULARS.findall(request)}
    wrong = [found for found in PARTICULARS.findall(draft) if found.casefold() not in known]
    wrong += [date for date in dates_in(draft) if date not in dates]
    wrong += BLANK.findall(draft)
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


RUBRIC = Rubric(
    [
        *(Measure.of(check, WEIGHTS[check.id]) for check in PROGRAM.checks),
        Measure("plain_english", 1.0, plain_english),
        # The drafter is not told: what a good order is, it can learn from demos only.
        Measure("outage_first", 1.5, outage_first),
        # Kept from the search, to see whether what it gains is real.
        Measure("invents_nothing", 1.5, invents_nothing, hidden=True),
        Measure("only_the_notice", 0.5, only_the_notice, hidden=True),
    ],
    passing=0.8,
)
