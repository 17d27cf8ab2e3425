"""A program answers rows, a rubric scores them, and nothing that was not measured counts."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from redraft.budget import Meter, RunCaps
from redraft.errors import CheckError, ConfigError, MeasureError, ModelError, PrepareError
from redraft.evaluator import EvaluationRun, evaluate_rows, replayed, row_record
from redraft.program import Program
from redraft.records import Check, Criterion, Loop, Row
from redraft.rubric import Measure, Rubric
from redraft.testing import Reply, Rule, Scripted, models_of

ASKS = "request -> notice"


def length_gap(_: object, draft: str) -> str | None:
    """Return the gap of a draft that is shorter than three words."""
    return None if len(draft.split()) >= 3 else "Write three words or more."


LONG_ENOUGH = Check("long_enough", length_gap, "At least three words.")
SHARE = Measure("words", 1.0, lambda _, draft: min(len(draft.split()), 4) / 4)
RUBRIC = Rubric([SHARE, Measure.of(LONG_ENOUGH, 1.0)], passing=0.8)


def rows(count: int) -> list[Row]:
    """Return rows whose request is their number, two to a group."""
    return [
        Row(f"r{n}", {"request": f"Request {n}."}, group=f"g{n // 2}", split="val")
        for n in range(count)
    ]


def program(script: object, *, loop: Loop | None = None, **parts: object) -> Program:
    """Return a program with one check, answered by a script."""
    made = Program(ASKS, checks=[LONG_ENOUGH], loop=loop or Loop(on_fail="resample"), **parts)
    return made.with_models(models_of(script))


def by_number(request: object) -> str:
    """Reply with as many words as the number of the row, so every row has a score of its own."""
    text = str(request.messages[-1].parts[0].text)  # type: ignore[attr-defined]
    return " ".join(["word"] * (1 + int(text.split()[1].rstrip(".")) % 5))


def test_results_do_not_depend_on_the_number_of_threads() -> None:
    """Results are in row order, and equal, whatever the number of threads."""
    made = program(by_number, loop=Loop(max_revisions=0))

    one, many = (
        evaluate_rows(made, rows(12), RUBRIC, EvaluationRun(threads=threads), split="val")
        for threads in (1, 6)
    )

    assert [r.row_id for r in many.results] == [row.id for row in rows(12)]
    assert one.scores == many.scores
    assert one.record() == many.record()


def test_record_has_the_fields_of_the_design() -> None:
    """`evaluate --json` prints mean, interval, rates and usage."""
    made = program(by_number, loop=Loop(max_revisions=1, on_fail="resample"))

    record = evaluate_rows(made, rows(20), RUBRIC, split="val").record()

    assert list(record) == [
        "program",
        "artifact_id",
        "split",
        "n",
        "not_measured",
        "checker_outages",
        "mean",
        "low",
        "high",
        "pass_rate",
        "revisions_mean",
        "cap_hit_rate",
        "usage",
    ]
    assert (record["n"], record["not_measured"]) == (20, 0)
    assert record["mean"] == pytest.approx((0.125 + 0.25 + 0.875 + 1 + 1) / 5)
    assert record["pass_rate"] == pytest.approx(0.6)
    assert record["revisions_mean"] == pytest.approx(0.4)
    assert record["cap_hit_rate"] == pytest.approx(0.4)
    assert record["low"] < record["mean"] < record["high"]  # type: ignore[operator]


def test_drafter_outage_is_not_measured() -> None:
    """A model that does not answer makes no score, and the reason names it."""
    script = [Rule(Reply(fail="outage"), user="Request 1"), Rule("one two three four")]

    evaluation = evaluate_rows(program(script), rows(4), RUBRIC, split="val")

    assert (evaluation.n, evaluation.not_measured) == (3, 1)
    assert evaluation.mean == 1.0
    assert evaluation.results[1].score is None
    assert "scripted/test" in evaluation.reasons[0]
    assert not evaluation.cut_short


def test_outage_of_every_row_has_no_mean() -> None:
    """With nothing measured there is no number at all."""
    evaluation = evaluate_rows(program(Reply(fail="outage")), rows(3), RUBRIC, split="val")

    assert evaluation.not_measured == 3
    assert evaluation.mean is None
    assert (evaluation.low, evaluation.high) == (None, None)
    assert evaluation.pass_rate is None
    assert evaluation.record()["mean"] is None


def test_outage_while_trying_again_is_not_measured() -> None:
    """The draft before the outage is not what the program would have returned."""
    made = Program(ASKS, checks=[LONG_ENOUGH], loop=Loop(on_fail="revise"))
    made = made.with_models(models_of("short", reviser=Reply(fail="outage")))

    evaluation = evaluate_rows(made, rows(1), RUBRIC, split="val")

    assert evaluation.not_measured == 1


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (Reply("one two three four", fail="truncate"), "cut off"),
        (Reply(fail="empty"), "empty"),
        (Reply(fail="refuse"), "refused"),
    ],
)
def test_bad_first_draft_scores_zero_with_its_reason(reply: Reply, words: str) -> None:
    """A truncated, empty or refused draft is an answer: 0, and the reason is the feedback."""
    evaluation = evaluate_rows(program(reply), rows(1), RUBRIC, split="val")

    score = evaluation.scores[0]
    assert score.value == 0.0
    assert not score.passed
    assert words in score.feedback[0]


def test_failed_checker_is_measured_on_the_draft() -> None:
    """A checker that does not answer costs the loop, not the draft."""
    made = Program(
        ASKS, criteria=[Criterion("plain", "It is plain English.")], loop=Loop(on_fail="resample")
    )
    models = models_of("one two three four", checker=Reply(fail="outage"))

    evaluation = evaluate_rows(made.with_models(models), rows(1), RUBRIC, split="val")

    assert evaluation.results[0].answer.stopped_by == "checker_failed"
    assert evaluation.mean == 1.0
    assert (evaluation.not_measured, evaluation.checker_outages) == (0, 1)
    assert "scripted/" in evaluation.reasons[0]
    assert "without being checked" in evaluation.reasons[0]


def test_prepare_that_fails_costs_no_call() -> None:
    """Every row is prepared before the first call is made."""
    engine = Scripted("one two three four")

    def prepare(inputs: Mapping[str, Any]) -> Mapping[str, object]:
        if "3" in inputs["request"]:
            raise ValueError("no date in it")
        return {}

    made = program(engine, prepare=prepare)

    with pytest.raises(PrepareError, match="no date in it") as caught:
        evaluate_rows(made, rows(4), RUBRIC, split="val")

    assert caught.value.row_id == "r3"
    assert engine.requests == ()


def test_prepare_runs_once_a_row() -> None:
    """Checks and measures see the same facts, even where `prepare` would not repeat itself."""
    seen: list[object] = []
    runs: list[None] = []

    def count(_: object) -> dict[str, object]:
        runs.append(None)
        return {"run": len(runs)}

    def check(facts: Mapping[str, object], _: str) -> None:
        seen.append(facts["run"])

    def measure(row: Row, _: str) -> float:
        seen.append(row.inputs["run"])
        return 1.0

    made = Program(ASKS, prepare=count, checks=[Check("c", check, "r")])
    rubric = Rubric([Measure("m", 1.0, measure)])
    evaluate_rows(made.with_models(models_of("A draft.")), rows(1), rubric, split="val")

    assert seen == [1, 1]


def test_measures_see_what_prepare_added() -> None:
    """A measure reads facts in `row.inputs`."""
    made = program("one", prepare=lambda _: {"wanted": "one"}, loop=Loop(max_revisions=0))
    rubric = Rubric(
        [Measure("wanted", 1.0, lambda row, draft: float(row.inputs["wanted"] == draft))]
    )

    assert evaluate_rows(made, rows(1), rubric, split="val").mean == 1.0


def test_check_that_raises_is_an_error_offline() -> None:
    """A broken check stops the command and names check and row."""

    def broken(_facts: object, _draft: str) -> str | None:
        raise KeyError("dates")

    made = Program(ASKS, checks=[Check("dates", broken, "Has dates.")], loop=Loop(max_revisions=0))

    with pytest.raises(CheckError) as caught:
        evaluate_rows(made.with_models(models_of("text")), rows(2), RUBRIC, split="val")

    assert (caught.value.check_id, caught.value.row_id) == ("dates", "r0")


def test_measure_that_returns_seven_is_an_error() -> None:
    """A value outside [0, 1] is the measure's mistake, not a score."""
    rubric = Rubric([Measure("seven", 1.0, lambda _row, _draft: 7)])

    with pytest.raises(MeasureError, match="seven"):
        evaluate_rows(program("one two three"), rows(1), rubric, split="val")


