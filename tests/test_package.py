"""The package root: its names are there when they are used, or it says what to install."""

import subprocess
import sys

import pytest

import redraft
from redraft.errors import missing_extra

WITHOUT = """
import sys
sys.modules.update(dict.fromkeys(sys.argv[1].split()))
import redraft
for name in ("evaluate", "compare", "compile_program"):
    try:
        getattr(redraft, name)
    except Exception as error:
        print(type(error).__name__, error)
redraft.load
"""


def test_a_name_without_its_extra_says_how_to_install_it() -> None:
    """Measuring and tuning name the extra; answering needs none."""
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT, "numpy pandas pyarrow scipy statsmodels optuna"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert [line.split()[1] for line in lines] == [
        "redraft.evaluate",
        "redraft.compare",
        "redraft.compile_program",
    ]
    assert all(line.startswith("MissingExtraError ") for line in lines)
    assert all(line.endswith("pip install 'redraft[tune]'") for line in lines)


def test_another_missing_module_is_not_an_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    """What no extra brings is told as Python tells it."""
    monkeypatch.setitem(sys.modules, "redraft.comparison", None)

    with pytest.raises(ModuleNotFoundError, match=r"redraft\.comparison"):
        _ = redraft.compare


@pytest.mark.parametrize(
    ("module", "extra"),
    [("scipy.stats", "tune"), ("xllamacpp", "local"), ("fastapi", None), (None, None)],
)
def test_a_missing_module_has_its_extra(module: str | None, extra: str | None) -> None:
    """By the name of its package."""
    error = missing_extra(ModuleNotFoundError("no", name=module), "this command")

    assert (error and error.extra) == extra
