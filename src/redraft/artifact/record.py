"""The artifact as a value: what it holds, its canonical JSON, and its id."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from redraft.errors import ArtifactError, ConfigError
from redraft.records import (
    Demo,
    Loop,
    Options,
    PredictorState,
    ProgramState,
    Role,
    Split,
)

SCHEMA = "redraft.artifact/1"
ID_DIGITS = 12

RuleKind = Literal["check", "criterion"]


@dataclass(frozen=True, slots=True)
class CompiledPredictor:
    """One predictor as it was compiled.

    Attributes:
        instructions: Its instructions.
        demos: Its demos, in order.
        inputs: Names of its input fields, in order.
        outputs: Names of its output fields, in order.
        request_digest: SHA-256 (hex) of a request rendered from placeholders.
    """

    instructions: str
    demos: tuple[Demo, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    request_digest: str

    @property
    def state(self) -> PredictorState:
        """What tuning chose."""
        return PredictorState(self.instructions, self.demos)


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule that decides what the loop does.

    Attributes:
        id: Of the check or criterion.
        kind: Which of the two it is.
        text: The check's rule or the criterion's statement.
        must_pass: Whether it costs a revision when it is unmet.
    """

    id: str
    kind: RuleKind
    text: str
    must_pass: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Lineage:
    """What the artifact was made from; digests are SHA-256 (hex).

    Attributes:
        program: Digest of the program's file and of what it imports from the project; None where
            it was made in memory.
        files: Digest of each declared file, by its path relative to `programs/NAME/`.
        rubric: Digest of the rubric's file, likewise; None where it was made in memory.
        rows: Digest of the rows.
        splits: Ids of the rows of each split.
    """

    program: str | None = None
    files: Mapping[str, str] = field(default_factory=dict)
    rubric: str | None = None
    rows: str | None = None
    splits: Mapping[Split, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Search:
    """How the artifact was found.

    Attributes:
        optimizer: Name of the method; `edit` where a person wrote it.
        seed: Seed of the compile.
        settings: Further settings of the method, JSON-ready.
    """

    optimizer: str
    seed: int
    settings: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Artifact:
    """Everything that a compile found, and what it was found with; no times, no spend.

    Attributes:
        program: Name of the program.
        predictors: By name.
        loop: Settings of the loop.
        options: By role.
        models: Names of the models it was compiled for, by role.
        prompt_format: Version of the way requests are rendered.
        rules: The program's checks and criteria, in order.
        lineage: What it was made from.
        search: How it was found.
        parent: The artifact that a person edited to make this one; None for a compile.
    """

    program: str
    predictors: Mapping[str, CompiledPredictor]
    loop: Loop
    options: Mapping[Role, Options]
    models: Mapping[Role, str]
    prompt_format: str
    rules: tuple[Rule, ...]
    lineage: Lineage
    search: Search
    parent: str | None = None

    @property
    def id(self) -> str:
        """First 12 hex digits of the SHA-256 of the canonical JSON."""
        return artifact_id(to_payload(self))

    @property
    def state(self) -> ProgramState:
        """What tuning chose, ready for `Program.with_state`."""
        predictors = {name: predictor.state for name, predictor in self.predictors.items()}
        return ProgramState(predictors, self.loop, self.options)


def to_payload(artifact: Artifact) -> dict[str, object]:
    """Return the artifact as JSON-ready values."""
    options = {role: _options_values(given) for role, given in artifact.options.items()}
    return {"schema": SCHEMA, **asdict(artifact), "options": options}


def normalised(artifact: Artifact) -> Artifact:
    """Return the artifact as it will be read back; values that JSON turns into others are turned.

    Raises:
        ArtifactError: A value has no JSON form.
    """
    return from_payload(json.loads(canonical_bytes(to_payload(artifact))))


def canonical_bytes(payload: Mapping[str, object]) -> bytes:
    """Return the one way to write a payload down: sorted keys, two spaces, UTF-8, final newline.

    Raises:
        ArtifactError: A value has no JSON form.
    """
    try:
        text = json.dumps(payload, sort_keys=True, indent=2, ensure_ascii=False, allow_nan=False)
        return f"{text}\n".encode()
    except (TypeError, ValueError) as error:
        raise ArtifactError(
            f"an artifact holds JSON only: {error}; demos and search settings must be text, "
            "finite numbers, true, false, null, lists and objects with text keys"
        ) from error


def artifact_id(payload: Mapping[str, object]) -> str:
    """Return the id of a payload."""
    return hashlib.sha256(canonical_bytes(payload)).hexdigest()[:ID_DIGITS]


def parse_artifact(text: str, *, expected_id: str, where: str) -> Artifact:
    """Return the artifact that was written down.

    Args:
        text: Content of `artifact.json`.
        expected_id: The id that the content must have.
        where: The file, for errors.

    Raises:
        ArtifactError: The text is no whole artifact of this schema, or was changed.
    """
    try:
        payload = json.loads(text)
    except ValueError as error:
        raise ArtifactError(
            f"{where} is not whole JSON ({error}); restore it, or compile again",
            artifact_id=expected_id,
        ) from error
    schema = payload.get("schema") if isinstance(payload, dict) else None
    if schema != SCHEMA:
        raise ArtifactError(
            f"{where} has schema {schema!r}, and this version of Redraft reads {SCHEMA!r}; "
            "compile again, or install the version that wrote it",
            artifact_id=expected_id,
        )
    found, name = artifact_id(payload), payload.get("program", "NAME")
    if found != expected_id:
        raise ArtifactError(
            f"{where} was changed after it was written: its content has id {found!r}; restore it, "
            f"and use `redraft artifacts {name} edit {expected_id}` to edit an artifact",
            artifact_id=expected_id,
        )
    artifact = from_payload(payload)
    if artifact.id != expected_id:
        raise ArtifactError(
            f"{where} was written by a version of Redraft whose artifacts have other parts; "
            "compile again, or install the version that wrote it",
            artifact_id=expected_id,
        )
    return artifact


def from_payload(payload: Mapping[str, Any]) -> Artifact:
    """Return the artifact that `to_payload` was given.

    Raises:
        ArtifactError: A part is missing, unknown or of the wrong kind.
    """
    try:
        return Artifact(
            program=payload["program"],
            predictors={k: _predictor(v) for k, v in payload["predictors"].items()},
            loop=Loop(**payload["loop"]),
            options={role: _options(values) for role, values in payload["options"].items()},
            models=payload["models"],
            prompt_format=payload["prompt_format"],
            rules=tuple(Rule(**values) for values in payload["rules"]),
            lineage=_lineage(payload["lineage"]),
            search=Search(**payload["search"]),
            parent=payload["parent"],
        )
    except (KeyError, TypeError, ValueError, AttributeError, ConfigError) as error:
        raise ArtifactError(
            f"an artifact lacks a part or holds one of the wrong kind ({error}); compile again"
        ) from error


def _predictor(values: Mapping[str, Any]) -> CompiledPredictor:
    return CompiledPredictor(
        instructions=values["instructions"],
        demos=tuple(Demo(**demo) for demo in values["demos"]),
        inputs=tuple(values["inputs"]),
        outputs=tuple(values["outputs"]),
        request_digest=values["request_digest"],
    )


def _options_values(options: Options) -> dict[str, object]:
    # An effort that nobody asked for is left out, as it was before there was one to ask for.
    return {name: v for name, v in asdict(options).items() if name != "effort" or v is not None}


def _options(values: Mapping[str, Any]) -> Options:
    # A person may write 0 for 0.0; one value must have one form.
    return Options(
        max_tokens=values["max_tokens"],
        temperature=float(values["temperature"]),
        resample_temperature=float(values["resample_temperature"]),
        effort=values.get("effort"),
    )


def _lineage(values: Mapping[str, Any]) -> Lineage:
    splits = {split: tuple(ids) for split, ids in values["splits"].items()}
    return Lineage(**{**values, "splits": splits})
