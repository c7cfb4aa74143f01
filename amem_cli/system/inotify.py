"""How many folders Linux lets a user watch; other systems set no such limit."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from amem_cli.system.processes import user_id

PROC = Path("/proc")


def watched_folders(proc: Path = PROC) -> int | None:
    """How many folders this process watches, by the kernel; None without inotify."""
    total, found = 0, False
    with suppress(OSError):
        for handle in (proc / "self/fd").iterdir():
            with suppress(OSError):
                if str(handle.readlink()).endswith("inotify"):
                    found = True
                    watches = (proc / "self/fdinfo" / handle.name).read_text(encoding="ascii")
                    total += sum(line.startswith("inotify") for line in watches.splitlines())
    return total if found else None


def limit(name: str, proc: Path = PROC) -> int | None:
    """The system's limit of this name, such as `max_user_watches`; None if it has none."""
    try:
        return int((proc / "sys/fs/inotify" / name).read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None


def instances_in_use(proc: Path = PROC) -> int:
    """How many inotify instances the user's processes hold, as far as they are visible."""
    count, user = 0, user_id()
    for process in proc.glob("[0-9]*"):
        with suppress(OSError):
            if process.stat().st_uid != user:
                continue
            for handle in os.scandir(process / "fd"):
                with suppress(OSError):
                    # Not Path.readlink: this runs for every open file of every process.
                    count += os.readlink(handle.path) == "anon_inode:inotify"  # noqa: PTH115
    return count
