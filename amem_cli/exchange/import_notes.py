"""Makes the file of an imported note: its text as it is, its links valid, fields as properties.

Brings the notes of another place into the vault; nothing that is there is touched.
"""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from amem_cli.errors import AmemError, HeaderRefused, Problem, SettingsError
from amem_cli.exchange.attachments import ImportedFiles
from amem_cli.exchange.names import FreePaths, file_target, note_target
from amem_cli.exchange.plan import (
    ORIGIN,
    ImportPlan,
    PlannedNote,
    local_moment,
    origin_of,
    plan_import,
)
from amem_cli.exchange.source import AttachmentFolder, Source, SourceNote, SourceRelation
from amem_cli.exchange.source_markdown import known_relation
from amem_cli.index.draft import FieldValue, VaultPorts, new_event
from amem_cli.index.records import Progress
from amem_cli.index.sync import refresh
from amem_cli.journal.events import Change, Event, LinkRecord, NoteWrite
from amem_cli.language.dates import created_text
from amem_cli.markdown.links import WikiLink, format_link, parse_link, retarget_links
from amem_cli.markdown.tags import normalise_tag, tag_key
from amem_cli.notes.codec import body_bytes, compose_note, edit_header, parse_note
from amem_cli.notes.names import shortest_target
from amem_cli.notes.note import LIST_FIELDS, OWNED_FIELDS, Note

_NO_WORDS = frozenset({"related", "relates to", "related to", "links to", "relates"})


@dataclass(slots=True)
class ImportDraft:
    """A note about to be made.

    Attributes:
        content: the whole file.
        fields: what of it the program knows, by field name.
        links: what its links say, for the journal.
        unresolved: targets that nothing in the source or the vault has.
        retargeted: how many links had to be written in another way.
        problems: what is worth telling and hinders nothing.
    """

    content: bytes = b""
    fields: dict[str, FieldValue] = field(default_factory=dict)
    links: tuple[LinkRecord, ...] = ()
    unresolved: list[str] = field(default_factory=list)
    retargeted: int = 0
    problems: list[Problem] = field(default_factory=list)


