"""What each family of Claude models takes: sampling options, effort, limits, prefix cache."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from difflib import get_close_matches
from typing import Literal, get_args

from redraft.errors import ConfigError
from redraft.records import Effort

Thinking = Literal["never", "asked", "default", "always"]

_BASIC: tuple[Effort, ...] = ("low", "medium", "high")
_WITH_MAX: tuple[Effort, ...] = (*_BASIC, "max")
_ALL: tuple[Effort, ...] = (*_BASIC, "xhigh", "max")


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """What one model takes. The defaults are those of a model that nothing is known about.

    Attributes:
        sampling: Whether `temperature` and its like are taken; others refuse them.
        efforts: Levels of effort that are taken; empty where there is no such setting.
        schemas: Whether replies can be held to a JSON schema.
        thinking: When the model thinks before it replies: never, only when asked to, unless told
            not to, or always. What it thinks counts in `max_tokens`.
        min_cache_tokens: Tokens from which a prefix is cached; None where no mark is sent.
        context_tokens: Tokens that prompt and reply may have together; None when unknown.
        max_output_tokens: Tokens that a reply may have; None when unknown.
    """

    sampling: bool = False
    efforts: tuple[Effort, ...] = ()
    schemas: bool = False
    thinking: Thinking = "never"
    min_cache_tokens: int | None = None
    context_tokens: int | None = None
    max_output_tokens: int | None = None

    @property
    def thinks(self) -> bool:
        """Whether a plain request makes the model think."""
        return self.thinking in ("default", "always")


UNKNOWN = Capabilities()

_SMALL = Capabilities(sampling=True, schemas=True, context_tokens=200_000, max_output_tokens=64_000)
_LARGE = Capabilities(
    efforts=_ALL, schemas=True, context_tokens=1_000_000, max_output_tokens=128_000
)

# By family and version; dates and cloud prefixes around them do not matter. A test holds these
# rows and the maintained table of prices and limits that DSPy carries together.
_FAMILIES: Mapping[str, Capabilities] = {
    "haiku-4-5": replace(_SMALL, min_cache_tokens=4096),
    "sonnet-4-5": replace(_SMALL, min_cache_tokens=1024),
    "opus-4-5": replace(_SMALL, efforts=_BASIC, min_cache_tokens=4096),
    "sonnet-4-6": replace(
        _LARGE, sampling=True, efforts=_WITH_MAX, thinking="asked", min_cache_tokens=1024
    ),
    "opus-4-6": replace(
        _LARGE, sampling=True, efforts=_WITH_MAX, thinking="asked", min_cache_tokens=4096
    ),
    "opus-4-7": replace(_LARGE, thinking="asked", min_cache_tokens=2048),
    "opus-4-8": replace(_LARGE, thinking="asked", min_cache_tokens=1024),
    "sonnet-5": replace(_LARGE, thinking="default", min_cache_tokens=1024),
    "opus-5": replace(_LARGE, thinking="default", min_cache_tokens=512),
    "haiku-5-5": replace(_LARGE, thinking="default", min_cache_tokens=512),
    "sonnet-5-5": replace(_LARGE, thinking="always", min_cache_tokens=512),
    "opus-5-5": replace(_LARGE, thinking="always", min_cache_tokens=512),
    "fable-5": replace(_LARGE, thinking="always", min_cache_tokens=512),
    "fable-5-1": replace(_LARGE, thinking="always", min_cache_tokens=512),
    "mythos-5": replace(_LARGE, thinking="always", min_cache_tokens=512),
    "mythos-5-1": replace(_LARGE, thinking="always", min_cache_tokens=512),
    "mythos-preview": replace(_LARGE, thinking="always", min_cache_tokens=512),
}

# A version has one or two digits; eight are a date.
_FAMILY = re.compile(r"claude-([a-z]+-(?:preview|\d{1,2}(?!\d)(?:-\d{1,2}(?!\d))?))")


def capabilities_of(model: str) -> Capabilities:
    """Return what a model takes; `UNKNOWN` for a family or version that is not in the table.

    Args:
        model: The model as a provider names it, with or without a date or a cloud's prefix.
    """
    found = _FAMILY.search(model.lower())
    return UNKNOWN if found is None else _FAMILIES.get(found[1], UNKNOWN)


def overridden(known: Capabilities, table: Mapping[str, object], where: str) -> Capabilities:
    """Return capabilities with those that a user states in place of ours.

    Args:
        known: What the table says.
        table: Values by the names of the attributes of `Capabilities`.
        where: The table's place, for errors.

    Raises:
        ConfigError: A name is unknown or a value has the wrong type.
    """
    names = [field.name for field in fields(Capabilities)]
    values: dict[str, object] = {}
    for name, value in table.items():
        if name not in names:
            near = get_close_matches(name, names, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(names)}"
            raise ConfigError(f"{where}: there is no setting {name!r}; {hint}")
        values[name] = _checked(name, value, where)
    return replace(known, **values)  # type: ignore[arg-type]  # checked by `_checked`


def _checked(name: str, value: object, where: str) -> object:
    if name in ("sampling", "schemas"):
        wanted, fits = "true or false", isinstance(value, bool)
    elif name == "thinking":
        wanted, fits = f"one of {', '.join(get_args(Thinking))}", value in get_args(Thinking)
    elif name == "efforts":
        wanted = f"a list out of {', '.join(_ALL)}"
        fits = isinstance(value, list) and all(level in _ALL for level in value)
        value = tuple(value) if isinstance(value, list) else value
    else:
        wanted = "a whole number of 1 or more"
        fits = isinstance(value, int) and not isinstance(value, bool) and value >= 1
    if not fits:
        raise ConfigError(f"{where}: {name} must be {wanted}, got {value!r}")
    return value
