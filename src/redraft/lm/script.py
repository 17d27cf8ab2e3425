"""Replies of a scripted model, and how they are read from a file."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Literal, get_args

from dspy.lm15 import Request

from redraft.errors import ModelError
from redraft.lm.wire import last_user_text, system_text

FinishReason = Literal["stop", "length", "content_filter"]
Fault = Literal[
    "outage", "rate_limit", "timeout", "stall", "truncate", "refuse", "empty", "malformed"
]
FAULTS: tuple[Fault, ...] = get_args(Fault)

_TOKEN = re.compile(r"\w+|[^\w\s]")


@dataclass(frozen=True, slots=True)
class Reply:
    """One scripted reply.

    Attributes:
        text: What the model says.
        finish_reason: Why it stopped; `length` also where the request's `max_tokens` cut it.
        fail: What goes wrong instead. `outage`, `rate_limit` and `timeout` raise what a provider
            raises; `stall` hangs until the caller gives up; `truncate` and `malformed` give the
            first half of `text`, as a cut reply and as a finished one; `empty` says nothing;
            `refuse` refuses, in the words of `text`.
        delay_seconds: Time until the reply, or until the failure.
        retry_after: Seconds that a `rate_limit` asks to wait.
        input_tokens: Overrides the count of the prompt.
        output_tokens: Overrides the count of the reply.
    """

    text: str = ""
    finish_reason: FinishReason = "stop"
    fail: Fault | None = None
    delay_seconds: float = 0.0
    retry_after: float | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.text, str):
            raise ValueError(f"text must be a text, got {self.text!r}")
        if self.fail is not None and self.fail not in FAULTS:
            raise ValueError(f"fail must be one of {', '.join(FAULTS)}, got {self.fail!r}")
        if self.finish_reason not in get_args(FinishReason):
            raise ValueError(f"unknown finish_reason {self.finish_reason!r}")

    def shaped(self) -> "Reply":
        """Return the reply with the faults that are replies written out."""
        half = self.text[: len(self.text) // 2]
        if self.fail == "truncate":
            return replace(self, fail=None, text=half, finish_reason="length")
        if self.fail == "malformed":
            return replace(self, fail=None, text=half)
        if self.fail == "empty":
            return replace(self, fail=None, text="")
        if self.fail == "refuse":
            said = self.text or "I cannot help with that."
            return replace(self, fail=None, text=said, finish_reason="content_filter")
        return self


@dataclass(frozen=True, slots=True)
class Rule:
    """A reply for the requests that match.

    Attributes:
        reply: The reply, or its text.
        user: Regular expression searched in the last user turn; None matches all.
        system: Regular expression searched in the system text; None matches all.
    """

    reply: str | Reply
    user: str | None = None
    system: str | None = None

    def matches(self, request: Request) -> bool:
        """Whether this rule answers the request."""
        return _found(self.user, last_user_text(request)) and _found(
            self.system, system_text(request)
        )


@dataclass(frozen=True, slots=True)
class ScriptFile:
    """What a `.json` or `.jsonl` script says.

    Attributes:
        entries: Replies and rules, in order.
        promises_schema: Whether the model promises to keep to a `response_format`.
        context_tokens: Words that prompt and reply may have together; None for no end.
    """

    entries: tuple[str | Reply | Rule, ...]
    promises_schema: bool = False
    context_tokens: int | None = None


def read_script(path: Path, model: str) -> ScriptFile:
    """Read a script from a `.json` or `.jsonl` file.

    Args:
        path: The file. A `.jsonl` file holds one entry a line; a `.json` file holds a list of
            entries, or an object with `entries`, `promises_schema` and `context_tokens`.
        model: The model's name, for messages.

    Raises:
        ModelError: The file cannot be read, or an entry is not a reply or a rule.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ModelError(f"cannot read the script {path}: {error}", model=model) from error
    try:
        if path.suffix == ".jsonl":
            return ScriptFile(_entries(_json_lines(text)))
        return _script_file(json.loads(text))
    except (TypeError, ValueError, re.error) as error:
        raise ModelError(f"the script {path} is wrong: {error}", model=model) from error


def count_words(text: str) -> int:
    """Count words and punctuation marks: the tokens of a scripted model."""
    return len(_TOKEN.findall(text))


def cut_words(text: str, most: int) -> tuple[str, bool]:
    """Return the first `most` tokens of a text, and whether that is all of it."""
    ends = [match.end() for match in _TOKEN.finditer(text)]
    if len(ends) <= most:
        return text, True
    return text[: ends[most - 1]] if most > 0 else "", False


def _found(pattern: str | None, text: str) -> bool:
    return pattern is None or re.search(pattern, text) is not None


def _json_lines(text: str) -> list[object]:
    values = []
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        try:
            values.append(json.loads(line))
        except ValueError as error:
            raise ValueError(f"line {number}: {error}") from error
    return values


def _script_file(value: object) -> ScriptFile:
    if isinstance(value, list):
        return ScriptFile(_entries(value))
    if not isinstance(value, dict) or not isinstance(value.get("entries"), list):
        raise ValueError("it must hold a list of replies and rules, or an object with 'entries'")
    known = {"entries", "promises_schema", "context_tokens"}
    if unknown := sorted(set(value) - known):
        raise ValueError(f"unknown key {unknown[0]!r}; it may have {', '.join(sorted(known))}")
    return ScriptFile(
        _entries(value["entries"]),
        promises_schema=bool(value.get("promises_schema", False)),
        context_tokens=value.get("context_tokens"),
    )


def _entries(values: Sequence[object]) -> tuple[str | Reply | Rule, ...]:
    if not values:
        raise ValueError("it holds no reply")
    return tuple(_entry(value, number) for number, value in enumerate(values, start=1))


def _entry(value: object, number: int) -> str | Reply | Rule:
    if isinstance(value, str):
        return value
    if not isinstance(value, dict):
        raise ValueError(f"entry {number} is neither a text nor an object: {value!r}")
    try:
        if "reply" not in value:
            return _reply(value)
        said = value["reply"]
        return Rule(
            said if isinstance(said, str) else _reply(said),
            **{key: _pattern(found) for key, found in value.items() if key != "reply"},
        )
    except (TypeError, ValueError, re.error) as error:
        raise ValueError(f"entry {number}: {error}") from error


def _reply(value: object) -> Reply:
    if not isinstance(value, dict):
        raise ValueError(f"a reply must be a text or an object, got {value!r}")
    known = {field.name for field in fields(Reply)}
    if unknown := sorted(set(value) - known):
        raise ValueError(f"unknown key {unknown[0]!r}; a reply may have {', '.join(sorted(known))}")
    return Reply(**value)


def _pattern(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError(f"a pattern must be a text, got {value!r}")
    re.compile(value)
    return value
