"""One vault opened for the threads of a process: a connection for each, the models for all."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from amem_cli.core.errors import UsageError

if TYPE_CHECKING:
    from amem_cli.wiring import Workspace

# How long closing waits for calls of other threads; their model is closed by then.
CLOSING_SECONDS = 30.0
# The process that opened the first vault. A child that it forks inherits what SQLite and the
# encoder think of locks and threads, and must open none of its own.
_processes: list[int] = []
# What such a child inherits is kept for good: to close it there would harm the parent's.
_inherited: list[object] = []


class OpenedVault:
    """Lends an opening of a vault to one call at a time; as many as run at once are kept.

    Args:
        workspace: the settings, and the owner of the models.

    Raises:
        UsageError: the process was forked from one that had opened a vault.

    Attributes:
        writing: held by a call that writes notes, so that threads do not wait in files' locks.
        thinking: held by the call whose note goes through the memory process.
    """

    def __init__(self, workspace: Workspace) -> None:
        self.writing = threading.Lock()
        self.thinking = threading.Lock()
        self._owner = workspace
        self._version: object = None
        self._idle: list[Workspace] = []
        self._lent: dict[int, Workspace] = {}
        self._closed = False
        self._process = os.getpid()
        if not _processes:
            _processes.append(self._process)
        self._refuse_fork()
        self._changed = threading.Condition()
        self._committing = threading.Lock()

    @property
    def is_closed(self) -> bool:
        """True once nothing can be asked any more."""
        return self._closed

    @contextlib.contextmanager
    def lent(self) -> Iterator[Workspace]:
        """An opening that no other call uses meanwhile.

        Raises:
            UsageError: the vault was closed, or this process was forked after it was opened.
            SettingsError: the settings were changed, and cannot be read, or the vault is gone.
        """
        self._refuse_fork()
        with self._changed:
            if self._closed:
                raise UsageError(
                    "this memory is closed", hint="Open it again: AgenticMemorySystem(vault=…)."
                )
            self._take_up_settings()
            workspace = self._idle.pop() if self._idle else self._owner.sharing_models()
            self._lent[id(workspace)] = workspace
        try:
            yield workspace
        finally:
            with self._changed:
                del self._lent[id(workspace)]
                kept = not self._closed and workspace.models_of is self._owner
                if kept:
                    self._idle.append(workspace)
                self._changed.notify_all()
            if not kept:
                workspace.close()
                self._close_if_unused(workspace.models_of)

    def _take_up_settings(self) -> None:
        """Work with the settings as they are now; calls under way keep theirs."""
        former, version = self._owner, self._owner.settings_version
        if version == self._version:
            former.refuse_if_gone()
            return
        # Other files may be in their place.
        idle, self._idle = self._idle, []
        for workspace in idle:
            workspace.close()
        former.refuse_if_gone()
        present = replace(former)
        changed = (present.settings, present.origin) != (former.settings, former.origin)
        self._version = version
        if changed:
            self._owner = present
            self._close_if_unused(former)

    def _close_if_unused(self, owner: Workspace | None) -> None:
        """End the models of an owner that was replaced, once no call works with them."""
        if owner is None or owner is self._owner:
            return
        with self._changed:
            in_use = any(each.models_of is owner for each in self._lent.values())
        if not in_use:
            owner.close()

    def commit(self, workspace: Workspace) -> list[str]:
        """Commit what was changed through an opening, where the settings say so."""
        with self._committing:
            return workspace.commit_changes()

    def close(self) -> None:
        """End the model's process, wait for calls that are under way, and close the vault."""
        if os.getpid() != self._process:
            _inherited.append(self)
            return
        with self._changed:
            if self._closed:
                return
            self._closed = True
        # A call that waits for the model ends with that; its note stays pending.
        for owner in self._owners():
            owner.close()
        end = time.monotonic() + CLOSING_SECONDS
        with self._changed:
            while self._lent and (left := end - time.monotonic()) > 0:
                self._changed.wait(left)
            idle, self._idle = self._idle, []
        for workspace in idle:
            workspace.close()
        # A call that had begun before may have started the model again.
        for owner in self._owners():
            owner.close()

    def _owners(self) -> list[Workspace]:
        """Who owns models that are in use: more than one where settings changed under way."""
        with self._changed:
            lent = [each.models_of for each in self._lent.values() if each.models_of is not None]
        return [self._owner, *lent]

    def _refuse_fork(self) -> None:
        if os.getpid() == _processes[0]:
            return
        _inherited.append(self)
        raise UsageError(
            "a memory was opened before this process was forked",
            hint="Start processes by `spawn`, or open the first memory after the fork.",
        )
