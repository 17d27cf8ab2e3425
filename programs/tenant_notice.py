"""A notice that tells tenants what is out of service, when, and what to use instead."""

import re
from collections.abc import Mapping, Sequence

import dspy

from redraft import Check, Criterion, Loop, Options, Program
from redraft.checks import at_most, max_sentence_words, max_words, says, states_each

FORM = (
    "Write a notice to tenants: the lift is out of service from 3 May to 9 May. They can use the "
    "goods lift instead. Also mention: the cables are worn. Under 60 words."
)
DEFAULT_LIMIT = 90
DEFAULT_LONGEST = 25

MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
MONTH = "|".join([*(f"{name[:3]}(?:{name[3:]})?" for name in MONTHS), "sept"])
DAY = r"(0?[1-9]|[12]\d|3[01])(?!\d)(?:st|nd|rd|th)?"
WEEKDAY = r"(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day,? )?"
JOIN = rf" ?(?:to|until|till|through|and|-|–|—) ?{WEEKDAY}(?:the )?"
DAYS = (
    rf"\b(?:{DAY}{JOIN})?{DAY} (?:of )?({MONTH})\b"
    rf"|\b({MONTH})\.? {DAY}(?:{JOIN}{DAY}(?! (?:of )?(?:{MONTH})\b))?\b"
)
DATE = re.compile(DAYS, re.IGNORECASE)
# "From 3 May until Monday, 9 May 2027, " before what is out of service.
DATED = rf"{WEEKDAY}(?:{DAYS})(?:,? \d{{4}})?"
OPENING_DATES = re.compile(rf"^(?:from|between) {DATED}(?:,?{JOIN}{DATED})?,? ", re.IGNORECASE)

STATE = (
    r"(?:(?:is|are|will be) (?:out of \w+|closed|shut|locked|off|down|unavailable)"
    r"|(?:is|are|will) not (?:be )?(?:available|working|in use)|(?:cannot|can't) be used"
    r"|closes?|will close)"
)
TELL = r"(?:please )?(?:write|draft|tell|inform|let|warn|remind|announce|say)\b"
# The full stops of "1.5 tonnes" and "St. John" end no sentence.
IN_WORD = r"\.(?=\d)|(?<=\bSt)\."
STOP = r"(?<!\bSt)[.;\n](?!\d)"
# A stretch of one sentence; bounded, so that no text takes long to read.
SOME = rf"(?:[^.:;\n]|{IN_WORD}){{1,200}}?"
TOLD = (
    rf"(?:{TELL}(?:{SOME} (?:that|know)"
    r"|(?: \w+){0,2} (?:tenants|residents|everyone|neighbours)(?= (?:the|an?|our|your)\b)) )?"
)
OUTAGE = re.compile(
    r"\b(?:out of (?:service|use|order)|what(?: is out)?): *"
    r"([^.,;\n]{1,200}?)(?= (?:from|between) [^.,;\n]{0,40}\d|[.,;\n]|$)"
    rf"|\bwork on ({SOME}) (?:will )?(?:starts?|begins?)\b"
    rf"|\b(?:(?:cannot|can't) use|there (?:is|will be) no) ({SOME}) (?:from|between)\b"
    rf"|(?:^|{STOP}\s*|:(?!\d)\s*){TOLD}({SOME}) {STATE}\b",
    re.IGNORECASE,
)
NO_OUTAGE = re.compile(rf"{TELL}|(?:we|i|can|could)\b", re.IGNORECASE)
ALTERNATIVE = re.compile(
    r"(?:\b(?:alternative|instead|meanwhile): *"
    r"|(?<!of )(?<!in )(?<!not )(?<!can't )\b(?:use|offer|go to) )"
    rf"({SOME})(?: (?:instead|meanwhile|in the meantime|until then)\b[^.;\n]*)?"
    rf"(?:{STOP}|,? because\b|$)",
    re.IGNORECASE,
)
NOTE = re.compile(
    r"\b(?:mention(?: this)?(?: too)?(?: that|:)?|(?:add|also say)(?: that|:)|reason:|because) "
    rf"(?:[\"“](.+?)[\"”]|((?:[^.;\n]|{IN_WORD})+))",
    re.IGNORECASE,
)
LONGEST = re.compile(
    r"\bno sentence (?:over|longer than) (\d+) words\b"
    r"|\bsentences of (?:at most|no more than|up to) (\d+) words\b",
    re.IGNORECASE,
)
LIMIT = re.compile(
    r"(?:,? ?\b(?:and|in|with)){0,2},? ?"
    r"\b(under|fewer than|less than|at most|no more than|up to|within)"
    r" (\d{1,3}(?:,\d{3})+|\d+) words\b,? ?",
    re.IGNORECASE,
)
# What nothing that a notice names says, unless the request was read wrongly.
MISREAD = re.compile(r"\b\d+ words\b", re.IGNORECASE)
SMALL_WORDS = frozenset(
    re.findall(
        r"\w+",
        """a an and are at behind below beside by for from in is it its next of off on opposite or
        our past that the their them to under up where which with your""",
    )
)


