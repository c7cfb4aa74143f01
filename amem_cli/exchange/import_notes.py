"""Imports the notes of a source: text as it is, valid links, fields as properties.

Nothing that exists in the vault is changed.
"""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from amem_cli.errors import AmemError, HeaderRefused, Problem, SettingsError
from amem_cli.exchange.attachments import AttachmentCopier
from amem_cli.exchange.names import FreePaths, file_target, note_target
from amem_cli.exchange.plan import (
    ORIGIN,
    ImportPlan,
    ImportPlanner,
    PlannedNote,
    local_moment,
    origin_of,
)
from amem_cli.exchange.source import ImportSource, SourceNote, SourceRelation
from amem_cli.exchange.source_markdown import known_relation
from amem_cli.index.draft import FieldValue, change_of, new_event
from amem_cli.index.ports import VaultPorts
from amem_cli.index.records import Progress
from amem_cli.index.sync import refresh
from amem_cli.journal.events import Event, LinkRecord, NoteWrite
from amem_cli.language.dates import created_text
from amem_cli.markdown.links import WikiLink, format_link, merge_tags, parse_link, retarget_links
from amem_cli.notes.codec import body_bytes, parse_note
from amem_cli.notes.front_matter_edit import compose_note, edit_header
from amem_cli.notes.names import shortest_target
from amem_cli.notes.note import OWNED_FIELDS, Note

_VAGUE_RELATIONS = frozenset({"related", "relates to", "related to", "links to", "relates"})


@dataclass(slots=True)
class ImportDraft:
    """A note about to be made.

    Attributes:
        content: the whole file.
        fields: amem's own fields in it, by field name.
        links: what its relations mean, for the journal.
        unresolved: targets that nothing in the source or the vault has.
        retargeted: how many links had to be rewritten.
        problems: warnings.
    """

    content: bytes = b""
    fields: dict[str, FieldValue] = field(default_factory=dict)
    links: tuple[LinkRecord, ...] = ()
    unresolved: list[str] = field(default_factory=list)
    retargeted: int = 0
    problems: list[Problem] = field(default_factory=list)


