"""Find rows whose inputs are nearly the same as those of a row in another split."""

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from redraft.records import Row

Shingles = frozenset[tuple[str, ...]]

LIKENESS = 0.9
WORDS = 3

_WORD = re.compile(r"\w+")


def find_neighbours(rows: Sequence[Row]) -> tuple[tuple[Row, Row], ...]:
    """Return, for each row that has one, a nearly equal row of another split.

    Two rows are nearly equal if at least 0.9 of the runs of three words in either one's inputs
    (case and punctuation aside) are in both.

    Args:
        rows: Rows with their splits.

    Returns:
        Pairs in the order of the rows; the second row stands before the first.
    """
    shingles = [_shingles(row) for row in rows]
    rarity = Counter(shingle for one in shingles for shingle in one)
    seen: dict[tuple[str, ...], list[int]] = {}
    pairs = []
    for number, own in enumerate(shingles):
        prefix = _prefix(own, rarity)
        likely = _candidates(prefix, seen)
        near = next((n for n in likely if _is_near(rows, shingles, number, n)), None)
        if near is not None:
            pairs.append((rows[number], rows[near]))
        for shingle in prefix:
            seen.setdefault(shingle, []).append(number)
    return tuple(pairs)


def _shingles(row: Row) -> Shingles:
    text = " ".join(str(value) for _, value in sorted(row.inputs.items()))
    words = _WORD.findall(text.casefold())
    return frozenset(
        tuple(words[start : start + WORDS]) for start in range(max(1, len(words) - WORDS + 1))
    )


def _prefix(own: Shingles, rarity: Mapping[tuple[str, ...], int]) -> list[tuple[str, ...]]:
    """Return the rarest shingles, so many that a nearly equal row shares at least one of them."""
    ordered = sorted(own, key=lambda shingle: (rarity[shingle], shingle))
    return ordered[: len(own) - math.ceil(LIKENESS * len(own)) + 1]


def _candidates(
    prefix: Sequence[tuple[str, ...]], seen: Mapping[tuple[str, ...], Sequence[int]]
) -> Iterator[int]:
    tried: set[int] = set()
    for shingle in prefix:
        for number in seen.get(shingle, ()):
            if number not in tried:
                tried.add(number)
                yield number


def _is_near(rows: Sequence[Row], shingles: Sequence[Shingles], one: int, other: int) -> bool:
    if rows[one].split == rows[other].split:
        return False
    shared = len(shingles[one] & shingles[other])
    return shared >= LIKENESS * len(shingles[one] | shingles[other])
