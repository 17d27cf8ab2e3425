"""Caps, estimates and questions of the commands that spend, over the stand-in for Claude."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from doors import REQUEST, Command

from redraft.cli.spending import Estimated, Plan
from redraft.estimate import RoleEstimate, Span, answer_work
from redraft.lm import Model, Models
from redraft.program import Program
from redraft.records import Criterion, Row
from redraft.testing import Scripted
from redraft.testing.messages_api import MessagesApi

PAID = "anthropic/claude-haiku-4-5"
NOVEL = "anthropic/claude-novel-9"
NOTE = "Your note: A-0000."
SPENDING = {
    "evaluate": ("evaluate", "order_note", "--rows", "3"),
    "compile": ("compile", "order_note"),
    "demo": ("demo", "order_note"),
}

pytestmark = pytest.mark.usefixtures("project")


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> Iterator[MessagesApi]:
    """Return the stand-in, to which the environment points."""
    with MessagesApi(NOTE) as api:
        for name, value in api.environment.items():
            monkeypatch.setenv(name, value)
        yield api


@pytest.fixture(autouse=True)
def nobody(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Let nobody be there to be asked, and keep files of the demo here."""
    monkeypatch.setattr("sys.stdin.isatty", lambda: False)
    monkeypatch.setenv("REDRAFT_CACHE", str(tmp_path / "cache"))


def messages(api: MessagesApi) -> int:
    """Return how many messages were asked for, which alone cost money."""
    return sum(request.path == "/v1/messages" for request in api.requests)


@pytest.mark.parametrize("name", SPENDING)
def test_without_a_cap_the_flags_are_named(redraft: Command, api: MessagesApi, name: str) -> None:
    """The estimate is shown, and nothing is spent."""
    shown = redraft(*SPENDING[name], "--lm", PAID)

    assert shown.code == 2
    for flag in ("--max-cost-usd", "--max-tokens", "--max-calls"):
        assert flag in shown.err
    assert "Dollars: about $" in shown.err
    assert messages(api) == 0


@pytest.mark.parametrize("name", SPENDING)
def test_a_dry_run_says_calls_tokens_and_dollars(
    redraft: Command, api: MessagesApi, name: str
) -> None:
    """At best, as expected and at worst, for each role apart; counting is free."""
    shown = redraft(*SPENDING[name], "--lm", PAID, "--dry-run", "--json")

    record = json.loads(shown.out)
    for amount in ("calls", "tokens", "cost_usd"):
        cases = record[amount]
        assert 0 < cases["best"] <= cases["expected"] <= cases["worst"]
    assert record["roles"]["drafter"]["prompts_counted"]
    assert sum(r["cost_usd"]["worst"] for r in record["roles"].values()) == pytest.approx(
        record["cost_usd"]["worst"]
    )
    assert messages(api) == 0