class _Drafter:
    """Makes the drafts of a plan."""

    def __init__(self, ports: VaultPorts, plan: ImportPlan, copier: AttachmentCopier) -> None:
        self._ports = ports
        self._plan = plan
        self._copier = copier

    def draft(self, note: SourceNote, planned: PlannedNote) -> ImportDraft:
        """The file of one note."""
        draft = ImportDraft(unresolved=list(note.dangling))
        raw = self._with_valid_links(note, planned, draft)
        given = parse_note(planned.path, raw if note.has_header else b"", self._ports.names)
        draft.fields = self._fields(note, planned, given, draft)
        draft.content = self._content(note, planned, raw, given, draft)
        return draft

    def _with_valid_links(
        self, note: SourceNote, planned: PlannedNote, draft: ImportDraft
    ) -> bytes:
        body = body_bytes(note.raw) if note.has_header else note.raw
        try:
            text = body.decode("utf-8")
        except UnicodeDecodeError:
            message = "is not UTF-8; imported as it is, its links unchecked"
            draft.problems.append(Problem(planned.place, planned.line, message))
            return note.raw

        def retarget(link: WikiLink) -> str | None:
            target = self._target(link, planned, draft)
            draft.retargeted += target is not None
            return target

        # The header stays byte for byte; only the body is rewritten.
        changed = retarget_links(text, retarget).encode("utf-8")
        return note.raw if changed == body else note.raw[: len(note.raw) - len(body)] + changed

    def _planned_at(self, source_path: str | None) -> PlannedNote | None:
        planned = self._plan.by_source_path.get(source_path or "")
        return planned if planned and planned.path else None

    def _target(self, link: WikiLink, planned: PlannedNote, draft: ImportDraft) -> str | None:
        """How a link must be written here; None to leave it."""
        if not link.target:
            return None
        names, source_path = self._plan.source_names, planned.source_path
        to = self._planned_at(names.note(link, source_path))
        if to is not None:
            return note_target(link, planned.path, to.path, self._plan.vault_names)
        other = names.other(link, source_path)
        if other is None:
            draft.unresolved.append(link.target)
            return None
        path = self._copier.vault_path(other)
        if not path:
            return None
        return file_target(link, planned.path, path, only_one=self._copier.has_unique_name(path))

    def _fields(
        self, note: SourceNote, planned: PlannedNote, given: Note, draft: ImportDraft
    ) -> dict[str, FieldValue]:
        """amem's own fields of the note, in order."""
        fields: dict[str, FieldValue] = {}
        if planned.id:
            fields["id"] = given.id or planned.id
        if note.exact:
            fields["created"] = given.created or note.properties.get("created", "")
        else:
            moment = local_moment(self._ports, note.created or self._ports.clock.now())
            fields["created"] = given.created or created_text(moment)
        fields["keywords"] = note.keywords if note.exact else _merged(given.keywords, note.keywords)
        fields["tags"] = note.tags if note.exact else merge_tags(given.tags, note.tags)
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
        """A link as the property needs it; empty for an id that nothing has."""
        link = parse_link(text)
        if link is None:
            to = self._planned_at(self._plan.source_names.named(text))
            if to is None:
                draft.unresolved.append(text)
                return ""
            return format_link(shortest_target(to.path, self._plan.vault_names))
        target = self._target(link, planned, draft)
        if target is None:
            return text
        draft.retargeted += 1
        return retarget_links(text, lambda _: target)

    def _record(self, relation: SourceRelation, planned: PlannedNote) -> LinkRecord | None:
        """What the journal keeps of a relation; None if it leads to no note."""
        link = parse_link(format_link(relation.target))
        names = self._plan.source_names
        to = self._planned_at(names.note(link, planned.source_path)) if link else None
        if to is None or to is planned:
            return None
        word = " ".join(relation.relation.replace("_", " ").split())
        known = known_relation(relation.relation)
        adds_nothing = known != "related" or word.casefold() in _VAGUE_RELATIONS
        return LinkRecord(
            target=to.id or to.path,
            path=to.path,
            text=format_link(shortest_target(to.path, self._plan.vault_names)),
            relation=known,
            strength=1.0,
            reason=": ".join(filter(None, ["" if adds_nothing else word, relation.reason])),
            by="person",
        )

    def _content(
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
            if not properties:
                # Without properties it is just the text, unless that opens like a header.
                raw = text.encode("utf-8")
                plain = parse_note("note.md", raw, self._ports.names)
                if plain.refused is None and plain.body == text:
                    return raw
            return compose_note(properties, text, self._ports.names)
        if given.refused is None:
            try:
                return edit_header(raw, properties, self._ports.names)
            except HeaderRefused as refused:
                message, line = refused.message, refused.line
            except ValueError as error:
                message, line = str(error), 1
        else:
            message, line = given.refused.message, given.refused.line
        # A record has no file of its own, so its odd header becomes text.
        if not note.path:
            return compose_note(properties, raw.decode("utf-8", "replace"), self._ports.names)
        draft.fields = {}
        message = f"its header is unchanged, so it has no id: {message}"
        draft.problems.append(Problem(planned.place, line, message))
        return raw

    def _properties(
        self, note: SourceNote, planned: PlannedNote, given: Note, draft: ImportDraft
    ) -> dict[str, FieldValue]:
        """The properties to set, by the vault's names for them."""
        names = self._ports.names
        properties = {
            getattr(names, name): draft.fields[name]
            for name in OWNED_FIELDS
            if name in draft.fields
        }
        stem = planned.path.rpartition("/")[2].removesuffix(".md")
        # The file name alone tells the title, unless the vault could not hold it as it was.
        renamed = not note.path or note.title or stem != note.path.rpartition("/")[2][:-3]
        if renamed and given.title in (stem, "") and _nfc(planned.title) != _nfc(stem):
            properties["title"] = planned.title
        aliases = note.properties.get("aliases", ())
        for name, value in note.properties.items():
            if name not in (*properties, *OWNED_FIELDS, "title", "aliases"):
                properties[name] = value if isinstance(value, str) else list(value)
        if aliases:
            aliases = (aliases,) if isinstance(aliases, str) else aliases
            properties["aliases"] = aliases if note.exact else _merged(given.aliases, aliases)
        return properties


def _nfc(text: str) -> str:
    return unicodedata.normalize("NFC", text)


def _merged(first: Sequence[str], second: Iterable[str]) -> list[str]:
    return [text for text in dict.fromkeys((*first, *second)) if text]


# Each batch is one change of the journal: a stopped import leaves only whole notes.
BATCH = 32
BATCH_BYTES = 8 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class ImportReport:
    """What an import did, or would do.

    Attributes:
        made: the new notes.
        there: existing notes; some of them changed in the source since.
        duplicates: notes whose text another note has, whether they were made or not.
        refused: notes that could not be imported, and files that could not be read.
        noted: warnings about notes that were made.
        unresolved: (place in the source, target) of links to nothing.
        files: (path in the source, path in the vault) of other files that were copied.
        other_files: how many files of the source are not notes.
        retargeted: how many links were rewritten to keep their meaning.
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
        """Paths of the new notes."""
        return tuple(note.path for note in self.made)

    @property
    def skipped(self) -> int:
        """How many existed already."""
        return len(self.there)


def import_notes(
    ports: VaultPorts,
    source: ImportSource,
    root: Path,
    *,
    folder: str | None = None,
    usual_folder: str = "notes",
    unless_known: bool = False,
    dry_run: bool = False,
    progress: Progress | None = None,
) -> ImportReport:
    """Make a note of each note of a source that the vault does not have.

    An import can be repeated, also one that was stopped in the middle: what was imported before is
    recognised and stays as it is.

    Args:
        root: the vault's folder.
        folder: vault-relative folder for the notes, empty for the top. If None, new notes go to
            `usual_folder`, and those that amem exported to where they were.
        unless_known: make no note whose text the vault, or an earlier note of the source, has.
        dry_run: write nothing.

    Raises:
        UsageError: the folder is not in the vault.
        SettingsError: the source cannot be read, or the vault cannot be written.
    """
    with ports.changes.locked():
        planner = ImportPlanner(ports, source, folder, usual_folder, unless_known=unless_known)
        plan = planner.plan()
        free = FreePaths(ports, usual_folder if folder is None else folder)
        copier = AttachmentCopier(source.folder, root, free, dry_run=dry_run)
        run = _ImportRun(ports, source, plan, _Drafter(ports, plan, copier), dry_run, progress)
        run.make_all()
    refused = [Problem(note.place, note.line, note.reason) for note in plan.decided("refused")]
    return ImportReport(
        kind=source.kind,
        made=tuple(run.made),
        there=tuple(plan.decided("there", "changed", "known")),
        duplicates=tuple(note for note in (*run.made, *plan.decided("known")) if note.same_text),
        refused=(*plan.problems, *refused, *run.refused),
        noted=(*run.noted, *copier.problems),
        unresolved=tuple(dict.fromkeys(run.unresolved)),
        files=tuple(copier.copied),
        other_files=len(source.other_files),
        retargeted=run.retargeted,
    )


class _ImportRun:
    """Writes one import in batches."""

    def __init__(
        self,
        ports: VaultPorts,
        source: ImportSource,
        plan: ImportPlan,
        drafter: _Drafter,
        dry_run: bool,
        progress: Progress | None,
    ) -> None:
        self._ports = ports
        self._source = source
        self._drafter = drafter
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
        """Read the source a second time and make the planned notes."""
        total = len(self._planned)
        for note in self._source.notes([]):
            origin = origin_of(note, self._source.identity)
            planned = self._planned.pop((note.place, note.line, origin.key), None)
            if planned is None:
                continue
            # Somebody may have saved it between the two readings.
            planned.origin = origin
            try:
                draft = self._drafter.draft(note, planned)
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
            self.refused.append(Problem(planned.place, planned.line, "disappeared meanwhile"))

    def _write(self) -> None:
        batch, self._waiting, self._bytes = self._waiting, [], 0
        if not batch:
            return
        try:
            self._apply(batch)
        except (FileExistsError, AmemError) as error:
            # Written one by one, only the note that failed is refused.
            if len(batch) == 1 or isinstance(error, SettingsError):
                self._fail(batch, error)
                return
            for one in batch:
                try:
                    self._apply([one])
                except (FileExistsError, AmemError) as own:
                    self._fail([one], own)

    def _fail(self, batch: Sequence[tuple[PlannedNote, ImportDraft]], error: Exception) -> None:
        """Only a taken path concerns one note; whatever else fails would fail for all."""
        if isinstance(error, SettingsError):
            raise error
        reason = error.message if isinstance(error, AmemError) else "its place was just taken"
        self.refused += [Problem(note.place, note.line, reason) for note, _ in batch]

    def _apply(self, batch: Sequence[tuple[PlannedNote, ImportDraft]]) -> None:
        if not self._dry_run:
            writes = [NoteWrite(note.path, None, draft.content) for note, draft in batch]
            events = [self._event(note, draft) for note, draft in batch]
            self._ports.changes.apply(writes, events)
            # The index must know these notes before the next batch links to them.
            refresh(self._ports, [note.path for note, _ in batch])
        for note, draft in batch:
            note.id = str(draft.fields.get("id", ""))
            self.made.append(note)
            self.noted += draft.problems
            self.unresolved += [(note.shown, target) for target in draft.unresolved]
            self.retargeted += draft.retargeted

    def _event(self, note: PlannedNote, draft: ImportDraft) -> Event:
        nothing = parse_note(note.path, b"", self._ports.names)
        changes = tuple(change_of(nothing, name, value) for name, value in draft.fields.items())
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
