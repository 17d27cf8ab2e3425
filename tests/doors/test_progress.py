"""The progress bar: on stderr only, and with the spend so far."""

import doctest

import pytest
from doors import Command

from redraft.cli import numbers, progress
from redraft.cli.progress import progress_bar, spent_so_far
from redraft.records import Usage


@pytest.mark.usefixtures("project")
def test_bar_stays_out_of_stdout(redraft: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a terminal the bar shows rows and spend, and the answer is still alone on stdout."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "200")

    shown = redraft("evaluate", "order_note", "--rows", "3", "--json")

    assert shown.out.startswith("{")
    assert "3/3" in shown.err
    assert "3 calls" in shown.err


def test_bar_names_the_stage(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The bar of a compile says what is being done."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "200")

    with progress_bar("compile") as bar:
        bar.stage("gate", 1, 2, Usage(calls=3))

    assert "gate" in capfd.readouterr().err


def test_an_unknown_price_is_said() -> None:
    """It is never shown as 0."""
    assert "price unknown" in spent_so_far(Usage(calls=1, cost_usd=None))


@pytest.mark.parametrize("module", [numbers, progress])
def test_examples_in_docstrings(module: object) -> None:
    """What a docstring shows is what comes out."""
    assert doctest.testmod(module).failed == 0  # type: ignore[arg-type]
