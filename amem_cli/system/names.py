"""Names of files: what Windows refuses, and what some disks take for the same name."""

from __future__ import annotations

import os
import re
import sys
import unicodedata
from pathlib import Path

_IS_WINDOWS = sys.platform == "win32"
# Their disks seldom tell case apart; those of macOS never tell forms of accents apart.
_USUALLY_FOLDS = sys.platform in ("win32", "darwin")
# What Windows refuses anywhere in a path, and the names that it takes for devices.
_REFUSED = re.compile(r'[<>:"\\|?*\x00-\x1f]|[ .](?:/|\Z)')
_DEVICE = re.compile(
    r"(?:\A|/)(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³]|conin\$|conout\$)"
    r"(?: *\.[^/]*)?(?=/|\Z)",
    re.IGNORECASE,
)


def is_for_windows(path: str) -> bool:
    """Whether Windows can hold a file at this path, with `/` between its names."""
    return not (_REFUSED.search(path) or _DEVICE.search(path))


def is_possible_here(path: str) -> bool:
    """Whether this system can hold it; Windows would take some names for a place elsewhere."""
    return not _IS_WINDOWS or is_for_windows(path)


def folded(text: str) -> str:
    """A path or name as disks compare it that see neither case nor the form of accents."""
    if text.isascii():
        return text.lower()
    # Folding case can take apart what was composed.
    return composed(composed(text).casefold())


def composed(text: str) -> str:
    """A name with its accents in the form that most systems give them."""
    return unicodedata.normalize("NFC", text)


def folds_names(folder: Path) -> bool:
    """Whether the disk of a folder takes names for one that are `folded` to one.

    Args:
        folder: its name must have letters.
    """
    if _USUALLY_FOLDS:
        return True
    try:
        return os.path.samestat(folder.stat(), folder.with_name(folder.name.swapcase()).stat())
    except OSError:
        return False
