"""Artifacts as text that a person can read, compare and edit; an edit makes a new artifact."""

import difflib
import json
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from redraft.artifact.behaviour import build_artifact, restore_program
from redraft.artifact.folder import read_artifact
from redraft.artifact.record import Artifact, Search
from redraft.artifact.settings import SETTINGS, edited_loop, edited_options, near, setting_lines
from redraft.artifact.writing import write_artifact
from redraft.errors import ArtifactError, ConfigError, ProgramError
from redraft.program import Program
from redraft.records import Demo, PredictorState, ProgramState


def edit_artifact(
    root: Path,
    name: str,
    artifact_id: str,
    *,
    editor: Callable[[str], str],
    describe: Callable[[Program], str],
) -> Artifact:
    """Write a new artifact with texts, demos, loop settings and options that a person edited.

    Args:
        root: The project.
        name: The program.
        artifact_id: The id to start from, or four or more of its digits.
        editor: Gets the text of `editable_text`, returns it edited.
        describe: Makes `PROMPTS.md` of the edited program.

    Returns:
        The new artifact; its `parent` is the one that was edited, which stays as it is.

    Raises:
        ArtifactError: The text does not parse, changes nothing, or names what is not there.
        DriftError: The program or a file of it is not as it was when `artifact_id` was compiled.
    """
    parent = read_artifact(root, name, artifact_id)
    program = restore_program(root, parent)
    edited = parse_editable(editor(editable_text(parent)), parent.state)
    if edited == parent.state:
        raise ArtifactError(
            f"nothing was changed, so there is no new artifact beside {parent.id}",
            artifact_id=parent.id,
        )
    _check_names(edited, parent, program)
    try:
        program = program.with_state(edited)
        search = Search("edit", parent.search.seed)
        made = build_artifact(program, lineage=parent.lineage, search=search, parent=parent.id)
    except ProgramError as error:
        raise ArtifactError(f"the edit does not fit {name}: {error}") from error
    made = replace(made, models=parent.models)
    measured = {"parent": parent.id, "note": "edited by hand; not measured"}
    write_artifact(root, made, evaluation=measured, prompts=describe(program))
    return made


def diff_artifacts(before: Artifact, after: Artifact) -> str:
    """Return a unified diff of instructions, demos, loop settings and options; may be empty."""
    lines = difflib.unified_diff(
        editable_text(before).splitlines(),
        editable_text(after).splitlines(),
        fromfile=before.id,
        tofile=after.id,
        lineterm="",
    )
    return "\n".join(lines)


def editable_text(artifact: Artifact) -> str:
    """Return all that tuning chose as TOML; `parse_editable` reads it back."""
    lines = [
        f"# Artifact {artifact.id} of {artifact.program}.",
        "# Saving a change makes a new artifact; demos may be changed, moved, removed and added.",
        '# A setting that is "" is not set.',
    ]
    for name, predictor in sorted(artifact.predictors.items()):
        key = _text(name)
        lines += ["", f"[{key}]", f"instructions = {_block(predictor.instructions)}"]
        fields = (*predictor.inputs, *predictor.outputs)
        for demo in predictor.demos:
            lines += ["", f"[[{key}.demos]]", *_demo_lines(key, demo, fields)]
    lines += setting_lines(artifact.loop, artifact.options)
    return "\n".join(lines) + "\n"


