"""The project's root, settings and names, and one value loaded from one file."""

import os
import sys
from pathlib import Path

import pytest

from redraft.errors import (
    ConfigError,
    MissingExtraError,
    ProgramError,
    ProjectError,
    RubricError,
)
from redraft.project import (
    check_name,
    code_fingerprint,
    find_root,
    list_names,
    load_attribute,
    read_config,
    source_fingerprint,
    source_path,
)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """An empty project."""
    (tmp_path / "pyproject.toml").write_text('[tool.redraft]\nlm = "scripted/replies.json"\n')
    (tmp_path / "programs").mkdir()
    (tmp_path / "metrics").mkdir()
    return tmp_path


def write(root: Path, file: str, text: str) -> Path:
    """Write one file of a project."""
    path = root / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    return path


def load(root: Path, name: str = "letter") -> Path:
    """Load PROGRAM; a path stands in for a program, since any type may be asked for."""
    return load_attribute(root, "programs", name=name, attribute="PROGRAM", kind=Path)


def failure(root: Path, text: str) -> str:
    """Return the message that loading a program file with this text ends in."""
    write(root, "programs/letter.py", text)
    with pytest.raises(ConfigError) as caught:
        load(root)
    return str(caught.value)


# Root


def test_finds_the_root_from_a_folder_below_it(root: Path) -> None:
    """Commands work from any folder of a project."""
    below = root / "trainsets" / "letter"
    below.mkdir(parents=True)

    assert find_root(below) == root


def test_passes_over_a_pyproject_without_the_table(root: Path) -> None:
    """A package inside a project does not end the search."""
    write(root, "inner/pyproject.toml", "[project]\nname = 'inner'\n")

    assert find_root(root / "inner") == root


