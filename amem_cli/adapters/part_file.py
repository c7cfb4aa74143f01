"""A file that has come in part, and beside it what it is a part of."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path


def state_file(part: Path) -> Path:
    """Where it is noted what a part file is a part of."""
    return part.with_name(part.name + ".json")


def size_of(path: Path) -> int:
    """Bytes of a file, 0 where there is none."""
    try:
        return path.stat().st_size
    except OSError:
        return 0


def read_state(part: Path, url: str) -> str:
    """The validator of what the part is of, or an empty text where it is to be begun anew."""
    try:
        state = json.loads(state_file(part).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return ""
    known = isinstance(state, dict) and state.get("url") == url
    mark = state.get("etag") if known else ""
    return mark if isinstance(mark, str) else ""


def begin(part: Path, url: str, mark: str) -> None:
    """Make an empty part file, and note what it is a part of.

    Raises:
        OSError: it cannot be written.
    """
    # An empty part file first: a validator must never stand beside bytes of another version.
    part.write_bytes(b"")
    state_file(part).write_text(json.dumps({"url": url, "etag": mark}), encoding="utf-8")


def forget(part: Path) -> None:
    """Delete a part file and what is noted of it."""
    for path in (part, state_file(part)):
        with contextlib.suppress(OSError):
            path.unlink()
