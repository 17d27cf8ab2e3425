"""A trainset's folder: rows, card, splits, digests, and every way in which they can be wrong."""

import json
import random
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest

from redraft.errors import ProjectError, TrainsetError
from redraft.records import Row, Split
from redraft.trainset import load_trainset, make_trainset

CARD = 'title = "Letters"\nlicence = "CC0-1.0"\norigin = "written by hand"\n'
WORDS = ("amber", "birch", "cedar", "dune", "ember", "fjord", "grove", "heath", "islet", "knoll")


def letter(number: int, **more: object) -> dict[str, object]:
    """Return the object of one good row; no two are near each other."""
    chosen = random.Random(number).choices(WORDS, k=12)
    return {"id": f"r{number}", "inputs": {"request": " ".join(chosen)}, **more}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A project with a card and no rows."""
    folder = tmp_path / "trainsets" / "letter"
    folder.mkdir(parents=True)
    (folder / "card.toml").write_text(CARD)
    return tmp_path


def write(root: Path, *lines: object, name: str = "rows.jsonl") -> Path:
    """Write rows; an object is written as JSON, bytes as they are."""
    path = root / "trainsets" / "letter" / name
    texts = [line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines]
    path.write_bytes(b"\n".join(texts) + b"\n")
    return path


def problems(root: Path, *, input_fields: tuple[str, ...] | None = None) -> tuple[str, ...]:
    """Return what loading complains about."""
    with pytest.raises(TrainsetError) as caught:
        load_trainset(root, "letter", input_fields=input_fields)
    return caught.value.problems


# Good rows


def test_reads_every_field(root: Path) -> None:
    """What a line says is what the row says."""
    full = {
        "id": "a",
        "inputs": {"request": "x", "limit": 3, "words": ["a", "b"]},
        "reference": {"draft": "y"},
        "tags": ["short"],
        "group": "g",
        "split": "val",
        "origin": "by hand",
    }
    write(root, b"", full)

    (row,) = load_trainset(root, "letter").rows

    assert row == Row(
        id="a",
        inputs={"request": "x", "limit": 3, "words": ["a", "b"]},
        reference={"draft": "y"},
        tags=("short",),
        group="g",
        split="val",
        origin="by hand",
        line=2,
        file="rows.jsonl",
    )


def test_a_row_is_its_own_group_by_default(root: Path) -> None:
    """Rows without a group are on their own."""
    write(root, letter(1))

    assert load_trainset(root, "letter").rows[0].group == "r1"


def test_the_card_is_kept(root: Path) -> None:
    """Further keys are welcome."""
    write(root, letter(1))

    assert load_trainset(root, "letter").card["licence"] == "CC0-1.0"


def test_a_text_may_hold_any_line_separator(root: Path) -> None:
    """Only a line feed ends a row, and a byte-order mark does not spoil the first one."""
    row = {"id": "a", "inputs": {"request": "one\u2028two"}}
    write(root, b"\xef\xbb\xbf" + json.dumps(row, ensure_ascii=False).encode() + b"\r")

    assert load_trainset(root, "letter").rows[0].inputs == {"request": "one\u2028two"}


# Problems


def test_all_problems_are_reported_at_once(root: Path) -> None:
    """Each with file and line, so that one pass of editing is enough."""
    write(root, b"{", {"id": "a"}, letter(3), letter(3))

    found = problems(root)

    assert [problem.partition(": ")[0] for problem in found] == [
        "trainsets/letter/rows.jsonl:1",
        "trainsets/letter/rows.jsonl:2",
        "trainsets/letter/rows.jsonl:4",
    ]


def test_invalid_json_names_line_and_column(root: Path) -> None:
    """The line is counted as an editor counts it."""
    write(root, *[letter(n) for n in range(16)], b'{"id": "r16" "inputs": {}}')

    assert problems(root) == (
        "trainsets/letter/rows.jsonl:17: not valid JSON at column 14: Expecting ',' delimiter; "
        "write one object on each line",
    )


def test_a_repeated_id_names_both_lines(root: Path) -> None:
    """Either one may be the one to change."""
    write(root, letter(1), letter(2), letter(1))

    assert problems(root) == (
        "trainsets/letter/rows.jsonl:3: id 'r1' stands on line 1 already; "
        "give every row an id of its own",
    )


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (b'{"id": "\xff"}', "byte 9 of the line (0xff) is not UTF-8; save the file as UTF-8"),
        (b'{"id": NaN}', "not valid JSON: NaN is not a JSON number; write one object"),
        (b"[" * 100_000, "not valid JSON: maximum recursion depth"),
        (rb'{"id": "\ud800"}', r"half a character (\ud800 to \udfff); write the whole one"),
        (["a"], 'a list where an object is needed, such as {"id": "r1"'),
        ({"inputs": {"request": "x"}}, "there is no id; give every row one"),
        (letter(1) | {"id": 7}, 'id is the number 7; write a text, as in id: "r1"'),
        (letter(1) | {"id": " "}, "id is an empty text; write a text"),
        (letter(1, group=None), "group is null; write a text"),
        (letter(1, origin=True), "origin is true; write a text"),
        (letter(1, tag=["x"]), "'tag' is no field of a row; did you mean 'tags'?"),
        (letter(1, colour="x"), "'colour' is no field of a row; use id, inputs, reference,"),
        (letter(1, tags="x"), 'tags is a text; write a list of texts, as in ["short"]'),
        (letter(1, tags=[1]), "tags is a list; write a list of texts"),
        (letter(1, split="tain"), "split 'tain' is none; did you mean 'train'?"),
        (letter(1, split="dev"), "split 'dev' is none; use train, val, gate, test, or leave it"),
        (letter(1, split=["x"]), "split ['x'] is none"),
        ({"id": "a"}, "inputs is null; write an object with the program's inputs by name"),
        ({"id": "a", "inputs": {}}, "inputs is an object; write an object"),
        (letter(1) | {"inputs": "x"}, "inputs is a text; write an object"),
        (letter(1, reference="x"), 'reference is a text; write an object, as in {"draft"'),
        (letter(1, reference={"draft": ""}), "reference.draft is an empty text; write the draft"),
        (letter(1, reference={"draft": 4.5}), "reference.draft is the number 4.5; write the"),
    ],
)
def test_a_bad_row_says_field_and_remedy(root: Path, line: object, problem: str) -> None:
    """One sentence: what stands there, then what to write."""
    write(root, line)

    assert problems(root)[0].startswith(f"trainsets/letter/rows.jsonl:1: {problem}")


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ({"url": "x"}, "an object"),
        (None, "null"),
        ([["x"]], "a list"),
        ("data:image/png;base64,AAAA", "an encoded file"),
        (["data:image/png;base64,AAAA"], "an encoded file"),
    ],
)
def test_an_image_is_no_input(root: Path, value: object, kind: str) -> None:
    """Whatever form it comes in."""
    write(root, {"id": "a", "inputs": {"photo": value}})

    assert problems(root) == (
        f"trainsets/letter/rows.jsonl:1: inputs.photo is {kind}; "
        "Redraft works on texts, numbers and lists of them",
    )


def test_inputs_must_be_the_programs(root: Path) -> None:
    """A missing and an unknown field are both named."""
    write(root, {"id": "a", "inputs": {"requst": "x"}})

    assert problems(root, input_fields=("request",)) == (
        "trainsets/letter/rows.jsonl:1: inputs has no 'request', which the program needs; add it",
        "trainsets/letter/rows.jsonl:1: inputs.requst is no input of the program; "
        "did you mean 'request'?",
    )


def test_an_unknown_input_lists_the_known_ones(root: Path) -> None:
    """Where no name is near."""
    write(root, {"id": "a", "inputs": {"request": "x", "zzz": "y"}})

    found = problems(root, input_fields=("request",))

    assert found[0].endswith("inputs.zzz is no input of the program; its inputs are request")


def test_rows_of_one_group_must_name_one_split(root: Path) -> None:
    """The row, and the other one of its group."""
    write(root, letter(1, group="g", split="val"), letter(2, group="g", split="test"))

    assert problems(root) == (
        "trainsets/letter/rows.jsonl:2: split 'test', but row 'r1' (line 1) puts group 'g' "
        "in 'val'; give all rows of a group the same split",
    )


def test_a_long_list_of_problems_is_cut(root: Path) -> None:
    """A file in another format does not fill the screen."""
    write(root, *[b"{"] * 100)

    found = problems(root)

    assert len(found) == 41
    assert found[-1] == "and 60 more"


# Files


def test_a_missing_trainset_lists_those_that_exist(root: Path) -> None:
    """A typo is put right without looking into the folder."""
    write(root, letter(1))

    with pytest.raises(TrainsetError, match=r"write trainsets/leter/rows.jsonl .*mean 'letter'\?"):
        load_trainset(root, "leter")
    with pytest.raises(TrainsetError, match="the trainsets are: letter"):
        load_trainset(root, "poem")


def test_a_project_without_rows_says_where_to_put_them(root: Path) -> None:
    """With nothing to list the message ends there."""
    with pytest.raises(TrainsetError, match=r"rows.jsonl \(or .csv, .parquet\)$"):
        load_trainset(root, "letter")


def test_a_name_cannot_leave_the_folder(root: Path) -> None:
    """`../x` is refused before anything is read."""
    with pytest.raises(ProjectError, match="is not a NAME"):
        load_trainset(root, "../letter")


def test_only_one_rows_file_is_allowed(root: Path) -> None:
    """Which one counts would be a guess."""
    write(root, letter(1))
    write(root, b"id", name="rows.csv")

    with pytest.raises(TrainsetError, match=r"has rows.jsonl and rows.csv; keep one of them"):
        load_trainset(root, "letter")


@pytest.mark.parametrize("content", [b"", b"\n  \n"])
def test_an_empty_file_is_an_error(root: Path, content: bytes) -> None:
    """The message shows what a row looks like."""
    (root / "trainsets/letter/rows.jsonl").write_bytes(content)

    with pytest.raises(TrainsetError, match=r"rows.jsonl is empty; write one row on each line: {"):
        load_trainset(root, "letter")


def test_rows_that_cannot_be_read_are_named(root: Path) -> None:
    """A folder in place of the file."""
    (root / "trainsets/letter/rows.jsonl").mkdir()

    with pytest.raises(TrainsetError, match=r"cannot read .*rows.jsonl: Is a directory"):
        load_trainset(root, "letter")


# Card


def test_a_missing_card_is_a_warning(root: Path) -> None:
    """The first rows of a new program work without one."""
    write(root, letter(1))
    (root / "trainsets/letter/card.toml").unlink()

    warning, *_ = load_trainset(root, "letter").warnings

    assert warning.startswith("there is no trainsets/letter/card.toml; say what the rows are:")


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (
            b'title = "x"\norigin = "y"\n',
            'card.toml: licence must be a text; write licence = "..."',
        ),
        (CARD.replace('"Letters"', "3").encode(), "card.toml: title must be a text"),
        (b"title\n", "card.toml: not valid TOML: Expected '='"),
        (b'title = "\xff"', "card.toml: byte 9 is not UTF-8; save the file as UTF-8"),
    ],
)
def test_a_wrong_card_is_a_problem(root: Path, content: bytes, problem: str) -> None:
    """Reported together with the rows'."""
    write(root, letter(1))
    (root / "trainsets/letter/card.toml").write_bytes(content)

    assert problems(root)[0].startswith(f"trainsets/letter/{problem}")


