"""Which artifact answers: `CURRENT`, and the history of how it came to be."""

import json
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from redraft.artifact.folder import (
    append_line,
    artifacts_folder,
    list_artifacts,
    read_artifact,
    replace_file,
)
from redraft.errors import ArtifactError

CURRENT_FILE = "CURRENT"
PROMOTIONS_FILE = "promotions.jsonl"

Action = Literal["promote", "rollback"]


@dataclass(frozen=True, slots=True)
class Reason:
    """Why `CURRENT` changes.

    Attributes:
        who: Who or what did it.
        why: The reason, in words.
        opponent: What the artifact was measured against: an id or `base`; None where it was not.
        look: Number of the look at the gate that it rests on; None where there was none.
    """

    who: str
    why: str
    opponent: str | None = None
    look: int | None = None


@dataclass(frozen=True, slots=True)
class Promotion:
    """One change of `CURRENT`.

    Attributes:
        action: Whether it went forward or back.
        from_id: What answered before; None for the program as its file stands.
        to_id: What answers now; None for the program as its file stands.
        when: ISO 8601, UTC.
        reason: Who did it, and why.
    """

    action: Action
    from_id: str | None
    to_id: str | None
    when: str
    reason: Reason


def current(root: Path, name: str) -> str | None:
    """Return the id in `CURRENT`; None where nothing was promoted.

    Raises:
        ArtifactError: `CURRENT` names no artifact that exists.
    """
    path = artifacts_folder(root, name) / CURRENT_FILE
    if not path.is_file():
        return None
    found = path.read_text("utf-8", errors="replace").strip()
    if found not in list_artifacts(root, name):
        raise ArtifactError(
            f"{path} names {found!r}, and there is no such artifact; "
            f"promote another with `redraft artifacts {name} promote ID`, or delete the file "
            "to answer with the program as its file stands",
            artifact_id=found,
        )
    return found


def promotions(root: Path, name: str) -> tuple[Promotion, ...]:
    """Return every change of `CURRENT`, oldest first; a line torn by a crash is left out."""
    path = artifacts_folder(root, name) / PROMOTIONS_FILE
    lines = path.read_bytes().splitlines() if path.is_file() else []
    return tuple(p for p in map(_parsed, lines) if p is not None)


def promote(root: Path, name: str, artifact_id: str, *, reason: Reason) -> Promotion:
    """Make an artifact the one that answers.

    Args:
        root: The project.
        name: The program.
        artifact_id: The id, or four or more of its digits.
        reason: Who does it, and why.

    Raises:
        ArtifactError: It is not there, not whole, was changed, or is of another program.
    """
    to_id = read_artifact(root, name, artifact_id).id
    return _change(root, name, "promote", to_id, reason)


def rollback(root: Path, name: str, *, reason: Reason) -> Promotion:
    """Undo the last promotion that was not undone yet.

    Args:
        root: The project.
        name: The program.
        reason: Who does it, and why.

    Raises:
        ArtifactError: Nothing was promoted, or what answered before cannot be read any more.
    """
    undone: list[str | None] = []
    for promotion in promotions(root, name):
        if promotion.action == "promote":
            undone.append(promotion.from_id)
        elif undone:
            undone.pop()
    if not undone:
        raise ArtifactError(
            f"no promotion of {name} is left to undo; see `redraft artifacts {name} list`"
        )
    before = undone[-1]
    if before is not None:
        read_artifact(root, name, before)
    return _change(root, name, "rollback", before, reason)


def _change(root: Path, name: str, action: Action, to_id: str | None, reason: Reason) -> Promotion:
    folder = artifacts_folder(root, name)
    path = folder / CURRENT_FILE
    now = datetime.now(UTC).isoformat(timespec="seconds")
    before = path.read_text("utf-8").strip() if path.is_file() else None
    promotion = Promotion(action, before, to_id, now, reason)
    # The line comes first: after a crash between the two, undoing it restores what still answers.
    append_line(folder / PROMOTIONS_FILE, json.dumps(_record(promotion), ensure_ascii=False))
    if to_id is None:
        path.unlink(missing_ok=True)
    else:
        replace_file(path, f"{to_id}\n")
    return promotion


def _record(promotion: Promotion) -> dict[str, object]:
    return {
        "when": promotion.when,
        "action": promotion.action,
        "from": promotion.from_id,
        "to": promotion.to_id,
        **asdict(promotion.reason),
    }


def _parsed(line: bytes) -> Promotion | None:
    try:
        values = json.loads(line)
        reason = Reason(values["who"], values["why"], values["opponent"], values["look"])
        return Promotion(values["action"], values["from"], values["to"], values["when"], reason)
    except (ValueError, KeyError, TypeError):
        return None
