"""Stored drafts judged again, by another checker or artifact, and how far the two agree."""

from collections.abc import Sequence
from dataclasses import dataclass

from redraft.budget import Meter
from redraft.loop import Halted
from redraft.program import Program
from redraft.records import Attempt
from redraft.session import AnswerRun
from redraft.traces.store import TraceStore
from redraft.traces.trace import Recheck


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """How far new verdicts agree with the old ones on the same drafts.

    Attributes:
        drafts: Drafts that both judged.
        same_verdict: Drafts that both passed or both failed.
        now_passed: Drafts that only the new one passed.
        now_failed: Drafts that only the old one passed.
        findings: Rules that both decided, over all drafts.
        same_finding: Those with the same status.
    """

    drafts: int = 0
    same_verdict: int = 0
    now_passed: int = 0
    now_failed: int = 0
    findings: int = 0
    same_finding: int = 0

    def __add__(self, other: "Agreement") -> "Agreement":
        return Agreement(
            drafts=self.drafts + other.drafts,
            same_verdict=self.same_verdict + other.same_verdict,
            now_passed=self.now_passed + other.now_passed,
            now_failed=self.now_failed + other.now_failed,
            findings=self.findings + other.findings,
            same_finding=self.same_finding + other.same_finding,
        )


def recheck(
    store: TraceStore, trace_id: str, program: Program, *, meter: Meter | None = None
) -> tuple[Recheck, ...]:
    """Judge every draft of a trace again and store what was decided; nothing is drafted.

    Args:
        store: Where the trace is.
        trace_id: The trace.
        program: Judges; its inputs must be those of the trace.
        meter: The command's; once it is spent, the rest of the drafts is left out.

    Raises:
        TraceError: There is no such trace, or it cannot be written.
        InputError, PrepareError, ModelError: As when the program answers.
    """
    trace = store.load(trace_id)
    done: list[Recheck] = []
    for attempt in trace.attempts:
        run = AnswerRun(seed=trace.start.seed, meter=meter)
        outcome = program.verdict_on(trace.start.inputs, attempt.draft, run)
        if isinstance(outcome, Halted):
            break
        judged = Recheck(
            number=attempt.number,
            judged=store.time(),
            artifact_id=program.artifact_id,
            checker=_checker(program),
            verdict=outcome.verdict,
            usage=outcome.usage,
        )
        store.add_recheck(trace.id, judged)
        done.append(judged)
    return tuple(done)


def agreement(attempts: Sequence[Attempt], rechecks: Sequence[Recheck]) -> Agreement:
    """Return how far new verdicts on some drafts of an answer agree with the old ones."""
    old = {attempt.number: attempt.verdict for attempt in attempts}
    total = Agreement()
    for new in rechecks:
        before = old.get(new.number)
        if before is None:
            continue
        statuses = {finding.id: finding.status for finding in before.findings}
        both = [finding for finding in new.verdict.findings if finding.id in statuses]
        total += Agreement(
            drafts=1,
            same_verdict=int(before.passed == new.verdict.passed),
            now_passed=int(new.verdict.passed and not before.passed),
            now_failed=int(before.passed and not new.verdict.passed),
            findings=len(both),
            same_finding=sum(finding.status == statuses[finding.id] for finding in both),
        )
    return total


def _checker(program: Program) -> str | None:
    if program.models is None or not program.criteria:
        return None
    return program.models.names().get("checker")
