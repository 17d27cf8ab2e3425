"""Demos chosen on val and loop settings read off recordings, within the calls that are left."""

from collections.abc import Callable
from dataclasses import replace

import dspy
import pytest
from dspy.lm15 import Request
from tuning_worlds import demos_shown, draw, fixed, learner, rows, writer

from redraft.budget import Caps, Meter
from redraft.errors import ConfigError, TrainsetError
from redraft.evaluator import EvaluationRun
from redraft.lm.wire import message_text, system_text
from redraft.optimizers import OPTIMIZERS, Bootstrap, SearchLimits, SearchTask, Trials
from redraft.optimizers.planning import choose_val_rows
from redraft.program import Program
from redraft.records import Check, Demo, Loop, Options, PredictorState, ProgramState, Row
from redraft.rubric import Measure, Rubric
from redraft.testing import Scripted, models_of

RESAMPLE = Loop(max_revisions=2, on_fail="resample")
REVISE = Loop(max_revisions=2, on_fail="revise")
OFF = Loop(max_revisions=0)
QUICK = SearchLimits(sizes=(0, 2, 4), sets_per_size=1, train_rows=8, max_revisions=2)


def wanted(facts: object) -> list[str]:
    """Return the words that a request names."""
    assert isinstance(facts, dict)
    return str(facts["request"]).partition(": ")[2].split(", ")


def missing(facts: object, draft: str) -> str | None:
    """Return the gap of a draft that lacks a word."""
    absent = [word for word in wanted(facts) if word not in draft.split()]
    return f"The words {', '.join(absent)} are missing." if absent else None


USES = Check("uses", missing, "Use every word.")


def share(row: Row, draft: str) -> float:
    """Return the share of words that are used."""
    words = wanted(row.inputs)
    return sum(word in draft.split() for word in words) / len(words)


RUBRIC = Rubric([Measure("words", 1.0, share)], passing=0.9)


def task(
    script: Scripted | Callable[[Request], str],
    *,
    program: Program | None = None,
    calls: int | None = None,
    limits: SearchLimits = QUICK,
    given: tuple[Row, ...] | None = None,
    threads: int = 1,
) -> SearchTask:
    """Return a search over rows in memory."""
    base = program or Program("request -> blurb", checks=[USES], loop=RESAMPLE)
    base = base.with_models(models_of(script))
    found = rows() if given is None else given
    meter = Meter(None if calls is None else Caps(max_calls=calls))
    return SearchTask(
        program=base,
        opponent=base.state(),
        rubric=RUBRIC,
        train=tuple(row for row in found if row.split == "train"),
        val=tuple(row for row in found if row.split == "val"),
        seed=0,
        limits=limits,
        trials=Trials(base, RUBRIC, EvaluationRun(threads=threads, meter=meter)),
    )


def stages(search: SearchTask, *, most_calls: int | None = None) -> tuple[ProgramState, list[str]]:
    """Run a search and return what it found and its stages."""
    told: list[str] = []
    trials = search.trials.paid_by(
        Meter(None if most_calls is None else Caps(max_calls=most_calls)),
        lambda stage, *_: told.append(stage),
    )
    state = Bootstrap().search(replace(search, trials=trials))
    return state, list(dict.fromkeys(told))


def test_demos_that_help_are_chosen() -> None:
    """A drafter that learns from demos gets the largest set that was tried."""
    state = Bootstrap().search(task(writer(learner)))

    assert len(state.predictors["draft"].demos) == 4


def test_nothing_that_helps_leaves_the_opponents_prompt() -> None:
    """Where every prompt drafts the same, the tie goes to the opponent."""
    state = Bootstrap().search(task(lambda _: "steel quiet"))

    assert state.predictors["draft"].demos == ()


def test_opponent_with_better_demos_is_kept() -> None:
    """What answers now is one of the candidates, and is not given up for less."""
    search = task(writer(learner), limits=replace(QUICK, sizes=(1,), max_revisions=0))
    shown = tuple(
        Demo({"request": row.inputs["request"], "blurb": str(row.reference["draft"])})
        for row in search.train[:8]
    )
    own = search.opponent.predictors["draft"]
    opponent = replace(
        search.opponent, predictors={"draft": PredictorState(own.instructions, shown)}
    )

    state = Bootstrap().search(replace(search, opponent=opponent))

    assert state.predictors["draft"].demos == shown


