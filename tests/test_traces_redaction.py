"""Redaction: what the project takes out of texts before they are stored."""

from pathlib import Path

import pytest
from tiny_program import answered

from redraft.errors import TraceError
from redraft.program import Program
from redraft.records import Criterion
from redraft.testing import models_of
from redraft.traces import TraceStore
from redraft.traces.codec import dump

SECRET = "Quillfeather"


def hide(text: str) -> str:
    return text.replace(SECRET, "*")


def test_redaction_reaches_every_text(tmp_path: Path) -> None:
    """Inputs, drafts, diffs, gaps, quotes, replies: nothing is stored as it was said."""
    store = TraceStore(tmp_path / "t.sqlite", redact=hide)
    finding = {"reason": SECRET, "status": "unmet", "quote": SECRET, "gap": f"Drop {SECRET}."}
    reply = dump({"findings": {"kind": finding}})
    subject = Program("request -> notice", criteria=[Criterion("kind", "It is kind.")])
    scripts = models_of(drafter=f"Dear {SECRET}", checker=reply, reviser=f"To {SECRET}")

    answer = subject.with_models(scripts).with_traces(store).answer(request=SECRET)
    store.close()

    assert SECRET in (answer.draft or "")
    trace = store.load(answer.trace_id or "")
    assert trace.redacted
    assert trace.attempts[0].draft == "Dear *"
    files = list(tmp_path.glob("t.sqlite*"))
    assert not any(SECRET.encode() in path.read_bytes() for path in files)


def test_a_text_that_spans_lines_is_redacted_in_diffs(tmp_path: Path) -> None:
    """A diff tears lines apart, so it is made from the redacted drafts."""
    store = TraceStore(tmp_path / "t.sqlite", redact=lambda text: text.replace("Mrs\nQuill", "*"))
    answer = answered(store, drafter="Dear\nMrs\nQuill", reviser="sorry\nMrs\nQuill")

    assert "Quill" not in dump(store.load(answer.trace_id or ""))


def test_redaction_that_changes_nothing_is_not_said(tmp_path: Path) -> None:
    """Such a trace is as good as one that was never redacted."""
    store = TraceStore(tmp_path / "t.sqlite", redact=hide)

    answer = answered(store)

    assert not store.load(answer.trace_id or "").redacted


def test_a_redaction_that_fails_stores_nothing(tmp_path: Path) -> None:
    """The answer ends rather than that an unredacted text is kept."""

    def fail(text: str) -> str:
        raise ValueError("no rules loaded")

    store = TraceStore(tmp_path / "t.sqlite", redact=fail)

    with pytest.raises(TraceError, match="redact raised ValueError: no rules loaded"):
        answered(store)
    assert store.summaries() == ()


def test_a_redaction_must_return_text(tmp_path: Path) -> None:
    """None, say, is no text."""
    store = TraceStore(tmp_path / "t.sqlite", redact=lambda text: None)  # type: ignore[arg-type,return-value]  # on purpose

    with pytest.raises(TraceError, match="must return a text"):
        answered(store)
