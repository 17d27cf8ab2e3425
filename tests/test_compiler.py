"""Rows -> optimizer -> gate -> artifact, on small projects with a scripted drafter."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from dspy.lm15 import Request
from tuning_worlds import (
    HASH_RUBRIC,
    NAME,
    demos_shown,
    fixed,
    learner,
    make_project,
    rows,
    trainset,
    writer,
)

from redraft.artifact import Reason, current, list_artifacts, promote, promotions, read_artifact
from redraft.budget import RunCaps
from redraft.compiler import compile_program, estimate_compile
from redraft.errors import BudgetError, ConfigError, OutageError, PrepareError
from redraft.lm.wire import message_text
from redraft.looks import ledger_path, looks
from redraft.optimizers import SearchLimits, SearchTask
from redraft.program import load_base
from redraft.project import load_attribute
from redraft.records import Demo, PredictorState, ProgramState
from redraft.rubric import Measure, Rubric, load_rubric
from redraft.testing import Reply, Scripted, models_of

RESAMPLE = "loop=Loop(max_revisions=2, on_fail='resample')"
QUICK = SearchLimits(sizes=(0, 2, 4), sets_per_size=1, train_rows=8, max_revisions=1)


class Chosen:
    """An optimizer that always finds the same number of demos, without a call."""

    name = "chosen"

    def __init__(self, demos: int) -> None:
        self.demos = demos
        self.task: SearchTask | None = None

    def search(self, task: SearchTask) -> ProgramState:
        """Return the program with demos of the first train rows."""
        self.task = task
        base = task.program.state()
        demos = tuple(
            Demo({**row.inputs, "blurb": str(row.reference["draft"])}, row_id=row.id)
            for row in task.train[: self.demos]
        )
        texts = PredictorState(base.predictors["draft"].instructions, demos)
        return replace(base, predictors={**base.predictors, "draft": texts})

    def estimate(self, task: SearchTask) -> tuple[int, int]:
        """Return no calls."""
        return 0, 0


class Spendthrift(Chosen):
    """An optimizer that offers its find, then spends until a cap stops it."""

    name = "spendthrift"

    def search(self, task: SearchTask) -> ProgramState:
        """Never return."""
        task.trials.offer(super().search(task))
        number = 0
        while True:
            number += 1
            texts = PredictorState(f"Try {number}.")
            state = replace(task.opponent, predictors={"draft": texts})
            task.trials.measure(state, task.val, stage="demos")


def test_better_demos_are_confirmed_and_promoted(tmp_path: Path) -> None:
    """A compile that finds a gain writes the artifact and names it in CURRENT."""
    root = make_project(tmp_path, loop=RESAMPLE)

    result = compile_program(NAME, root=root, models=models_of(writer(learner)), limits=QUICK)

    assert (result.verdict, result.promoted, result.exit_code) == ("confirmed", True, 0)
    assert current(root, NAME) == result.artifact_id
    assert result.effect is not None
    assert result.effect.estimate > 0.2


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a project in which a first compile was promoted."""
    root = make_project(tmp_path_factory.mktemp("compiled"), loop=RESAMPLE)
    compile_program(NAME, root=root, models=models_of(writer(learner)), limits=QUICK)
    return root


def test_demos_come_from_train_rows(compiled: Path) -> None:
    """No row that is scored is shown as a demo."""
    artifact = read_artifact(compiled, NAME, current(compiled, NAME) or "")

    shown = {demo.row_id for p in artifact.predictors.values() for demo in p.demos}

    assert shown
    assert shown <= {row.id for row in rows() if row.split == "train"}


def test_ledger_holds_the_look_and_its_outcome(compiled: Path) -> None:
    """The look is written with its level, and the outcome with the artifact."""
    (look,) = looks(compiled, NAME)

    assert (look.split, look.command, look.level, look.outcome) == (
        "gate",
        "compile",
        0.04,
        "confirmed",
    )
    assert look.artifact_id == current(compiled, NAME)


