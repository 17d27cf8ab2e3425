"""Drafts that are asked for in one batch: once, for half the price, and also after a crash."""

import asyncio
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import dspy
import pytest
from claude import SMALL

from redraft.budget import Meter, RunCaps
from redraft.errors import BudgetError, ConfigError, ModelError, OutageError
from redraft.evaluator import Evaluation, EvaluationRun, evaluate, evaluate_rows
from redraft.lm import Model, Models, Retry, connect
from redraft.lm.batches import Batch
from redraft.program import Program
from redraft.records import Check, Loop, Row, Usage
from redraft.rubric import Measure, Rubric
from redraft.testing import Scripted
from redraft.testing.messages_api import MessagesApi
from redraft.testing.messages_api.refusals import RefusedError

OFF = Loop(enabled=False)
NEVER = Check("never", lambda facts, draft: "Say more.", "It says more.")
ROWS = [
    Row(f"r{n}", {"request": f"Write about kettle number {n}, please."}, split="val")
    for n in range(6)
]
RUBRIC = Rubric([Measure("says", 1.0, lambda row, draft: float("kettle" in draft))])
BATCHES = "/v1/messages/batches"


def say(body: Any) -> str:
    """Repeat the task."""
    return str(body["messages"][-1]["content"][-1]["text"])


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> Iterator[MessagesApi]:
    """Return the stand-in, to which the environment points."""
    with MessagesApi(say) as api:
        for name, value in api.environment.items():
            monkeypatch.setenv(name, value)
        yield api


class Run:
    """Evaluations in one project, with pauses that take no time."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.folder = root / "batches"
        self.pauses: list[float] = []
        self.seen: list[tuple[int, int]] = []

    def models(self, *, recorded: bool = True, name: str = SMALL) -> Models:
        """Return Claude as the drafter."""
        return connect(
            {"drafter": name},
            root=self.root,
            recorded=self.root / "replies.sqlite" if recorded else None,
            retry=Retry(sleep=self.pauses.append),
        )

    def evaluate(
        self,
        rows: list[Row] = ROWS,
        *,
        caps: RunCaps | None = None,
        models: Models | None = None,
        program: Program | None = None,
    ) -> Evaluation:
        """Evaluate in a batch."""
        models = models or self.models()
        found = (program or Program("request -> note", loop=OFF)).with_models(models)
        run = EvaluationRun(meter=Meter(caps), batches=self.folder, progress=self._progress)
        try:
            return evaluate(found, RUBRIC, rows, run=run)
        finally:
            models.close()

    def _progress(self, done: int, total: int, usage: Usage) -> None:
        del usage
        self.seen.append((done, total))


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Return evaluations in an empty project."""
    return Run(tmp_path)


def handed_in(api: MessagesApi) -> list[int]:
    """Return the sizes of the batches that were handed in."""
    bodies = [r.body for r in api.requests if r.path == BATCHES and r.body is not None]
    return [len(body["requests"]) for body in bodies]


def test_one_batch_answers_every_row_for_half_the_price(api: MessagesApi, run: Run) -> None:
    """The drafts are those that single calls would give."""
    single_models = run.models(recorded=False)
    program = Program("request -> note", loop=OFF)
    single = evaluate_rows(program.with_models(single_models), ROWS, RUBRIC, split="val")
    single_models.close()

    batched = run.evaluate()

    assert handed_in(api) == [6]
    assert [r.answer.draft for r in batched.results] == [r.answer.draft for r in single.results]
    assert batched.mean == 1.0
    assert single.usage.cost_usd is not None
    assert batched.usage.cost_usd == pytest.approx(single.usage.cost_usd / 2)
    assert batched.usage.calls == 6
    assert list(run.folder.iterdir()) == []


def test_a_second_run_asks_nobody(api: MessagesApi, run: Run) -> None:
    """The replies of a batch are recorded like any others."""
    run.evaluate()
    asked = len(api.requests)

    again = run.evaluate()

    assert len(api.requests) == asked
    assert again.usage.reread == 6


def test_progress_is_told_while_it_waits(api: MessagesApi, run: Run) -> None:
    """Pauses grow, up to a minute."""
    api.batches.polls = 9

    run.evaluate()

    assert run.pauses == [1, 2, 4, 8, 16, 32, 60, 60, 60]
    assert run.seen[:2] == [(0, 6), (0, 6)]
    assert run.seen[-1] == (6, 6)


