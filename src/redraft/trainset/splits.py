"""Assign rows to splits: whole groups, near the shares, stratified by tags, whatever the order."""

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from redraft.errors import TrainsetError
from redraft.records import Row, Split

SHARES: Mapping[Split, float] = MappingProxyType(
    {"train": 0.25, "val": 0.30, "gate": 0.20, "test": 0.25}
)
# Below this a fifth of the rows is too few to tell anything, so `gate` and `test` share theirs.
ROWS_FOR_GATE_OF_ITS_OWN = 200


@dataclass(frozen=True, slots=True)
class _Group:
    """Rows that stay together.

    Attributes:
        name: The group.
        split: The split that its rows name; None where they leave it open.
        labels: How many of its rows have each tag; the empty tag counts all of them.
    """

    name: str
    split: Split | None
    labels: Mapping[str, int]

    @property
    def size(self) -> int:
        """Number of rows."""
        return self.labels[""]


@dataclass(slots=True)
class _Bin:
    """A split while it is filled."""

    split: Split
    target: int
    share: float
    filled: Counter[str] = field(default_factory=Counter)

    @property
    def room(self) -> int:
        """Rows that still belong here; below 0 if there are too many."""
        return self.target - self.filled[""]


def shares_gate(rows: Sequence[Row]) -> bool:
    """Return whether `gate` and `test` are the same rows.

    That is so under 200 rows, and where no row is left to fill the one that rows do not name;
    never where rows name both.
    """
    named = {row.split for row in rows}
    if {"gate", "test"} <= named:
        return False
    return len(rows) < ROWS_FOR_GATE_OF_ITS_OWN or None not in named


def find_group_conflicts(rows: Sequence[Row]) -> tuple[tuple[Row, str], ...]:
    """Return every row that names another split than its group, and a sentence about it."""
    first: dict[str, Row] = {}
    conflicts = []
    for row in rows:
        if row.split is None:
            continue
        other = first.setdefault(group_of(row), row)
        if other.split != row.split:
            line = f" (line {other.line})" if other.line is not None else ""
            found = f"split {row.split!r}, but row {other.id!r}{line} puts group {group_of(row)!r}"
            remedy = "give all rows of a group the same split"
            conflicts.append((row, f"{found} in {other.split!r}; {remedy}"))
    return tuple(conflicts)


def assign_splits(
    rows: Sequence[Row], *, seed: int = 0, shares: Mapping[Split, float] = SHARES
) -> tuple[Row, ...]:
    """Return the rows with their splits, in the same order.

    The assignment depends on ids, groups, tags and the seed, not on the order of the rows. Rows of
    one group share a split. A row that names its split keeps it, and so does its group. Where
    `gate` and `test` are the same rows, they are all in `test`.

    Args:
        rows: Rows with ids of their own.
        seed: Another seed gives another assignment.
        shares: Share of each split, in [0, 1]; together 1.

    Raises:
        TrainsetError: Rows of one group name different splits.
    """
    conflicts = find_group_conflicts(rows)
    if conflicts:
        problems = [f"row {row.id!r}: {problem}" for row, problem in conflicts]
        raise TrainsetError("rows cannot be split", problems)
    if shares_gate(rows):
        pooled = shares["gate"] + shares["test"]
        shares = {"train": shares["train"], "val": shares["val"], "test": pooled}
        rows = [replace(row, split="test") if row.split == "gate" else row for row in rows]
    groups = sorted(_groups(rows), key=lambda group: (-group.size, _hash(seed, group.name)))
    totals = sum((Counter(group.labels) for group in groups), Counter())
    bins = _bins(len(rows), shares)
    taken: dict[str, Split] = {}
    for group in (g for g in groups if g.split is not None):
        bin_ = next(b for b in bins if b.split == group.split)
        taken[group.name] = _put(group, bin_)
    for group in (g for g in groups if g.split is None):
        taken[group.name] = _put(group, _choose(group, bins, totals))
    return tuple(replace(row, split=taken[group_of(row)]) for row in rows)


def group_of(row: Row) -> str:
    """Return the row's group: its id where it names none."""
    return row.group or row.id


def _groups(rows: Sequence[Row]) -> Iterator[_Group]:
    members: dict[str, list[Row]] = {}
    for row in rows:
        members.setdefault(group_of(row), []).append(row)
    for name, group in members.items():
        labels = Counter(tag for row in group for tag in ("", *sorted(set(row.tags) - {""})))
        split = next((row.split for row in group if row.split is not None), None)
        yield _Group(name, split, labels)


def _bins(n: int, shares: Mapping[Split, float]) -> tuple[_Bin, ...]:
    """Return empty splits whose targets add up to n, by largest remainder."""
    exact = {split: n * share / sum(shares.values()) for split, share in shares.items()}
    targets = {split: int(rows) for split, rows in exact.items()}
    by_remainder = sorted(exact, key=lambda split: targets[split] - exact[split])
    for split in by_remainder[: n - sum(targets.values())]:
        targets[split] += 1
    return tuple(_Bin(split, targets[split], share) for split, share in shares.items())


def _choose(group: _Group, bins: Sequence[_Bin], totals: Mapping[str, int]) -> _Bin:
    """Return the split with room that has least of what the group brings."""
    fitting = [bin_ for bin_ in bins if bin_.room >= group.size]
    if not fitting:
        return max(bins, key=lambda bin_: bin_.room)
    return min(fitting, key=lambda bin_: _fullness(group, bin_, totals))


def _fullness(group: _Group, bin_: _Bin, totals: Mapping[str, int]) -> float:
    """Return how full the split would be of the group's labels, each against its share."""
    return sum(
        (bin_.filled[label] + count / 2) / (bin_.share * totals[label])
        for label, count in sorted(group.labels.items())
    )


def _put(group: _Group, bin_: _Bin) -> Split:
    bin_.filled.update(group.labels)
    return bin_.split


def _hash(seed: int, name: str) -> str:
    return hashlib.sha256(f"{seed}:{name}".encode()).hexdigest()
