"""Imports the notes of a source: text as it is, valid links, fields as properties.

Nothing that exists in the vault is changed.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from amem_cli.errors import AmemError, HeaderRefused, Problem, SettingsError
from amem_cli.exchange.places import AttachmentCopier, file_target, note_target
from amem_cli.exchange.plan import ORIGIN, ImportPlan, PlannedNote, texts
from amem_cli.exchange.source import ImportSource, SourceRelation
from amem_cli.exchange.source_markdown import known_relation
from amem_cli.index.draft import FieldValue, change_of, new_event
from amem_cli.index.memory_index import VaultPorts
from amem_cli.index.records import Progress
from amem_cli.index.sync import refresh
from amem_cli.journal.events import Event, LinkRecord, NoteWrite
from amem_cli.language.dates import created_text, local_moment
from amem_cli.markdown.links import WikiLink, format_link, merge_tags, parse_link, retarget_links
from amem_cli.notes.front_matter_edit import compose_note, edit_header
from amem_cli.notes.names import resolve, shortest_target
from amem_cli.notes.note import OWNED_FIELDS, Note, body_bytes, parse_note
from amem_cli.vault.safe_write import sha256

_VAGUE_RELATIONS = frozenset({"related", "relates to", "related to", "links to", "relates"})


class ImportDraft:
    """A note about to be made.

    Attributes:
        content: the whole file; `fields`: amem's own fields in it, by field name.
        links: what its relations mean, for the journal.
        unresolved: targets that nothing in the source or the vault has.
        retargeted: how many links had to be rewritten.
    """

    def __init__(
        self, ports: VaultPorts, plan: ImportPlan, copier: AttachmentCopier, planned: PlannedNote
    ) -> None:
        self._ports = ports
        self._names = ports.names
        self._plan = plan
        self._copier = copier
        self._note = planned.note
        self._planned = planned
        self.links: tuple[LinkRecord, ...] = ()
        self.unresolved = list(self._note.dangling)
        self.retargeted = 0
        self.problems: list[Problem] = []
        raw = self._with_valid_links(self._note.raw)
        header = raw if self._note.has_header else b""
        self._given = parse_note(planned.path, header, ports.names)
        self.fields = self._fields()
        self.content = self._content(raw)

    def _warn(self, line: int, message: str) -> None:
        self.problems.append(Problem(self._note.place, line, message))

    def _with_valid_links(self, raw: bytes) -> bytes:
        body = body_bytes(raw) if self._note.has_header else raw
        try:
            text = body.decode("utf-8")
        except UnicodeDecodeError:
            self._warn(self._note.line, "is not UTF-8; imported as it is, its links unchecked")
            return raw
        # The header stays byte for byte; only the body is rewritten.
        return raw[: len(raw) - len(body)] + retarget_links(text, self._retargeted).encode("utf-8")

    def _retargeted(self, link: WikiLink) -> str | None:
        target = self._target(link)
        self.retargeted += target is not None
        return target

    def _target(self, link: WikiLink) -> str | None:
        """How a link must be written here; None to leave it."""
        if not link.target:
            return None
        plan, source, here = self._plan, self._planned.source_path, self._planned.path
        to = plan.at(plan.source_names.note(link, source))
        if to is not None:
            return note_target(link, here, to.path, plan.vault_names, was=to.source_path)
        other = plan.source_names.other(link, source)
        if other is None:
            # It may mean a note that the vault has already.
            if resolve(link.target, here, plan.vault_names) is None:
                self.unresolved.append(link.target)
            return None
        path = self._copier.vault_path(other)
        if not path:
            return None
        return file_target(link, here, path, only_one=self._copier.has_unique_name(path))

    def _fields(self) -> dict[str, FieldValue]:
        note, given = self._note, self._given
        keywords: Sequence[str] = note.keywords
        tags: Sequence[str] = note.tags
        links = list(note.links)
        created = note.properties.get("created", "")
        if not note.exact:
            keywords = _merged(given.keywords, note.keywords)
            tags = merge_tags(given.tags, note.tags)
            links = self._links()
            # What is in no file is made now; of a file, its time says too little.
            now = self._ports.clock.now()
            made = note.created or (None if note.saved else now)
            created = created_text(local_moment(made, now.tzinfo)) if made else ""
        fields: dict[str, FieldValue] = {
            "id": self._planned.id and (given.id or self._planned.id),
            "created": given.created or created,
            "keywords": keywords,
            "tags": tags,
            "context": given.context or note.context,
            "links": links,
        }
        return {name: value for name, value in fields.items() if value}

    def _links(self) -> list[str]:
        # A person's property may hold more than links.
        given = [self._link(text) if parse_link(text) else text for text in self._given.links]
        links = [*given, *map(self._link, self._note.links)]
        records = [record for each in self._note.relations if (record := self._record(each))]
        self.links = tuple({record.target: record for record in records}.values())
        return _merged(links, (record.text for record in records))

    def _link(self, text: str) -> str:
        """A link as the property needs it; empty for an id that nothing has."""
        link = parse_link(text)
        if link is not None:
            target = self._retargeted(link)
            return text if target is None else retarget_links(text, lambda _: target)
        to = self._plan.at(self._plan.source_names.named(text))
        if to is None:
            self.unresolved.append(text)
            return ""
        return format_link(shortest_target(to.path, self._plan.vault_names))

    def _record(self, relation: SourceRelation) -> LinkRecord | None:
        """What the journal keeps of a relation; None if it leads to no note."""
        link = parse_link(format_link(relation.target))
        plan, source = self._plan, self._planned.source_path
        to = plan.at(plan.source_names.note(link, source)) if link else None
        if to is None or to is self._planned:
            return None
        word = " ".join(relation.relation.replace("_", " ").split())
        known = known_relation(relation.relation)
        adds_nothing = known != "related" or word.casefold() in _VAGUE_RELATIONS
        return LinkRecord(
            target=to.id or to.path,
            path=to.path,
            text=format_link(shortest_target(to.path, plan.vault_names)),
            relation=known,
            strength=1.0,
            reason=": ".join(filter(None, ["" if adds_nothing else word, relation.reason])),
            by="person",
        )

    def _content(self, raw: bytes) -> bytes:
        note, names = self._note, self._names
        properties = self._properties(self._given)
        if not note.has_header:
            text = raw.decode("utf-8", "replace")
            if not note.exact and not note.path and not text.endswith("\n"):
                text += "\n"
            # Without properties it is just the text, unless that opens like a header.
            plain = parse_note("note.md", text.encode("utf-8"), names)
            if not properties and plain.refused is None and plain.body == text:
                return text.encode("utf-8")
            return compose_note(properties, text, names)
        refused = self._given.refused
        if refused is None:
            try:
                return edit_header(raw, properties, names)
            except HeaderRefused as error:
                refused = Problem("", error.line, error.message)
            except ValueError as error:
                refused = Problem("", 1, str(error))
        # A record has no file of its own, so its odd header becomes text.
        if not note.path:
            properties = self._properties(Note("", None, "", ""))
            return compose_note(properties, raw.decode("utf-8", "replace"), names)
        self.fields = {}
        self._warn(refused.line, f"its header is unchanged, so it has no id: {refused.message}")
        return raw

    def _properties(self, given: Note) -> dict[str, FieldValue]:
        """The properties to set beside those given, by the vault's names for them."""
        note, title = self._note, self._planned.title
        # What the header says already stays as it is written, such as tags in one text.
        properties = {
            getattr(self._names, name): value
            for name, value in self.fields.items()
            if not _same(value, getattr(given, name))
        }
        stem = self._planned.path.rpartition("/")[2].removesuffix(".md")
        # The file name alone tells the title, unless the vault could not hold it as it was.
        renamed = not note.path or note.title or stem != note.path.rpartition("/")[2][:-3]
        if renamed and given.title in (stem, "") and _nfc(title) != _nfc(stem):
            properties["title"] = title
        taken = (*(getattr(self._names, name) for name in self.fields), *OWNED_FIELDS)
        for name, value in note.properties.items():
            if name not in (*taken, "title", "aliases"):
                properties[name] = value if isinstance(value, str) else list(value)
        aliases = texts(note.properties.get("aliases"))
        merged = aliases if note.exact else _merged(given.aliases, aliases)
        if not _same(merged, given.aliases):
            properties["aliases"] = merged
        return properties