class Draft(dspy.Signature):
    """Write the notice that the request asks for, in plain English.

    Name what is out of service, both dates, the alternative and whatever else is to be mentioned.
    Use at most 90 words, or the request's own limit, and at most 25 in a sentence. Apologise in
    one sentence at most.
    """

    request: str = dspy.InputField()
    notice: str = dspy.OutputField()


def read_request(inputs: Mapping[str, object]) -> dict[str, object]:
    """Return what a request says.

    Returns:
        `dates` (the first and the last day, such as "3 May"); `outage`, `alternative` and `note`
        (their words with a meaning, each in the forms that count as the same; no note is an empty
        list); `limit` (most words) and `longest` (most words in a sentence).

    Raises:
        ValueError: There are not two dates, or no outage or alternative, or one of them runs into
            a limit.
    """
    request = str(inputs["request"])
    dates, asked = dates_in(request), LONGEST.sub("", request)
    limit, told = LIMIT.search(asked), LIMIT.sub(" ", asked).strip()
    thing = OPENING_DATES.sub("", _found(OUTAGE.search(told)))
    other = _found(ALTERNATIVE.search(told))
    note = " ".join(_found(note) for note in NOTE.finditer(told))
    misread = NO_OUTAGE.match(thing) or any(map(MISREAD.search, (thing, other, note)))
    if len(dates) != 2 or not thing or not other or misread:
        raise ValueError(
            f"cannot read the request {request!r}: it must say what is out of service, the first "
            f"and the last day and the alternative; write it like this: {FORM}"
        )
    longest = LONGEST.search(request)
    return {
        "dates": dates,
        "outage": _key_words(thing),
        "alternative": _key_words(other),
        "note": _key_words(note),
        "limit": _most(limit) if limit else DEFAULT_LIMIT,
        "longest": int(_found(longest)) if longest else DEFAULT_LONGEST,
    }


def dates_in(text: str) -> list[str]:
    """Return the days that a text names, once each, such as "3 May"; years and weekdays are not.

    "May 3", "3rd of May", "3 to 9 May" and "Monday, 3 May 2027" are all understood.
    """
    found: list[str] = []
    for first, last, month, us_month, us_first, us_last in DATE.findall(text):
        name = next(m for m in MONTHS if m[:3].casefold() == (month or us_month)[:3].casefold())
        days = (day for day in (first, last, us_first, us_last) if day)
        found += [f"{int(day)} {name}" for day in days]
    return list(dict.fromkeys(found))


def missing_words(words: Sequence[Sequence[str]], draft: str) -> list[str]:
    """Return the words, each given in the forms that count as the same, that a draft lacks."""
    return [forms[0] for forms in words if not any(says(draft, form) for form in forms)]


def _key_words(text: str) -> list[list[str]]:
    found = re.findall(r"\w(?:[\w'’-]|\.(?=\d))*", text)
    telling = [word for word in found if word.casefold() not in SMALL_WORDS]
    return [_forms(word) for word in telling or found]


def _forms(word: str) -> list[str]:
    """Return a word, its singular and its plural, roughly."""
    stem = re.sub(r"['’]?s['’]?$", "", word)
    return list(dict.fromkeys([word, stem, f"{stem}s"]))


def _found(match: re.Match[str] | None) -> str:
    return "" if match is None else next(group for group in match.groups() if group).strip()


def _most(limit: re.Match[str]) -> int:
    exclusive = limit[1].casefold() in ("under", "fewer than", "less than")
    return int(limit[2].replace(",", "")) - exclusive


def _date_gap(facts: Mapping[str, object], draft: str) -> str | None:
    said, wanted = dates_in(draft), facts["dates"]
    assert isinstance(wanted, list)
    missing = [date for date in wanted if date not in said]
    return f"The draft does not state {' and '.join(missing)}." if missing else None


def _note_gap(facts: Mapping[str, object], draft: str) -> str | None:
    note = facts["note"]
    assert isinstance(note, list)
    missing = missing_words(note, draft)
    if 2 * len(missing) <= len(note):
        return None
    return f"The draft does not mention all that it should: {', '.join(missing)}."


PROGRAM = Program(
    draft=Draft,
    prepare=read_request,
    checks=[
        Check("states_dates", _date_gap, "The draft states the first and the last day."),
        states_each("outage", id="names_outage", rule="The draft names what is out of service."),
        states_each("alternative", rule="The draft names the alternative."),
        max_words("limit"),
        max_sentence_words("longest"),
        at_most(
            1,
            r"\b(?:sorry|apolog\w+|regret\w*)\b",
            what="sentences that apologise",
            by_sentence=True,
            id="one_apology",
            rule="The draft apologises in one sentence at most.",
        ),
        Check(
            "passes_on_note",
            _note_gap,
            "The draft says what else the request asks it to mention.",
            must_pass=False,
        ),
    ],
    criteria=[
        Criterion("plain_english", "Every sentence is plain English.", must_pass=False, told=True)
    ],
    loop=Loop(max_revisions=2, on_fail="revise"),
    options={"drafter": Options(max_tokens=160), "reviser": Options(max_tokens=160)},
)
