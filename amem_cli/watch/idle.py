"""When the memory process pauses: on battery, at a low priority, or on another machine.

A vault may be cloned on several machines; their files in `.amem/devices` decide which one works.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, timezone
from itertools import islice
from pathlib import Path
from typing import Any

from amem_cli.errors import SettingsError
from amem_cli.vault.dir_handle import make_own_folder, own_files, read_own_file
from amem_cli.vault.safe_write import create_file

# As `nice` does without a number.
NICENESS = 10


def on_battery(read: Callable[[], Any] | None = None) -> bool:
    """True if the machine draws on its battery; False if that is not known.

    Args:
        read: what to ask, as `psutil.sensors_battery`.
    """
    try:
        if read is None:
            import psutil

            read = getattr(psutil, "sensors_battery", None)
        battery = read() if read is not None else None
    except Exception:  # Drivers of batteries answer in unforeseen ways.
        return False
    return battery is not None and battery.power_plugged is False


def lower_priority() -> None:
    """Lower the priority of the calling thread, and of threads and processes that it starts.

    On systems other than Linux it is that of the whole process. It is never raised.
    """
    if sys.platform == "win32":
        import psutil

        with suppress(psutil.Error):
            psutil.Process().nice(psutil.BELOW_NORMAL_PRIORITY_CLASS)
        return
    with suppress(OSError):
        os.nice(max(0, NICENESS - os.nice(0)))


FIRST, ANY = "first", "any"
FOLDER = "devices"
MOST_DEVICES = 1000
_LARGEST_FILE = 4096
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,31}", re.ASCII)
_SINCE = "%Y-%m-%dT%H:%M:%SZ"


def register(state_folder: Path, machine: str, now: datetime) -> bool:
    """Record that this machine watches the vault, for the setting `first`; once is enough.

    Args:
        state_folder: the vault's `.amem`.
        machine: this machine's name.
        now: with its offset from UTC.

    Returns:
        True if a file was written.

    Raises:
        SettingsError: it cannot be written.
    """
    if not _NAME.fullmatch(machine):
        raise SettingsError(
            f"this machine's name {machine!r} cannot name a file",
            hint="Delete the file `machine` in the user's state folder; a new name is made.",
        )
    path = state_folder / FOLDER / f"{machine}.json"
    if _since(path):
        return False
    record = {"machine": machine, "since": now.astimezone(timezone.utc).strftime(_SINCE)}
    try:
        make_own_folder(path.parent)
        # A file that is not valid, as after a merge by hand, counts nowhere.
        path.unlink(missing_ok=True)
        create_file(path, json.dumps(record).encode() + b"\n")
    except OSError as error:
        raise SettingsError(
            f"cannot write {FOLDER}/{path.name}: {error.strerror}",
            hint="Check .amem's permissions.",
        ) from None
    return True


def evolving_machine(state_folder: Path, setting: str, machine: str) -> str:
    """The machine whose watcher runs the memory process.

    Every clone draws the same answer from the same files, whatever its clock says.

    Args:
        state_folder: the vault's `.amem`.
        setting: `first`: the one that has watched the vault for longest; `any`: each; or a name.
        machine: this machine's name.
    """
    if setting == ANY:
        return machine
    if setting != FIRST:
        return setting
    files = islice(own_files(state_folder / FOLDER, "*.json"), MOST_DEVICES)
    known = [(since, path.stem) for path in files if (since := _since(path))]
    return min(known)[1] if known else machine


def _since(path: Path) -> str:
    """Since when a machine has watched the vault; empty if its file does not say."""
    try:
        record = json.loads(read_own_file(path, _LARGEST_FILE))
        machine, since = record["machine"], str(record["since"])
        # Moments are compared as text, so each must be written in the one form.
        written = datetime.strptime(since, _SINCE).strftime(_SINCE) == since
        valid = machine == path.stem and _NAME.fullmatch(machine) and written
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return ""
    return since if valid else ""