def test_answers_that_reach_the_mark_are_shown() -> None:
    """Where rows have no reference, the model's own good answers become demos."""
    bare = tuple(replace(row, reference={}) for row in rows())
    search = task(writer(lambda r: 0.9 if demos_shown(r) else 0.7), given=bare)

    state = Bootstrap().search(search)

    demos = state.predictors["draft"].demos
    assert demos
    assert {demo.model for demo in demos} == {"scripted/test"}
    assert "No train row has a reference.draft" in search.trials.notes[0]


def test_mark_that_no_answer_reaches_is_said() -> None:
    """Demos are never made of answers below the mark."""
    search = task(writer(lambda _: 0.3), limits=replace(QUICK, mark=1.0))

    Bootstrap().search(search)

    assert any("reached the mark of 1 " in note for note in search.trials.notes)


def test_rules_pasted_in_are_a_candidate() -> None:
    """A drafter that only needs to be told the rules gets them, and the report says so."""
    search = task(writer(lambda r: 0.9 if "Use every word." in system_text(r) else 0.4))

    state = Bootstrap().search(search)

    assert "Rules:\n- Use every word." in state.predictors["draft"].instructions
    assert "rules are pasted" in " ".join(search.trials.notes)


def test_revisions_that_pay_are_kept_and_others_are_not() -> None:
    """The loop is as long as it is worth its calls."""
    lucky = Bootstrap().search(task(writer(lambda _: 0.8)))
    hopeless = Bootstrap().search(task(lambda _: "steel"))

    assert lucky.loop.max_revisions > 0
    assert (hopeless.loop.max_revisions, hopeless.loop.enabled) == (0, True)


def test_other_way_of_trying_again_is_recorded_too() -> None:
    """A reviser that closes every gap beats drawing again."""

    def script(request: Request) -> str:
        task_text = message_text(request.messages[-1])
        if "Gaps:" in task_text:
            return task_text.partition(": ")[2].partition("\n")[0].replace(",", "")
        return "steel"

    state = Bootstrap().search(task(script))

    assert state.loop.on_fail == "revise"
    assert state.loop.max_revisions == 1


def test_demos_for_the_reviser_are_compared() -> None:
    """A reviser that only works when it is shown how gets demos."""

    def script(request: Request) -> str:
        task_text = message_text(request.messages[-1])
        if "Gaps:" in task_text and demos_shown(request) >= 2:
            return task_text.partition(": ")[2].partition("\n")[0].replace(",", "")
        return f"steel {draw(system_text(request), task_text)}"

    program = Program("request -> blurb", checks=[USES], loop=REVISE)

    state = Bootstrap().search(task(script, program=program))

    assert state.loop.on_fail == "revise"
    assert len(state.predictors["revise"].demos) == 2
    assert "- The words" in str(state.predictors["revise"].demos[0].fields["gaps"])


def test_program_without_rules_has_no_loop_to_tune() -> None:
    """Where nothing is checked, only demos are chosen."""
    program = Program("request -> blurb", loop=RESAMPLE)

    state, told = stages(task(writer(learner), program=program))

    assert told == ["opponent", "bootstrap", "demos"]
    assert len(state.predictors["draft"].demos) == 4
    assert state.loop == RESAMPLE


class TwoSteps(dspy.Module):  # type: ignore[misc]  # DSPy has no types
    """A drafter that plans first."""

    def __init__(self) -> None:
        super().__init__()
        self.plan = dspy.Predict("request -> plan")
        self.write = dspy.Predict("request, plan -> blurb")

    def forward(self, request: str) -> dspy.Prediction:
        """Plan, then write."""
        return self.write(request=request, plan=self.plan(request=request).plan)


def test_drafter_that_is_a_module_gets_loop_settings_only() -> None:
    """Demos of a module are not made, and that is said."""
    program = Program(TwoSteps(), checks=[USES], loop=RESAMPLE, draft_field="blurb")
    search = task(lambda _: "steel", program=program)

    state = Bootstrap().search(search)

    assert all(texts.demos == () for texts in state.predictors.values())
    assert "is a module" in search.trials.notes[0]


