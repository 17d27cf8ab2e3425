"""A short product text that uses given words and keeps to the form that the request asks for."""

import re
from collections.abc import Mapping

import dspy

from redraft import Loop, Options, Program
from redraft.checks import avoids_words, ends_with, exact_sentences, max_words, uses_words

FORM = "Describe a kettle in one sentence. Use these words: steel, quiet. Under 40 words."

NUMBERS = {"one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "1": 1, "2": 2, "3": 3}
COUNT = "|".join(NUMBERS)
THING = re.compile(
    rf"\b(?:describe|introduce) (.+?)(?: in (?:{COUNT}) sentences?|,|\.|:)", re.IGNORECASE
)
SENTENCES = re.compile(rf"\b({COUNT}) sentences?\b", re.IGNORECASE)
WORDS = re.compile(
    r"(?<!not )\b(?:us(?:e|ing)|include|work in) (?:all )?(?:these|the) words?:? *([^.\n]+)",
    re.IGNORECASE,
)
UNSAID = re.compile(r"\b(?:do not use|avoid|leave out) (?:the|these) words?:? *([^.\n]+)", re.I)
LIMIT = re.compile(
    r"\b(under|fewer than|less than|at most|no more than|up to) (\d+) words?\b", re.IGNORECASE
)
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
        ValueError: The request names no thing, no words or no limit.
    """
    request = str(inputs["request"])
    thing, given, limit = (pattern.search(request) for pattern in (THING, WORDS, LIMIT))
    words = _listed(given)
    if thing is None or limit is None or not words:
        raise ValueError(f"cannot read the request {request!r}; write it like this: {FORM}")
    number, unsaid, closing = (pattern.search(request) for pattern in (SENTENCES, UNSAID, CLOSING))
    exclusive = limit[1].lower() in ("under", "fewer than", "less than")
    return {
        "thing": [ARTICLE.sub("", thing[1])],
        "words": words,
        "limit": int(limit[2]) - exclusive,
        "sentences": NUMBERS[number[1].lower()] if number else None,
        "unsaid": _listed(unsaid),
        "closing": closing[1] if closing else None,
    }


def _listed(match: re.Match[str] | None) -> list[str]:
    if match is None:
        return []
    parts = re.split(r",| and ", match[1])
    return [part.strip(" \"'“”") for part in parts if part.strip(" \"'“”")]


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