def test_a_card_that_is_a_folder_is_a_problem(root: Path) -> None:
    """Not a traceback."""
    write(root, letter(1))
    (root / "trainsets/letter/card.toml").unlink()
    (root / "trainsets/letter/card.toml").mkdir()

    assert "card.toml: cannot be read: Is a directory" in problems(root)[0]


# Tables


def test_csv_says_the_same_as_json_lines(root: Path) -> None:
    """Nested fields have columns of their own; the line is that of the file."""
    write(root, letter(1, reference={"draft": 'a "b",\nc'}, tags=["x", "y"]), letter(2))
    expected = load_trainset(root, "letter")
    (root / "trainsets/letter/rows.jsonl").unlink()
    texts = [row.inputs["request"] for row in expected.rows]
    write(
        root,
        b"id,inputs.request,reference.draft,tags,split",
        f'r1,{texts[0]},"a ""b"",\nc",x; y,'.encode(),
        b"",
        f"r2,{texts[1]},,,".encode(),
        name="rows.csv",
    )

    loaded = load_trainset(root, "letter")

    assert loaded.digest == expected.digest
    assert [row.line for row in loaded.rows] == [2, 5]


def test_csv_may_hold_objects_as_json(root: Path) -> None:
    """References that are more than a draft fit into one cell; other text there is a problem."""
    write(root, b"id,inputs,reference", b'a,"{""request"": ""x""}",nothing', name="rows.csv")

    assert problems(root)[0].startswith(
        "trainsets/letter/rows.csv:2: reference is a text; write an object"
    )


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        ([b"id,inputs.request", b"a,x,y"], "2: 3 cells under 2 columns; quote texts that hold a"),
        ([b"id,inputs.request", b'a,"x'], "2: not valid CSV: unexpected end of data; quote"),
        ([b"id,inputs.request", b"a,\xff"], "2: byte 0xff is not UTF-8; save the file as UTF-8"),
        ([b"id,inputs.request,inputs", b'a,x,"7"'], "2: inputs is the number 7; write an object"),
        ([b"id,inputs,inputs.request", b"a,7,x"], "2: inputs is the number 7; write an object"),
    ],
)
def test_a_bad_csv_names_the_line(root: Path, lines: list[bytes], problem: str) -> None:
    """With what to do about it."""
    write(root, *lines, name="rows.csv")

    assert problems(root)[0].startswith(f"trainsets/letter/rows.csv:{problem}")


