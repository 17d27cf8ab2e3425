"""Keys that must not be written down: known shapes, and values of this environment."""

import re
from collections.abc import Iterator, Mapping

from redraft.errors import ArtifactError

SECRET_NAMES = ("_API_KEY", "_TOKEN", "_SECRET")
SHORTEST_VALUE = 12

_SHAPES = tuple(
    (what, re.compile(pattern))
    for what, pattern in (
        ("an Anthropic key", r"sk-ant-[\w-]{20,}"),
        ("an API key", r"\bsk-(?!ant-)[\w-]{20,}"),
        ("an AWS key", r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"),
        ("a GitHub token", r"\b(?:gh[pousr]_\w{30,}|github_pat_\w{30,})"),
        ("a GitLab token", r"\bglpat-[\w-]{20,}"),
        ("a Google key", r"\bAIza[\w-]{35}"),
        ("a Hugging Face token", r"\bhf_[A-Za-z]\w{29,}"),
        ("a Slack token", r"\bxox[abeoprs]-[\w-]{10,}"),
        ("a private key", r"-----BEGIN [A-Z ]*PRIVATE KEY-----"),
    )
)


def refuse_secrets(values: Mapping[str, object], environment: Mapping[str, str]) -> None:
    """Make sure that nothing which is about to be written holds a key.

    Args:
        values: What is to be written, by file; texts or JSON-ready values.
        environment: Variables whose values must not be written where their names end in
            `_API_KEY`, `_TOKEN` or `_SECRET`.

    Raises:
        ArtifactError: A key was found; the message says where, and never repeats it.
    """
    known = {
        name: value
        for name, value in environment.items()
        if name.upper().endswith(SECRET_NAMES) and len(value) >= SHORTEST_VALUE
    }
    for where, text in _texts(values, ""):
        what = _secret_in(text, known)
        if what is not None:
            raise ArtifactError(
                f"{where} holds {what}, so nothing was written; remove it from the program, the "
                "rows or the settings, revoke it if others may have seen it, and compile again"
            )


def _secret_in(text: str, known: Mapping[str, str]) -> str | None:
    for name, value in known.items():
        if value in text:
            return f"the value of the environment variable {name}"
    return next((what for what, shape in _SHAPES if shape.search(text)), None)


def _texts(value: object, where: str) -> Iterator[tuple[str, str]]:
    """Yield every text in a value with its place, keys included."""
    if isinstance(value, str):
        yield where, value
    elif isinstance(value, Mapping):
        for key, part in value.items():
            place = f"{where} > {key}" if where else str(key)
            yield where, str(key)
            yield from _texts(part, place)
    elif isinstance(value, list | tuple):
        for number, part in enumerate(value, start=1):
            yield from _texts(part, f"{where} > {number}")
