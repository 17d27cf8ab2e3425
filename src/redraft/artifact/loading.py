"""Load a program ready to answer: as its file stands, or as an artifact has it."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from redraft.artifact.behaviour import restore_program
from redraft.artifact.folder import read_artifact
from redraft.artifact.promotion import current
from redraft.errors import MissingExtraError, ModelError
from redraft.events import Recorder
from redraft.lm import connect, model_names
from redraft.lm.model import Model, Models
from redraft.program import Program, load_base
from redraft.project import Config, find_root, read_config
from redraft.records import Role

ModelsGiven = Models | Mapping[Role | Literal["lm"], str] | str | None


def load(
    name: str,
    artifact: str = "current",
    *,
    root: Path | str | None = None,
    models: ModelsGiven = None,
    allow_drift: bool = False,
    traces: Recorder | None = None,
) -> Program:
    """Load a program by its NAME; neither `metrics/` nor `trainsets/` is needed.

    Args:
        name: `programs/NAME.py` holds it.
        artifact: `current` for the promoted artifact or, without one, the program as its file
            stands; `base` for the latter; or an id, or four or more of its digits.
        root: The project; by default the nearest one upward from the working directory.
        models: Connected models; or names by role, where `lm` stands for every role; or one name
            for all; what is not named comes from `[tool.redraft]`. Only answering needs them.
        allow_drift: Whether to answer although something that changes answers is not as it was
            when the artifact was compiled.
        traces: Where every answer is stored, such as a `TraceStore`; None to store none.

    Raises:
        ProjectError: There is no project, or no such program.
        ArtifactError: There is no such artifact, or it is not whole, or was changed.
        DriftError: The program or a file of it is not as it was, and `allow_drift` is not set.
        ModelError: A model that was given here cannot be used.
    """
    folder = find_root() if root is None else Path(root)
    connected = connect_models(models, root=folder)
    chosen = current(folder, name) if artifact == "current" else artifact
    if chosen is None or chosen == "base":
        return load_base(folder, name).with_models(connected).with_traces(traces)
    found = read_artifact(folder, name, chosen)
    restored = restore_program(folder, found, allow_drift=allow_drift)
    return restored.with_models(connected).with_traces(traces)


def connect_models(models: ModelsGiven, *, root: Path) -> Models:
    """Return models as `load` takes them; see there.

    Raises:
        ModelError: A model that was given cannot be used. One that only the settings name, or
            that nothing names, is an error when it is asked for.
    """
    if isinstance(models, Models):
        return models
    # An explicit root may be a folder that holds nothing but programs/ and compiled/.
    config = read_config(root) if (root / "pyproject.toml").is_file() else Config()
    settings, tables = config.models, config.tables
    if isinstance(models, str):
        return connect(model_names(settings, {"lm": models}), root=root, tables=tables)
    if models is not None:
        return connect(model_names(settings, models), root=root, tables=tables)
    try:
        return connect(model_names(settings, {}), root=root, tables=tables)
    except (ModelError, MissingExtraError) as error:
        return _Unusable(error=error)


@dataclass(frozen=True, kw_only=True)
class _Unusable(Models):
    """Stands for models that the settings do not give; rendering and loading need none."""

    error: ModelError | MissingExtraError

    def of(self, role: Role) -> Model:  # noqa: ARG002 - none of them can be had
        raise self.error
