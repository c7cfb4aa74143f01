"""Keeps the index true while people edit, and the background work in step with it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Container
from dataclasses import dataclass, field

from amem_cli.editing.renames import follow_moves
from amem_cli.errors import AmemError, EncoderError, SettingsError
from amem_cli.index.draft import VaultPorts
from amem_cli.index.records import PendingNote
from amem_cli.index.sync import SyncReport, embed_missing, synchronise
from amem_cli.models.ports import Encoder
from amem_cli.vault.port import EveryPath
from amem_cli.watch.dirty_paths import DirtyPaths, Look
from amem_cli.watch.port import Hints, News, NewsKind
from amem_cli.watch.worker import BackgroundWork, reason_of

# How often it is looked whether the folder is still the watched one.
TICK_SECONDS = 10.0
# A look at everything now and then; a hint may have been lost without a trace.
RESCAN_SECONDS = 600.0
# While changes may go unseen, everything is looked at so often, or less where that takes long.
POLL_SECONDS = 5.0
POLL_SHARE = 20.0
# Obsidian rewrites links itself right after it renamed a note.
FOLLOW_SECONDS = 3.0
# A note that is nearly done may be finished at the end.
FINISH_SECONDS = 2.0
# Events come in crowds; the loop takes a crowd at a time.
CROWD_SECONDS = 0.02
# So many notes do not vanish because somebody deletes notes.
MANY_VANISHED = 10
VANISHED_SHARE = 0.2


class _SomethingElse(Exception):
    """Something else is to be done before the rest."""


@dataclass
class Watch:
    """A vault that is being watched.

    Attributes:
        hints: opens the watching of the folder; again after the folder was replaced.
        encoder: gives the one for new passages; asked anew each time, for it may not be had.
        work: the worker that gives pending notes to the memory process; None on a machine that
            leaves this to another one.
        report: told what happens.
        monotonic: seconds.
        over: asked before anything is read, why watching is to end; empty to go on.
    """

    ports: VaultPorts
    hints: Callable[[], Hints]
    encoder: Callable[[], Encoder]
    work: BackgroundWork | None
    report: Callable[[News], None]
    monotonic: Callable[[], float]
    over: Callable[[], str] = lambda: ""
    _dirty: DirtyPaths = field(default_factory=DirtyPaths)
    _open: Hints | None = None
    _stopped: threading.Event = field(default_factory=threading.Event)
    _trouble: str = ""
    _asking: frozenset[str] = frozenset()
    _moved: dict[str, float] = field(default_factory=dict)
    _behind: bool = False
    _unembedded: str = ""
    _pending: tuple[PendingNote, ...] = ()
    _tick_at: float = 0.0
    _rescan_at: float = 0.0

    def run(self) -> None:
        """Watch until `stop`.

        Raises:
            AmemError: the vault cannot be read or the index cannot be written at the start, or
                watching is `over`.
        """
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
        self._stopped.set()
        if self.work is not None:
            self.work.stop()
        if self._open is not None:
            self._open.wake()

    @property
    def asking(self) -> frozenset[str]:
        """Notes that vanished all at once, and that a person is asked about."""
        return self._asking

    def _begin(self) -> None:
        try:
            self._watch_folder()
        except OSError as error:
            # Looking every few seconds does as well, if later.
            self._trouble = f"cannot watch the folder ({error.strerror or error})"
            self.report(News("trouble", self._trouble, {"trouble": self._trouble}))
        now = self.monotonic()
        self._tick_at, self._rescan_at = now + TICK_SECONDS, now + RESCAN_SECONDS
        self._look(Look(None))
        missing = self._dirty.missing
        if missing:
            self._look(Look(missing, overdue=missing))
        self._follow_moves(None)
        count = self.ports.index.notes.count()
        self.report(News("watching", f"watching {count} notes", {"notes": count}))

    def _end(self, worker: threading.Thread | None) -> None:
        if self.work is not None:
            self.work.stop()
        if worker is not None:
            worker.join(FINISH_SECONDS)
            if worker.is_alive() and self.work is not None:
                # A model that thinks is not waited for; its note stays pending.
                self.work.unload()
                worker.join()
        if self._open is not None:
            self._open.close()
        self.report(News("stopped", "stopped", {}))

    def _turn(self) -> None:
        now = self.monotonic()
        times = [self._tick_at, self._rescan_at, *self._moved.values()]
        due = self._dirty.due_at()
        if due is not None:
            times.append(due)
        if not (self._stopped.is_set() or self._behind):
            (self._open.wait if self._open else self._stopped.wait)(max(0.0, min(times) - now))
        self._stopped.wait(CROWD_SECONDS)
        self._gather()
        reason = self.over()
        if reason:
            raise SettingsError(reason, hint="amem init --adopt makes a vault of the folder.")
        now = self.monotonic()
        if now >= self._tick_at:
            self._check(now)
        if now >= self._rescan_at:
            self._dirty.doubt(now)
        look = self._dirty.take(now)
        if look is not None or self._behind:
            # A look at nothing still goes on with the vectors that are missing.
            self._safely(look or Look(frozenset()))
        self._follow(now)

    def _gather(self) -> None:
        if self._open is None:
            return
        paths, lost = self._open.take()
        now = self.monotonic()
        for path in paths:
            self._dirty.hint(path, now)
        if lost:
            self._dirty.doubt(now)
            # It may be watching itself that has ended.
            self._tick_at = now

    def _watch_folder(self) -> None:
        if self._open is not None:
            self._open.close()
            self._open = None
        self._open = self.hints()

    def _check(self, now: float) -> None:
        """Look whether changes can still be seen, and whether the index is still there."""
        self._tick_at = now + TICK_SECONDS
        trouble = self._open.trouble() if self._open is not None else "nothing is watched"
        if trouble:
            trouble = self._rewatched(trouble)
        if trouble != self._trouble:
            kind: NewsKind = "trouble" if trouble else "well"
            text = f"{trouble}; looking every few seconds" if trouble else "all is watched again"
            self.report(News(kind, text, {"trouble": trouble}))
            self._dirty.doubt(now)
        self._trouble = trouble
        if trouble:
            self._rescan_at = min(self._rescan_at, now + POLL_SECONDS)
        elif self._dirty.is_clean:
            # Opens an index anew that was deleted or replaced, and fills it; and sees whether the
            # notes that a person is asked about are known no more.
            self._safely(Look(self._asking))

    def _rewatched(self, trouble: str) -> str:
        try:
            self._watch_folder()
        except OSError as error:
            return f"cannot watch the folder ({error.strerror or error})"
        self._dirty.doubt(self.monotonic())
        still = self._open.trouble() if self._open is not None else trouble
        return still

    def _safely(self, look: Look) -> None:
        """A look that fails is repeated path by path; one bad note stops nothing else."""
        try:
            self._look(look)
        except Exception as error:
            is_told = isinstance(error, AmemError)
            if is_told or look.within is None or len(look.within) <= 1:
                self._failed(look, reason_of(error))
                return
            for path in sorted(look.within):
                self._safely(Look(frozenset((path,)), look.overdue & {path}))

    def _failed(self, look: Look, reason: str) -> None:
        self._dirty.failed(look, self.monotonic())
        paths = sorted(look.within or ())
        text = f"{paths[0] if len(paths) == 1 else 'the vault'}: {reason}"
        self.report(News("trouble", text, {"paths": paths, "reason": reason}))

    def _look(self, look: Look) -> None:
        started = self.monotonic()
        gone = self._gone(look)
        keep = EveryPath() if look.within is None and not gone else _AllBut(gone)
        report = synchronise(self.ports, within=look.within, keep_missing=keep)
        now = self.monotonic()
        self._dirty.looked(look, set(report.missing), now)
        asked, self._asking = self._asking, self._asking & self._dirty.missing
        if asked and not self._asking:
            detail = {"missing": 0, "notes": self.ports.index.notes.count()}
            self.report(News("well", "no note is missing any more", detail))
        if look.within is None:
            pause = max(POLL_SECONDS, POLL_SHARE * (now - started))
            self._rescan_at = now + (pause if self._trouble else RESCAN_SECONDS)
        self._tell(report)
        self._embed()
        for _, path in report.moved:
            summary = self.ports.index.notes.summary(path)
            if summary is not None:
                self._moved[summary.key] = now + FOLLOW_SECONDS
        self._kick(look)

    def _kick(self, look: Look) -> None:
        """Let the worker see what is new to it; looking at all that waits costs time."""
        pending = tuple(self.ports.index.queue.pending())
        if self.work is not None and (look != Look(frozenset()) or pending != self._pending):
            self.work.kick()
        self._pending = pending

    def _embed(self) -> None:
        """Give new passages their vectors, as far as nobody waits for something else."""
        done = 0

        def interrupt(count: int, total: int) -> None:
            nonlocal done
            done = count
            if count < total:
                text = f"{count} of {total} passages searchable by meaning"
                self.report(News("embedding", text, {"done": count, "total": total}))
            self._gather()
            due = self._dirty.due_at()
            if self._stopped.is_set() or (due is not None and due <= self.monotonic()):
                raise _SomethingElse

        self._behind = False
        unembedded = ""
        try:
            done = embed_missing(self.ports, self.encoder(), progress=interrupt)
        except _SomethingElse:
            # What is embedded is stored; the rest follows after what is due.
            self._behind = True
        except (EncoderError, SettingsError) as error:
            # Tried again with each look; until then words alone find what is new.
            unembedded = error.message
        if unembedded and unembedded != self._unembedded:
            text = f"new notes are found by words alone: {unembedded}"
            self.report(News("trouble", text, {"reason": unembedded}))
        self._unembedded = unembedded
        if done:
            text = f"{done} passage{'s' if done != 1 else ''} searchable by meaning"
            self.report(News("searchable", text, {"passages": done}))

    def _gone(self, look: Look) -> frozenset[str]:
        """Notes that are to be forgotten where they are still missing."""
        count = self.ports.index.notes.count()
        # Those that are about to be overdue as well: they vanish one after the other.
        missing = self._dirty.missing | look.overdue
        if not look.overdue or len(missing) <= max(MANY_VANISHED, VANISHED_SHARE * count):
            return look.overdue
        self._dirty.hold(missing)
        if not missing <= self._asking:
            self._asking = missing
            text = (
                f"{len(missing)} of {count} notes are gone at once, {min(missing)} first; put them"
                " back, or let them go: amem index"
            )
            self.report(News("asking", text, {"missing": len(missing), "notes": count}))
        return frozenset()

    def _tell(self, report: SyncReport) -> None:
        counts = {
            "added": len(report.added),
            "changed": len(report.changed),
            "moved": len(report.moved),
            "removed": len(report.removed),
        }
        if any(counts.values()):
            text = ", ".join(f"{count} {what}" for what, count in counts.items() if count)
            detail = {**counts, "notes": self.ports.index.notes.count()}
            self.report(News("noticed", text, detail, report))

    def _follow(self, now: float) -> None:
        due = {key for key, moment in self._moved.items() if moment <= now}
        if not due:
            return
        for key in due:
            del self._moved[key]
        self._follow_moves(due)

    def _follow_moves(self, targets: Collection[str] | None) -> None:
        try:
            changed = follow_moves(self.ports, targets)
        except Exception as error:
            self._failed(Look(frozenset()), reason_of(error))
            return
        if changed:
            text = f"links in {len(changed)} note{'s' if len(changed) != 1 else ''} follow a rename"
            self.report(News("followed", text, {"paths": changed}))


class _AllBut(Container[str]):
    def __init__(self, paths: Collection[str]) -> None:
        self._paths = paths

    def __contains__(self, path: object) -> bool:
        return path not in self._paths