def test_looks_in_the_working_directory_first(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without an argument the search starts where the user is."""
    monkeypatch.chdir(root)

    assert find_root() == root


def test_says_how_to_make_a_project(tmp_path: Path) -> None:
    """No project is an error that names both ways to make one."""
    write(tmp_path, "pyproject.toml", "[project]\nname = 'other'\n")

    with pytest.raises(ProjectError) as caught:
        find_root(tmp_path)

    assert f"{tmp_path}/pyproject.toml has none" in str(caught.value)
    assert "redraft init" in str(caught.value)
    assert "[tool.redraft]" in str(caught.value)


def test_start_must_be_a_folder(tmp_path: Path) -> None:
    """A root that is not there is named."""
    with pytest.raises(ProjectError, match="nowhere is not a folder"):
        find_root(tmp_path / "nowhere")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"[tool.redraft\n", r"pyproject.toml is not valid TOML: .*line 1"),
        (b'[tool.redraft]\nlm = "\xff"\n', "pyproject.toml: byte 21 is not UTF-8"),
        (b"[tool]\nredraft = 3\n", r"redraft must be a table, \[tool.redraft\]; got 3"),
    ],
)
def test_a_broken_pyproject_is_named(tmp_path: Path, content: bytes, message: str) -> None:
    """The file and the place are in the message."""
    (tmp_path / "pyproject.toml").write_bytes(content)

    with pytest.raises(ConfigError, match=message):
        find_root(tmp_path)


# Settings


def test_reads_settings(root: Path) -> None:
    """Models by key, and numbers with their defaults."""
    write(root, "pyproject.toml", '[tool.redraft]\nlm = "a/b"\nchecker_lm = "c/d"\n')

    config = read_config(root)

    assert config.models == {"lm": "a/b", "checker_lm": "c/d"}
    assert config.compile_calls == 1200


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("cheker_lm = 'a/b'", r"\[tool.redraft\] cheker_lm: .*did you mean 'checker_lm'\?"),
        ("colour = 'red'", "colour: there is no such setting; the settings are lm, "),
        ("lm = 3", "lm must be a model's name, .*got 3"),
        ("lm = ''", "lm must be a model's name, .*got ''"),
        ("compile_calls = 0", "compile_calls must be a whole number of 1 or more; got 0"),
        ("compile_calls = true", "compile_calls must be a whole number of 1 or more; got True"),
        ("compile_calls = '9'", "compile_calls must be a whole number of 1 or more; got '9'"),
    ],
)
def test_wrong_settings_are_errors(root: Path, line: str, message: str) -> None:
    """An unknown key and a wrong value both name file, key and remedy."""
    write(root, "pyproject.toml", f"[tool.redraft]\n{line}\n")

    with pytest.raises(ConfigError, match=message) as caught:
        read_config(root)

    assert str(root / "pyproject.toml") in str(caught.value)


# Names


@pytest.mark.parametrize("name", ["../x", "", "Letter", "a-b", "9a", "a/b", "_a", "a\n", "a.py"])
def test_only_a_plain_word_is_a_name(name: str) -> None:
    """A NAME never leads out of its folder."""
    with pytest.raises(ProjectError, match="is not a NAME"):
        check_name(name)


def test_a_plain_word_is_returned() -> None:
    """A good NAME passes."""
    assert check_name("product_blurb2") == "product_blurb2"


def test_a_missing_file_lists_the_names_that_exist(root: Path) -> None:
    """A typo is put right without looking into the folder."""
    write(root, "programs/letter.py", "")
    write(root, "programs/poem.py", "")

    with pytest.raises(ProjectError) as caught:
        source_path(root, "programs", "leter")

    assert "there is no programs/leter.py" in str(caught.value)
    assert "programs/ has letter, poem" in str(caught.value)
    assert "did you mean 'letter'?" in str(caught.value)


def test_a_missing_file_in_an_empty_folder(root: Path) -> None:
    """With nothing to list the message says so."""
    with pytest.raises(ProjectError, match="programs/ holds no files yet; write that file"):
        source_path(root, "programs", "letter")


def test_lists_only_files_with_a_proper_name(root: Path) -> None:
    """Helpers that begin with an underscore are no programs."""
    write(root, "programs/letter.py", "")
    write(root, "programs/__init__.py", "")

    assert list_names(root, "programs") == ("letter",)


# Fingerprints


def test_a_fingerprint_is_of_the_bytes(root: Path) -> None:
    """The same bytes under another name have the same fingerprint."""
    one = write(root, "a.txt", "text")
    other = write(root, "b.txt", "text")

    assert source_fingerprint(one) == source_fingerprint(other)
    assert source_fingerprint([one]) == source_fingerprint([other])


def test_a_fingerprint_of_files_knows_where_each_ends(root: Path) -> None:
    """Moving text from one file to the next changes it."""
    before = source_fingerprint([write(root, "a", "ab"), write(root, "b", "c")])
    after = source_fingerprint([write(root, "a", "a"), write(root, "b", "bc")])

    assert before != after


def test_a_fingerprint_of_a_missing_file_is_an_error(root: Path) -> None:
    """The file is named."""
    with pytest.raises(ProjectError, match=r"cannot read .*gone.txt: No such file"):
        source_fingerprint(root / "gone.txt")


@pytest.mark.parametrize(
    "helper", ["programs/helper.py", "programs/words/__init__.py", "metrics/shared.py"]
)
def test_code_fingerprint_changes_with_what_is_imported(root: Path, helper: str) -> None:
    """A helper of the project is part of the code, however it is imported."""
    code = "import programs.helper, words\nfrom metrics.shared import CHECK\n"
    for path in ("programs/helper.py", "programs/words/__init__.py", "metrics/shared.py"):
        write(root, path, "CHECK = 1\n")
    write(root, "programs/letter.py", code)
    before = code_fingerprint(root, "programs", "letter")

    write(root, helper, "CHECK = 2\n")

    assert code_fingerprint(root, "programs", "letter") != before


def test_code_without_helpers_has_the_fingerprint_of_its_file(root: Path) -> None:
    """What lies beside a program and is not imported does not count."""
    path = write(root, "programs/letter.py", "import json\n")
    write(root, "programs/helper.py", "CHECK = 1\n")

    assert code_fingerprint(root, "programs", "letter") == source_fingerprint(path)


# Loading


GOOD = "from pathlib import Path\nPROGRAM = Path('x')\n"


def test_loads_the_value(root: Path) -> None:
    """The attribute of the file is returned."""
    write(root, "programs/letter.py", GOOD)

    assert load(root) == Path("x")


def test_leaves_no_bare_name_behind(root: Path) -> None:
    """Neither the file nor what it imports from its project stays under a short name."""
    write(root, "programs/words/__init__.py", "WORD = 'x'")
    write(root, "programs/letter.py", f"from words import WORD\nimport programs.words\n{GOOD}")
    path = list(sys.path)

    load(root)

    assert not {"letter", "words", "programs", "programs.words"} & set(sys.modules)
    assert sys.path == path


def test_two_projects_have_helpers_of_the_same_name(tmp_path: Path) -> None:
    """Each program gets the helper beside it."""
    for project in ("a", "b"):
        write(tmp_path, f"{project}/programs/helper/__init__.py", f"WORD = '{project}'")
        code = "from pathlib import Path\nfrom programs.helper import WORD\nPROGRAM = Path(WORD)\n"
        write(tmp_path, f"{project}/programs/letter.py", code)

    loaded = [load(tmp_path / project) for project in ("a", "b", "a")]

    assert loaded == [Path("a"), Path("b"), Path("a")]


def test_a_module_imported_by_the_caller_stays(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A user's own test that has imported the folder is not disturbed."""
    write(root, "programs/letter.py", GOOD)
    monkeypatch.setitem(sys.modules, "programs", sys)

    load(root)

    assert sys.modules["programs"] is sys


def test_a_program_named_like_a_library_does_not_hide_it(root: Path) -> None:
    """`import json` in a program's file is Python's own, whatever lies beside it."""
    write(root, "programs/colorsys.py", "raise ValueError")
    sys.modules.pop("colorsys", None)
    write(root, "programs/letter.py", f"import colorsys\ncolorsys.rgb_to_hsv(0, 0, 0)\n{GOOD}")

    assert load(root) == Path("x")


def test_an_edited_file_is_read_again(root: Path) -> None:
    """Even an edit of the same length within one clock tick shows."""
    path = write(root, "programs/letter.py", GOOD)
    times = path.stat()
    load(root)

    write(root, "programs/letter.py", GOOD.replace("'x'", "'y'"))
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))

    assert load(root) == Path("y")


