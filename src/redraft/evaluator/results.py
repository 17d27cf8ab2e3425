"""What came of rows: one result a row, and what they say together."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import fmean

from redraft.records import Answer, Attempt, Score, Split, StoppedBy, Usage
from redraft.statistics import mean_interval

CAP_STOPS: frozenset[StoppedBy] = frozenset({"max_revisions", "budget", "deadline"})


@dataclass(frozen=True, slots=True)
class RowResult:
    """What the program made of one row.

    Attributes:
        row_id: The row.
        group: Rows of one group are resampled together.
        answer: Everything that happened.
        score: Of the returned draft; None where the row is not measured.
        attempt_scores: Of each attempt's draft, in order; empty where the row is not measured.
        not_measured: Why there is no score, naming the model that did not answer; else None.
    """

    row_id: str
    group: str
    answer: Answer
    score: Score | None
    attempt_scores: tuple[Score, ...] = ()
    not_measured: str | None = None

    @property
    def checker_outage(self) -> str | None:
        """Why a measured row went unchecked, naming the checker's model; None where it did not.

        The draft is there and scored; what the loop would have made of it is not known.
        """
        failure = self.answer.failure
        if self.score is None or failure is None or failure.kind != "outage":
            return None
        return f"{failure.message}; the draft was scored without being checked"


@dataclass(frozen=True, slots=True)
class Evaluation:
    """A program's results on rows of one split; an unmeasured row counts as nothing, never as 0.

    Attributes:
        program: Its name; empty for a program made in memory.
        artifact_id: The artifact that answered; None for the program as its file stands.
        split: Where the rows come from.
        results: One per row, in the order of the rows.
        usage: Over all rows, those that are not measured included.
    """

    program: str
    artifact_id: str | None
    split: Split
    results: tuple[RowResult, ...]
    usage: Usage

    @property
    def measured(self) -> tuple[RowResult, ...]:
        """Results that have a score."""
        return tuple(r for r in self.results if r.score is not None)

    @property
    def scores(self) -> tuple[Score, ...]:
        """Scores of the measured rows, in the order of the rows."""
        return tuple(r.score for r in self.results if r.score is not None)

    @property
    def n(self) -> int:
        """Rows that are measured."""
        return len(self.scores)

    @property
    def not_measured(self) -> int:
        """Rows without a score."""
        return len(self.results) - self.n

    @property
    def checker_outages(self) -> int:
        """Measured rows whose checker's model did not answer."""
        return sum(r.checker_outage is not None for r in self.results)

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why rows are not measured or went unchecked, each reason once; they name the model."""
        found = (r.not_measured or r.checker_outage for r in self.results)
        return tuple(dict.fromkeys(reason for reason in found if reason))

    @property
    def cut_short(self) -> bool:
        """Whether a cap of the whole command, or a cancel, kept rows from being measured."""
        failures = (r.answer.failure for r in self.results if r.score is None)
        return any(f is not None and f.kind == "run_cap" for f in failures)

    @property
    def mean(self) -> float | None:
        """Mean score in [0, 1]; None where no row is measured."""
        return fmean(s.value for s in self.scores) if self.n else None

    @property
    def interval(self) -> tuple[float | None, float | None]:
        """Lower and upper end of the mean's two-sided 95 % interval; None where none is claimed."""
        if not self.n:
            return None, None
        values = [s.value for s in self.scores]
        _, low, high = mean_interval(values, groups=[r.group for r in self.measured])
        return low, high

    @property
    def low(self) -> float | None:
        """Lower end of the mean's interval."""
        return self.interval[0]

    @property
    def high(self) -> float | None:
        """Upper end of the mean's interval."""
        return self.interval[1]

    @property
    def pass_rate(self) -> float | None:
        """Share of measured rows that pass the rubric, in [0, 1]."""
        return _share([s.passed for s in self.scores])

    @property
    def revisions_mean(self) -> float | None:
        """Mean number of revisions of the measured rows."""
        return _share([r.answer.revisions for r in self.measured])

    @property
    def cap_hit_rate(self) -> float | None:
        """Share of measured rows whose loop ended at a cap: revisions, calls or seconds."""
        return _share([r.answer.stopped_by in CAP_STOPS for r in self.measured])

    def record(self) -> dict[str, object]:
        """Return what `redraft evaluate --json` prints."""
        low, high = self.interval
        return {
            "program": self.program,
            "artifact_id": self.artifact_id,
            "split": self.split,
            "n": self.n,
            "not_measured": self.not_measured,
            "checker_outages": self.checker_outages,
            "mean": self.mean,
            "low": low,
            "high": high,
            "pass_rate": self.pass_rate,
            "revisions_mean": self.revisions_mean,
            "cap_hit_rate": self.cap_hit_rate,
            "usage": asdict(self.usage),
        }


def row_record(result: RowResult, split: Split) -> dict[str, object]:
    """Return a result as the JSON object that is written for its row."""
    answer = result.answer
    scores = result.attempt_scores or (None,) * len(answer.attempts)
    return {
        "row_id": result.row_id,
        "group": result.group,
        "split": split,
        "not_measured": result.not_measured,
        "stopped_by": answer.stopped_by,
        "passed": answer.passed,
        "returned": answer.returned,
        "unmet": list(answer.unmet),
        "score": None if result.score is None else _score_record(result.score),
        "attempts": [
            _attempt_record(attempt, score)
            for attempt, score in zip(answer.attempts, scores, strict=True)
        ],
        "usage": asdict(answer.usage),
    }


def _attempt_record(attempt: Attempt, score: Score | None) -> dict[str, object]:
    verdict = attempt.verdict
    return {
        "number": attempt.number,
        "draft": attempt.draft,
        "passed": None if verdict is None else verdict.passed,
        "findings": [] if verdict is None else [asdict(f) for f in verdict.findings],
        "not_asked": [] if verdict is None else list(verdict.not_asked),
        "score": None if score is None else _score_record(score),
        "usage": asdict(attempt.usage),
        "seconds": attempt.seconds,
    }


def _score_record(score: Score) -> dict[str, object]:
    return {
        "value": score.value,
        "passed": score.passed,
        "measures": dict(score.measures),
        "feedback": list(score.feedback),
    }


def _share(claims: Sequence[float]) -> float | None:
    return fmean(claims) if claims else None
