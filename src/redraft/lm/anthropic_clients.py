"""The SDK's clients: of the Claude API, of a gateway in front of it, and of two clouds."""

import os
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from typing import Any

import anthropic
from anthropic import AsyncAnthropic, AsyncAnthropicBedrock, AsyncAnthropicVertex

from redraft.errors import ModelError
from redraft.lm.anthropic_settings import AnthropicSettings

Client = AsyncAnthropic | AsyncAnthropicBedrock | AsyncAnthropicVertex

API_KEY = "ANTHROPIC_API_KEY"
_KEY_NAMES: Mapping[str, str] = {
    "anthropic": API_KEY,
    "anthropic-bedrock": "AWS_BEARER_TOKEN_BEDROCK",
    "anthropic-vertex": "GOOGLE_APPLICATION_CREDENTIALS",
}
PROVIDERS = tuple(_KEY_NAMES)


def make_client(name: str, settings: AnthropicSettings) -> Client:
    """Return the client of a model. It makes no request and retries nothing.

    Raises:
        ModelError: The key, the region or a library that the cloud needs is missing.
    """
    provider = name.partition("/")[0]
    shared = {
        "base_url": settings.base_url,
        "default_headers": settings.sent_headers(name),
        "max_retries": 0,
        # A redirect would carry the key to another address than the model's.
        "http_client": anthropic.DefaultAsyncHttpxClient(follow_redirects=False),
    }
    makers: Mapping[str, Callable[[], Client]] = {
        "anthropic": lambda: _claude(name, settings, shared),
        "anthropic-bedrock": lambda: _bedrock(name, settings, shared),
        "anthropic-vertex": lambda: _vertex(name, settings, shared),
    }
    try:
        return makers[provider]()
    except (ValueError, anthropic.AnthropicError) as error:
        # The SDK says what is missing, without the values of what is there.
        raise ModelError(f"{name!r} cannot be reached: {error}", model=name) from error


def key_name(name: str, settings: AnthropicSettings) -> str:
    """Return the environment variable in which the key of a model is looked for."""
    return settings.key_env or _KEY_NAMES[name.partition("/")[0]]


def secrets_of(name: str, settings: AnthropicSettings, client: Client | None) -> tuple[str, ...]:
    """Return every value that no message may show, the longest first."""
    held = (getattr(client, attribute, None) for attribute in _HELD)
    found = {str(value) for value in held if value}
    if client is not None:
        found |= set(settings.sent_headers(name).values())
    return tuple(sorted(found, key=len, reverse=True))


_HELD = (
    "api_key",
    "auth_token",
    "access_token",
    "aws_access_key",
    "aws_secret_key",
    "aws_session_token",
)


def _claude(name: str, settings: AnthropicSettings, shared: dict[str, Any]) -> Client:
    client = AsyncAnthropic(api_key=settings.key(name), **shared)
    if not (client.api_key or client.auth_token or client.credentials):
        raise ModelError(f"{name!r} needs a key: set {API_KEY}, or name another model", model=name)
    return client


def _bedrock(name: str, settings: AnthropicSettings, shared: dict[str, Any]) -> Client:
    client = AsyncAnthropicBedrock(api_key=settings.key(name), aws_region=settings.region, **shared)
    if client.api_key is None:
        _require(name, "boto3", "bedrock")
    return client


def _vertex(name: str, settings: AnthropicSettings, shared: dict[str, Any]) -> Client:
    token = settings.key(name)
    if token is None:
        _require(name, "google.auth", "vertex")
    own = {"region": settings.region, "project_id": settings.project}
    given: dict[str, Any] = {key: value for key, value in own.items() if value is not None}
    client = AsyncAnthropicVertex(access_token=token, **given, **shared)
    if token is not None and client.project_id is None:
        raise ModelError(
            f"{name!r} needs a project: set project under [tool.redraft.anthropic], or "
            "ANTHROPIC_VERTEX_PROJECT_ID",
            model=name,
        )
    return client


def _require(name: str, library: str, extra: str) -> None:
    package = library.partition(".")[0]
    if find_spec(package) is None or find_spec(library) is None:
        raise ModelError(
            f"{name!r} needs the library {library}: pip install 'anthropic[{extra}]'", model=name
        )


def is_elsewhere(settings: AnthropicSettings) -> bool:
    """Whether requests go to a gateway or a test's server instead of to the API itself."""
    return settings.base_url is not None or bool(os.environ.get("ANTHROPIC_BASE_URL"))