def test_types_of_the_file_can_be_looked_up(root: Path) -> None:
    """Dataclasses with postponed annotations need their module while it runs."""
    code = (
        "from __future__ import annotations\n"
        "from dataclasses import dataclass\nfrom pathlib import Path\n"
        "@dataclass\nclass Fact:\n    day: str\n"
        "PROGRAM = Path(Fact('x').day)\n"
    )
    write(root, "programs/letter.py", code)

    assert load(root) == Path("x")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = (\n", "programs/letter.py:1: '(' was never closed; correct the Python there"),
        ("\n\n1 / 0\n", "programs/letter.py:3: ZeroDivisionError: division by zero; correct it"),
        ("import sys\nsys.exit(3)\n", "programs/letter.py:2: SystemExit: 3; correct it there"),
        ("\nimport nonesuch\n", "programs/letter.py:2: ModuleNotFoundError: No module named 'non"),
        ("", "programs/letter.py defines no PROGRAM; add a line 'PROGRAM = Path(...)'"),
        ("PROGRAM = 3\n", "programs/letter.py:1: PROGRAM is of type int; it must be a Path"),
        (f"{GOOD}\nPROGRAM = Path('y')\n", "programs/letter.py:4: PROGRAM is assigned on lines 2"),
        (f"{GOOD}OTHER: Path = Path('y')\n", "several of type Path: PROGRAM (line 2), OTHER (line"),
        ("from pathlib import Path\nLETTER = Path('x')\n", "no PROGRAM; rename LETTER to PROGRAM"),
    ],
)
def test_a_file_that_does_not_load_names_the_line(root: Path, text: str, message: str) -> None:
    """File, line, the user's own message, and what to do."""
    assert message in failure(root, text)


def test_an_error_in_a_helper_names_the_helper(root: Path) -> None:
    """The place to correct is where the exception was raised."""
    write(root, "programs/helper.py", "\nraise KeyError('dates')\n")

    assert "programs/helper.py:2: KeyError: 'dates'" in failure(root, "import programs.helper")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"x = '\xff'\n", r"^programs/letter.py.*utf-8.*; correct the Python there"),
        (b"x = 1\x00\n", r"^programs/letter.py.*null bytes; correct the Python there"),
    ],
)
def test_a_file_that_is_no_text_is_named(root: Path, content: bytes, message: str) -> None:
    """Bytes that are no Python source end in an error, not a traceback."""
    (root / "programs" / "letter.py").write_bytes(content)

    with pytest.raises(ProjectError, match=message):
        load(root)


def test_our_own_errors_keep_their_type(root: Path) -> None:
    """What the engine says about a value gets the file and line where it was made."""
    text = "from redraft.errors import ProgramError\nraise ProgramError('no output field')\n"
    write(root, "programs/letter.py", text)

    with pytest.raises(ProgramError, match=r"^programs/letter.py:2: no output field$"):
        load(root)


def test_a_wrong_setting_in_a_file_names_the_line(root: Path) -> None:
    """A loop that cannot be is reported where it is written."""
    text = "from redraft.records import Loop\n\nLoop(max_revisions=-1)\n"

    assert "programs/letter.py:3: max_revisions must be 0 or more, got -1" in failure(root, text)


def test_a_missing_extra_is_passed_on(root: Path) -> None:
    """Its one sentence with the pip command needs no more."""
    text = "from redraft.errors import MissingExtraError\nraise MissingExtraError('x', 'tune')\n"
    write(root, "programs/letter.py", text)

    with pytest.raises(MissingExtraError, match=r"pip install 'redraft\[tune\]'"):
        load(root)


def test_a_rubric_file_has_rubric_errors(root: Path) -> None:
    """The type of the error says which file is meant."""
    write(root, "metrics/letter.py", "RUBRIC = 3\n")

    with pytest.raises(RubricError, match=r"metrics/letter.py:1: RUBRIC is of type int"):
        load_attribute(root, "metrics", name="letter", attribute="RUBRIC", kind=Path)
