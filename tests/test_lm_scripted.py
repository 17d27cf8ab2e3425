"""Scripted models: replies in order, by rule, by function, and every way to fail."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from dspy.lm15 import (
    LM15Error,
    RateLimitError,
    RefusalPart,
    Request,
    ServerError,
    TextPart,
    TimeoutError,
)
from hypothesis import given
from hypothesis import strategies as st
from lm_requests import request_of

from redraft.errors import ModelError
from redraft.lm.script import count_words, cut_words, read_script
from redraft.testing import Reply, Rule, Scripted


def say(engine: Scripted, request: Request | None = None) -> object:
    """Return what an engine says, and why it stopped."""
    reply = engine.complete(request or request_of(), lambda: None)
    return reply.text, reply.finish_reason


def named(function_name: str) -> Scripted:
    """Return a script made from source, so that its function has no file."""
    space: dict[str, object] = {}
    exec(f"def {function_name}(request): return 'Yes.'", space)
    return Scripted(space[function_name])


def test_a_list_is_given_out_in_order() -> None:
    """One reply after another."""
    engine = Scripted(["one", Reply("two")])

    assert [say(engine), say(engine)] == [("one", "stop"), ("two", "stop")]


def test_a_list_that_is_used_up_is_an_error() -> None:
    """A test that asks too often is told so."""
    engine = Scripted(["one"])
    say(engine)

    with pytest.raises(ModelError, match="no reply for request 2"):
        say(engine)


def test_one_reply_is_given_every_time() -> None:
    """A single text never runs out."""
    engine = Scripted("Always.")

    assert {say(engine) for _ in range(5)} == {("Always.", "stop")}


def test_rules_come_before_replies_in_order() -> None:
    """The first rule that matches answers; it takes nothing from the list."""
    engine = Scripted(["listed", Rule("asked", user="^Why"), Rule("other", user="Why")])

    said = [say(engine, request_of(text))[0] for text in ("Why?", "No. Why?", "What?")]

    assert said == ["asked", "other", "listed"]


def test_a_rule_can_look_at_the_system_text() -> None:
    """Drafter and checker can share a script."""
    engine = Scripted([Rule("judged", system="Judge"), Rule("drafted")])
    message = request_of().messages

    judged = say(engine, Request(model="scripted/test", system="Judge this.", messages=message))

    assert (judged[0], say(engine)[0]) == ("judged", "drafted")


def test_a_function_sees_the_whole_request() -> None:
    """Seed and turns may decide."""
    engine = Scripted(lambda request: f"{request.config.seed}: {request.messages[-1].text}")

    assert say(engine, request_of("Hi.", seed=3)) == ("3: Hi.", "stop")


def test_threads_change_no_reply_of_a_function() -> None:
    """The reply depends on the request alone."""
    engine = Scripted(lambda request: str(request.messages[-1].text))

    with ThreadPoolExecutor(8) as pool:
        said = list(pool.map(lambda n: say(engine, request_of(f"{n}"))[0], range(50)))

    assert said == [f"{n}" for n in range(50)]
    assert len(engine.requests) == 50


@pytest.mark.parametrize(
    ("fail", "text", "reason"),
    [
        ("truncate", "Half of", "length"),
        ("malformed", "Half of", "stop"),
        ("empty", "", "stop"),
    ],
)
def test_bad_answers(fail: str, text: str, reason: str) -> None:
    """What a model can say wrongly."""
    assert say(Scripted(Reply("Half of a text", fail=fail))) == (text, reason)


def test_a_refusal_is_a_part_of_its_own() -> None:
    """As providers send it."""
    reply = Scripted(Reply("Not that.", fail="refuse")).complete(request_of(), lambda: None)

    assert reply.finish_reason == "content_filter"
    assert reply.message.first(RefusalPart) == RefusalPart("Not that.")


@pytest.mark.parametrize(
    ("fail", "kind"),
    [("outage", ServerError), ("rate_limit", RateLimitError), ("timeout", TimeoutError)],
)
def test_outages(fail: str, kind: type[LM15Error]) -> None:
    """What a provider can fail at, with the hint of a rate limit."""
    with pytest.raises(kind) as raised:
        say(Scripted(Reply(fail=fail, retry_after=2.0)))

    assert raised.value.retry_after == (2.0 if fail == "rate_limit" else None)


def test_a_broken_promise_is_the_scripts_fault() -> None:
    """Where a schema is promised, a test cannot send an off-schema reply by mistake."""
    engine = Scripted("Prose.", promises_schema=True)

    with pytest.raises(ModelError, match="promises a schema"):
        say(engine, request_of(response_format={"type": "json_object"}))


def test_without_a_promise_a_schema_is_ignored() -> None:
    """As by models that know no schema."""
    request = request_of(response_format={"type": "json_object"})

    assert say(Scripted("Prose."), request) == ("Prose.", "stop")


def test_a_reply_is_cut_where_the_context_ends() -> None:
    """Prompt and reply share the context."""
    assert say(Scripted("one two three", context_tokens=4)) == ("one two", "length")


@pytest.mark.parametrize("wrong", [{"fail": "explode"}, {"finish_reason": "bored"}])
def test_unknown_faults_are_refused(wrong: dict[str, str]) -> None:
    """A typing mistake must not become a good reply."""
    with pytest.raises(ValueError, match=r"explode|bored"):
        Reply("x", **wrong)


def test_fingerprints_tell_scripts_apart() -> None:
    """Recorded replies of one script are not given for another."""
    scripts = [
        Scripted("a"),
        Scripted(["a"]),
        Scripted([Rule("a", user="b")]),
        Scripted(lambda request: "a"),
        named("first"),
        named("second"),
    ]

    assert len({engine.fingerprint for engine in scripts}) == len(scripts)


@given(text=st.text(), most=st.integers(0, 12))
def test_a_cut_text_has_no_more_than_its_words(text: str, most: int) -> None:
    """And is whole exactly when it had no more."""
    cut, whole = cut_words(text, most)

    assert text.startswith(cut)
    assert count_words(cut) <= most
    assert whole == (count_words(text) <= most)


def test_a_json_file_can_say_everything(tmp_path: Path) -> None:
    """Replies, rules and what the model promises."""
    path = tmp_path / "s.json"
    entries = ["a", {"fail": "empty"}, {"user": "x", "reply": {"text": "b", "delay_seconds": 1}}]
    path.write_text(json.dumps({"entries": entries, "promises_schema": True, "context_tokens": 9}))

    script = read_script(path, "scripted/s.json")

    assert script.entries == (
        "a",
        Reply(fail="empty"),
        Rule(Reply("b", delay_seconds=1), user="x"),
    )
    assert (script.promises_schema, script.context_tokens) == (True, 9)


def test_a_json_lines_file_holds_an_entry_a_line(tmp_path: Path) -> None:
    """Empty lines do not count."""
    path = tmp_path / "s.jsonl"
    path.write_text('"a"\n\n{"system": "x", "reply": "b"}\n')

    assert read_script(path, "scripted/s.jsonl").entries == ("a", Rule("b", system="x"))


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("s.json", "{", "Expecting property name"),
        ("s.json", "[]", "holds no reply"),
        ("s.json", "3", "a list of replies"),
        ("s.json", '{"entries": ["a"], "rules": []}', "unknown key 'rules'"),
        ("s.json", "[3]", "entry 1 is neither"),
        ("s.json", '[{"txt": "a"}]', "entry 1: unknown key 'txt'"),
        ("s.json", '[{"user": "(", "reply": "a"}]', "entry 1: missing \\)"),
        ("s.json", '[{"user": 3, "reply": "a"}]', "entry 1: a pattern must be a text"),
        ("s.json", '[{"usr": "x", "reply": "a"}]', "entry 1.*usr"),
        ("s.json", '["a", {"reply": 3}]', "entry 2: a reply must be"),
        ("s.json", '[{"text": 3}]', "entry 1: text must be a text"),
        ("s.jsonl", '"a"\n{', "line 2"),
    ],
)
def test_wrong_files_say_what_is_wrong(tmp_path: Path, name: str, text: str, why: str) -> None:
    """The message names the file and the entry or line."""
    path = tmp_path / name
    path.write_text(text)

    with pytest.raises(ModelError, match=f"(?s){name}.*{why}"):
        read_script(path, f"scripted/{name}")


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    """A folder is no script."""
    with pytest.raises(ModelError, match="cannot read the script"):
        read_script(tmp_path, "scripted/x")


def test_a_stall_lasts_until_the_caller_gives_up() -> None:
    """It answers nothing, and holds nobody."""

    def give_up() -> None:
        raise KeyboardInterrupt

    polls = iter([lambda: None, lambda: None, give_up])

    with pytest.raises(KeyboardInterrupt):
        Scripted(Reply(fail="stall")).complete(request_of(), lambda: next(polls)())


def test_system_text_may_come_in_parts() -> None:
    """As it does where a part of it is cached by the provider."""
    engine = Scripted([Rule("both", system="Be kind.\nBe brief.")])
    parts = (TextPart("Be kind."), TextPart("Be brief."))

    said = say(engine, Request(model="scripted/test", system=parts, messages=request_of().messages))

    assert said == ("both", "stop")
