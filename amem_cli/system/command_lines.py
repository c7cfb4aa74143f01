"""Command lines: how a person's is split, how one is shown to be typed, where programs are."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

_IS_WINDOWS = sys.platform == "win32"
# Every Windows has it; elsewhere, no editor can be taken for granted.
EDITOR = "notepad" if _IS_WINDOWS else ""


def split(line: str) -> list[str]:
    """The words of a command line, without the quotes around them.

    On Windows, a backslash is part of a path and quotes nothing.

    Raises:
        ValueError: a quotation does not end.
    """
    if not _IS_WINDOWS:
        return shlex.split(line)
    words = shlex.shlex(line, posix=True, punctuation_chars=False)
    words.whitespace_split = True
    words.commenters = words.escape = ""
    return list(words)


def joined(words: Sequence[str]) -> str:
    """The words as they are typed into this system's shell."""
    return subprocess.list2cmdline(words) if _IS_WINDOWS else shlex.join(words)


def find_program(name: str, path: str | None) -> str | None:
    """The program that a name or a full path means, or None.

    The current folder is not looked into, as Windows would do first: it may be somebody else's.

    Args:
        path: the variable PATH.
    """
    if not _IS_WINDOWS:
        return shutil.which(name, path=path)
    return next(filter(os.path.isfile, _places(name, path or "")), None)


def _places(name: str, path: str) -> Iterator[str]:
    endings = os.environ.get("PATHEXT", ".COM;.EXE;.BAT;.CMD").split(";")
    has_ending = any(name.lower().endswith(ending.lower()) for ending in endings if ending)
    names = [name] if has_ending else [name + ending for ending in endings]
    folders = [""] if Path(name).is_absolute() else path.split(os.pathsep)
    for folder in folders:
        # An empty entry, too, means the current folder.
        if not folder and not Path(name).is_absolute():
            continue
        for each in names:
            yield str(Path(folder) / each)
