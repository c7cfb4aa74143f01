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
    """Whether a version of SQLite, as that of apsw, keeps an index safe."""
    if not version:
        import apsw

        version = apsw.sqlite_lib_version()
    numbers = tuple(int(part) for part in version.split(".")[:3])
    if numbers < SAFE_SQLITE:
        yield Finding(
            "system",
            "",
            f"SQLite {version} can corrupt an index that two processes use",
            'Install a newer one: pip install --upgrade "apsw>=3.51.3"',
        )


def disk_findings(root: Path, free_bytes: int | None = None) -> Iterator[Finding]:
    """Whether there is room for new notes and the index."""
    free = shutil.disk_usage(root).free if free_bytes is None else free_bytes
    if free < LEAST_FREE_BYTES:
        yield Finding(
            "system",
            "",
            f"only {free / 1024**2:.0f} MB are free on the vault's disk",
            "Free some space; a full disk stops every change, but loses none.",
        )


def place_findings(root: Path, mounts: str | None = None) -> Iterator[Finding]:
    """Whether the vault lies where the index is at risk: on a network, or in a synced folder."""
    try:
        str(root).encode()
    except UnicodeEncodeError:
        shown = str(root).encode("utf-8", "backslashreplace").decode()
        message = f"the vault's path is not UTF-8, so no index can be kept: {shown}"
        yield Finding("place", "", message, "Rename the folder.")
    kind = _file_system(root, _mounts() if mounts is None else mounts)
    if kind in _NETWORK_TYPES or (kind.startswith("fuse") and kind not in _LOCAL_FUSE):
        yield Finding(
            "place",
            "",
            f"the vault lies on a file system of another machine or program ({kind})",
            "Use it from one machine at a time; changes made elsewhere are seen late.",
            severity="notice",
        )
    synced = _syncing_program(root)
    if synced:
        yield Finding(
            "place",
            "",
            f"the vault lies in a folder that {synced} synchronises",
            "Leave .amem/index.db* out of it there if you can; the notes and the journal may go.",
            severity="notice",
        )


def watch_findings(folders: int, proc: Path = Path("/proc")) -> Iterator[Finding]:
    """Whether the system lets `amem watch` watch all folders of the vault."""
    if os.name != "posix":
        return
    limit = _number(proc / "sys/fs/inotify/max_user_watches")
    if limit is not None and folders >= limit:
        yield Finding(
            "watching",
            "",
            f"the vault has {folders} folders, and the system watches at most {limit}",
            f"sudo sysctl fs.inotify.max_user_watches={max(2 * folders, 524_288)}",
        )
    instances = _number(proc / "sys/fs/inotify/max_user_instances")
    if instances is not None:
        used = _watchers_in_use(proc)
        if used >= instances:
            yield Finding(
                "watching",
                "",
                f"{used} programs of yours watch folders, and the system allows {instances}",
                f"sudo sysctl fs.inotify.max_user_instances={max(2 * instances, 512)}",
            )


def _mounts() -> str:
    try:
        return Path("/proc/mounts").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _file_system(root: Path, mounts: str) -> str:
    """Type of the file system that a folder is on, as `/proc/mounts` names it, or nothing."""
    best, kind = -1, ""
    for line in mounts.splitlines():
        fields = line.split(" ")
        if len(fields) < 3:
            continue
        point = Path(fields[1].replace("\\040", " ").replace("\\011", "\t"))
        if root.is_relative_to(point) and len(point.parts) >= best:
            best, kind = len(point.parts), fields[2]
    return kind


def _syncing_program(root: Path) -> str:
    for part in root.parts:
        name = part.casefold()
        known = _SYNCED_NAMES.get(name)
        if known:
            return known
        # As in `Dropbox (Personal)` and `OneDrive - Company`.
        for start in ("dropbox (", "onedrive - "):
            if name.startswith(start):
                return _SYNCED_NAMES[start.rstrip(" (-")]
    return ""


def _number(path: Path) -> int | None:
    try:
        return int(path.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None


def _watchers_in_use(proc: Path) -> int:
    """How many inotify instances the user's processes hold, as far as can be seen."""
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
