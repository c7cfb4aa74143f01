"""Knows which notes were imported, and from where, by the journal.

Decides for each note of a source whether it is made, is there already, or cannot be taken.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Literal

from amem_cli.duplicates.compare import tells_the_same
from amem_cli.duplicates.find import GivenText, KnownTexts, given_text
from amem_cli.errors import Problem
from amem_cli.exchange.names import FreePaths, SourceNames, VaultNames
from amem_cli.exchange.source import Source, SourceNote
from amem_cli.index.draft import VaultPorts
from amem_cli.language.dates import new_id
from amem_cli.notes.codec import parse_note
from amem_cli.notes.names import conflict_copy, file_name, title_of

if TYPE_CHECKING:
    from amem_cli.index.memory_index import MemoryIndex

ORIGIN = "origin"
_LONGEST_KEY = 300


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a note came from.

    Attributes:
        source: identity of the place; `key`: what tells the note there from others.
        sha: digest of the note as the source had it.
        note: its id here, or empty; `path`: where it was put.
    """

    source: str
    key: str
    sha: str
    note: str = ""
    path: str = ""

    @property
    def record(self) -> dict[str, str]:
        """What the journal keeps of it beside the event's own note and path."""
        return {"source": self.source, "key": self.key, "sha": self.sha}


@dataclass(frozen=True, slots=True)
class Origins:
    """All origins that the journal knows."""

    by_key: dict[tuple[str, str], Origin] = field(default_factory=dict)
    by_sha: dict[str, list[Origin]] = field(default_factory=dict)


def known_origins(index: MemoryIndex) -> Origins:
    """Read them off the journal; the last import of a note counts."""
    origins = Origins()
    for event in index.events.read():
        said = event.extra.get(ORIGIN)
        if event.kind != "add" or not isinstance(said, Mapping):
            continue
        texts = [said.get(name) for name in ("source", "key", "sha")]
        if all(isinstance(text, str) and text for text in texts):
            source, key, sha = map(str, texts)
            origin = Origin(source, key, sha, event.note, event.path)
            origins.by_key[origin.source, origin.key] = origin
            origins.by_sha.setdefault(origin.sha, []).append(origin)
    return origins


def origin_of(note: SourceNote, source: str) -> Origin:
    """The origin of a note that a source gives now."""
    key = note.key
    if len(key) > _LONGEST_KEY:
        key = "sha256:" + hashlib.sha256(key.encode("utf-8", "replace")).hexdigest()
    return Origin(source, key, _sha(note))


def _sha(note: SourceNote) -> str:
    said = [
        note.title,
        note.id,
        list(note.keywords),
        list(note.tags),
        note.context,
        list(note.links),
        [[each.target, each.relation, each.reason] for each in note.relations],
        sorted((name, value) for name, value in note.properties.items()),
    ]
    fields = json.dumps(said, ensure_ascii=True, default=list).encode()
    return hashlib.sha256(note.raw + b"\0" + fields).hexdigest()


MAX_NOTE_BYTES = 2 * 1024 * 1024 - 64 * 1024

Decision = Literal["make", "there", "changed", "known", "refused"]


@dataclass(slots=True)
class PlannedNote:
    """What becomes of one note of the source.

    Attributes:
        source_path: its path in the source, or the file name that stands for it there.
        names, aliases: what else it is called there.
        path: where it goes, or where it is already; empty where it is nowhere.
        reason: why it is not made.
        given: its text, to compare.
        same_text: path of the note that has its very text: of the vault, or an earlier one.
    """

    origin: Origin
    place: str
    line: int
    source_path: str
    title: str
    names: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    decision: Decision = "make"
    path: str = ""
    id: str = ""
    reason: str = ""
    given: GivenText | None = None
    same_text: str = ""

    @property
    def shown(self) -> str:
        """Where it stands in the source."""
        return f"{self.place}:{self.line}" if self.line else self.place


@dataclass(frozen=True, slots=True)
class ImportPlan:
    """What an import would do.

    Attributes:
        notes: one for each that the source gives, in its order.
        source_names, vault_names: by which links are found and written.
        by_source_path: the notes that links of the source can mean.
    """

    notes: list[PlannedNote]
    problems: list[Problem]
    source_names: SourceNames
    vault_names: VaultNames
    by_source_path: dict[str, PlannedNote]

    def decided(self, *decisions: Decision) -> list[PlannedNote]:
        """The notes of which this was decided."""
        return [note for note in self.notes if note.decision in decisions]


