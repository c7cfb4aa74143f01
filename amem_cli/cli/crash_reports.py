"""What is kept of a bug for its report: the traceback, without keys and passwords."""

from __future__ import annotations

import os
import time
import traceback
from pathlib import Path

from amem_cli.language.safe_text import redacted
from amem_cli.settings import user_state_folder

TRACEBACKS_KEPT = 20


def traceback_of(error: BaseException) -> str:
    """The traceback as text, without keys and passwords."""
    return redacted("".join(traceback.format_exception(error)), os.environ)


def keep_traceback(error: BaseException) -> Path | str:
    """Write the traceback to the user's state folder; returns where, or how to see it."""
    folder = user_state_folder() / "crashes"
    path = folder / f"{time.strftime('%Y%m%dT%H%M%S')}-{time.time_ns() % 10**6:06d}.log"
    try:
        # mkdir(parents=True) would make the parent readable by everybody.
        folder.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        folder.mkdir(exist_ok=True, mode=0o700)
        path.write_text(traceback_of(error), encoding="utf-8")
        path.chmod(0o600)
        for old in sorted(folder.glob("*.log"))[:-TRACEBACKS_KEPT]:
            old.unlink()
    except OSError:
        return "the output of --verbose"
    return path
