"""What there is to gain, as a person reads it."""

from redraft.cli.numbers import number
from redraft.cli.progress import spent_so_far
from redraft.compiler import Advice, Headroom

_WORDS: dict[Advice, str] = {
    "stop": "Stop here.",
    "compile": "Compile.",
    "loop": "Work on the loop: its checks first.",
    "get_labels": "Get more rows.",
    "write_by_hand": "Change the program by hand first.",
}


def headroom_text(found: Headroom) -> str:
    """Return advice, numbers and spend as a few lines."""
    caps = ", ".join(f"{cap}: {number(score)}" for cap, score in found.perfect_checker.items())
    lost = ", ".join(f"{cause} {number(points)}" for cause, points in found.lost.items())
    lines = [
        f"{found.program}: {_WORDS[found.advice]} {found.reason}",
        f"{found.rows} train rows, {found.draws} drafts each by {found.opponent}, the loop off",
        f"first draft: {number(found.mean)}",
        f"best of {found.draws} by the rubric: {number(found.best_of)}",
        f"drawing again with a checker that is always right, by cap: {caps}",
        f"lost by cause: {lost}",
        f"share of the loss without a usable draft: {number(found.format_share)}",
        f"share of the variance that is noise between drafts: {number(found.noise_share)}",
        f"smallest gain that {found.gate_rows} gate rows would show: "
        f"{number(found.smallest_detectable)}",
        spent_so_far(found.usage),
    ]
    return "\n".join(lines)
