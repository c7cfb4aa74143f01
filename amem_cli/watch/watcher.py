"""Puts a watcher together from a vault's settings, and keeps others informed of it."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from amem_cli.errors import AmemError
from amem_cli.locations import STATE_FOLDER, machine_name
from amem_cli.memory.outcome import Outcome
from amem_cli.watch.loop import Watch
from amem_cli.watch.port import Hints, News
from amem_cli.watch.worker import BackgroundWork
from amem_cli.workspace.workspace import Workspace

if TYPE_CHECKING:
    from amem_cli.memory.process import MemoryProcess
    from amem_cli.workspace.watch_lock import WatchLock, WatchStatus

# The model leaves at least half of the machine to the person at it.
SHARE_OF_CORES = 2
# Others work on what is pending, too: it is counted so often, or less where that takes long.
COUNT_SECONDS = 10.0
COUNT_SHARE = 500.0

# What is asked for with every note. What only other commands ask for matters to no watcher.
TAKEN_UP = ("evolution.", "llm.", "watch.")
OF_OTHERS = ("default_vault", "notes_dir", "search.")
FROM_THE_START = "evolution.device"
Report = Callable[["News | None", "WatchStatus"], None]


def background_threads(threads: int) -> int:
    """Threads for a model that works beside a person."""
    return max(1, min(threads, (os.cpu_count() or 1) // SHARE_OF_CORES))


class Watcher:
    """The one watcher of a vault.

    Args:
        report: told what happens and what the watcher does from then on, from several threads but
            one at a time; without news where only counts changed.
    """

    def __init__(self, workspace: Workspace, report: Report) -> None:
        self._workspace = workspace
        self._report = report
        self._environment = workspace.environment
        self._status: WatchStatus | None = None
        self._lock: WatchLock | None = None
        self._telling = threading.Lock()
        self._count_at = 0.0
        self._troubles: set[str] = set()
        self._untold = False
        self._settings_version = workspace.settings_version
        self._is_outdated = False
        self.watch: Watch | None = None

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold the vault as its only watcher.

        Raises:
            SettingsError: another watcher holds it.
        """
        from amem_cli.workspace.watch_lock import WatchLock

        lock = WatchLock(self._workspace.root, self._environment)
        self._status = lock.acquire()
        self._lock = lock
        try:
            yield
        finally:
            self._lock = None
            lock.release()

    def elsewhere(self) -> str:
        """The other machine that runs the memory process for this vault; empty where this one does.

        Raises:
            SettingsError: it cannot be noted in the vault that this machine watches it.
        """
        from amem_cli.watch.idle import evolving_machine, register

        state = self._workspace.root / STATE_FOLDER
        machine = machine_name(self._environment)
        setting = self._workspace.settings.evolution_device
        if setting == "first":
            register(state, machine, datetime.now(timezone.utc))
        chosen = evolving_machine(state, setting, machine)
        return "" if chosen == machine else chosen

    def run(self, stopping: Callable[[Watch], None], *, evolves: bool) -> None:
        """Watch until told to stop.

        Args:
            evolves: whether this machine runs the memory process.
            stopping: given the watch before it begins, to arrange for its end.
        """
        workspace = self._workspace
        # The watch alone decides when a missing note is gone, not the memory process beside it.
        workspace.keep_missing = True
        self.watch = Watch(
            workspace.ports,
            self._hints,
            lambda: workspace.embedding_encoder,
            self._work() if evolves else None,
            self._tell,
            time.monotonic,
            self._over,
        )
        stopping(self.watch)
        self.watch.run()

    def _hints(self) -> Hints:
        from amem_cli.watch.events import FolderWatch

        return FolderWatch(self._workspace.root)

    def _work(self) -> BackgroundWork:
        from amem_cli.watch.idle import lower_priority

        return BackgroundWork(
            process=self._process,
            resting=self.resting,
            report=self._tell,
            finished=self._commit,
            unload=self._unload,
            monotonic=time.monotonic,
            begin=lower_priority,
            idle_seconds=self._workspace.settings.watch_idle_seconds,
        )

    def _process(self) -> MemoryProcess:
        if self._is_outdated:
            self._is_outdated = False
            self._take_up_settings()
        return self._workspace.process

    def _look_at_settings(self) -> None:
        """Notice that the settings changed; the worker takes them up between two notes."""
        version = self._workspace.settings_version
        if version == self._settings_version or self.watch is None:
            return
        self._settings_version = version
        if self.watch.work is None:
            self._take_up_settings()
        else:
            self._is_outdated = True
            self.watch.work.renew()

    def _take_up_settings(self) -> None:
        try:
            found = self._workspace.models.renew()
        except AmemError as error:
            self._tell(News("trouble", f"settings: {error.message}", {"reason": error.message}))
            return
        found = tuple(key for key in found if not key.startswith(OF_OTHERS))
        taken = [key for key in found if key.startswith(TAKEN_UP) and key != FROM_THE_START]
        left = [key for key in found if key not in taken]
        if self.watch is not None and self.watch.work is not None:
            self.watch.work.idle_seconds = self._workspace.settings.watch_idle_seconds
        text = "settings changed" + (f": {', '.join(taken)}" if taken else "")
        if left:
            text += f"; start the watcher again for {', '.join(left)}"
        if found:
            self._tell(News("settings", text, {"changed": taken, "restart": left}))

    def _over(self) -> str:
        """Why watching is to end."""
        if self._lock is None or self._lock.is_kept():
            self._look_at_settings()
            self._count()
            return ""
        return "the vault's folder .amem is gone, or another one took its place"

    def resting(self) -> str:
        """Why the memory process is not to run at this moment; empty where it may."""
        over = self._over()
        if over:
            return over
        from amem_cli.git.state import git_is_busy
        from amem_cli.watch.idle import on_battery

        if self._lock is not None and self._lock.stop_requested() and self.watch is not None:
            self.watch.stop()
        if self.watch is not None and self.watch.asking:
            return "many notes are missing"
        if self._workspace.settings.watch_on_battery == "pause" and on_battery():
            return "on battery"
        return git_is_busy(self._workspace.root)

    def _commit(self) -> None:
        for notice in self._workspace.commit_changes():
            self._tell(News("committed", notice, {}))

    def _unload(self) -> None:
        self._workspace.models.close_model()

    def _count(self) -> None:
        """Notice what other commands did to the notes and the queue."""
        if time.monotonic() >= self._count_at:
            with self._telling:
                self._show(None)

    def _tell(self, news: News) -> None:
        with self._telling:
            # What fails again and again in the same way is told once.
            if news.kind == "trouble":
                if news.text in self._troubles:
                    return
                self._troubles.add(news.text)
            elif news.kind in ("noticed", "learned", "well"):
                self._troubles.clear()
            self._show(news)

    def _show(self, news: News | None) -> None:
        before = self._status
        if before is None or self._lock is None:
            return
        began, index = time.monotonic(), self._workspace.index
        pending = len(index.queue.pending())
        status = before if news is None else status_after(before, news)
        status = replace(status, pending=pending, notes=index.notes.count())
        now = time.monotonic()
        self._count_at = now + max(COUNT_SECONDS, COUNT_SHARE * (now - began))
        if not pending and status.state == "resting":
            status = replace(status, state="watching", reason="")
        self._status = status
        if status != before:
            untold = self._lock.write_status(status)
            if untold and not self._untold:
                text = f"--status and --stop cannot see this watcher: {untold}"
                self._report(News("trouble", text, {"reason": untold}), status)
            self._untold = bool(untold)
        if news is not None or status != before:
            self._report(news, status)