class Drafting:
    """Makes drafts by a plan.

    Args:
        files: where the files go to which notes link.
    """

    def __init__(self, ports: VaultPorts, plan: ImportPlan, files: ImportedFiles) -> None:
        self._ports = ports
        self._plan = plan
        self._files = files

    def draft(self, note: SourceNote, planned: PlannedNote) -> ImportDraft:
        """The file of one note."""
        draft = ImportDraft(unresolved=list(note.lost))
        raw = self._with_valid_links(note, planned, draft)
        given = parse_note(planned.path, raw if note.has_header else b"", self._ports.names)
        draft.fields = self._fields(note, planned, given, draft)
        draft.content = self._composed(note, planned, raw, given, draft)
        return draft

    def _with_valid_links(
        self, note: SourceNote, planned: PlannedNote, draft: ImportDraft
    ) -> bytes:
        body = body_bytes(note.raw) if note.has_header else note.raw
        try:
            text = body.decode("utf-8")
        except UnicodeDecodeError:
            message = "is not UTF-8; it was taken as it is, without looking at its links"
            draft.problems.append(Problem(planned.place, planned.line, message))
            return note.raw

        def retarget(link: WikiLink) -> str | None:
            target = self._target(link, planned, draft)
            draft.retargeted += target is not None
            return target

        changed = retarget_links(text, retarget).encode("utf-8")
        return note.raw if changed == body else note.raw[: len(note.raw) - len(body)] + changed

    def _target(self, link: WikiLink, planned: PlannedNote, draft: ImportDraft) -> str | None:
        """How a link has to be written here; None to leave it."""
        if not link.target:
            return None
        found = self._plan.source_names.note(link, planned.source_path)
        meant = self._plan.by_source_path.get(found) if found else None
        if meant is not None and meant.path:
            return note_target(link, planned.path, meant.path, self._plan.vault_names)
        other = self._plan.source_names.other(link, planned.source_path)
        if other is not None:
            place = self._files.place(other)
            if not place:
                return None
            only_one = self._files.is_only_one(place)
            return file_target(link, planned.path, place, only_one=only_one)
        draft.unresolved.append(link.target)
        return None

    def _fields(
        self, note: SourceNote, planned: PlannedNote, given: Note, draft: ImportDraft
    ) -> dict[str, FieldValue]:
        """The program's own fields that the note is to have, in order."""
        fields: dict[str, FieldValue] = {}
        if planned.id:
            fields["id"] = given.id or planned.id
        if note.created and not note.exact:
            moment = local_moment(self._ports, note.created)
            fields["created"] = given.created or created_text(moment)
        elif given.created or not note.exact:
            now = local_moment(self._ports, self._ports.clock.now())
            fields["created"] = given.created or created_text(now)
        elif isinstance(note.properties.get("created"), str):
            fields["created"] = note.properties["created"]
        fields["keywords"] = note.keywords if note.exact else _merged(given.keywords, note.keywords)
        fields["tags"] = note.tags if note.exact else _merged_tags(given.tags, note.tags)
        fields["context"] = given.context or note.context
        fields["links"] = self._links(note, planned, given, draft)
        return {name: value for name, value in fields.items() if value}

    def _links(
        self, note: SourceNote, planned: PlannedNote, given: Note, draft: ImportDraft
    ) -> list[str]:
        if note.exact:
            return list(note.links)
        texts = [self._link(text, planned, draft) for text in (*given.links, *note.links)]
        records = []
        for relation in note.relations:
            record = self._record(relation, planned)
            if record is not None:
                texts.append(record.text)
                records.append(record)
        draft.links = tuple({record.target: record for record in records}.values())
        return list(dict.fromkeys(text for text in texts if text))

    def _link(self, text: str, planned: PlannedNote, draft: ImportDraft) -> str:
        """A link as it is to stand in the property; empty for an id that nothing has."""
        link = parse_link(text)
        if link is None:
            found = self._plan.source_names.named(text)
            meant = self._plan.by_source_path.get(found) if found else None
            if meant is None or not meant.path:
                draft.unresolved.append(text)
                return ""
            return format_link(shortest_target(meant.path, self._plan.vault_names))
        target = self._target(link, planned, draft)
        if target is None:
            return text
        draft.retargeted += 1
        return retarget_links(text, lambda _: target)

    def _record(self, relation: SourceRelation, planned: PlannedNote) -> LinkRecord | None:
        """What the journal keeps of a relation; None where it leads to no note."""
        link = parse_link(format_link(relation.target))
        found = self._plan.source_names.note(link, planned.source_path) if link else None
        meant = self._plan.by_source_path.get(found) if found else None
        if meant is None or not meant.path or meant is planned:
            return None
        word = " ".join(relation.relation.replace("_", " ").split())
        known = known_relation(relation.relation)
        said = [] if known != "related" or word.casefold() in _NO_WORDS else [word]
        said += [relation.reason] if relation.reason else []
        return LinkRecord(
            target=meant.id or meant.path,
            path=meant.path,
            text=format_link(shortest_target(meant.path, self._plan.vault_names)),
            relation=known,
            strength=1.0,
            reason=": ".join(said),
            by="person",
        )

    def _composed(
        self,
        note: SourceNote,
        planned: PlannedNote,
        raw: bytes,
        given: Note,
        draft: ImportDraft,
    ) -> bytes:
        properties = self._properties(note, planned, given, draft)
        if not note.has_header:
            text = raw.decode("utf-8", "replace")
            if not note.exact and not note.path and not text.endswith("\n"):
                text += "\n"
            return self._new(properties, text)
        if given.refused is None:
            try:
                return edit_header(raw, properties, self._ports.names)
            except HeaderRefused as refused:
                message, line = refused.message, refused.line
            except ValueError as error:
                message, line = str(error), 1
        else:
            message, line = given.refused.message, given.refused.line
        if not note.path:
            return compose_note(properties, raw.decode("utf-8", "replace"), self._ports.names)
        draft.fields = {}
        message = f"its header was left as it is, so it has no id: {message}"
        draft.problems.append(Problem(planned.place, line, message))
        return raw

    def _new(self, properties: dict[str, FieldValue], text: str) -> bytes:
        """A new file; without any property just the text, where it cannot be taken for a header."""
        if not properties:
            raw = text.encode("utf-8")
            read = parse_note("note.md", raw, self._ports.names)
            if read.refused is None and read.body == text:
                return raw
        return compose_note(properties, text, self._ports.names)

    def _properties(
        self, note: SourceNote, planned: PlannedNote, given: Note, draft: ImportDraft
    ) -> dict[str, FieldValue]:
        """All properties that are to be set, by the vault's own names for them."""
        names = self._ports.names
        fields = {name: draft.fields[name] for name in OWNED_FIELDS if name in draft.fields}
        properties = {getattr(names, name): value for name, value in fields.items()}
        stem = planned.path.rpartition("/")[2].removesuffix(".md")
        named = not note.path or note.title or stem != note.path.rpartition("/")[2][:-3]
        if (
            named
            and given.title in (stem, "")
            and unicodedata.normalize("NFC", planned.title) != (unicodedata.normalize("NFC", stem))
        ):
            properties["title"] = planned.title
        aliases = note.properties.get("aliases", ())
        for name, value in note.properties.items():
            if name not in (*properties, *OWNED_FIELDS, "title", "aliases"):
                properties[name] = value if isinstance(value, str) else list(value)
        if aliases:
            listed = (aliases,) if isinstance(aliases, str) else aliases
            properties["aliases"] = listed if note.exact else _merged(given.aliases, listed)
        return properties


