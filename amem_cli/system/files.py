"""Files that other programs hold open, and what only some systems know of a file."""

from __future__ import annotations

import os
import stat
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

# Flags of `os.open`, 0 where the system has none.
NO_LINK = getattr(os, "O_NOFOLLOW", 0)
# A pipe without a writer is not waited for.
NO_WAIT = getattr(os, "O_NONBLOCK", 0)
FOLDER = getattr(os, "O_DIRECTORY", 0)
# Windows lists folders without inodes, so they cannot tell files apart there.
LISTS_INODES = sys.platform != "win32"
# As bytes, and not for programs that are started.
PLAIN = getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)

# Virus scanners and search indexers look into a new file for a moment.
HELD_SECONDS = 2.0
_FIRST_PAUSE_S = 0.01
# Access denied, sharing violation, lock violation, user-mapped section open.
_HELD_CODES = (5, 32, 33, 1224)

# The tag of a folder that leads to another one (IO_REPARSE_TAG_MOUNT_POINT).
_JUNCTION = 0xA0000003

T = TypeVar("T")


def is_held(error: OSError) -> bool:
    """Whether another program has the file open, which Windows refuses for a moment or for long."""
    return getattr(error, "winerror", None) in _HELD_CODES


def patiently(call: Callable[[], T]) -> T:
    """Make a call again while another program holds the file, for a bounded time.

    Windows neither replaces nor deletes a file that is open elsewhere; other systems do both.

    Raises:
        OSError: the last refusal.
    """
    until = 0.0
    pause = _FIRST_PAUSE_S
    while True:
        try:
            return call()
        except OSError as error:
            now = time.monotonic()
            until = until or now + HELD_SECONDS
            if not is_held(error) or now > until:
                raise
        time.sleep(pause)
        pause *= 2


def move_over(source: Path, target: Path) -> None:
    """Give a file the name of another, which is gone; waits for who holds that one open."""
    patiently(lambda: source.replace(target))


def is_link(status: os.stat_result) -> bool:
    """Whether a name leads elsewhere, by `os.lstat`: a symbolic link, a junction of Windows."""
    tag = getattr(status, "st_reparse_tag", 0)
    return stat.S_ISLNK(status.st_mode) or tag == _JUNCTION


def is_junction(entry: os.DirEntry[str]) -> bool:
    """Whether a folder of a listing leads elsewhere, as only folders of Windows may."""
    return sys.platform == "win32" and is_link(entry.stat(follow_symlinks=False))


def take_attributes(new: int, old: int) -> None:
    """Give an open file the owner, labels and mode of another, as far as this user may.

    On Windows, a file has what its folder gives it.
    """
    if sys.platform == "win32":
        return
    before, now = os.fstat(old), os.fstat(new)
    # One by one: who may not change the owner may still be allowed to change the group.
    for user, group in ((before.st_uid, -1), (-1, before.st_gid)):
        if (user, group) not in ((now.st_uid, -1), (-1, now.st_gid)):
            with suppress(OSError):
                os.fchown(new, user, group)
    if sys.platform == "linux":
        with suppress(OSError):
            for name in os.listxattr(old):
                if name.startswith("user.") or name == "system.posix_acl_access":
                    os.setxattr(new, name, os.getxattr(old, name))
    # Changing the owner may clear bits of the mode.
    os.fchmod(new, stat.S_IMODE(before.st_mode))
