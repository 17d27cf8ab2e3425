"""Write an artifact: whole, loaded back, free of keys, or not at all."""

import json
import os
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from redraft.artifact.folder import (
    ARTIFACT_FILE,
    EVALUATION_FILE,
    PROMPTS_FILE,
    artifacts_folder,
    staged,
)
from redraft.artifact.record import Artifact, canonical_bytes, to_payload
from redraft.artifact.reload import check_reload
from redraft.artifact.secrets import refuse_secrets
from redraft.errors import ArtifactError


def write_artifact(
    root: Path, artifact: Artifact, *, evaluation: Mapping[str, object], prompts: str
) -> Path:
    """Write `compiled/NAME/ID/`; an interruption at any moment leaves no folder or a whole one.

    Args:
        root: The project; its `programs/NAME.py` must hold the program.
        artifact: What to write.
        evaluation: What was measured, spent and used; JSON-ready, no part of the id.
        prompts: Content of `PROMPTS.md`.

    Returns:
        The folder. Where the same artifact was written before, it has the new evaluation now.

    Raises:
        ArtifactError: It holds a key, has no JSON form, or does not load back as it is; nothing
            was written then.
    """
    measured = {
        "artifact_id": artifact.id,
        "written": datetime.now(UTC).isoformat(),
        **evaluation,
    }
    payload = to_payload(artifact)
    content = {ARTIFACT_FILE: payload, EVALUATION_FILE: measured, PROMPTS_FILE: prompts}
    refuse_secrets(content, os.environ)
    files = {
        ARTIFACT_FILE: canonical_bytes(payload),
        EVALUATION_FILE: _json_bytes(measured),
        PROMPTS_FILE: prompts.encode(),
    }
    folder = artifacts_folder(root, artifact.program) / artifact.id
    with staged(root, folder, files) as stage:
        check_reload(root, stage, artifact=artifact)
    return folder


def _json_bytes(values: Mapping[str, object]) -> bytes:
    try:
        text = json.dumps(values, ensure_ascii=False, indent=2, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise ArtifactError(f"the evaluation holds something that JSON cannot: {error}") from error
    return f"{text}\n".encode()
