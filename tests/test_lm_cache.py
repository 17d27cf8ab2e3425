"""Recorded replies: found again, kept apart, shared, and clear when the file is no store."""

import multiprocessing
import sqlite3
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import pytest
from dspy.lm15 import Message, RefusalPart, Response, TokenLogprob, Usage
from hypothesis import given
from hypothesis import strategies as st
from lm_requests import request_of

from redraft.errors import ConfigError
from redraft.lm import ReplyStore
from redraft.lm.cache import reply_key
from redraft.lm.wire import dump_response, load_response


def reply(text: str = "A reply.") -> Response:
    """Return a finished response."""
    return Response(
        id=None,
        model="scripted/test",
        message=Message.assistant(text),
        finish_reason="stop",
        usage=Usage(input_tokens=1, output_tokens=2),
    )


def fill(path: Path, number: int) -> str | None:
    """Put and get fifty replies, as one of several processes."""
    store = ReplyStore(path)
    for each in range(50):
        store.put(request_of(f"{each}"), reply(f"{number}"), "f")
    found = [store.get(request_of(f"{each}"), "f") for each in range(50)]
    store.close()
    return "".join(str(one.text) for one in found if one is not None)


@given(text=st.text(min_size=1), reason=st.sampled_from(["stop", "length", "content_filter"]))
def test_responses_survive_their_json_form(text: str, reason: str) -> None:
    """load(dump(x)) == x."""
    response = Response(
        id="1",
        model="m/x",
        message=Message.assistant([RefusalPart(text)] if reason == "content_filter" else text),
        finish_reason=reason,
        usage=Usage(input_tokens=3, cache_read_tokens=2),
        logprobs=(TokenLogprob("a", -0.5),),
        provider_data={"kept": [1, None]},
    )

    assert load_response(dump_response(response)) == response


def test_a_recorded_reply_is_found_again(tmp_path: Path) -> None:
    """In this process and in the next one."""
    ReplyStore(tmp_path / "new" / "r.sqlite").put(request_of(), reply(), "f")

    assert ReplyStore(tmp_path / "new" / "r.sqlite").get(request_of(), "f") == reply()


def test_an_unknown_request_has_none(tmp_path: Path) -> None:
    """None means ask the engine."""
    assert ReplyStore(tmp_path / "r.sqlite").get(request_of(), "f") is None


@pytest.mark.parametrize(
    "other",
    [
        (request_of("Other."), "f", 0),
        (request_of(seed=1), "f", 0),
        (request_of(temperature=0.5), "f", 0),
        (request_of(), "another file", 0),
        (request_of(), "f", 1),
    ],
    ids=["text", "seed", "temperature", "fingerprint", "replicate"],
)
def test_whatever_may_change_a_reply_is_in_the_key(other: tuple) -> None:
    """A reply is never given for another request, engine or repetition."""
    assert reply_key(*other) != reply_key(request_of(), "f", 0)


def test_the_first_reply_stays(tmp_path: Path) -> None:
    """A record does not change after something was computed from it."""
    store = ReplyStore(tmp_path / "r.sqlite")
    store.put(request_of(), reply("first"), "f")

    store.put(request_of(), reply("second"), "f")

    assert store.get(request_of(), "f") == reply("first")


def test_threads_share_a_store(tmp_path: Path) -> None:
    """Nothing is lost or mixed up between threads."""
    store = ReplyStore(tmp_path / "r.sqlite")

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: store.put(request_of(f"{n}"), reply(f"{n}"), "f"), range(100)))

    assert all(store.get(request_of(f"{n}"), "f") == reply(f"{n}") for n in range(100))


def test_processes_share_a_store(tmp_path: Path) -> None:
    """Processes that start on a new file together agree on every reply."""
    path = tmp_path / "r.sqlite"

    with ProcessPoolExecutor(3, mp_context=multiprocessing.get_context("spawn")) as pool:
        found = list(pool.map(fill, [path] * 3, range(3)))

    assert len(found[0]) == 50
    assert len(set(found)) == 1


def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    """The message names the file and what to do."""
    path = tmp_path / "notes.txt"
    path.write_text("These are notes, and more of them than a header has room for. " * 20)

    with pytest.raises(ConfigError, match=r"notes\.txt.*delete the file"):
        ReplyStore(path).get(request_of(), "f")


def test_another_database_is_left_alone(tmp_path: Path) -> None:
    """A store never writes to somebody else's tables."""
    path = tmp_path / "other.sqlite"
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE theirs (x)")
    other.close()

    with pytest.raises(ConfigError, match="is not a store"):
        ReplyStore(path).put(request_of(), reply(), "f")


def test_a_damaged_reply_is_refused(tmp_path: Path) -> None:
    """A reply that is no response is an error, not an answer."""
    path = tmp_path / "r.sqlite"
    store = ReplyStore(path)
    store.put(request_of(), reply(), "f")
    store.close()
    with sqlite3.connect(path) as damaged:
        damaged.execute("UPDATE replies SET reply = '{}'")
    damaged.close()

    with pytest.raises(ConfigError, match="cannot use the recorded replies"):
        store.get(request_of(), "f")


def test_a_folder_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    """The message names the path."""
    (tmp_path / "file").write_text("")

    with pytest.raises(ConfigError, match="cannot use the recorded replies"):
        ReplyStore(tmp_path / "file" / "r.sqlite").put(request_of(), reply(), "f")


def test_a_failed_write_is_refused(tmp_path: Path) -> None:
    """A store whose table is gone says so."""
    path = tmp_path / "r.sqlite"
    store = ReplyStore(path)
    store.put(request_of(), reply(), "f")
    with sqlite3.connect(path) as other:
        other.execute("DROP TABLE replies")
    other.close()

    with pytest.raises(ConfigError, match="cannot use the recorded replies"):
        store.put(request_of(), reply(), "f")


def test_closing_twice_does_no_harm(tmp_path: Path) -> None:
    """And the next use opens the file again."""
    store = ReplyStore(tmp_path / "r.sqlite")
    store.put(request_of(), reply(), "f")
    store.close()
    store.close()

    assert store.path.name == "r.sqlite"
    assert store.get(request_of(), "f") == reply()