def _merged(first: Sequence[str], second: Iterable[str]) -> list[str]:
    return [text for text in dict.fromkeys((*first, *second)) if text]


def _merged_tags(first: Sequence[str], second: Sequence[str]) -> list[str]:
    """The note's own tags as they are written, then those that are new and can be tags."""
    tags = list(first)
    known = {tag_key(tag) for tag in tags}
    for text in second:
        tag = normalise_tag(text)
        if tag and tag_key(tag) not in known:
            known.add(tag_key(tag))
            tags.append(tag)
    return tags


BATCH = 32
BATCH_BYTES = 8 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class ImportReport:
    """What an import did, or would do.

    Attributes:
        made: the notes that are new.
        there: notes that were there already; some of them changed in the source since.
        duplicates: notes whose very text another note has here, whether they were made or not.
        refused: notes that could not be taken, and what else of the source could not be read.
        noted: what is worth telling of notes that were made.
        unresolved: (place in the source, target) of links to nothing.
        files: (path in the source, path in the vault) of other files that were copied.
        other_files: how many files of the source are no notes.
        retargeted: how many links were written in another way to mean what they meant.
    """

    kind: str
    made: tuple[PlannedNote, ...]
    there: tuple[PlannedNote, ...]
    duplicates: tuple[PlannedNote, ...]
    refused: tuple[Problem, ...]
    noted: tuple[Problem, ...]
    unresolved: tuple[tuple[str, str], ...]
    files: tuple[tuple[str, str], ...]
    other_files: int
    retargeted: int

    @property
    def paths(self) -> tuple[str, ...]:
        """The notes that were made, in the vault."""
        return tuple(note.path for note in self.made)

    @property
    def skipped(self) -> int:
        """How many were there already."""
        return len(self.there)


def import_notes(
    ports: VaultPorts,
    source: Source,
    attachments: AttachmentFolder,
    *,
    folder: str | None = None,
    usual_folder: str = "notes",
    unless_known: bool = False,
    dry_run: bool = False,
    progress: Progress | None = None,
) -> ImportReport:
    """Make a note of each note of a source that the vault does not have.

    What was imported before is recognised and left as it is, so an import can be repeated, also one
    that was stopped in the middle.

    Args:
        folder: vault-relative folder for the notes. Where it is None they go to `usual_folder`,
            and those that this program wrote out to where they were.
        unless_known: make no note whose very text the vault, or an earlier note of the source, has.
        dry_run: write nothing.

    Raises:
        UsageError: the folder is not in the vault.
        SettingsError: the source cannot be read, or the vault cannot be written.
    """
    with ports.changes.locked():
        plan = plan_import(ports, source, folder, usual_folder, unless_known=unless_known)
        free = FreePaths(ports, usual_folder if folder is None else folder)
        files = ImportedFiles(source, attachments, free, dry_run=dry_run)
        run = _Run(ports, source, plan, Drafting(ports, plan, files), dry_run, progress)
        run.make_all()
    refused = [Problem(note.place, note.line, note.reason) for note in plan.decided("refused")]
    return ImportReport(
        kind=source.kind,
        made=tuple(run.made),
        there=tuple(plan.decided("there", "changed", "known")),
        duplicates=tuple(note for note in (*run.made, *plan.decided("known")) if note.same_text),
        refused=(*plan.problems, *refused, *run.refused),
        noted=(*run.noted, *files.problems),
        unresolved=tuple(dict.fromkeys(run.unresolved)),
        files=tuple(files.copied),
        other_files=len(source.others),
        retargeted=run.retargeted,
    )


