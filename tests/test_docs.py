"""README and docs are true: examples run, the command page is current, links lead somewhere."""

import json
import re
import shlex
from pathlib import Path

import pytest

from redraft.cli.main import COMMANDS, load_command, main
from redraft.cli.reference import reference

ROOT = Path(__file__).parents[1]
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), ROOT / "CONTRIBUTING.md")

FILE_BLOCK = re.compile(r"^`([\w./]+)`\n\n```\w+\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!https?:)([^)#]+)\)")

# Writes a headline that names the place; without demos it forgets to.
HEADLINES = """
import re

from redraft.lm.wire import last_user_text


def reply(request):
    place = re.search(r" in ([A-Z][a-z]+)", last_user_text(request))
    if len(request.messages) == 1 or place is None:
        return "News"
    return f"News from {place[1]}"
"""


def redraft(words: str) -> int:
    """Run one command line as it stands in a page, and return its exit code."""
    with pytest.raises(SystemExit) as ended:
        main(shlex.split(words, comments=True)[1:])
    return int(ended.value.code or 0)


@pytest.fixture
def headline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the README's project, with more rows of its kind and a scripted model; go there."""
    for name, text in FILE_BLOCK.findall((ROOT / "README.md").read_text("utf-8")):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    rows = tmp_path / "trainsets" / "headline" / "rows.jsonl"
    first = [json.loads(line) for line in rows.read_text("utf-8").splitlines()]
    rows.write_text("\n".join(json.dumps(row) for row in (*first, *more_rows())), "utf-8")
    (tmp_path / "model.py").write_text(HEADLINES, "utf-8")
    settings = tmp_path / "pyproject.toml"
    text = settings.read_text("utf-8").replace("local/smollm2-135m", "scripted/model.py")
    settings.write_text(text, "utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def more_rows() -> list[dict[str, object]]:
    """Return rows like those in the README, each about something else in another place."""
    things = ("mill", "school", "harbour", "library", "cinema", "market", "station", "museum")
    acts = ("opened after years of work", "closed without a word", "was painted green at last")
    found: list[dict[str, object]] = []
    for number in range(96):
        thing, act = things[number % 8], acts[number % 3]
        place = f"{chr(65 + number % 24)}{'aeiou'[number % 5]}lten{'xyz'[number // 32]}"
        article = f"On day {number} the {thing} in {place} {act}, {number * 7} people say."
        reference = {"place": place, "draft": f"The {thing} in {place} {act}"}
        found.append({"id": f"m{number}", "inputs": {"article": article}, "reference": reference})
    return found


def headline_commands() -> list[str]:
    """Return the README's commands on the program that it shows."""
    text = (ROOT / "README.md").read_text("utf-8")
    return re.findall(r"^redraft \w+ headline\b.*$", text, re.MULTILINE)


@pytest.mark.usefixtures("headline")
def test_readme_commands_run_in_their_order() -> None:
    """Whoever follows the README gets through; 3 is a finished command with a negative outcome."""
    codes = {line: redraft(line) for line in headline_commands()}

    assert len(codes) == 5
    assert {line: code for line, code in codes.items() if code not in (0, 3)} == {}


@pytest.mark.usefixtures("headline")
def test_readme_program_compiles() -> None:
    """On a model that demos help, the README's program gains."""
    assert redraft("redraft compile headline") == 0


@pytest.mark.usefixtures("headline")
def test_readme_python_runs(capsys: pytest.CaptureFixture[str]) -> None:
    """The Python lines print a draft and how it ended."""
    text = (ROOT / "README.md").read_text("utf-8")
    blocks = re.findall(r"^```python\n(import redraft\n.*?)^```$", text, re.MULTILINE | re.DOTALL)

    for block in blocks:
        exec(compile(block, "README.md", "exec"), {})

    assert len(blocks) == 1
    assert "News" in capsys.readouterr().out


def test_command_page_is_current() -> None:
    """Written again by `python -m redraft.cli.reference > docs/cli.md`."""
    assert (ROOT / "docs" / "cli.md").read_text("utf-8") == reference()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_to_files(page: Path) -> None:
    """No page points at something that is not there."""
    links = LINK.findall(page.read_text("utf-8"))

    assert [link for link in links if not (page.parent / link).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_flags_in_pages_exist(page: Path) -> None:
    """Every command in a page has the flags that the page gives it."""
    lines = re.findall(r"redraft (\w+ [^`\n]*)", page.read_text("utf-8"))

    unknown = []
    for name, *words in (line.split() for line in lines):
        if name not in COMMANDS:
            continue
        known = {flag for parameter in load_command(name).params for flag in parameter.opts}
        flags = [re.sub(r"[^\w-].*", "", word) for word in words if word.startswith("--")]
        unknown += [f"{name} {flag}" for flag in flags if flag not in {*known, "--help"}]

    assert unknown == []
