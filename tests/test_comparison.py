"""Base and artifact, loop off and on, and what else would do, on the same rows."""

import hashlib
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from dspy.lm15 import Request
from small_project import make_project

from redraft.artifact import (
    Lineage,
    Reason,
    Search,
    build_artifact,
    file_digests,
    promote,
    write_artifact,
)
from redraft.budget import RunCaps
from redraft.comparison import Comparison, compare, plan_comparison
from redraft.comparison.subject import common_loop
from redraft.errors import ArtifactError, ConfigError, OutageError
from redraft.lm.wire import system_text
from redraft.looks import looks
from redraft.program import Program, load_base
from redraft.records import Check, Criterion, Demo, Loop, Row, Usage
from redraft.rubric import Measure, Rubric
from redraft.testing import Reply, Scripted, models_of

RESAMPLE = Loop(max_revisions=2, on_fail="resample")
REVISE = Loop(max_revisions=2, on_fail="revise")
WORDS_ASKED = 4


def length_gap(_: object, draft: str) -> str | None:
    """Return the gap of a draft that is shorter than three words."""
    return None if len(draft.split()) >= 3 else "Write three words or more."


LONG_ENOUGH = Check("long_enough", length_gap, "At least three words.")
WORDS = Measure("words", 1.0, lambda _, draft: min(len(draft.split()), WORDS_ASKED) / WORDS_ASKED)
RUBRIC = Rubric([WORDS, Measure.of(LONG_ENOUGH, 1.0)], passing=0.9)


def draws(request: Request) -> str:
    """Write two to four words by the task and the seed, and four more often where demos are."""
    texts = [str(part.text) for message in request.messages for part in message.parts]
    key = f"{texts[-1]} {request.config.seed} {request.config.temperature}"
    chance = hashlib.sha256(key.encode()).digest()[0] / 256
    shown = len(request.messages) > 1
    length = 4 if chance < (0.7 if shown else 0.3) else 3 if chance < 0.75 else 2
    return " ".join(["word"] * length)