def test_parquet_says_the_same_as_json_lines(root: Path) -> None:
    """Nested columns are read as they are."""
    rows = [letter(1, tags=["x"], reference={"draft": "y"}), letter(2, tags=[], reference=None)]
    write(root, rows[0], letter(2))
    expected = load_trainset(root, "letter")
    (root / "trainsets/letter/rows.jsonl").unlink()
    path = root / "trainsets/letter/rows.parquet"
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), path)

    assert load_trainset(root, "letter").digest == expected.digest


def test_a_bad_parquet_file_is_an_error(root: Path) -> None:
    """Not a traceback of the library."""
    write(root, b"PAR1", name="rows.parquet")

    with pytest.raises(TrainsetError, match=r"rows.parquet is not a Parquet file that can be read"):
        load_trainset(root, "letter")


# Splits


def rows(n: int, **more: object) -> list[Row]:
    """Return rows made in memory."""
    return [Row(f"r{i}", letter(i)["inputs"], **more) for i in range(n)]  # type: ignore[arg-type]


def test_gate_has_rows_of_its_own_from_200_rows() -> None:
    """Below that, `gate` reads the rows of `test`, and says so."""
    small, large = make_trainset(rows(199)), make_trainset(rows(200))

    assert small.gate_is_test
    assert small.split("gate") == small.split("test")
    assert small.split_digest("gate") == small.split_digest("test")
    assert "gate" not in small.sizes()
    assert not large.gate_is_test
    assert {row.id for row in large.split("gate")}.isdisjoint(r.id for r in large.split("test"))


