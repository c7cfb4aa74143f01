"""The computer's clock and random numbers."""

from __future__ import annotations

import time
from datetime import datetime


class SystemClock:
    """Time and randomness of the operating system."""

    def __init__(self) -> None:
        self._last = 0

    def now(self) -> datetime:
        """Local time with its offset."""
        return datetime.now().astimezone()

    def time_ns(self) -> int:
        """Nanoseconds since the epoch, as file times are counted."""
        return time.time_ns()

    def moment(self, after: int) -> int:
        """Microseconds since the epoch, later than `after` and than every one given before."""
        # Events keep their order even if the clock is set back between two of them.
        self._last = max(time.time_ns() // 1000, after + 1, self._last + 1)
        return self._last

    def token(self) -> str:
        """Six random hexadecimal digits."""
        import secrets

        return secrets.token_hex(3)
