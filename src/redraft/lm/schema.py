"""JSON schemas of replies: the schema of a request, and whether a reply fits it."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import jsonschema  # type: ignore[import-untyped]  # ships no types
from dspy.lm15 import InvalidRequestError, Request

ANY_OBJECT: Mapping[str, Any] = {"type": "object"}


def wanted_schema(request: Request) -> Mapping[str, Any] | None:
    """Return the schema that a request asks its reply to fit, or None for free text.

    Raises:
        InvalidRequestError: The schema is no JSON schema. Engines would ignore it in silence.
    """
    wanted = request.config.response_format
    if wanted is None:
        return None
    schema: Mapping[str, Any] = wanted.get("schema", ANY_OBJECT)
    try:
        jsonschema.Draft202012Validator.check_schema(schema)
    except jsonschema.SchemaError as error:
        message = f"the response_format is no JSON schema: {error.message}"
        raise InvalidRequestError(message) from error
    for pointer in _pointers(schema):
        if not _leads_somewhere(pointer, schema):
            raise InvalidRequestError(
                f"the response_format points at {pointer!r}, which it does not hold; "
                "definitions belong at its top"
            )
    return schema


def misfit(text: str, schema: Mapping[str, Any]) -> str | None:
    """Return why a reply does not fit a schema, in one sentence; None where it fits."""
    try:
        value = json.loads(text)
    except ValueError as error:
        return f"it is not JSON: {error}"
    found = next(jsonschema.Draft202012Validator(schema).iter_errors(value), None)
    return None if found is None else f"at {found.json_path}: {found.message}"


def _pointers(value: object) -> Iterator[str]:
    """Yield what the schema's `$ref`s point at."""
    if isinstance(value, dict):
        if isinstance(pointer := value.get("$ref"), str):
            yield pointer
        for part in value.values():
            yield from _pointers(part)
    elif isinstance(value, list):
        for part in value:
            yield from _pointers(part)


def _leads_somewhere(pointer: str, schema: object) -> bool:
    for name in pointer.split("/")[1:]:
        if not isinstance(schema, dict) or name not in schema:
            return False
        schema = schema[name]
    return pointer.startswith("#")
