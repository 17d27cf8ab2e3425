"""The ledger of looks: what it counts, and that nothing stops or spoils it."""

import json
import multiprocessing
from pathlib import Path

import pytest

from redraft.errors import ProjectError
from redraft.looks import (
    Look,
    Outcome,
    gate_level,
    ledger_path,
    looks,
    read_ledger,
    record_look,
    record_outcome,
)
from redraft.statistics import look_level

ROWS = "0" * 64


def look(root: Path, split: str = "gate", *, rows_digest: str = ROWS) -> Look:
    """Record one look of a compile."""
    assert split in ("gate", "test")
    return record_look(
        root,
        "letter",
        split=split,
        command="compile",
        rows_digest=rows_digest,  # type: ignore[arg-type]
    )


def decide(root: Path, outcome: Outcome) -> None:
    """Record one look and what came of it."""
    record_outcome(root, "letter", look_number=look(root).number, outcome=outcome)


def test_nothing_has_looked_at_first(tmp_path: Path) -> None:
    """A program without a ledger has no looks, and reading makes no file."""
    assert looks(tmp_path, "letter") == ()
    assert list(tmp_path.iterdir()) == []


def test_a_look_is_read_back(tmp_path: Path) -> None:
    """What is returned is what is on disk."""
    recorded = record_look(
        tmp_path, "letter", split="test", command="compare", rows_digest=ROWS, artifact_id="a1"
    )

    assert looks(tmp_path, "letter") == (recorded,)
    assert (recorded.number, recorded.artifact_id, recorded.level) == (1, "a1", None)


def test_an_outcome_belongs_to_its_look(tmp_path: Path) -> None:
    """It may name the artifact that came of it."""
    first, second = look(tmp_path), look(tmp_path)

    record_outcome(tmp_path, "letter", look_number=first.number, outcome="likely", artifact_id="a1")

    kept = looks(tmp_path, "letter")
    assert [(one.number, one.outcome, one.artifact_id) for one in kept] == [
        (1, "likely", "a1"),
        (2, None, None),
    ]
    assert second.number == 2


def test_lines_are_only_added(tmp_path: Path) -> None:
    """What was written stays, byte for byte."""
    look(tmp_path)
    before = ledger_path(tmp_path, "letter").read_bytes()

    decide(tmp_path, "worse")

    assert ledger_path(tmp_path, "letter").read_bytes().startswith(before)


def test_looks_are_chosen_by_split_and_rows(tmp_path: Path) -> None:
    """Looks at other rows do not count for these."""
    look(tmp_path)
    look(tmp_path, "test")
    look(tmp_path, rows_digest="1" * 64)

    assert [one.number for one in looks(tmp_path, "letter", split="gate")] == [1, 3]
    assert [one.number for one in looks(tmp_path, "letter", rows_digest=ROWS)] == [1, 2]
    assert [o.number for o in looks(tmp_path, "letter", split="gate", rows_digest=ROWS)] == [1]


def test_each_program_has_its_ledger(tmp_path: Path) -> None:
    """Numbers start from 1 for every program."""
    look(tmp_path)

    other = record_look(tmp_path, "poem", split="gate", command="compile", rows_digest=ROWS)

    assert other.number == 1


# Levels


def test_the_level_falls_with_every_look(tmp_path: Path) -> None:
    """A look without an outcome counts as one that confirmed nothing."""
    levels = [look(tmp_path).level for _ in range(3)]

    assert levels == [look_level(1), look_level(2), look_level(3)]


@pytest.mark.parametrize("outcome", ["likely", "not_confirmed", "worse"])
def test_only_a_confirmed_gain_restarts_the_level(tmp_path: Path, outcome: Outcome) -> None:
    """Other outcomes spend it."""
    decide(tmp_path, outcome)
    assert look(tmp_path).level == look_level(2)

    decide(tmp_path, "confirmed")
    assert look(tmp_path).level == look_level(1)


def test_fresh_rows_restart_the_level(tmp_path: Path) -> None:
    """And going back to the old ones does not."""
    look(tmp_path)

    assert look(tmp_path, rows_digest="1" * 64).level == look_level(1)
    assert look(tmp_path).level == look_level(2)


def test_looks_at_test_spend_nothing(tmp_path: Path) -> None:
    """Reports do not decide."""
    look(tmp_path, "test")

    assert gate_level(looks(tmp_path, "letter")) == look_level(1)