def test_promotion_says_why(compiled: Path) -> None:
    """The history names opponent and look."""
    (promotion,) = promotions(compiled, NAME)

    assert (promotion.reason.opponent, promotion.reason.look) == ("base", 1)


def test_evaluation_is_kept_beside_the_artifact(compiled: Path) -> None:
    """`evaluation.json` holds what was measured, spent and used."""
    folder = compiled / "compiled" / NAME / str(current(compiled, NAME))

    kept = json.loads((folder / "evaluation.json").read_text("utf-8"))

    assert kept["verdict"] == "confirmed"
    assert kept["look"] == {"number": 1, "level": 0.04}
    assert kept["usage"]["calls"] > 0
    assert set(kept["versions"]) == {"python", "redraft", "dspy"}


def test_nothing_to_win_is_not_promoted(tmp_path: Path) -> None:
    """A drafter that learns nothing from demos ends without a look."""
    root = make_project(tmp_path)

    result = compile_program(NAME, root=root, models=models_of(writer(fixed)), limits=QUICK)

    assert (result.promoted, result.exit_code, result.look) == (False, 3, None)
    assert current(root, NAME) is None
    assert looks(root, NAME) == ()


def test_identity_writes_nothing_and_exits_3(tmp_path: Path) -> None:
    """An opponent is never better than itself."""
    root = make_project(tmp_path)

    result = compile_program(
        NAME, root=root, models=models_of(writer(learner)), optimizer="identity", promote="always"
    )

    assert (result.verdict, result.artifact_id, result.exit_code) == ("not_confirmed", None, 3)
    assert result.ending == "unchanged"
    assert not (root / "compiled").exists()


def test_what_loses_to_current_is_never_promoted(compiled: Path) -> None:
    """A find that beats base but not CURRENT stays out, whatever seed is tried."""
    before = current(compiled, NAME)

    for seed in (0, 1, 2):
        result = compile_program(
            NAME,
            root=compiled,
            models=models_of(writer(learner)),
            optimizer=Chosen(1),
            promote="likely",
            seed=seed,
        )
        assert result.opponent == before
        assert not result.promoted

    assert current(compiled, NAME) == before


def test_worse_find_on_the_gate_is_called_worse(tmp_path: Path) -> None:
    """A find that leads on val and loses on the gate is not promoted."""
    root = make_project(tmp_path)
    gate = {str(row.inputs["request"]) for row in rows() if row.split == "gate"}

    def skill(request: Request) -> float:
        on_gate = message_text(request.messages[-1]) in gate
        return abs(on_gate - (0.9 if demos_shown(request) else 0.3))

    result = compile_program(
        NAME, root=root, models=models_of(writer(skill)), optimizer=Chosen(2), promote="likely"
    )

    assert (result.verdict, result.promoted, result.exit_code) == ("worse", False, 3)
    assert looks(root, NAME)[0].outcome == "worse"


@pytest.mark.parametrize(
    ("promote_when", "promoted"), [("never", False), ("always", True), ("confirmed", True)]
)
def test_promote_policy(tmp_path: Path, promote_when: str, promoted: bool) -> None:
    """A confirmed gain is promoted unless the policy is never."""
    root = make_project(tmp_path)

    result = compile_program(
        NAME,
        root=root,
        models=models_of(writer(learner)),
        optimizer=Chosen(4),
        promote=promote_when,  # type: ignore[arg-type]  # the parameter is one of the words
    )

    assert (result.verdict, result.promoted) == ("confirmed", promoted)
    assert (current(root, NAME) is not None) is promoted
    assert result.exit_code == 0


def test_always_promotes_without_a_gain(tmp_path: Path) -> None:
    """A person may insist; the verdict stays what it is."""
    root = make_project(tmp_path)

    result = compile_program(
        NAME, root=root, models=models_of(writer(fixed)), optimizer=Chosen(1), promote="always"
    )

    assert (result.verdict, result.promoted) == ("not_confirmed", True)


def test_unknown_policy_is_refused() -> None:
    """A typing error is named before anything is loaded."""
    with pytest.raises(ConfigError, match="promote must be one of"):
        compile_program(NAME, promote="sometimes")  # type: ignore[arg-type]  # it is the test


