"""Makers of common checks: counts of words and sentences, words to use, facts to state, quotes.

A limit is a number, or the name of a fact that holds one: an input of the program, or a key that
`prepare` returned. Lists are named the same way. A fact that is None asks for nothing: the check
is met.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypedDict, Unpack

from redraft.records import Check

Facts = Mapping[str, object]

_SENTENCE_END = re.compile(r"(?<=[.!?…])[\"'”’)\]]*\s+(?![a-z])|\n\s*\n")
_NO_END = re.compile(r"(?:^|[\s(])(?:Mr|Mrs|Ms|Dr|St|No|vs|e\.g|i\.e|approx)\.$")
_QUOTED = re.compile(r"[“\"]([^”\"]+)[”\"]")
_CURLY = str.maketrans("‘’“”‐‑", "''\"\"--")


class CheckOptions(TypedDict, total=False):
    """What every maker takes besides its own arguments; see `Check` for the meaning."""

    id: str
    rule: str
    must_pass: bool
    told: bool


def words(text: str) -> list[str]:
    """Return the words of a text: what stands between white space and has a letter or a digit."""
    return [token for token in text.split() if any(c.isalnum() for c in token)]


def sentences(text: str) -> list[str]:
    """Split a text after `.`, `!`, `?` or `…` unless a small letter follows, and at empty lines."""
    found: list[str] = []
    open_ended = False
    for part in _SENTENCE_END.split(text):
        if open_ended:
            found[-1] += f" {part}"
        elif words(part):
            found.append(part.strip())
        open_ended = bool(found) and _NO_END.search(found[-1]) is not None
    return found


def says(text: str, phrase: str) -> bool:
    """Tell whether a phrase occurs in a text as whole words, whatever its case and spacing."""
    folded = _fold(phrase)
    start = r"(?<!\w)" if folded[:1].isalnum() else ""
    end = r"(?!\w)" if folded[-1:].isalnum() else ""
    return bool(folded) and re.search(start + re.escape(folded) + end, _fold(text)) is not None


def max_words(limit: int | str, **options: Unpack[CheckOptions]) -> Check:
    """Make a check that the draft has at most `limit` words; a text names the fact that says so."""

    def gap(facts: Facts, draft: str) -> str | None:
        most, count = _limit(facts, limit), len(words(draft))
        if most is None or count <= most:
            return None
        return f"The draft has {count} words; write at most {most}."

    return _check("max_words", f"The draft has at most {_shown(limit, 'word')}.", gap, options)


def min_words(limit: int | str, **options: Unpack[CheckOptions]) -> Check:
    """Make a check that the draft has `limit` words or more; a text names the fact that says so."""

    def gap(facts: Facts, draft: str) -> str | None:
        least, count = _limit(facts, limit), len(words(draft))
        if least is None or count >= least:
            return None
        return f"The draft has {_count(count, 'word')}; write {least} or more."

    return _check("min_words", f"The draft has {_shown(limit, 'word')} or more.", gap, options)


def max_sentences(limit: int | str, **options: Unpack[CheckOptions]) -> Check:
    """Make a check that the draft has at most `limit` sentences; see `sentences`."""

    def gap(facts: Facts, draft: str) -> str | None:
        most, count = _limit(facts, limit), len(sentences(draft))
        if most is None or count <= most:
            return None
        return f"The draft has {_count(count, 'sentence')}; write at most {most}."

    rule = f"The draft has at most {_shown(limit, 'sentence')}."
    return _check("max_sentences", rule, gap, options)


def exact_sentences(number: int | str, **options: Unpack[CheckOptions]) -> Check:
    """Make a check that the draft has exactly `number` sentences; see `sentences`."""

    def gap(facts: Facts, draft: str) -> str | None:
        wanted, count = _limit(facts, number), len(sentences(draft))
        if wanted is None or count == wanted:
            return None
        return f"The draft has {_count(count, 'sentence')}; write exactly {wanted}."

    rule = f"The draft has exactly {_shown(number, 'sentence')}."
    return _check("exact_sentences", rule, gap, options)


def max_sentence_words(limit: int | str, **options: Unpack[CheckOptions]) -> Check:
    """Make a check that no sentence has more than `limit` words."""

    def gap(facts: Facts, draft: str) -> str | None:
        most = _limit(facts, limit)
        longest = max(sentences(draft), key=lambda s: len(words(s)), default="")
        count = len(words(longest))
        if most is None or count <= most:
            return None
        opening = " ".join(longest.split()[:6])
        return f"The sentence {opening!r}... has {count} words; write at most {most} in each."

    rule = f"No sentence has more than {_shown(limit, 'word')}."
    return _check("max_sentence_words", rule, gap, options)


def uses_words(key: str, **options: Unpack[CheckOptions]) -> Check:
    """Make a check that the draft uses every word or phrase listed in the fact `key`, as given."""

    def gap(facts: Facts, draft: str) -> str | None:
        missing = [word for word in _listed(facts, key) if not says(draft, word)]
        return f"These words are missing: {_quoted(missing)}." if missing else None

    rule = f"The draft uses every one of the given {_spoken(key)}."
    return _check(f"uses_{key}", rule, gap, options)


def avoids_words(key: str, **options: Unpack[CheckOptions]) -> Check:
    """Make a check that the draft uses no word or phrase listed in the fact `key`."""

    def gap(facts: Facts, draft: str) -> str | None:
        present = [word for word in _listed(facts, key) if says(draft, word)]
        return f"These words must not be used: {_quoted(present)}." if present else None

    rule = f"The draft uses none of the given {_spoken(key)}."
    return _check(f"avoids_{key}", rule, gap, options)


def states_each(key: str, **options: Unpack[CheckOptions]) -> Check:
    """Make a check that the draft states everything listed in the fact `key`.

    Each item is a text, or a sequence of texts that say the same, such as "3 May" and "May 3".
    """

    def gap(facts: Facts, draft: str) -> str | None:
        forms = [(item,) if isinstance(item, str) else tuple(item) for item in _items(facts, key)]
        missing = [same[0] for same in forms if not any(says(draft, form) for form in same)]
        return f"The draft does not state {_quoted(missing)}." if missing else None

    rule = f"The draft states the {_spoken(key)} of the request."
    return _check(f"states_{key}", rule, gap, options)


def ends_with(key: str, **options: Unpack[CheckOptions]) -> Check:
    """Make a check that the draft ends with the text in the fact `key`."""

    def gap(facts: Facts, draft: str) -> str | None:
        ending = _fact(facts, key)
        if ending is None or _fold(draft).endswith(_fold(str(ending))):
            return None
        return f"The draft must end with {str(ending)!r}."

    rule = f"The draft ends with the given {_spoken(key)}."
    return _check(f"ends_with_{key}", rule, gap, options)


def at_most(
    limit: int,
    pattern: str,
    *,
    what: str,
    by_sentence: bool = False,
    **options: Unpack[CheckOptions],
) -> Check:
    """Make a check that a regular expression, whatever the case, is found at most `limit` times.

    Args:
        limit: Times it may be found; 0 or more.
        pattern: The regular expression.
        what: What is counted, in the plural, for the rule and the gap: "exclamation marks".
        by_sentence: Whether to count the sentences in which it is found.
        options: See `CheckOptions`; name the `id`, since the default is "at_most".
    """
    compiled = re.compile(pattern, re.IGNORECASE)

    def gap(_facts: Facts, draft: str) -> str | None:
        if by_sentence:
            count = sum(1 for sentence in sentences(draft) if compiled.search(sentence))
        else:
            count = sum(1 for _ in compiled.finditer(draft))
        if count <= limit:
            return None
        return f"The draft has {count} {what}; keep at most {limit}."

    return _check("at_most", f"The draft has at most {limit} {what}.", gap, options)


def quotes_occur(key: str, **options: Unpack[CheckOptions]) -> Check:
    """Make a check that whatever the draft puts in quote marks occurs in the text of fact `key`."""

    def gap(facts: Facts, draft: str) -> str | None:
        source = _fold(str(_fact(facts, key)))
        quotes = (quote.strip(" ,.;") for quote in _QUOTED.findall(draft))
        invented = [quote for quote in quotes if _fold(quote) not in source]
        return f"These quotes are not in the source: {_quoted(invented)}." if invented else None

    rule = f"Every quote occurs in the {_spoken(key)}."
    return _check("quotes_occur", rule, gap, options)


def _check(
    name: str, rule: str, gap: Callable[[Facts, str], str | None], options: CheckOptions
) -> Check:
    return Check(
        id=options.get("id", name),
        fn=gap,
        rule=options.get("rule", rule),
        must_pass=options.get("must_pass", True),
        told=options.get("told", True),
    )


def _fact(facts: Facts, key: str) -> object:
    if key not in facts:
        raise LookupError(
            f"there is no fact {key!r} among {sorted(facts)}; "
            "make it an input of the program, or let `prepare` return it"
        )
    return facts[key]


def _limit(facts: Facts, limit: int | str) -> int | None:
    value = _fact(facts, limit) if isinstance(limit, str) else limit
    if value is not None and not isinstance(value, int):
        raise TypeError(f"fact {limit!r} must be a whole number or None, got {value!r}")
    return value


def _items(facts: Facts, key: str) -> Sequence[str | Iterable[str]]:
    value = _fact(facts, key)
    if value is None:
        return ()
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise TypeError(f"fact {key!r} must be a list of texts or None, got {value!r}")
    return value


def _listed(facts: Facts, key: str) -> list[str]:
    return [str(item) for item in _items(facts, key)]


def _fold(text: str) -> str:
    return " ".join(text.translate(_CURLY).casefold().split())


def _quoted(texts: Iterable[str]) -> str:
    return ", ".join(repr(text) for text in texts)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _spoken(key: str) -> str:
    return key.replace("_", " ")


def _shown(limit: int | str, noun: str) -> str:
    return _count(limit, noun) if isinstance(limit, int) else f"the requested number of {noun}s"
