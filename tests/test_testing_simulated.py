"""Simulated worlds: true scores that are true, and what sets each world apart."""

import asyncio
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from math import sqrt
from pathlib import Path
from statistics import fmean, stdev

import pytest
from dspy.lm15 import Config, Message, Request

from redraft.errors import CheckError, ConfigError
from redraft.evaluator import EvaluationRun, evaluate_rows
from redraft.lm.engine import Engine
from redraft.optimizers.candidates import under_loop, with_predictor, with_rules
from redraft.optimizers.demos import labelled_pool
from redraft.records import Demo, OnFail, Options, PredictorState, ProgramState, Row
from redraft.testing import ENGINE_PROMISES, Promise
from redraft.testing.simulated import WORLDS, Mind, Simulated, Skill, World, world_named
from redraft.testing.simulated.effects import most_votes_right
from redraft.testing.simulated.notes import (
    Content,
    find_task,
    gap_of,
    read_draft,
    write_draft,
)
from redraft.testing.simulated.reading import read_prompt, verdict_json

FULL = os.environ.get("REDRAFT_FULL") == "1"
ROWS = 4000 if FULL else 240
STANDARD_ERRORS = 4.0
SAME = 1e-9

each_world = pytest.mark.parametrize("world", WORLDS, ids=lambda world: world.name)


def shown(world: World, size: int, *, part: str = "draft", said: str = "") -> ProgramState:
    """Return the program with labelled demos, and a sentence more in its instructions."""
    program = world.program()
    state = program.state()
    own = state.predictors[part]
    demos = labelled_pool(program, world.rows(40, seed=99)).sets(size, number=1, seed=0)
    texts = PredictorState(f"{own.instructions} {said}".strip(), demos[0] if demos else ())
    return with_predictor(state, part, texts)


def looped(
    world: World, on_fail: OnFail, cap: int, *, state: ProgramState | None = None, **changes: object
) -> ProgramState:
    """Return a candidate with other loop settings."""
    program = world.program()
    loop = replace(program.loop, on_fail=on_fail, max_revisions=cap, **changes)
    return under_loop(program, state or program.state(), loop)


def verdict_demos(world: World, size: int, *, right: bool = True) -> tuple[Demo, ...]:
    """Return demos for the checker, of whole drafts and of others in turn."""
    demos = []
    for number, row in enumerate(world.rows(size, seed=98)):
        task = find_task(str(row.inputs["request"]))
        assert task is not None
        content = Content(True, task.words[: 4 - number % 2])
        met = content.whole is right
        finding = {"status": "met" if met else "unmet", "gap": "" if met else "A word."}
        fields = {
            **row.inputs,
            "draft": write_draft(content, mark="1"),
            "findings": {"whole": {"reason": "", "quote": "", **finding}},
        }
        demos.append(Demo(fields, row_id=row.id))
    return tuple(demos)


def reviser_demos(world: World, size: int) -> tuple[Demo, ...]:
    """Return demos for the reviser: a draft without its last word, and the whole one."""
    demos = []
    for row in world.rows(size, seed=97):
        task = find_task(str(row.inputs["request"]))
        assert task is not None
        broken = Content(True, task.words[:3])
        fields = {
            **row.inputs,
            "previous_draft": write_draft(broken, mark="1"),
            "gaps": f"- {gap_of(task, broken)}",
            "note": write_draft(Content(True, task.words), mark="2"),
        }
        demos.append(Demo(fields, row_id=row.id))
    return tuple(demos)


def candidates(world: World) -> Iterator[ProgramState]:
    """Yield candidates that differ in everything that tuning may change."""
    program = world.program()
    base = program.state()
    yield base
    yield shown(world, 4, said="Start with each word, in one line.")
    yield looped(world, "revise", 3)
    yield looped(world, "resample", 2, state=shown(world, 1))
    yield looped(world, "resample", 2, returns="last", votes=3)
    yield looped(world, "revise", 2, returns="best", patience=1)
    yield with_rules(program, base) or base
    if world.checked_by == "model":
        sharp = PredictorState(base.predictors["check"].instructions, verdict_demos(world, 4))
        revising = looped(world, "revise", 2, state=with_predictor(base, "check", sharp))
        own = revising.predictors["revise"].instructions
        yield with_predictor(revising, "revise", PredictorState(own, reviser_demos(world, 2)))


def empirical(
    world: World, state: ProgramState, rows: tuple[Row, ...], *, threads: int = 1
) -> tuple[float, float]:
    """Return the mean score over rows and its standard error, groups taken whole."""
    program = world.program().with_state(state).with_models(world.models())
    run = EvaluationRun(threads=threads)
    results = evaluate_rows(program, rows, world.rubric(), run, split="val").results
    groups: dict[str, list[float]] = {}
    for result in results:
        assert result.score is not None
        groups.setdefault(result.group, []).append(result.score.value)
    means = [fmean(values) for values in groups.values()]
    return fmean(means), stdev(means) / sqrt(len(means))


