"""A notice that tells tenants what is out of service, when, and what to use instead."""

import re
from collections.abc import Mapping

import dspy

from redraft import Criterion, Loop, Options, Program
from redraft.checks import at_most, max_sentence_words, max_words, states_each

FORM = (
    "Write a notice to tenants: the lift is out of service from 3 March to 7 March because the "
    "cables are being replaced. They can use the goods lift instead. Under 60 words, no sentence "
    "over 20 words."
)

MONTH = "January|February|March|April|May|June|July|August|September|October|November|December"
DATE = re.compile(rf"\b(\d{{1,2}})(?:st|nd|rd|th)? ({MONTH})\b", re.IGNORECASE)
OUTAGE = re.compile(
    r"(?:tenants(?: that|:)|out of service:) (.+?)(?: (?:is|are|will be) out of service|[.;\n])",
    re.IGNORECASE,
)
ALTERNATIVE = re.compile(
    r"(?:can use|instead:|alternative:) (?:(?:the|an?) )?(.+?)(?: instead)?[.;\n]", re.IGNORECASE
)
LIMIT = re.compile(r"\b(under|at most|no more than) (\d+) words\b", re.IGNORECASE)
LONGEST = re.compile(r"\bno sentence (?:over|longer than) (\d+) words\b", re.IGNORECASE)
NOTE = re.compile(r"\balso say: [\"“](.+?)[\"”]", re.IGNORECASE)
ARTICLE = re.compile(r"^(?:the|an?) ", re.IGNORECASE)


class Draft(dspy.Signature):
    """Write the notice that the request asks for."""

    request: str = dspy.InputField()
    notice: str = dspy.OutputField()


def read_request(inputs: Mapping[str, object]) -> dict[str, object]:
    """Return what a request says.

    Returns:
        `outage` (what is out of service), `dates` (the first and the last day, each in the forms
        that say the same), `alternative` (a list of one text), `note` (what else to say, may be
        empty), `limit` (most words), `longest` (most words in a sentence, None for any).

    Raises:
        ValueError: There are not two dates, or no outage, alternative or limit.
    """
    request = str(inputs["request"])
    dates = [_forms(int(day), month) for day, month in DATE.findall(request)]
    outage, alternative, limit = (p.search(request) for p in (OUTAGE, ALTERNATIVE, LIMIT))
    if len(dates) != 2 or outage is None or alternative is None or limit is None:
        raise ValueError(f"cannot read the request {request!r}; write it like this: {FORM}")
    note, longest = NOTE.search(request), LONGEST.search(request)
    return {
        "outage": ARTICLE.sub("", outage[1]),
        "dates": dates,
        "alternative": [alternative[1]],
        "note": note[1] if note else "",
        "limit": int(limit[2]) - (limit[1].lower() == "under"),
        "longest": int(longest[1]) if longest else None,
    }


def _forms(day: int, month: str) -> list[str]:
    ending = "th" if 10 < day < 14 else {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th")
    days = (str(day), f"{day}{ending}")
    forms = [form for said in days for form in (f"{said} {month}", f"{month} {said}")]
    return [*forms, f"{day}{ending} of {month}"]


PROGRAM = Program(
    draft=Draft,
    prepare=read_request,
    checks=[
        states_each("dates"),
        states_each("alternative"),
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
    ],
    criteria=[Criterion("plain_english", "Every sentence is plain English.", must_pass=False)],
    loop=Loop(max_revisions=2, on_fail="revise"),
    options={"drafter": Options(max_tokens=160), "reviser": Options(max_tokens=160)},
)