def test_an_empty_split_is_an_error() -> None:
    """It names the split, the sizes of all, and how to put rows there."""
    trainset = make_trainset(rows(3, split="train"), name="letter")

    with pytest.raises(TrainsetError) as caught:
        trainset.split("val")

    assert str(caught.value) == (
        "trainset 'letter' has no rows in 'val' (3 in train, 0 in val, 0 in test); add rows to "
        'trainsets/letter/, or put some there with "split": "val"'
    )


def test_an_empty_split_is_a_warning_before_it_is_needed(root: Path) -> None:
    """`validate` says so, before a compile or a comparison stops at it."""
    write(root, letter(1))

    (warning,) = load_trainset(root, "letter").warnings

    assert warning.startswith("there are no rows in ")
    assert "compare reads test" in warning


def test_repeated_ids_in_memory_are_an_error() -> None:
    """Results are paired by id."""
    with pytest.raises(TrainsetError, match="two rows have the id 'r0'"):
        make_trainset(rows(2) + rows(1))


# Digests


def test_the_digest_is_of_what_rows_say() -> None:
    """Neither order, lines, split nor the order of keys and tags matters."""
    one = Row("a", {"x": "1", "y": "2"}, tags=("s", "t"), line=1)
    same = Row("a", {"y": "2", "x": "1"}, tags=("t", "s"), line=9, split="test", group="a")
    other = Row("b", {"x": "3", "y": "4"})

    assert make_trainset([one, other]).digest == make_trainset([other, same]).digest


@pytest.mark.parametrize(
    "changed",
    [
        Row("a2", {"x": "1"}),
        Row("a", {"x": "2"}),
        Row("a", {"x": "1"}, reference={"draft": "d"}),
        Row("a", {"x": "1"}, tags=("t",)),
        Row("a", {"x": "1"}, group="g"),
    ],
)
def test_the_digest_changes_with_the_rows(changed: Row) -> None:
    """Every part that a score or a demo may depend on counts."""
    assert make_trainset([Row("a", {"x": "1"})]).digest != make_trainset([changed]).digest


def test_a_splits_digest_is_of_its_rows_alone() -> None:
    """A change in another split leaves it as it was."""
    splits: list[Split] = ["train", "val", "gate", "test"]
    before = [Row(f"r{i}", {"x": str(i)}, split=splits[i % 4]) for i in range(8)]
    after = [Row("new", {"x": "new"}, split="train"), *before[1:]]

    one, other = make_trainset(before), make_trainset(after)

    assert one.split_digest("gate") == other.split_digest("gate")
    assert one.split_digest("train") != other.split_digest("train")
    assert one.digest != other.digest


def test_rows_in_memory_must_be_json() -> None:
    """Otherwise they have no digest."""
    with pytest.raises(TrainsetError, match=r"row 'a' cannot be written as JSON: .*object"):
        make_trainset([Row("a", {"x": object()})])
