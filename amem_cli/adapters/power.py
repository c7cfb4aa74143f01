"""Whether the machine runs on battery, and how the program stays out of the way."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any

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
    """Let everything else go first: the calling thread, and threads and processes it starts.

    On systems other than Linux it holds for the whole process. It is never raised.
    """
    if sys.platform == "win32":
        import psutil

        with suppress(psutil.Error):
            psutil.Process().nice(psutil.BELOW_NORMAL_PRIORITY_CLASS)
        return
    with suppress(OSError):
        os.nice(max(0, NICENESS - os.nice(0)))
