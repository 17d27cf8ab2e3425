"""Makers of common checks: when each is met, and what its gap tells the writer."""

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redraft.checks import (
    at_most,
    avoids_words,
    ends_with,
    exact_sentences,
    max_sentence_words,
    max_sentences,
    max_words,
    min_words,
    quotes_occur,
    says,
    sentences,
    states_each,
    uses_words,
    words,
)
from redraft.records import Check

THREE = "The lift stops. It starts again soon. Please wait."


def gap(check: Check, draft: str, **facts: object) -> str | None:
    """What a check says of a draft."""
    return check.fn(facts, draft)


@pytest.mark.parametrize(
    ("text", "count"),
    [("", 0), ("one", 1), ("a well-made mug – at 3.50", 5), ("- \n * ...", 0)],
)
def test_counts_words_that_have_a_letter_or_digit(text: str, count: int) -> None:
    """A dash or a bullet that stands alone is no word; a hyphened word is one."""
    assert len(words(text)) == count


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("", 0),
        ("No full stop", 1),
        ("One. Two! Three? Four…", 4),
        ("It costs 3.50 today.", 1),
        ("Open at 8 a.m. on weekdays.", 1),
        ("Ask Dr. Brown. He knows.", 2),
        ('She said "stop." Then she left.', 2),
        ("A heading\n\nA paragraph", 2),
        ("Wait... and see.", 1),
        ("A wrapped\nline.", 1),
        ("Call Mr.", 1),
    ],
)
def test_splits_sentences_where_a_reader_would(text: str, count: int) -> None:
    """Decimals, titles and small letters end no sentence; an empty line does."""
    assert len(sentences(text)) == count


@given(st.lists(st.sampled_from(["Lift stops", "Dr. Who", "it", "!", "..."]), max_size=6))
def test_splitting_keeps_every_word(parts: list[str]) -> None:
    """Whatever the punctuation, no word is lost or counted twice."""
    text = ". ".join(parts)

    assert sum(len(words(part)) for part in sentences(text)) == len(words(text))


@pytest.mark.parametrize(
    ("phrase", "found"),
    [
        ("3 March", False),
        ("13 march", True),
        ("goods  lift", True),
        ("good", False),
        ("tenants’ door", True),
        ("(rear)", True),
        ("", False),
    ],
)
def test_says_looks_for_whole_words(phrase: str, found: bool) -> None:
    """Case, spacing and the shape of quote marks do not matter; parts of words do not count."""
    text = "From 13 March use the Goods\nlift (rear) or the tenants' door."

    assert says(text, phrase) is found


@pytest.mark.parametrize(
    ("check", "met", "unmet", "told"),
    [
        (max_words(3), "One two three", "One two three four", "4 words; write at most 3"),
        (min_words(2), "One two", "One", "1 word; write 2 or more"),
        (max_sentences(2), "One. Two.", THREE, "3 sentences; write at most 2"),
        (exact_sentences(2), "One. Two.", "One.", "1 sentence; write exactly 2"),
        (max_sentence_words(4), THREE, "It all comes back quite soon.", "'It all comes back quite"),
    ],
)
def test_counts_against_a_number(check: Check, met: str, unmet: str, told: str) -> None:
    """The gap gives the count and what would be right."""
    assert gap(check, met) is None
    assert told in str(gap(check, unmet))


@pytest.mark.parametrize(
    ("check", "rule"),
    [
        (exact_sentences(1), "The draft has exactly 1 sentence."),
        (max_sentences(2), "The draft has at most 2 sentences."),
        (min_words(1), "The draft has 1 word or more."),
        (max_words("limit"), "The draft has at most the requested number of words."),
    ],
)
def test_a_rule_counts_as_people_do(check: Check, rule: str) -> None:
    """One is singular."""
    assert check.rule == rule


@pytest.mark.parametrize(
    ("check", "met", "unmet"),
    [
        (max_words("limit"), 3, 2),
        (min_words("limit"), 3, 4),
        (max_sentences("limit"), 2, 1),
        (exact_sentences("limit"), 2, 3),
        (max_sentence_words("limit"), 2, 1),
    ],
)
def test_a_limit_may_come_from_the_request(check: Check, met: int, unmet: int) -> None:
    """A text names the fact; None asks for nothing."""
    draft = "One. Two two."

    assert gap(check, draft, limit=met) is None
    assert gap(check, draft, limit=unmet) is not None
    assert gap(check, draft, limit=None) is None
    assert "the requested number of" in check.rule


