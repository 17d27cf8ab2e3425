"""The progress bar: how far the work is, and what it has spent so far."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from redraft.cli.output import stderr_console
from redraft.records import Usage

Advance = Callable[[int, int, Usage], None]


@contextmanager
def progress_bar(label: str) -> Iterator[Advance]:
    """Show a bar on stderr while the block runs; nothing is shown when stderr is no terminal.

    Yields:
        `advance(done, total, usage)`, to be called from any thread whenever a step is done.
    """
    console = stderr_console()
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[spent]}"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console, disable=not console.is_terminal) as bar:
        task = bar.add_task(label, total=None, spent="")

        def advance(done: int, total: int, usage: Usage) -> None:
            bar.update(task, completed=done, total=total, spent=spent_so_far(usage))

        yield advance


def spent_so_far(usage: Usage) -> str:
    """Return what was spent in a few words; an unknown price is said, never shown as 0.

    >>> spent_so_far(Usage(calls=12, input_tokens=900, output_tokens=100, reread=4))
    '12 calls (4 recorded), 1,000 tokens, $0.00'
    """
    reread = f" ({usage.reread} recorded)" if usage.reread else ""
    tokens = usage.input_tokens + usage.output_tokens
    price = "price unknown" if usage.cost_usd is None else f"${usage.cost_usd:.2f}"
    return f"{usage.calls} calls{reread}, {tokens:,} tokens, {price}"
