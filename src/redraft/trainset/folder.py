"""Load one folder of `trainsets/`: rows with their splits, the card, and what to be warned of."""

import hashlib
import json
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from pathlib import Path

from redraft.errors import TrainsetError
from redraft.project import check_name
from redraft.records import SPLITS, Row, Split
from redraft.trainset.lines import FORMATS, read_lines
from redraft.trainset.neighbours import find_neighbours
from redraft.trainset.rows import parse_rows
from redraft.trainset.splits import assign_splits, find_group_conflicts, group_of, shares_gate

CARD_KEYS = ("title", "licence", "origin")
PROBLEMS_SHOWN = 40

_CARD_EXAMPLE = 'title = "..."  licence = "..."  origin = "who wrote the rows, or which script"'


@dataclass(frozen=True, slots=True)
class Trainset:
    """Rows in their splits, and what is known about them.

    Attributes:
        name: The NAME it was loaded by; may be empty for rows made in memory.
        rows: In the order of the file, each with its split.
        digest: SHA-256 (hex) of what the rows say; neither formatting nor order matters.
        gate_is_test: Whether `gate` and `test` are the same rows, so that a report on `test`
            reads them again.
        card: What `card.toml` says; empty where there is none.
        warnings: One sentence each.
    """

    name: str
    rows: tuple[Row, ...]
    digest: str
    gate_is_test: bool
    card: Mapping[str, object] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()

    def split(self, name: Split) -> tuple[Row, ...]:
        """Return the rows of one split, in the order of the file.

        Raises:
            TrainsetError: It has none.
        """
        stored = self._stored(name)
        rows = tuple(row for row in self.rows if row.split == stored)
        if rows:
            return rows
        sizes = ", ".join(f"{count} in {split}" for split, count in self.sizes().items())
        raise TrainsetError(
            f"trainset {self.name!r} has no rows in {name!r} ({sizes}); add rows to "
            f'trainsets/{self.name}/, or put some there with "split": "{stored}"'
        )

    def split_digest(self, name: Split) -> str:
        """Return the SHA-256 (hex) of what the rows of one split say, as `digest` does for all."""
        stored = self._stored(name)
        return _digest(row for row in self.rows if row.split == stored)

    def sizes(self) -> dict[Split, int]:
        """Return the number of rows by split; `gate` is left out where it is `test`."""
        counts = Counter(row.split for row in self.rows)
        return {s: counts[s] for s in SPLITS if not (s == "gate" and self.gate_is_test)}

    def _stored(self, name: Split) -> Split:
        return "test" if name == "gate" and self.gate_is_test else name


def make_trainset(rows: Sequence[Row], *, name: str = "", seed: int = 0) -> Trainset:
    """Assign splits to rows and look for near-duplicates across them.

    Args:
        rows: Rows with ids of their own.
        name: What to call them in messages.
        seed: Of the assignment. The seed of a compile is another one: if it moved the splits,
            every seed would look at fresh `gate` rows.

    Raises:
        TrainsetError: Two rows have one id, rows of one group name different splits, or inputs
            or reference hold something that JSON cannot.
    """
    repeated = sorted(id_ for id_, n in Counter(row.id for row in rows).items() if n > 1)
    if repeated:
        raise TrainsetError(f"two rows have the id {repeated[0]!r}; give every row one of its own")
    assigned = assign_splits(rows, seed=seed)
    return Trainset(
        name=name,
        rows=assigned,
        digest=_digest(rows),
        gate_is_test=shares_gate(rows),
        warnings=_warn_of_neighbours(assigned),
    )


def load_trainset(
    root: Path, name: str, *, seed: int = 0, input_fields: Sequence[str] | None = None
) -> Trainset:
    """Read `trainsets/NAME/`: `rows.jsonl` (or `.csv`, `.parquet`) and `card.toml`.

    Args:
        root: The project.
        name: The folder.
        seed: As in `make_trainset`.
        input_fields: The program's inputs, which every row must have and no others; None to
            leave that open.

    Raises:
        ProjectError: The name is none.
        TrainsetError: The folder, a row or the card is wrong; all problems are listed, each with
            file, line and remedy.
    """
    path = _rows_path(root, name)
    shown = path.relative_to(root).as_posix()
    lines = read_lines(path)
    if not lines:
        raise TrainsetError(
            f'{shown} is empty; write one row on each line: {{"id": "r1", "inputs": {{...}}}}'
        )
    rows, problems = parse_rows(lines, input_fields=input_fields)
    conflicts = [f"{row.line}: {problem}" for row, problem in find_group_conflicts(rows)]
    found = [f"{shown}:{problem}" for problem in (*problems, *conflicts)]
    card, card_problems, warnings = _read_card(path.parent / "card.toml", root)
    _raise_problems(shown, [*found, *card_problems])
    placed = [replace(row, file=path.name) for row in rows]
    made = make_trainset(placed, name=name, seed=seed)
    return Trainset(
        name=name,
        rows=made.rows,
        digest=made.digest,
        gate_is_test=made.gate_is_test,
        card=card,
        warnings=(*warnings, *_warn_of_empty_splits(made), *made.warnings),
    )


