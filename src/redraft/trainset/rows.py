"""Turn the objects of a rows file into rows; everything that is wrong is found in one pass."""

import re
from collections.abc import Mapping, Sequence
from difflib import get_close_matches

from redraft.records import SPLITS, Row, Split
from redraft.trainset.lines import Line

FIELDS = ("id", "inputs", "reference", "tags", "group", "split", "origin")

_EXAMPLE = '{"id": "r1", "inputs": {"request": "..."}}'
_ENCODED = re.compile(r"data:[\w.+-]+/[\w.+-]+[;,]")


def parse_rows(
    lines: Sequence[Line], *, input_fields: Sequence[str] | None
) -> tuple[tuple[Row, ...], tuple[str, ...]]:
    """Return the rows, and one sentence for everything that is wrong.

    Args:
        lines: The objects of the file.
        input_fields: The program's inputs, which every row must have and no others; None to
            leave that open.

    Returns:
        Rows in the order of the file, their splits as they name them; and the problems, each
        beginning with its line number. Use the rows only if there are no problems.
    """
    rows: list[Row] = []
    problems: list[str] = []
    for line in lines:
        found = [line.problem] if line.problem else _find_problems(line.value, input_fields)
        problems += [f"{line.number}: {problem}" for problem in found]
        if not found and isinstance(line.value, dict):
            rows.append(_make_row(line.value, line.number))
    return tuple(rows), (*problems, *_find_repeats(rows))


def _make_row(value: Mapping[str, object], number: int) -> Row:
    inputs, reference, tags = value["inputs"], value.get("reference", {}), value.get("tags", [])
    assert isinstance(inputs, dict)
    assert isinstance(reference, dict)
    assert isinstance(tags, list)
    id_, origin = str(value["id"]), value.get("origin")
    return Row(
        id=id_,
        inputs=inputs,
        reference=reference,
        tags=tuple(tags),
        group=str(value.get("group", id_)),
        split=_split_of(value.get("split")),
        origin=None if origin is None else str(origin),
        line=number,
    )


def _split_of(value: object) -> Split | None:
    return next((split for split in SPLITS if split == value), None)


def _find_repeats(rows: Sequence[Row]) -> list[str]:
    first: dict[str, int | None] = {}
    problems = []
    for row in rows:
        if row.id in first:
            found = f"id {row.id!r} stands on line {first[row.id]} already"
            problems.append(f"{row.line}: {found}; give every row an id of its own")
        first.setdefault(row.id, row.line)
    return problems


def _find_problems(value: object, input_fields: Sequence[str] | None) -> list[str]:
    if not isinstance(value, dict):
        return [f"{_kind(value)} where an object is needed, such as {_EXAMPLE}"]
    known = f"use {', '.join(FIELDS)}"
    problems = [
        f"{field!r} is no field of a row; {_hint(field, FIELDS, known)}"
        for field in value
        if field not in FIELDS
    ]
    problems += _find_text_problems(value)
    problems += _find_input_problems(value.get("inputs"), input_fields)
    problems += _find_reference_problems(value.get("reference", {}))
    tags = value.get("tags", [])
    if not isinstance(tags, list) or not all(isinstance(tag, str) for tag in tags):
        problems.append(f'tags is {_kind(tags)}; write a list of texts, as in ["short"]')
    return problems


def _find_text_problems(value: Mapping[str, object]) -> list[str]:
    problems = []
    if "id" not in value:
        problems.append(f"there is no id; give every row one, as in {_EXAMPLE}")
    for field in ("id", "group", "origin"):
        text = value.get(field, "-")
        if not isinstance(text, str) or not text.strip():
            problems.append(f'{field} is {_kind(text)}; write a text, as in {field}: "r1"')
    split = value.get("split", "train")
    if split not in SPLITS:
        known = f"use {', '.join(SPLITS)}, or leave it out to have one assigned"
        problems.append(f"split {split!r} is none; {_hint(str(split), SPLITS, known)}")
    return problems


def _find_input_problems(inputs: object, input_fields: Sequence[str] | None) -> list[str]:
    if not isinstance(inputs, dict) or not inputs:
        return [f"inputs is {_kind(inputs)}; write an object with the program's inputs by name"]
    problems = [
        f"inputs.{field} is {_kind(part)}; Redraft works on texts, numbers and lists of them"
        for field, value in inputs.items()
        for part in (value if isinstance(value, list) else [value])
        if not isinstance(part, str | int | float) or _is_encoded(part)
    ]
    if input_fields is None:
        return problems
    problems += [
        f"inputs has no {field!r}, which the program needs; add it"
        for field in input_fields
        if field not in inputs
    ]
    known = f"its inputs are {', '.join(input_fields)}"
    problems += [
        f"inputs.{field} is no input of the program; {_hint(field, input_fields, known)}"
        for field in inputs
        if field not in input_fields
    ]
    return problems


def _find_reference_problems(reference: object) -> list[str]:
    if not isinstance(reference, dict):
        return [f'reference is {_kind(reference)}; write an object, as in {{"draft": "..."}}']
    draft = reference.get("draft", "-")
    if not isinstance(draft, str) or not draft.strip():
        return [f"reference.draft is {_kind(draft)}; write the draft as a text, or leave it out"]
    return []


def _is_encoded(value: object) -> bool:
    return isinstance(value, str) and _ENCODED.match(value) is not None


def _kind(value: object) -> str:
    """Say what a value is, in the words of JSON."""
    if isinstance(value, str):
        if _is_encoded(value):
            return "an encoded file"
        return "an empty text" if not value.strip() else "a text"
    if isinstance(value, bool) or value is None:
        return "null" if value is None else str(value).lower()
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else "a list"
    return f"the number {value}" if isinstance(value, int | float) else f"a {type(value).__name__}"


def _hint(word: str, known: Sequence[str], otherwise: str) -> str:
    near = get_close_matches(word, known, n=1)
    return f"did you mean {near[0]!r}?" if near else otherwise