def _same(value: FieldValue, given: FieldValue | None) -> bool:
    return value == given if isinstance(value, str) else list(value) == list(given or ())


def _nfc(text: str) -> str:
    return unicodedata.normalize("NFC", text)


def _merged(first: Sequence[str], second: Iterable[str]) -> list[str]:
    return [text for text in dict.fromkeys((*first, *second)) if text]


# Each batch is one change of the journal: a stopped import leaves only whole notes.
BATCH = 32


@dataclass(slots=True)
class ImportReport:
    """What an import did, or would do.

    Attributes:
        notes: what was decided on each note of the source.
        refused: notes that could not be imported, and files that could not be read.
        noted: warnings about notes that were made.
        unresolved: (place in the source, target) of links to nothing.
        files: (path in the source, path in the vault) of other files that were copied.
        retargeted: how many links were rewritten to keep their meaning.
    """

    kind: str
    notes: Sequence[PlannedNote] = ()
    refused: list[Problem] = field(default_factory=list)
    noted: list[Problem] = field(default_factory=list)
    unresolved: list[tuple[str, str]] = field(default_factory=list)
    files: list[tuple[str, str]] = field(default_factory=list)
    retargeted: int = 0

    @property
    def made(self) -> list[PlannedNote]:
        return [note for note in self.notes if note.decision == "make"]

    @property
    def there(self) -> list[PlannedNote]:
        """Existing notes; some of them changed in the source since."""
        return [note for note in self.notes if note.decision in ("there", "changed", "known")]

    @property
    def paths(self) -> tuple[str, ...]:
        return tuple(note.path for note in self.made)


