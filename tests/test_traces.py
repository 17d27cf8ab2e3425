"""The store of answers: what is written when, and that it is read back as it was."""

import copy
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tiny_program import INPUTS, answered, broken_off, tiny

from redraft.budget import Caps
from redraft.calls import NoReply
from redraft.errors import TraceError
from redraft.events import AnswerStopped, CallStarted, DraftMade, Event, VerdictMade
from redraft.program import Program
from redraft.records import Answer, Criterion, Loop, Usage, Verdict
from redraft.replies import Reply
from redraft.session import AnswerRun
from redraft.testing import Reply as Said
from redraft.testing import Scripted, models_of
from redraft.traces import TraceFilter, TraceStore, TraceWriter, to_plain
from redraft.traces.codec import dump, load
from redraft.traces.database import Database


@pytest.fixture
def store(tmp_path: Path) -> TraceStore:
    return TraceStore(tmp_path / "traces.sqlite")


def test_an_answer_is_read_back_as_it_was(store: TraceStore) -> None:
    """The stored answer equals the one that was returned, drafts, verdicts, usage and all."""
    answer = answered(store)

    trace = store.load(answer.trace_id or "")

    assert trace.answer == answer
    assert trace.attempts == answer.attempts
    assert (trace.program, trace.artifact_id, trace.start.seed) == ("tiny", None, 0)
    assert trace.start.inputs == INPUTS
    assert trace.usage == answer.usage


def test_calls_are_kept_verbatim(store: TraceStore) -> None:
    """Each call says who was asked, for which attempt, what came of it and what it spent."""
    answer = answered(store)

    calls = store.load(answer.trace_id or "").calls

    assert [(c.sequence, c.attempt, c.role, c.model) for c in calls] == [
        (1, 1, "drafter", "scripted/drafter"),
        (2, 2, "reviser", "scripted/reviser"),
    ]
    assert calls[0].outcome == Reply({"notice": "hello"}, "hello")
    assert sum((c.usage or Usage() for c in calls), Usage()) == answer.usage


def test_a_failed_call_is_kept_with_its_reason(store: TraceStore) -> None:
    """An answer without a draft has a trace too."""
    answer = answered(store, drafter=Said(fail="empty"))

    trace = store.load(answer.trace_id or "")

    assert trace.answer == answer
    outcome = trace.calls[0].outcome
    assert isinstance(outcome, NoReply)
    assert outcome.failure.kind == "empty"


def test_what_was_told_is_written_before_the_answer_goes_on(store: TraceStore) -> None:
    """Whoever opens the store during an answer sees a true prefix: the call in flight included."""
    seen: list[tuple[int, int, bool]] = []

    def look(event: Event) -> None:
        if not isinstance(event, CallStarted | DraftMade | AnswerStopped):
            return
        (summary,) = TraceStore(store.path).summaries()
        trace = TraceStore(store.path).load(summary.id)
        flying = bool(trace.calls) and trace.calls[-1].outcome is None
        seen.append((len(trace.attempts), len(trace.calls), flying))

    subject = tiny().with_models(models_of(drafter="hello", reviser="sorry")).with_traces(store)
    subject.answer_run(INPUTS, AnswerRun(observe=look))

    assert seen == [(0, 1, True), (1, 1, False), (1, 2, True), (2, 2, False), (2, 2, False)]


def test_an_unfinished_answer_says_what_it_spent(store: TraceStore) -> None:
    """A call in flight counts as one call, its price as unknown."""
    trace = store.load(broken_off(store, CallStarted, count=2))

    assert (trace.answer, trace.ended) == (None, None)
    assert trace.usage.calls == 2
    assert trace.usage.cost_usd is None
    assert [attempt.draft for attempt in trace.attempts] == ["hello"]
    assert trace.attempts[0].usage.calls == 1


def test_an_unfinished_attempt_tells_what_judging_took(store: TraceStore) -> None:
    """Drafting and judging are charged apart, as in a finished answer."""
    met = {"reason": "", "status": "met", "quote": "", "gap": ""}
    reply = dump({"findings": {"kind": met}})
    subject = Program("request -> notice", criteria=[Criterion("kind", "It is kind.")])
    subject = subject.with_models(models_of(drafter="hi", checker=reply))

    trace = store.load(broken_off(store, VerdictMade, subject=subject))

    (attempt,) = trace.attempts
    assert attempt.verdict is not None
    assert (attempt.usage.calls, attempt.check_usage.calls) == (2, 1)


