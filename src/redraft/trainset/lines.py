"""Read the objects of a rows file, whatever its format; a line that cannot be read is a problem."""

import csv
import io
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pyarrow
import pyarrow.parquet

from redraft.errors import TrainsetError

FORMATS = (".jsonl", ".csv", ".parquet")
NESTED = ("inputs", "reference")


@dataclass(frozen=True, slots=True)
class Line:
    """One object of a rows file, not yet checked.

    Attributes:
        number: Line of a text file, record of a Parquet file; from 1.
        value: What stands there; None where there is a problem.
        problem: Why it cannot be read, with the column where there is one; empty if it can.
    """

    number: int
    value: object = None
    problem: str = ""


def read_lines(path: Path) -> tuple[Line, ...]:
    """Return the objects of `rows.jsonl`, `rows.csv` or `rows.parquet`, in order.

    Raises:
        TrainsetError: The file as a whole cannot be read.
    """
    readers = {".jsonl": _json_lines, ".csv": _csv_lines, ".parquet": _parquet_lines}
    try:
        return tuple(readers[path.suffix](path))
    except OSError as error:
        reason = error.strerror or str(error)
        raise TrainsetError(f"cannot read {path}: {reason}; check that it is a file") from error


def _json_lines(path: Path) -> Iterator[Line]:
    # Split by bytes: `str.splitlines` would also end a line at U+2028 inside a text.
    for number, line in enumerate(path.read_bytes().split(b"\n"), start=1):
        if line.strip():
            yield _json_line(number, line)


def _json_line(number: int, line: bytes) -> Line:
    try:
        text = line.decode("utf-8-sig" if number == 1 else "utf-8")
        value = json.loads(text, parse_constant=_refuse_constant)
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    except UnicodeDecodeError as error:
        found = f"byte {error.start + 1} of the line (0x{line[error.start]:02x}) is not UTF-8"
        return Line(number, problem=f"{found}; save the file as UTF-8")
    except UnicodeEncodeError:
        return Line(number, problem=r"half a character (\ud800 to \udfff); write the whole one")
    except json.JSONDecodeError as error:
        found = f"not valid JSON at column {error.colno}: {error.msg}"
        return Line(number, problem=f"{found}; write one object on each line")
    except (ValueError, RecursionError) as error:
        return Line(number, problem=f"not valid JSON: {error}; write one object on each line")
    return Line(number, value)


def _refuse_constant(word: str) -> object:
    raise ValueError(f"{word} is not a JSON number")


def _csv_lines(path: Path) -> Iterator[Line]:
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        number = error.object[: error.start].count(b"\n") + 1
        found = f"byte 0x{error.object[error.start]:02x} is not UTF-8"
        yield Line(number, problem=f"{found}; save the file as UTF-8")
        return
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    number = 1
    try:
        header = next(reader, [])
        number = reader.line_num + 1
        for cells in reader:
            if cells:
                yield _csv_line(number, header, cells)
            number = reader.line_num + 1
    except csv.Error as error:
        yield Line(number, problem=f'not valid CSV: {error}; quote texts with ""')


def _csv_line(number: int, header: list[str], cells: list[str]) -> Line:
    if len(cells) != len(header):
        found = f"{len(cells)} cells under {len(header)} columns"
        return Line(number, problem=f"{found}; quote texts that hold a comma or a line break")
    return Line(number, _nested(dict(zip(header, cells, strict=True))))


def _parquet_lines(path: Path) -> Iterator[Line]:
    try:
        records = pyarrow.parquet.read_table(path).to_pylist()
    except pyarrow.ArrowException as error:
        raise TrainsetError(f"{path} is not a Parquet file that can be read: {error}") from error
    for number, record in enumerate(records, start=1):
        yield Line(number, _nested(record))


def _nested(cells: Mapping[str, object]) -> dict[str, object]:
    """Make a row's object of the cells of a table.

    Columns are named as in `rows.jsonl`, with `inputs.FIELD` and `reference.FIELD` for what is
    nested there; one column `inputs` or `reference` may hold all of it as JSON. `tags` are parted
    by `;`. An empty cell is an absent value, but an empty text in `inputs.FIELD`.
    """
    row: dict[str, object] = {}
    for column, cell in cells.items():
        outer, dot, inner = column.partition(".")
        if cell is None or (cell == "" and outer != "inputs"):
            continue
        if dot and outer in NESTED:
            part = row.setdefault(outer, {})
            if isinstance(part, dict):
                part[inner] = cell
        elif isinstance(cell, str) and column in NESTED:
            row[column] = _json_cell(cell)
        elif isinstance(cell, str) and column == "tags":
            row[column] = [tag.strip() for tag in cell.split(";") if tag.strip()]
        else:
            row[column] = cell
    return row


def _json_cell(cell: str) -> object:
    try:
        return json.loads(cell, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        return cell
