"""JSON schemas as the Messages API takes them: closed objects, few keywords."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

# What the API takes beside the type. A limit on a length or a number is none of it.
_KEPT = frozenset(
    {
        "$ref",
        "anyOf",
        "allOf",
        "const",
        "default",
        "description",
        "enum",
        "title",
        "type",
    }
)
_FORMATS = frozenset(
    {
        "date",
        "date-time",
        "duration",
        "email",
        "hostname",
        "ipv4",
        "ipv6",
        "time",
        "uri",
        "uuid",
    }
)


@dataclass(slots=True)
class ClosedSchema:
    """A schema that the API takes in place of another.

    Attributes:
        schema: What is sent; None where the API has nothing like the schema that was asked for.
        told: Limits that it cannot hold, each with its place: they are only told to the model.
    """

    schema: Mapping[str, Any] | None
    told: list[str] = field(default_factory=list)


class _OpenError(Exception):
    """An object takes keys that its schema does not name."""


def closed_schema(schema: Mapping[str, Any]) -> ClosedSchema:
    """Return the nearest schema that the API takes.

    Objects are closed, `oneOf` becomes `anyOf`, and limits that the API does not know move into
    the description of their field. An object of free keys cannot be asked for at all.
    """
    found = ClosedSchema(None)
    try:
        found.schema = _closed(schema, "$", found.told)
    except _OpenError:
        return ClosedSchema(None)
    return found


def _closed(schema: Mapping[str, Any], place: str, told: list[str]) -> dict[str, Any]:
    kept = {key: value for key, value in schema.items() if key in _KEPT}
    rest = {key: value for key, value in schema.items() if key not in _KEPT}
    if "oneOf" in rest:
        kept["anyOf"] = [*kept.get("anyOf", ()), *rest.pop("oneOf")]
    for key in ("anyOf", "allOf"):
        if key in kept:
            kept[key] = [_closed(part, f"{place}.{key}", told) for part in kept[key]]
    for key in ("$defs", "definitions"):
        if key in rest:
            named = rest.pop(key).items()
            kept[key] = {name: _closed(part, f"{place}.{key}.{name}", told) for name, part in named}
    kept |= _of_type(schema, rest, place, told)
    if rest:
        limits = ", ".join(f"{key}: {value}" for key, value in sorted(rest.items()))
        told.append(f"{place} ({limits})")
        kept["description"] = f"{kept.get('description', '')} ({limits})".strip()
    return kept


def _of_type(
    schema: Mapping[str, Any], rest: dict[str, Any], place: str, told: list[str]
) -> dict[str, Any]:
    """Return the keywords that belong to the schema's type, taking them out of `rest`."""
    kept: dict[str, Any] = {}
    if schema.get("type") == "object" or "properties" in schema:
        properties = rest.pop("properties", {})
        if not properties or rest.pop("additionalProperties", False) not in (False, True):
            raise _OpenError
        kept["properties"] = {
            name: _closed(part, f"{place}.{name}", told) for name, part in properties.items()
        }
        kept["required"] = list(rest.pop("required", ()))
        kept["additionalProperties"] = False
    if isinstance(rest.get("items"), Mapping):
        kept["items"] = _closed(rest.pop("items"), f"{place}[]", told)
    if rest.get("minItems") in (0, 1):
        kept["minItems"] = rest.pop("minItems")
    if rest.get("format") in _FORMATS:
        kept["format"] = rest.pop("format")
    return kept