def test_a_list_counts_calls_that_were_made(store: TraceStore) -> None:
    """A call that a cap stopped before it was made is no call; one in flight is."""
    subject = tiny().with_traces(store).with_models(models_of(drafter="hello", reviser="hi a"))
    capped = subject.answer_run(INPUTS, AnswerRun(caps=Caps(max_calls=1)))
    broken_off(store, CallStarted, count=2)

    in_flight, stopped = store.summaries()

    assert (capped.usage.calls, len(store.load(capped.trace_id or "").calls)) == (1, 2)
    assert (stopped.calls, in_flight.calls) == (1, 2)


def test_traces_are_listed_newest_first(tmp_path: Path) -> None:
    """With program, end, attempts and calls; a limit keeps the newest."""
    store = ticking_store(tmp_path)
    answers = [answered(store), answered(store, drafter="sorry"), answered(store)]

    listed = store.summaries(limit=2)

    assert [s.id for s in listed] == [answers[2].trace_id, answers[1].trace_id]
    assert (listed[1].stopped_by, listed[1].passed) == ("passed", True)
    assert (listed[0].attempts, listed[0].calls) == (2, 2)


@pytest.mark.parametrize(
    ("wanted", "count"),
    [
        (TraceFilter(), 3),
        (TraceFilter(program="tiny"), 3),
        (TraceFilter(program="other"), 0),
        (TraceFilter(passed=True), 1),
        (TraceFilter(passed=False), 1),
        (TraceFilter(stopped_by="drafter_failed"), 1),
        (TraceFilter(finished=False), 1),
        (TraceFilter(finished=True, passed=True), 1),
    ],
)
def test_lists_can_be_filtered(store: TraceStore, wanted: TraceFilter, count: int) -> None:
    """By program, by outcome, by how they ended, and by whether they did."""
    answered(store)
    answered(store, drafter=Said(fail="empty"))
    broken_off(store, DraftMade)

    assert len(store.summaries(wanted)) == count
    assert len(list(store.traces(wanted))) == count


def test_a_trace_is_found_by_its_first_digits(store: TraceStore) -> None:
    """Four suffice where they are enough."""
    trace_id = answered(store).trace_id or ""

    assert store.load(trace_id[:4]).id == trace_id


@pytest.mark.parametrize("prefix", ["", "abc", "ffffffffffff", "%___"])
def test_an_unknown_trace_says_how_to_list_them(store: TraceStore, prefix: str) -> None:
    """Fewer than four digits are not enough, even for the only trace."""
    answered(store)

    with pytest.raises(TraceError, match="redraft traces list"):
        store.load(prefix)


def test_digits_that_fit_two_traces_are_refused(store: TraceStore) -> None:
    """Which of them is meant cannot be told."""
    answered(store)
    database = Database(store.path)
    for end in ("1", "2"):
        sql = "INSERT INTO traces (id, program, started, start, redacted) VALUES (?, '', '', '', 0)"
        database.write((sql, (f"zzzz{end}",)))

    with pytest.raises(TraceError, match="zzzz1 or zzzz2"):
        store.load("zzzz")


def ticking_store(folder: Path) -> TraceStore:
    """Return a store whose clock goes on by one hour with each look at it."""
    hours = iter(range(10_000))
    began = datetime(2026, 1, 1, tzinfo=UTC)
    return TraceStore(folder / "t.sqlite", now=lambda: began + timedelta(hours=next(hours)))


def test_prune_takes_the_oldest(tmp_path: Path) -> None:
    """The newest stay; calls, attempts and verdicts go with their trace."""
    store = ticking_store(tmp_path)
    answers = [answered(store) for _ in range(3)]

    pruned = store.prune(keep=1)

    assert pruned.ids == (answers[0].trace_id, answers[1].trace_id)
    assert [s.id for s in store.summaries()] == [answers[2].trace_id]
    rows = Database(store.path).read("SELECT DISTINCT trace_id FROM calls")
    assert [row["trace_id"] for row in rows] == [answers[2].trace_id]


