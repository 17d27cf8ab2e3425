"""Write rows.jsonl from the hand-written notices in material/.

Run `python trainsets/tenant_notice/generate.py` from anywhere; the same material gives the same
bytes. What a request asks for is read off its notice: what is out, both dates, the alternative and
what else is to be mentioned are marked in it, and a limit is a little above its length. So every
notice is a right answer to its request.
"""

import datetime
import hashlib
import json
import re
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path

HERE = Path(__file__).resolve().parent

THEMES = ("blocks", "students", "offices", "homes", "water", "trade", "land")
KINDS = ("closure", "works", "detail", "short")

FORMS = (
    "Write a notice to the tenants of {building}: {what} will be out of service {when}. They can "
    "use {alternative} instead.{note}{limit}",
    "Tell everyone at {building} that {what} will be closed {when}. Alternative: {alternative}."
    "{note}{limit}",
    "Notice for {building}. Out of service: {what}. When: {when}. Instead: {alternative}."
    "{note}{limit}",
    "We need a notice at {building}.{limit} {What} cannot be used {when}. Offer {alternative} "
    "instead.{note}",
    "{building}: {what} will not be available {when}. Please use {alternative} meanwhile.{note} "
    "Make it a notice to tenants.{limit}",
    "Draft a notice to residents. What: {what}. Dates: {when}. Use instead: {alternative}."
    "{note}{limit}",
    "For the board at {building}, please.{note} {What} will be out of use {when}, so people should "
    "use {alternative}.{limit}",
)
WORKS = (
    "At {building}, work on {what} starts on {first} and ends on {last}. Until then, use "
    "{alternative}. Write the notice.{note}{limit}"
)
NOTES = (" Also mention: {}.", " Mention this too: {}.", " Please add: {}.")
LIMITS = (" Under {} words.", " At most {} words.", " No more than {} words.", "")

MARKS = {"what": r"\*(.+?)\*", "alternative": r"\[(.+?)\]", "note": r"<(.+?)>"}
DATES = re.compile(r"\{(.+?)\}")
MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
# The notices name no year; this one sets the weekdays of the requests.
YEAR = 2027


def rows() -> Iterator[dict[str, object]]:
    """Yield the rows in the order of the material, three for each building."""
    for theme in THEMES:
        material = tomllib.loads((HERE / "material" / f"{theme}.toml").read_text("utf-8"))
        for building in material["building"]:
            for kind in KINDS:
                if kind in building:
                    yield _row(theme, building=building["name"], kind=kind, marked=building[kind])


def _row(theme: str, *, building: str, kind: str, marked: str) -> dict[str, object]:
    draft = re.sub(r"[*{}\[\]<>]", "", marked)
    name = "-".join(re.findall(r"\w+", building.replace("'", "").casefold()))
    seed = _digest(name, kind)
    form = WORKS if kind == "works" and seed % 2 else FORMS[seed // 2 % len(FORMS)]
    first, last = DATES.findall(marked)
    what, note = _marked("what", marked), _marked("note", marked)
    limit = -(-(len(draft.split()) + 3 + seed // 11 % 4) // 5) * 5
    request = form.format(
        building=building,
        what=what,
        What=what[:1].upper() + what[1:],
        when=_when(first, last, turn=seed // 17),
        first=first,
        last=last,
        alternative=_marked("alternative", marked),
        note=NOTES[seed // 19 % len(NOTES)].format(note) if note else "",
        limit=LIMITS[seed // 23 % len(LIMITS)].format(limit),
    )
    return {
        "id": f"{name}-{kind}",
        "inputs": {"request": request},
        "reference": {"draft": draft},
        "tags": [kind],
        "group": name,
        "origin": f"material/{theme}.toml",
    }


def _marked(mark: str, text: str) -> str:
    """Return what is marked, with a small letter where it begins a sentence; empty for nothing."""
    match = re.search(MARKS[mark], text)
    if match is None:
        return ""
    opens = text[: match.start()].rstrip()[-1:] in ("", ".", "!", "?", ":")
    return match[1][0].lower() + match[1][1:] if opens else match[1]


def _when(first: str, last: str, *, turn: int) -> str:
    """Return both dates as one of several people would write them, in the notice's own order."""
    days = [_date(first, YEAR)]
    days.append(_date(last, YEAR + (_date(last, YEAR) < days[0])))
    us = first[0].isalpha()
    short = _in_one_month(days, us=us) if days[0].month == days[1].month else None
    told = (
        f"from {first} to {last}",
        f"from {first} until {last}",
        f"between {first} and {last}",
        f"from {short}" if short else f"{first} to {last}",
        f"from {days[0]:%A} {first} to {days[1]:%A} {last}",
        f"from {first} to {last}{',' if us else ''} {days[1].year}",
    )
    return told[turn % len(told)]


def _in_one_month(days: Sequence[datetime.date], *, us: bool) -> str:
    month = MONTHS[days[0].month - 1]
    both = f"{days[0].day} to {days[1].day}"
    return f"{month} {both}" if us else f"{both} {month}"


def _date(text: str, year: int) -> datetime.date:
    day, month = sorted(text.split(), key=str.isalpha)
    return datetime.date(year, MONTHS.index(month) + 1, int(day))


def _digest(*parts: str) -> int:
    return int.from_bytes(hashlib.sha256("/".join(parts).encode()).digest()[:8], "big")


def main() -> None:
    """Write the file."""
    lines = [json.dumps(row, ensure_ascii=False) + "\n" for row in rows()]
    (HERE / "rows.jsonl").write_text("".join(lines), "utf-8", newline="\n")
    print(f"rows.jsonl: {len(lines)} rows")


if __name__ == "__main__":
    main()
