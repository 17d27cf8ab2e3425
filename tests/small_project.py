"""A project of one small program on a scripted model, for tests that need files."""

import json
from dataclasses import replace
from pathlib import Path

from redraft.artifact import (
    Artifact,
    Lineage,
    Search,
    build_artifact,
    file_digests,
    write_artifact,
)
from redraft.program import load_base
from redraft.records import Demo, PredictorState
from redraft.testing import models_of

NAME = "notice"
DEMO = Demo({"request": "Lift 1 stops.", "notice": "The lift stops."}, "r1", "scripted/test")

_FINDINGS = {"plain": {"reason": "Plain words.", "status": "met", "quote": "", "gap": ""}}
SCRIPT = [
    {"system": "Judge", "reply": json.dumps({"findings": _FINDINGS})},
    {"reply": "A short notice."},
]

PYPROJECT = '[tool.redraft]\nlm = "scripted/replies.json"\n'

PROGRAM = '''
"""Writes a notice."""

from pathlib import Path

import dspy

from redraft.checks import max_words, min_words
from redraft.program import Program
from redraft.records import Criterion, Loop


class Draft(dspy.Signature):
    """Write the notice that the request asks for."""

    request: str = dspy.InputField()
    notice: str = dspy.OutputField()


PROGRAM = Program(
    draft=Draft,
    checks=[max_words(8)],
    criteria=[Criterion("plain", "Every sentence is plain English.", must_pass=False)],
    loop=Loop(max_revisions=1),
    files=["words.txt"],
)
'''

RUBRIC = '''
"""Judges a notice."""

from redraft.rubric import Measure, Rubric


def short(row, draft):
    return 1.0 if len(draft.split()) <= 8 else 0.0


RUBRIC = Rubric([Measure("max_words", 1.0, short)])
'''

CARD = 'title = "Notices"\nlicence = "MIT"\norigin = "written for a test"\n'


def make_project(root: Path, name: str = "notice") -> Path:
    """Write the project's files and return its root."""
    files = {
        "pyproject.toml": PYPROJECT,
        "replies.json": json.dumps(SCRIPT),
        f"programs/{name}.py": PROGRAM,
        f"programs/{name}/words.txt": "lift\nwater\n",
        f"metrics/{name}.py": RUBRIC,
        f"trainsets/{name}/card.toml": CARD,
        f"trainsets/{name}/rows.jsonl": "".join(_row(n) for n in range(40)),
    }
    for path, content in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(content, "utf-8")
    return root


def _row(number: int) -> str:
    row = {
        "id": f"r{number}",
        "inputs": {"request": f"Lift {number} stops on day {number}."},
        "reference": {"draft": f"Lift {number} stops."},
        "group": f"g{number // 2}",
    }
    return json.dumps(row) + "\n"


def edit_program(root: Path, old: str, new: str) -> None:
    """Change the program's file."""
    path = root / "programs" / f"{NAME}.py"
    path.write_text(path.read_text().replace(old, new))


def compiled(root: Path, instructions: str = "Write it in plain words.") -> Artifact:
    """Return the artifact of the program with other instructions and one demo."""
    base = load_base(root, NAME).with_models(models_of("A notice."))
    state = base.state()
    predictors = {**state.predictors, "draft": PredictorState(instructions, (DEMO,))}
    program = base.with_state(replace(state, predictors=predictors))
    lineage = Lineage(program="p", files=file_digests(root, base), rubric="m", rows="t")
    return build_artifact(program, lineage=lineage, search=Search("bootstrap", 7))


def written(root: Path, instructions: str = "Write it in plain words.") -> Artifact:
    """Return an artifact that was written into the project."""
    artifact = compiled(root, instructions)
    write_artifact(root, artifact, evaluation={"gain": 0.1}, prompts="# Prompts\n")
    return artifact


def folder_of(root: Path, artifact: Artifact) -> Path:
    """Return where an artifact is written."""
    return root / "compiled" / NAME / artifact.id
