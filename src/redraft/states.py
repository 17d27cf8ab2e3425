"""Predictors as plain values and back."""

from collections.abc import Mapping
from typing import Any

import dspy

from redraft.records import Demo, PredictorState, Role

_ROW_KEY = "_redraft_row_id"
_MODEL_KEY = "_redraft_model"


def state_of(predictor: Any) -> PredictorState:
    """Return what tuning may change of a `dspy.Predict`."""
    demos = tuple(demo_of(demo) for demo in predictor.demos)
    return PredictorState(predictor.signature.instructions, demos)


def demo_of(example: Mapping[str, Any]) -> Demo:
    """Return a demo from the example that DSPy keeps; an optimizer's own has no origin."""
    fields = dict(example)
    row_id, model = fields.pop(_ROW_KEY, None), fields.pop(_MODEL_KEY, None)
    return Demo(fields, row_id, model)


def example_of(demo: Demo) -> Any:
    """Return the `dspy.Example` of a demo, with its origin beside the fields."""
    return dspy.Example(**demo.fields, **{_ROW_KEY: demo.row_id, _MODEL_KEY: demo.model})


def role_of(predictor: str) -> Role:
    """Return whose calls a predictor's are, by its name."""
    roles: dict[str, Role] = {"check": "checker", "revise": "reviser"}
    return roles.get(predictor, "drafter")
