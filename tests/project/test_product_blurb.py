"""Product texts: what is read off a request, in whatever way it is worded."""

import hashlib
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from samples import program, rows

from redraft.errors import PrepareError

USE = "Use these words: steel, quiet"
# Of what `prepare` read off every row when the rows were written.
READING = "3646168b323ccb3d479126a9967c4499d4935adedd333ce08842daa8baf5e39d"


def read(request: str) -> dict[str, object]:
    """Return what a request asks for."""
    return program("product_blurb").facts({"request": request})


def test_the_rows_are_read_as_they_were() -> None:
    """Reading more requests does not change what the rows ask for."""
    facts = [read(str(row.inputs["request"])) for row in rows("product_blurb")]

    text = json.dumps(facts, ensure_ascii=False, sort_keys=True)
    assert hashlib.sha256(text.encode()).hexdigest() == READING


@settings(max_examples=60, deadline=None)
@given(
    words=st.lists(
        st.from_regex(r"\A(?:[A-Za-z]{1,8}|\d{1,2}\.\d-litre|\d,\d{3}-watt)\Z"),
        min_size=1,
        max_size=40,
    ),
    limit=st.integers(min_value=1, max_value=99_999),
)
def test_the_form_is_always_understood(words: list[str], limit: int) -> None:
    """Whatever the words, their number and the limit."""
    facts = read(
        f"Describe a kettle in one sentence. Use these words: {', '.join(words)}. "
        f"Under {limit} words."
    )

    assert facts["words"] == words
    assert (facts["thing"], facts["sentences"], facts["limit"]) == (["kettle"], 1, limit - 1)


@pytest.mark.parametrize("last", ["Mr", "St", "a.m", "and", "in", "under", "sentence", "words"])
def test_the_form_takes_any_last_word(last: str) -> None:
    """Also one that elsewhere would not end a list, or could begin what follows."""
    facts = read(f"Describe a kettle in one sentence. {USE}, {last}. Under 40 words.")

    assert facts["words"] == ["steel", "quiet", last]


@pytest.mark.parametrize(
    "ending",
    [
        " in under 40 words.",
        ", under 40 words.",
        ", in under 40 words",
        " and under 40 words.",
        " in one sentence, under 40 words.",
        '; end with "Hello." Under 40 words.',
        " and do not use the words: hot. Under 40 words.",
        ", without using the word hot, under 40 words.",
        "! Under 40 words.",
        "\nUnder 40 words.",
    ],
)
def test_a_list_ends_where_the_next_thing_asked_for_begins(ending: str) -> None:
    """Whether or not a full stop stands between them."""
    facts = read(f"Describe a kettle. {USE}{ending}")

    assert (facts["words"], facts["limit"]) == (["steel", "quiet"], 39)


@pytest.mark.parametrize(
    ("listed", "words"),
    [
        ("steel, 1.5-litre, quiet", ["steel", "1.5-litre", "quiet"]),
        ("1,500-watt, steel", ["1,500-watt", "steel"]),
        ("St. Bernard, dog", ["St. Bernard", "dog"]),
        ("9 a.m. start, quiet", ["9 a.m. start", "quiet"]),
        ('"steel" and “quiet”', ["steel", "quiet"]),
        ("steel; quiet", ["steel", "quiet"]),
    ],
)
def test_a_word_may_hold_a_stop_or_a_comma(listed: str, words: list[str]) -> None:
    """A full stop ends a list before white space only, and not after a title."""
    assert read(f"Describe a kettle. Use these words: {listed}. Under 40 words.")["words"] == words


@pytest.mark.parametrize(
    ("asked", "thing"),
    [
        ("a 2.5 litre kettle in one sentence.", "2.5 litre kettle"),
        ("a 2,500 watt kettle.", "2,500 watt kettle"),
        ("a St. Bernard in one sentence.", "St. Bernard"),
        ("a St. Bernard.", "St. Bernard"),
        ("a 16:9 screen:", "16:9 screen"),
        ("a kettle in at most 50 words.", "kettle"),
        ("a kettle in seven sentences.", "kettle"),
        ("a kettle\n", "kettle"),
    ],
)
def test_a_thing_is_read_whole(asked: str, thing: str) -> None:
    """It ends where something else is asked for."""
    assert read(f"Describe {asked} {USE}. Under 40 words.")["thing"] == [thing]


def test_a_thing_may_run_into_the_words() -> None:
    """No comma is needed."""
    facts = read("Describe a kettle using these words: steel, quiet. Under 40 words.")

    assert (facts["thing"], facts["words"]) == (["kettle"], ["steel", "quiet"])


@pytest.mark.parametrize(("limit", "most"), [("Under 1,000", 999), ("At most 1,250", 1250)])
def test_a_limit_may_hold_a_comma(limit: str, most: int) -> None:
    """Thousands are not read as their last three digits."""
    assert read(f"Describe a kettle. {USE}. {limit} words.")["limit"] == most


@pytest.mark.parametrize("avoid", ["Without using", "Don't use", "Never include", "Avoid using"])
def test_words_to_avoid_are_not_words_to_use(avoid: str) -> None:
    """However that is said."""
    facts = read(f"Describe a kettle. {avoid} the words: hot, new. {USE}. Under 40 words.")

    assert (facts["words"], facts["unsaid"]) == (["steel", "quiet"], ["hot", "new"])


@pytest.mark.parametrize(("number", "count"), [("Four", 4), ("ten", 10), ("12", 12)])
def test_any_number_of_sentences_is_read(number: str, count: int) -> None:
    """As a word up to ten, or in digits."""
    assert read(f"Describe a kettle. {USE}. {number} sentences, under 90 words.")["sentences"] == (
        count
    )


@pytest.mark.parametrize(
    "request_text",
    [
        f"Describe a kettle. {USE}, around 40 words, at most 50 words.",
        f"Describe a kettle. {USE} in eleven sentences. Under 40 words.",
        f"Describe a kettle in a sentence. {USE}. Under 40 words.",
        f"Describe a kettle. {USE}. Do not use the words: hot, within 40 words, under 50 words.",
        f"Describe a kettle. {USE}. Forty words at most.",
    ],
)
def test_a_request_that_would_be_misread_is_refused(request_text: str) -> None:
    """The rest of the request is never taken for a word, and the form is shown."""
    with pytest.raises(PrepareError, match=r"cannot read the request .* write it like this"):
        read(request_text)
