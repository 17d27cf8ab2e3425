"""Where text on stdout is wrapped."""

import pytest

from redraft.cli.output import text_width


@pytest.mark.parametrize(
    ("terminal", "columns", "width"), [(True, "72", 72), (True, "180", 100), (False, "72", 100)]
)
def test_text_is_wrapped_at_a_narrow_terminal(
    monkeypatch: pytest.MonkeyPatch, terminal: bool, columns: str, width: int
) -> None:
    """A file always gets 100 columns, so that it does not depend on who wrote it."""
    monkeypatch.setenv("COLUMNS", columns)
    monkeypatch.setattr("sys.stdout.isatty", lambda: terminal)

    assert text_width() == width