def test_program_without_models_says_how_to_name_one() -> None:
    """No row is answered by accident with some default."""
    with pytest.raises(ModelError, match="--lm"):
        evaluate_rows(Program(ASKS, checks=[LONG_ENOUGH]), rows(1), RUBRIC, split="val")


def test_command_cap_leaves_rows_unmeasured() -> None:
    """Rows that the cap kept from being answered, or from being answered in full, do not count."""
    meter = Meter(RunCaps(max_calls=4))
    made = program("short")
    run = EvaluationRun(threads=1, meter=meter)

    evaluation = evaluate_rows(made, rows(4), RUBRIC, run, split="val")

    assert (evaluation.n, evaluation.not_measured) == (1, 3)
    assert evaluation.cut_short
    assert evaluation.usage.calls == 4


def test_sink_gets_one_object_a_row(tmp_path: Path) -> None:
    """Every attempt's draft, findings, score and usage can be read back."""
    sink = tmp_path / "out" / "rows.jsonl"
    run = EvaluationRun(threads=3, sink=sink)

    evaluation = evaluate_rows(program(by_number), rows(6), RUBRIC, run, split="val")

    lines = [json.loads(line) for line in sink.read_text("utf-8").splitlines()]
    assert [line["row_id"] for line in lines] == [f"r{n}" for n in range(6)]
    assert [line["score"]["value"] for line in lines] == [s.value for s in evaluation.scores]
    assert lines[0]["group"] == "g0"
    assert lines[0]["split"] == "val"
    assert [a["draft"] for a in lines[0]["attempts"]] == ["word", "word", "word"]
    assert lines[0]["attempts"][0]["findings"][0]["id"] == "long_enough"
    assert lines[0]["attempts"][0]["score"]["measures"] == {"words": 0.25, "long_enough": 0.0}
    assert lines[0]["attempts"][0]["usage"]["calls"] == 1
    assert lines[0]["usage"]["calls"] == 3
    assert lines == [json.loads(json.dumps(row_record(r, "val"))) for r in evaluation.results]


