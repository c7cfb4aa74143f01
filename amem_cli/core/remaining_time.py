"""How long a run over many notes will still take, by how fast it went lately."""

from __future__ import annotations

from collections import deque

# Notes differ in length, and a model's first answer takes as long as loading it.
NOTES_BEHIND = 50
LEAST_NOTES = 5
LEAST_SECONDS = 5.0


class RemainingTime:
    """Estimates from the last notes, so that a model that slows down or wakes up is soon seen.

    Args:
        now: seconds of a steady clock when the run begins.
    """

    def __init__(self, now: float) -> None:
        self._began = now
        self._moments: deque[tuple[int, float]] = deque(maxlen=NOTES_BEHIND + 1)

    def reached(self, done: int, now: float) -> None:
        """So many notes are done by now."""
        self._moments.append((done, now))

    def seconds(self, total: int, now: float) -> float | None:
        """Seconds until all are done; None before that can be told.

        It does not grow while one note takes long; that shows in the next estimate.
        """
        if not self._moments or now - self._began < LEAST_SECONDS:
            return None
        (first, since), (last, until) = self._moments[0], self._moments[-1]
        if last - first < LEAST_NOTES:
            return None
        each = (until - since) / (last - first)
        left = total - last
        return max(0.0, left * each - (now - until), (left - 1) * each)


def span(seconds: float) -> str:
    """A length of time as a person reads it, no finer than an estimate is."""
    if seconds < 90:
        return f"{max(5, 5 * round(seconds / 5))} s"
    minutes = round(seconds / 60)
    if minutes < 100:
        return f"{minutes} min"
    hours = seconds / 3600
    return f"{hours:.1f} h" if hours < 10 else f"{hours:.0f} h"
