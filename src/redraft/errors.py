"""Every error that a user can meet, in one tree.

RedraftError
├── ConfigError          a setting, flag or argument is wrong
│   ├── ProjectError     no project root, a bad NAME, a file that is missing or does not load
│   ├── ProgramError     a program file, its PROGRAM, its signatures or its checks are wrong
│   ├── RubricError      a rubric file, its RUBRIC or its weights are wrong
│   ├── TrainsetError    rows that cannot be read or split
│   └── MissingExtraError  an optional dependency is not installed
├── InputError           inputs of one answer do not fit the program
├── PrepareError         the program's `prepare` raised or cannot read the inputs
├── CheckError           a user's check raised or returned something that is no gap
├── MeasureError         a user's measure raised or returned no number in [0, 1]
├── ModelError           a model cannot be used as named: unknown, not installed, bad key
├── OutageError          a model did not answer: the work is not measured
├── BudgetError          a cap is too small for the work that was asked for
├── ArtifactError        an artifact cannot be read, was changed, or belongs elsewhere
│   └── DriftError       program, rubric, rows or files differ from those it was compiled with
├── TraceError           stored answers that cannot be read, or kept
│   └── ResumeError      what would answer is not what answered before
└── ComparisonError      results that cannot be paired
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

_EXTRAS: Mapping[str, str] = MappingProxyType(
    {
        "numpy": "tune",
        "pandas": "tune",
        "pyarrow": "tune",
        "scipy": "tune",
        "statsmodels": "tune",
        "optuna": "tune",
        "xllamacpp": "local",
    }
)


class RedraftError(Exception):
    """Base of every error that Redraft raises on purpose; the message says what to do.

    Attributes:
        exit_code: What the command line exits with: 1 the work failed, 2 the call was wrong.
    """

    exit_code = 2


class ConfigError(RedraftError):
    """A setting, flag or argument is wrong."""


class ProjectError(ConfigError):
    """There is no project here, a NAME is not one, or a file of it is missing or does not load."""


class ProgramError(ConfigError):
    """A program file, its PROGRAM, its signatures or its checks are wrong."""


class RubricError(ConfigError):
    """A rubric file, its RUBRIC or its weights are wrong."""


class TrainsetError(ConfigError):
    """Rows cannot be read or split.

    Attributes:
        problems: One sentence per problem, each with file and line where there is one.
    """

    def __init__(self, message: str, problems: Sequence[str] = ()) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join((message, *(f"  {p}" for p in self.problems))))


class MissingExtraError(ConfigError):
    """An optional dependency is not installed.

    Attributes:
        extra: Name of the extra that brings it.
    """

    def __init__(self, what: str, extra: str) -> None:
        self.extra = extra
        super().__init__(f"{what} needs an optional part: pip install 'redraft[{extra}]'")


def missing_extra(error: ModuleNotFoundError, user: str) -> MissingExtraError | None:
    """Return the error that says which extra brings a module; None where none of them does.

    Args:
        error: Names the module that is missing.
        user: What uses it, such as "this command".
    """
    extra = _EXTRAS.get((error.name or "").partition(".")[0])
    return MissingExtraError(f"{user} uses {error.name}, which", extra) if extra else None


class InputError(RedraftError):
    """Inputs of one answer do not fit the program."""


class PrepareError(RedraftError):
    """The program's `prepare` raised, or cannot read the inputs.

    Attributes:
        program: Name of the program.
        row_id: The row, where there is one.
    """

    def __init__(self, message: str, *, program: str, row_id: str | None = None) -> None:
        self.program = program
        self.row_id = row_id
        super().__init__(message)


class CheckError(RedraftError):
    """A user's check raised, or returned something that is neither None nor a gap.

    Attributes:
        program: Name of the program.
        check_id: The check.
        row_id: The row, where there is one.
    """

    def __init__(
        self, message: str, *, program: str, check_id: str, row_id: str | None = None
    ) -> None:
        self.program = program
        self.check_id = check_id
        self.row_id = row_id
        super().__init__(message)


class MeasureError(RedraftError):
    """A user's measure raised, or returned no finite number in [0, 1].

    Attributes:
        program: Name of the program; empty for a rubric made in memory.
        measure_id: The measure.
        row_id: The row.
    """

    def __init__(self, message: str, *, program: str, measure_id: str, row_id: str) -> None:
        self.program = program
        self.measure_id = measure_id
        self.row_id = row_id
        super().__init__(message)


class ModelError(RedraftError):
    """A model cannot be used as it is named: unknown, not installed, bad key, bad option.

    Attributes:
        model: The name that was given.
    """

    def __init__(self, message: str, *, model: str) -> None:
        self.model = model
        super().__init__(message)


class OutageError(RedraftError):
    """A model did not answer, so the work is not measured.

    Attributes:
        model: The model that did not answer.
    """

    exit_code = 1

    def __init__(self, message: str, *, model: str) -> None:
        self.model = model
        super().__init__(message)


class BudgetError(RedraftError):
    """A cap is too small for the work that was asked for.

    Attributes:
        cap: The cap that was given.
        needed: The smallest cap that would do.
    """

    def __init__(self, message: str, *, cap: float, needed: float) -> None:
        self.cap = cap
        self.needed = needed
        super().__init__(message)


class ArtifactError(RedraftError):
    """An artifact cannot be read, was changed after it was written, or belongs elsewhere.

    Attributes:
        artifact_id: The id that was asked for; None where it could not be read.
    """

    def __init__(self, message: str, *, artifact_id: str | None = None) -> None:
        self.artifact_id = artifact_id
        super().__init__(message)


class DriftError(ArtifactError):
    """Program, rubric, rows or files differ from those the artifact was compiled with.

    Attributes:
        differences: One readable line per difference.
    """

    def __init__(self, message: str, *, artifact_id: str, differences: Sequence[str]) -> None:
        self.differences = tuple(differences)
        text = "\n".join((message, *(f"  {d}" for d in self.differences)))
        super().__init__(text, artifact_id=artifact_id)


class TraceError(RedraftError):
    """Stored answers cannot be read or kept: no such trace, or a store that is not one."""


class ResumeError(TraceError):
    """An interrupted answer cannot go on: what would answer is not what answered before.

    Attributes:
        differences: One readable line per difference.
    """

    def __init__(self, message: str, differences: Sequence[str] = ()) -> None:
        self.differences = tuple(differences)
        super().__init__("\n".join((message, *(f"  {d}" for d in self.differences))))


class ComparisonError(RedraftError):
    """Results cannot be paired: other rows, or none."""
