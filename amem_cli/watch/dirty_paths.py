"""Which paths of a watched folder are to be looked at, and when."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from math import inf

# Measured: with truth taken from the file system, a writer that never rests leaves nothing stale at
# any window; a short one answers sooner, a longer one reads a file that is saved in steps once.
QUIET_SECONDS = 0.2
# Somebody who never stops writing is read all the same.
LONGEST_SECONDS = 5.0
# git and many editors delete a file and create it anew; only then is it known to be gone.
GRACE_SECONDS = 2.0
# A look that failed, as at an index that is locked, is made again after so long.
RETRY_SECONDS = 10.0
# Beyond so many paths one look at the whole folder is cheaper.
MANY = 400


@dataclass(frozen=True, slots=True)
class Look:
    """One look at the folder that is due.

    Attributes:
        within: paths to look at, folders with all that is below them; None for everything.
        overdue: notes that have been missing for so long that they count as gone.
    """

    within: frozenset[str] | None
    overdue: frozenset[str] = frozenset()


class DirtyPaths:
    """Hints of changed paths, gathered until they have been quiet for a moment.

    All times are seconds of one monotonic clock.
    """

    def __init__(
        self,
        *,
        quiet: float = QUIET_SECONDS,
        longest: float = LONGEST_SECONDS,
        grace: float = GRACE_SECONDS,
        retry: float = RETRY_SECONDS,
    ) -> None:
        self._quiet = quiet
        self._longest = longest
        self._grace = grace
        self._retry = retry
        self._hints: dict[str, tuple[float, float]] = {}
        self._missing: dict[str, float] = {}
        self._everything: float | None = None

    def hint(self, path: str, now: float) -> None:
        """Something happened at a path."""
        first, _ = self._hints.get(path, (now, now))
        self._hints[path] = (min(first, now), now)

    def doubt(self, now: float) -> None:
        """Hints may have been lost: look at everything."""
        self._everything = now if self._everything is None else min(self._everything, now)

    def take(self, now: float) -> Look | None:
        """What is due, if anything.

        Hints are forgotten here. A note that is overdue is so again after another `grace`, unless
        `looked` tells of the look.
        """
        overdue = {path for path, since in self._missing.items() if since + self._grace <= now}
        self._missing.update(dict.fromkeys(overdue, now))
        if self._everything is not None and self._everything <= now:
            self._everything = None
            self._hints.clear()
            return Look(None, frozenset(overdue))
        due = {path for path in self._hints if self._due_at(path) <= now}
        if not due and not overdue:
            return None
        for path in due:
            del self._hints[path]
        within = frozenset(due | overdue)
        return Look(within if len(within) <= MANY else None, frozenset(overdue))

    def looked(self, look: Look, missing: Collection[str], now: float) -> None:
        """Remember which known notes a look did not find."""
        for path in [path for path in self._missing if path not in missing]:
            if look.within is None or _covers(look.within, path):
                del self._missing[path]
        for path in missing:
            self._missing.setdefault(path, now)

    def failed(self, look: Look, now: float) -> None:
        """A look that came to no end is made again, after a pause."""
        later = now + self._retry
        if look.within is None:
            self.doubt(later)
        for path in look.within or ():
            self._hints.setdefault(path, (later, later))

    def hold(self, paths: Collection[str]) -> None:
        """Keep missing notes as they are until something happens at their paths."""
        for path in paths:
            self._missing[path] = inf

    @property
    def missing(self) -> frozenset[str]:
        """Notes that were known and were not there when last looked at."""
        return frozenset(self._missing)

    @property
    def is_clean(self) -> bool:
        """True where there is nothing to look at."""
        waiting = any(since < inf for since in self._missing.values())
        return not self._hints and not waiting and self._everything is None

    def due_at(self) -> float | None:
        """When `take` will next have something; None where nothing waits."""
        times = [self._due_at(path) for path in self._hints]
        times += [since + self._grace for since in self._missing.values() if since < inf]
        if self._everything is not None:
            times.append(self._everything)
        return min(times, default=None)

    def _due_at(self, path: str) -> float:
        first, last = self._hints[path]
        return min(last + self._quiet, first + self._longest)


def _covers(within: Collection[str], path: str) -> bool:
    while path not in within:
        if not path:
            return False
        path = path.rpartition("/")[0]
    return True
