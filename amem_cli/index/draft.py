"""The open vault that every use case works on.

Turns an intended change of a note's metadata into new bytes and a journal event.
Tells what in a note is the machine's own.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any, Protocol

from amem_cli.errors import HeaderRefused, SettingsError, UsageError
from amem_cli.journal.events import Change, Event, NoteWrite, event_id, splice_between
from amem_cli.journal.ownership import Ownership, ownership
from amem_cli.language.dates import created_text, new_id
from amem_cli.notes.codec import body_bytes, edit_header, parse_note
from amem_cli.notes.note import LIST_FIELDS, OWNED_FIELDS, Note
from amem_cli.vault.port import FileContent

if TYPE_CHECKING:
    from amem_cli.errors import Problem
    from amem_cli.index.memory_index import MemoryIndex
    from amem_cli.journal.change_store import ChangeStore
    from amem_cli.journal.events import Clock, JournalNews
    from amem_cli.notes.note import PropertyNames
    from amem_cli.vault.port import Vault


class Journal(Protocol):
    """The journal's files."""

    def read_new(self, positions: Mapping[str, str], problems: list[Problem]) -> JournalNews:
        """Events beyond the known positions, by the file's name."""


@dataclass(frozen=True, slots=True)
class VaultPorts:
    """What is needed to read and change a vault; models come separately.

    Attributes:
        names: how the vault calls the program's properties.
        spared: asked where notes are missing: paths of those that are not to be forgotten, as while
            somebody is asked about them.
    """

    vault: Vault
    index: MemoryIndex
    changes: ChangeStore
    journal: Journal
    clock: Clock
    names: PropertyNames
    spared: Callable[[], Container[str]] = tuple


FieldValue = str | Sequence[str]


