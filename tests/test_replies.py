"""What a reply means: a text that can be used, or a reason why it cannot."""

import json
from typing import Literal

import dspy
import pytest
from dspy.lm15 import Message, RefusalPart, Response, Usage
from dspy.utils import exceptions as lm_errors

from redraft.errors import MissingExtraError, ModelError
from redraft.replies import CallError, parsed_fields, translated, usable_text


class Sourced(dspy.Signature):  # type: ignore[misc]  # DSPy has no types
    """Answer from the sources."""

    question: str = dspy.InputField()
    sources: list[str] = dspy.InputField()
    reasoning: str = dspy.OutputField(desc="Step by step.")
    answer: Literal["yes", "no"] = dspy.OutputField()


def response(text: str, finish_reason: str = "stop") -> Response:
    message = Message.assistant(text)
    return Response(id=None, model="m", message=message, finish_reason=finish_reason, usage=Usage())


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        (response("half a", "length"), "truncated"),
        (response(" \n"), "empty"),
        (response("\u200b\u2060\ufeff\u202e"), "empty"),
        (response("\u2800 \u3164"), "empty"),
        (response("half a pair \ud800"), "unparsable"),
        (response("", "length"), "truncated"),
        (response("no", "content_filter"), "refused"),
    ],
)
def test_unusable_replies_are_typed(said: Response, kind: str) -> None:
    """A reply that did not end normally is never a draft."""
    with pytest.raises(CallError) as caught:
        usable_text(said, "drafter", max_tokens=64)

    assert caught.value.failure.kind == kind
    assert caught.value.failure.role == "drafter"


@pytest.mark.parametrize("text", ["...", "\u202eabc", "👩‍👩‍👧", "\u0645\u200c\u0631"])
def test_what_a_reader_can_see_is_a_reply(text: str) -> None:
    """Invisible characters among visible ones are the text's own business."""
    assert usable_text(response(text), "drafter", max_tokens=64) == text


@pytest.mark.parametrize(
    ("reason", "kind", "words"),
    [
        ("max_tokens", "truncated", "max_tokens=64"),
        ("pause_turn", "truncated", "pause_turn"),
        ("model_context_window_exceeded", "too_long", "do not fit"),
    ],
)
def test_why_a_reply_was_not_finished_is_said(reason: str, kind: str, words: str) -> None:
    """Only a reply that was cut at its own limit is cured by a higher one."""
    said = Response(
        id=None,
        model="m",
        message=Message.assistant("Half"),
        finish_reason="length",
        usage=Usage(),
        provider_data={"stop_reason": reason},
    )

    with pytest.raises(CallError, match=words) as caught:
        usable_text(said, "drafter", max_tokens=64)

    assert caught.value.failure.kind == kind


def test_refusal_is_a_refusal_however_it_ended() -> None:
    """The refusal's own words are kept."""
    message = Message.assistant([RefusalPart("I will not.")])
    said = Response(id=None, model="m", message=message, finish_reason="stop", usage=Usage())

    with pytest.raises(CallError, match="I will not") as caught:
        usable_text(said, "drafter", max_tokens=64)

    assert caught.value.failure.kind == "refused"


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (lm_errors.LMRateLimitError("slow down", model="m"), "outage"),
        (lm_errors.LMTimeoutError("late", model="m"), "outage"),
        (lm_errors.LMServerError("500", model="m"), "outage"),
        (lm_errors.LMTransportError("reset", model="m"), "outage"),
        (lm_errors.ContextWindowExceededError(model="m"), "too_long"),
    ],
)
def test_errors_that_are_no_bug_become_failures(error: lm_errors.LMError, kind: str) -> None:
    """An outage is not measured; a prompt that is too long is the prompt's own score."""
    meaning = translated(error, "checker")

    assert isinstance(meaning, CallError)
    assert meaning.failure.kind == kind
    assert "m" in meaning.failure.message


def test_wrong_settings_stop_the_work() -> None:
    """A key that is refused will be refused on every row."""
    meaning = translated(lm_errors.LMAuthError("bad key", model="m"), "drafter")

    assert isinstance(meaning, ModelError)
    assert meaning.model == "m"


def test_our_own_errors_come_through() -> None:
    """What an engine says about itself is not hidden behind DSPy's wrapping."""
    own = MissingExtraError("the embedded model", "local")
    error = lm_errors.LMUnexpectedError("wrapped", model="m")
    error.__cause__ = own

    assert translated(error, "drafter") is own


def test_replies_of_the_wrong_form_are_unparsable() -> None:
    """JSON that lacks a field, or has a value of another type, is no draft."""
    good = parsed_fields(Sourced, json.dumps({"reasoning": "r", "answer": "yes"}), "drafter")
    assert good == {"reasoning": "r", "answer": "yes"}
    half = '{"reasoning": "\\ud800", "answer": "yes"}'
    for text in ('{"reasoning": "r"}', '{"reasoning": "r", "answer": "maybe"}', "yes", half):
        with pytest.raises(CallError) as caught:
            parsed_fields(Sourced, text, "drafter")
        assert caught.value.failure.kind == "unparsable"
