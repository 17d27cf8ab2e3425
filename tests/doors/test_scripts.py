"""The scripts that people run in a clone."""

import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_live_tests_need_a_key_and_say_what_they_cost() -> None:
    """Before anything is installed or asked."""
    without = {name: value for name, value in os.environ.items() if name != "ANTHROPIC_API_KEY"}

    ended = subprocess.run(
        [ROOT / "scripts" / "test", "live"],
        env=without,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )

    assert ended.returncode == 1
    assert "ANTHROPIC_API_KEY" in ended.stderr
    assert "under 5 cents" in ended.stderr
