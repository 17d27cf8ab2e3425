"""Which artifact answers: promotions, and the way back."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from redraft.artifact import (
    Lineage,
    Reason,
    Search,
    build_artifact,
    current,
    load,
    promote,
    promotions,
    rollback,
)
from redraft.artifact.record import canonical_bytes, to_payload
from redraft.errors import ArtifactError
from redraft.program import load_base

NAME = "notice"
WHY = Reason("sam", "it won", opponent="base", look=3)


@pytest.fixture
def ids(root: Path) -> list[str]:
    """Return the ids of three artifacts of the project."""
    return [_placed(root, seed) for seed in range(3)]


def _placed(root: Path, seed: int) -> str:
    """Put an artifact in its folder without the check in a fresh process."""
    base = load_base(root, NAME)
    artifact = build_artifact(base, lineage=Lineage(), search=Search("identity", seed))
    artifact = replace(artifact, lineage=Lineage(files={}))
    folder = root / "compiled" / NAME / artifact.id
    folder.mkdir(parents=True)
    (folder / "artifact.json").write_bytes(canonical_bytes(to_payload(artifact)))
    return artifact.id


def test_promoted_artifact_is_current(root: Path, ids: list[str]) -> None:
    """`CURRENT` names what answers, and an id may be shortened."""
    promote(root, NAME, ids[1][:6], reason=WHY)

    assert current(root, NAME) == ids[1]
    assert load(NAME, root=root, allow_drift=True).artifact_id == ids[1]
    assert load(NAME, "base", root=root).artifact_id is None


def test_promotion_writes_who_when_why(root: Path, ids: list[str]) -> None:
    """The history says who promoted what, why, against which opponent, by which look."""
    promote(root, NAME, ids[0], reason=WHY)
    promote(root, NAME, ids[1], reason=Reason("kim", "by hand"))

    lines = (root / "compiled" / NAME / "promotions.jsonl").read_text("utf-8").splitlines()
    first, second = (json.loads(line) for line in lines)
    assert first.pop("when").endswith("+00:00")
    assert first == {
        "action": "promote",
        "from": None,
        "to": ids[0],
        "who": "sam",
        "why": "it won",
        "opponent": "base",
        "look": 3,
    }
    assert (second["from"], second["to"], second["look"]) == (ids[0], ids[1], None)
    assert [p.to_id for p in promotions(root, NAME)] == ids[:2]


def test_rollback_goes_back_one_promotion_at_a_time(root: Path, ids: list[str]) -> None:
    """Two rollbacks undo two promotions, and do not undo each other."""
    for artifact_id in ids:
        promote(root, NAME, artifact_id, reason=WHY)

    seen = [rollback(root, NAME, reason=Reason("kim", "worse")).to_id for _ in range(3)]

    assert seen == [ids[1], ids[0], None]
    assert current(root, NAME) is None


def test_promotion_after_a_rollback_can_be_undone(root: Path, ids: list[str]) -> None:
    """The way back leads to what answered before the last promotion."""
    promote(root, NAME, ids[0], reason=WHY)
    promote(root, NAME, ids[1], reason=WHY)
    rollback(root, NAME, reason=WHY)
    promote(root, NAME, ids[2], reason=WHY)

    assert rollback(root, NAME, reason=WHY).to_id == ids[0]


def test_rollback_without_promotion_is_refused(root: Path, ids: list[str]) -> None:
    """There is nothing to go back to."""
    assert len(ids) == 3

    with pytest.raises(ArtifactError, match="left to undo"):
        rollback(root, NAME, reason=WHY)


def test_rollback_to_a_lost_artifact_is_refused(root: Path, ids: list[str]) -> None:
    """`CURRENT` never names what cannot be read."""
    promote(root, NAME, ids[0], reason=WHY)
    promote(root, NAME, ids[1], reason=WHY)
    (root / "compiled" / NAME / ids[0] / "artifact.json").unlink()

    with pytest.raises(ArtifactError, match="cannot read"):
        rollback(root, NAME, reason=WHY)

    assert current(root, NAME) == ids[1]


def test_damaged_artifact_is_not_promoted(root: Path, ids: list[str]) -> None:
    """What was edited does not come to answer."""
    path = root / "compiled" / NAME / ids[0] / "artifact.json"
    path.write_bytes(path.read_bytes().replace(b"identity", b"bootstrap"))

    with pytest.raises(ArtifactError, match="changed after it was written"):
        promote(root, NAME, ids[0], reason=WHY)

    assert current(root, NAME) is None


def test_current_that_names_nothing_is_an_error(root: Path, ids: list[str]) -> None:
    """A `CURRENT` whose artifact is gone does not silently mean base."""
    promote(root, NAME, ids[0], reason=WHY)
    (root / "compiled" / NAME / "CURRENT").write_text("0123456789ab\n")

    with pytest.raises(ArtifactError, match="0123456789ab"):
        current(root, NAME)


def test_line_torn_by_a_crash_spoils_no_other(root: Path, ids: list[str]) -> None:
    """Half a line at the end of the history is left out, and the next one stands by itself."""
    promote(root, NAME, ids[0], reason=WHY)
    with (root / "compiled" / NAME / "promotions.jsonl").open("a") as file:
        file.write('{"when": "2026')

    promote(root, NAME, ids[1], reason=WHY)

    assert [p.to_id for p in promotions(root, NAME)] == ids[:2]
