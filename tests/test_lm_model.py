"""Models: one record for all roles, which no copy multiplies."""

import copy

import pytest
from lm_requests import ask, request_of

from redraft.budget import Meter
from redraft.errors import ConfigError, ModelError
from redraft.lm import Models, Scripted
from redraft.testing import models_of


class Closing(Scripted):
    """Counts how often it is closed."""

    closed = 0

    def close(self) -> None:
        self.closed += 1


def test_copies_are_the_record_itself() -> None:
    """DSPy copies programs, and must not copy engines with them."""
    models = models_of("Yes.")

    assert copy.copy(models) is models
    assert copy.deepcopy([models])[0] is models


def test_the_reviser_is_the_drafter_unless_named() -> None:
    """One model to write with is the usual case."""
    models = models_of(drafter="Yes.")

    assert models.of("reviser") is models.of("drafter")
    assert models.names() == {"drafter": "scripted/drafter", "reviser": "scripted/drafter"}


def test_a_role_without_a_model_says_how_to_name_one() -> None:
    """The flag and the setting stand in the message."""
    with pytest.raises(ModelError, match=r"--judge-lm.*judge_lm"):
        Models().of("judge")


def test_engines_are_closed_once_each() -> None:
    """A shared engine is closed with the first role that has it."""
    engine = Closing("Yes.")

    models_of(engine).close()

    assert engine.closed == 1


def test_a_model_tells_what_its_engine_tells() -> None:
    """Name, context, price and tokens are the engine's."""
    model = models_of(Scripted("Yes.", name="scripted/x", context_tokens=9, parallel=3)).of("judge")

    assert (model.name, model.context_tokens, model.parallel) == ("scripted/x", 9, 3)
    assert (model.cost, model.count_tokens("two words")) == (0.0, 2)
    assert model.fingerprint
    assert repr(model) == "Model('scripted/x')"


def test_dspy_sees_what_the_engine_promises() -> None:
    """The adapter decides by these whether to send a schema or a seed."""
    lm = models_of(Scripted("{}", promises_schema=True)).of("checker").lm(Meter())

    assert lm.supports_response_schema
    assert {"seed", "temperature", "response_format"} <= lm.supported_params


def test_meters_are_kept_apart() -> None:
    """Each call pays from the meter that its LM was made with."""
    model, mine, yours = models_of("Yes.").of("drafter"), Meter(), Meter()

    ask(model, meter=mine)
    model.lm(yours)(request_of())
    model.lm(yours)(request_of())

    assert (mine.spent.calls, yours.spent.calls) == (1, 2)


def test_each_role_can_have_its_own() -> None:
    """Roles of one's own come before the model for everyone."""
    models = models_of("Everyone's.", checker="The checker's.")

    assert ask(models.of("checker")).text == "The checker's."
    assert ask(models.of("proposer")).text == "Everyone's."


def test_a_role_that_is_none_is_refused() -> None:
    """A typing mistake must not leave a role without its script."""
    with pytest.raises(ConfigError, match="'draftr' is no role"):
        models_of(draftr="Yes.")
