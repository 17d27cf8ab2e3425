"""Schemas of replies."""

import re

import pytest
from dspy.lm15 import InvalidRequestError
from lm_requests import request_of

from redraft.lm.schema import misfit, wanted_schema

NUMBER = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


def test_free_text_has_no_schema() -> None:
    """A request without a response_format asks for none."""
    assert wanted_schema(request_of()) is None


def test_any_object_is_a_schema() -> None:
    """`json_object` asks for an object of any shape."""
    wanted = wanted_schema(request_of(response_format={"type": "json_object"}))

    assert wanted == {"type": "object"}


def test_a_wrong_schema_is_refused() -> None:
    """An engine might ignore it and answer in prose."""
    wrong = {"type": "json_schema", "name": "x", "schema": {"type": "number!"}}

    with pytest.raises(InvalidRequestError, match="no JSON schema"):
        wanted_schema(request_of(response_format=wrong))


@pytest.mark.parametrize(
    ("text", "why"),
    [("{", "not JSON"), ('{"n": "x"}', r"at \$\.n"), ("{}", "required")],
)
def test_a_misfit_says_where(text: str, why: str) -> None:
    """The reason can be shown to a person."""
    assert re.search(why, str(misfit(text, NUMBER)))


def test_a_fit_has_no_reason() -> None:
    """None means that it fits."""
    assert misfit('{"n": 1}', NUMBER) is None


@pytest.mark.parametrize("pointer", ["#/$defs/Part", "#/properties/part/x", "elsewhere.json"])
def test_a_pointer_to_nowhere_is_refused(pointer: str) -> None:
    """llama.cpp would ignore the whole schema."""
    part = {"type": "object", "properties": {"part": {"type": "array", "items": {"$ref": pointer}}}}
    wrong = {"type": "json_schema", "name": "x", "schema": part}

    with pytest.raises(InvalidRequestError, match="definitions belong at its top"):
        wanted_schema(request_of(response_format=wrong))


def test_definitions_at_the_top_are_found() -> None:
    """As pydantic writes them."""
    part = {"$defs": {"Part": NUMBER}, "type": "array", "items": {"$ref": "#/$defs/Part"}}
    right = {"type": "json_schema", "name": "x", "schema": part}

    assert wanted_schema(request_of(response_format=right)) == part
    assert misfit('[{"n": 1}]', part) is None
