"""Whether another program is writing in a file: leases, which only Linux has."""

from __future__ import annotations

import errno
import os
import signal
import sys
import time
from contextlib import suppress

_FIRST_PAUSE_S = 0.0005
# They give a lease only on files that the server has delegated to this machine for the moment.
_ANSWERED_BY_A_SERVER = ("nfs", "cifs", "smb")


def wait_for_writers(handle: int, seconds: float) -> bool:
    """Wait until nobody has a file open for writing.

    Asks for a read lease (Linux's `F_SETLEASE`), which is refused as long as there is a writer, and
    gives it back at once. If there are no leases, or not for this user, nobody is waited for.

    Args:
        handle: of the file, opened for reading only.
        seconds: how long at most.

    Returns:
        False if somebody is still writing.
    """
    until = time.monotonic() + seconds
    pause = _FIRST_PAUSE_S
    while is_being_written(handle):
        if time.monotonic() > until:
            return False
        time.sleep(pause)
        pause *= 2
    return True


def is_being_written(handle: int) -> bool:
    """Whether a read lease is refused for a file opened for reading only.

    If a server decides on leases, a refusal says nothing and does not count. Another file system
    may refuse leases on any file: ask for one on a file that nobody else knows to learn whether the
    answer means anything.
    """
    if sys.platform != "linux":
        return False
    import fcntl

    try:
        # Whoever opens the file while the lease is held makes the system send a signal. The usual
        # one, SIGIO, would end this process; this one is ignored unless somebody asked for it.
        fcntl.fcntl(handle, fcntl.F_SETSIG, signal.SIGURG)
        fcntl.fcntl(handle, fcntl.F_SETLEASE, fcntl.F_RDLCK)
    except OSError as error:
        return error.errno == errno.EAGAIN and not _is_a_servers(handle)
    with suppress(OSError):
        fcntl.fcntl(handle, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    return False


def devices_of_servers(mounts: str) -> set[tuple[int, int]]:
    """Major and minor numbers of the file systems whose leases a server decides on.

    Args:
        mounts: what Linux writes in `/proc/self/mountinfo`.
    """
    found = set()
    for line in mounts.splitlines():
        place, _, kind = line.partition(" - ")
        if kind.startswith(_ANSWERED_BY_A_SERVER):
            major, _, minor = place.split(" ")[2].partition(":")
            found.add((int(major), int(minor)))
    return found


def _is_a_servers(handle: int) -> bool:
    if sys.platform == "win32":
        return False
    try:
        with open("/proc/self/mountinfo", encoding="utf-8", errors="replace") as mounts:  # noqa: PTH123
            servers = devices_of_servers(mounts.read())
    except (OSError, ValueError, IndexError):
        return False
    device = os.fstat(handle).st_dev
    return (os.major(device), os.minor(device)) in servers
