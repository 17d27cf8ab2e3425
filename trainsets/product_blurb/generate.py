"""Write rows.jsonl from the hand-written blurbs in material/.

Run `python trainsets/product_blurb/generate.py` from anywhere; the same material gives the same
bytes. What a request asks for is read off its blurb: the words marked in it, its number of
sentences, and a limit a little above its length. So every blurb is a right answer to its request.
"""

import hashlib
import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
Product = dict[str, Any]

THEMES = ("kitchen", "home", "outdoors", "desk", "care")

# By kind: how many of the marked words a request asks for.
ASKED = {
    "plain": (4, 5),
    "short": (3, 4),
    "one": (3,),
    "free": (3,),
    "without": (3, 4),
    "closing": (3,),
}
NUMBERS = {1: "one sentence", 2: "two sentences"}

FORMS = (
    "Describe {thing}{count}. Use these words: {words}.{extra} Under {limit} words.",
    "Describe {thing}{count}. Use these words: {words}.{extra} Under {limit} words.",
    "Describe {thing}{count}, using these words: {words}.{extra} At most {limit} words.",
    "Introduce {thing}{count}.{extra} No more than {limit} words. Use the words {words}.",
)


def rows() -> Iterator[dict[str, object]]:
    """Yield the rows in the order of the material, three or four for each product."""
    for theme in THEMES:
        material = tomllib.loads((HERE / "material" / f"{theme}.toml").read_text("utf-8"))
        for product in material["product"]:
            for kind in ASKED:
                if kind in product:
                    yield _row(theme, product, kind)


def _row(theme: str, product: Product, kind: str) -> dict[str, object]:
    marked = str(product[kind])
    draft = marked.replace("*", "")
    name = re.sub(r"^an? ", "", str(product["thing"])).replace(" ", "-")
    seed = _digest(name, kind)
    asked = _asked(name, kind, marked=marked, number=ASKED[kind][seed % len(ASKED[kind])])
    request = FORMS[seed // 7 % len(FORMS)].format(
        thing=product["thing"],
        count="" if kind == "free" else f" in {NUMBERS[len(re.findall(r'[.](?= |$)', draft))]}",
        words=", ".join(asked),
        limit=-(-(len(draft.split()) + 6 + seed // 11 % 5) // 5) * 5,
        extra=_extra(product, kind, draft),
    )
    return {
        "id": f"{name}-{kind}",
        "inputs": {"request": request},
        "reference": {"draft": draft},
        "tags": [kind],
        "group": name,
        "origin": f"material/{theme}.toml",
    }


def _asked(name: str, kind: str, *, marked: str, number: int) -> list[str]:
    """Return some of the marked words in the order of the text, small letters first."""
    found = list(re.finditer(r"(^|\. )?\*(.+?)\*", marked))
    chosen = sorted(found, key=lambda match: _digest(name, kind, match[2]))[:number]
    return [
        match[2] if match[1] is None else match[2][0].lower() + match[2][1:]
        for match in sorted(chosen, key=re.Match.start)
    ]


def _extra(product: Product, kind: str, draft: str) -> str:
    if kind == "without":
        return f" Do not use the words: {', '.join(product['unsaid'])}."
    if kind == "closing":
        return f' End with "{draft[draft.index(". ") + 2 :]}"'
    return ""


def _digest(*parts: str) -> int:
    return int.from_bytes(hashlib.sha256("/".join(parts).encode()).digest()[:8], "big")


def main() -> None:
    """Write the file."""
    lines = [json.dumps(row, ensure_ascii=False) + "\n" for row in rows()]
    (HERE / "rows.jsonl").write_text("".join(lines), "utf-8", newline="\n")
    print(f"rows.jsonl: {len(lines)} rows")


if __name__ == "__main__":
    main()
