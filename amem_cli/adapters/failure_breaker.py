"""Stops asking something that keeps failing, for a while."""

from __future__ import annotations

import time
from collections.abc import Callable


class FailureBreaker:
    """Counts failures in a row; open, which means do not ask, from the limit on until some rest.

    After the rest one attempt is let through: its success closes the breaker, its failure opens it
    for another rest.
    """

    def __init__(
        self, limit: int, rest_seconds: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._limit = limit
        self._rest_seconds = rest_seconds
        self._clock = clock
        self._opened = 0.0
        self.failures = 0

    @property
    def is_open(self) -> bool:
        """True while nothing should be asked."""
        rested = self._clock() - self._opened >= self._rest_seconds
        return self.failures >= self._limit and not rested

    def failed(self) -> None:
        """Count a failure."""
        self.failures += 1
        self._opened = self._clock()

    def reset(self) -> None:
        """Forget all failures, after a success or when something has changed."""
        self.failures = 0