def status_after(status: WatchStatus, news: News) -> WatchStatus:
    """What a watcher does once something has happened."""
    changes: dict[str, Any] = {}
    if "trouble" in news.detail:
        changes["trouble"] = news.text if news.detail["trouble"] else ""
    changes.update(_state_after(status, news))
    if isinstance(news.result, Outcome):
        use = news.result.use
        changes.update(
            learned=status.learned + (news.kind == "learned"),
            links=status.links + len(news.result.links),
            evolved=status.evolved + len(news.result.evolved),
            tokens=status.tokens + use.prompt_tokens + use.answer_tokens,
        )
    return replace(status, **changes)


def _state_after(status: WatchStatus, news: News) -> dict[str, str]:
    quiet = {"state": "watching", "doing": "", "reason": ""}
    if news.kind == "asking":
        return {"state": "asking", "doing": "", "reason": news.text}
    if news.kind == "stopped":
        return {**quiet, "state": "stopping"}
    if status.state == "asking" and news.detail.get("missing") != 0:
        return {}
    if news.kind == "embedding":
        return {} if status.doing else {"state": "embedding", "reason": news.text}
    if news.kind == "thinking":
        return {"state": "thinking", "doing": news.detail["path"], "reason": ""}
    if news.kind == "waiting" and news.result is None:
        return {"state": "resting", "doing": "", "reason": news.detail["reason"]}
    if news.kind == "trouble" and "trouble" not in news.detail:
        return {"state": "failing", "doing": "", "reason": news.text}
    if news.kind in ("learned", "watching", "well", "waiting"):
        return quiet
    ended = status.state == "failing" or (status.state == "embedding" and news.kind == "searchable")
    return quiet if ended and news.kind in ("noticed", "searchable", "settings") else {}
