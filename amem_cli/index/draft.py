"""A note's change while it is made: new bytes and journal events."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from amem_cli.errors import HeaderRefused, SettingsError, UsageError
from amem_cli.index.memory_index import VaultPorts
from amem_cli.journal.events import Change, Event, NoteWrite, event_id, splice_between
from amem_cli.journal.provenance import Provenance, provenance
from amem_cli.language.dates import created_text, local_moment, moment_in, new_id
from amem_cli.notes.creation_date import creation_date, date_in_note
from amem_cli.notes.front_matter_edit import edit_header, without_empty_list
from amem_cli.notes.note import LIST_FIELDS, OWNED_FIELDS, Note, body_bytes, parse_note
from amem_cli.vault.file_state import FileContent
from amem_cli.vault.safe_write import sha256

if TYPE_CHECKING:
    from amem_cli.index.memory_index import MemoryIndex


FieldValue = str | Sequence[str]


@dataclass(slots=True)
class NoteDraft:
    """A note being changed: every step is an event, the file with its new bytes is written once."""

    ports: VaultPorts
    content: FileContent
    raw: bytes = b""
    events: list[Event] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.raw = self.content.raw
        if self.content.cut:
            why = f"{self.path} is larger than 2 MiB and is not edited"
            raise SettingsError(why, hint="Split the note.")
        refused = self.note.refused
        if refused is not None:
            # It is not certain where the front matter ends, so no byte may be replaced.
            raise self._refusal(refused.line, refused.message, refused.hint)

    @property
    def path(self) -> str:
        return self.content.state.path

    @property
    def note(self) -> Note:
        """The note as the new bytes say."""
        return parse_note(self.path, self.raw, self.ports.names)

    def change(
        self,
        fields: Mapping[str, FieldValue],
        event: Event,
        *,
        taken: Collection[str] = (),
        dropped: str = "",
    ) -> bool:
        """Set fields and record the event; False if nothing would change.

        A note without an id gets one with its first change.

        Args:
            fields: new values by field name (not by property name).
            event: kind, cause and explanation; note, path, changes and splice are set here.
            taken: ids that other drafts of the same plan have just got.
            dropped: a field whose property goes from the note if its list is empty now.

        Raises:
            HeaderRefused: the front matter cannot be edited without risk.
        """
        before = self.note
        wanted = [change_of(before, name, value) for name, value in fields.items()]
        fields = {each.field: fields[each.field] for each in wanted if each.before != each.after}
        if not fields:
            return False
        fields = {**self._identity(taken), **fields} if before.id is None else fields
        self._set(fields, event, dropped)
        return True

    def identify(self, event: Event, *, taken: Collection[str] = ()) -> None:
        """Give the note an id if it has none; arguments and errors as for `change`."""
        if self.note.id is None:
            self._set(self._identity(taken), event)

    def _set(self, fields: Mapping[str, FieldValue], event: Event, dropped: str = "") -> None:
        before = self.note
        ordered = {name: fields[name] for name in OWNED_FIELDS if name in fields}
        raw = self.edited(ordered)
        if dropped:
            raw = without_empty_list(raw, getattr(self.ports.names, dropped))
        changes = tuple(change_of(before, name, value) for name, value in ordered.items())
        self._step(raw, replace(event, changes=changes))

    def replace_body(self, body: bytes, event: Event) -> bool:
        """Replace the text below the front matter; False if it is the same."""
        old = body_bytes(self.raw)
        if body == old:
            return False
        raw = self.raw[: len(self.raw) - len(old)] + body
        if body_bytes(raw) != body or parse_note(self.path, raw, self.ports.names).refused:
            hint = "Give the text without properties."
            raise UsageError("the text begins as front matter does", hint=hint)
        self._step(raw, event)
        return True

    def record(self, event: Event) -> None:
        """Record what changes no byte of the note, such as the strength of a link."""
        self.events.append(replace(event, note=self.note.id or "", path=self.path))

    def restore(self, raw: bytes, event: Event, changes: tuple[Change, ...]) -> None:
        """Put earlier bytes back."""
        # Either bytes may lack the id, but the journal must name the note.
        note = self.note.id
        self._step(raw, replace(event, changes=changes))
        if note is not None:
            self.events[-1] = replace(self.events[-1], note=note)

    def _step(self, raw: bytes, event: Event) -> None:
        splice = splice_between(self.raw, raw, sha256(self.raw), sha256(raw))
        self.raw = raw
        self.record(replace(event, splice=splice))

    def edited(self, fields: Mapping[str, FieldValue]) -> bytes:
        mapped = {getattr(self.ports.names, name): value for name, value in fields.items()}
        try:
            return edit_header(self.raw, mapped, self.ports.names)
        except HeaderRefused as refused:
            raise self._refusal(refused.line, refused.message, refused.hint) from None

    def _refusal(self, line: int, message: str, hint: str) -> HeaderRefused:
        return HeaderRefused(f"{self.path}:{line}: {message}", line=line, hint=hint)

    def write(self) -> list[NoteWrite]:
        """The one write for all steps, if any changed the bytes."""
        if self.raw == self.content.raw:
            return []
        return [NoteWrite(self.path, self.content.raw, self.raw, modified_ns=self._former_time())]

    def _former_time(self) -> int:
        """The file's time before the note got the id that it now loses; 0 if it counts for nothing.

        It is all that tells when an undated note was made.
        """
        former = parse_note(self.path, self.content.raw, self.ports.names).id
        note = self.note
        if (
            not former
            or note.id
            or date_in_note(self.path, self.raw, note.created, self.ports.daily)
        ):
            return 0
        moment = moment_in(former[:14])
        return int(moment.timestamp()) * 10**9 if moment else 0

    def _identity(self, taken: Collection[str]) -> dict[str, str]:
        zone = self.ports.clock.now().tzinfo
        saved = datetime.fromtimestamp(self.content.state.mtime_ns / 1e9, tz=zone)
        given, first_commit = self.note.created, self.ports.first_commit
        made = creation_date(
            self.path, self.raw, saved, first_commit, given=given, daily=self.ports.daily
        )
        index = self.ports.index
        note_id = new_id(
            made or local_moment(saved, zone),
            lambda text: text in taken or index.notes.id_taken(text),
        )
        known = {"created": created_text(made)} if made and not self.note.created else {}
        return {"id": note_id, **known}


def new_event(ports: VaultPorts, kind: str, **values: Any) -> Event:
    now = ports.clock.now().isoformat(timespec="seconds")
    name = event_id(ports.clock, ports.index.events.newest_id())
    return Event(id=name, time=now, kind=kind, **values)


def change_of(note: Note, name: str, value: FieldValue) -> Change:
    """The change from a note's field to a new value."""
    before = getattr(note, name)
    if before is None:
        before = ""
    elif name in LIST_FIELDS:
        before = list(before)
    return Change(name, before, value if isinstance(value, str) else list(value))


def provenance_of(index: MemoryIndex, key: str, later: Iterable[Event] = ()) -> Provenance:
    """What the machine wrote in a note, according to the journal.

    If two notes share an id, as copies do, nobody can tell which of them an event was about: then
    nothing counts as the machine's.
    """
    owned = provenance([*index.events.read(key), *later])
    if id_is_shared(index, key):
        return Provenance(declined=owned.declined, kept=owned.kept)
    return owned


def id_is_shared(index: MemoryIndex, key: str) -> bool:
    return sum(summary.id == key for summary in index.notes.find(key)) > 1
