"""The text of journal lines, for a check to see what became of those that cannot be read."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from amem_cli.adapters.own_folder import own_files


def journal_lines(folder: Path, name: str) -> Sequence[str]:
    """The lines of one of the journal's files; none where it cannot be read."""
    for path in own_files(folder, "*.jsonl"):
        if path.name == name:
            with suppress(OSError):
                return path.read_bytes().decode("utf-8", "replace").split("\n")
    return ()