def test_unknown_optimizer_is_refused() -> None:
    """The near match is named."""
    with pytest.raises(ConfigError, match="did you mean 'bootstrap'"):
        compile_program(NAME, optimizer="bootstrp")


def test_current_that_moved_is_not_overwritten(tmp_path: Path) -> None:
    """An artifact promoted by somebody else meanwhile was never measured against."""
    root = make_project(tmp_path)
    models = models_of(writer(learner))
    other = compile_program(NAME, root=root, models=models, optimizer=Chosen(3), promote="never")

    class Slow(Chosen):
        def search(self, task: SearchTask) -> ProgramState:
            promote(root, NAME, other.artifact_id or "", reason=Reason("somebody", "meanwhile"))
            return super().search(task)

    result = compile_program(NAME, root=root, models=models, optimizer=Slow(6))

    assert (result.verdict, result.promoted) == ("confirmed", False)
    assert current(root, NAME) == other.artifact_id
    assert "CURRENT was changed" in result.notes[-1]


def test_look_is_written_before_gate_rows_are_read(tmp_path: Path) -> None:
    """When the first gate row is drafted, the ledger has the line already."""
    root = make_project(tmp_path)
    gate = {str(row.inputs["request"]) for row in rows() if row.split == "gate"}
    seen: list[bool] = []
    write = writer(learner)

    def watching(request: Request) -> str:
        if message_text(request.messages[-1]) in gate:
            seen.append(ledger_path(root, NAME).exists())
        return write(request)

    compile_program(NAME, root=root, models=models_of(watching), optimizer=Chosen(4))

    assert seen
    assert all(seen)


def test_second_look_has_less_level(tmp_path: Path) -> None:
    """A look that confirmed nothing spends level."""
    root = make_project(tmp_path, rubric=HASH_RUBRIC)
    ledger_path(root, NAME).parent.mkdir(parents=True)
    digest = trainset().split_digest("gate")
    spent = {
        "number": 1,
        "split": "gate",
        "command": "compile",
        "artifact_id": None,
        "rows_digest": digest,
        "level": 0.04,
        "when": "2026-01-01T00:00:00+00:00",
    }
    ledger_path(root, NAME).write_text(json.dumps(spent) + "\n", "utf-8")

    estimate = estimate_compile(NAME, root=root, models=models_of(writer(fixed)))

    assert estimate.level == pytest.approx(0.04 / 2**1.6)


def test_artifact_does_not_depend_on_threads(tmp_path: Path) -> None:
    """The same seed and rows give the same bytes with one thread and with eight."""
    written = []
    for threads in (1, 8):
        root = make_project(tmp_path / str(threads), loop=RESAMPLE)
        result = compile_program(
            NAME, root=root, models=models_of(writer(learner)), limits=QUICK, threads=threads
        )
        folder = root / "compiled" / NAME / str(result.artifact_id)
        written.append((folder / "artifact.json").read_bytes())

    assert written[0] == written[1]


def test_seed_is_part_of_what_is_found(compiled: Path) -> None:
    """Another seed draws other demos."""
    first = read_artifact(compiled, NAME, current(compiled, NAME) or "")

    again = compile_program(
        NAME, root=compiled, models=models_of(writer(learner)), limits=QUICK, seed=7
    )

    assert first.search.seed == 0
    assert again.artifact_id != first.id


def test_cap_too_small_for_the_gate_names_the_smallest(tmp_path: Path) -> None:
    """The cap that is named as the smallest is enough, and one less is not."""
    root = make_project(tmp_path, loop=RESAMPLE)
    models = models_of(writer(learner))
    with pytest.raises(BudgetError) as caught:
        compile_program(NAME, root=root, models=models, caps=RunCaps(max_calls=10))

    needed = caught.value.needed
    result = compile_program(NAME, root=root, models=models, caps=RunCaps(max_calls=needed))

    assert needed == 2 * 32 * 3
    assert result.ending == "unchanged"
    assert "no room for a search" in result.notes[0]
    with pytest.raises(BudgetError, match=str(needed)):
        compile_program(NAME, root=root, models=models, caps=RunCaps(max_calls=needed - 1))


