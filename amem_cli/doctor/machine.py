"""Checks the machine under a vault: SQLite, the disk, the kind of file system, watch limits."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from amem_cli.doctor.finding import Finding

# The first version without the WAL-reset bug, which can corrupt a database that two processes use.
SAFE_SQLITE = (3, 51, 3)
LEAST_FREE_BYTES = 100 * 1024 * 1024

_NETWORK_TYPES = frozenset(
    {"nfs", "nfs4", "cifs", "smb3", "smbfs", "ncpfs", "afs", "ceph", "glusterfs", "lustre"}
    | {"9p", "virtiofs", "vboxsf", "prl_fs", "davfs"}
)
_LOCAL_FUSE = frozenset({"fuseblk", "fuse.lxcfs", "fusectl", "fuse.portal"})
_SYNCED_NAMES = {
    "dropbox": "Dropbox",
    "onedrive": "OneDrive",
    "icloud drive": "iCloud",
    "iclouddrive": "iCloud",
    "com~apple~clouddocs": "iCloud",
    "mobile documents": "iCloud",
    "google drive": "Google Drive",
    "googledrive": "Google Drive",
    "my drive": "Google Drive",
}


def sqlite_findings(version: str = "") -> Iterator[Finding]:
    """Whether a version of SQLite (that of apsw if empty) is safe for an index."""
    if not version:
        import apsw

        version = apsw.sqlite_lib_version()
    numbers = tuple(int(part) for part in version.split(".")[:3])
    if numbers < SAFE_SQLITE:
        message = f"SQLite {version} can corrupt an index that two processes use"
        hint = 'Install a newer one: pip install --upgrade "apsw>=3.51.3"'
        yield Finding("system", "", message, hint)


def disk_findings(root: Path, free_bytes: int | None = None) -> Iterator[Finding]:
    """Whether there is room for new notes and the index."""
    free = shutil.disk_usage(root).free if free_bytes is None else free_bytes
    if free < LEAST_FREE_BYTES:
        message = f"only {free / 1024**2:.0f} MB are free on the vault's disk"
        hint = "Free some space; a full disk stops every change, but loses none."
        yield Finding("system", "", message, hint)


def place_findings(root: Path, mounts: str | None = None) -> Iterator[Finding]:
    """Whether the vault is on a network drive or in a synced folder, a risk for the index."""
    try:
        str(root).encode()
    except UnicodeEncodeError:
        shown = str(root).encode("utf-8", "backslashreplace").decode()
        message = f"the vault's path is not UTF-8, so it cannot have an index: {shown}"
        yield Finding("place", "", message, "Rename the folder.")
    if mounts is None:
        mounts = ""
        with contextlib.suppress(OSError):
            mounts = Path("/proc/mounts").read_text(encoding="utf-8", errors="replace")
    kind = _file_system(root, mounts)
    if kind in _NETWORK_TYPES or (kind.startswith("fuse") and kind not in _LOCAL_FUSE):
        message = f"the vault is on a file system of another machine or program ({kind})"
        hint = "Use it from one machine at a time; changes made elsewhere are seen late."
        yield Finding("place", "", message, hint, severity="notice")
    synced = next((name for part in root.parts if (name := _sync_program(part))), "")
    if synced:
        message = f"the vault is in a folder that {synced} synchronises"
        hint = "Exclude .amem/index.db* there if you can; the notes and the journal may be synced."
        yield Finding("place", "", message, hint, severity="notice")


def watch_findings(folders: int, proc: Path = Path("/proc")) -> Iterator[Finding]:
    """Whether the system lets `amem watch` watch all folders of the vault."""
    if os.name != "posix":
        return
    limit = _number(proc / "sys/fs/inotify/max_user_watches")
    if limit is not None and folders >= limit:
        message = f"the vault has {folders} folders, but the system watches at most {limit}"
        hint = f"sudo sysctl fs.inotify.max_user_watches={max(2 * folders, 524_288)}"
        yield Finding("watching", "", message, hint)
    instances = _number(proc / "sys/fs/inotify/max_user_instances")
    if instances is not None and (used := _watchers_in_use(proc)) >= instances:
        message = f"{used} of your programs watch folders, but the system allows only {instances}"
        hint = f"sudo sysctl fs.inotify.max_user_instances={max(2 * instances, 512)}"
        yield Finding("watching", "", message, hint)


def _file_system(root: Path, mounts: str) -> str:
    """Type of the file system that a folder is on, as `/proc/mounts` names it; empty if unknown."""
    best, kind = -1, ""
    for line in mounts.splitlines():
        fields = line.split(" ")
        if len(fields) < 3:
            continue
        point = Path(fields[1].replace("\\040", " ").replace("\\011", "\t"))
        # Of two mounts at one point the later one hides the other.
        if root.is_relative_to(point) and len(point.parts) >= best:
            best, kind = len(point.parts), fields[2]
    return kind


def _sync_program(folder: str) -> str:
    """The program that synchronises a folder of this name; empty if none is known."""
    name = folder.casefold()
    # As in `Dropbox (Personal)` and `OneDrive - Company`.
    for start in ("dropbox (", "onedrive - "):
        if name.startswith(start):
            name = start.rstrip(" (-")
    return _SYNCED_NAMES.get(name, "")


def _number(path: Path) -> int | None:
    try:
        return int(path.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None


def _watchers_in_use(proc: Path) -> int:
    """How many inotify instances the user's processes hold, as far as they are visible."""
    count = 0
    for process in proc.glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if process.stat().st_uid != os.getuid():
                continue
            for handle in os.scandir(process / "fd"):
                with contextlib.suppress(OSError):
                    # Not Path.readlink: this runs for every open file of every process.
                    count += os.readlink(handle.path) == "anon_inode:inotify"  # noqa: PTH115
    return count
