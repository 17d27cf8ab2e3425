"""Write rows.jsonl from the hand-written incidents and notices in material/.

Run `python trainsets/tenant_notice/generate.py` from anywhere; the same material gives the same
bytes. Every incident becomes three rows with other dates, alternatives and kinds of request, and
each is answered by another notice.
"""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent

# By kind of row, how its request begins.
FORMS = {
    "told": (
        "Write a notice to tenants: {what} {is} out of service from {first} to {last} because "
        "{why}. They can use {alt} instead. "
    ),
    "facts": (
        "Tell tenants that {what} {is} out of service from {first} to {last}. Reason: {why}. "
        "Alternative: {alt}. "
    ),
    "bare": "Notice to tenants. Out of service: {what}. From {first} to {last}. Instead: {alt}. ",
}
NOTE = 'Also say: "{note}" '
ORDERS = (
    "Name both dates and the alternative. Under {limit} words, no sentence over {longest} words, "
    "one apology at most."
)
MONTHS = {
    "January": 31,
    "February": 28,
    "March": 31,
    "April": 30,
    "May": 31,
    "June": 30,
    "July": 31,
    "August": 31,
    "September": 30,
    "October": 31,
    "November": 30,
    "December": 31,
}
LONGEST = (25, 28)


@dataclass(frozen=True, slots=True)
class Incident:
    """One line of incidents.txt."""

    what: str
    plural: bool
    why: str
    alternatives: tuple[str, str]
    effect: str
    ask: str


def rows() -> Iterator[dict[str, object]]:
    """Yield three rows for each incident, in the order of the material."""
    notices = _lines("skeletons.txt")
    for number, line in enumerate(_lines("incidents.txt")):
        incident = _incident(line)
        for turn, kind in enumerate(FORMS):
            yield _row(incident, kind, turn=turn, notices=_chosen(notices, kind, number=number))


def _incident(line: str) -> Incident:
    what, why, one, other, effect, ask = line.split(" | ")
    plural = what.startswith("+ ")
    return Incident(what.removeprefix("+ "), plural, why, (one, other), effect, ask)


def _chosen(notices: list[str], kind: str, *, number: int) -> list[str]:
    """Return the notices that may answer a kind, turned so that each incident begins elsewhere."""
    able = [notice for notice in notices if kind != "bare" or "{why}" not in notice]
    start = number * 3 % len(able)
    return able[start:] + able[:start]


def _row(incident: Incident, kind: str, *, turn: int, notices: list[str]) -> dict[str, object]:
    name = "-".join(incident.what.lower().replace("the ", "").split())
    seed = _digest(name, kind)
    first, last = _dates(seed)
    said = {
        "what": incident.what,
        "is": "are" if incident.plural else "is",
        "first": first,
        "last": last,
        "alt": incident.alternatives[turn % 2],
        "why": incident.why,
        "effect": incident.effect,
        "ask": incident.ask,
    }
    draft = notices[turn].format(**said, What=_opened(said["what"]), Alt=_opened(said["alt"]))
    draft = ". ".join(_opened(part) for part in draft.split(". "))
    notes = " ".join(said[key] for key in ("effect", "ask") if f"{{{key}}}" in notices[turn])
    limit = -(-(len(draft.split()) + 4) // 5) * 5
    request = FORMS[kind].format(**said) + (NOTE.format(note=notes) if notes else "")
    orders = ORDERS.format(limit=limit, longest=LONGEST[seed % len(LONGEST)])
    return {
        "id": f"{name}-{kind}",
        "inputs": {"request": request + orders},
        "reference": {"draft": draft},
        "tags": [kind],
        "group": name,
        "origin": "material/incidents.txt, material/skeletons.txt",
    }


def _dates(seed: int) -> tuple[str, str]:
    """Return the first and the last day, 2 to 9 days apart and in one or two months."""
    months = list(MONTHS)
    month = months[seed % 12]
    day = seed // 12 % MONTHS[month] + 1
    end = day + 2 + seed // 997 % 8
    if end <= MONTHS[month]:
        return f"{day} {month}", f"{end} {month}"
    return f"{day} {month}", f"{end - MONTHS[month]} {months[(seed % 12 + 1) % 12]}"


def _opened(text: str) -> str:
    return text[:1].upper() + text[1:]


def _lines(name: str) -> list[str]:
    text = (HERE / "material" / name).read_text("utf-8")
    return [line for line in text.splitlines() if line and not line.startswith("#")]


def _digest(*parts: str) -> int:
    return int.from_bytes(hashlib.sha256("/".join(parts).encode()).digest()[:8], "big")


def main() -> None:
    """Write the file."""
    lines = [json.dumps(row, ensure_ascii=False) + "\n" for row in rows()]
    (HERE / "rows.jsonl").write_text("".join(lines), "utf-8", newline="\n")
    print(f"rows.jsonl: {len(lines)} rows")


if __name__ == "__main__":
    main()
