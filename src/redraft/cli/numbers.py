"""Numbers as people read them; what was not measured is a dash, never a 0."""

from collections.abc import Sequence

DASH = "-"


def number(value: float | None) -> str:
    """Return a score or a share with two decimals.

    >>> number(0.5), number(None)
    ('0.50', '-')
    """
    return DASH if value is None else f"{value:.2f}"


def signed(value: float | None) -> str:
    """Return a difference with its sign.

    >>> signed(0.25)
    '+0.25'
    """
    return DASH if value is None else f"{value:+.2f}"


def interval(low: float | None, high: float | None, *, sign: bool = False) -> str:
    """Return a 95 % interval in brackets; `no claim` where there are too few rows for one.

    >>> interval(0.5, 0.75), interval(None, None)
    ('[0.50, 0.75]', 'no claim')
    """
    if low is None or high is None:
        return "no claim"
    show = signed if sign else number
    return f"[{show(low)}, {show(high)}]"


def table(rows: Sequence[Sequence[str]]) -> str:
    """Return rows as lines with aligned columns; the first row is the header.

    >>> print(table([("cell", "mean"), ("base", "0.50")]))
    cell  mean
    base  0.50
    """
    widths = [max(len(row[n]) for row in rows) for n in range(len(rows[0]))]
    lines = (
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        for row in rows
    )
    return "\n".join(line.rstrip() for line in lines)