@pytest.mark.full
@pytest.mark.timeout(3600)
@each_world
def test_true_scores_are_what_rows_give_on_average(world: World) -> None:
    """The exact score of a candidate lies within the error of sampling, whatever it changes."""
    rows = world.rows(ROWS - ROWS % world.group_size, seed=1)
    found = list(candidates(world))

    off = []
    for number, state in enumerate(found):
        mean, error = empirical(world, state, rows)
        if abs(mean - world.true_score(state)) > STANDARD_ERRORS * error:
            off.append((number, mean, error, world.true_score(state)))

    assert off == []


def test_nothing_gains_in_the_null_world() -> None:
    """Demos, instructions and loop settings all have a true gain of zero there."""
    world = world_named("null")

    gains = [world.true_gain(state) for state in candidates(world)]

    assert gains == pytest.approx([0.0] * len(gains), abs=SAME)


def test_worlds_are_nine_with_a_sentence_each() -> None:
    """Every world has a name of its own and says what is to be found."""
    names = [world.name for world in WORLDS]

    assert len(set(names)) == len(names) == 9
    assert all(world.finds.endswith(".") for world in WORLDS)


def test_worlds_stay_as_they_are() -> None:
    """Results on them can be compared over time: the true score of each program is pinned."""
    scores = {world.name: round(world.true_score(world.program().state()), 4) for world in WORLDS}

    assert scores == {
        "null": 0.7035,
        "demos": 0.6381,
        "instructions": 0.5952,
        "interaction": 0.6697,
        "format": 0.5466,
        "resample": 0.7685,
        "checker": 0.7766,
        "ceiling": 0.9516,
        "clustered": 0.6729,
    }


def test_demos_world_rewards_the_right_demos() -> None:
    """Sets of one size differ widely, and some of them do harm."""
    world = world_named("demos")
    program = world.program()
    state = program.state()
    own = state.predictors["draft"].instructions

    sets = labelled_pool(program, world.rows(60, seed=2)).sets(4, number=12, seed=0)
    gains = [
        world.true_gain(with_predictor(state, "draft", PredictorState(own, demos)))
        for demos in sets
    ]

    assert max(gains) > 0.1
    assert min(gains) < -0.02


def test_a_demo_that_lacks_a_word_does_harm() -> None:
    """A third of the references of the demos world are bad demos."""
    world = world_named("demos")
    rows = world.rows(200, seed=3)

    sloppy = [
        row for row in rows if world.rubric().score(row, str(row.reference["draft"])).value < 1
    ]
    pool = labelled_pool(world.program(), sloppy)
    state = world.program().state()
    own = state.predictors["draft"].instructions
    bad = with_predictor(state, "draft", PredictorState(own, pool.sets(2, number=1, seed=0)[0]))

    assert len(sloppy) == pytest.approx(66, abs=25)
    assert world.true_gain(bad) < -0.02


def test_instructions_world_rewards_words_and_punishes_length() -> None:
    """The rule helps; a harmful sentence, demos and a long sentence cost."""
    world = world_named("instructions")
    program = world.program()

    rules = with_rules(program, program.state())

    assert rules is not None
    assert world.true_gain(rules) > 0.1
    assert world.true_gain(shown(world, 0, said="Be creative.")) < -0.05
    assert world.true_gain(shown(world, 4)) < -0.05
    assert world.true_gain(rules) > world.true_gain(shown(world, 4, said=world.rule))
    long = f"Name them in the given order. {world.sentences[-1]} {world.sentences[-1]}"
    short = shown(world, 0, said="Name them in the given order.")
    assert world.true_gain(short) > world.true_gain(shown(world, 0, said=long))


def test_interaction_world_needs_both() -> None:
    """Demos alone do nothing, the words alone do harm, both together gain."""
    world = world_named("interaction")

    assert world.true_gain(shown(world, 4)) == pytest.approx(0, abs=SAME)
    assert world.true_gain(shown(world, 0, said=world.rule)) < -0.03
    assert world.true_gain(shown(world, 4, said=world.rule)) > 0.1


def test_format_world_loses_most_to_form() -> None:
    """Replies that run on and drafts without the form are most of the loss."""
    world = world_named("format")
    state = world.program().state()
    whole = replace(world, mind=replace(world.mind, form=Skill(base=50), finish=Skill(base=50)))

    lost = 1 - world.true_score(state)
    lost_to_words = 1 - whole.true_score(state)

    assert lost > 0.4
    assert lost_to_words < 0.2 * lost
    assert world.true_gain(shown(world, 4)) > 0.2


