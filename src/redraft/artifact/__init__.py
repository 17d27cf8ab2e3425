"""What came out of a compile: written whole, verified when it is loaded, promoted by name."""

from redraft.artifact.behaviour import build_artifact, file_digests, restore_program
from redraft.artifact.editing import (
    diff_artifacts,
    edit_artifact,
    editable_text,
    parse_editable,
)
from redraft.artifact.folder import (
    artifacts_folder,
    find_artifact,
    list_artifacts,
    read_artifact,
    read_evaluation,
)
from redraft.artifact.lineage import lineage_differences, verify_lineage
from redraft.artifact.loading import ModelsGiven, connect_models, load
from redraft.artifact.promotion import Promotion, Reason, current, promote, promotions, rollback
from redraft.artifact.record import Artifact, CompiledPredictor, Lineage, Rule, Search
from redraft.artifact.writing import write_artifact

__all__ = [
    "Artifact",
    "CompiledPredictor",
    "Lineage",
    "ModelsGiven",
    "Promotion",
    "Reason",
    "Rule",
    "Search",
    "artifacts_folder",
    "build_artifact",
    "connect_models",
    "current",
    "diff_artifacts",
    "edit_artifact",
    "editable_text",
    "file_digests",
    "find_artifact",
    "lineage_differences",
    "list_artifacts",
    "load",
    "parse_editable",
    "promote",
    "promotions",
    "read_artifact",
    "read_evaluation",
    "restore_program",
    "rollback",
    "verify_lineage",
    "write_artifact",
]