def _rows_path(root: Path, name: str) -> Path:
    folder = root / "trainsets" / check_name(name)
    found = [path for suffix in FORMATS if (path := folder / f"rows{suffix}").exists()]
    if len(found) == 1:
        return found[0]
    if found:
        names = " and ".join(path.name for path in found)
        raise TrainsetError(f"trainsets/{name}/ has {names}; keep one of them")
    existing = sorted(path.parent.name for path in root.glob("trainsets/*/rows.*"))
    near = get_close_matches(name, existing, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"the trainsets are: {', '.join(existing)}"
    raise TrainsetError(
        f"there are no rows in {folder}; write trainsets/{name}/rows.jsonl (or .csv, .parquet)"
        + (f"; {hint}" if existing else "")
    )


def _read_card(path: Path, root: Path) -> tuple[Mapping[str, object], list[str], tuple[str, ...]]:
    """Return the card, what is wrong with it, and warnings."""
    shown = path.relative_to(root).as_posix()
    if not path.exists():
        missing = f"there is no {shown}; say what the rows are: {_CARD_EXAMPLE}"
        return {}, [], (missing,)
    try:
        card = tomllib.loads(path.read_bytes().decode("utf-8"))
    except OSError as error:
        return {}, [f"{shown}: cannot be read: {error.strerror}; check that it is a file"], ()
    except UnicodeDecodeError as error:
        return {}, [f"{shown}: byte {error.start} is not UTF-8; save the file as UTF-8"], ()
    except tomllib.TOMLDecodeError as error:
        return {}, [f"{shown}: not valid TOML: {error}; correct it there"], ()
    problems = [
        f'{shown}: {key} must be a text; write {key} = "..."'
        for key in CARD_KEYS
        if not isinstance(text := card.get(key), str) or not text.strip()
    ]
    return card, problems, ()


def _raise_problems(shown: str, problems: Sequence[str]) -> None:
    if not problems:
        return
    count = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
    listed = list(problems[:PROBLEMS_SHOWN])
    if len(problems) > PROBLEMS_SHOWN:
        listed.append(f"and {len(problems) - PROBLEMS_SHOWN} more")
    raise TrainsetError(f"{shown} cannot be used: {count}", listed)


def _digest(rows: Iterable[Row]) -> str:
    """Return the SHA-256 (hex) of rows; the split that a row was given is not part of it."""
    total = hashlib.sha256()
    for row in sorted(rows, key=lambda row: row.id):
        said = [row.id, row.inputs, row.reference, sorted(row.tags), group_of(row)]
        try:
            text = json.dumps(said, sort_keys=True, separators=(",", ":"), allow_nan=False)
        except (TypeError, ValueError) as error:
            raise TrainsetError(
                f"row {row.id!r} cannot be written as JSON: {error}; "
                "use texts, numbers, lists and objects only"
            ) from error
        total.update(text.encode() + b"\n")
    return total.hexdigest()


def _warn_of_empty_splits(trainset: Trainset) -> tuple[str, ...]:
    empty = [split for split, count in trainset.sizes().items() if not count]
    if not empty:
        return ()
    return (
        f"there are no rows in {' and '.join(map(repr, empty))}, so commands that read them stop: "
        "compile reads train, val and gate, compare reads test; add rows, or name fewer splits in "
        "the rows themselves",
    )


def _warn_of_neighbours(rows: Sequence[Row]) -> tuple[str, ...]:
    pairs = find_neighbours(rows)
    if not pairs:
        return ()
    row, other = pairs[0]
    count = "1 row is" if len(pairs) == 1 else f"{len(pairs)} rows are"
    return (
        f"{count} nearly the same as a row in another split, such as {_place(row)} and "
        f"{_place(other)}; give such rows one group, else a split is no fresh test of another",
    )


def _place(row: Row) -> str:
    line = f"line {row.line}, " if row.line is not None else ""
    return f"{row.id!r} ({line}{row.split})"
