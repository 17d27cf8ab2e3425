"""Titled paragraphs and tables, as plain text for a terminal or as Markdown."""

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

DASH = "-"
WIDTH = 100


@dataclass(frozen=True, slots=True)
class Section:
    """One part of a report.

    Attributes:
        title: Its heading.
        table: Lines of cells, the heading first; empty for no table.
        items: Sentences under the table, one a line.
    """

    title: str
    table: tuple[tuple[str, ...], ...] = ()
    items: tuple[str, ...] = ()


def plain_text(sections: Sequence[Section], *, width: int = WIDTH) -> str:
    """Return sections for a terminal, their sentences wrapped at `width` columns, 1 or more."""
    return "\n\n".join("\n".join(_plain_lines(section, width)) for section in sections)


def markdown(sections: Sequence[Section], *, level: int = 2) -> str:
    """Return sections as Markdown, their headings at `level`, 1 to 6."""
    return "\n\n".join("\n\n".join(_blocks(section, level)) for section in sections) + "\n"


def number(value: float | None) -> str:
    """Return a score or a share with two decimals; what was not measured is a dash."""
    return DASH if value is None else f"{value:.2f}"


def signed(value: float) -> str:
    """Return a difference with its sign; one too small for two decimals gets four."""
    if abs(value) < 0.00005:
        return "0.00"
    return f"{value:+.2f}" if abs(value) >= 0.005 else f"{value:+.4f}"


def percent(share: float) -> str:
    """Return a share in [0, 1] as a percentage."""
    return f"{100 * share:.0f} %"


def _plain_lines(section: Section, width: int) -> list[str]:
    lines = [section.title, *_aligned(section.table)]
    for item in section.items:
        lines += textwrap.wrap(
            item, width, initial_indent="  ", subsequent_indent="    ", break_on_hyphens=False
        )
    return lines


def _aligned(table: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    return [
        "  " + "  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip()
        for row in table
    ]


def _blocks(section: Section, level: int) -> list[str]:
    blocks = [f"{'#' * level} {section.title}"]
    if section.table:
        heading, *rows = section.table
        lines = [heading, tuple("---" for _ in heading), *rows]
        blocks.append("\n".join(f"| {' | '.join(_escaped(c) for c in line)} |" for line in lines))
    if section.items:
        blocks.append("\n".join(f"- {item}" for item in section.items))
    return blocks


def _escaped(cell: str) -> str:
    return cell.replace("|", "\\|")
