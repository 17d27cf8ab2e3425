"""Writes one answer into the store while it is being made."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from redraft.calls import CallOutcome, NoReply, call_digest
from redraft.events import (
    AnswerStarted,
    AnswerStopped,
    CallEnded,
    CallStarted,
    DraftMade,
    DraftStarted,
    Event,
    RevisionStarted,
    VerdictMade,
)
from redraft.loop import difference
from redraft.records import Answer, Attempt, Options, ProgramState, Role, Usage
from redraft.replies import Reply
from redraft.traces.codec import dump
from redraft.traces.database import Database, Statement
from redraft.traces.redaction import Redactor
from redraft.traces.trace import Start, StoredCall, call_usage
from redraft.verdict import digest

Clock = Callable[[], datetime]


class TraceWriter:
    """The recording of one answer: each event is on disk before the next thing happens.

    Args:
        database: Where it is written.
        trace_id: Its id.
        redactor: Of this answer.
        now: The time, with its zone.
        made: Calls of earlier runs of the same answer; None for a new answer.
    """

    def __init__(
        self,
        database: Database,
        trace_id: str,
        *,
        redactor: Redactor,
        now: Clock,
        made: Sequence[StoredCall] | None = None,
    ) -> None:
        self.trace_id = trace_id
        self._database = database
        self._redactor = redactor
        self._now = now
        self._resumes = made is not None
        self._spent = _Spent()
        for call in made or ():
            key = (call.attempt, call.role == "checker")
            self._spent.add(key, call_usage(call), call.seconds or 0.0)
        self._number = 0
        self._gaps: tuple[str, ...] = ()
        self._judging = False
        self._attempts: list[Attempt] = []

    def __call__(self, event: Event) -> None:
        """Write what an event tells.

        Raises:
            TraceError: It cannot be written, or the redaction failed.
        """
        match event:
            case AnswerStarted():
                self._start(event)
            case DraftStarted(number=number):
                self._number, self._gaps = number, ()
            case RevisionStarted(number=number, gaps=gaps):
                self._number, self._gaps = number, gaps
            case CallStarted():
                self._begin_call(event)
            case CallEnded():
                self._end_call(event)
            case DraftMade(draft=draft):
                self._attempts.append(self._attempt(draft))
                self._write(self._attempt_row(len(self._attempts)))
            case VerdictMade(verdict=verdict):
                judged = replace(self._attempts[-1], verdict=verdict)
                self._attempts[-1] = self._spent.charged(judged)
                self._write(self._attempt_row(len(self._attempts)))
            case AnswerStopped(answer=answer):
                self._stop(answer)

    def _start(self, event: AnswerStarted) -> None:
        start = dump(start_of(event), self._redactor.applies)
        if self._resumes:
            sql = (
                "UPDATE traces SET artifact_id = ?, start = ?, resumed = resumed + 1, "
                "ended = NULL, stopped_by = NULL, passed = NULL, answer = NULL WHERE id = ?"
            )
            self._write((sql, (event.artifact_id, start, self.trace_id)))
            return
        sql = (
            "INSERT INTO traces (id, program, artifact_id, started, start, redacted) "
            "VALUES (?, ?, ?, ?, ?, 0)"
        )
        values = (self.trace_id, event.program, event.artifact_id, self._time(), start)
        self._write((sql, values))

    def _begin_call(self, event: CallStarted) -> None:
        call = event.call
        self._judging = call.settings.role == "checker"
        sql = (
            "INSERT INTO calls (trace_id, sequence, attempt, predictor, role, model, digest, "
            "started) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
        )
        values = (call.predictor, call.settings.role, event.model, call_digest(call), self._time())
        self._write((sql, (self.trace_id, event.sequence, self._number, *values)))

    def _end_call(self, event: CallEnded) -> None:
        self._spent.add((self._number, self._judging), event.usage, event.seconds)
        outcome = dump({outcome_word(event.outcome): event.outcome}, self._redactor.applies)
        sql = (
            "UPDATE calls SET outcome = ?, usage = ?, seconds = ? "
            "WHERE trace_id = ? AND sequence = ?"
        )
        values = (outcome, dump(event.usage), event.seconds, self.trace_id, event.sequence)
        self._write((sql, values))

    def _attempt(self, draft: str) -> Attempt:
        before = self._attempts[-1].draft if self._attempts else None
        diff, share = ("", None) if before is None else difference(before, draft)
        attempt = Attempt(
            number=self._number,
            draft=draft,
            verdict=None,
            diff=diff,
            share_changed=share,
            usage=Usage(),
            seconds=0.0,
            gaps=self._gaps,
        )
        return self._spent.charged(attempt)

    def _attempt_row(self, number: int) -> Statement:
        attempt = self._attempts[number - 1]
        if number > 1:
            # A text that spans lines could be recognised in the drafts, yet not in their diff.
            drafts = [self._redactor(a.draft) for a in self._attempts[number - 2 : number]]
            if self._redactor.has_changed:
                attempt = replace(attempt, diff=difference(*drafts)[0])
        sql = "INSERT OR REPLACE INTO attempts VALUES (?, ?, ?)"
        return sql, (self.trace_id, number, dump(attempt, self._redactor.applies))

    def _stop(self, answer: Answer) -> None:
        self._attempts = list(answer.attempts)
        rows = [self._attempt_row(attempt.number) for attempt in answer.attempts]
        sql = "UPDATE traces SET ended = ?, stopped_by = ?, passed = ?, answer = ? WHERE id = ?"
        gone = (
            "DELETE FROM attempts WHERE trace_id = ? AND number > ?",
            (self.trace_id, len(rows)),
        )
        whole = dump(replace(answer, attempts=()), self._redactor.applies)
        passed = None if answer.passed is None else int(answer.passed)
        values = (self._time(), answer.stopped_by, passed, whole, self.trace_id)
        self._write(*rows, gone, (sql, values))

    def _write(self, *statements: Statement) -> None:
        if self._redactor.has_changed:
            redacted = ("UPDATE traces SET redacted = 1 WHERE id = ?", (self.trace_id,))
            self._database.write(*statements, redacted)
        else:
            self._database.write(*statements)

    def _time(self) -> str:
        return timestamp(self._now())


class _Spent:
    """What calls spent so far, by attempt and by whether they judged its draft."""

    def __init__(self) -> None:
        self._usage: dict[tuple[int, bool], Usage] = {}
        self._seconds: dict[tuple[int, bool], float] = {}

    def add(self, key: tuple[int, bool], usage: Usage, seconds: float) -> None:
        """Add what a call spent."""
        self._usage[key] = self._usage.get(key, Usage()) + usage
        self._seconds[key] = self._seconds.get(key, 0.0) + seconds

    def charged(self, attempt: Attempt) -> Attempt:
        """Return an attempt with what its calls spent."""
        drafting, judging = (attempt.number, False), (attempt.number, True)
        check_usage = self._usage.get(judging, Usage())
        check_seconds = self._seconds.get(judging, 0.0)
        return replace(
            attempt,
            usage=self._usage.get(drafting, Usage()) + check_usage,
            seconds=self._seconds.get(drafting, 0.0) + check_seconds,
            check_usage=check_usage,
            check_seconds=check_seconds,
        )


def start_of(event: AnswerStarted) -> Start:
    """Return what is kept of an answer's beginning."""
    return Start(
        inputs=event.inputs,
        seed=event.seed,
        models=event.models,
        checker_digest=event.checker_digest,
        prompts=prompt_digests(event.state),
        options=options_digest(event.state.options),
        loop=event.state.loop,
    )


def prompt_digests(state: ProgramState) -> dict[str, str]:
    """Return the SHA-256 (hex) of each predictor's instructions and demos, by name."""
    return {name: digest(repr(predictor)) for name, predictor in state.predictors.items()}


def options_digest(options: Mapping[Role, Options]) -> str:
    """Return the SHA-256 (hex) of what each role asks of its model."""
    return digest(*(f"{role} {options[role]!r}" for role in sorted(options)))


def outcome_word(outcome: CallOutcome) -> str:
    """Return under which word the outcome of a call is stored."""
    if isinstance(outcome, Reply):
        return "reply"
    return "failed" if isinstance(outcome, NoReply) else "halted"


def timestamp(time: datetime) -> str:
    """Return a time in ISO 8601, UTC, milliseconds: texts that sort as the times do."""
    return time.astimezone(UTC).isoformat(timespec="milliseconds")
