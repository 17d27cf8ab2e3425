"""Many answers at once: each is right for its own input, and every budget is exact."""

import asyncio
import json
import os
import random
import re
import threading
import zlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest
from dspy.lm15 import Request

from redraft.budget import Caps, Meter, RunCaps
from redraft.lm.wire import message_text, request_digest
from redraft.program import AnswerRun, Program
from redraft.records import Answer, Check, Criterion, Loop
from redraft.testing import Reply, Scripted, fenced, models_of

COUNT = 500 if os.environ.get("REDRAFT_FULL") else 50
AT_ONCE = 32
JOBS = tuple(range(COUNT))
JOB = re.compile(r"job-(\d+)\b")
FAULTS = ("none", "drafter 429", "checker malformed", "checker outage", "reviser refuses", "empty")

Run = Callable[[Program, Sequence[AnswerRun]], list[Answer]]


def chance(job: int, what: str, among: int) -> int:
    """Return a number below `among` that depends on nothing but job and purpose."""
    return zlib.crc32(f"{job} {what}".encode()) % among


def fault_of(job: int) -> str:
    return FAULTS[chance(job, "fault", len(FAULTS))]


def tries_of(job: int) -> int:
    """Return the attempt that a job passes on, from 1; 4 is beyond the cap."""
    return 1 + chance(job, "tries", 4)


def job_in(text: str) -> int:
    """Return the one job that a text speaks of."""
    (found,) = {int(number) for number in JOB.findall(text)}
    return found


class World:
    """Models that do what a job needs, now and then late, and now and then wrongly.

    A request that mixes two jobs up, or comes back more often than it should, is an error.

    Args:
        slow: Whether replies take their time.
    """

    def __init__(self, *, slow: bool) -> None:
        self._slow = slow
        self._seen: Counter[str] = Counter()
        self._lock = threading.Lock()
        self.engine = Scripted(self.reply, parallel=AT_ONCE)

    def program(self, **loop: int) -> Program:
        """Return the program of every job."""
        return Program(
            "request -> notice",
            checks=[Check("is_final", is_final, "The notice is final.")],
            criteria=[Criterion("kind_tone", "The reader is addressed kindly.")],
            loop=Loop(max_revisions=2, **loop),  # type: ignore[arg-type]  # all are numbers
        ).with_models(models_of(self.engine))

    def reply(self, request: Request) -> Reply:
        """Answer a request of any role."""
        job = job_in("\n".join(message_text(m) for m in request.messages))
        with self._lock:
            key = request_digest(request)
            self._seen[key] += 1
            times = self._seen[key]
        said = self._said(request, job, fault_of(job), times)
        delay = random.random() * 0.004 if self._slow else 0.0
        return Reply(said.text, fail=said.fail, delay_seconds=delay)

    def _said(self, request: Request, job: int, fault: str, times: int) -> Reply:
        last = message_text(request.messages[-1])
        if "Judge the draft" in str(request.system):
            return checked(request, job, fault)
        if "Previous draft:" not in last:
            if fault == "drafter 429" and times == 1:
                return Reply(fail="rate_limit")
            return Reply(written(job, 1), fail="empty" if fault == "empty" else None)
        (version,) = re.findall(r"version (\d)", last)
        refuses = fault == "reviser refuses"
        return Reply(written(job, int(version) + 1), fail="refuse" if refuses else None)


def written(job: int, version: int) -> str:
    return f"job-{job} version {version}{' final' if version >= tries_of(job) else ''}"


def checked(request: Request, job: int, fault: str) -> Reply:
    """Judge the draft of a request, which must be of the same job as its task."""
    found = fenced(request)
    assert job_in(found.draft) == job_in(found.task) == job
    if fault == "checker outage":
        return Reply(fail="outage")
    if fault == "checker malformed" and len(request.messages) == 1:
        return Reply("no json")
    quote = f"job-{job}"
    finding = {"reason": f"about {job}", "status": "met", "quote": quote, "gap": ""}
    return Reply(json.dumps({"findings": {"kind_tone": finding}}))


