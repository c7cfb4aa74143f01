"""Keeps the index up to date while files change, and gives the worker what becomes pending."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Set
from dataclasses import dataclass, field
from math import inf
from typing import TYPE_CHECKING, Any

from amem_cli.editing.renames import update_renamed_links
from amem_cli.errors import AmemError, EncoderError, SettingsError, reason_of
from amem_cli.index.events import PendingNote
from amem_cli.index.memory_index import VaultPorts
from amem_cli.index.sync import SyncReport, embed_missing, synchronise
from amem_cli.models.ports import Encoder
from amem_cli.vault.file_state import EveryPath
from amem_cli.watch.worker import BackgroundWork, WatchEvent, WatchEventKind

if TYPE_CHECKING:
    from amem_cli.watch.folder_watch import FolderWatch

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
# How often it is checked whether the folder is still the watched one.
TICK_SECONDS = 10.0
# A hint may have been lost without a trace, so everything is scanned now and then.
RESCAN_SECONDS = 600.0
# While changes may go unseen, everything is scanned so often, or less if a scan takes long.
POLL_SECONDS = 5.0
POLL_SHARE = 20.0
# Obsidian rewrites links itself right after it renamed a note.
FOLLOW_SECONDS = 3.0
# A note that is nearly done may be finished at the end; whatever is under way, this is the end.
FINISH_SECONDS = 2.0
LONGEST_END_SECONDS = 3.5
# Hints come in crowds; the loop takes a crowd at a time.
CROWD_SECONDS = 0.02
# So many notes do not vanish because somebody deletes notes, but with a disk or a folder.
MANY_VANISHED = 10
VANISHED_SHARE = 0.2


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


_NOTHING = Scan(frozenset())


class _Interrupted(Exception):
    """Something else is due before the rest is embedded."""


@dataclass
class Watch:
    """A vault that is being watched.

    Attributes:
        open_folder: begins to watch the folder; again after the folder was replaced.
        encoder: gives the one for new passages, each time anew, as it may be missing.
        work: the worker; None on a machine that leaves this to another one.
        end_reason: why watching is to end, before anything is read; empty to go on.
        overdue: ends the process; called in another thread if it still runs a while after `stop`.
        vanished: notes that vanished all at once, so that a person is asked about them.
    """

    ports: VaultPorts
    open_folder: Callable[[], FolderWatch]
    encoder: Callable[[], Encoder]
    work: BackgroundWork | None
    report: Callable[[WatchEvent], None]
    monotonic: Callable[[], float]
    end_reason: Callable[[], str] = lambda: ""
    overdue: Callable[[], None] = lambda: None
    debouncer: Debouncer = field(default_factory=Debouncer)
    vanished: frozenset[str] = frozenset()
    _folder: FolderWatch | None = None
    _stopped: threading.Event = field(default_factory=threading.Event)
    _trouble: str = ""
    _moved: dict[str, float] = field(default_factory=dict)
    _unfinished: bool = False
    _embed_error: str = ""
    _pending: tuple[PendingNote, ...] = ()
    _tick_at: float = 0.0
    _rescan_at: float = 0.0

    def run(self) -> None:
        """Watch until `stop`, or until there is an `end_reason`, which is an error."""
        worker = None
        try:
            self._begin()
            if self.work is not None:
                worker = threading.Thread(target=self.work.run, name="memory process", daemon=True)
                worker.start()
            while not self._stopped.is_set():
                self._turn()
        finally:
            self._end(worker)

    def stop(self) -> None:
        """End `run`; safe in a signal handler and from another thread."""
        if not self._stopped.is_set():
            # A scan of many files, a batch of the encoder or a model may take minutes.
            guard = threading.Timer(LONGEST_END_SECONDS, self.overdue)
            guard.daemon = True
            guard.start()
        self._stopped.set()
        if self.work is not None:
            self.work.stop()
        if self._folder is not None:
            self._folder.wake()

    def _begin(self) -> None:
        # Without hints, a scan every few seconds does as well, if later.
        self._trouble = self._watch_folder()
        if self._trouble:
            self._report("trouble", self._trouble, trouble=self._trouble)
        now = self.monotonic()
        self._tick_at, self._rescan_at = now + TICK_SECONDS, now + RESCAN_SECONDS
        self._scan(Scan(None))
        missing = self.debouncer.missing
        if missing:
            self._scan(Scan(missing, gone=missing))
        self._update_links(None)
        count = self.ports.index.notes.count()
        self._report("watching", f"watching {count} notes", notes=count)

    def _end(self, worker: threading.Thread | None) -> None:
        if self.work is not None:
            self.work.stop()
        if worker is not None:
            worker.join(FINISH_SECONDS)
            if worker.is_alive() and self.work is not None:
                # Without its model the worker ends at once; its note stays pending.
                self.work.unload()
                worker.join()
        if self._folder is not None:
            self._folder.close()
        self._report("stopped", "stopped")

    def _turn(self) -> None:
        times = [self._tick_at, self._rescan_at, *self._moved.values()]
        due = self.debouncer.due_at()
        seconds = min(times if due is None else [*times, due]) - self.monotonic()
        if not (self._stopped.is_set() or self._unfinished):
            (self._folder.wait if self._folder else self._stopped.wait)(max(0.0, seconds))
        self._stopped.wait(CROWD_SECONDS)
        self._gather()
        reason = self.end_reason()
        if reason:
            raise SettingsError(reason, hint="amem init --adopt makes a vault of the folder.")
        now = self.monotonic()
        if now >= self._tick_at:
            self._check(now)
        if now >= self._rescan_at:
            self.debouncer.rescan(now)
        scan = self.debouncer.take(now)
        if scan is not None or self._unfinished:
            # A scan of nothing goes on with the vectors that are missing.
            self._scan_safely(scan or _NOTHING)
        moved = {key for key, moment in self._moved.items() if moment <= now}
        if moved:
            self._moved = {key: at for key, at in self._moved.items() if key not in moved}
            self._update_links(moved)

    def _gather(self) -> None:
        if self._folder is None:
            return
        paths, lost = self._folder.take()
        now = self.monotonic()
        for path in paths:
            self.debouncer.hint(path, now)
        if lost:
            self.debouncer.rescan(now)
            # Watching itself may have ended.
            self._tick_at = now

    def _watch_folder(self) -> str:
        """Watch the folder, again if it was watched; why that is impossible, or empty."""
        if self._folder is not None:
            self._folder.close()
            self._folder = None
        try:
            self._folder = self.open_folder()
        except OSError as error:
            return f"cannot watch the folder ({error.strerror or error})"
        return ""

    def _check(self, now: float) -> None:
        """Check whether changes can still be seen, and whether the index is still there."""
        self._tick_at = now + TICK_SECONDS
        if self._folder is None or self._folder.is_outdated() or self._folder.trouble():
            trouble = self._watch_folder()
            if self._folder is not None:
                self.debouncer.rescan(now)
                trouble = self._folder.trouble()
        else:
            trouble = ""
        if trouble != self._trouble:
            kind: WatchEventKind = "trouble" if trouble else "well"
            text = f"{trouble}; looking every few seconds" if trouble else "all is watched again"
            self._report(kind, text, trouble=trouble)
            self.debouncer.rescan(now)
        self._trouble = trouble
        if trouble:
            self._rescan_at = min(self._rescan_at, now + POLL_SECONDS)
        elif self.debouncer.due_at() is None:
            # This notices an index that was deleted, and whether the notes that a person is asked
            # about have been let go by another command.
            self._scan_safely(Scan(self.vanished))

    def _scan_safely(self, scan: Scan) -> None:
        """A scan that fails is repeated path by path; one bad note stops nothing else."""
        try:
            self._scan(scan)
        except Exception as error:
            is_expected = isinstance(error, AmemError)
            if is_expected or scan.within is None or len(scan.within) <= 1:
                self._failed(scan, error)
                return
            for path in sorted(scan.within):
                self._scan_safely(Scan(frozenset((path,)), scan.gone & {path}))

    def _failed(self, scan: Scan, error: Exception) -> None:
        self.debouncer.failed(scan, self.monotonic())
        paths, reason = sorted(scan.within or ()), reason_of(error)
        place = paths[0] if len(paths) == 1 else "the vault"
        self._report("trouble", f"{place}: {reason}", paths=paths, reason=reason)

    def _scan(self, scan: Scan) -> None:
        started = self.monotonic()
        report = synchronise(
            self.ports, within=scan.within, keep_missing=EveryPath(self._confirmed_gone(scan))
        )
        now = self.monotonic()
        self.debouncer.scanned(scan, set(report.missing), now)
        if self.vanished:
            self.vanished &= self.debouncer.missing
            if not self.vanished:
                notes = self.ports.index.notes.count()
                self._report("well", "no note is missing any more", missing=0, notes=notes)
        if scan.within is None:
            pause = max(POLL_SECONDS, POLL_SHARE * (now - started))
            self._rescan_at = now + (pause if self._trouble else RESCAN_SECONDS)
        self._report_changes(report)
        self._embed()
        for _, path in report.moved:
            summary = self.ports.index.notes.summary(path)
            if summary is not None:
                self._moved[summary.key] = now + FOLLOW_SECONDS
        # The worker is left alone if nothing is new to it: looking at all that waits costs time.
        pending = tuple(self.ports.index.queue.pending())
        if self.work is not None and (scan != _NOTHING or pending != self._pending):
            self.work.kick()
        self._pending = pending

    def _confirmed_gone(self, scan: Scan) -> frozenset[str]:
        """Notes to be forgotten if they are still missing."""
        count = self.ports.index.notes.count()
        # With those that will be due: they vanish one after the other.
        missing = self.debouncer.missing | scan.gone
        if not scan.gone or len(missing) <= max(MANY_VANISHED, VANISHED_SHARE * count):
            return scan.gone
        self.debouncer.pin(missing)
        if not missing <= self.vanished:
            self.vanished = missing
            text = (
                f"{len(missing)} of {count} notes are gone at once, {min(missing)} first; put them"
                " back, or let them go: amem index"
            )
            self._report("asking", text, missing=len(missing), notes=count)
        return frozenset()

    def _embed(self) -> None:
        """Embed new passages until something else is due."""
        done = 0

        def progress(count: int, total: int) -> None:
            nonlocal done
            done = count
            if count < total:
                text = f"{count} of {total} passages searchable by meaning"
                self._report("embedding", text, done=count, total=total)
            self._gather()
            due = self.debouncer.due_at()
            if self._stopped.is_set() or (due is not None and due <= self.monotonic()):
                raise _Interrupted

        self._unfinished = False
        failure = ""
        try:
            done = embed_missing(self.ports, self.encoder(), progress=progress)
        except _Interrupted:
            # What is embedded is stored; the rest follows after what is due.
            self._unfinished = True
        except (EncoderError, SettingsError) as error:
            # Tried again with each scan; until then words alone find what is new.
            failure = error.message
        if failure and failure != self._embed_error:
            text = f"new notes are found by words alone: {failure}"
            self._report("trouble", text, reason=failure)
        self._embed_error = failure
        if done:
            text = f"{done} passage{'s' if done != 1 else ''} searchable by meaning"
            self._report("searchable", text, passages=done)

    def _update_links(self, targets: Set[str] | None) -> None:
        """Update links to renamed notes; None for all of them."""
        try:
            changed = update_renamed_links(self.ports, targets)
        except Exception as error:
            self._failed(_NOTHING, error)
            return
        if changed:
            text = f"links in {len(changed)} note{'s' if len(changed) != 1 else ''} follow a rename"
            self._report("followed", text, paths=changed)

    def _report_changes(self, report: SyncReport) -> None:
        names = ("added", "changed", "moved", "removed")
        counts = {name: len(getattr(report, name)) for name in names}
        if any(counts.values()):
            text = ", ".join(f"{count} {name}" for name, count in counts.items() if count)
            notes = self.ports.index.notes.count()
            self._report("noticed", text, result=report, **counts, notes=notes)

    def _report(self, kind: WatchEventKind, text: str, result: Any = None, **detail: Any) -> None:
        self.report(WatchEvent(kind, text, detail, result))
