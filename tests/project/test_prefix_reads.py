"""A long prompt is paid for once: Claude reads the rest of it from its cache of prefixes."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import redraft
from redraft.artifact import Lineage, Search, build_artifact, file_digests, write_artifact
from redraft.evaluator import resolve
from redraft.lm import connect
from redraft.program import load_base
from redraft.records import Demo
from redraft.testing.messages_api import MessagesApi

ROOT = Path(__file__).resolve().parents[2]
NAME = "product_blurb"
CLAUDE = "anthropic/claude-opus-5-5"
ANSWERS = 40


def say(body: Mapping[str, Any]) -> str:
    """Repeat the task, which passes."""
    return str(body["messages"][-1]["content"][-1]["text"])


def artifact_with_demos(root: Path) -> str:
    """Write an artifact of the sample with sixteen demos from its own rows; return its id."""
    base = load_base(root, NAME)
    rows = resolve(base, root=root).trainset.split("train")
    demos = tuple(
        Demo({**row.inputs, base.draft_field: row.reference["draft"]}, row.id)
        for row in rows
        if "draft" in row.reference
    )[:16]
    state = base.state()
    draft = replace(state.predictors["draft"], demos=demos)
    program = base.with_state(replace(state, predictors={**state.predictors, "draft": draft}))
    lineage = Lineage(files=file_digests(root, program))
    artifact = build_artifact(program, lineage=lineage, search=Search("edit", 0))
    write_artifact(root, artifact, evaluation={}, prompts="")
    return artifact.id


def test_forty_answers_read_the_prefix_of_the_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The stand-in reads a prefix only where every byte before the mark is the same."""
    for folder in ("programs", "metrics", "trainsets"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    (tmp_path / "pyproject.toml").write_text("[tool.redraft]\n", "utf-8")
    artifact = artifact_with_demos(tmp_path)
    rows = resolve(NAME, root=tmp_path, artifact="base").trainset.rows[:ANSWERS]
    with MessagesApi(say) as api:
        for name, value in api.environment.items():
            monkeypatch.setenv(name, value)
        claude = connect({"drafter": CLAUDE}, root=tmp_path)
        program = redraft.load(NAME, artifact, root=tmp_path, models=claude)
        answers = [program.answer(**row.inputs) for row in rows]
        claude.close()
        bodies = [request.body for request in api.requests]

    prefixes = {json.dumps([b["system"], b["messages"][:-1]]) for b in bodies}
    assert len(answers) == ANSWERS
    assert len(prefixes) == 1
    assert sum(answer.usage.cache_read_tokens > 0 for answer in answers) >= ANSWERS - 1
    assert sum(answer.usage.cache_write_tokens > 0 for answer in answers) == 1
    assert api.cache.reads >= ANSWERS - 1