def trainset(count: int = 60) -> list[Row]:
    """Return rows in pairs, a third of them for demos, the rest for the test."""
    return [
        Row(
            f"r{n}",
            {"request": f"Request {n}."},
            {"draft": "four words are here"},
            group=f"g{n // 2}",
            split="test" if (n // 2) % 3 else "train",
        )
        for n in range(count)
    ]


def base_program(script: Any = draws, *, loop: Loop = RESAMPLE, **parts: Any) -> Program:
    """Return a program with one check, answered by a script."""
    made = Program("request -> notice", checks=[LONG_ENOUGH], loop=loop, **parts)
    return made.named("notice").with_models(models_of(script))


def with_demos(base: Program, count: int = 2) -> Program:
    """Return the program as a compile might leave it: with demos."""
    state = base.state()
    fields = {"request": "Request 0.", "notice": "four words are here"}
    draft = replace(state.predictors["draft"], demos=(Demo(fields, "r0"),) * count)
    return base.with_state(replace(state, predictors={**state.predictors, "draft": draft}))


def compared(base: Program, compiled: Program | None = None, **options: Any) -> Comparison:
    """Compare a program with itself after a compile."""
    return compare(base, RUBRIC, trainset(), compiled=compiled or with_demos(base), **options)


def test_record_has_the_fields_of_the_design() -> None:
    """`compare --json` prints cells, gains, alternatives, what slipped through and what repeats."""
    record = compared(base_program()).record()

    cell = {"mean", "low", "high", "pass_rate", "calls_per_answer", "cost_usd"}
    cells: Any = record["cells"]
    assert list(cells) == ["base_off", "base_on", "compiled_off", "compiled_on", "as_shipped"]
    assert all(cell <= set(found) for found in cells.values())
    gains = ("build_time_gain", "answer_time_gain", "interaction", "total_gain", "feedback_gain")
    found: Any = [record[name] for name in gains]
    assert all({"estimate", "low", "high"} <= set(gain) for gain in found)
    assert {"program", "n", "alternatives", "arms", "escaped", "smallest_detectable", "reread"} <= (
        set(record)
    )
    assert json.loads(json.dumps(record)) == record


def test_main_effects_add_up_to_the_total() -> None:
    """Compiling plus looping is what both bought, and the interaction is what is left."""
    gains = compared(base_program()).gains

    assert gains.build_time.effect.estimate > 0
    assert gains.build_time.effect.estimate + gains.answer_time.effect.estimate == pytest.approx(
        gains.total.effect.estimate
    )
    simple = {name: gain.effect.estimate for name, gain in gains.simple.items()}
    assert gains.interaction.effect.estimate == pytest.approx(
        simple["answer_time_compiled"] - simple["answer_time_base"]
    )


def test_gains_are_differences_of_cell_means() -> None:
    """Every number can be recomputed from the means of the cells."""
    found = compared(base_program())

    mean = {name: cell.mean for name, cell in found.cells.items()}
    total = found.gains.total
    assert total.effect.estimate == pytest.approx(mean["compiled_on"] - mean["base_off"])
    assert total.share_of_error_removed == pytest.approx(
        total.effect.estimate / (1 - mean["base_off"])
    )


def test_first_attempts_cost_no_calls() -> None:
    """The cells with the loop off are read from the runs with the loop on."""
    engine = Scripted(draws)
    base = base_program(engine)

    found = compared(base)

    assert found.usage.calls == len(engine.requests)
    assert found.cells["base_off"].calls_per_answer == 1.0
    assert found.cells["base_on"].calls_per_answer > 1.0


def test_loop_off_is_what_the_program_gives_without_its_loop() -> None:
    """Reading the first attempt gives the same scores as a run with the loop off."""
    on = compared(base_program())
    off = compared(base_program(loop=replace(RESAMPLE, enabled=False)))

    assert on.cells["base_off"] == off.cells["base_off"]


def test_calls_of_a_first_attempt_leave_the_checker_out() -> None:
    """Where a model checks, the first attempt without its check is one call, its price open."""
    verdict = {"plain": {"reason": "So.", "status": "met", "quote": "", "gap": ""}}
    checker = Scripted(json.dumps({"findings": verdict}))
    criterion = Criterion("plain", "Every sentence is plain English.", must_pass=False)
    base = base_program("three words here", criteria=[criterion])
    base = base.with_models(models_of("three words here", checker=checker))

    cells = compared(base).cells

    assert cells["base_off"].calls_per_answer == 1.0
    assert cells["base_on"].calls_per_answer == 2.0


def test_models_that_are_given_answer() -> None:
    """`models=` takes the place of the program's own."""
    found = compared(base_program("two words"), models=models_of("four words are here"))

    assert found.cells["base_off"].mean == 1.0


def test_a_row_missing_in_one_cell_is_dropped_from_all() -> None:
    """An outage of one program takes its row out of every cell, and is counted."""

    def script(request: Request) -> str | Reply:
        asked = request.messages[-1].parts[0].text
        shown = len(request.messages) > 1
        return Reply(fail="outage") if shown and asked == "Request 4." else "three words here"

    found = compared(base_program(script))

    rows = sum(row.split == "test" for row in trainset())
    assert (found.n, found.not_measured) == (rows - 1, 1)
    assert found.gains.total.effect.n == found.n
    assert any("scripted/test" in reason for reason in found.reasons)


def test_an_alternative_that_does_not_fit_the_model_is_left_out() -> None:
    """Scored as 0 it would flatter what was compiled."""
    base = base_program(Scripted("three words here", context_tokens=30))

    found = {a.name: a for a in compared(base, base).alternatives}

    assert found["labelled_demos"].measured is None
    assert "does not fit the context" in (found["labelled_demos"].left_out or "")
    assert found["rules_pasted_in"].measured is not None


def test_outage_of_an_alternative_is_told() -> None:
    """Else it would look as if the alternative had been left out on purpose."""

    def script(request: Request) -> str | Reply:
        pasted = "Rules:" in system_text(request)
        return Reply(fail="outage") if pasted else "three words here"

    found = compared(base_program(script))

    assert found.not_measured == 0
    assert any("scripted/test" in reason for reason in found.reasons)


def test_outage_of_the_checker_is_told() -> None:
    """Its rows are measured on their drafts, which says nothing about the loop."""
    base = base_program("four words are here", criteria=[Criterion("plain", "It is plain.")])
    models = models_of("four words are here", checker=Reply(fail="outage"))

    found = compared(base, models=models)

    rows = sum(row.split == "test" for row in trainset())
    assert found.not_measured == 0
    assert found.checker_outages >= 2 * rows
    assert found.record()["checker_outages"] == found.checker_outages
    assert any("without being checked" in reason for reason in found.reasons)


def test_one_record_of_models_answers_for_both() -> None:
    """Base and artifact answer with the program's models, so models are not compared."""
    base = base_program("three words here")
    compiled = with_demos(base).with_models(models_of("two words"))

    assert compared(base, compiled).cells["compiled_off"].mean == pytest.approx(0.875)


def test_nothing_measured_is_an_outage() -> None:
    """Without a single pair there is no comparison, and the error names the model."""
    with pytest.raises(OutageError, match="scripted/test") as raised:
        compared(base_program(Reply(fail="outage")))

    assert raised.value.model == "scripted/test"


def test_a_cap_leaves_rows_unmeasured() -> None:
    """Rows that a cap kept from being answered are dropped, never scored 0."""
    rows = sum(row.split == "test" for row in trainset())

    found = compared(base_program("four words are here"), caps=RunCaps(max_calls=rows + 10))

    assert (found.n, found.not_measured) == (10, rows - 10)
    assert found.cells["compiled_on"].mean == 1.0


def test_alternative_that_was_not_measured_drops_no_rows() -> None:
    """A cap that ends an alternative leaves the cells whole."""
    rows = sum(row.split == "test" for row in trainset())

    found = compared(base_program("four words are here"), caps=RunCaps(max_calls=2 * rows))

    assert found.n == rows
    pasted = next(a for a in found.alternatives if a.name == "rules_pasted_in")
    assert pasted.measured is None
    assert pasted.left_out == "no row of it was measured"


def test_rules_are_pasted_and_criteria_are_not() -> None:
    """The alternative tells the drafter the checks' sentences, and nothing that is kept from it."""
    secret = Criterion("plain", "Every sentence is plain English.", must_pass=False)
    base = base_program(criteria=[secret])

    programs = plan_comparison(base, RUBRIC, trainset(), compiled=with_demos(base)).programs

    instructions = programs["rules_pasted_in"].state().predictors["draft"].instructions
    assert "At least three words." in instructions
    assert secret.statement not in instructions
    assert secret.id not in instructions.split()


@pytest.mark.parametrize(("demos", "expected"), [(0, 4), (2, 2)])
def test_as_many_labelled_demos_as_the_artifact_has(demos: int, expected: int) -> None:
    """Labelled demos come from train rows with a reference draft; four where it has none."""
    base = base_program()

    plan = plan_comparison(base, RUBRIC, trainset(), compiled=with_demos(base, demos))

    chosen = plan.programs["labelled_demos"].state().predictors["draft"].demos
    train = {row.id for row in trainset() if row.split == "train"}
    assert len(chosen) == expected
    assert {demo.row_id for demo in chosen} <= train
    assert chosen[0].fields["notice"] == "four words are here"


def test_fewer_labelled_rows_than_demos_are_all_used() -> None:
    """Where train has too few references, the title says so."""
    rows = [row if n == 0 else replace(row, reference={}) for n, row in enumerate(trainset())]
    base = base_program()

    plan = plan_comparison(base, RUBRIC, rows, compiled=with_demos(base))

    titles = {other.name: other.title for other in plan.others}
    assert titles["labelled_demos"] == "1 labelled demo, all there are"


def test_no_labelled_rows_leaves_the_alternative_out() -> None:
    """Without references there are no demos to take, and the record says why."""
    rows = [replace(row, reference={}) for row in trainset()]
    base = base_program()

    record = compare(base, RUBRIC, rows, compiled=with_demos(base)).record()

    alternatives: Any = record["alternatives"]
    assert "reference.draft" in alternatives["labelled_demos"]["left_out"]


def test_own_prompt_replaces_instructions_and_demos(tmp_path: Path) -> None:
    """`--against FILE` compares with a user's own text."""
    path = tmp_path / "mine.txt"
    path.write_text("Write four words.\n", "utf-8")
    base = with_demos(base_program(), 1)

    plan = plan_comparison(base, RUBRIC, trainset(), compiled=with_demos(base), against=path)

    own = plan.programs["own_prompt"].state().predictors["draft"]
    assert (own.instructions, own.demos) == ("Write four words.", ())


@pytest.mark.parametrize(("content", "words"), [(None, "cannot read"), (b" \n", "is empty")])
def test_own_prompt_that_cannot_be_used(tmp_path: Path, content: bytes | None, words: str) -> None:
    """A missing or empty file is named before anything is spent."""
    path = tmp_path / "mine.txt"
    if content is not None:
        path.write_bytes(content)
    engine = Scripted(draws)

    with pytest.raises(ConfigError, match=f"{words}.*|.*{words}") as raised:
        compared(base_program(engine), against=path)

    assert str(path) in str(raised.value)
    assert engine.requests == ()


def test_alternatives_are_corrected_together() -> None:
    """Each alternative's p pays for all that were tested."""
    found = compared(base_program())

    gains = [a.measured.gain for a in found.alternatives if a.measured is not None]
    tested = [g for g in gains if g.effect.p is not None and g.p_holm is not None]
    assert len(gains) == 3
    assert all(g.p_holm >= g.effect.p for g in tested)  # type: ignore[operator]


def test_resampling_sends_no_feedback() -> None:
    """A loop that draws again is itself the re-draws: the gain is 0 and the record says why."""
    record = compared(base_program()).record()

    feedback: Any = record["feedback_gain"]
    assert (feedback["estimate"], feedback["low"], feedback["high"]) == (0.0, None, None)
    assert "without feedback" in feedback["words"]


def test_feedback_is_measured_against_redraws() -> None:
    """A reviser that heeds the gaps is worth more than drawing again."""
    first = Scripted("two words")
    base = base_program(loop=REVISE).with_models(
        models_of(first, reviser=Scripted("four words are here"))
    )

    found = compared(base)

    assert found.feedback.gain is not None
    assert found.feedback.gain.effect.estimate == pytest.approx(0.75)
    assert found.feedback.gain.effect.low is not None
    assert found.feedback.gain.effect.low > 0
    feedback: Any = found.record()["feedback_gain"]
    assert (feedback["estimate"], feedback["words"]) == (pytest.approx(0.75), None)


def test_feedback_without_measured_redraws_is_not_measured() -> None:
    """A cap that ends the re-draws leaves the feedback's worth open, not 0."""
    base = base_program("two words", loop=REVISE).with_models(
        models_of("two words", reviser="four words are here")
    )
    rows = sum(row.split == "test" for row in trainset())
    calls = 2 * 2 * rows + 2 * 2 * rows

    found = compared(base, caps=RunCaps(max_calls=calls))

    assert found.feedback.gain is None
    feedback: Any = found.record()["feedback_gain"]
    assert feedback["estimate"] is None


def test_artifact_without_a_loop_is_measured_under_the_programs() -> None:
    """On uses the program's loop; as shipped the artifact answers with its first attempt."""
    base = base_program()
    compiled = with_demos(base).with_loop(replace(RESAMPLE, enabled=False))

    found = compared(base, compiled)

    assert found.loop == RESAMPLE
    assert found.cells["as_shipped"] == found.cells["compiled_off"]
    assert "program's loop settings" in found.notes[0]
    assert found.escaped["as_shipped"].passed == 0


def test_artifact_that_only_checks_is_shipped_as_it_is() -> None:
    """A cap of 0 checks the first attempt: its score is that of loop off, its check counts."""
    base = base_program()
    compiled = with_demos(base).with_loop(replace(RESAMPLE, max_revisions=0))

    found = compared(base, compiled)

    assert found.cells["as_shipped"].mean == found.cells["compiled_off"].mean
    assert found.escaped["as_shipped"].passed > 0


def test_no_loop_anywhere_is_said() -> None:
    """Where nothing makes revisions, looping has nothing to win."""
    loop, notes = common_loop(Loop(enabled=False), Loop(max_revisions=0))

    assert loop == Loop(max_revisions=0)
    assert "nothing to win" in notes[0]


def test_no_loop_has_no_redraws() -> None:
    """Without revisions there is nothing to draw again."""
    base = base_program(loop=Loop(max_revisions=0))

    found = compared(base)

    redraws = next(a for a in found.alternatives if a.name == "redraws")
    assert redraws.left_out == "the loop makes no revisions"


def test_answers_that_pass_the_check_and_fail_the_rubric_escape() -> None:
    """Three words pass the check and miss the rubric's mark."""
    found = compared(base_program("three words here"))

    escaped = found.escaped["compiled_on"]
    assert (escaped.passed, escaped.escaped, escaped.share) == (found.n, found.n, 1.0)
    assert escaped.upper == 1.0


def test_no_answer_passed_means_none_could_escape() -> None:
    """A share of no answers is not 0."""
    escaped = compared(base_program("two words")).escaped["base_on"]

    assert (escaped.passed, escaped.share, escaped.upper) == (0, None, None)


def test_unchecked_measures_are_scored_apart() -> None:
    """What no rule decides has a mean of its own."""
    found = compared(base_program("three words here"))

    assert found.cells["base_on"].mean == pytest.approx(0.875)
    assert found.cells["base_on"].unchecked_mean == pytest.approx(0.75)
    assert found.unchecked is not None


def test_rubric_of_checks_alone_has_no_unchecked_score() -> None:
    """Where the checks decide everything, that is None and not a copy of the score."""
    base = base_program()
    rubric = Rubric([Measure.of(LONG_ENOUGH, 1.0)])

    found = compare(base, rubric, trainset(), compiled=with_demos(base))

    assert found.unchecked is None
    assert found.cells["base_on"].unchecked_mean is None
    assert found.record()["unchecked"] is None


def test_same_seed_same_record() -> None:
    """A comparison repeats, whatever the number of threads."""
    one = compared(base_program(), threads=1).record()

    assert compared(base_program(), threads=4).record() == one


def test_progress_counts_over_all_runs() -> None:
    """One bar for all programs: base, compiled, rules, demos."""
    seen: list[tuple[int, int]] = []

    def progress(done: int, of: int, _: Usage) -> None:
        seen.append((done, of))

    found = compared(base_program(), progress=progress)

    assert seen[-1] == (4 * found.n, 4 * found.n)
    assert [done for done, _ in seen] == list(range(1, 4 * found.n + 1))


def test_rows_of_every_run_are_written(tmp_path: Path) -> None:
    """The numbers can be recomputed from the JSON Lines."""
    found = compared(base_program(), out=tmp_path)

    files = {path.stem: path for path in tmp_path.glob("*.jsonl")}
    assert set(files) == {"base_on", "compiled_on", "rules_pasted_in", "labelled_demos"}
    lines = [json.loads(line) for line in files["compiled_on"].read_text("utf-8").splitlines()]
    values = [line["score"]["value"] for line in lines]
    assert sum(values) / len(values) == pytest.approx(found.cells["compiled_on"].mean)


def test_limit_takes_fewer_rows() -> None:
    """`--rows N` answers N rows."""
    assert compared(base_program(), limit=7).n == 7


def test_drafter_in_a_module_leaves_prompt_alternatives_out(tmp_path: Path) -> None:
    """Where several predictors draft, it is open which one would be told."""
    base = base_program_of_module()
    path = tmp_path / "mine.txt"
    path.write_text("Write.", "utf-8")

    plan = plan_comparison(base, RUBRIC, trainset(), compiled=base)

    why = {other.name: other.left_out for other in plan.others}
    assert "is a module" in str(why["rules_pasted_in"])
    assert "is a module" in str(why["labelled_demos"])
    with pytest.raises(ConfigError, match="is a module"):
        plan_comparison(base, RUBRIC, trainset(), compiled=base, against=path)


def base_program_of_module() -> Program:
    """Return a program whose drafter plans before it writes."""
    import dspy

    class TwoSteps(dspy.Module):  # type: ignore[misc]  # DSPy has no types
        def __init__(self) -> None:
            super().__init__()
            self.plan = dspy.Predict("request -> plan")
            self.write = dspy.Predict("request, plan -> notice")

        def forward(self, request: str) -> Any:
            return self.write(request=request, plan=self.plan(request=request).plan)

    made = Program(TwoSteps(), checks=[LONG_ENOUGH], loop=RESAMPLE, draft_field="notice")
    return made.named("notice").with_models(models_of("four words are here"))


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project on disk, nothing compiled yet."""
    return make_project(tmp_path)


def compiled_in(root: Path, instructions: str) -> str:
    """Write an artifact with these instructions and return its id."""
    base = load_base(root, "notice").with_models(models_of("a b"))
    state = base.state()
    draft = replace(state.predictors["draft"], instructions=instructions)
    tuned = base.with_state(replace(state, predictors={**state.predictors, "draft": draft}))
    lineage = Lineage(files=file_digests(root, base))
    artifact = build_artifact(tuned, lineage=lineage, search=Search("test", 0))
    write_artifact(root, artifact, evaluation={}, prompts="")
    return artifact.id


def test_a_name_is_enough(project: Path) -> None:
    """Program, rubric, rows and the newest artifact are found by NAME."""
    artifact_id = compiled_in(project, "Write it.")

    found = compare("notice", root=project)

    assert (found.program, found.artifact_id) == ("notice", artifact_id)
    assert found.split == "test"
    assert found.n > 0


def test_a_look_at_test_is_written_down(project: Path) -> None:
    """The ledger has the look, and the record its number."""
    artifact_id = compiled_in(project, "Write it.")

    found = compare("notice", root=project)

    (look,) = looks(project, "notice")
    assert (look.command, look.split, look.artifact_id) == ("compare", "test", artifact_id)
    assert found.reread.look == look.number
    assert found.reread.gate_is_test


def test_a_plan_is_no_look(project: Path) -> None:
    """A dry run neither reads rows nor says that it did."""
    compiled_in(project, "Write it.")

    plan = plan_comparison("notice", root=project)

    assert set(plan.programs) >= {"base_on", "compiled_on"}
    assert looks(project, "notice") == ()


def test_promoted_artifact_comes_before_the_newest(project: Path) -> None:
    """`compare NAME` takes CURRENT where there is one."""
    first = compiled_in(project, "Write it.")
    compiled_in(project, "Write it well.")
    promote(project, "notice", first, reason=Reason("test", "it is better"))

    assert plan_comparison("notice", root=project).pair.shipped.artifact_id == first


def test_an_artifact_can_be_asked_for(project: Path) -> None:
    """`--artifact ID` takes that one, by its first digits."""
    first = compiled_in(project, "Write it.")
    compiled_in(project, "Write it well.")

    plan = plan_comparison("notice", root=project, artifact=first[:6])

    assert plan.pair.shipped.artifact_id == first


def _nothing(root: Path) -> dict[str, Any]:
    return {"root": root}


def _current(root: Path) -> dict[str, Any]:
    compiled_in(root, "Write it.")
    return {"root": root, "artifact": "current"}


def _base(root: Path) -> dict[str, Any]:
    return {"root": root, "artifact": "base"}


@pytest.mark.parametrize(
    ("prepare", "error", "words"),
    [
        (_nothing, ArtifactError, "redraft compile notice"),
        (_current, ArtifactError, "no promoted artifact"),
        (_base, ConfigError, "compared with itself"),
    ],
)
def test_nothing_to_compare_with(
    project: Path,
    prepare: Callable[[Path], dict[str, Any]],
    error: type[Exception],
    words: str,
) -> None:
    """Without an artifact the remedy is named."""
    options = prepare(project)

    with pytest.raises(error, match=words):
        plan_comparison("notice", **options)


def test_program_in_memory_needs_its_compiled_one() -> None:
    """A program without a name has no artifacts."""
    with pytest.raises(ConfigError, match="compiled="):
        plan_comparison(base_program().named(""), RUBRIC, trainset(), root=Path())
