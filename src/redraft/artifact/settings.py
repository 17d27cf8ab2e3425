"""Loop settings and options as tables that a person edits."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, fields, replace
from difflib import get_close_matches
from typing import Any, get_args

from redraft.errors import ConfigError
from redraft.records import Loop, Options, Role

SETTINGS = ("loop", "options")

# TOML has no word for it.
_NOT_SET = ""
_MAY_BE_UNSET = ("returns", "effort")


def setting_lines(loop: Loop, options: Mapping[Role, Options]) -> Iterator[str]:
    """Yield the settings as lines of TOML."""
    named: dict[str, Loop | Options] = {
        f"options.{role}": options[role] for role in sorted(options)
    }
    for name, settings in {"loop": loop, **named}.items():
        yield from ("", f"[{name}]")
        for key, value in asdict(settings).items():
            yield f"{key} = {json.dumps(_NOT_SET if value is None else value)}"


def edited_loop(loop: Loop, table: object) -> Loop:
    """Return the loop settings with what a table says; what it leaves out stays.

    Raises:
        ConfigError: A setting is unknown, or cannot be so.
    """
    return replace(loop, **_changes(loop, table, "loop"))


def edited_options(options: Mapping[Role, Options], table: object) -> dict[Role, Options]:
    """Return the options with what a table of tables by role says; what it leaves out stays.

    Raises:
        ConfigError: A role or a setting is unknown, or cannot be so.
    """
    roles: tuple[Role, ...] = get_args(Role)
    given = _table(table, "options")
    for name in given:
        if name not in roles:
            raise ConfigError(f"[options.{name}] names no role; {near(name, roles)}")
    edited = dict(options)
    for role in roles:
        if role in given:
            before = options.get(role, Options())
            edited[role] = replace(before, **_changes(before, given[role], f"options.{role}"))
    return edited


def near(word: str, known: Sequence[str]) -> str:
    """Return which known word was probably meant, or all of them."""
    found = get_close_matches(word, known, n=1)
    return f"did you mean {found[0]!r}?" if found else f"there are {', '.join(known)}"


def _changes(before: Loop | Options, table: object, where: str) -> dict[str, Any]:
    known = [field.name for field in fields(before)]
    changes: dict[str, Any] = {}
    for key, value in _table(table, where).items():
        if key not in known:
            raise ConfigError(f"{key!r} in [{where}] is unknown; {near(key, known)}")
        changes[key] = _typed(value, getattr(before, key), f"{key} in [{where}]")
        if key in _MAY_BE_UNSET and value == _NOT_SET:
            changes[key] = None
    return changes


def _table(value: object, where: str) -> dict[str, object]:
    if isinstance(value, dict):
        return value
    raise ConfigError(f"{where!r} must be a table, written [{where}]; got {value!r}")


def _typed(value: object, before: object, where: str) -> object:
    # What is not set now is a word when it is.
    kind = str if before is None else type(before)
    if kind is float and type(value) is int:
        return float(value)
    if type(value) is kind:
        return value
    word = {bool: "true or false", int: "a whole number", float: "a number"}.get(kind, "a text")
    raise ConfigError(f"{where} must be {word}; got {value!r}")
