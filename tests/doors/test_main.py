"""The group: help from the table, exit codes, and one clear message for every error."""

import subprocess
import sys
import time
from importlib import import_module
from importlib.metadata import version
from pathlib import Path

import pytest
from doors import Command

from redraft.cli.main import COMMANDS, load_command

CLI = Path(import_module("redraft.cli").__file__ or "").parent


def test_table_and_files_hold_the_same_commands() -> None:
    """Each command has one file with `command` and `EXAMPLE`, and the table has no other."""
    files = {path.stem for path in CLI.glob("*.py") if "def command(" in path.read_text("utf-8")}

    assert files == set(COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_help_has_a_sentence_and_an_example(name: str, redraft: Command) -> None:
    """Every command says what it does, and shows one call that the tests run."""
    shown = redraft(name, "--help")

    text = " ".join(shown.out.split())
    assert shown.code == 0
    assert COMMANDS[name] in text
    assert f"Example: redraft {name}" in text


@pytest.mark.parametrize("name", COMMANDS)
def test_every_flag_says_its_default(name: str) -> None:
    """A flag that is left out has a value, and the help names it."""
    silent = [
        parameter.name
        for parameter in load_command(name).params
        if not parameter.required
        and not getattr(parameter, "is_flag", False)
        and not getattr(parameter, "show_default", True)
    ]

    assert silent == []


def test_help_loads_no_library() -> None:
    """`redraft --help` answers from the table."""
    heavy = {"dspy", "anthropic", "optuna", "pandas", "scipy"}
    script = (
        "import sys\nfrom redraft.cli.main import main\n"
        "try:\n    main(['--help'])\n"
        f"finally:\n    print({heavy!r} & set(sys.modules), file=sys.stderr)"
    )

    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)

    assert done.returncode == 0
    assert done.stderr.strip() == "set()"


def test_help_is_quick() -> None:
    """`redraft --help` takes under 0.4 s; the best of five, for other work may be going on."""
    seconds = []
    for _ in range(5):
        started = time.perf_counter()
        subprocess.run(
            [sys.executable, "-c", "from redraft.cli.main import main; main(['--help'])"],
            capture_output=True,
            check=True,
        )
        seconds.append(time.perf_counter() - started)

    assert min(seconds) < 0.4


def test_version_is_that_of_the_package(redraft: Command) -> None:
    """`redraft --version` says what is installed, and the help names it."""
    assert redraft("--version").out == f"redraft {version('redraft')}\n"
    assert "--version" in redraft("--help").out


def test_no_command_shows_the_help(redraft: Command) -> None:
    """`redraft` alone lists the commands."""
    shown = redraft()

    assert all(name in shown.out + shown.err for name in COMMANDS)


def test_unknown_command_names_the_near_one(redraft: Command) -> None:
    """A typing error costs one line, not a search."""
    shown = redraft("artifcts")

    assert shown.code == 2
    assert "Did you mean 'artifacts'?" in shown.err


def test_no_project_is_a_wrong_call(
    redraft: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Outside a project the message says how to make one."""
    monkeypatch.chdir(tmp_path)

    shown = redraft("run", "order_note")

    assert shown.code == 2
    assert "redraft init" in shown.err
    assert "Traceback" not in shown.err


@pytest.mark.usefixtures("project")
def test_unexpected_error_is_one_line_and_a_hint(
    redraft: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A bug ends with exit code 1 and the way to see where it came from."""
    monkeypatch.setattr("redraft.cli.run.find_root", lambda: 1 / 0)

    shown = redraft("run", "order_note")

    assert shown.code == 1
    assert "unexpected ZeroDivisionError" in shown.err
    assert "REDRAFT_DEBUG=1" in shown.err
    assert "Traceback" not in shown.err


@pytest.mark.usefixtures("project")
def test_debug_shows_where_it_came_from(redraft: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """REDRAFT_DEBUG=1 adds the traceback."""
    monkeypatch.setattr("redraft.cli.run.find_root", lambda: 1 / 0)
    monkeypatch.setenv("REDRAFT_DEBUG", "1")

    shown = redraft("run", "order_note")

    assert shown.code == 1
    assert "Traceback" in shown.err


@pytest.mark.usefixtures("project")
def test_missing_extra_is_one_sentence_with_the_command(
    redraft: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without an optional part the message says how to install it."""
    monkeypatch.setitem(sys.modules, "scipy", None)
    monkeypatch.setattr("redraft.cli.run.find_root", lambda: import_module("scipy"))

    shown = redraft("run", "order_note")

    assert shown.code == 2
    assert "pip install 'redraft[tune]'" in shown.err


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("run", "Interrupted.\n"),
        (
            "evaluate",
            "Interrupted; replies that were recorded are kept, "
            "so the same command goes on from there.\n",
        ),
    ],
)
def test_interrupt_ends_with_130(
    redraft: Command, monkeypatch: pytest.MonkeyPatch, name: str, said: str
) -> None:
    """Ctrl-C is no error of the work, and what it leaves behind is said in one line."""

    def interrupted() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(f"redraft.cli.{name}.find_root", interrupted)

    shown = redraft(name, "order_note")

    assert shown.code == 130
    assert shown.err == said