def import_notes(
    ports: VaultPorts,
    source: ImportSource,
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
        folder: vault-relative folder for the notes, empty for the top. If None, new notes go to
            `usual_folder`, and those that amem exported to where they were.
        unless_known: make no note whose text the vault, or an earlier note of the source, has.
        dry_run: write nothing.

    Raises:
        UsageError: the folder is not in the vault.
        SettingsError: the source cannot be read, or the vault cannot be written.
    """
    report = ImportReport(source.kind)
    with ports.changes.locked():
        plan = ImportPlan(ports, source, folder, usual_folder, unless_known=unless_known)
        report.notes = plan.notes
        copier = AttachmentCopier(source.folder, ports.vault, plan.free, dry_run=dry_run)
        waiting = plan.decided("make")
        for start in range(0, len(waiting), BATCH):
            batch: list[tuple[PlannedNote, ImportDraft]] = []
            for planned in waiting[start : start + BATCH]:
                try:
                    batch.append((planned, ImportDraft(ports, plan, copier, planned)))
                except (AmemError, ValueError) as error:
                    planned.decide("refused", str(error))
            if dry_run:
                _tell(report, batch)
            elif batch:
                _write(ports, report, batch)
            if progress is not None:
                progress(min(start + BATCH, len(waiting)), len(waiting))
    refused = (
        Problem(note.note.place, note.note.line, note.reason) for note in plan.decided("refused")
    )
    report.refused = [*plan.problems, *refused]
    report.noted += copier.problems
    report.unresolved = list(dict.fromkeys(report.unresolved))
    report.files = copier.copied
    return report


def _write(
    ports: VaultPorts, report: ImportReport, batch: Sequence[tuple[PlannedNote, ImportDraft]]
) -> None:
    """Make the notes of a batch in one change; each by itself if that fails."""
    try:
        ports.changes.apply(
            [NoteWrite(note.path, None, draft.content) for note, draft in batch],
            [_event(ports, note, draft, report.kind) for note, draft in batch],
        )
    except SettingsError:
        # Whatever keeps the vault from being written would fail for all notes.
        raise
    except (FileExistsError, AmemError) as error:
        if len(batch) == 1:
            taken = isinstance(error, FileExistsError)
            batch[0][0].decide("refused", "its place was just taken" if taken else str(error))
        for one in batch if len(batch) > 1 else ():
            _write(ports, report, [one])
        return
    # The index must know these notes before the next batch links to them.
    refresh(ports, [note.path for note, _ in batch])
    _tell(report, batch)


def _tell(report: ImportReport, batch: Sequence[tuple[PlannedNote, ImportDraft]]) -> None:
    for note, draft in batch:
        note.id = str(draft.fields.get("id", ""))
        report.noted += draft.problems
        report.unresolved += [(note.shown, target) for target in draft.unresolved]
        report.retargeted += draft.retargeted


def _event(ports: VaultPorts, note: PlannedNote, draft: ImportDraft, kind: str) -> Event:
    nothing = parse_note(note.path, b"", ports.names)
    event = new_event(
        ports,
        "add",
        by="person",
        note=str(draft.fields.get("id", "")) or note.path,
        path=note.path,
        changes=tuple(change_of(nothing, name, value) for name, value in draft.fields.items()),
        links=draft.links,
        sha=sha256(draft.content),
        reason=f"imported from {kind}",
    )
    return replace(event, extra={ORIGIN: note.origin})
