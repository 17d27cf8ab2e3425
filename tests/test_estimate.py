"""What work would take, before it is done."""

from claude import asking

from redraft.estimate import Span, answer_calls, answer_work, calls_by_role, estimate, shared_work
from redraft.lm import Model, Models
from redraft.program import Program
from redraft.records import Check, Criterion, Loop, Options, Row
from redraft.testing import Scripted

NEVER = Check("never", lambda facts, draft: "Say more.", "It says more.")
KIND = Criterion("kind", "It is kind.")
ROWS = [
    Row(f"r{n}", {"request": f"Write about {n} kettles. " * 40}, {"draft": "A kettle. " * 20})
    for n in range(10)
]


def note(**given: object) -> Program:
    """Return a small program."""
    return Program("request -> note", **given)  # type: ignore[arg-type]


def test_without_a_loop_an_answer_is_one_call() -> None:
    """Nothing is checked and nothing is tried again."""
    program = note(checks=[NEVER], loop=Loop(enabled=False))

    assert answer_calls(program, 10) == Span(10, 10, 10)


def test_criteria_and_revisions_cost_calls() -> None:
    """At worst every attempt is checked with a repair turn."""
    program = note(criteria=[KIND], loop=Loop(max_revisions=2))

    assert answer_calls(program, 1) == Span(best=2, expected=4, worst=9)


def test_votes_cost_calls() -> None:
    """At best as many as decide, at worst all of them, each with its repair turn."""
    program = note(criteria=[KIND], loop=Loop(max_revisions=0, votes=3))

    assert calls_by_role(program, 1)["checker"] == Span(2, 2, 6)


def test_calls_are_told_apart_by_role() -> None:
    """A reviser writes the further drafts where drafts are revised, the drafter where not."""
    revised = calls_by_role(note(criteria=[KIND], loop=Loop(max_revisions=2)), 4)
    redrawn = calls_by_role(note(checks=[NEVER], loop=Loop(max_revisions=2, on_fail="resample")), 4)

    assert revised == {
        "drafter": Span(4, 4, 4),
        "checker": Span(4, 7, 24),
        "reviser": Span(0, 3, 8),
    }
    assert redrawn == {"drafter": Span(4, 7, 12)}


def test_dollars_are_the_tokens_at_the_models_prices() -> None:
    """Prompts are counted by the provider, once for each of a few rows."""
    program = note(options={"drafter": Options(max_tokens=400)})
    with asking() as (engine, api):
        model = Model(engine)
        (drafter,) = estimate([answer_work(program, ROWS)], Models(drafter=model))
        prices = model.prices

    assert prices is not None
    assert {request.path for request in api.requests} == {"/v1/messages/count_tokens"}
    assert len(api.requests) == 3
    assert drafter.is_counted
    assert drafter.cost_usd is not None
    assert drafter.tokens.best < drafter.tokens.worst
    prompts = drafter.tokens.worst - 10 * 400
    at_most = 10 * 400 * prices.rates.output + prompts * prices.rates.highest_input
    assert drafter.cost_usd.worst <= at_most * 1.001
    assert 0 < drafter.cost_usd.best < drafter.cost_usd.worst


def test_a_batch_costs_half() -> None:
    """By the table of prices."""
    with asking() as (engine, _):
        models = Models(drafter=Model(engine))
        (single,) = estimate([answer_work(note(), ROWS)], models)
        (batch,) = estimate([answer_work(note(), ROWS, batch=True)], models)

    assert single.cost_usd is not None
    assert batch.cost_usd is not None
    assert abs(batch.cost_usd.expected - single.cost_usd.expected / 2) < 1e-12


def test_an_unknown_price_stays_unknown() -> None:
    """However many other prices are known."""
    with asking() as (engine, _):
        engine.prices = None
        models = Models(drafter=Model(engine))
        (drafter,) = estimate([answer_work(note(), ROWS)], models)

    assert drafter.cost_usd is None
    assert drafter.calls == Span(10, 10, 10)


def test_a_scripted_model_costs_nothing() -> None:
    """Its tokens are estimated all the same."""
    models = Models(drafter=Model(Scripted("Yes.")), checker=Model(Scripted("Yes.")))
    program = note(criteria=[KIND], loop=Loop(max_revisions=1))

    found = {one.role: one for one in estimate([answer_work(program, ROWS)], models)}

    assert set(found) == {"drafter", "checker", "reviser"}
    assert all(one.cost_usd == Span(0, 0, 0) for one in found.values())
    assert not any(one.is_counted for one in found.values())
    assert found["checker"].tokens.worst > found["checker"].tokens.expected > 0


def test_work_adds_up_by_role() -> None:
    """Two programs' drafters are one line."""
    models = Models(drafter=Model(Scripted("Yes.")))
    work = answer_work(note(), ROWS)

    (once,), (twice,) = estimate([work], models), estimate([work, work], models)

    assert twice.calls == Span(20, 20, 20)
    assert twice.tokens.best == 2 * once.tokens.best


def test_calls_of_a_compile_are_shared_out_as_one_answer_shares_them() -> None:
    """And the demos that a prompt may get make it longer at worst."""
    models = Models(drafter=Model(Scripted("Yes.")), checker=Model(Scripted("Yes.")))
    program = note(criteria=[KIND], loop=Loop(max_revisions=0))
    calls = Span(100, 200, 300)

    plain = estimate([shared_work(program, ROWS, calls)], models)
    demos = estimate([shared_work(program, ROWS, calls, demos=8)], models)

    assert [one.calls for one in plain] == [Span(50, 100, 100), Span(50, 100, 200)]
    assert demos[0].tokens.best == plain[0].tokens.best
    assert demos[0].tokens.worst > plain[0].tokens.worst