@dataclass(slots=True)
class NoteDraft:
    """One note on its way to a new version: every step is an event, the file is written once.

    Attributes:
        raw: the bytes as they will be.
    """

    ports: VaultPorts
    content: FileContent
    raw: bytes = b""
    events: list[Event] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.raw = self.content.raw
        if self.content.cut:
            raise SettingsError(
                f"{self.path} is larger than 2 MiB and is not edited", hint="Split the note."
            )
        refused = self.note.refused
        if refused is not None:
            # Where the header ends is not certain then, so nothing of the file may be replaced.
            raise HeaderRefused(
                f"{self.path}:{refused.line}: {refused.message}",
                line=refused.line,
                hint=refused.hint,
            )

    @property
    def path(self) -> str:
        """Vault-relative path."""
        return self.content.state.path

    @property
    def note(self) -> Note:
        """The note as it will be read."""
        return parse_note(self.path, self.raw, self.ports.names)

    def change(
        self, fields: Mapping[str, FieldValue], event: Event, *, taken: Collection[str] = ()
    ) -> bool:
        """Set fields and record the event; False where nothing would change.

        A note that has no id gets one with its first change.

        Args:
            fields: new values by field name (not yet mapped to property names).
            event: kind, cause and explanation; note, path, changes and splice are filled in here.
            taken: ids that other drafts of the same plan have just been given.

        Raises:
            HeaderRefused: the front matter cannot be edited without risk.
        """
        before = self.note
        fields = {
            name: value for name, value in fields.items() if _value(before, name) != _plain(value)
        }
        if not fields:
            return False
        if before.id is None:
            fields = {**self._identity(taken), **fields}
        ordered = {name: fields[name] for name in OWNED_FIELDS if name in fields}
        raw = self.edited(ordered)
        changes = tuple(change_of(before, name, value) for name, value in ordered.items())
        splice = splice_between(self.raw, raw, _sha(self.raw), _sha(raw))
        self.raw = raw
        self.events.append(
            replace(event, note=self.note.id or "", path=self.path, changes=changes, splice=splice)
        )
        return True

    def replace_body(self, body: bytes, event: Event) -> bool:
        """Put another text below the front matter; False where it is the same.

        Raises:
            UsageError: there is no front matter, and the text begins as some does.
        """
        old = body_bytes(self.raw)
        if body == old:
            return False
        raw = self.raw[: len(self.raw) - len(old)] + body
        if body_bytes(raw) != body or parse_note(self.path, raw, self.ports.names).refused:
            raise UsageError(
                "the text begins as front matter does", hint="Give the text without properties."
            )
        splice = splice_between(self.raw, raw, _sha(self.raw), _sha(raw))
        self.raw = raw
        self.events.append(replace(event, note=self.note.id or "", path=self.path, splice=splice))
        return True

    def note_down(self, event: Event) -> None:
        """Record what changes no byte of the note, as the strength of a link."""
        self.events.append(replace(event, note=self.note.id or "", path=self.path))

    def restore(self, raw: bytes, event: Event, changes: tuple[Change, ...]) -> None:
        """Put earlier bytes back."""
        splice = splice_between(self.raw, raw, _sha(self.raw), _sha(raw))
        note_id = self.note.id or ""
        self.raw = raw
        self.events.append(
            replace(event, note=note_id, path=self.path, changes=changes, splice=splice)
        )

    def edited(self, fields: Mapping[str, FieldValue]) -> bytes:
        """The bytes with these fields set.

        Raises:
            HeaderRefused: the front matter cannot be edited without risk.
        """
        mapped = {getattr(self.ports.names, name): value for name, value in fields.items()}
        try:
            return edit_header(self.raw, mapped, self.ports.names)
        except HeaderRefused as refused:
            raise HeaderRefused(
                f"{self.path}:{refused.line}: {refused.message}",
                line=refused.line,
                hint=refused.hint,
            ) from None

    def write(self) -> list[NoteWrite]:
        """The one write that makes all steps true, if there were any."""
        if self.raw == self.content.raw:
            return []
        return [NoteWrite(self.path, self.content.raw, self.raw)]

    def _identity(self, taken: Collection[str]) -> dict[str, str]:
        # A note that was there before the program is as old as its file says.
        moment = datetime.fromtimestamp(self.content.state.mtime_ns / 1e9, tz=timezone.utc)
        local = moment.astimezone(self.ports.clock.now().tzinfo).replace(tzinfo=None)
        index = self.ports.index
        identity = {"id": new_id(local, lambda text: text in taken or index.notes.id_taken(text))}
        if not self.note.created:
            identity["created"] = created_text(local)
        return identity


def new_event(ports: VaultPorts, kind: str, **values: Any) -> Event:
    """An event that happens now."""
    now = ports.clock.now().isoformat(timespec="seconds")
    name = event_id(ports.clock, ports.index.events.newest_id())
    return Event(id=name, time=now, kind=kind, **values)


def change_of(note: Note, name: str, value: FieldValue) -> Change:
    """A field of a note as it is, and as it would be."""
    return Change(name, _value(note, name), _plain(value))


def _value(note: Note, name: str) -> str | list[str]:
    value = getattr(note, name)
    if value is None:
        return ""
    return list(value) if name in LIST_FIELDS else value


def _plain(value: FieldValue) -> str | list[str]:
    return value if isinstance(value, str) else list(value)


def _sha(raw: bytes) -> str:
    return hashlib.sha256(raw).hexdigest()


def owned_by_machine(index: MemoryIndex, key: str, later: Iterable[Event] = ()) -> Ownership:
    """What the journal calls the machine's own in a note.

    Where two notes have one id, as a copy has, nobody can tell which of them an event was about:
    then nothing is the machine's.

    Args:
        key: the note's id, or its path where it has none.
        later: events of the same note that are not in the journal yet.
    """
    owned = ownership([*index.events.read(key), *later])
    return Ownership(declined=owned.declined, kept=owned.kept) if is_shared(index, key) else owned


def is_shared(index: MemoryIndex, key: str) -> bool:
    """Whether more than one note carries this id."""
    return sum(summary.id == key for summary in index.notes.find(key)) > 1