def test_looks_at_the_gate_without_a_decision_spend_nothing(tmp_path: Path) -> None:
    """An evaluation of the gate's rows is written down; it takes no level from a compile."""
    for _ in range(3):
        seen = record_look(tmp_path, "letter", split="gate", command="evaluate", rows_digest=ROWS)
        assert seen.level is None

    assert look(tmp_path).level == look_level(1)
    assert len(looks(tmp_path, "letter", split="gate")) == 4


def test_the_level_left_can_be_told_before(tmp_path: Path) -> None:
    """What is printed before spending is what the look then gets."""
    look(tmp_path)

    told = gate_level(looks(tmp_path, "letter", rows_digest=ROWS))

    assert told == look(tmp_path).level


# Damage


@pytest.mark.parametrize("kept", [1, 40, -1])
def test_a_line_that_was_cut_off_is_reported_and_left(tmp_path: Path, kept: int) -> None:
    """A process that was killed while writing had not read the rows."""
    look(tmp_path)
    path = ledger_path(tmp_path, "letter")
    whole = path.read_bytes()
    path.write_bytes(whole + whole[: len(whole) - 2 if kept == -1 else kept])

    after = look(tmp_path)

    ledger = read_ledger(tmp_path, "letter")
    assert [one.number for one in ledger.looks] == [1, 2]
    assert after.number == 2
    assert ledger.problems == (f"{path}:2: a line was cut off, as by a killed process; ignored",)


def test_a_last_line_without_its_end_still_counts(tmp_path: Path) -> None:
    """Only the line feed was lost, so all of the look is there."""
    look(tmp_path)
    path = ledger_path(tmp_path, "letter")
    path.write_bytes(path.read_bytes().rstrip(b"\n"))

    look(tmp_path)

    assert [one.number for one in looks(tmp_path, "letter")] == [1, 2]


@pytest.mark.parametrize(
    "line",
    [
        [],
        {"number": 1},
        {"number": "one", "split": "gate"},
        {"outcome_of": 7, "outcome": "confirmed", "artifact_id": None},
        {"outcome_of": 1, "outcome": "great", "artifact_id": None},
    ],
)
def test_a_line_of_another_kind_is_an_error(tmp_path: Path, line: object) -> None:
    """A ledger that was edited cannot say what level is left."""
    look(tmp_path)
    path = ledger_path(tmp_path, "letter")
    path.write_bytes(path.read_bytes() + json.dumps(line).encode() + b"\n")

    with pytest.raises(ProjectError, match=r"looks.jsonl:2: this is neither a look nor its outc"):
        read_ledger(tmp_path, "letter")


def test_a_look_cannot_happen_twice(tmp_path: Path) -> None:
    """A pasted line is seen."""
    look(tmp_path)
    path = ledger_path(tmp_path, "letter")
    path.write_bytes(path.read_bytes() * 2)

    with pytest.raises(ProjectError, match="neither a look nor its outcome"):
        looks(tmp_path, "letter")


def test_an_outcome_needs_its_look(tmp_path: Path) -> None:
    """Nothing is decided without having looked."""
    with pytest.raises(ProjectError, match="has no look 1; record the look first"):
        record_outcome(tmp_path, "letter", look_number=1, outcome="confirmed")


def test_a_ledger_that_is_a_folder_is_named(tmp_path: Path) -> None:
    """Reading and writing both say which path is meant."""
    ledger_path(tmp_path, "letter").mkdir(parents=True)

    with pytest.raises(ProjectError, match=r"cannot read .*looks.jsonl: Is a directory"):
        read_ledger(tmp_path, "letter")
    with pytest.raises(ProjectError, match=r"cannot write .*looks.jsonl: Is a directory"):
        look(tmp_path)


def test_a_name_cannot_leave_the_folder(tmp_path: Path) -> None:
    """`../x` has no ledger."""
    with pytest.raises(ProjectError, match="is not a NAME"):
        looks(tmp_path, "../letter")


# Several processes


def look_often(root: Path) -> None:
    """Look ten times; run in a process of its own."""
    for _ in range(10):
        look(root)


def test_processes_do_not_share_a_number_or_a_level(tmp_path: Path) -> None:
    """Two compiles at once never spend the same level."""
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=look_often, args=(tmp_path,)) for _ in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()

    ledger = read_ledger(tmp_path, "letter")
    assert [one.number for one in ledger.looks] == list(range(1, 31))
    assert len({one.level for one in ledger.looks}) == 30
    assert ledger.problems == ()
