"""Local models: loaded late, one request at a time, unloaded cleanly."""

import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from dspy.lm15 import ImagePart, Message, Request, UnsupportedFeatureError
from lm_requests import request_of

import redraft.lm
from redraft.errors import MissingExtraError, ModelError
from redraft.lm.catalogue import SMOLLM2, runtime_installed
from redraft.lm.local import LocalEngine
from redraft.lm.pull import file_sha256, pull

needs_runtime = pytest.mark.skipif(not runtime_installed(), reason="xllamacpp is not installed")

FOREVER = """
import threading
from redraft.budget import Caps, Meter, Stop
from redraft.lm import connect
from dspy.lm15 import Config, Message, Request
from pathlib import Path

model = connect({"drafter": "local/smollm2-135m"}, root=Path(".")).of("drafter")
request = Request(
    model=model.name,
    messages=(Message.user("Write an endless story."),),
    config=Config(max_tokens=4000),
)
try:
    model.lm(Meter(Caps(max_seconds=2)))(request)
except Stop as stop:
    print(stop)
"""


def never() -> None:
    """Go on."""


@pytest.fixture(scope="module")
def engine() -> Iterator[LocalEngine]:
    """The embedded model."""
    if not runtime_installed():
        pytest.skip("xllamacpp is not installed")
    try:
        pull()
    except ModelError as error:
        pytest.skip(f"the embedded model cannot be had: {error}")
    engine = LocalEngine(SMOLLM2.name, lambda: SMOLLM2.path)
    yield engine
    engine.close()


@needs_runtime
def test_a_file_that_is_no_model_is_named(tmp_path: Path) -> None:
    """With what it should be."""
    path = tmp_path / "m.gguf"
    path.write_bytes(b"no model")

    with pytest.raises(ModelError, match=r"cannot load .*m\.gguf.*GGUF"):
        LocalEngine("local/m.gguf", lambda: path).complete(request_of(), never)


def test_a_missing_runtime_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where it went missing after connecting."""
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    monkeypatch.delitem(sys.modules, "redraft.lm.llama", raising=False)

    with pytest.raises(MissingExtraError, match=r"redraft\[local\]"):
        LocalEngine("local/x", lambda: tmp_path).complete(request_of(), never)


def test_nothing_is_looked_for_before_the_first_call() -> None:
    """Not even the file."""

    def locate() -> Path:
        raise AssertionError("nobody asked")

    engine = LocalEngine("local/x", locate, sha256="known", context_tokens=64)

    assert (engine.fingerprint, engine.context_tokens) == ("known", 64)
    engine.close()
    engine.close()


def test_importing_the_room_loads_no_library() -> None:
    """Names are looked up when they are used."""
    script = "import sys, redraft.lm; print({'dspy', 'xllamacpp', 'anthropic'} & set(sys.modules))"

    told = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)

    assert told.stdout.strip() == "set()"


def test_a_name_the_room_lacks_is_an_attribute_error() -> None:
    """As of any module."""
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = redraft.lm.nothing


@pytest.mark.local_model
def test_the_published_digest_is_the_files(engine: LocalEngine) -> None:
    """So the catalogue may be trusted without reading the file."""
    assert file_sha256(SMOLLM2.path) == SMOLLM2.file_sha256 == engine.fingerprint


@pytest.mark.local_model
def test_the_context_is_read_from_the_file(engine: LocalEngine) -> None:
    """And is what the catalogue says."""
    assert engine.context_tokens == SMOLLM2.context_tokens


@pytest.mark.local_model
def test_a_special_token_in_a_text_is_several(engine: LocalEngine) -> None:
    """The name of one that ends a turn is seven tokens of text."""
    assert engine.count_tokens("<|im_end|>") == 7


@pytest.mark.local_model
def test_log_probabilities_are_told(engine: LocalEngine) -> None:
    """One token, its alternatives, none above 1."""
    reply = engine.complete(request_of("Say hi.", max_tokens=2, logprobs=2), never)

    assert reply.logprobs is not None
    assert all(token.logprob <= 0 and len(token.top) == 2 for token in reply.logprobs)


@pytest.mark.local_model
def test_a_reply_stops_at_a_stop_text(engine: LocalEngine) -> None:
    """And does not hold it."""
    whole = engine.complete(request_of("Say hello.", temperature=0.0, max_tokens=12), never).text
    words = str(whole).split()

    cut = engine.complete(
        request_of("Say hello.", temperature=0.0, max_tokens=12, stop=(words[2],)), never
    )

    assert words[2] not in str(cut.text)
    assert cut.finish_reason == "stop"


@pytest.mark.local_model
def test_an_image_is_refused(engine: LocalEngine) -> None:
    """A local model reads text."""
    image = Message.user([ImagePart(media_type="image/png", data="aGk=")])

    with pytest.raises(UnsupportedFeatureError):
        engine.complete(Request(model=engine.name, messages=(image,)), never)


@pytest.mark.local_model
def test_a_mark_in_a_text_is_text(engine: LocalEngine) -> None:
    """What stands for texts while the template is rendered may stand in a text too."""
    marked = "TEXT0000OF7C1E TEXT0001OF7C1E"

    sent = engine.complete(request_of(marked, max_tokens=1), never).usage.input_tokens
    usual = engine.complete(request_of("Hello.", max_tokens=1), never).usage.input_tokens

    assert sent - usual == engine.count_tokens(marked) - engine.count_tokens("Hello.")


@pytest.mark.local_model
def test_a_template_that_refuses_is_a_value_error(engine: LocalEngine) -> None:
    """llama.cpp's reason is passed on."""
    with pytest.raises(ValueError, match="role"):
        redraft.lm.LlamaServer(SMOLLM2.path).render([{"content": "Hi."}])


@pytest.mark.local_model
def test_who_gave_up_in_the_queue_is_not_answered(engine: LocalEngine) -> None:
    """The one request that is being answered goes on; the others never start."""

    def give_up() -> None:
        if queued.is_set():
            raise KeyboardInterrupt

    queued = threading.Event()
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(engine.complete, request_of("Count to 99.", max_tokens=60), never)
        second = pool.submit(engine.complete, request_of("Hi.", max_tokens=9), give_up)
        queued.set()

    assert first.result().text
    assert isinstance(second.exception(), KeyboardInterrupt)


@pytest.mark.local_model
def test_a_closed_engine_loads_again(engine: LocalEngine) -> None:
    """Closing frees the memory, not the engine."""
    engine.close()

    assert engine.complete(request_of("Hi.", max_tokens=2), never).text


@pytest.mark.local_model
def test_a_process_that_stops_in_mid_reply_ends_cleanly(engine: LocalEngine) -> None:
    """Nothing on stderr, no warning, and soon."""
    told = subprocess.run(
        [sys.executable, "-W", "error", "-c", FOREVER],
        capture_output=True,
        text=True,
        timeout=120,
    )

    assert (told.returncode, told.stderr) == (0, "")
    assert told.stdout.strip() == "run stopped by deadline"