def is_final(facts: Mapping[str, object], draft: str) -> str | None:
    job = job_in(str(facts["request"]))
    if job_in(draft) != job:
        raise ValueError(f"the draft {draft!r} is not of job {job}")
    return None if draft.endswith("final") else f"job-{job} is not final; make it final."


def expected(job: int) -> tuple[str, str | None, int]:
    """Return how a job ends without caps: its stop, its draft and its calls."""
    fault, tries = fault_of(job), tries_of(job)
    if fault == "empty":
        return "drafter_failed", None, 1
    extra = 1 if fault == "drafter 429" else 0
    if fault == "reviser refuses" and tries > 1:
        return "refused", written(job, 1), 2
    if tries > 3:
        return "max_revisions", written(job, 3), 3 + extra
    if fault == "checker outage":
        # Of several drafts the last one that was judged is returned.
        return "checker_failed", written(job, max(1, tries - 1)), tries + 3
    return "passed", written(job, tries), tries + 1 + extra + (fault == "checker malformed")


def inputs_of(run: AnswerRun) -> dict[str, str]:
    return {"request": f"Please do {run.row_id}."}


def in_threads(program: Program, runs: Sequence[AnswerRun]) -> list[Answer]:
    """Answer in as many threads as there may be."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return list(pool.map(lambda run: program.answer_run(inputs_of(run), run), runs))


def in_tasks(program: Program, runs: Sequence[AnswerRun]) -> list[Answer]:
    """Answer in as many tasks as there are jobs, and see that none is left over."""

    async def gathered() -> list[Answer]:
        answers = await asyncio.gather(*(program.aanswer_run(inputs_of(r), r) for r in runs))
        assert asyncio.all_tasks() == {asyncio.current_task()}
        return list(answers)

    return asyncio.run(gathered())


def runs_of(jobs: Sequence[int], meter: Meter | None = None) -> list[AnswerRun]:
    return [AnswerRun(row_id=f"job-{job}", seed_key=f"job-{job}", meter=meter) for job in jobs]


together = pytest.mark.parametrize("run", [in_threads, in_tasks])


def ended(answer: Answer) -> tuple[str, str | None, int]:
    return answer.stopped_by, answer.draft, answer.usage.calls


@pytest.mark.full
@together
def test_every_answer_is_right_for_its_own_input(run: Run) -> None:
    """Delays and faults of one answer change nothing about another."""
    answers = run(World(slow=True).program(), runs_of(JOBS))

    assert [ended(answer) for answer in answers] == [expected(job) for job in JOBS]
    for job, answer in zip(JOBS, answers, strict=True):
        assert answer.passed is (answer.stopped_by == "passed")
        assert all(job_in(attempt.draft) == job for attempt in answer.attempts)
        verdicts = [attempt.verdict for attempt in answer.attempts if attempt.verdict is not None]
        reasons = {f.reason for v in verdicts for f in v.findings if f.by == "model"}
        assert reasons <= {f"about {job}"} or answer.stopped_by == "checker_failed"


@pytest.mark.full
@together
def test_together_is_as_alone(run: Run) -> None:
    """Attempts, verdicts and usage are those of the same answers one after the other."""
    alone = [
        World(slow=False).program(votes=3).answer_run(inputs_of(one), one) for one in runs_of(JOBS)
    ]

    answers = run(World(slow=True).program(votes=3), runs_of(JOBS))

    for one, other in zip(alone, answers, strict=True):
        assert ended(one) == ended(other)
        assert one.usage == other.usage
        assert [a.verdict for a in one.attempts] == [a.verdict for a in other.attempts]


@pytest.mark.full
@together
def test_every_answers_own_cap_is_exact(run: Run) -> None:
    """An answer makes the calls it needs or those it may make, and never one more."""
    caps = [1 + chance(job, "cap", 4) for job in JOBS]
    runs = [
        AnswerRun(row_id=one.row_id, seed_key=one.seed_key, caps=Caps(max_calls=cap))
        for one, cap in zip(runs_of(JOBS), caps, strict=True)
    ]
    world = World(slow=True)

    answers = run(world.program(), runs)

    for job, cap, answer in zip(JOBS, caps, answers, strict=True):
        stop, _, calls = expected(job)
        assert answer.usage.calls == min(cap, calls)
        assert answer.stopped_by == (stop if calls <= cap else "budget")
        assert answer.failure is None or answer.failure.kind != "run_cap"
    assert len(world.engine.requests) == sum(answer.usage.calls for answer in answers)


@pytest.mark.full
@together
@pytest.mark.parametrize("share", [0.1, 0.5, 1.0])
def test_one_cap_over_all_answers_is_exact(run: Run, share: float) -> None:
    """The command spends its cap to the last call, whoever comes first, and not one more."""
    needed = sum(expected(job)[2] for job in JOBS)
    cap = int(needed * share)
    world, meter = World(slow=True), Meter(RunCaps(max_calls=cap))

    answers = run(world.program(), runs_of(JOBS, meter))

    assert len(world.engine.requests) == cap
    assert meter.spent.calls == cap
    assert sum(answer.usage.calls for answer in answers) == cap
    cut = [answer for answer in answers if answer.stopped_by == "budget"]
    assert all(answer.failure is not None for answer in cut)
    assert bool(cut) == (share < 1)
    for job, answer in zip(JOBS, answers, strict=True):
        assert answer.stopped_by == "budget" or ended(answer) == expected(job)


@together
def test_nothing_is_left_running(run: Run) -> None:
    """When the answers are there, no thread of theirs is."""
    before = set(threading.enumerate())

    run(World(slow=True).program(), runs_of(JOBS[:20]))

    assert set(threading.enumerate()) <= before


def test_cancelled_tasks_leave_nothing_behind() -> None:
    """Cancelling all answers stops all calls, those in flight too."""
    calls = Scripted(lambda request: Reply(fail="stall"))
    subject = World(slow=False).program().with_models(models_of(calls))
    before = set(threading.enumerate())

    async def cancelled() -> list[object]:
        tasks = [
            asyncio.create_task(subject.aanswer_run(inputs_of(one), one))
            for one in runs_of(JOBS[:10])
        ]
        await asyncio.sleep(0.2)
        for task in tasks:
            task.cancel()
        return list(await asyncio.gather(*tasks, return_exceptions=True))

    ends = asyncio.run(cancelled())

    assert all(isinstance(end, asyncio.CancelledError) for end in ends)
    assert set(threading.enumerate()) <= before


def test_a_deadline_over_all_answers_stops_them_all() -> None:
    """A command's time is up for every answer at once, and each says so."""
    stalled = Scripted(lambda request: Reply(fail="stall"))
    subject = World(slow=False).program().with_models(models_of(stalled))
    meter = Meter(RunCaps(max_seconds=0.3))

    answers = in_threads(subject, runs_of(JOBS[:20], meter))

    assert {answer.stopped_by for answer in answers} == {"deadline"}
    assert all(answer.failure and answer.failure.kind == "run_cap" for answer in answers)
    assert meter.seconds < 2


@pytest.mark.full
@together
@pytest.mark.parametrize("share", [0.2, 0.6])
def test_one_cap_on_tokens_is_never_passed(run: Run, share: float) -> None:
    """Whatever is in flight at once has reserved what it may need at most."""
    free, capped = World(slow=False), World(slow=True)
    unbounded = Meter()
    in_threads(free.program(), runs_of(JOBS, unbounded))
    needed = unbounded.spent.input_tokens + unbounded.spent.output_tokens
    meter = Meter(RunCaps(max_tokens=int(needed * share)))

    answers = run(capped.program(), runs_of(JOBS, meter))

    spent = meter.spent
    assert 0 < spent.input_tokens + spent.output_tokens <= int(needed * share)
    assert any(answer.stopped_by == "budget" for answer in answers)
    assert len(capped.engine.requests) == spent.calls
