"""Names for files that are being written, which tell by whom, and whether those are gone."""

from __future__ import annotations

import os
import re
from functools import cache

TEMPORARY_PREFIX = ".amem-"
TEMPORARY_SUFFIX = ".tmp"
ABANDONED_NS = 3600 * 10**9

_WRITER = re.compile(r"\.amem-([0-9a-f]{8})-([0-9a-f]{1,12})-[0-9a-f]+\.tmp")


def temporary_name(mark: str) -> str:
    """A name for a file that is being written, which tells by whom.

    Args:
        mark: hexadecimal digits that tell it from others of this process.
    """
    return f"{TEMPORARY_PREFIX}{_machine()}-{os.getpid():x}-{mark}{TEMPORARY_SUFFIX}"


def is_abandoned(name: str, modified_ns: int, now_ns: int) -> bool:
    """Whether a temporary file's writer is gone, or has had time enough in any case."""
    writer = _WRITER.fullmatch(name)
    if writer and writer[1] == _machine() and not _is_alive(int(writer[2], 16)):
        return True
    return now_ns - modified_ns > ABANDONED_NS


@cache
def _machine() -> str:
    """Eight digits that tell this machine's processes from those that share its folders."""
    import zlib

    try:
        numbering = os.stat("/proc/self/ns/pid").st_ino  # noqa: PTH116
    except OSError:
        numbering = 0
    node = os.uname().nodename if hasattr(os, "uname") else os.environ.get("COMPUTERNAME", "")
    return f"{zlib.crc32(f'{node} {numbering}'.encode()):08x}"


def _is_alive(process: int) -> bool:
    if os.name == "nt":
        # Asking there would end the process.
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True