def test_resample_world_rewards_drawing_again_alone() -> None:
    """Resampling gains with every further try; prompts and the reviser gain nothing."""
    world = world_named("resample")

    again = [world.true_gain(looped(world, "resample", cap)) for cap in (1, 2, 4)]

    assert again == sorted(again)
    assert again[-1] > 0.12
    assert world.true_gain(looped(world, "revise", 4)) == pytest.approx(0, abs=SAME)
    assert world.true_gain(shown(world, 4)) == pytest.approx(0, abs=SAME)


def test_checker_world_pays_only_with_a_good_checker() -> None:
    """Revising is worth little until the checker is right, by demos or by instructions."""
    world = world_named("checker")
    program = world.program()
    state = looped(world, "revise", 2)
    own = state.predictors["check"].instructions

    def with_checker(demos: tuple[Demo, ...] = (), said: str = "") -> float:
        texts = PredictorState(f"{own} {said}", demos)
        return world.true_gain(with_predictor(state, "check", texts), program.state())

    untuned = with_checker()
    assert abs(untuned) < 0.02
    assert with_checker(verdict_demos(world, 6)) > untuned + 0.04
    assert with_checker(said="Count the words that are missing.") > untuned + 0.02
    assert with_checker(verdict_demos(world, 6, right=False)) < untuned


def test_ceiling_world_is_full_of_ties() -> None:
    """Nearly nine rows in ten score 1 before and after, and there is still something to gain."""
    world = world_named("ceiling")
    rows = world.rows(200, seed=4)
    better = shown(world, 8)

    scores = []
    for state in (world.program().state(), better):
        program = world.program().with_state(state).with_models(world.models())
        results = evaluate_rows(program, rows, world.rubric(), split="val").results
        scores.append([result.score.value for result in results if result.score])
    ties = sum(before == after for before, after in zip(*scores, strict=True))

    assert ties >= 170
    assert world.true_gain(better) > 0.02


def test_clustered_world_has_groups_that_are_alike() -> None:
    """Rows of a group share kind and level, and demos of one kind help no other."""
    world = world_named("clustered")
    rows = world.rows(60)
    groups = {row.group for row in rows}
    kinds = {(row.group, row.tags) for row in rows}
    one = [row for row in world.rows(120, seed=5) if row.tags == ("plain",)]
    state = world.program().state()
    own = state.predictors["draft"].instructions

    def gain(found: list[Row]) -> float:
        demos = labelled_pool(world.program(), found).demos
        texts = PredictorState(own, tuple(demos[row.id] for row in found))
        return world.true_gain(with_predictor(state, "draft", texts))

    mixed = [
        next(r for r in world.rows(120, seed=5) if r.tags == (k,))
        for k in ("plain", "formal", "brief")
    ] * 2
    assert len(groups) == len(kinds) == 10
    assert gain(mixed) > gain(one[:6]) > 0


@each_world
def test_rows_are_drawn_from_all_there_could_be(world: World) -> None:
    """The same seed gives the same rows, another seed gives others, and ids are their own."""
    rows = world.rows(30, seed=1)

    assert rows == world.rows(30, seed=1)
    assert len({row.id for row in rows} | {row.id for row in world.rows(30, seed=2)}) == 60


@pytest.mark.parametrize("promise", ENGINE_PROMISES, ids=lambda promise: promise.name)
def test_engine_keeps_its_promises(promise: Promise) -> None:
    """The simulated model is an engine like any other."""
    assert promise.broken(Simulated(Mind(words=Skill(base=0.0)), name="simulated/test")) is None


def test_reply_depends_on_nothing_but_the_request() -> None:
    """Two engines of one world agree, in any order and from any thread."""
    world = world_named("demos")
    program = world.program()
    requests = [program.render("draft", dict(row.inputs)) for row in world.rows(40)]
    alone = [world.engine().complete(request, nothing).text for request in requests]
    engine = world.engine()

    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda r: engine.complete(r, nothing).text, reversed(requests)))

    assert together == alone[::-1]


def test_threads_change_no_score() -> None:
    """A program gets the same answers however many rows are in flight."""
    world = world_named("checker")
    state = looped(world, "revise", 2)
    rows = world.rows(30)

    assert empirical(world, state, rows) == empirical(world, state, rows, threads=4)


def test_task_that_is_shown_is_copied() -> None:
    """A prompt that holds the row it answers looks better than it is."""
    world = world_named("null")
    row = world.rows(1)[0]
    program = world.program()
    demo = labelled_pool(program, [row]).demos[row.id]
    state = program.state()
    own = state.predictors["draft"].instructions
    leaking = with_predictor(state, "draft", PredictorState(own, (demo,)))
    answers = program.with_state(leaking).with_models(world.models())

    assert answers.answer(**row.inputs).draft == row.reference["draft"]
    assert world.true_gain(leaking) == pytest.approx(0, abs=SAME)


