"""Both sample programs over `anthropic/...`, against the strict stand-in, as they are."""

import json
import shutil
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import redraft
from redraft.budget import RunCaps
from redraft.lm import Models, connect
from redraft.optimizers import SearchLimits
from redraft.program import load_base
from redraft.testing.messages_api import MessagesApi

ROOT = Path(__file__).resolve().parents[2]
NAMES = ("product_blurb", "tenant_notice")
CLAUDE = "anthropic/claude-opus-5-5"
REQUESTS = {
    "product_blurb": (
        "Describe a kettle in one sentence. Use these words: steel, quiet. Under 40 words."
    ),
    "tenant_notice": (
        "Write a notice to tenants: the lift is out of service from 3 March to 7 March because the "
        "cables are being replaced. They can use the goods lift instead. Under 60 words, no "
        "sentence over 20 words."
    ),
}
SMALL = SearchLimits(val_rows=6, gate_rows=10, max_revisions=1)
HEADER = "team-planted-header-0001"
KEY = "sk-ant-planted-key-0001"


def fitting(schema: Mapping[str, Any], name: str = "") -> Any:
    """Return a value that fits a closed schema: every criterion is met."""
    if "enum" in schema:
        return schema["enum"][0]
    if schema.get("type") == "object":
        return {key: fitting(part, key) for key, part in schema["properties"].items()}
    return "It is plain." if name == "reason" else ""


def say(body: Mapping[str, Any]) -> str:
    """Answer as a model that writes what the request spells out, and finds every criterion met."""
    form = body.get("output_config", {}).get("format")
    if form is not None:
        return json.dumps(fitting(form["schema"]))
    task = body["messages"][-1]["content"][-1]["text"]
    return f"Dear tenants, {task[:150]}"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Return a project of both samples on Claude."""
    for folder in ("programs", "metrics", "trainsets"):
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=ignored)
    text = (
        f'[tool.redraft]\nlm = "{CLAUDE}"\n\n'
        f'[tool.redraft.anthropic]\nheaders = {{ "X-Team" = "{HEADER}" }}\n'
    )
    (tmp_path / "pyproject.toml").write_text(text, "utf-8")
    return tmp_path


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> Iterator[MessagesApi]:
    """Return the stand-in, to which the environment points."""
    with MessagesApi(say, key=KEY) as api:
        for name, value in api.environment.items():
            monkeypatch.setenv(name, value)
        yield api


def models(root: Path) -> Models:
    """Return Claude for every role but the judge."""
    return connect({"drafter": CLAUDE, "checker": CLAUDE, "reviser": CLAUDE}, root=root)


@pytest.mark.parametrize("name", NAMES)
def test_a_sample_answers(name: str, project: Path, api: MessagesApi) -> None:
    """The program's file knows nothing of the model."""
    claude = models(project)
    program = load_base(project, name).with_models(claude)

    answer = program.answer(request=REQUESTS[name])
    claude.close()

    assert answer.failure is None
    assert answer.draft
    assert (answer.usage.cost_usd or 0) > 0
    assert answer.usage.calls == len(api.requests)


def test_a_checker_thinks_hard_and_keeps_to_its_schema(project: Path, api: MessagesApi) -> None:
    """Unless its options say otherwise; the drafter thinks as it does by itself."""
    claude = models(project)
    program = load_base(project, "tenant_notice").with_models(claude)
    asking = program.with_loop(replace(program.loop, ask_after_failed_checks=True))
    asking.answer(request=REQUESTS["tenant_notice"])
    claude.close()

    sent = [request.body.get("output_config", {}) for request in api.requests]
    assert "effort" not in sent[0]
    assert {config["effort"] for config in sent if "format" in config} == {"high"}


@pytest.mark.parametrize("name", NAMES)
def test_a_sample_compiles_and_compares(name: str, project: Path, api: MessagesApi) -> None:
    """With a cap in dollars, which holds over the whole of it."""
    claude = models(project)
    compiled = redraft.compile_program(
        name,
        root=project,
        models=claude,
        caps=RunCaps(max_calls=400, max_cost_usd=400.0),
        limits=SMALL,
        promote="always",
    )
    compared = redraft.compare(name, root=project, models=claude, limit=4)
    claude.close()

    assert compiled.artifact_id is not None
    assert compared.record()["n"] == 4
    assert {request.path for request in api.requests} == {"/v1/messages"}
    assert refused(api) == []


def refused(api: MessagesApi) -> list[str]:
    """Return the requests that were no message after all."""
    return [request.path for request in api.requests if not isinstance(request.body, dict)]


def test_only_the_models_address_is_contacted(project: Path, api: MessagesApi) -> None:
    """Every other connection is refused, and none is tried."""
    port = int(api.url.rpartition(":")[2])
    tried: list[object] = []
    allowed = ("127.0.0.1", port)

    def watch(event: str, arguments: tuple[Any, ...]) -> None:
        if watching and event == "socket.connect" and arguments[1][:2] != allowed:
            tried.append(arguments[1])
            raise ConnectionRefusedError

    watching = [True]
    sys.addaudithook(watch)
    claude = models(project)
    load_base(project, "product_blurb").with_models(claude).answer(
        request=REQUESTS["product_blurb"]
    )
    claude.verify()
    claude.close()
    watching.clear()

    assert tried == []
    assert len(api.requests) >= 2
