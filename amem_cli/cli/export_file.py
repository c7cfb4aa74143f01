"""Writes a file that the user asked for, outside what amem itself keeps."""

from __future__ import annotations

from pathlib import Path

from amem_cli.core.errors import SettingsError


def write_export(path: Path, text: str) -> None:
    """Write text to a file of the user's choice.

    Raises:
        SettingsError: it cannot be written.
    """
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise SettingsError(f"cannot write {path}: {error.strerror}") from None