def test_proposer_is_given_instructions_of_the_world() -> None:
    """A request of no predictor gets sentences of the world's pool, others with another seed."""
    world = world_named("instructions")

    asked = [
        Request(model="m", messages=(Message.user("Improve it."),), config=Config(seed=n))
        for n in range(20)
    ]
    texts = {str(world.engine().complete(request, nothing).text) for request in asked}

    assert len(texts) == 20
    assert any("each word" in text for text in texts)


@pytest.mark.parametrize(
    ("asked", "start"),
    [
        ("Reply with [[ ## basic ## ]] then [[ ## completed ## ]]", "[[ ## basic ## ]]\nWrite"),
        ("Put it into a ``` block.", "```\nWrite"),
        ("Improve it.", "Write"),
    ],
)
def test_proposal_comes_in_the_form_that_is_asked_for(asked: str, start: str) -> None:
    """Field markers and code blocks are kept to."""
    request = Request(model="m", messages=(Message.user(asked),), config=Config(seed=1))

    assert str(world_named("null").engine().complete(request, nothing).text).startswith(start)


def test_reply_is_cut_at_max_tokens() -> None:
    """A score that would depend on the cut is not claimed to be known."""
    world = world_named("demos")
    state = replace(world.program().state(), options={"drafter": Options(max_tokens=8)})

    with pytest.raises(ConfigError, match="max_tokens of the drafter is 8"):
        world.true_score(state)


def test_unknown_world_is_named() -> None:
    """The error lists the worlds there are."""
    with pytest.raises(ConfigError, match="no world 'nil'; there are null, demos"):
        world_named("nil")


def test_check_refuses_what_is_no_task() -> None:
    """A program of a simulated world answers tasks of that kind only."""
    program = world_named("null").program()

    with pytest.raises(CheckError, match="no task of a simulated world"):
        program.judge({"request": "Say hello."}, "Hello.")


def test_demos_of_other_tasks_are_not_seen() -> None:
    """Only a demo whose task can be read teaches anything; a broken verdict is a bad one."""
    row = world_named("null").rows(1)[0]
    shown = ("Say hello.", "Hello.", f"<task 1>\n{row.inputs['request']}\n</task 1>", "no JSON")

    prompt = read_prompt("check", "", shown)

    assert [demo.good for demo in prompt.demos] == [False]


def test_gap_says_what_is_missing() -> None:
    """Form and words are both named; a whole draft that is turned down gets a vague gap."""
    task = find_task("Write the plain note a-0. Words: ivory, raven, cedar, amber")
    assert task is not None

    assert gap_of(task, Content(False, ("ivory", "amber"))) == (
        "The text does not start with 'Note:'. These words are missing: raven, cedar."
    )
    assert "better" in gap_of(task, Content(True, task.words))
    assert "better" in verdict_json("It could be better.")


def test_draft_is_read_whoever_wrote_it() -> None:
    """Words count wherever they stand."""
    task = find_task("Write the plain note a-0. Words: ivory, raven, cedar, amber")
    assert task is not None

    assert read_draft(task, "Note: amber and ivory!") == Content(True, ("ivory", "amber"))


def test_votes_help_a_checker_that_is_mostly_right() -> None:
    """Most of three votes are right more often than one, and a coin stays a coin."""
    assert most_votes_right(0.8, 3) == pytest.approx(0.896)
    assert most_votes_right(0.5, 5) == pytest.approx(0.5)


def test_engine_awaits_like_it_completes() -> None:
    """Tasks get the replies that threads get."""
    world = world_named("format")
    engine: Engine = world.engine()
    request = world.program().render("draft", dict(world.rows(1)[0].inputs))

    assert (
        asyncio.run(engine.acomplete(request, nothing)).text
        == engine.complete(request, nothing).text
    )
    assert engine.count_tokens("two words") == 2


def test_project_can_be_worked_on_from_the_command_line(tmp_path: Path) -> None:
    """What is written validates and evaluates like any other project."""
    world_named("demos").write_project(tmp_path, rows=60)

    code = "from redraft.cli.main import main; main(['evaluate', 'demos', '--json'])"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )

    assert json.loads(done.stdout)["program"] == "demos"


def test_page_about_the_worlds_is_true(capsys: pytest.CaptureFixture[str]) -> None:
    """Its example runs, and its table names the worlds in their order."""
    page = (Path(__file__).parents[1] / "docs" / "simulated.md").read_text("utf-8")
    (example,) = re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)

    exec(compile(example, "docs/simulated.md", "exec"), {})

    assert "true +" in capsys.readouterr().out
    assert re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE) == [world.name for world in WORLDS]


def nothing() -> None:
    """Poll an engine that nobody stops."""
