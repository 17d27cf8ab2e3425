"""Let a person edit a text in the editor of their choice."""

import os
import shlex
import subprocess
import tempfile
from pathlib import Path

from redraft.errors import ConfigError


def edit_text(text: str) -> str:
    """Open a text in `$VISUAL` or `$EDITOR` and return what was saved.

    Raises:
        ConfigError: Neither is set, or the editor cannot be run or fails.
    """
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR")
    if not editor:
        raise ConfigError("no editor is named; set EDITOR to the command of one")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "artifact.toml"
        path.write_text(text, "utf-8")
        try:
            subprocess.run([*shlex.split(editor), str(path)], check=True)
        except (OSError, subprocess.CalledProcessError) as error:
            raise ConfigError(
                f"the editor {editor!r} failed: {error}; nothing was saved"
            ) from error
        return path.read_text("utf-8")