@pytest.mark.parametrize("max_calls", [200, 260, 330, 500])
def test_no_cap_is_overshot(tmp_path: Path, max_calls: int) -> None:
    """Whatever the search leaves out, the calls stay within the cap."""
    root = make_project(tmp_path, loop=RESAMPLE)

    result = compile_program(
        NAME,
        root=root,
        models=models_of(writer(learner)),
        caps=RunCaps(max_calls=max_calls),
        promote="never",
    )

    assert result.usage.calls <= max_calls


def test_cap_ends_the_search_and_its_best_goes_through_the_gate(tmp_path: Path) -> None:
    """What was offered before the cap is still compared, looked at and promoted."""
    root = make_project(tmp_path)

    result = compile_program(
        NAME,
        root=root,
        models=models_of(writer(learner)),
        optimizer=Spendthrift(4),
        caps=RunCaps(max_calls=300),
    )

    assert (result.ending, result.promoted) == ("gate", True)
    assert result.usage.calls <= 300
    assert "A cap ended the search" in result.notes[0]


def test_deadline_of_the_search_leaves_time_for_the_gate(tmp_path: Path) -> None:
    """The search gets part of the time; its best so far is compared with the rest."""
    root = make_project(tmp_path)

    result = compile_program(
        NAME,
        root=root,
        models=models_of(writer(learner)),
        optimizer=Spendthrift(4),
        caps=RunCaps(max_calls=100_000, max_seconds=6),
    )

    assert (result.ending, result.promoted) == ("gate", True)


def test_gate_that_is_cut_short_confirms_nothing(tmp_path: Path) -> None:
    """A deadline in the look leaves a look, an artifact, and no promotion."""
    root = make_project(tmp_path)
    gate = {str(row.inputs["request"]) for row in rows() if row.split == "gate"}
    write = writer(learner)

    def slow(request: Request) -> Reply:
        on_gate = message_text(request.messages[-1]) in gate
        return Reply(write(request), delay_seconds=2.0 if on_gate else 0.0)

    result = compile_program(
        NAME,
        root=root,
        models=models_of(slow),
        optimizer=Chosen(4),
        caps=RunCaps(max_seconds=4),
    )

    assert (result.ending, result.verdict) == ("gate_cut_short", "not_confirmed")
    assert (result.promoted, result.effect, result.exit_code) == (False, None, 3)
    assert looks(root, NAME)[0].outcome == "not_confirmed"
    assert list_artifacts(root, NAME) == (result.artifact_id,)


def test_find_that_the_calls_left_cannot_look_at_is_kept(tmp_path: Path) -> None:
    """An optimizer that chose a long loop beyond its limits spends no look on it."""
    root = make_project(tmp_path)

    class Long(Chosen):
        def search(self, task: SearchTask) -> ProgramState:
            loop = replace(task.program.loop, max_revisions=30, on_fail="resample")
            state = replace(super().search(task), loop=loop)
            for row in (task.opponent, state):
                task.trials.measure(row, task.val[:12], stage="demos")
            return state

    result = compile_program(
        NAME,
        root=root,
        models=models_of(writer(learner)),
        optimizer=Long(4),
        caps=RunCaps(max_calls=400),
    )

    assert (result.ending, result.look, result.promoted) == ("no_calls", None, False)
    assert result.artifact_id is not None


def test_cap_without_a_call_for_val_compares_nothing(tmp_path: Path) -> None:
    """Where everything is kept for the gate, an unmeasured find is written and not looked at."""
    root = make_project(tmp_path)

    result = compile_program(
        NAME,
        root=root,
        models=models_of(writer(learner)),
        optimizer=Chosen(4),
        caps=RunCaps(max_calls=64),
    )

    assert (result.ending, result.look, result.effect) == ("not_compared", None, None)
    assert list_artifacts(root, NAME) == (result.artifact_id,)


