"""Small projects on disk and scripted drafters whose skill depends on what they are shown."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

from dspy.lm15 import Request

from redraft.lm.wire import message_text, system_text
from redraft.records import Row, Split
from redraft.trainset import Trainset, make_trainset

NAME = "blurb"
WORDS = ("steel", "quiet", "compact", "cordless", "warm", "soft", "round", "light")

PROGRAM = """
from redraft.program import Program
from redraft.records import Check, Criterion, Loop


def words_of(facts):
    return facts["request"].partition(": ")[2].split(", ")


def missing(facts, draft):
    absent = [word for word in words_of(facts) if word not in draft.split()]
    return f"The words {', '.join(absent)} are missing." if absent else None


PROGRAM = Program(
    "request -> blurb",
    checks=[Check("words", missing, "Use every word that is given.")],
    LOOP
)
"""

RUBRIC = """
from redraft.rubric import Measure, Rubric


def words(row, draft):
    wanted = row.inputs["request"].partition(": ")[2].split(", ")
    return sum(word in draft.split() for word in wanted) / len(wanted)


RUBRIC = Rubric([Measure("words", 1.0, words)], passing=0.9)
"""

HASH_RUBRIC = """
import hashlib
from redraft.rubric import Measure, Rubric


def luck(row, draft):
    return hashlib.sha256(f"{row.id}/{draft}".encode()).digest()[0] / 255


RUBRIC = Rubric([Measure("luck", 1.0, luck)], passing=0.5)
"""

SHARES: tuple[tuple[Split, int], ...] = (("train", 16), ("val", 32), ("gate", 32), ("test", 8))


def make_project(
    root: Path, *, loop: str = "loop=Loop(max_revisions=0)", rubric: str = RUBRIC
) -> Path:
    """Write a project with one program, its rubric and a trainset."""
    for folder, text in (("programs", PROGRAM.replace("LOOP", loop)), ("metrics", rubric)):
        (root / folder).mkdir(parents=True)
        (root / folder / f"{NAME}.py").write_text(text, "utf-8")
    settings = '[tool.redraft]\nlm = "scripted/none.json"\ncompile_calls = 4000\n'
    (root / "pyproject.toml").write_text(settings, "utf-8")
    folder = root / "trainsets" / NAME
    folder.mkdir(parents=True)
    lines = (json.dumps(record(row)) for row in rows())
    (folder / "rows.jsonl").write_text("\n".join(lines) + "\n", "utf-8")
    return root


def rows(salt: str = "") -> tuple[Row, ...]:
    """Return rows that name their splits, each its own group."""
    made = []
    for split, count in SHARES:
        for number in range(count):
            id_ = f"{split}{number}"
            wanted = ", ".join(sorted(WORDS, key=lambda word, id_=id_: draw(id_ + salt, word))[:4])
            reference = {"draft": " ".join(wanted.split(", "))}
            inputs = {"request": f"For {id_}{salt}, use these words: {wanted}"}
            made.append(Row(id_, inputs, reference, split=split, group=id_))
    return tuple(made)


def record(row: Row) -> dict[str, object]:
    """Return a row as a line of `rows.jsonl`."""
    return {
        "id": row.id,
        "inputs": dict(row.inputs),
        "reference": dict(row.reference),
        "split": row.split,
    }


def trainset(salt: str = "") -> Trainset:
    """Return the rows in memory."""
    return make_trainset(rows(salt), name=NAME)


def draw(*parts: object) -> float:
    """Return a number in [0, 1) that depends on nothing but the parts."""
    digest = hashlib.sha256("/".join(map(str, parts)).encode()).digest()
    return int.from_bytes(digest[:6]) / 2**48


def writer(skill: Callable[[Request], float]) -> Callable[[Request], str]:
    """Return a drafter that uses each word with a chance that the request decides."""

    def write(request: Request) -> str:
        task = message_text(request.messages[-1])
        wanted = task.partition(": ")[2].partition("\n")[0].split(", ")
        # Every prompt draws for itself, so that prompts differ by chance where skill does not.
        shown = [system_text(request), *map(message_text, request.messages), request.config.seed]
        used = [word for word in wanted if draw(*shown, word) < skill(request)]
        return " ".join(used) or "nothing"

    return write


def demos_shown(request: Request) -> int:
    """Return how many demos a request holds."""
    return len(request.messages) // 2


def learner(request: Request) -> float:
    """Return a skill that grows with the demos."""
    return min(0.95, 0.4 + 0.12 * demos_shown(request))


def fixed(_: Request) -> float:
    """Return a skill that nothing changes."""
    return 0.5
