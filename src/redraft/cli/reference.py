"""The help of every command as one page: `python -m redraft.cli.reference > docs/cli.md`."""

import typer

from redraft.cli.main import COMMANDS, load_command

_INTRODUCTION = """\
# Command line

Generated from the help of the commands:
`.venv/bin/python -m redraft.cli.reference > docs/cli.md` writes it again.

Answers go to stdout, progress and remarks to stderr; `--json` prints the record itself.

| Exit code | Meaning |
| --- | --- |
| 0 | done |
| 1 | the work failed: a model did not answer; for `run`: there is no draft |
| 2 | the call was wrong: an argument, a file, a setting |
| 3 | finished, with a negative outcome: the draft did not pass, the gain was not confirmed |
| 130 | interrupted |
"""


def reference() -> str:
    """Return the page in Markdown."""
    return "\n".join((_INTRODUCTION, *(_section(name) for name in COMMANDS)))


def _section(name: str) -> str:
    command = load_command(name)
    context = typer.Context(command, info_name=f"redraft {name}", terminal_width=100)
    return f"## {name}\n\n```\n{command.get_help(context)}\n```\n"


if __name__ == "__main__":
    print(reference(), end="")
