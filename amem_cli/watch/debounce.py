"""Debounce: waits until a changed file has been quiet, and a missing one is really gone."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from math import inf

# Measured: as scans read the files themselves, a writer that never rests leaves nothing stale at
# any window; a short one answers sooner, a longer one reads a file that is saved in steps once.
QUIET_SECONDS = 0.2
# A file that is written without a pause is read all the same.
LONGEST_SECONDS = 5.0
# git and many editors delete a file and create it anew; only after this is it gone.
GRACE_SECONDS = 2.0
# A scan that failed, as on a locked index, is repeated.
RETRY_SECONDS = 10.0
# For more paths, one scan of the whole folder is cheaper.
MANY = 400


@dataclass(frozen=True, slots=True)
class Scan:
    """A part of the folder that is due to be read.

    Attributes:
        within: paths, folders with all that is below them; None for the whole folder.
        gone: notes that have been missing for so long that they count as gone.
    """

    within: frozenset[str] | None
    gone: frozenset[str] = frozenset()


@dataclass
class Debouncer:
    """Collects hints of changed paths until these have been quiet.

    All times are seconds of one monotonic clock.
    """

    quiet: float = QUIET_SECONDS
    longest: float = LONGEST_SECONDS
    grace: float = GRACE_SECONDS
    retry: float = RETRY_SECONDS
    _hints: dict[str, tuple[float, float]] = field(default_factory=dict)
    _missing: dict[str, float] = field(default_factory=dict)
    _rescan_at: float = inf

    def hint(self, path: str, now: float) -> None:
        """Something happened at a path."""
        first, _ = self._hints.get(path, (now, now))
        # A retry may be set to later than now.
        self._hints[path] = (min(first, now), now)

    def rescan(self, when: float) -> None:
        """Scan everything, as hints may have been lost."""
        self._rescan_at = min(self._rescan_at, when)

    def take(self, now: float) -> Scan | None:
        """What is due, if anything; hints are forgotten here.

        A gone note is due again after another `grace`, unless `scanned` reports on the scan.
        """
        gone = {path for path, since in self._missing.items() if since + self.grace <= now}
        self._missing.update(dict.fromkeys(gone, now))
        if self._rescan_at <= now:
            self._rescan_at = inf
            self._hints.clear()
            return Scan(None, frozenset(gone))
        due = {path for path in self._hints if self._due_at(path) <= now}
        if not due and not gone:
            return None
        for path in due:
            del self._hints[path]
        within = frozenset(due | gone)
        return Scan(within if len(within) <= MANY else None, frozenset(gone))

    def scanned(self, scan: Scan, missing: Collection[str], now: float) -> None:
        """Remember which known notes a scan did not find."""
        for path in [path for path in self._missing if path not in missing]:
            parts = path.split("/")
            folders = ("/".join(parts[:depth]) for depth in range(len(parts) + 1))
            if scan.within is None or not scan.within.isdisjoint(folders):
                del self._missing[path]
        for path in missing:
            self._missing.setdefault(path, now)

    def failed(self, scan: Scan, now: float) -> None:
        """Repeat a scan later."""
        later = now + self.retry
        if scan.within is None:
            self.rescan(later)
        for path in scan.within or ():
            self._hints.setdefault(path, (later, later))

    def pin(self, paths: Collection[str]) -> None:
        """Keep missing notes in the index until something happens at their paths."""
        self._missing.update(dict.fromkeys(paths, inf))

    @property
    def missing(self) -> frozenset[str]:
        """Known notes that the last scan did not find."""
        return frozenset(self._missing)

    def due_at(self) -> float | None:
        """When `take` will next return a scan; None if nothing waits."""
        times = [self._due_at(path) for path in self._hints]
        times += [since + self.grace for since in self._missing.values()]
        due = min([*times, self._rescan_at])
        return due if due < inf else None

    def _due_at(self, path: str) -> float:
        first, last = self._hints[path]
        return min(last + self.quiet, first + self.longest)
