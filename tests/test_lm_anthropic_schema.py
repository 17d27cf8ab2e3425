"""Schemas that the Messages API takes in place of those that were asked for."""

from typing import Any

import jsonschema
import pytest

from redraft.lm.anthropic_schema import closed_schema
from redraft.records import Criterion
from redraft.testing.contract import SCHEMA
from redraft.testing.messages_api.schemas import schema_problem
from redraft.verdict import findings_schema

FINDINGS = findings_schema([Criterion("a", "It is."), Criterion("b", "It was.")])


@pytest.mark.parametrize("schema", [SCHEMA, FINDINGS])
def test_our_own_schemas_are_taken(schema: dict[str, Any]) -> None:
    """The checker's among them, as it is."""
    closed = closed_schema(schema).schema

    assert schema_problem(closed) is None


def test_a_flat_closed_schema_is_not_changed() -> None:
    """Nothing of the checker's is lost."""
    closed = closed_schema(FINDINGS)

    assert (closed.schema, closed.told) == (FINDINGS, [])


def test_limits_are_told_in_words() -> None:
    """The API knows no lengths, so the field's description says them."""
    closed = closed_schema({"type": "string", "maxLength": 40, "description": "A word."})

    assert closed.schema == {"type": "string", "description": "A word. (maxLength: 40)"}
    assert closed.told == ["$ (maxLength: 40)"]


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        ({"oneOf": [{"type": "string"}]}, {"anyOf": [{"type": "string"}]}),
        ({"type": "array", "items": {"type": "string"}, "minItems": 1}, None),
        ({"type": "string", "format": "date"}, None),
        ({"$ref": "#/$defs/x", "$defs": {"x": {"type": "null"}}}, None),
        ({"enum": ["a", "b"], "type": "string"}, None),
    ],
)
def test_what_the_api_takes_stays(given: dict[str, Any], sent: dict[str, Any] | None) -> None:
    """Or becomes what means the same."""
    closed = closed_schema(given)

    assert closed.schema == (sent or given)
    assert schema_problem(closed.schema) is None


def test_objects_are_closed() -> None:
    """Keys that are not named may not come."""
    closed = closed_schema({"type": "object", "properties": {"x": {"type": "string"}}}).schema

    assert closed is not None
    assert closed["additionalProperties"] is False
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"y": 1}, closed)


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object"},
        {"type": "object", "additionalProperties": {"type": "string"}},
        {"type": "array", "items": {"type": "object"}},
        {
            "type": "object",
            "properties": {"x": {"type": "string"}},
            "additionalProperties": {"type": "string"},
        },
    ],
)
def test_free_keys_cannot_be_asked_for(schema: dict[str, Any]) -> None:
    """Closing such an object would forbid what it is for."""
    assert closed_schema(schema).schema is None
