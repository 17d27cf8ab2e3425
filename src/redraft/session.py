"""One answer under way: each step of the loop as calls that somebody else makes."""

import hashlib
import json
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from redraft.adapter import CallSettings, as_text, labelled
from redraft.budget import Caps, Meter
from redraft.calls import Call, CallOutcome, LostCall, NoReply, RecordedCall
from redraft.errors import CheckError
from redraft.events import Observe, Recording
from redraft.loop import (
    Checked,
    CheckStep,
    Drafted,
    Failed,
    Halted,
    LoopEnd,
    Outcome,
    ReviseStep,
    Step,
    run_loop,
)
from redraft.records import (
    Answer,
    Check,
    Criterion,
    Effort,
    Failure,
    Left,
    Loop,
    Options,
    Role,
    Usage,
    Verdict,
)
from redraft.replies import Reply, is_visible
from redraft.signatures import CRITERIA, DRAFT, FINDINGS, GAPS, PREVIOUS_DRAFT
from redraft.verdict import (
    Review,
    findings_schema,
    make_verdict,
    review_reply,
    run_checks,
    unmet_ids,
    unusable_reply,
)
from redraft.votes import is_decided, majority

_DEFAULT_OPTIONS = Options()
# A checker that thinks for longer is worth it: what it misses is shipped.
_DEFAULT_EFFORT: Mapping[Role, Effort] = {"checker": "high"}


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerRun:
    """Circumstances of one answer that are not part of the program.

    Attributes:
        seed: Run seed; with `seed_key` and the attempt it makes the seed of every call.
        seed_key: The row's id, or None for the digest of the inputs.
        row_id: The row, for errors; None while answering.
        facts: What `prepare` made of the inputs already; None to run it.
        meter: The command's meter, in which every call is reserved as well.
        caps: Hard stops of this answer.
        strict: Whether a check that raises is an error; otherwise it ends `checker_failed`.
        observe: Called with every event, in order.
        recording: Keeps the answer; in place of the one that the program's recorder would begin.
        recorded: Calls that an interrupted run of the same answer made; they are not made again.
    """

    seed: int = 0
    seed_key: str | None = None
    row_id: str | None = None
    facts: Mapping[str, Any] | None = None
    meter: Meter | None = None
    caps: Caps | None = None
    strict: bool = False
    observe: Observe | None = None
    recording: Recording | None = None
    recorded: tuple[RecordedCall | LostCall, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Spec:
    """What tuning does not change of a program; copies of a program share it.

    Attributes:
        name: The program's name; empty for one made in memory.
        inputs: Fields that a caller gives.
        draft_inputs: Input fields of the drafter, prepared ones included.
        draft_field: The output that is the draft.
        checks: In order.
        criteria: In order.
        prepare: `prepare(inputs) -> dict`, or None.
        prepared: Predictor fields that `prepare` supplies.
        files: Files that `prepare` or the checks read, relative to `programs/NAME/`.
        sources: The user's own `check` and `revise` signatures, or None.
    """

    name: str = ""
    inputs: tuple[str, ...] = ()
    draft_inputs: tuple[str, ...] = ()
    draft_field: str = ""
    checks: tuple[Check, ...] = ()
    criteria: tuple[Criterion, ...] = ()
    prepare: Callable[[dict[str, Any]], Mapping[str, object]] | None = None
    prepared: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    sources: tuple[Any, Any] = (None, None)

    def __deepcopy__(self, memo: dict[int, object]) -> "Spec":
        return self


@dataclass(frozen=True, slots=True)
class Session:
    """The state of one answer; nothing in it is shared with another.

    Attributes:
        spec: The program's fixed part.
        loop: Its loop settings.
        options: By role.
        facts: Inputs and what `prepare` added.
        checker_digest: Digest of checks, criteria and the checker's prompt.
        run: Circumstances of this answer.
    """

    spec: Spec
    loop: Loop
    options: Mapping[Role, Options]
    facts: Mapping[str, Any]
    checker_digest: str
    run: AnswerRun

    def perform(self, step: Step) -> Generator[Call, CallOutcome, Outcome]:
        """Yield the calls that a step needs, be sent what came of each, return its outcome."""
        if isinstance(step, CheckStep):
            return (yield from self._check(step))
        if isinstance(step, ReviseStep):
            call = self._revise_call(step)
        else:
            again = step.number > 1
            call = Call(
                DRAFT, self.draft_fields, self.settings("drafter", step.number, again=again)
            )
        result = yield call
        if isinstance(result, Halted):
            return result
        if isinstance(result, NoReply):
            return Failed(result.failure)
        given = result.fields.get(self.spec.draft_field)  # a module may leave it out
        draft = "" if given is None else str(given)
        if not is_visible(draft):
            return Failed(Failure("empty", call.settings.role, "the draft was empty"))
        return Drafted(draft)

    def machine(self) -> Generator[Step, Outcome, LoopEnd]:
        """Return the loop of this answer."""
        return run_loop(self.loop, checked=bool(self.spec.checks or self.spec.criteria))

    @property
    def draft_fields(self) -> dict[str, Any]:
        """Values of the drafter's input fields."""
        return {name: self.facts[name] for name in self.spec.draft_inputs}

    def _revise_call(self, step: ReviseStep) -> Call:
        gaps = "\n".join(f"- {gap}" for gap in step.gaps)
        fields = self.draft_fields | {PREVIOUS_DRAFT: step.draft, GAPS: gaps}
        return Call("revise", fields, self.settings("reviser", step.number))

    def _check(self, step: CheckStep) -> Generator[Call, CallOutcome, Outcome]:
        try:
            findings = run_checks(
                self.spec.checks,
                self.facts,
                step.draft,
                program=self.spec.name,
                row_id=self.run.row_id,
            )
        except CheckError as error:
            if self.run.strict:
                raise
            failure = Failure("check_error", "checker", str(error))
            return Checked(make_verdict((), step.draft, self.checker_digest, failure=failure))
        failed = any(f.must_pass and f.status != "met" for f in findings)
        criteria = self.spec.criteria
        if not criteria or (failed and not self.loop.ask_after_failed_checks):
            verdict = make_verdict(findings, step.draft, self.checker_digest, not_asked=criteria)
            return Checked(verdict)
        votes = yield from self._ask(step)
        if isinstance(votes, Halted):
            return votes
        verdict = make_verdict(
            (*findings, *majority([vote.review for vote in votes], criteria)),
            step.draft,
            self.checker_digest,
            replies=[vote.replies for vote in votes],
            failure=votes[-1].failure if votes[-1].is_outage else None,
        )
        return Checked(verdict)

    def _ask(self, step: CheckStep) -> Generator[Call, CallOutcome, Halted | list["_Vote"]]:
        """Ask for votes until they agree, a call is down, or a further one could not be read."""
        cast: list[_Vote] = []
        while len(cast) < self.loop.votes:
            vote = yield from self._vote(step, len(cast) + 1)
            if isinstance(vote, Halted):
                return vote
            cast.append(vote)
            reviews = [vote.review for vote in cast]
            decided = is_decided(reviews, self.spec.criteria, votes=self.loop.votes)
            if decided or vote.is_final:
                break
        return cast

    def _vote(self, step: CheckStep, number: int) -> Generator[Call, CallOutcome, "Halted | _Vote"]:
        settings = self.settings("checker", step.number, again=number > 1)
        if number > 1:
            seed = call_seed(self.run.seed, self.seed_key, step.number, vote=number)
            settings = replace(settings, seed=seed)
        fields = self.check_fields(step.draft)
        first = yield Call("check", fields, settings)
        if isinstance(first, Halted):
            return first
        vote = self._voted(first, step.draft)
        if vote.is_final or not vote.review.needs_repair:
            return vote
        second = yield Call("check", fields, _repairing(settings, vote.review, first.text))
        if isinstance(second, Halted):
            return second
        return self._voted(second, step.draft, (first.text,))

    def _voted(self, result: Reply | NoReply, draft: str, earlier: tuple[str, ...] = ()) -> "_Vote":
        criteria, replies = self.spec.criteria, (*earlier, result.text)
        if isinstance(result, Reply):
            hidden = [check.id for check in self.spec.checks]
            task = labelled(self.draft_fields)
            review = review_reply(result.text, criteria, draft, task=task, hidden_ids=hidden)
            return _Vote(review, replies)
        problem = f"The reply was {result.failure.kind}."
        review = unusable_reply(criteria, result.failure.message, problem)
        return _Vote(review, replies, result.failure)

    def check_fields(self, draft: str) -> dict[str, Any]:
        """Values of the checker's input fields: the task, the draft and the criteria."""
        return self.draft_fields | {DRAFT: draft, CRITERIA: criteria_text(self.spec.criteria)}

    def settings(self, role: Role, attempt: int = 1, *, again: bool = False) -> CallSettings:
        """Return how a role is called on an attempt; `again` draws the same request anew."""
        options = self.options.get(role, _DEFAULT_OPTIONS)
        settings = CallSettings(
            role=role,
            max_tokens=options.max_tokens,
            temperature=options.resample_temperature if again else options.temperature,
            effort=options.effort or _DEFAULT_EFFORT.get(role),
            seed=call_seed(self.run.seed, self.seed_key, attempt),
        )
        if role != "checker":
            return settings
        return replace(
            settings,
            system_fields=(CRITERIA,),
            fenced=DRAFT,
            fence_key=self.checker_digest,
            schema={FINDINGS: findings_schema(self.spec.criteria)},
            raw=FINDINGS,
        )

    @property
    def seed_key(self) -> str:
        """What stands for the row in seeds: its id, or a digest of the inputs."""
        return _digest(self.facts) if self.run.seed_key is None else self.run.seed_key


def criteria_text(criteria: Sequence[Criterion]) -> str:
    """Return the criteria as the checker reads them, one a line with its id."""
    return "\n".join(f"- {c.id}: {c.statement}" for c in criteria)


def call_seed(run_seed: int, key: str, attempt: int, *, vote: int = 1) -> int:
    """Return a call's seed in [0, 2**31 - 2], the same for the same run, row, attempt and vote."""
    text = json.dumps([run_seed, key, attempt] if vote == 1 else [run_seed, key, attempt, vote])
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4]) % (2**31 - 1)


