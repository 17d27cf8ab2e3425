"""`redraft artifacts`: what compiles have written, and which of it answers."""

import getpass
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from redraft.artifact import (
    Promotion,
    Reason,
    current,
    diff_artifacts,
    edit_artifact,
    editable_text,
    list_artifacts,
    load,
    promote,
    read_artifact,
    read_evaluation,
    rollback,
)
from redraft.cli import flags
from redraft.cli.editor import edit_text
from redraft.cli.numbers import table
from redraft.cli.output import print_note, print_record
from redraft.errors import ConfigError
from redraft.project import find_root, source_path
from redraft.report.prompts import prompts_text

EXAMPLE = "redraft artifacts product_blurb list"


class Action(StrEnum):
    """What to do with artifacts."""

    LIST = "list"
    SHOW = "show"
    DIFF = "diff"
    PROMOTE = "promote"
    ROLLBACK = "rollback"
    EDIT = "edit"


_IDS = {
    Action.LIST: 0,
    Action.SHOW: 1,
    Action.DIFF: 2,
    Action.PROMOTE: 1,
    Action.ROLLBACK: 0,
    Action.EDIT: 1,
}


def command(
    name: flags.Name,
    action: Annotated[Action, typer.Argument(show_default=False, help="What to do.")],
    ids: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="ID", show_default="none", help="One id; two for diff; four digits suffice."
        ),
    ] = None,
    *,
    why: Annotated[
        str, typer.Option("--why", metavar="TEXT", help="Reason, for promotions.jsonl.")
    ] = "by hand",
    as_json: flags.Json = False,
) -> None:
    """Work on the artifacts of one program."""
    root = find_root()
    source_path(root, "programs", name)
    given = _checked_ids(action, ids or [])
    record, text = _ACTIONS[action](root, name, given, why)
    if as_json:
        print_record(record)
    else:
        print(text)


def _checked_ids(action: Action, ids: list[str]) -> list[str]:
    wanted = _IDS[action]
    if len(ids) != wanted:
        raise ConfigError(f"{action} takes {wanted or 'no'} ID, got {len(ids)}")
    return ids


Done = tuple[dict[str, object], str]


def _list(root: Path, name: str, ids: list[str], why: str) -> Done:
    del ids, why
    promoted = current(root, name)
    entries = [
        _entry(root, name, artifact_id, promoted) for artifact_id in list_artifacts(root, name)
    ]
    header = ("ID", "CURRENT", "OPTIMIZER", "DEMOS", "VERDICT", "PARENT")
    rows = [
        (
            str(entry["id"]),
            "*" if entry["current"] else "",
            str(entry["optimizer"]),
            str(entry["demos"]),
            str(entry["verdict"] or "-"),
            str(entry["parent"] or "-"),
        )
        for entry in entries
    ]
    text = table([header, *rows]) if rows else f"{name} has no artifact; redraft compile {name}"
    return {"program": name, "artifacts": entries}, text


def _entry(root: Path, name: str, artifact_id: str, promoted: str | None) -> dict[str, object]:
    artifact = read_artifact(root, name, artifact_id)
    return {
        "id": artifact_id,
        "current": artifact_id == promoted,
        "optimizer": artifact.search.optimizer,
        "demos": sum(len(predictor.demos) for predictor in artifact.predictors.values()),
        "verdict": read_evaluation(root, name, artifact_id).get("verdict"),
        "parent": artifact.parent,
    }


def _show(root: Path, name: str, ids: list[str], why: str) -> Done:
    del why
    artifact = read_artifact(root, name, ids[0])
    evaluation = read_evaluation(root, name, artifact.id)
    record: dict[str, object] = {
        "id": artifact.id,
        "artifact": asdict(artifact),
        "evaluation": evaluation,
    }
    return record, editable_text(artifact).rstrip("\n")


def _diff(root: Path, name: str, ids: list[str], why: str) -> Done:
    del why
    before, after = (read_artifact(root, name, artifact_id) for artifact_id in ids)
    text = diff_artifacts(before, after)
    return {"before": before.id, "after": after.id, "diff": text}, text


def _promote(root: Path, name: str, ids: list[str], why: str) -> Done:
    done = promote(root, name, ids[0], reason=Reason(who=_user(), why=why))
    return _promotion(done)


def _rollback(root: Path, name: str, ids: list[str], why: str) -> Done:
    del ids
    return _promotion(rollback(root, name, reason=Reason(who=_user(), why=why)))


def _promotion(done: Promotion) -> Done:
    answers = done.to_id or "the program as its file stands"
    before = done.from_id or "the program as its file stands"
    return asdict(done), f"Answers now: {answers}. Before: {before}."


def _edit(root: Path, name: str, ids: list[str], why: str) -> Done:
    del why
    parent = load(name, ids[0], root=root)
    made = edit_artifact(
        root, name, ids[0], editor=edit_text, describe=lambda edited: prompts_text(edited, parent)
    )
    print_note(f"Not measured and not promoted; try: redraft evaluate {name} --artifact {made.id}")
    return {"id": made.id, "parent": made.parent}, made.id


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "unknown"


_ACTIONS = {
    Action.LIST: _list,
    Action.SHOW: _show,
    Action.DIFF: _diff,
    Action.PROMOTE: _promote,
    Action.ROLLBACK: _rollback,
    Action.EDIT: _edit,
}
