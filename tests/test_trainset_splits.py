"""Assignment of rows to splits: properties that hold for any rows, and the named exceptions."""

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redraft.errors import TrainsetError
from redraft.records import SPLITS, Row, Split
from redraft.trainset.splits import SHARES, assign_splits, group_of, shares_gate

POOLED: dict[Split, float] = {"train": 0.25, "val": 0.30, "test": 0.45}


@st.composite
def row_sets(draw: st.DrawFn, max_rows: int = 260) -> list[Row]:
    """Return rows in groups of 1 to 4, with up to three tags."""
    n = draw(st.integers(0, max_rows))
    group_size = draw(st.integers(1, 4))
    tags = draw(st.lists(st.sets(st.sampled_from("abc")), min_size=1, max_size=7))
    return [
        Row(f"r{i}", {}, tags=tuple(tags[i % len(tags)]), group=f"g{i // group_size}")
        for i in range(n)
    ]


def by_id(rows: tuple[Row, ...]) -> dict[str, Split | None]:
    """Return the split of each row."""
    return {row.id: row.split for row in rows}


@given(row_sets())
def test_every_row_gets_one_split_and_nothing_else_changes(rows: list[Row]) -> None:
    """The rows come back in their order."""
    assigned = assign_splits(rows)

    assert [replace(row, split=None) for row in assigned] == rows
    assert all(row.split in SPLITS for row in assigned)


@given(row_sets())
def test_groups_stay_whole(rows: list[Row]) -> None:
    """No group is in two splits."""
    pairs = {(group_of(row), row.split) for row in assign_splits(rows)}

    assert len(pairs) == len({group for group, _ in pairs})


@given(row_sets(max_rows=60), st.randoms(use_true_random=False), st.integers(0, 5))
def test_the_order_of_rows_does_not_matter(rows: list[Row], random: object, seed: int) -> None:
    """A sorted or shuffled file has the same splits."""
    shuffled = list(rows)
    random.shuffle(shuffled)  # type: ignore[attr-defined]

    assert by_id(assign_splits(rows, seed=seed)) == by_id(assign_splits(shuffled, seed=seed))


@given(row_sets())
def test_sizes_are_as_near_the_shares_as_groups_allow(rows: list[Row]) -> None:
    """No split is off by a group or more."""
    sizes = Counter(row.split for row in assign_splits(rows))
    shares = POOLED if shares_gate(rows) else SHARES
    largest = max(Counter(group_of(row) for row in rows).values(), default=1)

    assert all(abs(sizes[split] - len(rows) * share) <= largest for split, share in shares.items())


def test_tags_are_spread_like_rows() -> None:
    """Each split has its share of a tag, the rare one included."""
    rows = [Row(f"r{i}", {}, tags=("rare",) if i % 10 == 0 else ("often",)) for i in range(400)]

    rare = Counter(row.split for row in assign_splits(rows) if "rare" in row.tags)

    assert all(abs(rare[split] - 40 * share) <= 1 for split, share in SHARES.items())


def test_another_seed_gives_other_splits() -> None:
    """The assignment is not an accident of the ids."""
    rows = [Row(f"r{i}", {}) for i in range(40)]

    assert by_id(assign_splits(rows, seed=1)) != by_id(assign_splits(rows, seed=2))


def test_a_named_split_is_kept_and_counts() -> None:
    """Rows without one fill what is missing."""
    rows = [Row(f"r{i}", {}, split="val" if i < 15 else None) for i in range(100)]

    assigned = assign_splits(rows)

    assert all(row.split == "val" for row in assigned[:15])
    assert Counter(row.split for row in assigned) == {"train": 25, "val": 30, "test": 45}


def test_a_named_split_holds_for_the_whole_group() -> None:
    """One row's word is enough."""
    rows = [Row("a", {}, group="g"), Row("b", {}, group="g", split="train")]

    assert by_id(assign_splits(rows)) == {"a": "train", "b": "train"}


def test_a_split_that_is_named_too_often_is_kept() -> None:
    """The others share what is left."""
    rows = [Row(f"r{i}", {}, split="train" if i < 60 else None) for i in range(100)]

    sizes = Counter(row.split for row in assign_splits(rows))

    assert sizes["train"] == 60
    assert sizes["val"] + sizes["test"] == 40


def test_conflicting_rows_of_one_group_are_an_error() -> None:
    """In memory there is no line to name, so the rows are."""
    rows = [Row("a", {}, group="g", split="val"), Row("b", {}, group="g", split="test")]

    with pytest.raises(TrainsetError) as caught:
        assign_splits(rows)

    assert caught.value.problems == (
        "row 'b': split 'test', but row 'a' puts group 'g' in 'val'; "
        "give all rows of a group the same split",
    )


@pytest.mark.parametrize(
    ("n", "named", "shared"),
    [
        (199, [None], True),
        (200, [None], False),
        (100, ["gate", None], True),
        (100, ["gate", "test", None], False),
        (300, ["train", "val", "test"], True),
        (300, ["train", "val", "test", None], False),
    ],
)
def test_when_gate_and_test_are_the_same(n: int, named: list[Split | None], shared: bool) -> None:
    """With few rows, or where the author made three splits; never where they named both."""
    rows = [Row(f"r{i}", {}, split=named[i % len(named)]) for i in range(n)]

    assert shares_gate(rows) is shared
    assert ("gate" in by_id(assign_splits(rows)).values()) is not shared


def test_no_rows_have_no_splits() -> None:
    """An empty set is no error here."""
    assert assign_splits([]) == ()
