"""Decides for each note of a source whether it is new, was imported before, or cannot be taken."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from amem_cli.duplicates.compare import (
    KnownTexts,
    body_key,
    has_few_words,
    key_of_note,
    same_note_titles,
)
from amem_cli.errors import Problem
from amem_cli.exchange.places import FreePaths, SourceNames
from amem_cli.exchange.source import MAX_NOTE_BYTES, ImportSource, SourceNote
from amem_cli.index.memory_index import VaultPorts
from amem_cli.index.records import NoteSummary
from amem_cli.journal.events import Event
from amem_cli.language.dates import local_moment, new_id
from amem_cli.notes.names import NameTable, conflict_copy, file_name, title_of
from amem_cli.notes.note import parse_note

ORIGIN = "origin"
_LONGEST_KEY = 300

Decision = Literal["make", "there", "changed", "known", "refused"]


@dataclass(slots=True)
class PlannedNote:
    """What the import does with one note of the source.

    Attributes:
        origin: where it comes from, as the journal keeps it: source, key and digest in it.
        source_path: its path in the source, or the file name that a record would have; empty if no
            link can mean it.
        path: where it will be, or is already; empty if nowhere.
        reason: why it is not made.
        key: of its text, to compare; empty without any.
        few: its text has few words.
    """

    note: SourceNote
    origin: Mapping[str, str]
    source_path: str
    title: str
    aliases: tuple[str, ...]
    id: str
    decision: Decision = "make"
    path: str = ""
    reason: str = ""
    key: str = ""
    few: bool = False

    @property
    def shown(self) -> str:
        """Where it is in the source."""
        return f"{self.note.place}:{self.note.line}" if self.note.line else self.note.place

    def decide(self, decision: Decision, reason: str) -> None:
        """Do not make it."""
        self.decision, self.reason = decision, reason


class ImportPlan:
    """What an import will do with each note of a source; see `import_notes` for the arguments.

    Attributes:
        notes: one for each note of the source, in its order.
        problems: what of the source could not be read.
        free: gives out paths in the folder for new notes.
        source_names, vault_names: by which links are resolved and written.
    """

    def __init__(
        self,
        ports: VaultPorts,
        source: ImportSource,
        folder: str | None,
        usual_folder: str,
        *,
        unless_known: bool,
    ) -> None:
        self._ports = ports
        self._source = source.identity
        self._unless_known = unless_known
        self._has_own_folder = folder is not None
        self._imports: dict[tuple[str, str], Event] = {}
        self._imports_by_sha: dict[str, list[Event]] = {}
        # The last import of a note counts.
        for event in ports.index.events.read():
            origin = _origin(event) if event.kind == "add" else {}
            if origin and all(origin.values()):
                self._imports[origin["source"], origin["key"]] = event
                self._imports_by_sha.setdefault(origin["sha"], []).append(event)
        self.free = FreePaths(ports, usual_folder if folder is None else folder)
        self.problems: list[Problem] = []
        self._ids: set[str] = set()
        self._id_at: dict[str, str] = {}
        self.notes = list(self._planned_notes(source))
        self._keys = {planned.origin["key"] for planned in self.notes}
        for planned in self.notes:
            if planned.decision == "make":
                self._decide(planned)
        self._by_source_path = {note.source_path: note for note in self.notes if note.source_path}
        self.source_names = SourceNames(
            (
                (path, planned.aliases, planned.title, planned.note.names)
                for path, planned in self._by_source_path.items()
            ),
            source.folder.other_paths if source.folder else (),
            relative_first=source.kind != "obsidian",
        )
        there = ((note.path, note.aliases, note.title) for note in ports.index.notes.summaries())
        new = ((note.path, note.aliases, note.title) for note in self.decided("make"))
        self.vault_names = NameTable((*there, *new))

    def decided(self, *decisions: Decision) -> list[PlannedNote]:
        return [note for note in self.notes if note.decision in decisions]

    def at(self, source_path: str | None) -> PlannedNote | None:
        """The note that is or will be in the vault for one of the source."""
        planned = self._by_source_path.get(source_path or "")
        return planned if planned and planned.path else None

    def _planned_notes(self, source: ImportSource) -> Iterator[PlannedNote]:
        by_key: dict[str, PlannedNote] = {}
        source_paths: Counter[str] = Counter()
        for note in source.notes(self.problems):
            planned = self._planned(note)
            twin = by_key.setdefault(planned.origin["key"], planned)
            if twin is not planned:
                if twin.origin == planned.origin:
                    planned.decide("there", f"is the same as {twin.shown}")
                else:
                    planned.decide("refused", f"has the id of {twin.shown}")
                planned.source_path = ""
            else:
                wanted = planned.source_path
                source_paths[wanted] += 1
                if source_paths[wanted] > 1:
                    # Records may share a title; their links use ids, and no link can hold a NUL.
                    planned.source_path = f"{wanted[:-3]}\0{source_paths[wanted]}.md"
            yield planned

    def _planned(self, note: SourceNote) -> PlannedNote:
        name = note.path.rpartition("/")[2].removesuffix(".md")
        header = note.raw if note.has_header else b""
        given = parse_note(f"{name or 'note'}.md", header, self._ports.names)
        title = note.title or (given.title if name or given.title != "note" else "")
        title = " ".join(title.split()) or title_of(note.raw[:20_000].decode("utf-8", "replace"))
        planned = PlannedNote(
            note=note,
            origin=_origin_of(note, self._source),
            source_path=note.path or file_name(title),
            title=title,
            aliases=(*given.aliases, *texts(note.properties.get("aliases"))),
            id=note.id or (given.id or "").strip(),
        )
        reason = _unfit(note)
        if reason:
            planned.decide("refused", reason)
        else:
            body = given.body if note.has_header else note.raw.decode("utf-8", "replace")
            planned.key = body_key(body, (title, *planned.aliases))
            planned.few = has_few_words(body)
        return planned

    def _decide(self, planned: PlannedNote) -> None:
        note = planned.note
        if self._is_known(planned):
            return
        if planned.id and self._is_taken(planned.id):
            self._decide_by_id(planned)
            return
        if self._has_known_text(planned):
            return
        if not planned.id and not note.exact:
            now = self._ports.clock.now()
            moment = local_moment(note.created or note.saved or now, now.tzinfo)
            planned.id = new_id(moment, self._is_taken)
        self._ids.add(planned.id)
        at_top = note.exact and not self._has_own_folder
        # Two notes may want one path; the first in the source's order gets it.
        planned.path = self.free.take(note.path, planned.title, at_top=at_top)
        if planned.key and self._unless_known:
            self._known_texts.add(planned.key, planned.title, planned.path)
            self._id_at[planned.path] = planned.id

    @cached_property
    def _known_texts(self) -> KnownTexts:
        return KnownTexts(self._ports)

    def _has_known_text(self, planned: PlannedNote) -> bool:
        """Whether it is left out because its text exists; then links to it lead to that note."""
        if not self._unless_known:
            return False
        same = self._known_texts.path(planned.key, planned.title, few=lambda: planned.few)
        if not same:
            return False
        planned.decide("known", f"its text is in {same}")
        planned.path = same
        existing = self._ports.index.notes.summary(planned.path)
        planned.id = (existing.id or "") if existing else self._id_at.get(planned.path, "")
        return True

    def _is_taken(self, note_id: str) -> bool:
        return note_id in self._ids or self._ports.index.notes.id_taken(note_id)

    def _is_known(self, planned: PlannedNote) -> bool:
        """Whether it was imported before, under this key or, unchanged, under a former one."""
        origin = planned.origin
        same = self._imports_by_sha.get(origin["sha"], ())
        former = self._imports.get((origin["source"], origin["key"])) or next(
            (each for each in same if self._is_renamed(_origin(each), planned)), None
        )
        if former is None:
            return False
        by_id = self._with_id(former.note) if former.note else None
        path = former.path if self._ports.index.notes.summary(former.path) else ""
        planned.path, planned.id = path if by_id is None else by_id.path, former.note
        decision: Decision = "there" if _origin(former)["sha"] == origin["sha"] else "changed"
        if not planned.path:
            planned.decide(decision, f"was imported as {former.path}, which is no longer there")
        elif decision == "changed":
            reason = f"has changed since it was imported as {planned.path}, which stays as it is"
            planned.decide("changed", reason)
        else:
            planned.decide("there", f"is in the vault as {planned.path}")
        return True

    def _is_renamed(self, former: Mapping[str, str], planned: PlannedNote) -> bool:
        """Whether a note with the same bytes is this one, moved, or in a source that moved."""
        key = planned.origin["key"]
        if former["key"] == key:
            return True
        if former["key"] in self._keys:
            return False
        # Files made from one template have the same bytes too, and each is a note.
        is_moved = former["source"] == self._source and bool(planned.key)
        few = planned.few and not is_moved
        return same_note_titles(_stem(former["key"]), _stem(key), few=few)

    def _with_id(self, note_id: str) -> NoteSummary | None:
        notes = self._ports.index.notes.find(note_id)
        return next((note for note in notes if note.id == note_id), None)

    def _decide_by_id(self, planned: PlannedNote) -> None:
        """Decide for a note whose id the vault, or an earlier note of the source, has."""
        if planned.id in self._ids:
            planned.decide("refused", f"another note of the source has the id {planned.id}")
            planned.source_path = ""
            return
        existing = self._with_id(planned.id)
        if existing is None:
            planned.decide("there", f"a note with its id {planned.id} was removed from the vault")
            return
        planned.path = existing.path
        planned.decide("there", f"its id is that of {planned.path}")
        if planned.key != key_of_note(self._ports, existing):
            reason = f"{planned.reason}, which has another text and stays as it is"
            planned.decide("changed", reason)


def _origin(event: Event) -> dict[str, str]:
    record = event.extra.get(ORIGIN)
    record = record if isinstance(record, Mapping) else {}
    return {name: str(record.get(name) or "") for name in ("source", "key", "sha")}


def _origin_of(note: SourceNote, source: str) -> dict[str, str]:
    key = note.key
    if len(key) > _LONGEST_KEY:
        key = "sha256:" + hashlib.sha256(key.encode("utf-8", "replace")).hexdigest()
    # Journals hold such digests: another layout would import everything anew.
    lists = [note.keywords, note.tags, note.context, note.links, note.relations]
    values = [note.title, note.id, *lists, sorted(note.properties.items())]
    fields = json.dumps(values, ensure_ascii=True).encode()
    sha = hashlib.sha256(note.raw + b"\0" + fields).hexdigest()
    return {"source": source, "key": key, "sha": sha}


def _unfit(note: SourceNote) -> str:
    """Why a note cannot be imported at all, or empty."""
    if len(note.raw) > MAX_NOTE_BYTES:
        return "is larger than a note can be (2 MiB)"
    # A sync program made it; as a note it would be a duplicate.
    if conflict_copy(note.path.rpartition("/")[2]):
        return "is a conflict copy; merge it into its note first"
    if note.path and not note.exact and b"\0" in note.raw[:1024]:
        return "is not text"
    if not note.raw.strip() and not note.path:
        return "has no text"
    return ""


def _stem(key: str) -> str:
    return key.rpartition("/")[2].rpartition(".")[0] or key


def texts(value: str | tuple[str, ...] | None) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else value or ()