def test_state_does_not_depend_on_threads() -> None:
    """One thread or eight, the same state is found."""
    found = [Bootstrap().search(task(writer(learner), threads=n)) for n in (1, 8)]

    assert found[0] == found[1]


def test_seed_0_is_a_seed() -> None:
    """Other seeds draw other demos."""
    search = task(writer(learner))

    found = {seed: Bootstrap().search(replace(search, seed=seed)) for seed in (0, 1)}

    demos = [state.predictors["draft"].demos for state in found.values()]
    assert demos[0] != demos[1]


@pytest.mark.parametrize("calls", range(60, 900, 60))
def test_search_stays_within_its_calls(calls: int) -> None:
    """Whatever fits is tried, and no more is spent than there is."""
    search = task(lambda _: "nothing", calls=calls, limits=SearchLimits())

    Bootstrap().search(search)

    left = search.trials.calls_left
    assert left is not None
    assert left >= 0


def test_search_without_calls_says_so() -> None:
    """A cap that leaves nothing for a search returns the opponent without a call."""
    search = task(writer(learner), calls=20)

    state = Bootstrap().search(search)

    assert state == search.opponent
    assert search.trials.calls_left == 20
    assert "no room for a search" in search.trials.notes[0]


def test_fewer_calls_mean_fewer_val_rows() -> None:
    """Rows of val are given up before demo sets are."""
    counts = [
        choose_val_rows(task(writer(fixed), calls=calls, limits=SearchLimits()), pools=2)
        for calls in (2000, 600, 400, 100)
    ]

    assert counts == sorted(counts, reverse=True)
    assert (counts[0], counts[-1]) == (32, 0)


@pytest.mark.parametrize("script", [lambda _: "nothing", writer(learner)])
def test_estimate_holds(script: Callable[[Request], str]) -> None:
    """A search spends at least the fewest and at most the most calls of its estimate."""
    search = task(script, calls=5000, limits=replace(QUICK, on_fail=("resample",)))
    fewest, most = Bootstrap().estimate(search)

    Bootstrap().search(search)

    assert search.trials.calls_left is not None
    assert 5000 - search.trials.calls_left <= most
    assert fewest <= most


def test_set_that_does_not_fit_the_context_is_left_out() -> None:
    """Demos are as many as the model can read beside the task and its reply."""
    short = Options(max_tokens=40)
    program = Program("request -> blurb", checks=[USES], loop=OFF, options={"drafter": short})
    engine = Scripted(writer(learner), context_tokens=200)
    search = task(engine, program=program, limits=replace(QUICK, sizes=(1, 8)))

    state = Bootstrap().search(search)

    assert len(state.predictors["draft"].demos) == 1
    assert "do not fit the context" in " ".join(search.trials.notes)


def test_reference_larger_than_the_context_is_an_error() -> None:
    """It is found before the first call."""
    long = tuple(
        replace(row, reference={"draft": "word " * 300}, line=3, file="rows.csv")
        if row.id == "train2"
        else row
        for row in rows()
    )
    search = task(Scripted(writer(learner), context_tokens=200), given=long)

    with pytest.raises(TrainsetError, match=r"rows\.csv line 3"):
        Bootstrap().search(search)


def test_optimizers_are_known_by_name() -> None:
    """`--optimizer` takes these names."""
    assert {name: optimizer.name for name, optimizer in OPTIMIZERS.items()} == {
        "bootstrap": "bootstrap",
        "identity": "identity",
    }


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"val_rows": 0}, "val_rows must be 1 or more"),
        ({"train_rows": -1}, "train_rows must be 0 or more"),
        ({"sizes": (2, -1)}, "sizes must be 0 or more"),
        ({"mark": 1.5}, "mark must be in"),
    ],
)
def test_limits_out_of_range_are_refused(values: dict[str, object], message: str) -> None:
    """Every limit names its range."""
    with pytest.raises(ConfigError, match=message):
        SearchLimits(**values)  # type: ignore[arg-type]  # it is the test
