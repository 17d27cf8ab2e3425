"""A tiny program on scripted models, and its answers in a store of traces."""

from collections.abc import Mapping
from typing import Any

import pytest

from redraft.events import Event
from redraft.program import Program
from redraft.records import Answer, Check, Loop
from redraft.session import AnswerRun
from redraft.testing import models_of
from redraft.traces import TraceStore

INPUTS = {"request": "lift"}


def sorry(facts: Mapping[str, object], draft: str) -> str | None:
    return None if "sorry" in draft else "Say that we are sorry."


def tiny(**loop: Any) -> Program:
    """Return a program whose only rule is that the notice says sorry."""
    checks = [Check("says_sorry", sorry, "The notice says sorry.")]
    return Program("request -> notice", checks=checks, loop=Loop(**loop)).named("tiny")


def answered(store: TraceStore, **roles: Any) -> Answer:
    """Answer into a store: `hello`, then `sorry`, unless the roles have scripts of their own."""
    scripts = roles or {"drafter": "hello", "reviser": "sorry"}
    return tiny().with_models(models_of(**scripts)).with_traces(store).answer(**INPUTS)


class BrokenOffError(Exception):
    """Stands for whatever ends a process."""


def broken_off(
    store: TraceStore, at: type[Event], *, count: int = 1, subject: Program | None = None
) -> str:
    """Answer until an event was told `count` times, then break off; return the trace's id."""
    left = count

    def leave(event: Event) -> None:
        nonlocal left
        left -= isinstance(event, at)
        if left == 0:
            raise BrokenOffError

    subject = subject or tiny().with_models(models_of(drafter="hello", reviser="sorry"))
    with pytest.raises(BrokenOffError):
        subject.with_traces(store).answer_run(INPUTS, AnswerRun(observe=leave))
    return store.summaries()[0].id
