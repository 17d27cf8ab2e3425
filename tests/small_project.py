"""A project of one small program on a scripted model, for tests that need files."""

import json
from pathlib import Path

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
