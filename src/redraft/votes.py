"""Several reviews of one draft summed up: what the checker says more often than not."""

from collections import Counter
from collections.abc import Sequence

from redraft.records import Criterion, Finding, FindingStatus
from redraft.verdict import Review, cannot_assess


def is_decided(reviews: Sequence[Review], criteria: Sequence[Criterion], *, votes: int) -> bool:
    """Tell whether further votes can change nothing about the must-pass criteria.

    Args:
        reviews: One per vote so far, each with a finding per criterion, in order.
        criteria: The criteria that were asked.
        votes: Votes there may be at most; odd.
    """
    left = votes - len(reviews)
    return all(
        _is_settled(_count(reviews, place), left, votes=votes)
        for place, criterion in enumerate(criteria)
        if criterion.must_pass
    )


def majority(reviews: Sequence[Review], criteria: Sequence[Criterion]) -> tuple[Finding, ...]:
    """Return one finding per criterion: the first one with the status that most votes gave.

    Most is more than half of the votes cast. A vote that could not be used counts as
    `cannot_assess`, and so does a criterion on which no status has most votes.

    Args:
        reviews: One per vote, each with a finding per criterion, in order; at least one.
        criteria: The criteria that were asked.
    """
    return tuple(_elected(reviews, place, criterion) for place, criterion in enumerate(criteria))


def _count(reviews: Sequence[Review], place: int) -> Counter[FindingStatus]:
    return Counter(review.findings[place].status for review in reviews)


def _is_settled(count: Counter[FindingStatus], left: int, *, votes: int) -> bool:
    needed = votes // 2 + 1
    most = max(count.values(), default=0)
    return most >= needed or most + left < needed


def _elected(reviews: Sequence[Review], place: int, criterion: Criterion) -> Finding:
    ((status, most),) = _count(reviews, place).most_common(1)
    if most * 2 > len(reviews):
        return next(r.findings[place] for r in reviews if r.findings[place].status == status)
    told = ", ".join(f"{n} {name}" for name, n in sorted(_count(reviews, place).items()))
    return cannot_assess(criterion, f"no status has most of the {len(reviews)} votes: {told}")