def test_prune_spares_what_is_young_enough(tmp_path: Path) -> None:
    """Age is counted from when the answer began."""
    store = ticking_store(tmp_path)
    for _ in range(5):
        answered(store)

    assert store.prune(older_than_days=30).ids == ()
    assert len(store.prune(older_than_days=1, dry_run=True).ids) < 5


def test_a_dry_run_prunes_nothing(store: TraceStore) -> None:
    """It says what would go."""
    answered(store)

    pruned = store.prune(keep=0, dry_run=True)

    assert (len(pruned.ids), pruned.kept) == (1, 0)
    assert len(store.summaries()) == 1


def test_pruned_text_is_gone_from_the_file(store: TraceStore) -> None:
    """Deleting a trace takes its words off the disk."""
    answered(store, drafter="sorry, Mrs Quillfeather")

    store.prune(keep=0)
    store.close()

    files = list(store.path.parent.glob("traces.sqlite*"))
    assert not any(b"Quillfeather" in path.read_bytes() for path in files)


def test_copies_of_a_program_share_its_store(store: TraceStore) -> None:
    """Programs are copied freely; their store is not."""
    subject = tiny().with_traces(store).with_loop(Loop(max_revisions=0))

    answer = subject.with_models(models_of("sorry")).answer(**INPUTS)

    assert store.load(answer.trace_id or "").answer == answer


def test_fifty_threads_write_at_once(store: TraceStore) -> None:
    """Every answer is stored whole, and none holds a call of another."""
    replies = Scripted(lambda request: "sorry, " + str(request.messages[-1].parts[0].text))
    subject = tiny().with_models(models_of(replies)).with_traces(store)
    gate = threading.Barrier(50)

    def ask(number: int) -> Answer:
        gate.wait(timeout=60)
        return subject.answer(request=f"lift {number}")

    with ThreadPoolExecutor(50) as pool:
        answers = list(pool.map(ask, range(50)))

    assert len({answer.trace_id for answer in answers}) == 50
    for number, answer in enumerate(answers):
        trace = store.load(answer.trace_id or "")
        assert trace.answer == answer
        assert trace.start.inputs == {"request": f"lift {number}"}
        assert len(trace.calls) == 1


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> TraceStore:
    return TraceStore(tmp_path_factory.mktemp("store") / "t.sqlite")


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(answer=st.from_type(Answer))
def test_load_gives_what_was_saved(answer: Answer) -> None:
    """load(save(x)) is x for every answer that there can be; a NaN is equal only in print."""
    assert repr(load(Answer, dump(answer))) == repr(answer)


@settings(max_examples=25, deadline=None)
@given(drafts=st.lists(st.sampled_from(["a b", "a c", "sorry a"]), min_size=1, max_size=4))
def test_any_answer_is_read_back(shared: TraceStore, drafts: list[str]) -> None:
    """Whatever the drafter writes and however the loop ends, its trace gives the same answer."""
    subject = tiny(max_revisions=len(drafts) - 1, on_fail="resample")
    answer = subject.with_models(models_of(drafts)).with_traces(shared).answer(**INPUTS)

    assert shared.load(answer.trace_id or "").answer == answer


def test_half_a_character_survives() -> None:
    """A model's reply may hold what no encoding can."""
    verdict = Verdict(False, (), (), "d", "c", reply="so \ud83d")

    assert load(Verdict, dump(verdict)) == verdict


def test_a_copied_store_is_the_same_store(store: TraceStore) -> None:
    """Connections are not copied."""
    assert copy.copy(store) is copy.deepcopy(store) is store


def test_values_that_json_lacks_become_text() -> None:
    """Inputs may hold anything; what is stored can be read."""
    assert to_plain({"when": datetime(2026, 1, 1, tzinfo=UTC), 3: (1, None)}) == {
        "when": '"2026-01-01 00:00:00+00:00"',
        "3": [1, None],
    }


def test_a_field_that_came_later_takes_its_default() -> None:
    """Records grow; what was stored before is still read."""
    assert load(Usage, '{"calls": 2}') == Usage(calls=2)


def test_the_writer_is_the_recording_of_one_answer(store: TraceStore) -> None:
    """Its id is known before anything is written."""
    writer = store.begin()

    assert isinstance(writer, TraceWriter)
    assert len(writer.trace_id) == 12
    assert store.summaries() == ()
