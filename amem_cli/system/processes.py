"""Processes: groups that end together, limits, and who they belong to."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import psutil


def own_group(*, below_normal: bool = False) -> dict[str, Any]:
    """Arguments of `subprocess.Popen` for a process that `end` ends with all that it starts.

    A Ctrl-C in the terminal is not meant for it.

    Args:
        below_normal: it gives way to others; elsewhere than on Windows it sees to that itself.
    """
    if sys.platform == "win32":
        flags = subprocess.CREATE_NEW_PROCESS_GROUP
        return {
            "creationflags": flags | (subprocess.BELOW_NORMAL_PRIORITY_CLASS if below_normal else 0)
        }
    return {"start_new_session": True}


def descendants(process: subprocess.Popen[bytes]) -> list[psutil.Process]:
    """What a process started, and that started, while it runs: also who left its group.

    On Windows also afterwards, since a process keeps the number of the one that started it.
    """
    import psutil

    if process.poll() is None:
        try:
            return psutil.Process(process.pid).children(recursive=True)
        except psutil.Error:
            return []
    if sys.platform != "win32":
        return []
    found = []
    for each in psutil.process_iter(["ppid"]):
        if each.info["ppid"] == process.pid:
            found.append(each)
            with suppress(psutil.Error):
                found += each.children(recursive=True)
    return found


def end(
    process: subprocess.Popen[bytes], others: Sequence[psutil.Process] = (), *, ask: bool = False
) -> None:
    """End a process of its `own_group` and its group, and other processes.

    Args:
        others: its `descendants`.
        ask: let them end by themselves; Windows has no way to ask, so they are ended there.
    """
    if sys.platform == "win32":
        with suppress(OSError):
            process.kill()
        number = signal.SIGTERM
    else:
        number = signal.SIGTERM if ask else signal.SIGKILL
        with suppress(OSError):
            os.killpg(process.pid, number)
    for each in others:
        # One that ended is no error; psutil knows it from another with the same number.
        with suppress(Exception):
            each.send_signal(number)


def is_running(number: int) -> bool:
    """Whether a process of this machine has this number; True if that cannot be told."""
    import psutil

    try:
        return psutil.pid_exists(number)
    except (OverflowError, psutil.Error):
        return True


@cache
def numbering() -> str:
    """What tells this machine's process numbers from those of others that share a folder."""
    try:
        # In a container the same numbers mean other processes.
        space = os.stat("/proc/self/ns/pid").st_ino  # noqa: PTH116
    except OSError:
        space = 0
    if sys.platform == "win32":
        return f"{os.environ.get('COMPUTERNAME', '')} {space}"
    return f"{os.uname().nodename} {space}"


def limit_this(memory_mb: int, niceness: int) -> None:
    """Let this process give way to others and take no more address space than that.

    Windows and macOS know no such limit; whoever started it ends it when its time is up.
    """
    if sys.platform == "win32":
        return
    import resource

    os.nice(niceness)
    size = memory_mb * 2**20
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_AS, (size, size))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def lower_priority() -> None:
    """Let the calling thread, and threads and processes that it starts, give way to others.

    On systems other than Linux the whole process does. The priority is never raised.
    """
    if sys.platform == "win32":
        import psutil

        with suppress(psutil.Error):
            psutil.Process().nice(psutil.BELOW_NORMAL_PRIORITY_CLASS)
        return
    with suppress(OSError):
        # As `nice` does without a number.
        os.nice(max(0, 10 - os.nice(0)))