def test_deadline_before_val_is_compared_confirms_nothing(tmp_path: Path) -> None:
    """A find that was never measured is written and not looked at."""
    root = make_project(tmp_path)

    result = compile_program(
        NAME,
        root=root,
        models=models_of(Reply("steel", delay_seconds=3.0)),
        optimizer=Chosen(4),
        caps=RunCaps(max_seconds=1),
    )

    assert (result.ending, result.look, result.promoted) == ("not_compared", None, False)


def test_loop_that_the_gate_cannot_pay_for_is_not_searched(tmp_path: Path) -> None:
    """A program whose loop is off keeps it off where a check would not fit the look."""
    off = "loop=Loop(enabled=False), criteria=[Criterion('kind', 'It is kind.')]"
    root = make_project(tmp_path, loop=off)
    optimizer = Chosen(0)

    compile_program(
        NAME,
        root=root,
        models=models_of(writer(fixed)),
        optimizer=optimizer,
        caps=RunCaps(max_calls=100),
    )

    assert optimizer.task is not None
    assert optimizer.task.limits.on_fail == ()


def test_find_is_compared_on_the_rows_that_the_calls_allow(tmp_path: Path) -> None:
    """Calls beside the gate's are spent on as many val rows as they pay for."""
    root = make_project(tmp_path)

    result = compile_program(
        NAME,
        root=root,
        models=models_of(writer(lambda r: float(demos_shown(r) > 0))),
        optimizer=Chosen(4),
        caps=RunCaps(max_calls=64 + 40),
    )

    assert (result.ending, result.usage.calls) == ("gate", 64 + 40)


def test_models_of_the_settings_reuse_recorded_replies(tmp_path: Path) -> None:
    """A second compile pays the same calls and asks the model for none of them."""
    root = make_project(tmp_path)
    (root / "writer.py").write_text("def reply(request):\n    return 'steel'\n", "utf-8")
    settings = root / "pyproject.toml"
    settings.write_text(
        settings.read_text("utf-8").replace("scripted/none.json", "scripted/writer.py"), "utf-8"
    )

    first, second, fresh = (
        compile_program(NAME, root=root, limits=QUICK, fresh=fresh)
        for fresh in (False, False, True)
    )

    assert first.usage.reread < first.usage.calls
    assert second.usage.reread == second.usage.calls == first.usage.calls
    assert fresh.usage.reread == 0


def test_outage_names_the_model_and_writes_nothing(tmp_path: Path) -> None:
    """A model that does not answer makes no numbers."""
    root = make_project(tmp_path)

    with pytest.raises(OutageError, match="scripted/test") as caught:
        compile_program(NAME, root=root, models=models_of(Reply(fail="outage")))

    assert (caught.value.model, caught.value.exit_code) == ("scripted/test", 1)
    assert not (root / "compiled").exists()


def test_outage_of_the_checker_is_no_reason_to_switch_the_loop_off(tmp_path: Path) -> None:
    """A checker that is down makes checking look worthless, so nothing is concluded from it."""
    checked = f"criteria=[Criterion('plain', 'It is plain.')], {RESAMPLE}"
    root = make_project(tmp_path, loop=checked)
    models = models_of(drafter=writer(learner), checker=Reply(fail="outage"))

    with pytest.raises(OutageError, match="scripted/checker"):
        compile_program(NAME, root=root, models=models, limits=QUICK)

    assert not (root / "compiled").exists()


def test_row_that_prepare_cannot_read_costs_nothing(tmp_path: Path) -> None:
    """It is found before the first call and before the look, in whichever split it is."""
    prepared = f"prepare=lambda inputs: {{'asked': inputs['request'].split(': ')[1]}}, {RESAMPLE}"
    root = make_project(tmp_path, loop=prepared)
    drafter = Scripted(writer(learner))
    last = next(row.id for row in reversed(rows()) if row.split == "gate")
    given = [replace(row, inputs={"request": "?"}) if row.id == last else row for row in rows()]

    with pytest.raises(PrepareError, match=last):
        compile_program(NAME, root=root, models=models_of(drafter), rows=given, limits=QUICK)

    assert drafter.requests == ()
    assert looks(root, NAME) == ()


