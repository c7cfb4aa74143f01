"""Opens the user's editor and waits for it."""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
from pathlib import Path

from amem_cli.core.errors import SettingsError


def open_in_editor(path: Path) -> None:
    """Open a file in `$VISUAL` or `$EDITOR` and wait until it is closed.

    Raises:
        SettingsError: no editor is set, or it fails.
    """
    command = os.environ.get("VISUAL") or os.environ.get("EDITOR")
    if not command:
        raise SettingsError("no editor is set", hint="Set EDITOR, for example: export EDITOR=vim")
    try:
        words = shlex.split(command)
        code = subprocess.run([*words, str(path)], check=False).returncode
    except (OSError, ValueError) as error:
        raise SettingsError(f"cannot start {command!r}: {error}", hint="Check EDITOR.") from None
    if code != 0:
        raise SettingsError(f"{words[0]} ended with status {code}; the note is as it left it")


def write_in_editor(text: str) -> str:
    """Let the user write a text in the editor; returns it."""
    with tempfile.TemporaryDirectory(prefix="amem-") as folder:
        path = Path(folder) / "note.md"
        path.write_text(text, encoding="utf-8")
        open_in_editor(path)
        return path.read_text(encoding="utf-8")
