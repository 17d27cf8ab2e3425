"""Keys, headers and prompts stay out of every file and stream, also when calls fail."""

import json
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

import redraft
from redraft.budget import RunCaps
from redraft.lm import Models, Retry, connect
from redraft.optimizers import SearchLimits
from redraft.project import read_config
from redraft.testing.messages_api import Fault, MessagesApi
from redraft.traces import TraceStore

ROOT = Path(__file__).resolve().parents[2]
NAME = "product_blurb"
CLAUDE = "anthropic/claude-opus-5-5"
SMALL = SearchLimits(val_rows=6, gate_rows=10, max_revisions=1)
KEY = "sk-ant-planted-key-0001"
LITERAL = "planted-literal-header-0002"
FROM_ENVIRONMENT = "planted-environment-header-0003"
OF_ONE_ROLE = "planted-header-of-one-role-0004"
SECRETS = (KEY, LITERAL, FROM_ENVIRONMENT, OF_ONE_ROLE)
PROMPT = "Describe the planted kettle 0005 in one sentence. Use these words: steel. Under 40 words."
SETTINGS = f"""
[tool.redraft]
lm = "{CLAUDE}"

[tool.redraft.anthropic]
key_env = "PLANTED_KEY"
headers = {{ "X-Team" = "{LITERAL}", "X-Token" = "$PLANTED_HEADER" }}

[tool.redraft.anthropic.reviser]
headers = {{ "X-Role" = "{OF_ONE_ROLE}" }}
"""


def say(body: Mapping[str, Any]) -> str:
    """Write a draft that lacks what was asked for, so that it is revised."""
    del body
    return "A thing."


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> Iterator[MessagesApi]:
    """Return the stand-in, with its key under a name of our own."""
    with MessagesApi(say, key=KEY) as api:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", api.url)
        monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
        monkeypatch.setenv("PLANTED_KEY", KEY)
        monkeypatch.setenv("PLANTED_HEADER", FROM_ENVIRONMENT)
        yield api


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Return a project with a secret in every place that may hold one."""
    root = tmp_path / "project"
    for folder in ("programs", "metrics", "trainsets"):
        shutil.copytree(ROOT / folder, root / folder, ignore=shutil.ignore_patterns("__pycache__"))
    (root / "pyproject.toml").write_text(SETTINGS, "utf-8")
    return root


def models(root: Path) -> Models:
    """Return Claude for every role that answers, as the settings say."""
    names = {"drafter": CLAUDE, "checker": CLAUDE, "reviser": CLAUDE}
    tables = read_config(root).tables
    return connect(
        names,  # type: ignore[arg-type]  # the keys are roles
        root=root,
        recorded=root / ".redraft" / "replies.sqlite",
        retry=Retry(base_seconds=0.0),
        tables=tables,
    )


def work(root: Path, api: MessagesApi) -> str:
    """Compile, answer, answer with an outage, be refused twice; return what the errors say."""
    repeated = f"{' '.join(SECRETS)} {PROMPT}"
    claude = models(root)
    redraft.compile_program(
        NAME,
        root=root,
        models=claude,
        caps=RunCaps(max_calls=300),
        limits=SMALL,
        promote="always",
    )
    store = TraceStore(root / ".redraft" / "traces.sqlite")
    program = redraft.load(NAME, root=root, models=claude, traces=store)
    program.answer(request=PROMPT)
    api.fail(*(Fault(status=status, message=repeated) for status in (529, 500, 503)))
    lost = program.answer(request=f"{PROMPT} Again.")
    api.fail(Fault(status=400, message=repeated))
    with pytest.raises(redraft.RedraftError) as wrong:
        program.answer(request=f"{PROMPT} And again.")
    api.key = "another"
    with pytest.raises(redraft.RedraftError) as refused:
        program.answer(request=f"{PROMPT} Once more.")
    store.close()
    claude.close()
    assert lost.failure is not None
    told = (lost.failure, wrong.value, refused.value, claude)
    return "\n".join((*map(str, told), *map(repr, told)))


def test_nothing_secret_is_written_down(
    project: Path,
    api: MessagesApi,
    capfd: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Neither key nor header in artifacts, traces, replies, logs, errors, stdout or stderr."""
    caplog.set_level("INFO")
    errors = work(project, api)

    (project / "pyproject.toml").unlink()
    files = {p: p.read_bytes() for p in project.rglob("*") if p.is_file()}
    shown = "".join((*capfd.readouterr(), caplog.text, errors))
    sent = json.dumps([dict(request.headers) for request in api.requests])
    assert any(path.name.startswith("traces.sqlite") for path in files)
    assert any(path.name == "artifact.json" for path in files)
    for secret in SECRETS:
        assert secret in sent
        assert secret not in shown
        assert [path for path, content in files.items() if secret.encode() in content] == []


def test_prompts_are_kept_where_they_were_asked_to_be(
    project: Path,
    api: MessagesApi,
    capfd: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    """In its trace, as it was asked for; in no error, and no log unless the SDK is to debug."""
    caplog.set_level("INFO")
    errors = work(project, api)

    shown = "".join((*capfd.readouterr(), caplog.text, errors))
    holding = {
        path.name.partition(".sqlite")[0]
        for path in project.rglob("*")
        if path.is_file() and b"planted kettle 0005" in path.read_bytes()
    }
    assert "planted kettle 0005" not in shown
    assert holding <= {"traces", "replies"}
    assert "traces" in holding
