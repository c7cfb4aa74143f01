"""Links to notes that a terminal opens by a click (OSC 8), and addresses that open a note."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TextIO
from urllib.parse import quote

# Those without links that print their addresses, or hand them to one that may.
_WITHOUT = ("dumb", "linux", "unknown", "eterm", "screen", "tmux")


def has_hyperlinks(stream: TextIO, environment: Mapping[str, str]) -> bool:
    """Whether a stream is a terminal that shows links, or nothing for them.

    `FORCE_HYPERLINK=1` says so of any, `FORCE_HYPERLINK=0` denies it.
    """
    forced = environment.get("FORCE_HYPERLINK")
    if forced:
        return forced != "0"
    term = environment.get("TERM") or ("xterm" if "WT_SESSION" in environment else "dumb")
    return stream.isatty() and not term.startswith(_WITHOUT)


class Hyperlinks:
    """Makes links of the names of a vault's notes.

    Args:
        root: the vault's folder; None makes no links.
    """

    def __init__(self, root: Path | None = None) -> None:
        self._root = root

    def to(self, path: str, style: str = "") -> str:
        """A style of `Styled` by which a text links to the note at this path."""
        if self._root is None:
            return style
        return f"{style} link {file_address(self._root / path)}".lstrip()


def file_address(path: Path) -> str:
    """`file://…` of an absolute path, of characters that no terminal takes for an end."""
    return path.absolute().as_uri()


def obsidian_address(path: Path) -> str:
    """`obsidian://…` by which Obsidian opens a file of a vault that it knows."""
    return f"obsidian://open?path={quote(str(path.absolute()), safe='')}"
