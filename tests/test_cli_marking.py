"""Drafts with quotes and changes marked."""

import pytest

from redraft.cli.marking import marked_quotes, quote_spans, word_diff
from redraft.records import Finding


def finding(quote: str) -> Finding:
    return Finding("rule", "unmet", "", quote, "Say more.", by="model", must_pass=True)


def marked(draft: str, *quotes: str) -> str:
    return marked_quotes(draft, quote_spans(draft, [finding(q) for q in quotes])).plain


@pytest.mark.parametrize(
    ("draft", "quote", "shown"),
    [
        ("The rent is due.", "rent is", "The [rent is](1) due."),
        ("The rent\n is due.", "rent is", "The [rent\n is](1) due."),
        ("He said “yes”.", 'said "yes"', "He [said “yes”](1)."),
        ("It’s late.", "It's", "[It’s](1) late."),
        ("The rent is due.", "deposit", "The rent is due."),
        ("The rent is due.", " ", "The rent is due."),
    ],
)
def test_a_quote_is_found_whatever_its_spaces_and_marks(draft: str, quote: str, shown: str) -> None:
    """As a checker's quote is accepted, so it is marked."""
    assert marked(draft, quote) == shown


def test_quotes_are_numbered_by_their_findings() -> None:
    """Not by where they stand."""
    assert marked("one two three", "three", "one") == "[one](2) two [three](1)"


def test_a_quote_inside_another_is_left_out() -> None:
    """Marks do not overlap."""
    assert marked("one two three", "two", "one two") == "[one two](2) three"


def test_changes_are_marked_in_plain_text() -> None:
    """What went, what came."""
    assert word_diff("a b c", "a d c e", plain=True).plain == "a [-b-]{+d+} c{+ e+}"


def test_changes_are_styled_where_there_is_colour() -> None:
    """Without marks of their own."""
    text = word_diff("a b", "a c", plain=False)

    assert text.plain == "a bc"
    assert [str(span.style) for span in text.spans] == ["red strike", "green"]


def test_one_text_twice_has_no_marks() -> None:
    """Nothing changed."""
    assert word_diff("a b", "a b", plain=True).plain == "a b"
