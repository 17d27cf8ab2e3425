"""What families of models take."""

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from redraft.errors import ConfigError
from redraft.lm.capabilities import UNKNOWN, Capabilities, capabilities_of, overridden


def maintained() -> dict[str, dict[str, Any]]:
    """Return what LiteLLM's table says of Anthropic's own models."""
    spec = find_spec("litellm")
    assert spec is not None
    assert spec.origin is not None
    file = Path(spec.origin).parent / "model_prices_and_context_window_backup.json"
    table = json.loads(file.read_text("utf-8"))
    return {
        name: entry
        for name, entry in table.items()
        if entry.get("litellm_provider") == "anthropic" and "claude" in name
    }


MAINTAINED = maintained()


@pytest.mark.parametrize("name", sorted(MAINTAINED))
def test_the_table_agrees_with_the_maintained_one(name: str) -> None:
    """Another source, kept by others, says the same of every model that it knows."""
    told, known = MAINTAINED[name], capabilities_of(name)

    assert known.context_tokens == told["max_input_tokens"]
    assert known.max_output_tokens == told["max_output_tokens"]
    assert known.min_cache_tokens == told["prompt_cache_min_tokens"]
    assert known.sampling == (told.get("supports_sampling_params") is not False)
    assert known.schemas == bool(told.get("supports_native_structured_output"))
    assert bool(known.efforts) == bool(told.get("supports_output_config"))
    assert ("xhigh" in known.efforts) == bool(told.get("supports_xhigh_reasoning_effort"))
    assert ("max" in known.efforts) == bool(told.get("supports_max_reasoning_effort"))
    assert (known.thinking == "always") == bool(told.get("thinking_always_on"))
    assert (known.thinking == "default") == bool(told.get("thinking_on_by_default"))


@pytest.mark.parametrize(
    ("name", "same"),
    [
        ("claude-haiku-4-5-20251001", "claude-haiku-4-5"),
        ("us.anthropic.claude-opus-4-6-v1", "claude-opus-4-6"),
        ("anthropic.claude-haiku-4-5-20251001-v1:0", "claude-haiku-4-5"),
        ("claude-sonnet-4-5@20250929", "claude-sonnet-4-5"),
        ("Claude-Opus-5-5", "claude-opus-5-5"),
    ],
)
def test_dates_and_clouds_do_not_matter(name: str, same: str) -> None:
    """A family is a family wherever it runs."""
    assert capabilities_of(name) == capabilities_of(same) != UNKNOWN


@pytest.mark.parametrize(
    "name", ["claude-opus-9", "claude-3-5-haiku-20241022", "claude-opus-4-20250514", "gpt-4o", ""]
)
def test_what_is_not_in_the_table_is_unknown(name: str) -> None:
    """Nothing optional is sent to it."""
    assert capabilities_of(name) == UNKNOWN
    assert Capabilities() == UNKNOWN


def test_a_user_knows_better() -> None:
    """Stated values stand in place of ours, the others stay."""
    stated = {"efforts": ["low"], "sampling": True, "thinking": "never", "min_cache_tokens": 7}

    found = overridden(capabilities_of("claude-opus-5-5"), stated, "here")

    assert (found.efforts, found.sampling, found.min_cache_tokens) == (("low",), True, 7)
    assert found.context_tokens == 1_000_000
    assert not found.thinks


@pytest.mark.parametrize(
    ("stated", "words"),
    [
        ({"sampeling": True}, "did you mean 'sampling'"),
        ({"zzz": True}, "there are sampling, efforts"),
        ({"sampling": "yes"}, "true or false, got 'yes'"),
        ({"efforts": ["huge"]}, "a list out of low"),
        ({"thinking": "sometimes"}, "one of never"),
        ({"context_tokens": 0}, "1 or more, got 0"),
    ],
)
def test_wrong_statements_are_refused(stated: dict[str, object], words: str) -> None:
    """With the table's place and the nearest name."""
    with pytest.raises(ConfigError, match=words):
        overridden(UNKNOWN, stated, "here")
