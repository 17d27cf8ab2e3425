"""What there is to gain, measured for a tenth of the calls, and the advice that follows."""

from dataclasses import replace
from pathlib import Path

import pytest
from dspy.lm15 import Request

from redraft.budget import RunCaps
from redraft.cli.headroom_text import headroom_text
from redraft.compiler import Headroom, headroom_calls, measure_headroom
from redraft.compiler.headroom import advised
from redraft.compiler.probe import NO_DRAFT
from redraft.errors import BudgetError, OutageError
from redraft.records import Usage
from redraft.testing import Reply, Scripted, models_of
from redraft.testing.simulated import World, world_named

FOUND = Headroom(
    program="note",
    opponent="base",
    rows=15,
    draws=8,
    mean=0.6,
    best_of=0.8,
    perfect_checker={1: 0.65, 2: 0.7, 4: 0.75},
    lost={NO_DRAFT: 0.1, "words": 0.3},
    format_share=0.25,
    noise_share=0.5,
    gate_rows=60,
    smallest_detectable=0.1,
    references=40,
    usage=Usage(calls=120, cost_usd=0.0),
)

TEXT = """\
note: Compile. 0.40 is lost, and drawing again would win back at most 0.20 of it.
15 train rows, 8 drafts each by base, the loop off
first draft: 0.60
best of 8 by the rubric: 0.80
drawing again with a checker that is always right, by cap: 1: 0.65, 2: 0.70, 4: 0.75
lost by cause: no draft 0.10, words 0.30
share of the loss without a usable draft: 0.25
share of the variance that is noise between drafts: 0.50
smallest gain that 60 gate rows would show: 0.10
120 calls, 0 tokens, $0.00"""


def measured(world: World, root: Path, *, calls: int = 1200, rows: int = 160) -> Headroom:
    """Return the headroom of a world's program."""
    world.write_project(root, rows=rows)
    caps = RunCaps(max_calls=calls)
    return measure_headroom(world.name, caps=caps, root=root, models=world.models(), threads=1)


def test_a_tenth_of_the_calls_is_spent_at_most(tmp_path: Path) -> None:
    """What is planned is what is spent, and a tenth bounds it."""
    world = world_named("demos")

    found = measured(world, tmp_path, calls=600)
    planned = headroom_calls(
        "demos", caps=RunCaps(max_calls=600), root=tmp_path, models=world.models()
    )

    assert found.usage.calls == planned == 56
    assert (found.rows, found.draws) == (7, 8)
    assert not (tmp_path / "compiled").exists()


def test_numbers_agree_with_the_world(tmp_path: Path) -> None:
    """First drafts score about as they truly do, and what is lost is accounted for."""
    world = world_named("format")

    found = measured(world, tmp_path, calls=4000, rows=400)

    truth = world.true_score(world.program().state())
    assert found.mean == pytest.approx(truth, abs=0.2)
    assert sum(found.lost.values()) == pytest.approx(1 - found.mean)
    assert found.mean <= found.perfect_checker[1] <= found.perfect_checker[4] <= found.best_of
    assert found.format_share is not None
    assert found.format_share > 0.4


@pytest.mark.parametrize(
    ("name", "advice"),
    [("ceiling", "stop"), ("format", "write_by_hand"), ("resample", "loop"), ("demos", "compile")],
)
def test_advice_fits_the_world(name: str, advice: str, tmp_path: Path) -> None:
    """Where there is something to gain decides what is to be done."""
    assert measured(world_named(name), tmp_path, rows=240).advice == advice


def test_rows_that_differ_are_no_noise(tmp_path: Path) -> None:
    """A model that always says the same has no noise; where every score is equal there is none."""
    world = world_named("null")
    world.write_project(tmp_path, rows=60)

    some_words = "Note: amber anchor barley basin candle canvas cedar copper dahlia ember falcon"

    found = measure_headroom("null", root=tmp_path, models=models_of(some_words))
    alike = measure_headroom("null", root=tmp_path, models=models_of("Hello."))

    assert found.noise_share == 0.0
    assert found.best_of == found.mean
    assert alike.noise_share is None


