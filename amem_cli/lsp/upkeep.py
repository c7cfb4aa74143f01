"""Keeps what the server knows in step with the folder, in a thread beside the answers."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from amem_cli.errors import AmemError

if TYPE_CHECKING:
    from amem_cli.workspace.workspace import Workspace
    from amem_cli.workspace.writing_help import WritingHelp

# While somebody types, the folder is read at most so often, and so small a part of the time.
_REST_SECONDS = 2.0
_REST_SHARE = 20
# An editor is not kept waiting for a large folder longer than this.
_FIRST_SECONDS = 0.25


class Upkeep:
    """Reads the folder when it is asked to, and tells when that changed something.

    Args:
        log: receives what went wrong, a line each.
        changed: called, in the thread, when other programs or the editor changed notes.
    """

    def __init__(
        self,
        vault: Workspace,
        help: WritingHelp,
        log: Callable[[str], None],
        changed: Callable[[], None],
    ) -> None:
        self._vault, self._help, self._log, self._changed = vault, help, log, changed
        self._wanted = threading.Condition()
        self._at_once = self._some_time = self._is_ending = False
        self._rested = 0.0
        self._has_begun = threading.Event()
        self._last_problem = ""
        self._threads = [
            threading.Thread(target=each, name=f"amem-lsp-{name}", daemon=True)
            for name, each in (("folder", self._run), ("encoder", self._load_encoder))
        ]

    def start(self) -> None:
        """Read the folder for the first time, and load the encoder."""
        self._at_once = True
        for thread in self._threads:
            thread.start()

    @property
    def has_begun(self) -> bool:
        """Whether the folder was read for the first time."""
        return self._has_begun.is_set()

    def await_first(self) -> None:
        """Wait a moment for that, so that the first answers know the notes that are new."""
        self._has_begun.wait(_FIRST_SECONDS)

    def soon(self, *, at_once: bool = False) -> None:
        """Read the folder again: `at_once`, or when it has rested."""
        with self._wanted:
            self._at_once |= at_once
            self._some_time = True
            self._wanted.notify()

    def end(self) -> None:
        """Do nothing more."""
        with self._wanted:
            self._is_ending = True
            self._wanted.notify()

    def _run(self) -> None:
        while self._next():
            began = time.monotonic()
            try:
                with self._vault.call(in_step=False):
                    is_changed = self._help.catch_up()
                self._last_problem = ""
            except AmemError as error:
                is_changed = False
                self._tell(error)
            took = time.monotonic() - began
            self._rested = time.monotonic() + max(_REST_SECONDS, _REST_SHARE * took)
            self._has_begun.set()
            if is_changed and not self._is_ending:
                self._changed()

    def _next(self) -> bool:
        """Wait until the folder is to be read; False at the end."""
        with self._wanted:
            while not (self._is_ending or self._at_once):
                if not self._some_time:
                    self._wanted.wait()
                    continue
                left = self._rested - time.monotonic()
                if left <= 0:
                    break
                self._wanted.wait(left)
            self._at_once = self._some_time = False
            return not self._is_ending

    def _load_encoder(self) -> None:
        # Loading takes the processor from the first answers.
        self._has_begun.wait()
        try:
            with self._vault.call(in_step=False):
                self._help.load_encoder()
        except AmemError as error:
            self._tell(error)
        else:
            # Vectors of what was written since the last time can be made now.
            self.soon(at_once=True)

    def _tell(self, error: AmemError) -> None:
        # A vault that is away would be told of with every key.
        if error.message != self._last_problem:
            self._last_problem = error.message
            self._log(f"{error.message}. {error.hint}".strip())