def test_a_dry_run_needs_no_key(
    redraft: Command, api: MessagesApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It says then that tokens are estimated, and asks nobody."""
    monkeypatch.delenv("ANTHROPIC_API_KEY")

    shown = redraft(*SPENDING["evaluate"], "--lm", PAID, "--dry-run")

    assert shown.code == 0, shown.err
    assert "four bytes a token" in shown.out
    assert "Dollars: about $" in shown.out
    assert api.requests == ()


def test_a_dry_run_is_not_stopped_by_an_outage(
    redraft: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the provider cannot count, the approximation serves."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-none")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")

    shown = redraft(*SPENDING["evaluate"], "--lm", PAID, "--dry-run")

    assert shown.code == 0, shown.err
    assert "four bytes a token" in shown.out


@pytest.mark.parametrize("name", SPENDING)
def test_a_cap_in_dollars_needs_a_price(redraft: Command, api: MessagesApi, name: str) -> None:
    """Refused before any call is made, dry runs included."""
    shown = redraft(*SPENDING[name], "--lm", NOVEL, "--max-cost-usd", "1")

    assert shown.code == 2
    assert "costs is not known" in shown.err
    assert messages(api) == 0


def test_an_unknown_price_stays_unknown(redraft: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """In words, and as null."""
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    words = (*SPENDING["evaluate"], "--lm", NOVEL, "--dry-run")

    assert "What they cost is not known." in redraft(*words).out
    assert json.loads(redraft(*words, "--json").out)["cost_usd"] is None


@pytest.mark.parametrize("name", SPENDING)
def test_a_wrong_key_is_one_sentence_before_any_work(
    redraft: Command, api: MessagesApi, name: str
) -> None:
    """It names the variable, and no message was asked for."""
    api.key = "another"

    shown = redraft(*SPENDING[name], "--lm", PAID, "--max-cost-usd", "1")

    assert shown.code == 2
    assert "check the key in ANTHROPIC_API_KEY" in shown.err
    assert messages(api) == 0


@pytest.mark.usefixtures("api")
@pytest.mark.parametrize("cap", [("--max-tokens", "1800"), ("--max-cost-usd", "0.0058")])
def test_a_cap_stops_an_evaluation(redraft: Command, cap: tuple[str, str]) -> None:
    """What it leaves out is not measured, and the cap is not passed."""
    shown = redraft("evaluate", "order_note", "--lm", PAID, *cap, "--json")

    usage = json.loads(shown.out)["usage"]
    assert shown.code == 1
    assert "stopped by budget" in shown.err
    spent = {
        "--max-tokens": usage["input_tokens"] + usage["output_tokens"],
        "--max-cost-usd": usage["cost_usd"],
    }
    assert 0 < spent[cap[0]] <= float(cap[1])


@pytest.mark.usefixtures("api")
@pytest.mark.parametrize("cap", [("--max-tokens", "10"), ("--max-cost-usd", "0.000001")])
def test_a_cap_stops_an_answer(redraft: Command, cap: tuple[str, str]) -> None:
    """Before its first call, where that might pass it."""
    shown = redraft("run", "order_note", "--input", REQUEST, "--lm", PAID, *cap, "--json")

    assert shown.code == 1
    assert json.loads(shown.out)["stopped_by"] == "budget"


@pytest.mark.usefixtures("api")
def test_an_answer_under_a_cap_in_dollars_needs_a_price(redraft: Command) -> None:
    """The model and the remedy are named."""
    shown = redraft("run", "order_note", "--input", REQUEST, "--lm", NOVEL, "--max-cost-usd", "1")

    assert shown.code == 2
    assert "[tool.redraft.prices" in shown.err


def test_a_cap_must_be_above_zero(redraft: Command) -> None:
    """Zero is no cap that anything could run under."""
    shown = redraft("evaluate", "order_note", "--max-cost-usd", "0")

    assert shown.code == 2
    assert "max_cost_usd must be above 0" in shown.err


def test_comparing_and_judging_again_take_the_caps_too(redraft: Command) -> None:
    """Where every call is free they change nothing."""
    redraft("compile", "order_note", "--promote", "always")
    redraft("run", "order_note", "--input", REQUEST)
    caps = ("--max-tokens", "9000000", "--max-cost-usd", "1")
    trace = json.loads(redraft("traces", "list", "--json").out)["traces"][0]["id"]

    compared = redraft("compare", "order_note", "--rows", "6", *caps, "--dry-run", "--json")
    judged = redraft("traces", "recheck", trace, *caps)

    assert json.loads(compared.out)["programs"] >= 2
    assert judged.code == 0, judged.err


def test_a_batch_evaluates_for_half_the_price(
    redraft: Command, api: MessagesApi, caplog: pytest.LogCaptureFixture
) -> None:
    """Once, by `evaluate --no-loop --batch`; the dry run says so beforehand."""
    words = ("evaluate", "order_note", "--rows", "3", "--lm", PAID, "--no-loop")
    single = json.loads(redraft(*words, "--dry-run", "--json").out)
    half = json.loads(redraft(*words, "--batch", "--dry-run", "--json").out)

    shown = redraft(*words, "--batch", "--max-cost-usd", "1", "--json")

    assert shown.code == 0, shown.err
    assert half["cost_usd"]["worst"] == pytest.approx(single["cost_usd"]["worst"] / 2)
    assert json.loads(shown.out)["usage"]["calls"] == 3
    assert "Batch msgbatch_001 of 3 requests is under way" in caplog.text
    assert messages(api) == 0


@pytest.mark.parametrize(
    ("words", "remedy"),
    [(("--lm", PAID, "--batch"), "--no-loop"), (("--no-loop", "--batch"), "takes no batches")],
)
@pytest.mark.usefixtures("api")
def test_what_no_batch_can_do_is_refused(
    redraft: Command, words: tuple[str, ...], remedy: str
) -> None:
    """A loop, and any model but Claude."""
    shown = redraft("evaluate", "order_note", *words)

    assert shown.code == 2
    assert remedy in shown.err


def test_the_text_tells_the_roles_apart() -> None:
    """Each with its model, in the order best, expected, worst."""
    models = Models(drafter=Model(Scripted("Yes.")), checker=Model(Scripted("Yes.")))
    program = Program("request -> note", criteria=[Criterion("kind", "It is kind.")])
    rows = [Row("r1", {"request": "Write a note."})]

    text = Plan([answer_work(program, rows)], models, {"rows": 1}).estimated().text()

    assert text.splitlines()[0].startswith("Calls to models: 2 at best, 4 if half")
    assert "  drafter (scripted/test): 1, 1, 1 calls; " in text
    assert "  checker (scripted/test): 1, 2, 6 calls; " in text
    assert "  reviser (scripted/test): 0, 1, 2 calls; " in text
    assert text.endswith("rows: 1")


def test_prices_of_some_roles_alone_make_no_sum() -> None:
    """What is unknown of one is unknown of all, and said for that one."""
    known = RoleEstimate(
        role="drafter",
        model="anthropic/known",
        calls=Span(1, 1, 1),
        tokens=Span(10, 10, 10),
        cost_usd=Span(1, 2, 3),
        is_counted=True,
    )
    unknown = replace(known, role="checker", cost_usd=None)

    found = Estimated([known, unknown], {})

    assert found.cost_usd is None
    assert "What they cost is not known." in found.text()
    assert "10 tokens; $1.00, $2.00 and $3.00" in found.text()
    assert "10 tokens; price unknown" in found.text()
    assert "counted by the provider" in found.text()


def test_a_killed_batch_is_gone_on_with(
    redraft: Command, api: MessagesApi, project: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Whatever ended the first run, the same command fetches what it had handed in."""
    words = ("evaluate", "order_note", "--rows", "3", "--lm", PAID, "--no-loop", "--batch")
    words = (*words, "--max-cost-usd", "1", "--json")
    api.batches.polls = 1_000_000
    run = f"from redraft.cli.main import main; main({words!r})"
    first = subprocess.Popen(
        [sys.executable, "-c", run], cwd=project, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    notes = project / ".redraft" / "batches"
    ends = time.monotonic() + 60
    while not list(notes.glob("*.json")) and time.monotonic() < ends:
        time.sleep(0.05)
    first.kill()
    first.communicate()
    api.batches.polls = 0

    shown = redraft(*words)

    handed_in = [r for r in api.requests if r.path.endswith("/batches") and r.body is not None]
    assert first.returncode == -signal.SIGKILL
    assert json.loads(shown.out)["n"] == 3
    assert len(handed_in) == 1
    assert "Batch msgbatch_001 of 3 requests" in caplog.text
    assert list(notes.iterdir()) == []