def plan_import(
    ports: VaultPorts,
    source: Source,
    folder: str | None,
    usual_folder: str,
    *,
    unless_known: bool = False,
) -> ImportPlan:
    """Look at every note of a source; nothing is written.

    Args:
        unless_known: make no note whose very text is here.
        folder: vault-relative folder for the notes, empty for the top; where it is None they go to
            `usual_folder`, and those that this program wrote out to where they were.
    """
    return _Planner(ports, source, folder, usual_folder, unless_known).plan()


def local_moment(ports: VaultPorts, moment: datetime) -> datetime:
    """The moment on the user's own clock, as Obsidian's date properties are: without an offset."""
    if moment.tzinfo is None:
        return moment
    try:
        return moment.astimezone(ports.clock.now().tzinfo).replace(tzinfo=None)
    except OverflowError:
        return moment.replace(tzinfo=None)


class _Planner:
    def __init__(
        self,
        ports: VaultPorts,
        source: Source,
        folder: str | None,
        usual_folder: str,
        unless_known: bool,
    ) -> None:
        self._ports = ports
        self._source = source
        self._origins = known_origins(ports.index)
        self._free = FreePaths(ports, usual_folder if folder is None else folder)
        self._as_before = FreePaths(ports, "", self._free) if folder is None else self._free
        self._problems: list[Problem] = []
        self._ids: set[str] = set()
        self._keys: set[str] = set()
        self._unless_known = unless_known
        self._texts: KnownTexts | None = None
        self._id_at: dict[str, str] = {}

    def plan(self) -> ImportPlan:
        listed = list(self._listed())
        self._keys = {planned.origin.key for planned, _ in listed}
        for planned, note in listed:
            if planned.decision == "make":
                self._decide(planned, note)
        notes = [planned for planned, _ in listed]
        meant = [note for note in notes if note.source_path]
        made = [note for note in meant if note.decision == "make"]
        return ImportPlan(
            notes=notes,
            problems=self._problems,
            source_names=SourceNames(
                ((note.source_path, note.aliases, note.title, note.names) for note in meant),
                self._source.others,
                relative_first=self._source.kind != "obsidian",
            ),
            vault_names=VaultNames(
                self._ports.index.names, ((note.path, note.aliases, note.title) for note in made)
            ),
            by_source_path={note.source_path: note for note in meant},
        )

    def _listed(self) -> Iterator[tuple[PlannedNote, SourceNote]]:
        by_key: dict[str, PlannedNote] = {}
        source_paths: dict[str, int] = {}
        for note in self._source.notes(self._problems):
            planned = self._planned(note)
            twin = by_key.setdefault(planned.origin.key, planned)
            if twin is not planned:
                is_same = twin.origin.sha == planned.origin.sha
                planned.decision = "there" if is_same else "refused"
                planned.reason = (
                    f"is the same as {twin.shown}" if is_same else f"has the id of {twin.shown}"
                )
                planned.source_path = ""
            else:
                wanted = planned.source_path
                twins = source_paths[wanted] = source_paths.get(wanted, 0) + 1
                if twins > 1:
                    # Records may share a title; their links name them by their ids, and none can
                    # hold such a character.
                    planned.source_path = f"{wanted[:-3]}\0{twins}.md"
            # The text is read again when the note is made, so that a large source needs no room.
            yield planned, _without_text(note)

    def _planned(self, note: SourceNote) -> PlannedNote:
        name = note.path.rpartition("/")[2].removesuffix(".md")
        given = parse_note(
            f"{name or 'note'}.md", note.raw if note.has_header else b"", self._ports.names
        )
        title = note.title or (given.title if name or given.title != "note" else "")
        title = " ".join(title.split()) or title_of(note.raw[:20_000].decode("utf-8", "replace"))
        planned = PlannedNote(
            origin=origin_of(note, self._source.identity),
            place=note.place,
            line=note.line,
            source_path=note.path or file_name(title),
            title=title,
            names=note.names,
            aliases=(*given.aliases, *_texts(note.properties.get("aliases"))),
            id=note.id or (given.id or "").strip(),
        )
        reason = _unfit(note)
        if reason:
            planned.decision, planned.reason = "refused", reason
        else:
            body = given.body if note.has_header else note.raw.decode("utf-8", "replace")
            planned.given = given_text(body, title, planned.aliases)
        return planned

    def _decide(self, planned: PlannedNote, note: SourceNote) -> None:
        if self._is_known(planned):
            return
        if planned.id and (planned.id in self._ids or self._is_taken(planned.id)):
            self._by_id(planned)
            return
        if self._has_known_text(planned):
            return
        if not planned.id and not note.exact:
            moment = local_moment(self._ports, note.created or self._ports.clock.now())
            planned.id = new_id(moment, self._is_taken)
        self._ids.add(planned.id)
        free = self._as_before if note.exact else self._free
        planned.path = free.take(note.path, planned.title)
        if planned.given is not None:
            self._known_texts.add(planned.given, planned.path)
            self._id_at[planned.path] = planned.id

    @property
    def _known_texts(self) -> KnownTexts:
        self._texts = self._texts or KnownTexts(self._ports)
        return self._texts

    def _has_known_text(self, planned: PlannedNote) -> bool:
        """Whether it is left out, as its very text is here; links to it then lead there."""
        planned.same_text = self._known_texts.path(planned.given) if planned.given else ""
        if not planned.same_text or not self._unless_known:
            return False
        planned.decision, planned.path = "known", planned.same_text
        planned.reason = f"its text is in {planned.same_text}"
        there = self._ports.index.notes.summary(planned.same_text)
        planned.id = (there.id or "") if there else self._id_at.get(planned.same_text, "")
        return True

    def _is_taken(self, note_id: str) -> bool:
        return note_id in self._ids or self._ports.index.notes.id_taken(note_id)

    def _is_known(self, planned: PlannedNote) -> bool:
        """Whether it was imported before, under this key or, unchanged, under a former one."""
        origin = planned.origin
        known = self._origins.by_key.get((origin.source, origin.key))
        if known is None:
            same = self._origins.by_sha.get(origin.sha, ())
            known = next((each for each in same if self._is_renamed(each, planned)), None)
        if known is None:
            return False
        place = self._place_of(known)
        planned.decision = "there" if known.sha == origin.sha else "changed"
        planned.path, planned.id = place, known.note
        if not place:
            planned.reason = f"was imported as {known.path}, which is no longer there"
        elif planned.decision == "changed":
            planned.reason = f"has changed since it was imported as {place}, which stays as it is"
        else:
            planned.reason = f"is in the vault as {place}"
        return True

    def _is_renamed(self, former: Origin, planned: PlannedNote) -> bool:
        """Whether a note with the same bytes is this one, moved since or in a folder that was."""
        key = planned.origin.key
        if former.key == key:
            return True
        given = planned.given
        if former.key in self._keys or given is None:
            return False
        # Files that one template made have the same bytes too, and each is a note.
        is_moved = former.source == planned.origin.source and bool(given.key)
        return tells_the_same(_stem(former.key), _stem(key), few=given.few and not is_moved)

    def _place_of(self, origin: Origin) -> str:
        """Where an imported note is now, or empty."""
        if origin.note:
            found = [
                each for each in self._ports.index.notes.find(origin.note) if each.id == origin.note
            ]
            if found:
                return found[0].path
        return origin.path if self._ports.index.notes.summary(origin.path) else ""

    def _by_id(self, planned: PlannedNote) -> None:
        """The vault, or an earlier note of the source, has its id."""
        if planned.id in self._ids:
            planned.decision, planned.source_path = "refused", ""
            planned.reason = f"another note of the source has the id {planned.id}"
            return
        same = [each for each in self._ports.index.notes.find(planned.id) if each.id == planned.id]
        planned.decision = "there"
        if same:
            planned.path = same[0].path
            planned.reason = f"its id is that of {planned.path}"
            if planned.given and planned.given.key != self._known_texts.key(same[0]):
                planned.decision = "changed"
                planned.reason += ", which has another text and stays as it is"
        else:
            planned.reason = f"a note with its id {planned.id} was removed from the vault"


def _without_text(note: SourceNote) -> SourceNote:
    from dataclasses import replace

    return replace(note, raw=b"")


def _unfit(note: SourceNote) -> str:
    """Why a note cannot be taken at all, or empty."""
    if len(note.raw) > MAX_NOTE_BYTES:
        return "is larger than a note can be (2 MiB)"
    if conflict_copy(note.path.rpartition("/")[2]):
        return "is a conflict copy; merge it into its note first"
    if note.path and not note.exact and b"\0" in note.raw[:1024]:
        return "is not text"
    if not note.raw.strip() and not note.path:
        return "has no text"
    return ""


def _stem(key: str) -> str:
    return key.rpartition("/")[2].rpartition(".")[0] or key


def _texts(value: str | tuple[str, ...] | None) -> tuple[str, ...]:
    return () if value is None else (value,) if isinstance(value, str) else value
