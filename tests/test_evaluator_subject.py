"""Program, rubric and rows, given as objects or by one NAME, and verified where they are named."""

from dataclasses import replace
from pathlib import Path

import pytest
from small_project import make_project

from redraft.artifact import Lineage, Search, build_artifact, file_digests
from redraft.artifact.record import canonical_bytes, to_payload
from redraft.errors import ConfigError, DriftError, ProjectError, TrainsetError
from redraft.evaluator import EvaluationRun, evaluate, resolve
from redraft.looks import looks
from redraft.program import load_base
from redraft.project import code_fingerprint
from redraft.records import Row
from redraft.rubric import Measure, Rubric, load_rubric
from redraft.testing import models_of
from redraft.trainset import load_trainset

NAME = "notice"
ALL = Rubric([Measure("any", 1.0, lambda _row, _draft: 0.5)])
ROWS = [Row("a", {"request": "Lift."}, split="val"), Row("b", {"request": "Door."}, split="val")]


def placed(root: Path) -> str:
    """Put an artifact of the program as it stands into the project and return its id."""
    base = load_base(root, NAME)
    trainset = load_trainset(root, NAME)
    lineage = Lineage(
        program=code_fingerprint(root, "programs", NAME),
        files=file_digests(root, base),
        rubric=code_fingerprint(root, "metrics", NAME),
        rows=trainset.digest,
        splits={"train": tuple(row.id for row in trainset.split("train"))},
    )
    artifact = build_artifact(base, lineage=lineage, search=Search("identity", 0))
    folder = root / "compiled" / NAME / artifact.id
    folder.mkdir(parents=True)
    (folder / "artifact.json").write_bytes(canonical_bytes(to_payload(artifact)))
    return artifact.id


def test_name_is_enough(root: Path) -> None:
    """A NAME finds program, rubric, rows and the models of the settings."""
    evaluation = evaluate(NAME, root=root)

    assert (evaluation.program, evaluation.artifact_id, evaluation.split) == (NAME, None, "val")
    assert evaluation.mean == 1.0
    assert evaluation.n == len(load_trainset(root, NAME).split("val"))


def test_objects_need_no_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything given as an object is taken as it is."""
    program = load_base(make_project(tmp_path / "p"), NAME).with_models(models_of("Hello."))
    monkeypatch.chdir(tmp_path)

    evaluation = evaluate(program, ALL, ROWS)

    assert evaluation.mean == 0.5
    assert [r.row_id for r in evaluation.results] == ["a", "b"]
    assert [r.group for r in evaluation.results] == ["a", "b"]


def test_program_as_an_object_finds_the_rest_by_its_name(root: Path) -> None:
    """A loaded program brings its rubric and rows along, and other models may be given."""
    program = load_base(root, NAME)

    subject = resolve(program, root=root, models="scripted/replies.json")

    assert subject.rubric.name == NAME
    assert subject.trainset.name == NAME
    assert subject.program.models is not None
    assert program.models is None


def test_working_directory_is_the_project_by_default(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a root the nearest project upward is used."""
    monkeypatch.chdir(root / "metrics")

    assert resolve(NAME).root == root


