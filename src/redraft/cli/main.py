"""The `redraft` command: a table of sentences; a command's file is imported when it is called."""

import importlib
import logging
import os
import sys
import traceback
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from importlib.metadata import version
from types import MappingProxyType
from typing import Annotated, NoReturn, Protocol

import typer
from typer.core import TyperCommand, TyperGroup

from redraft.errors import RedraftError, missing_extra

COMMANDS: Mapping[str, str] = MappingProxyType(
    {
        "init": "Make a new project with one small program in it.",
        "validate": "Check a program, its rubric and its rows, and print its rule table.",
        "prompt": "Print exactly what would be sent to the models, without a model.",
        "compile": "Tune a program's prompts on its rows and write an artifact.",
        "evaluate": "Score a program on one split of its rows.",
        "compare": "Measure what compiling bought, what looping bought, and what slips through.",
        "run": "Answer one request: draft, check, and try again until it passes or a cap ends it.",
        "traces": "List, show, compare, export, judge again or prune stored answers.",
        "artifacts": "List, show, compare, promote or edit what compiles have written.",
        "models": "List the models that can be named, or fetch the embedded one.",
        "demo": "Compile, answer and compare the sample program on the embedded model.",
    }
)

# These record replies as they come, so that the same command pays for none of them again.
_RECORDING = frozenset({"compile", "evaluate", "compare", "demo"})


class _Formatter(Protocol):
    """The part of a help formatter that the table of commands needs."""

    def section(self, name: str) -> AbstractContextManager[None]: ...

    def write_dl(self, rows: Sequence[tuple[str, str]]) -> None: ...


class _Context(Protocol):
    """The part of a call's context that is needed after an interrupt."""

    invoked_subcommand: str | None


class LazyGroup(TyperGroup):
    """A group that shows help from `COMMANDS` and imports a command only when it is called."""

    def list_commands(self, ctx: object) -> list[str]:  # noqa: ARG002  (the base class passes it)
        """Return the commands in the order of the table."""
        return list(COMMANDS)

    def get_command(self, ctx: object, cmd_name: str) -> TyperCommand | None:  # noqa: ARG002
        """Import one command's file; None for a name that is not in the table."""
        return load_command(cmd_name) if cmd_name in COMMANDS else None

    def invoke(self, ctx: _Context) -> object:
        """Run the command; say what an interrupt leaves behind, and end with 130."""
        try:
            return super().invoke(ctx)  # type: ignore[arg-type]  # typer's own class is private
        except KeyboardInterrupt:
            kept = "; replies that were recorded are kept, so the same command goes on from there"
            print(
                f"Interrupted{kept if ctx.invoked_subcommand in _RECORDING else ''}.",
                file=sys.stderr,
            )
            raise typer.Exit(130) from None

    def format_commands(self, ctx: object, formatter: _Formatter) -> None:  # noqa: ARG002
        """Write the table without importing anything."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


def load_command(name: str) -> TyperCommand:
    """Import `cli/NAME.py` and make its `command` a command with the table's sentence."""
    module = importlib.import_module(f"redraft.cli.{name}")
    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    app.command(name, help=COMMANDS[name], epilog=f"Example: {module.EXAMPLE}")(module.command)
    command = typer.main.get_command(app)
    assert isinstance(command, TyperCommand)
    return command


def _print_version(asked: bool) -> None:
    if asked:
        print(f"redraft {version('redraft')}")
        raise typer.Exit


def _group() -> TyperGroup:
    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    app.callback(
        cls=LazyGroup,
        help="Compile write-and-check prompts, answer with a capped loop, measure both.",
        epilog="Every command has its own --help with defaults and an example.",
        no_args_is_help=True,
    )(_options)
    group = typer.main.get_command(app)
    assert isinstance(group, LazyGroup)
    # A typing error is compared with these names.
    group.commands.update(dict.fromkeys(COMMANDS, TyperCommand(None)))
    return group


def _options(
    *,
    _version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    """Take what stands before the command."""


def main(args: Sequence[str] | None = None) -> NoReturn:
    """Run one command and exit.

    Args:
        args: Words after `redraft`; those of the process by default.

    Raises:
        SystemExit: Always. 0 done; 1 the work failed; 2 the call was wrong; 3 finished with a
            negative outcome; 130 interrupted.
    """
    # DSPy warns once for every truncated reply; here that is an outcome, reported as one.
    logging.getLogger("dspy.clients.lm").setLevel(logging.ERROR)
    try:
        _group().main(args=args, prog_name="redraft")
    except Exception as error:  # noqa: BLE001  (nothing may leave as a traceback unasked)
        sys.exit(_report(error))
    sys.exit(0)


def _report(error: Exception) -> int:
    """Print one clear message for an error and return the exit code."""
    if os.environ.get("REDRAFT_DEBUG"):
        traceback.print_exception(error)
    if isinstance(error, ModuleNotFoundError):
        error = missing_extra(error, "this command") or error
    if isinstance(error, RedraftError):
        print(f"Error: {error}", file=sys.stderr)
        return error.exit_code
    print(
        f"Error: unexpected {type(error).__name__}: {error}\n"
        "Set REDRAFT_DEBUG=1 to see where it came from.",
        file=sys.stderr,
    )
    return 1
