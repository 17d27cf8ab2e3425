"""Circumstances of one compile."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import TypedDict

from redraft.artifact import ModelsGiven
from redraft.compilation import PROMOTE, Promote
from redraft.errors import ConfigError
from redraft.optimizers import Progress, SearchLimits


class CompileOptions(TypedDict, total=False):
    """Options of a compile by keyword; see `CompileRun`."""

    seed: int
    promote: Promote
    fresh: bool
    root: Path | str | None
    models: ModelsGiven
    threads: int | None
    limits: SearchLimits
    progress: Progress | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CompileRun:
    """How a compile is run; none of it but `seed` and `limits` changes what is found.

    Attributes:
        seed: Seed of every draw; splits do not depend on it.
        promote: When the artifact is put into `CURRENT`: if its gain is confirmed, also if it is
            likely, always, or never.
        fresh: Whether to ask the models again although replies are recorded; only where `models`
            is left out.
        root: The project; None for the nearest one upward from the working directory.
        models: As in `redraft.load`; None for the program's own, else those in `[tool.redraft]`
            with recorded replies.
        threads: Rows at a time; None for as many as the models take.
        limits: How much is looked at.
        progress: Called with stage, rows done, rows in all and spend so far.
    """

    seed: int = 0
    promote: Promote = "confirmed"
    fresh: bool = False
    root: Path | str | None = None
    models: ModelsGiven = None
    threads: int | None = None
    limits: SearchLimits = field(default_factory=SearchLimits)
    progress: Progress | None = None

    def __post_init__(self) -> None:
        if self.promote not in PROMOTE:
            raise ConfigError(f"promote must be one of {', '.join(PROMOTE)}, got {self.promote!r}")
