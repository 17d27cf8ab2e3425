"""Where text goes: answers to stdout, everything else to stderr."""

import json
import shutil
import sys
from collections.abc import Mapping

from rich.console import Console

from redraft.report.sections import WIDTH


def print_record(record: Mapping[str, object]) -> None:
    """Print a record as JSON on stdout."""
    print(json.dumps(record, ensure_ascii=False, indent=2))


def print_note(text: str) -> None:
    """Print a line about the work on stderr."""
    print(text, file=sys.stderr)


def text_width() -> int:
    """Return where sentences on stdout are wrapped: at 100 columns, or at a narrower terminal."""
    if not sys.stdout.isatty():
        return WIDTH
    return min(WIDTH, shutil.get_terminal_size().columns)


def stdout_console() -> Console:
    """Return a console for stdout; it drops colours when stdout is no terminal."""
    return Console(highlight=False, soft_wrap=True)


def stderr_console() -> Console:
    """Return a console for stderr; it drops colours when stderr is no terminal."""
    return Console(stderr=True, highlight=False, soft_wrap=True)
