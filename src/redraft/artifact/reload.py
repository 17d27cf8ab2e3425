"""Loads an artifact in a process of its own, to see that what was written is what was found."""

import json
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

from redraft.artifact.behaviour import restore_program
from redraft.artifact.folder import read_folder
from redraft.artifact.record import Artifact
from redraft.errors import ArtifactError, RedraftError
from redraft.records import ProgramState

MAX_SECONDS = 300.0
_LOST = "the artifact was not written"


def check_reload(
    root: Path, folder: Path, *, artifact: Artifact, max_seconds: float = MAX_SECONDS
) -> None:
    """Load a folder in a fresh process and compare it with the artifact, predictor by predictor.

    Args:
        root: The project.
        folder: Holds `artifact.json`; may have any name.
        artifact: What must come back.
        max_seconds: Time that the process may take.

    Raises:
        ArtifactError: It takes too long, does not load there, or something differs.
    """
    arguments = [str(root.resolve()), str(folder.resolve()), artifact.program, artifact.id]
    try:
        done = subprocess.run(
            [sys.executable, "-m", "redraft.artifact.reload", *arguments],
            capture_output=True,
            check=False,
            encoding="utf-8",
            stdin=subprocess.DEVNULL,
            timeout=max_seconds,
        )
    except subprocess.TimeoutExpired as error:
        raise ArtifactError(
            f"loading the artifact in a fresh process took over {max_seconds} s, so {_LOST}; "
            f"see what programs/{artifact.program}.py does when it is imported",
            artifact_id=artifact.id,
        ) from error
    if done.returncode != 0:
        raise ArtifactError(
            f"the artifact does not load in a fresh process, so {_LOST}: {done.stderr.strip()}",
            artifact_id=artifact.id,
        )
    # A program's file may print; what was loaded is the last line.
    found = json.loads(done.stdout.splitlines()[-1])
    differing = state_differences(json.loads(_state_json(artifact.state)), found)
    if differing:
        raise ArtifactError(
            f"the artifact loads differently in a fresh process, so {_LOST}: {differing} differ; "
            "does the program's file depend on time, chance or the environment?",
            artifact_id=artifact.id,
        )


def state_differences(expected: dict[str, object], found: dict[str, object]) -> str:
    """Return which parts of two states differ, separated by commas; empty where none does."""
    parts: list[str] = [part for part in ("loop", "options") if expected[part] != found[part]]
    predictors, others = expected["predictors"], found["predictors"]
    assert isinstance(predictors, dict)
    assert isinstance(others, dict)
    names = sorted(predictors.keys() | others.keys())
    parts += [f"predictor {n!r}" for n in names if predictors.get(n) != others.get(n)]
    return ", ".join(parts)


def main(arguments: list[str]) -> int:
    """Print the state of a loaded artifact as one line of JSON; called by `check_reload`."""
    root, folder, name, artifact_id = arguments
    try:
        artifact = read_folder(Path(folder), name, artifact_id)
        program = restore_program(Path(root), artifact)
    except RedraftError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code
    sys.stdout.write(f"\n{_state_json(program.state())}\n")
    return 0


def _state_json(state: ProgramState) -> str:
    return json.dumps(asdict(state), sort_keys=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
