"""The computer's clock and random numbers."""

from __future__ import annotations

import secrets
import time
from datetime import datetime


class SystemClock:
    """Time and randomness of the operating system."""

    def now(self) -> datetime:
        """Local time with its offset."""
        return datetime.now().astimezone()

    def time_ns(self) -> int:
        """Nanoseconds since the epoch, as file times are counted."""
        return time.time_ns()

    def token(self) -> str:
        """Six random hexadecimal digits."""
        return secrets.token_hex(3)
