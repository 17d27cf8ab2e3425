"""A short product text that uses given words and keeps to the form that the request asks for."""

import re
from collections.abc import Mapping

import dspy

from redraft import Loop, Options, Program
from redraft.checks import avoids_words, ends_with, exact_sentences, max_words, uses_words

FORM = "Describe a kettle in one sentence. Use these words: steel, quiet. Under 40 words."

NUMBERS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
COUNT = "|".join([*NUMBERS, r"\d{1,2}"])
SENTENCE_COUNT = rf"\b({COUNT}) sentences?\b"
WORD_LIMIT = (
    r"\b(under|fewer than|less than|at most|no more than|up to) (\d{1,3}(?:,\d{3})+|\d+) words?\b"
)
USE = (
    r"(?<!not )(?<!n't )(?<!n’t )(?<!never )(?<!without )(?<!avoid )"
    r"\b(?:us(?:e|ing)|include|work in) (?:all )?(?:these|the) words?\b:?"
)
AVOID = (
    r"\b(?:(?:do not|don['’]t|never) (?:use|include)|without using|avoid(?: using)?|leave out)"
    r" (?:the|these) words?\b:?"
)
# A full stop ends what is listed, but not that of "1.5-litre", "9 a.m. start" or "St. Bernard".
STOP = r"(?<!\.\w)(?<!\bSt)(?<!\bDr)(?<!\bMr)(?<!\bMrs)(?<!\bMt)\.(?=[\"'”]?(?:\s|$))"
NEXT = (
    rf"[.,;:!]?[\"'”]?\s{{1,3}}(?:(?:and|but|all) ){{0,3}}"
    rf"(?:(?:in )?{WORD_LIMIT}|in {SENTENCE_COUNT}|{USE}|{AVOID}|(?:end|finish) with\b:? [\"“])"
)
LISTED = rf" *(?P<listed>.+?)(?={STOP}|{NEXT}|\n|$)"
THING = re.compile(
    rf"\b(?:describe|introduce) (?P<thing>.+?)(?={STOP}|{NEXT}|,(?!\d)|:(?!\d)|\n|$)", re.IGNORECASE
)
SENTENCES = re.compile(SENTENCE_COUNT, re.IGNORECASE)
WORDS = re.compile(USE + LISTED, re.IGNORECASE)
UNSAID = re.compile(AVOID + LISTED, re.IGNORECASE)
LIMIT = re.compile(WORD_LIMIT, re.IGNORECASE)
COMMA = re.compile(r",(?!\d)|(?<!\d),|;| and ")
# What no thing and no word to use says, unless the request was read wrongly.
MISREAD = re.compile(r"\b\d+ words?\b|\b(?:in|within) [\w-]+ sentences?\b", re.IGNORECASE)
CLOSING = re.compile(r"\b(?:end|finish) with:? [\"“](.+?)[\"”]", re.IGNORECASE)
ARTICLE = re.compile(r"^(?:an?|the|some|this) ", re.IGNORECASE)


class Draft(dspy.Signature):
    """Write the product text that the request asks for, and nothing else."""

    request: str = dspy.InputField()
    blurb: str = dspy.OutputField()


def read_request(inputs: Mapping[str, object]) -> dict[str, object]:
    """Return what a request asks for.

    Returns:
        `thing` and `words` (lists of texts to use), `limit` (most words), `sentences` (their
        number, None for any), `unsaid` (list of words to avoid), `closing` (last words, or None).

    Raises:
        ValueError: The request names no thing, no words or no limit, or one runs into another.
    """
    request = str(inputs["request"])
    thing, limit = THING.search(request), LIMIT.search(request)
    words, unsaid = (_listed(pattern.search(request)) for pattern in (WORDS, UNSAID))
    refusal = ValueError(f"cannot read the request {request!r}; write it like this: {FORM}")
    if thing is None or limit is None or not words:
        raise refusal
    if any(MISREAD.search(text) for text in (thing["thing"], *words, *unsaid)):
        raise refusal
    number, closing = SENTENCES.search(request), CLOSING.search(request)
    exclusive = limit[1].lower() in ("under", "fewer than", "less than")
    return {
        "thing": [ARTICLE.sub("", thing["thing"])],
        "words": words,
        "limit": int(limit[2].replace(",", "")) - exclusive,
        "sentences": _number(number[1]) if number else None,
        "unsaid": unsaid,
        "closing": closing[1] if closing else None,
    }


def _listed(match: re.Match[str] | None) -> list[str]:
    parts = COMMA.split(match["listed"]) if match else []
    return [part.strip(" \"'“”") for part in parts if part.strip(" \"'“”")]


def _number(text: str) -> int:
    return int(text) if text.isdecimal() else NUMBERS.index(text.casefold()) + 1


PROGRAM = Program(
    draft=Draft,
    prepare=read_request,
    checks=[
        uses_words("words"),
        max_words("limit"),
        exact_sentences("sentences"),
        avoids_words("unsaid", rule="The draft leaves out the words that must not be used."),
        ends_with("closing", rule="The draft ends with the words that the request gives."),
        uses_words("thing", id="names_the_thing", rule="The draft names what it describes."),
    ],
    loop=Loop(max_revisions=2, on_fail="resample"),
    options={"drafter": Options(max_tokens=64)},
)
