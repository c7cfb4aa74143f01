"""The vault that agents work on, and what of it they may see and do."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime, time
from pathlib import Path
from typing import TYPE_CHECKING

from amem_cli.agents.client_label import LabelledChanges
from amem_cli.core.errors import (
    AmemError,
    IndexFault,
    NotFoundError,
    SettingsError,
    UsageError,
)
from amem_cli.services.query import Filters, encoder_if_any
from amem_cli.services.sync import embed_missing, synchronise
from amem_cli.wiring import Workspace

if TYPE_CHECKING:
    from amem_cli.agents.lanes import Call
    from amem_cli.core.index_port import MemoryIndex
    from amem_cli.core.index_records import (
        NoteOutline,
        NoteSummary,
    )
    from amem_cli.core.ports import Encoder
    from amem_cli.services.vault_ports import VaultPorts


@dataclass(frozen=True, slots=True)
class Policy:
    """What agents may do.

    Attributes:
        writes: notes may be added and changed.
        deletes: notes may be moved to the trash.
        sees_private: notes with `private: true` are shown.
    """

    writes: bool = True
    deletes: bool = False
    sees_private: bool = False


@dataclass(frozen=True, slots=True)
class VisibleNotes(Filters):
    """Filters that let no hidden note through.

    Attributes:
        hidden: paths of notes that are not to be found, nor told of in any other way.
    """

    hidden: frozenset[str] = field(default=frozenset())

    def __bool__(self) -> bool:
        return bool(self.tags or self.since or self.until or self.path or self.hidden)

    def admit(self, note: NoteOutline) -> bool:
        """True for a note that may be found."""
        return note.path not in self.hidden and Filters.admit(self, note)


class OpenVault:
    """A vault that stays open between the calls of agents.

    Args:
        notify: told in one line what the user of the machine may want to know.
    """

    def __init__(self, root: Path, policy: Policy, notify: Callable[[str], None]) -> None:
        self.root = root
        self.policy = policy
        self.client = ""
        self._notify = notify
        self._opened: Workspace | None = None
        self._settings: object = None
        # A thread that holds it may ask for it again.
        self._thinking = threading.RLock()

    @property
    def workspace(self) -> Workspace:
        """The vault with its models."""
        if self._opened is None:
            workspace = Workspace(self.root, notify=self._notify)
            self._settings = workspace.settings_version
            ports = workspace.ports
            labelled = LabelledChanges(ports.changes, lambda: self.client)
            workspace.ports = replace(ports, changes=labelled)
            self._opened = workspace
        return self._opened

    @property
    def ports(self) -> VaultPorts:
        """What the use cases work on."""
        return self.workspace.ports

    @property
    def index(self) -> MemoryIndex:
        """The open index."""
        return self.workspace.index

    def refresh(self, call: Call) -> None:
        """See what changed in the folder and in the settings since the last call.

        Raises:
            SettingsError: the settings cannot be read, or the vault is gone.
        """
        if self._opened is not None:
            try:
                self._opened.refuse_if_gone()
            except SettingsError:
                # What comes back in its place may be other files.
                self._let_go()
                raise
            if self._opened.settings_version != self._settings:
                self._let_go(commit=True)
        else:
            Workspace(self.root).refuse_if_gone()
        synchronise(self.ports, progress=call.portions("reading notes"))

    def _let_go(self, *, commit: bool = False) -> None:
        """Have the vault opened anew, or leave that to a later call where the model is at work."""
        if not self._thinking.acquire(blocking=False):
            return
        try:
            if commit:
                self.commit()
            self.close()
        finally:
            self._thinking.release()

    def kept_open(self) -> contextlib.AbstractContextManager[object]:
        """Inside, the vault stays as it was opened; changed settings wait for the end of it."""
        return self._thinking

    @contextlib.contextmanager
    def thinking(self, call: Call) -> Iterator[Workspace]:
        """The vault while the model may be at work, which ends when the call stops."""
        with self._thinking, call.interruptible(self.stop_model):
            yield self.workspace

    def stop_model(self) -> None:
        """Cut short what the model is doing."""
        if self._opened is not None:
            self._opened.close_model()

    def commit(self) -> None:
        """Commit what was changed, where the settings say so."""
        if self._opened is None:
            return
        try:
            notices = self._opened.commit_changes()
        except AmemError as error:
            notices = [error.message]
        for notice in notices:
            self._notify(notice)

    def close(self) -> None:
        """Close what was opened."""
        opened, self._opened = self._opened, None
        if opened is not None:
            opened.close()

    def encoder(self, call: Call) -> Encoder | None:
        """The encoder with every passage embedded, or None where it cannot be had.

        Raises:
            Stopped: the call was cancelled between two portions.
        """
        return encoder_if_any(lambda: self.embedded(call), self._notify)

    def embedded(self, call: Call) -> Encoder:
        """The encoder with every passage embedded.

        Raises:
            EncoderError, SettingsError: it cannot be had.
            Stopped: the call was cancelled between two portions.
        """
        encoder = self.workspace.encoder
        embed_missing(self.ports, encoder, progress=call.portions("embedding passages"))
        return encoder

    def sees(self, note: NoteSummary) -> bool:
        """True for a note that agents are shown."""
        return self.policy.sees_private or not note.private

    def hidden(self) -> frozenset[str]:
        """Paths of the notes that agents are not shown."""
        return (
            frozenset() if self.policy.sees_private else frozenset(self.index.notes.private_paths())
        )

    def filters(
        self, tags: list[str] | None, since: str | None, until: str | None, folder: str | None
    ) -> VisibleNotes:
        """Which notes may be found.

        Raises:
            UsageError: `since` or `until` is no day.
        """
        return VisibleNotes(
            tags=tuple(tags or ()),
            since=_day(since, "since", 0),
            until=_day(until, "until", 1),
            path=folder or "",
            hidden=self.hidden(),
        )

    def named(self, name: str) -> NoteSummary:
        """The note that an agent named by id, path, file name, title or alias.

        Raises:
            NotFoundError: there is none that it is shown, or more than one.
        """
        wanted = name.strip().removeprefix("[[").removesuffix("]]").replace("\\", "/")
        found = [
            note for note in self.index.notes.find(wanted.removeprefix("./")) if self.sees(note)
        ]
        if len(found) == 1:
            return found[0]
        if found:
            paths = ", ".join(note.path for note in found[:4])
            raise NotFoundError(f"{name!r} names {len(found)} notes", hint=f"Say which: {paths}.")
        raise NotFoundError(f"no note {name!r}", hint="Find its id with search or list.")

    def count_use(self, keys: list[str]) -> None:
        """Remember that notes were found or read; a vault that cannot be written is read too."""
        now = self.ports.clock.now().isoformat(timespec="seconds")
        with contextlib.suppress(IndexFault), self.index.changing():
            self.index.usage.count(keys, now)


def _day(text: str | None, name: str, end: int) -> datetime | None:
    if not text:
        return None
    from amem_cli.core.relative_days import day_range

    try:
        return datetime.combine(day_range(text, datetime.now().date())[end], time())
    except ValueError:
        raise UsageError(
            f"{name} {text!r} is no date",
            hint="Write it as 2026-03-02, 2026-03, 7d, yesterday or 'last week'.",
        ) from None