@pytest.mark.parametrize(
    ("changes", "advice"),
    [
        ({}, "compile"),
        ({"mean": 0.97, "smallest_detectable": 0.1}, "stop"),
        ({"mean": 0.97, "smallest_detectable": None}, "stop"),
        ({"mean": 0.97, "smallest_detectable": 0.01, "format_share": 0.0}, "compile"),
        ({"smallest_detectable": 0.5}, "get_labels"),
        ({"smallest_detectable": None}, "get_labels"),
        ({"format_share": 0.6}, "write_by_hand"),
        ({"mean": 0.2, "best_of": 0.21, "references": 0}, "write_by_hand"),
        ({"mean": 0.2, "best_of": 0.21, "perfect_checker": {2: 0.2}}, "compile"),
        ({"perfect_checker": {1: 0.7, 2: 0.85}}, "loop"),
    ],
)
def test_advice_follows_from_the_numbers(changes: dict[str, object], advice: str) -> None:
    """Ceiling first, then what the gate could confirm, form, material, and loop."""
    given = {"perfect_checker": {2: float(str(changes.get("mean", 0.6)))}} | changes

    found = advised(replace(FOUND, **given))

    assert found.advice == advice
    assert found.reason.endswith(".")


def test_text_is_for_people() -> None:
    """Advice and its reason come first, then the numbers, then the spend."""
    assert headroom_text(advised(FOUND)) == TEXT


def test_record_is_ready_for_json() -> None:
    """Caps are texts there, as JSON has them."""
    record = FOUND.record()

    assert record["perfect_checker"] == {"1": 0.65, "2": 0.7, "4": 0.75}
    assert record["advice"] == "compile"


def test_too_few_calls_are_refused_beforehand(tmp_path: Path) -> None:
    """The smallest cap that would do is named."""
    with pytest.raises(BudgetError, match="give --max-calls 480 or more"):
        measured(world_named("null"), tmp_path, calls=479)


def test_a_cap_that_ends_the_work_early_is_an_error(tmp_path: Path) -> None:
    """Fewer than three drafts of each row say nothing."""
    world = world_named("null")
    world.write_project(tmp_path, rows=60)
    caps = RunCaps(max_calls=1200, max_tokens=600)

    with pytest.raises(BudgetError, match="at least 3 are needed"):
        measure_headroom("null", caps=caps, root=tmp_path, models=world.models(), threads=1)


def test_retries_cost_draws_and_not_the_whole_work(tmp_path: Path) -> None:
    """Tries after an outage count, so there are fewer draws within the same tenth."""
    world = world_named("null")
    world.write_project(tmp_path, rows=160)
    failed: set[str] = set()
    engine = world.engine()

    def stumbling(request: Request) -> Reply:
        asked = str(request.messages[-1].text)
        if asked in failed:
            return engine.reply(request)
        failed.add(asked)
        return Reply(fail="outage")

    models = models_of(Scripted(stumbling))
    found = measure_headroom("null", root=tmp_path, models=models, threads=1)

    assert 3 <= found.draws < 8
    assert found.usage.calls <= 120


def test_an_outage_is_no_score(tmp_path: Path) -> None:
    """A model that does not answer says nothing about headroom."""
    world_named("null").write_project(tmp_path, rows=60)

    with pytest.raises(OutageError):
        measure_headroom("null", root=tmp_path, models=models_of(Reply(fail="outage")))


def test_progress_is_told(tmp_path: Path) -> None:
    """The bar of the command line hears of every row."""
    world = world_named("null")
    world.write_project(tmp_path, rows=60)
    told: list[tuple[str, int, int]] = []

    measure_headroom(
        "null",
        root=tmp_path,
        models=world.models(),
        threads=1,
        progress=lambda stage, done, total, _: told.append((stage, done, total)),
    )

    assert {stage for stage, _, _ in told} == {"headroom"}
    assert told[-1][1] == told[-1][2]
