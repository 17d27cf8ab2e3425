"""Inputs of one answer: checked, typed, and joined by what the program's `prepare` adds."""

import difflib
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import pydantic

from redraft.adapter import as_text
from redraft.errors import InputError, PrepareError
from redraft.session import Spec


def gather_facts(
    spec: Spec, annotations: Mapping[str, Any], inputs: Mapping[str, Any], row_id: str | None
) -> dict[str, Any]:
    """Return the inputs and everything that `prepare` adds to them.

    Args:
        spec: The program's fixed part.
        annotations: Type of each input field.
        inputs: What the caller gave.
        row_id: The row, for errors.

    Raises:
        InputError: A field is unknown, missing, or of the wrong type.
        PrepareError: `prepare` raised, or lacks a field it should supply.
    """
    program = spec.name or "the program"
    check_names(program, spec.inputs, inputs)
    facts = {name: typed_value(name, annotations[name], inputs[name]) for name in spec.inputs}
    if spec.prepare is None:
        return facts
    at = "" if row_id is None else f" on row {row_id!r}"
    try:
        added = spec.prepare(dict(facts))
    except Exception as error:
        raise PrepareError(
            f"{program} cannot use these inputs{at}: {error}", program=spec.name, row_id=row_id
        ) from error
    problem = _prepare_problem(spec, added)
    if problem:
        raise PrepareError(f"{program}{at}: {problem}", program=spec.name, row_id=row_id)
    return facts | dict(added)


def check_names(program: str, known: Sequence[str], inputs: Mapping[str, Any]) -> None:
    """Raise InputError where an input is unknown or missing."""
    for name in inputs:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"it takes {', '.join(known)}"
            raise InputError(f"{program} has no input {name!r}; {hint}")
    missing = [name for name in known if name not in inputs]
    if missing:
        raise InputError(f"{program} needs the input {missing[0]!r}; it takes {', '.join(known)}")


def typed_value(name: str, annotation: Any, value: Any) -> Any:
    """Return a value as its field's type.

    Raises:
        InputError: It does not fit, or holds text that no model can be sent.
    """
    try:
        typed = _validator(annotation).validate_python(value)
        str(typed).encode()
    except pydantic.ValidationError as error:
        shown = getattr(annotation, "__name__", annotation)
        reason = error.errors()[0]["msg"]
        raise InputError(f"input {name!r} must be of type {shown}: {reason}") from error
    except UnicodeEncodeError as error:
        raise InputError(
            f"input {name!r} holds half of a character pair at position {error.start}; "
            "decode the text as UTF-8 first"
        ) from error
    return typed


@lru_cache(maxsize=256)
def _validator(annotation: Any) -> pydantic.TypeAdapter[Any]:
    # Making one takes longer than everything else that is done with an input.
    return pydantic.TypeAdapter(annotation)


def _prepare_problem(spec: Spec, added: Any) -> str:
    if not isinstance(added, Mapping):
        return f"prepare must return a dict, got {type(added).__name__}"
    missing = [name for name in spec.prepared if name not in added]
    if missing:
        return f"prepare did not supply {missing[0]!r}, which `prepared` promises"
    taken = [name for name in added if name in spec.inputs]
    if taken:
        return f"prepare must not replace the input {taken[0]!r}; use another name"
    halved = [name for name in spec.prepared if not _can_be_sent(added[name])]
    if halved:
        return f"{halved[0]!r} holds half of a character pair; decode the text as UTF-8 first"
    return ""


def _can_be_sent(value: Any) -> bool:
    try:
        as_text(value).encode()
    except UnicodeEncodeError:
        return False
    return True
