"""Links to notes that a terminal opens by a click (OSC 8), and addresses that open a note."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TextIO
from urllib.parse import quote

# Terminals that name themselves and have links; they are looked for in the variables below.
_PROGRAMS = frozenset(
    {"Hyper", "WarpTerminal", "WezTerm", "contour", "ghostty", "iTerm.app"}
    | {"mintty", "rio", "tabby", "vscode", "zed"}
)
_VARIABLES = ("DOMTERM", "KITTY_WINDOW_ID", "KONSOLE_VERSION", "WT_SESSION", "GHOSTTY_BIN_DIR")
_TERMS = ("xterm-kitty", "xterm-ghostty", "alacritty", "foot", "wezterm", "contour")
# The first version of VTE, which is in most of Linux's terminals, whose links do no harm.
_VTE = 5001


def has_hyperlinks(stream: TextIO, environment: Mapping[str, str]) -> bool:
    """Whether a stream is a terminal that shows links; others might print their addresses.

    `FORCE_HYPERLINK=1` says so of any, `FORCE_HYPERLINK=0` denies it.
    """
    forced = environment.get("FORCE_HYPERLINK")
    if forced:
        return forced != "0"
    term = environment.get("TERM", "")
    if not stream.isatty() or term == "dumb":
        return False
    if environment.get("TERM_PROGRAM", "") in _PROGRAMS:
        return True
    # tmux and screen pass on what the terminal around them may lack.
    if term.startswith(("tmux", "screen")):
        return False
    vte = environment.get("VTE_VERSION", "")
    is_new = vte.isdecimal() and int(vte) >= _VTE
    return is_new or term.startswith(_TERMS) or any(map(environment.get, _VARIABLES))


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
