"""How Claude is reached: tables of pyproject.toml, environment variables, clouds, gateways."""

from pathlib import Path
from typing import Any

import pytest
from anthropic import AsyncAnthropicBedrock, AsyncAnthropicVertex
from claude import SMALL, never
from dspy.lm15 import InvalidRequestError
from lm_requests import ask, request_of

from redraft.errors import ConfigError, ModelError
from redraft.lm import AnthropicEngine, AnthropicSettings, connect
from redraft.lm.anthropic_clients import make_client, secrets_of
from redraft.lm.anthropic_settings import settings_of
from redraft.project import read_config
from redraft.testing.messages_api import MessagesApi

BEDROCK = "anthropic-bedrock/anthropic.claude-haiku-4-5-20251001-v1:0"
VERTEX = "anthropic-vertex/claude-haiku-4-5@20251001"


@pytest.fixture(autouse=True)
def nothing_set(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Leave no key, region or profile of whoever runs the tests."""
    for name in (
        "ANTHROPIC_API_KEY",
        "ANTHROPIC_AUTH_TOKEN",
        "ANTHROPIC_BASE_URL",
        "ANTHROPIC_PROFILE",
        "ANTHROPIC_VERTEX_PROJECT_ID",
        "AWS_BEARER_TOKEN_BEDROCK",
        "AWS_REGION",
        "AWS_DEFAULT_REGION",
        "CLOUD_ML_REGION",
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.delenv("ANTHROPIC_CONFIG_DIR", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))


def test_a_roles_own_settings_come_first() -> None:
    """What it leaves out is that of all roles."""
    table = {"base_url": "http://a", "max_rpm": 9, "checker": {"base_url": "http://b"}}

    checker, drafter = settings_of(table, "checker"), settings_of(table, "drafter")

    assert (checker.base_url, checker.max_rpm) == ("http://b", 9)
    assert (drafter.base_url, drafter.max_rpm) == ("http://a", 9)


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ({"base-url": "x"}, "did you mean 'base_url'"),
        ({"zzz": "x"}, "there are base_url, key_env"),
        ({"base_url": ""}, "a text that is not empty"),
        ({"max_rpm": 0}, "1 or more, got 0"),
        ({"parallel": True}, "1 or more, got True"),
        ({"headers": "X: y"}, "a table of texts"),
        ({"headers": {"X": 1}}, "a table of texts"),
        ({"models": {"x": 1}}, "one table for each model"),
        ({"checker": 3}, "checker must be a table"),
        ({"checker": {"region": 1}}, r"\[tool.redraft.anthropic.checker\]: region"),
    ],
)
def test_wrong_settings_are_refused(table: dict[str, Any], words: str) -> None:
    """With their place and the nearest name; a header's value is not shown."""
    with pytest.raises(ConfigError, match=words):
        settings_of(table, "checker")


def test_the_projects_tables_reach_the_engine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Gateway, key, headers and prices, from pyproject.toml to the request."""
    monkeypatch.setenv("GATEWAY_KEY", "g-key")
    monkeypatch.setenv("TEAM", "red")
    with MessagesApi("Yes.", key="g-key") as api:
        (tmp_path / "pyproject.toml").write_text(
            "[tool.redraft.anthropic]\n"
            f'base_url = "{api.url}"\nkey_env = "GATEWAY_KEY"\n'
            'headers = { "X-Team" = "$TEAM", "X-Kind" = "test" }\n'
            f'[tool.redraft.prices."{SMALL}"]\ninput = 1\noutput = 2\n'
        )
        tables = read_config(tmp_path).tables
        models = connect({"drafter": SMALL, "checker": SMALL}, root=tmp_path, tables=tables)
        reply = ask(models.of("drafter"))
        models.verify()
        models.close()

        headers = api.requests[0].headers
    assert reply.text == "Yes."
    assert (headers["x-team"], headers["x-kind"]) == ("red", "test")
    assert models.of("drafter") is models.of("checker")
    assert models.of("drafter").prices is not None
    models.require_prices()


def test_roles_with_other_settings_have_models_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their pace is their own too."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "a key")
    tables = {"anthropic": {"checker": {"max_rpm": 5}}}

    models = connect({"drafter": SMALL, "checker": SMALL}, root=tmp_path, tables=tables)
    models.close()

    assert models.of("drafter") is not models.of("checker")


def test_a_price_that_nobody_knows_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before any work, with where to state it."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "a key")
    models = connect({"drafter": "anthropic/claude-novel-9"}, root=tmp_path)

    with pytest.raises(ModelError, match=r"tool.redraft.prices.*claude-novel-9"):
        models.require_prices()
    models.close()


def test_a_missing_key_is_one_sentence() -> None:
    """With the variable to set, before any work."""
    with pytest.raises(ModelError, match="needs a key: set ANTHROPIC_API_KEY") as raised:
        AnthropicEngine(SMALL)

    assert "\n" not in str(raised.value)


def test_a_key_of_the_users_own_name_must_be_set() -> None:
    """The table names the variable, and the variable must be there."""
    with pytest.raises(ModelError, match="environment variable GATEWAY_KEY"):
        AnthropicEngine(SMALL, settings=AnthropicSettings(key_env="GATEWAY_KEY"))


def test_bedrock_is_a_variant(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its own client, region and key."""
    monkeypatch.setenv("AWS_BEARER_TOKEN_BEDROCK", "b-key")
    settings = AnthropicSettings(region="eu-west-1")

    client = make_client(BEDROCK, settings)

    assert isinstance(client, AsyncAnthropicBedrock)
    assert (client.aws_region, client.max_retries) == ("eu-west-1", 0)
    assert secrets_of(BEDROCK, settings, client) == ("b-key",)


def test_vertex_is_a_variant(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its own client, region, project and token."""
    monkeypatch.setenv("TOKEN", "v-token")
    settings = AnthropicSettings(key_env="TOKEN", region="global", project="mine")

    client = make_client(VERTEX, settings)

    assert isinstance(client, AsyncAnthropicVertex)
    assert (client.region, client.project_id, client.max_retries) == ("global", "mine", 0)
    assert secrets_of(VERTEX, settings, client) == ("v-token",)


@pytest.mark.parametrize(
    ("name", "settings", "words"),
    [
        (BEDROCK, AnthropicSettings(), "region"),
        (VERTEX, AnthropicSettings(key_env="TOKEN"), "region"),
        (VERTEX, AnthropicSettings(key_env="TOKEN", region="global"), "needs a project"),
        (VERTEX, AnthropicSettings(region="global"), "google.auth"),
    ],
)
def test_what_a_cloud_lacks_is_one_sentence(
    name: str, settings: AnthropicSettings, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A region, a project or a library, before any work."""
    monkeypatch.setenv("TOKEN", "v-token")

    with pytest.raises(ModelError, match=words):
        make_client(name, settings)


def test_the_clouds_send_the_same_request(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only path and version differ, which the SDK writes; the stand-in is no cloud."""
    monkeypatch.setenv("AWS_BEARER_TOKEN_BEDROCK", "b-key")
    with MessagesApi("Yes.", key="b-key") as api:
        settings = AnthropicSettings(region="eu-west-1", base_url=api.url)
        engine = AnthropicEngine(BEDROCK, settings=settings)
        engine.verify()
        with pytest.raises(InvalidRequestError):
            engine.complete(request_of(model=BEDROCK, temperature=0.0), never)
        engine.close()

        sent = api.requests[0]
    assert sent.path.startswith("/model/anthropic.claude-haiku-4-5")
    assert sent.body["messages"][0]["content"] == [{"type": "text", "text": "Hello."}]
    assert sent.body["temperature"] == 0.0