def test_outage_at_the_gate_leaves_only_the_look(tmp_path: Path) -> None:
    """An outage in the look spends it, and promotes nothing."""
    root = make_project(tmp_path)
    gate = {str(row.inputs["request"]) for row in rows() if row.split == "gate"}
    write = writer(learner)

    def failing(request: Request) -> str | Reply:
        on_gate = message_text(request.messages[-1]) in gate
        return Reply(fail="outage") if on_gate else write(request)

    with pytest.raises(OutageError, match="gate rows"):
        compile_program(NAME, root=root, models=models_of(failing), optimizer=Chosen(4))

    assert looks(root, NAME)[0].outcome is None
    assert list_artifacts(root, NAME) == ()


def test_search_sees_no_hidden_measure_and_no_gate_row(tmp_path: Path) -> None:
    """The optimizer is given the visible rubric, train and val."""
    root = make_project(tmp_path)
    shown = load_rubric(root, NAME).measures
    secret = Measure("secret", 1.0, lambda row, draft: float(row.id in draft), hidden=True)
    optimizer = Chosen(0)

    compile_program(
        NAME,
        Rubric((*shown, secret)),
        root=root,
        models=models_of(writer(learner)),
        optimizer=optimizer,
    )

    task = optimizer.task
    assert task is not None
    assert [measure.id for measure in task.rubric.measures] == ["words"]
    assert {row.split for row in (*task.train, *task.val)} == {"train", "val"}


def test_objects_compile_like_their_name(tmp_path: Path) -> None:
    """Program, rubric and rows may be given as objects."""
    root = make_project(tmp_path)
    program = load_base(root, NAME).with_models(models_of(writer(learner)))
    rubric = load_attribute(root, "metrics", name=NAME, attribute="RUBRIC", kind=Rubric)

    result = compile_program(program, rubric, rows(), root=root, optimizer=Chosen(4))

    assert result.verdict == "confirmed"
    assert read_artifact(root, NAME, result.artifact_id or "").lineage.rubric is None


def test_rows_without_a_group_are_groups_of_their_own(tmp_path: Path) -> None:
    """Rows made in memory need no group to be told apart."""
    root = make_project(tmp_path)
    loose = [replace(row, group="") for row in rows()]

    result = compile_program(
        NAME, None, loose, root=root, models=models_of(writer(learner)), optimizer=Chosen(4)
    )

    assert result.effect is not None
    assert result.effect.groups == 32


def test_program_without_a_name_is_refused(tmp_path: Path) -> None:
    """An artifact is loaded from a file, so there must be one."""
    root = make_project(tmp_path)

    with pytest.raises(ConfigError, match="needs a name"):
        compile_program(load_base(root, NAME).named(""), root=root)


def test_opponent_that_drifted_is_still_the_one_to_beat(tmp_path: Path) -> None:
    """A compile is how an artifact of an older program is replaced, so it does not stop there."""
    root = make_project(tmp_path)
    models = models_of(writer(learner))
    first = compile_program(NAME, root=root, models=models, optimizer=Chosen(1), promote="always")
    path = root / "programs" / f"{NAME}.py"
    path.write_text(path.read_text("utf-8").replace("every word", "each word"), "utf-8")

    result = compile_program(NAME, root=root, models=models, optimizer=Chosen(6))

    assert result.opponent == first.artifact_id
    assert "another state of the program" in result.notes[0]
    assert result.promoted


@pytest.mark.parametrize("file", ["metrics/blurb.py", "trainsets/blurb/rows.jsonl"])
def test_opponent_of_another_rubric_or_other_rows_is_noted(tmp_path: Path, file: str) -> None:
    """Its earlier numbers do not compare with what this compile says; a note names what changed."""
    root = make_project(tmp_path)
    models = models_of(writer(learner))
    compile_program(NAME, root=root, models=models, optimizer=Chosen(1), promote="always")
    path = root / file
    path.write_text(path.read_text("utf-8").replace("0.9", "0.8").replace("For v", "To v"), "utf-8")

    result = compile_program(NAME, root=root, models=models, optimizer=Chosen(1))

    assert "earlier numbers do not compare" in result.notes[0]
    assert file.removesuffix("rows.jsonl") in result.notes[0]