def test_name_without_project_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Outside of a project a NAME means nothing."""
    monkeypatch.chdir(tmp_path)

    with pytest.raises(ProjectError):
        resolve(NAME)


def test_artifact_is_measured_with_what_it_was_compiled_with(root: Path) -> None:
    """The artifact answers, and the evaluation says which it was."""
    artifact_id = placed(root)

    assert evaluate(NAME, root=root, artifact=artifact_id).artifact_id == artifact_id


@pytest.mark.parametrize("file", ["programs/notice.py", "metrics/notice.py"])
def test_changed_source_is_drift(root: Path, file: str) -> None:
    """A rubric or program that changed since the compile stops the measurement."""
    artifact_id = placed(root)
    path = root / file
    path.write_text(path.read_text() + "\n# changed\n")

    with pytest.raises(DriftError, match=file):
        resolve(NAME, root=root, artifact=artifact_id)
    assert resolve(NAME, root=root, artifact=artifact_id, allow_drift=True).program.artifact_id


@pytest.mark.parametrize("folder", ["programs", "metrics"])
def test_changed_helper_is_drift(root: Path, folder: str) -> None:
    """A module that the program or its rubric imports belongs to it."""
    helper = root / folder / "helper.py"
    helper.write_text("WORDS = 3\n", "utf-8")
    path = root / folder / f"{NAME}.py"
    path.write_text(f"from {folder}.helper import WORDS\n{path.read_text()}", "utf-8")
    artifact_id = placed(root)

    helper.write_text("WORDS = 4\n", "utf-8")

    with pytest.raises(DriftError, match=f"{folder}/{NAME}.py or what it imports changed"):
        resolve(NAME, root=root, artifact=artifact_id)


def test_changed_rows_are_drift(root: Path) -> None:
    """Other rows are other numbers."""
    artifact_id = placed(root)
    path = root / "trainsets" / NAME / "rows.jsonl"
    path.write_text(path.read_text().replace("Lift 3 stops on", "Lift 3 rests on"))

    with pytest.raises(DriftError, match="trainsets/notice/"):
        resolve(NAME, root=root, artifact=artifact_id)


def test_rows_that_moved_to_another_split_are_drift(root: Path) -> None:
    """Else an artifact would be measured on rows that it was shown as demos."""
    moved = load_trainset(root, NAME).split("train")[0].id
    artifact_id = placed(root)
    path = root / "trainsets" / NAME / "rows.jsonl"
    named = f'"id": "{moved}", "split": "test",'
    path.write_text(path.read_text().replace(f'"id": "{moved}",', named))

    with pytest.raises(DriftError, match="no longer in 'train'"):
        resolve(NAME, root=root, artifact=artifact_id)
    assert resolve(NAME, root=root, artifact=artifact_id, allow_drift=True).program.artifact_id


def test_rubric_and_rows_given_as_objects_are_no_drift(root: Path) -> None:
    """Measuring by another rubric on other rows is done on purpose."""
    artifact_id = placed(root)

    evaluation = evaluate(NAME, ALL, ROWS, root=root, artifact=artifact_id)

    assert evaluation.mean == 0.5


@pytest.mark.parametrize(("split", "count"), [("val", 0), ("test", 1)])
def test_reading_test_rows_is_written_down(root: Path, split: str, count: int) -> None:
    """A look at `test` or `gate` adds a line to the ledger; `val` is free."""
    artifact_id = placed(root)

    evaluate(NAME, root=root, artifact=artifact_id, split=split, limit=2)  # type: ignore[arg-type]

    found = looks(root, NAME)
    assert len(found) == count
    assert all(look.command == "evaluate" for look in found)
    assert all(look.artifact_id == artifact_id for look in found)


def test_look_is_written_before_rows_are_answered(root: Path) -> None:
    """A command that is stopped has looked all the same."""

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        evaluate(NAME, root=root, split="test", run=EvaluationRun(progress=stop))

    assert len(looks(root, NAME)) == 1


def test_limit_takes_the_same_rows_every_time_and_keeps_their_order(root: Path) -> None:
    """Fewer rows are drawn from all over the file, not from its top."""
    subject = resolve(NAME, root=root)
    everything = [row.id for row in subject.rows("val")]

    few = [row.id for row in subject.rows("val", 5)]

    assert few == [row.id for row in subject.rows("val", 5)]
    assert few == [row_id for row_id in everything if row_id in few]
    assert few != everything[:5]
    assert len(few) == 5
    assert [row.id for row in subject.rows("val", 999)] == everything


def test_limit_must_be_one_or_more(root: Path) -> None:
    """No rows is no measurement."""
    with pytest.raises(ConfigError, match="rows must be 1 or more"):
        resolve(NAME, root=root).rows("val", 0)


def test_empty_split_is_an_error_without_a_look(root: Path) -> None:
    """Rows that do not exist are not looked at."""
    trainset = load_trainset(root, NAME)
    only_val = replace(trainset, rows=trainset.split("val"))

    with pytest.raises(TrainsetError, match="no rows in 'test'"):
        evaluate(NAME, load_rubric(root, NAME), only_val, root=root, split="test")

    assert looks(root, NAME) == ()
