"""Which JSON schemas the Messages API takes."""

from collections.abc import Mapping

_KEYWORDS = frozenset(
    {
        "$defs",
        "$ref",
        "additionalProperties",
        "allOf",
        "anyOf",
        "const",
        "default",
        "definitions",
        "description",
        "enum",
        "format",
        "items",
        "minItems",
        "properties",
        "required",
        "title",
        "type",
    }
)
_TYPES = frozenset({"object", "array", "string", "integer", "number", "boolean", "null"})
_FORMATS = frozenset(
    "date date-time duration email hostname ipv4 ipv6 time uri uuid".split()  # noqa: SIM905
)


def schema_problem(schema: object, place: str = "$") -> str | None:
    """Return why a schema would be refused, in one sentence; None where it is taken."""
    if not isinstance(schema, Mapping):
        return f"{place} is not an object"
    own = _own_problem(schema)
    if own is not None:
        return f"{place}: {own}"
    for name, part in _parts(schema):
        problem = schema_problem(part, f"{place}.{name}")
        if problem is not None:
            return problem
    return None


def _own_problem(schema: Mapping[str, object]) -> str | None:
    unknown = sorted(set(schema) - _KEYWORDS)
    if unknown:
        return f"keyword {unknown[0]!r} is not supported"
    kind = schema.get("type")
    if not {"type", "anyOf", "allOf", "enum", "const", "$ref"} & set(schema):
        return "a type is required"
    if kind is not None and kind not in _TYPES:
        return f"type {kind!r} is not supported"
    if kind == "object" and schema.get("additionalProperties") is not False:
        return "for an object, 'additionalProperties' must be explicitly set to false"
    if schema.get("minItems", 0) not in (0, 1):
        return "'minItems' supports only 0 and 1"
    if "format" in schema and schema["format"] not in _FORMATS:
        return f"format {schema['format']!r} is not supported"
    return None


def _parts(schema: Mapping[str, object]) -> list[tuple[str, object]]:
    parts: list[tuple[str, object]] = []
    for keyword in ("properties", "$defs", "definitions"):
        named = schema.get(keyword, {})
        if isinstance(named, Mapping):
            parts += named.items()
    for keyword in ("anyOf", "allOf"):
        listed = schema.get(keyword, ())
        if isinstance(listed, list):
            parts += [(f"{keyword}.{number}", part) for number, part in enumerate(listed)]
    if "items" in schema:
        parts.append(("items", schema["items"]))
    return parts
