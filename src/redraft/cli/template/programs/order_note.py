"""A note that tells a customer when an order arrives."""

import re

import dspy

from redraft import Loop, Options, Program
from redraft.checks import max_words, states_each


class Draft(dspy.Signature):
    """Write the note to the customer that the request asks for, in at most 25 words."""

    request: str = dspy.InputField()
    note: str = dspy.OutputField()


def read_request(inputs):
    """Return the order numbers and dates of the request; the note must state each of them."""
    return {"facts": re.findall(r"[A-Z]-\d{4}|\d{1,2} [A-Z][a-z]+", inputs["request"])}


CHECKS = [states_each("facts"), max_words(25)]

PROGRAM = Program(
    draft=Draft,
    prepare=read_request,
    checks=CHECKS,
    loop=Loop(max_revisions=2, on_fail="resample"),
    options={"drafter": Options(max_tokens=80)},
)
