"""Writes a small JSON file in the user's state folder so that it is there whole or as it was."""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path

from amem_cli.core.errors import SettingsError


def write_state(path: Path, document: object) -> None:
    """Put a document in place of the former one.

    Raises:
        SettingsError: it cannot be written.
    """
    # Two programs that write at once each have a file of their own until it is whole.
    temporary = path.with_suffix(f".{os.getpid()}.new")
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        temporary.write_text(json.dumps(document, indent=1), encoding="utf-8")
        temporary.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise SettingsError(
            f"{path} cannot be written: {error.strerror}",
            hint="Check the folder and the disk; AMEM_STATE_DIR names another folder.",
        ) from None
