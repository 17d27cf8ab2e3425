"""Rules that a later draft breaks although an earlier one kept them."""

from collections.abc import Sequence
from dataclasses import dataclass

from redraft.records.attempts import Attempt


@dataclass(frozen=True, slots=True)
class Regression:
    """A rule that went from met to unmet.

    Attributes:
        id: The rule.
        met_in: Number of the attempt where it was last met.
        unmet_in: Number of the later attempt where it is unmet.
    """

    id: str
    met_in: int
    unmet_in: int


def regressions(attempts: Sequence[Attempt]) -> tuple[Regression, ...]:
    """Return every rule that went from met to unmet, in the order in which it happened.

    Attempts that did not decide a rule are passed over: met, not asked, unmet is a regression.
    """
    last_met: dict[str, int] = {}
    found: list[Regression] = []
    for attempt in attempts:
        for finding in attempt.verdict.findings if attempt.verdict is not None else ():
            if finding.status == "met":
                last_met[finding.id] = attempt.number
            elif finding.status == "unmet" and finding.id in last_met:
                met_in = last_met.pop(finding.id)
                found.append(Regression(finding.id, met_in, attempt.number))
    return tuple(found)
