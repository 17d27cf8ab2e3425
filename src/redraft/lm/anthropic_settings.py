"""How the Claude API is reached: `[tool.redraft.anthropic]`, and one table in it for each role."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from typing import Any, get_args

from redraft.errors import ConfigError, ModelError
from redraft.records import Role

WHERE = "[tool.redraft.anthropic]"
_ROLES: tuple[str, ...] = get_args(Role)
_TEXTS = ("base_url", "key_env", "region", "project")
_COUNTS = ("max_rpm", "max_tpm", "parallel")


@dataclass(frozen=True, slots=True, kw_only=True)
class AnthropicSettings:
    """How one role reaches Claude; a key itself never stands in a file.

    Attributes:
        base_url: Address of a gateway; None for what the SDK uses, ANTHROPIC_BASE_URL included.
        key_env: Name of the environment variable that holds the key; None for the SDK's own.
        headers: Sent with every request; a value `$NAME` is taken from the environment.
        region: Of a cloud; None for what its own environment variables say.
        project: Of Google's cloud; None for what its own environment variables say.
        max_rpm: Requests in any minute; None for no limit.
        max_tpm: Tokens in any minute, sent and received; None for no limit.
        parallel: Requests in flight at once.
        models: What a model takes, by its name, in place of what is known about it.
    """

    base_url: str | None = None
    key_env: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    region: str | None = None
    project: str | None = None
    max_rpm: int | None = None
    max_tpm: int | None = None
    parallel: int = 8
    models: Mapping[str, Mapping[str, object]] = field(default_factory=dict)

    def key(self, model: str) -> str | None:
        """Return the key that `key_env` names; None where it names none.

        Raises:
            ModelError: The variable is not set.
        """
        return None if self.key_env is None else _from_environment(self.key_env, model)

    def sent_headers(self, model: str) -> dict[str, str]:
        """Return the headers with their values from the environment.

        Raises:
            ModelError: A variable is not set.
        """
        return {
            name: _from_environment(value[1:], model) if value.startswith("$") else value
            for name, value in self.headers.items()
        }


def settings_of(table: Mapping[str, object], role: Role) -> AnthropicSettings:
    """Return the settings of a role: those of all roles, with its own in their place.

    Args:
        table: What stands under `[tool.redraft.anthropic]`.
        role: Whose settings.

    Raises:
        ConfigError: A name is unknown or a value has the wrong type.
    """
    shared = {name: value for name, value in table.items() if name not in _ROLES}
    settings = _updated(AnthropicSettings(), shared, WHERE)
    own = table.get(role, {})
    if not isinstance(own, Mapping):
        raise ConfigError(f"{WHERE}: {role} must be a table, got {own!r}")
    return _updated(settings, own, f"[tool.redraft.anthropic.{role}]")


def _updated(
    settings: AnthropicSettings, table: Mapping[str, object], where: str
) -> AnthropicSettings:
    values: dict[str, Any] = {}
    for name, value in table.items():
        problem = _problem(name, value)
        if problem is not None:
            raise ConfigError(f"{where}: {problem}")
        values[name] = value
    return replace(settings, **values)


def _problem(name: str, value: object) -> str | None:
    """Return what is wrong with one setting; a header's value is never shown."""
    if name in _TEXTS:
        right = isinstance(value, str) and bool(value.strip())
        return None if right else f"{name} must be a text that is not empty, got {value!r}"
    if name in _COUNTS:
        right = isinstance(value, int) and not isinstance(value, bool) and value >= 1
        return None if right else f"{name} must be a whole number of 1 or more, got {value!r}"
    if name == "headers":
        right = isinstance(value, Mapping) and all(isinstance(v, str) for v in value.values())
        return None if right else "headers must be a table of texts"
    if name == "models":
        right = isinstance(value, Mapping) and all(isinstance(v, Mapping) for v in value.values())
        return None if right else "models must hold one table for each model"
    known = [field.name for field in fields(AnthropicSettings)]
    near = get_close_matches(name, (*known, *_ROLES), n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join((*known, *_ROLES))}"
    return f"there is no setting {name!r}; {hint}"


def _from_environment(name: str, model: str) -> str:
    value = os.environ.get(name)
    if not value:
        raise ModelError(
            f"{model!r} needs the environment variable {name}, which {WHERE} names; set it, or "
            "name another model",
            model=model,
        )
    return value
