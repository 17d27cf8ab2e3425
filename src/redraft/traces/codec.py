"""Records as JSON and back, and the redaction of every text in them that people or models wrote."""

import json
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from types import UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from redraft.adapter import as_text
from redraft.errors import TraceError

T = TypeVar("T")
_PLAIN = frozenset({str, int, float, bool, type(None)})
Redact = Callable[[str], str]

# Whatever stands under these names is text that somebody wrote; all else is ids, words, numbers.
_WRITTEN = frozenset(
    {
        "diff",
        "draft",
        "fields",
        "gap",
        "gaps",
        "inputs",
        "message",
        "quote",
        "reason",
        "replies",
        "reply",
        "text",
    }
)


def dump(value: object, redact: Redact | None = None) -> str:
    """Return a record, or anything made of records, as JSON.

    Args:
        value: Dataclasses, mappings, tuples and what JSON holds; any other value becomes text.
        redact: Applied to every text that was written by people or models.
    """
    plain = to_plain(value)
    if redact is not None:
        plain = _redacted(plain, redact)
    text = json.dumps(plain, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:
        # A model's reply may hold half of a character pair, which no encoding can store.
        return json.dumps(plain)
    return text


def load(kind: type[T], text: str) -> T:
    """Return the record of type `kind` that `dump` was given.

    Raises:
        TraceError: The text is not such a record.
    """
    try:
        value: T = _made(kind, json.loads(text))
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise TraceError(f"a stored {kind.__name__} cannot be read: {error!r}") from error
    return value


def to_plain(value: Any) -> Any:
    """Return a value as JSON-ready objects, lists, texts and numbers."""
    # Most values are plain, and this runs at every step of every answer.
    if type(value) in _PLAIN:
        return value
    if isinstance(value, list | tuple):
        return [to_plain(entry) for entry in value]
    if is_dataclass(value) and not isinstance(value, type):
        return {name: to_plain(getattr(value, name)) for name in _names(type(value))}
    if isinstance(value, Mapping):
        return {str(key): to_plain(entry) for key, entry in value.items()}
    return as_text(value)


def _redacted(value: Any, redact: Redact, *, written: bool = False) -> Any:
    if isinstance(value, str):
        return redact(value) if written else value
    if isinstance(value, list):
        return [_redacted(entry, redact, written=written) for entry in value]
    if isinstance(value, dict):
        return {
            key: _redacted(entry, redact, written=written or key in _WRITTEN)
            for key, entry in value.items()
        }
    return value


def _made(kind: Any, value: Any) -> Any:
    if is_dataclass(kind):
        return _made_record(kind, value)
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (UnionType, Union):
        chosen = [part for part in inner if part is not type(None)]
        return None if value is None else _made(chosen[0], value)
    if origin is tuple:
        return tuple(_made(inner[0], entry) for entry in value)
    return value


def _made_record(kind: Any, value: Mapping[str, Any]) -> Any:
    hints = _hints(kind)
    made = {
        field.name: _made(hints[field.name], value[field.name])
        for field in fields(kind)
        # A field that a later version added takes its default.
        if field.name in value or (field.default is MISSING and field.default_factory is MISSING)
    }
    return kind(**made)


@cache
def _names(kind: Any) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind))


@cache
def _hints(kind: type) -> Mapping[str, Any]:
    return get_type_hints(kind)
