"""Nearly equal rows in different splits."""

import random
import time

from redraft.records import Row, Split
from redraft.trainset import make_trainset
from redraft.trainset.neighbours import find_neighbours

TEXT = "The lift in the north tower is out of service from the third until the ninth of May " * 4


def row(id: str, text: str, split: Split) -> Row:
    """Return a row with one input."""
    return Row(id, {"request": text}, split=split)


def test_finds_a_row_that_differs_in_a_word_only() -> None:
    """Case and punctuation do not count."""
    one = row("a", TEXT, "train")
    other = row("b", TEXT.upper() + " Thanks!", "test")

    assert find_neighbours([one, other]) == ((other, one),)


def test_rows_of_one_split_are_not_meant() -> None:
    """A repeated row in `train` leaks nothing."""
    assert find_neighbours([row("a", TEXT, "train"), row("b", TEXT, "train")]) == ()


def test_other_texts_are_not_near() -> None:
    """A form in common is not enough."""
    one = row("a", "Describe a kettle in one sentence. Use: steel, quiet.", "train")
    other = row("b", "Describe a kettle in one sentence. Use: red, tall.", "test")

    assert find_neighbours([one, other]) == ()


def test_short_texts_are_compared_whole() -> None:
    """Texts of fewer words than a run, the empty one included."""
    rows = [row("a", "Hello", "train"), row("b", "hello!", "val"), row("c", "", "test")]

    assert find_neighbours(rows) == ((rows[1], rows[0]),)


def test_all_inputs_count() -> None:
    """Rows that differ in their second input are different."""
    one = Row("a", {"x": "same", "y": "one two three"}, split="train")
    other = Row("b", {"x": "same", "y": "four five six"}, split="test")

    assert find_neighbours([one, other]) == ()


def test_a_trainset_warns_of_neighbours() -> None:
    """The count, and two rows to look at."""
    rows = [row("a", TEXT, "train"), row("b", TEXT, "test"), row("c", TEXT, "test")]

    (warning,) = make_trainset(rows).warnings

    assert warning == (
        "2 rows are nearly the same as a row in another split, such as 'b' (test) and 'a' "
        "(train); give such rows one group, else a split is no fresh test of another"
    )


def test_one_neighbour_is_one_row() -> None:
    """The sentence is in the singular, and names lines where there are some."""
    rows = [
        Row("a", {"x": TEXT}, split="val", line=4),
        Row("b", {"x": TEXT}, split="train", line=7),
    ]

    (warning,) = make_trainset(rows).warnings

    assert warning.startswith("1 row is nearly the same as a row in another split, such as 'b' (")
    assert "'b' (line 7, train) and 'a' (line 4, val)" in warning


def test_two_thousand_rows_take_under_two_seconds() -> None:
    """Even where all are nearly the same, or share most of their words."""
    words = random.Random(0).choices([f"w{n}" for n in range(300)], k=80_000)
    alike = [Row(f"a{n}", {"x": f"{TEXT} {n}"}) for n in range(2000)]
    mixed = [Row(f"m{n}", {"x": f"{TEXT} {words[n * 40 : n * 40 + 40]}"}) for n in range(2000)]

    for rows in (alike, mixed):
        started = time.perf_counter()
        make_trainset(rows)

        assert time.perf_counter() - started < 2