class _Run:
    """The writing of one import, some notes at a time."""

    def __init__(
        self,
        ports: VaultPorts,
        source: Source,
        plan: ImportPlan,
        drafting: Drafting,
        dry_run: bool,
        progress: Progress | None,
    ) -> None:
        self._ports = ports
        self._source = source
        self._drafting = drafting
        self._dry_run = dry_run
        self._progress = progress
        self._planned = {
            (note.place, note.line, note.origin.key): note for note in plan.decided("make")
        }
        self._waiting: list[tuple[PlannedNote, ImportDraft]] = []
        self._bytes = 0
        self.made: list[PlannedNote] = []
        self.refused: list[Problem] = []
        self.noted: list[Problem] = []
        self.unresolved: list[tuple[str, str]] = []
        self.retargeted = 0

    def make_all(self) -> None:
        """Read the source a second time and make what the plan says."""
        total = len(self._planned)
        for note in self._source.notes([]):
            origin = origin_of(note, self._source.identity)
            planned = self._planned.pop((note.place, note.line, origin.key), None)
            if planned is None:
                continue
            # It may have been saved between the two readings.
            planned.origin = origin
            try:
                draft = self._drafting.draft(note, planned)
            except (AmemError, ValueError) as error:
                text = error.message if isinstance(error, AmemError) else str(error)
                self.refused.append(Problem(planned.place, planned.line, text))
                continue
            self._waiting.append((planned, draft))
            self._bytes += len(draft.content)
            if len(self._waiting) >= BATCH or self._bytes >= BATCH_BYTES:
                self._write()
                if self._progress is not None:
                    self._progress(total - len(self._planned), total)
        self._write()
        if self._progress is not None:
            self._progress(total, total)
        for planned in self._planned.values():
            self.refused.append(Problem(planned.place, planned.line, "went away meanwhile"))

    def _write(self) -> None:
        batch, self._waiting, self._bytes = self._waiting, [], 0
        if not batch:
            return
        try:
            self._apply(batch)
        except (FileExistsError, AmemError) as error:
            if len(batch) == 1 or isinstance(error, SettingsError):
                self._fail(batch, error)
                return
            for one in batch:
                try:
                    self._apply([one])
                except (FileExistsError, AmemError) as own:
                    self._fail([one], own)

    def _fail(self, batch: Sequence[tuple[PlannedNote, ImportDraft]], error: Exception) -> None:
        """What keeps one note from being written keeps all of them, but for a name or a place."""
        if isinstance(error, SettingsError):
            raise error
        reason = error.message if isinstance(error, AmemError) else "its place was just taken"
        self.refused += [Problem(note.place, note.line, reason) for note, _ in batch]

    def _apply(self, batch: Sequence[tuple[PlannedNote, ImportDraft]]) -> None:
        if not self._dry_run:
            writes = [NoteWrite(note.path, None, draft.content) for note, draft in batch]
            events = [self._event(note, draft) for note, draft in batch]
            self._ports.changes.apply(writes, events)
            refresh(self._ports, [note.path for note, _ in batch])
        for note, draft in batch:
            note.id = str(draft.fields.get("id", ""))
            self.made.append(note)
            self.noted += draft.problems
            self.unresolved += [(note.shown, target) for target in draft.unresolved]
            self.retargeted += draft.retargeted

    def _event(self, note: PlannedNote, draft: ImportDraft) -> Event:
        changes = tuple(
            Change(
                name,
                [] if name in LIST_FIELDS else "",
                value if isinstance(value, str) else list(value),
            )
            for name, value in draft.fields.items()
        )
        event = new_event(
            self._ports,
            "add",
            by="person",
            note=str(draft.fields.get("id", "")) or note.path,
            path=note.path,
            changes=changes,
            links=draft.links,
            sha=hashlib.sha256(draft.content).hexdigest(),
            reason=f"imported from {self._source.kind}",
        )
        return replace(event, extra={ORIGIN: note.origin.record})