def parse_editable(text: str, before: ProgramState) -> ProgramState:
    """Return what a text like that of `editable_text` says.

    Args:
        text: What a person saved.
        before: What was edited; settings that the text leaves out stay as they are here.

    Raises:
        ArtifactError: It is not TOML, or a part of it is missing, unknown or cannot be so.
    """
    try:
        tables = tomllib.loads(text)
        words = (*before.predictors, *SETTINGS)
        texts = {n: _predictor(n, t, words) for n, t in tables.items() if n not in SETTINGS}
        loop = edited_loop(before.loop, tables.get("loop", {}))
        return ProgramState(texts, loop, edited_options(before.options, tables.get("options", {})))
    except ConfigError as error:
        raise ArtifactError(f"the edit cannot be used: {error}") from error
    except (tomllib.TOMLDecodeError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise ArtifactError(
            f"the edited text cannot be read ({error}); each predictor is a table with "
            "instructions, and each of its demos a table with fields"
        ) from error


def _check_names(edited: ProgramState, parent: Artifact, program: Program) -> None:
    """Raise where a predictor is unknown, or one that still answers was left out."""
    known = [name for name, _ in program.with_loop(edited.loop).named_predictors()]
    for name in edited.predictors:
        if name not in known:
            raise ArtifactError(
                f"there is no predictor {name!r} with these loop settings; "
                f"{near(name, (*known, *SETTINGS))}",
                artifact_id=parent.id,
            )
    missing = [n for n in known if n in parent.predictors and n not in edited.predictors]
    if missing:
        raise ArtifactError(
            f"the edited text lacks the predictor {missing[0]!r}; artifact {parent.id} has "
            f"{', '.join(sorted(parent.predictors))}, and all that still answer must be there",
            artifact_id=parent.id,
        )


def _demo_lines(key: str, demo: Demo, fields: tuple[str, ...]) -> Iterator[str]:
    for name, value in (("row_id", demo.row_id), ("model", demo.model)):
        if value is not None:
            yield f"{name} = {_text(value)}"
    ordered = dict.fromkeys([*(name for name in fields if name in demo.fields), *demo.fields])
    values = {name: demo.fields[name] for name in ordered}
    texts = {name: value for name, value in values.items() if isinstance(value, str)}
    yield f"[{key}.demos.fields]"
    yield from (f"{_text(name)} = {_block(value)}" for name, value in texts.items())
    others = {name: value for name, value in values.items() if name not in texts}
    if others:
        yield f"[{key}.demos.json_fields]"
        dumped = {name: json.dumps(v, ensure_ascii=False) for name, v in others.items()}
        yield from (f"{_text(name)} = {_block(value)}" for name, value in dumped.items())


def _predictor(name: str, table: dict[str, object], words: Sequence[str]) -> PredictorState:
    if name not in words and "instructions" not in table:
        raise ValueError(f"{name!r} is unknown; {near(name, words)}")
    _check_keys(table, ("instructions", "demos"), "in a predictor")
    instructions, demos = table["instructions"], table.get("demos", [])
    if not isinstance(instructions, str) or not isinstance(demos, list):
        raise TypeError("instructions must be a text and demos tables")
    return PredictorState(instructions, tuple(_demo(demo) for demo in demos))


def _demo(table: dict[str, dict[str, object]]) -> Demo:
    _check_keys(table, ("row_id", "model", "fields", "json_fields"), "in a demo")
    parsed = {name: json.loads(str(v)) for name, v in table.get("json_fields", {}).items()}
    row_id, model = table.get("row_id"), table.get("model")
    return Demo(
        {**table["fields"], **parsed},
        None if row_id is None else str(row_id),
        None if model is None else str(model),
    )


def _check_keys(table: Mapping[str, object], known: Sequence[str], where: str) -> None:
    for key in table:
        if key not in known:
            raise ValueError(f"{key!r} is not known {where}; {near(key, known)}")


def _block(text: str) -> str:
    """Write a text in TOML over as many lines as it has."""
    if "\n" not in text:
        return _text(text)
    # The closing quotes may not run into a quote of the text, so the last one stays escaped.
    lines = [_text(line)[1:-1] for line in text.removesuffix('"').split("\n")]
    body = "\n".join(line.replace('\\"', '"') for line in lines).replace('"""', '""\\"')
    end = '\\"' if text.endswith('"') else ""
    return f'"""\n{body}{end}"""'


def _text(text: str) -> str:
    # A basic string of TOML is one of JSON, except that TOML wants DEL escaped as well.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
