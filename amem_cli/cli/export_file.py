"""Writes a file that the user asked for, outside what amem itself keeps."""

from __future__ import annotations

from pathlib import Path

from amem_cli.core.errors import SettingsError, UsageError

_OWN_FOLDER = ".amem"


def write_export(path: Path, content: str | bytes) -> None:
    """Write a file of the user's choice, text as UTF-8.

    Raises:
        UsageError: it lies where settings, journal and index are.
        SettingsError: it cannot be written.
    """
    if _OWN_FOLDER in path.resolve().parts:
        raise UsageError(f"{path} is in amem's own folder", hint="Write it somewhere else.")
    try:
        if isinstance(content, bytes):
            path.write_bytes(content)
        else:
            path.write_text(content, encoding="utf-8")
    except OSError as error:
        raise SettingsError(
            f"cannot write {path}: {error.strerror}", hint="Name a file in a folder that is there."
        ) from None
