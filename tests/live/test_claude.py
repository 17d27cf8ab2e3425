"""Claude itself, asked with a key of the user's own; costs under 5 cents.

Runs only where ANTHROPIC_API_KEY is set and REDRAFT_LIVE=1 asks for it: tests spend no money
unless somebody wants them to.
"""

import os
from pathlib import Path

import pytest

from redraft.budget import Caps, Meter
from redraft.lm import Models, connect
from redraft.program import AnswerRun, Program, load_base
from redraft.records import Options

pytestmark = pytest.mark.skipif(
    not os.environ.get("ANTHROPIC_API_KEY") or os.environ.get("REDRAFT_LIVE") != "1",
    reason="asks Claude, for up to 5 cents: set ANTHROPIC_API_KEY and REDRAFT_LIVE=1",
)

ROOT = Path(__file__).resolve().parents[2]
MODEL = os.environ.get("REDRAFT_LIVE_MODEL", "anthropic/claude-haiku-4-5")
CENTS = 0.05
REQUEST = "Describe a kettle in one sentence. Use these words: steel, quiet. Under 40 words."


def claude() -> Models:
    """Return Claude for every role that answers."""
    return connect({"drafter": MODEL, "checker": MODEL, "reviser": MODEL}, root=ROOT)


def program(name: str) -> Program:
    """Return a sample whose replies are short."""
    base = load_base(ROOT, name)
    state = base.state()
    short = {role: Options(max_tokens=300) for role in ("drafter", "checker", "reviser")}
    return base.with_state(type(state)(state.predictors, state.loop, short))


def test_a_sample_is_answered_within_its_cap() -> None:
    """With a real key, a real price and a cap in dollars."""
    models = claude()
    models.verify()
    models.require_prices()
    meter = Meter(Caps(max_cost_usd=CENTS))

    answer = (
        program("product_blurb")
        .with_models(models)
        .answer_run({"request": REQUEST}, AnswerRun(meter=meter))
    )
    models.close()

    assert answer.failure is None
    assert answer.draft
    assert 0 < (answer.usage.cost_usd or 0) <= CENTS
