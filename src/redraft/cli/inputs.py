"""Inputs of one answer, as they are written on the command line."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from redraft.errors import InputError

Inputs = Annotated[
    list[str] | None,
    typer.Option(
        "--input",
        metavar="FIELD=VALUE",
        show_default="none",
        help="One input; repeat it for more. FIELD=@FILE reads a file, - reads JSON from stdin.",
    ),
]


def read_inputs(given: Sequence[str] | None) -> dict[str, object]:
    """Return the inputs by field name.

    Args:
        given: Each `FIELD=VALUE`, `FIELD=@FILE`, or `-` for a JSON object on stdin.

    Raises:
        InputError: One of them has another form, a field is given twice, or a file is not text.
    """
    inputs: dict[str, object] = {}
    for text in given or ():
        pairs = _read_stdin() if text == "-" else _read_pair(text)
        twice = sorted(inputs.keys() & pairs.keys())
        if twice:
            raise InputError(f"the field {twice[0]!r} is given twice; keep one --input for it")
        inputs |= pairs
    return inputs


def _read_pair(text: str) -> dict[str, object]:
    field, separator, value = text.partition("=")
    if not separator or not field.isidentifier():
        raise InputError(
            f"cannot read --input {text!r}; write FIELD=VALUE, FIELD=@FILE, "
            "or - for a JSON object on stdin"
        )
    return {field: _read_file(field, value[1:]) if value.startswith("@") else value}


def _read_file(field: str, path: str) -> str:
    try:
        return Path(path).read_text("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not text in UTF-8, so it cannot be {field!r}") from error
    except OSError as error:
        raise InputError(f"cannot read {path} for {field!r}: {error.strerror}") from error


def _read_stdin() -> dict[str, object]:
    try:
        value = json.load(sys.stdin)
    except ValueError as error:
        raise InputError(f"--input - got no JSON on stdin: {error}") from error
    if not isinstance(value, dict):
        raise InputError(
            f'--input - needs a JSON object such as {{"request": "..."}}, '
            f"got {type(value).__name__}"
        )
    return value
