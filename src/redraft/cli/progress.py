"""The progress bar: how far the work is, and what it has spent so far."""

from collections.abc import Iterator
from contextlib import contextmanager

from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
)

from redraft.cli.output import stderr_console
from redraft.records import Usage


class Bar:
    """One line on stderr that is written again and again; its methods may be called by any thread.

    Args:
        progress: Draws it.
        task: Its place there.
    """

    def __init__(self, progress: Progress, task: TaskID) -> None:
        self._progress = progress
        self._task = task

    def rows(self, done: int, total: int, usage: Usage) -> None:
        """Show rows done, rows in all, and spend so far."""
        self._progress.update(self._task, completed=done, total=total, spent=spent_so_far(usage))

    def stage(self, stage: str, done: int, total: int, usage: Usage) -> None:
        """Show the same under the name of a stage."""
        self._progress.update(self._task, description=stage)
        self.rows(done, total, usage)


@contextmanager
def progress_bar(label: str) -> Iterator[Bar]:
    """Show a bar on stderr while the block runs; nothing is shown when stderr is no terminal."""
    console = stderr_console()
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[spent]}"),
        TimeElapsedColumn(),
    )
    # stdout stays stdout: by default the bar would take it over.
    with Progress(
        *columns,
        console=console,
        disable=not console.is_terminal,
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
    ) as progress:
        yield Bar(progress, progress.add_task(label, total=None, spent=""))


def spent_so_far(usage: Usage) -> str:
    """Return what was spent in a few words; an unknown price is said, never shown as 0.

    >>> spent_so_far(Usage(calls=12, input_tokens=900, output_tokens=100, reread=4))
    '12 calls (4 of them recorded replies), 1,000 tokens, $0.00'
    """
    reread = f" ({usage.reread} of them recorded replies)" if usage.reread else ""
    tokens = usage.input_tokens + usage.output_tokens
    price = "price unknown" if usage.cost_usd is None else f"${usage.cost_usd:.2f}"
    calls = "1 call" if usage.calls == 1 else f"{usage.calls:,} calls"
    return f"{calls}{reread}, {tokens:,} tokens, {price}"