def test_words_that_are_missing_are_named() -> None:
    """Only the missing ones are, as the request gives them."""
    assert gap(uses_words("words"), "A steely, QUIET kettle.", words=["steel", "quiet"]) == (
        "These words are missing: 'steel'."
    )


def test_words_that_must_not_be_used_are_named() -> None:
    """A word inside another is not that word."""
    check = avoids_words("unsaid")

    assert gap(check, "Watery tea.", unsaid=["water"]) is None
    assert gap(check, "Hot Water.", unsaid=["water"]) == "These words must not be used: 'water'."


def test_a_fact_may_be_stated_in_any_of_its_forms() -> None:
    """The gap names the first form of what is missing."""
    facts: Mapping[str, object] = {"dates": [["3 May", "May 3"], "9 May"]}
    check = states_each("dates")

    assert check.fn(facts, "From May 3 to 9 May.") is None
    assert check.fn(facts, "From 13 May to 9 May.") == "The draft does not state '3 May'."


def test_a_closing_must_be_the_end() -> None:
    """What follows the closing breaks the rule."""
    check = ends_with("closing")

    assert gap(check, "It pours. Sip  More.\n", closing="Sip more.") is None
    assert gap(check, "Sip more. Now.", closing="Sip more.") == (
        "The draft must end with 'Sip more.'."
    )
    assert gap(check, "Anything", closing=None) is None


def test_counts_matches_or_the_sentences_that_hold_them() -> None:
    """Two apologies in one sentence are one sentence."""
    draft = "Sorry, we are so sorry. We apologise."
    by_match = at_most(2, r"sorry|apolog", what="apologies", id="apologies")
    by_sentence = at_most(2, r"sorry|apolog", what="sentences", by_sentence=True)

    assert gap(by_match, draft) == "The draft has 3 apologies; keep at most 2."
    assert gap(by_sentence, draft) is None
    assert (by_match.id, by_sentence.id) == ("apologies", "at_most")


def test_quotes_must_be_in_the_source() -> None:
    """Case, spacing and a last comma do not matter."""
    check = quotes_occur("source")
    source = "The lift is old but safe."

    assert gap(check, 'He calls it “old  but Safe,” and "the lift".', source=source) is None
    assert gap(check, 'It is "brand new".', source=source) == (
        "These quotes are not in the source: 'brand new'."
    )


@pytest.mark.parametrize("make", [uses_words, avoids_words, states_each])
def test_a_list_that_is_none_asks_for_nothing(make: object) -> None:
    """A request without the rule meets it."""
    assert callable(make)
    check: Check = make("words")

    assert gap(check, "Anything", words=None) is None


def test_a_fact_that_is_not_there_is_named() -> None:
    """The error says which facts there are and where one comes from."""
    with pytest.raises(LookupError, match=r"no fact 'limit' among \['request'\].*prepare"):
        gap(max_words("limit"), "One", request="x")


@pytest.mark.parametrize(
    ("check", "value", "message"),
    [
        (max_words("limit"), "ten", "'limit' must be a whole number or None, got 'ten'"),
        (uses_words("limit"), "steel", "'limit' must be a list of texts or None, got 'steel'"),
        (states_each("limit"), 3, "'limit' must be a list of texts or None, got 3"),
    ],
)
def test_a_fact_of_another_type_is_refused(check: Check, value: object, message: str) -> None:
    """A text is not a list of its letters."""
    with pytest.raises(TypeError, match=message):
        gap(check, "One", limit=value)


def test_every_maker_takes_the_fields_of_a_check() -> None:
    """Id, sentence, whether it must pass and whether it is told."""
    check = max_words(5, id="short", rule="It is short.", must_pass=False, told=False)

    assert (check.id, check.rule, check.must_pass, check.told) == (
        "short",
        "It is short.",
        False,
        False,
    )