def left_of(loop: Loop, end: LoopEnd, meter: Meter) -> Left:
    """Return what the loop and the answer's caps had left when it ended."""
    revisions = loop.max_revisions if loop.enabled else 0
    seconds = meter.seconds_left
    return Left(
        revisions=max(0, revisions + 1 - max(1, len(end.attempts))),
        calls=meter.calls_left,
        tokens=meter.tokens_left,
        seconds=None if seconds is None else max(0.0, seconds),
    )


def answer_of(
    end: LoopEnd,
    usage: Usage,
    artifact_id: str | None,
    *,
    trace_id: str | None = None,
    left: Left | None = None,
) -> Answer:
    """Return the answer of a loop that ended."""
    unchecked = end.stopped_by == "unchecked"
    answer = Answer(
        draft=None if end.returned is None else end.attempts[end.returned - 1].draft,
        passed=None if unchecked else end.stopped_by == "passed",
        stopped_by=end.stopped_by,
        unmet=(),
        attempts=end.attempts,
        returned=end.returned,
        best=end.best,
        usage=usage,
        failure=end.failure,
        artifact_id=artifact_id,
        trace_id=trace_id,
        left=left,
    )
    verdict = returned_verdict(answer)
    return answer if verdict is None else replace(answer, unmet=unmet_ids(verdict))


def returned_verdict(answer: Answer) -> Verdict | None:
    """Return the verdict on the draft that an answer returns; None where it was not judged."""
    return None if answer.returned is None else answer.attempts[answer.returned - 1].verdict


def _digest(facts: Mapping[str, Any]) -> str:
    text = json.dumps({k: as_text(v) for k, v in facts.items()}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class _Vote:
    """What the checker made of a draft once: a review, what it said, and why it said nothing."""

    review: Review
    replies: tuple[str, ...]
    failure: Failure | None = None

    @property
    def is_outage(self) -> bool:
        return self.failure is not None and self.failure.kind == "outage"

    @property
    def is_final(self) -> bool:
        """Whether asking again would fail in the same way."""
        return self.is_outage or (self.failure is not None and self.failure.kind == "too_long")


def _repairing(settings: CallSettings, review: Review, first_reply: str) -> CallSettings:
    return replace(
        settings, seed=settings.seed + 1, repair=_repair_text(review), first_reply=first_reply
    )


def _repair_text(review: Review) -> str:
    problems = "\n".join(f"- {problem}" for problem in review.problems)
    return f"That reply cannot be used:\n{problems}\nJudge again and reply in the form asked for."