def test_unmeasured_row_is_written_with_its_reason(tmp_path: Path) -> None:
    """The file says which rows are missing, and why."""
    run = EvaluationRun(sink=tmp_path / "rows.jsonl")

    evaluate_rows(program(Reply(fail="outage")), rows(1), RUBRIC, run, split="val")

    line = json.loads((tmp_path / "rows.jsonl").read_text("utf-8"))
    assert line["score"] is None
    assert "scripted/test" in line["not_measured"]


def test_interrupt_leaves_whole_lines_and_stops_the_others(tmp_path: Path) -> None:
    """After Ctrl-C what was written is valid, and no further call is made."""
    engine = Scripted("one two three four", parallel=1)

    def interrupt(done: int, _total: int, _usage: object) -> None:
        if done == 2:
            raise KeyboardInterrupt

    meter = Meter()
    run = EvaluationRun(threads=1, meter=meter, sink=tmp_path / "rows.jsonl", progress=interrupt)

    with pytest.raises(KeyboardInterrupt):
        evaluate_rows(program(engine), rows(50), RUBRIC, run, split="val")

    lines = (tmp_path / "rows.jsonl").read_text("utf-8").splitlines()
    assert [json.loads(line)["row_id"] for line in lines] == ["r0", "r1"]
    assert len(engine.requests) < 50


def test_progress_counts_rows_and_spend() -> None:
    """The progress bar is told how far the work is and what was spent."""
    seen: list[tuple[int, int, int]] = []
    run = EvaluationRun(
        threads=1, progress=lambda done, total, usage: seen.append((done, total, usage.calls))
    )

    evaluate_rows(program("one two three four"), rows(3), RUBRIC, run, split="val")

    assert [(done, total) for done, total, _ in seen] == [(1, 3), (2, 3), (3, 3)]
    assert seen[-1][2] == 3


def test_threads_must_be_one_or_more() -> None:
    """A number of threads that cannot work is refused."""
    with pytest.raises(ConfigError, match="threads"):
        EvaluationRun(threads=0)


DRAFTS = ["one", "one two", "one two three four"]


def recorded() -> Any:
    """Return a result whose third attempt passes."""
    made = program([*DRAFTS], loop=Loop(max_revisions=2, on_fail="resample"))
    return evaluate_rows(made, rows(1), RUBRIC, split="val").results[0]


@pytest.mark.parametrize("cap", [0, 1, 2])
def test_replay_gives_what_a_lower_cap_would_have_given(cap: int) -> None:
    """Loop settings are compared on recorded attempts; no call is made."""
    loop = Loop(max_revisions=cap, on_fail="resample")

    again = replayed(recorded(), loop)

    fresh = evaluate_rows(program([*DRAFTS], loop=loop), rows(1), RUBRIC, split="val").results[0]
    assert again.score == fresh.score
    assert again.attempt_scores == fresh.attempt_scores
    assert again.answer.usage == fresh.answer.usage
    assert again.answer.unmet == fresh.answer.unmet
    assert (again.answer.draft, again.answer.stopped_by) == (
        fresh.answer.draft,
        fresh.answer.stopped_by,
    )


def test_replay_with_the_loop_off_is_the_first_attempt() -> None:
    """Off is the first attempt of the on run."""
    again = replayed(recorded(), Loop(enabled=False))

    assert again.answer.draft == "one"
    assert again.answer.passed is None
    assert again.score == recorded().attempt_scores[0]


def test_replay_leaves_alone_what_has_no_draft() -> None:
    """Without a first draft every setting gives the same."""
    result = evaluate_rows(program(Reply(fail="empty")), rows(1), RUBRIC, split="val").results[0]

    assert replayed(result, Loop(max_revisions=0)) is result