@pytest.mark.parametrize("recorded", [True, False])
def test_a_crash_costs_nothing(
    api: MessagesApi, run: Run, monkeypatch: pytest.MonkeyPatch, recorded: bool
) -> None:
    """The id is on disk before it is waited for; the same evaluation goes on with the batch."""
    models = run.models(recorded=recorded)

    def die(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(type(models.of("drafter").engine), "state", die)
        with pytest.raises(KeyboardInterrupt):
            run.evaluate(models=models)
    note = json.loads((run.folder / "msgbatch_001.json").read_text("utf-8"))

    resumed = run.evaluate(models=run.models(recorded=recorded))

    assert (note["batch_id"], len(note["custom_ids"])) == ("msgbatch_001", 6)
    assert "kettle" not in json.dumps(note)
    assert handed_in(api) == [6]
    assert resumed.n == 6
    assert list(run.folder.iterdir()) == []


def test_fewer_rows_go_on_with_the_batch_that_holds_them(api: MessagesApi, run: Run) -> None:
    """And leave the rest of it to be fetched later."""
    with pytest.raises(OutageError, match="the same command goes on with it"):
        run.evaluate(caps=RunCaps(max_seconds=1e-9))

    few = run.evaluate(ROWS[:2])
    all_of_them = run.evaluate()

    assert handed_in(api) == [6]
    assert (few.n, all_of_them.n) == (2, 6)
    assert all_of_them.usage.reread == 2
    assert list(run.folder.iterdir()) == []


def lose(api: MessagesApi, outcome: str) -> None:
    """Let the batch answer nothing that was asked about kettles 1 and 2."""
    create = api.batches.answer

    def answer(rest: str, body: Any) -> Any:
        for request in body["requests"] if body else ():
            if any(f"number {n}," in say(request["params"]) for n in (1, 2)):
                api.batches.lost[request["custom_id"]] = outcome
        return create(rest, body)

    api.batches.answer = answer  # type: ignore[method-assign]


@pytest.mark.parametrize("outcome", ["errored", "expired", "canceled"])
def test_what_a_batch_loses_is_not_measured(api: MessagesApi, run: Run, outcome: str) -> None:
    """It is no zero, it costs nothing, and the next run asks for it alone."""
    lose(api, outcome)
    lost = run.evaluate()
    api.batches.lost.clear()
    api.batches.answer = type(api.batches).answer.__get__(api.batches)  # type: ignore[method-assign]

    whole = run.evaluate()

    assert [r.row_id for r in lost.results if r.not_measured] == ["r1", "r2"]
    assert all(outcome in str(reason) for reason in lost.reasons)
    assert lost.mean == 1.0
    assert lost.usage.cost_usd is not None
    assert handed_in(api) == [6, 2]
    assert whole.n == 6


def test_a_request_that_the_api_refuses_is_not_measured(api: MessagesApi, run: Run) -> None:
    """The reason is told, without the prompt."""
    lose(api, "errored")

    lost = run.evaluate()

    assert lost.reasons
    assert all("api_error: Lost." in reason for reason in lost.reasons)
    assert not any("kettle" in reason for reason in lost.reasons)


@pytest.mark.parametrize(
    ("caps", "what"),
    [
        (RunCaps(max_calls=5), "max_calls is 5"),
        (RunCaps(max_tokens=500), "max_tokens is 500"),
        (RunCaps(max_cost_usd=0.001), "max_cost_usd is 0.001"),
    ],
)
def test_a_cap_must_have_room_for_all_of_it(
    api: MessagesApi, run: Run, caps: RunCaps, what: str
) -> None:
    """Nothing is handed in otherwise."""
    with pytest.raises(BudgetError, match=what):
        run.evaluate(caps=caps)

    assert handed_in(api) == []


def test_a_cap_in_dollars_needs_a_price_of_batches(api: MessagesApi, run: Run) -> None:
    """Prices of one's own name none."""
    models = connect(
        {"drafter": SMALL}, root=run.root, tables={"prices": {SMALL: {"input": 1, "output": 5}}}
    )

    with pytest.raises(ModelError, match="costs is not known"):
        run.evaluate(caps=RunCaps(max_cost_usd=50), models=models)

    assert handed_in(api) == []


def test_a_price_of_batches_that_is_not_known_stays_unknown(api: MessagesApi, run: Run) -> None:
    """Without a cap in dollars the batch is handed in."""
    models = connect(
        {"drafter": SMALL},
        root=run.root,
        retry=Retry(sleep=run.pauses.append),
        tables={"prices": {SMALL: {"input": 1, "output": 5}}},
    )

    assert run.evaluate(models=models).usage.cost_usd is None
    assert handed_in(api) == [6]


@pytest.mark.usefixtures("api")
@pytest.mark.parametrize("name", ["anthropic-bedrock/claude", "scripted"])
def test_only_the_claude_api_takes_batches(
    run: Run, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Any other model is refused in a sentence, before anything is spent."""
    monkeypatch.setenv("AWS_BEARER_TOKEN_BEDROCK", "token")
    monkeypatch.setenv("AWS_REGION", "eu-west-1")
    models = Models(drafter=Model(Scripted("Yes.")))
    if name != "scripted":
        models = run.models(name=name)

    with pytest.raises(ModelError, match="takes no batches"):
        run.evaluate(models=models)


@pytest.mark.usefixtures("api")
def test_a_loop_takes_more_than_one_wave(run: Run) -> None:
    """So it must be turned off."""
    with pytest.raises(ConfigError, match="--no-loop"):
        run.evaluate(program=Program("request -> note", checks=[NEVER]))


def test_a_refused_batch_is_handed_in_again(api: MessagesApi, run: Run) -> None:
    """Where the refusal says that it was not taken."""
    answer = api.batches.answer
    refusals = [RefusedError("Overloaded", 529)]

    def busy(rest: str, body: Any) -> Any:
        if refusals and not rest:
            raise refusals.pop()
        return answer(rest, body)

    api.batches.answer = busy  # type: ignore[method-assign]

    assert run.evaluate().n == 6
    assert handed_in(api) == [6, 6]


def test_a_provider_that_stays_away_is_an_outage(api: MessagesApi, run: Run) -> None:
    """The batch is written down, and the message says that it goes on."""
    answer = api.batches.answer

    def busy(rest: str, body: Any) -> Any:
        if rest:
            raise RefusedError("Broken", 500)
        return answer(rest, body)

    api.batches.answer = busy  # type: ignore[method-assign]
    with pytest.raises(OutageError, match="batch msgbatch_001 cannot be asked for"):
        run.evaluate()
    api.batches.answer = answer  # type: ignore[method-assign]

    assert run.evaluate().n == 6
    assert handed_in(api) == [6]


def test_a_batch_that_was_not_taken_is_an_outage(api: MessagesApi, run: Run) -> None:
    """It may have been taken after all, so it is not handed in twice."""

    def broken(*_: Any) -> Any:
        raise RefusedError("Broken", 500)

    api.batches.answer = broken  # type: ignore[method-assign,assignment]

    with pytest.raises(OutageError, match="did not take the batch"):
        run.evaluate()
    assert handed_in(api) == [6]


def test_a_batch_that_is_gone_names_its_file(api: MessagesApi, run: Run) -> None:
    """Deleting it asks again."""
    with pytest.raises(OutageError):
        run.evaluate(caps=RunCaps(max_seconds=1e-9))
    file = run.folder / "msgbatch_001.json"
    file.write_text(file.read_text("utf-8").replace("msgbatch_001", "msgbatch_777"), "utf-8")

    with pytest.raises(ConfigError, match=r"msgbatch_777\.json"):
        run.evaluate()
    assert handed_in(api) == [6]


@pytest.mark.usefixtures("api")
@pytest.mark.parametrize(
    "text", ["{", "[]", '{"schema": "other"}', '{"schema": "redraft.batch/1"}']
)
def test_a_file_that_is_no_batch_is_named(run: Run, text: str) -> None:
    """It might be one that was paid for."""
    run.folder.mkdir()
    (run.folder / "broken.json").write_text(text, "utf-8")

    with pytest.raises(ConfigError, match=r"broken\.json"):
        run.evaluate()


class TwoCalls(dspy.Module):  # type: ignore[misc]  # DSPy has no types
    """A drafter that plans first."""

    def __init__(self) -> None:
        super().__init__()
        self.plan = dspy.Predict("request -> plan")
        self.write = dspy.Predict("request, plan -> note")

    def forward(self, request: str) -> dspy.Prediction:
        """Plan, then write."""
        return self.write(request=request, plan=self.plan(request=request).plan)


@pytest.mark.usefixtures("api")
def test_a_draft_of_two_calls_is_refused(run: Run) -> None:
    """The second waits for the first."""
    with pytest.raises(ConfigError, match="a draft here takes 2"):
        run.evaluate(program=Program(TwoCalls(), draft_field="note", loop=OFF))


def test_a_batch_needs_a_model(tmp_path: Path) -> None:
    """As any evaluation does."""
    with pytest.raises(ModelError, match="no model is named"):
        evaluate(
            Program("request -> note", loop=OFF),
            RUBRIC,
            ROWS,
            run=EvaluationRun(batches=tmp_path),
        )


def test_a_reply_that_is_no_message_is_not_measured(
    api: MessagesApi, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Like any failure of the provider."""
    del api
    monkeypatch.setattr(
        "redraft.testing.messages_api.batches.message_of",
        lambda *_, **__: {"content": None, "usage": {}},
    )

    lost = run.evaluate()

    assert lost.n == 0
    assert "not the form of the Messages API" in lost.reasons[0]


@pytest.mark.usefixtures("api")
def test_what_a_batch_does_not_change_is_the_models_own(run: Run) -> None:
    """Counts, bounds and keys."""
    models = run.models()
    drafter = models.of("drafter")
    batched = Batch(drafter, run.folder).model
    request = Program("request -> note").render("draft", {"request": "Write."})
    request = replace(request, model=SMALL)

    batched.verify()
    assert batched.count_request(request) == drafter.count_request(request)
    assert batched.bound(request) == drafter.bound(request)
    assert batched.count_tokens("x") is None
    assert batched.fingerprint == drafter.fingerprint
    models.close()


@pytest.mark.usefixtures("api")
def test_tasks_may_ask_too(run: Run) -> None:
    """Noting and answering need no thread."""
    models = run.models()
    batch = Batch(models.of("drafter"), run.folder)
    program = Program("request -> note", loop=OFF).with_models(Models(drafter=batch.model))

    noted = asyncio.run(program.aanswer(request="A kettle, please."))
    batch.fetch(Meter())
    answered = asyncio.run(program.aanswer(request="A kettle, please."))
    models.close()

    assert noted.draft is None
    assert answered.draft == "A kettle, please."