def test_opponent_that_was_shown_measured_rows_is_noted(tmp_path: Path) -> None:
    """Rows that changed their split may be in the opponent's demos."""
    root = make_project(tmp_path)
    models = models_of(writer(learner))
    compile_program(NAME, root=root, models=models, optimizer=Chosen(1), promote="always")
    swapped = [replace(row, split="val" if row.id == "train0" else row.split) for row in rows()]

    result = compile_program(NAME, None, swapped, root=root, models=models, optimizer=Chosen(2))

    assert "demos come from 1 rows" in result.notes[0]


def test_progress_tells_stage_and_spend(tmp_path: Path) -> None:
    """Every stage reports its rows, and the spend of the whole compile."""
    root = make_project(tmp_path)
    told: list[tuple[str, int, int, int]] = []

    compile_program(
        NAME,
        root=root,
        models=models_of(writer(learner)),
        limits=QUICK,
        progress=lambda stage, done, total, usage: told.append((stage, done, total, usage.calls)),
    )

    assert list(dict.fromkeys(stage for stage, *_ in told)) == [
        "opponent",
        "bootstrap",
        "demos",
        "loop",
        "gate",
    ]
    calls = [spent for *_, spent in told]
    assert calls == sorted(calls)
    assert all(done <= total for _, done, total, _ in told)


def test_record_has_the_fields_of_the_design(tmp_path: Path) -> None:
    """`compile --json` prints the decision, both sides, the gain and the look."""
    root = make_project(tmp_path)

    record = compile_program(
        NAME, root=root, models=models_of(writer(learner)), optimizer=Chosen(4), promote="never"
    ).record()

    assert list(record)[:13] == [
        "program",
        "optimizer",
        "artifact_id",
        "promoted",
        "verdict",
        "opponent",
        "base",
        "compiled",
        "gain",
        "smallest_detectable",
        "look",
        "usage",
        "resumed",
    ]
    assert json.loads(json.dumps(record)) == record
    gain, look = record["gain"], record["look"]
    assert isinstance(gain, dict)
    assert list(gain) == ["estimate", "low", "high", "p"]
    assert look == {"number": 1, "level": 0.04}


def test_estimate_makes_no_call(tmp_path: Path) -> None:
    """A dry run counts calls and says what the gate could tell."""
    root = make_project(tmp_path, loop=RESAMPLE)
    asked: list[Request] = []
    models = models_of(lambda request: asked.append(request) or "x")  # type: ignore[func-returns-value]

    estimate = estimate_compile(NAME, root=root, models=models)

    assert asked == []
    assert 0 < estimate.best <= estimate.expected <= estimate.worst <= estimate.cap == 4000
    assert (estimate.needed, estimate.gate_rows) == (192, 32)
    assert estimate.record()["level"] == 0.04


def test_estimate_is_an_upper_bound(tmp_path: Path) -> None:
    """A compile in which nothing passes spends no more than the worst case."""
    root = make_project(tmp_path, loop=RESAMPLE)
    models = models_of(lambda _: "nothing")
    estimate = estimate_compile(NAME, root=root, models=models)

    result = compile_program(NAME, root=root, models=models)

    assert result.usage.calls <= estimate.worst


@pytest.mark.parametrize("optimizer", ["identity"])
def test_estimate_of_a_search_without_calls_is_nothing(tmp_path: Path, optimizer: str) -> None:
    """Where nothing is searched, nothing is looked at either."""
    root = make_project(tmp_path)

    estimate = estimate_compile(
        NAME, root=root, models=models_of(writer(fixed)), optimizer=optimizer
    )

    assert (estimate.best, estimate.worst) == (0, 0)
