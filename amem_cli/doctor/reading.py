"""Reads a vault, its index and its journal once for all checks, and writes nothing."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import apsw

from amem_cli.errors import AmemError, HeaderRefused, IndexFault, Problem
from amem_cli.index.file import Unusable, copy_index, open_index
from amem_cli.index.memory_index import MemoryIndex, VaultPorts
from amem_cli.index.records import LinkKind
from amem_cli.journal.events import Event
from amem_cli.journal.files import JournalFolder
from amem_cli.markdown.links import find_links, parse_link
from amem_cli.markdown.regions import conflict_line
from amem_cli.notes.front_matter import find_fences, read_header
from amem_cli.notes.names import NameTable
from amem_cli.notes.note import Note, PropertyNames, parse_note
from amem_cli.system.names import folded
from amem_cli.vault.dir_handle import OpenFolder
from amem_cli.vault.file_state import FileContent
from amem_cli.vault.folder import VaultFolder
from amem_cli.vault.safe_write import TEMPORARY_PREFIX, TEMPORARY_SUFFIX

JOURNAL = ".amem/journal"
UNREAD = "cannot be read"  # how the scan of a vault begins its message about a folder

# Opens the vault for a fix, with its index up to date.
OpenPorts = Callable[[], VaultPorts]


class ReadOnlyVault(VaultFolder):
    """The notes of a vault; what a killed process left behind stays in place."""

    def _rescue(
        self, folder: OpenFolder, entry: os.DirEntry[str], path: str, problems: list[Problem]
    ) -> None:
        pass

    def _sweep_intents(self) -> None:
        pass


class VaultFiles:
    """Everything in a vault, notes or not.

    Attributes:
        folders: how many there are, hidden ones included.
        temporary: vault-relative paths of the temporary files that amem's writes left behind.
    """

    def __init__(self, root: Path) -> None:
        self.folders = 0
        self.temporary: list[str] = []
        self._by_name: dict[str, list[str]] = defaultdict(list)
        # Links are not followed, folders that cannot be entered are skipped.
        for folder, folders, names in os.walk(root):
            self.folders += 1
            for name in (*folders, *names):
                path = (Path(folder) / name).relative_to(root).as_posix()
                # Names that are not UTF-8 could not be printed.
                shown = os.fsencode(path).decode("utf-8", "backslashreplace")
                if name.startswith(TEMPORARY_PREFIX):
                    self.temporary += [shown] if name.endswith(TEMPORARY_SUFFIX) else []
                elif not name.startswith("."):
                    shown = folded(shown)
                    self._by_name[shown.rpartition("/")[2]].append(f"/{shown}")
        self.temporary.sort()

    def holds(self, target: str) -> bool:
        """Whether a path ends with a link's target, with or without `.md`, in any case."""
        end = folded("/".join(part for part in target.split("/") if part not in ("", ".", "..")))
        return any(
            path.endswith(f"/{name}")
            for name in (end, f"{end}.md")
            for path in self._by_name.get(name.rpartition("/")[2], ())
        )


@contextlib.contextmanager
def index_copy(path: Path) -> Iterator[MemoryIndex | None]:
    """A temporary copy of the index; None if there is none, an IndexFault if it is unusable."""
    try:
        if not stat.S_ISREG(path.lstat().st_mode):
            raise IndexFault("is not a regular file")
    except FileNotFoundError:
        yield None
        return
    # Even reading a database in WAL mode writes files beside it, so a copy is opened.
    with tempfile.TemporaryDirectory(prefix="amem-doctor-") as folder:
        try:
            copy = copy_index(path, Path(folder))
        except OSError as error:
            raise IndexFault(f"cannot be copied: {error.strerror}") from None
        _check_usable(copy)
        index = MemoryIndex(copy)
        try:
            yield index
        finally:
            index.close()


def _check_usable(copy: Path) -> None:
    if not copy.exists():
        raise IndexFault("cannot be read")
    if copy.stat().st_size == 0:
        raise IndexFault("is empty")
    try:
        db, _ = open_index(copy)
        with contextlib.closing(db):
            # Unlike integrity_check it skips comparing indexes with tables, which is slow.
            verdict = db.pragma("quick_check")
    except (Unusable, OSError, apsw.Error) as error:
        raise IndexFault(f"cannot be used: {error}") from None
    if verdict != "ok":
        raise IndexFault(f"is damaged: {str(verdict).splitlines()[0]}")


@dataclass(frozen=True, slots=True)
class LinkInNote:
    """A link of a note with its place.

    Attributes:
        text: the link as it is written in a property; empty for a link in the body.
        line: 1-based line of a link in the body; 0 if unknown.
    """

    target: str
    kind: LinkKind
    text: str
    line: int


@dataclass(frozen=True, slots=True)
class CheckedNote:
    """What the checks need of a note.

    Attributes:
        note: without its body.
        sha: SHA-256 of its bytes, hexadecimal.
        cut: only its beginning was read, for it is larger than a note may be.
        conflict_line: line of the first git conflict, 0 if there is none.
    """

    note: Note
    sha: str
    cut: bool
    links: tuple[LinkInNote, ...]
    conflict_line: int


@dataclass(frozen=True)
class VaultSnapshot:
    """A vault as its files say.

    Attributes:
        notes: by path.
        problems: of files that are no notes or could not be read.
        journal: the journal's events, each id once, in order.
        same_id: different events with one id: file name, the first event, the other one.
        complete: every folder, note and journal file could be read.
    """

    vault: VaultFolder
    names: PropertyNames
    notes: Mapping[str, CheckedNote]
    problems: tuple[Problem, ...]
    journal: Mapping[str, Event]
    same_id: tuple[tuple[str, Event, Event], ...]
    journal_problems: tuple[Problem, ...]
    complete: bool

    @cached_property
    def unread(self) -> frozenset[str]:
        """Paths of what could not be read."""
        return frozenset(problem.path for problem in self.problems)

    @cached_property
    def ids(self) -> Mapping[str, list[str]]:
        """Paths of the notes with each id."""
        ids: dict[str, list[str]] = {}
        for path, checked in self.notes.items():
            if checked.note.id:
                ids.setdefault(checked.note.id, []).append(path)
        return ids

    @cached_property
    def events(self) -> Mapping[str, list[Event]]:
        """Events by the note's id, or its path if it has none, oldest first."""
        events: dict[str, list[Event]] = {}
        for event in self.journal.values():
            if key := event.note or event.path:
                events.setdefault(key, []).append(event)
        return events

    @cached_property
    def table(self) -> NameTable:
        """The names by which links reach the notes."""
        rows = ((path, each.note.aliases, each.note.title) for path, each in self.notes.items())
        return NameTable(rows)

    def moves(self, index: MemoryIndex | None) -> Mapping[str, str]:
        """Present paths of notes by their former ones, by the journal and an index, if any, that
        may be behind."""
        moves: dict[str, str] = {}
        by_identity = {checked.note.id or checked.sha: path for path, checked in self.notes.items()}
        if index is not None:
            for path, file in index.files.states().items():
                now = by_identity.get(file.id or file.sha)
                if path not in self.notes and now is not None:
                    moves[path] = now
            known = index.files.moves().items()
            moves = {at: moves.get(now, now) for at, now in known} | moves
        for note_id, paths in self.ids.items():
            former = {event.path for event in self.events.get(note_id, ())}
            moves |= dict.fromkeys(former, paths[0])
        return {at: now for at, now in moves.items() if now in self.notes and at not in self.notes}

    def own_events(self, note: Note) -> list[Event]:
        """The events of one note."""
        return self.events.get(note.id or note.path, [])

    def property_line(self, path: str, name: str, text: str = "") -> int:
        """The 1-based line of a note's property, or of a text in it; 0 if it is unknown."""
        raw = self.vault.read(path).raw
        try:
            fences = find_fences(raw)
            header = read_header(raw, fences) if fences else None
        except HeaderRefused:
            return 0
        entry = header.entry(name) if header else None
        if header is None or entry is None:
            return 0
        return header.line(max(header.text.find(text, entry.start, entry.value.end), entry.start))


def read_vault(
    vault: VaultFolder, journal: JournalFolder | None, names: PropertyNames
) -> VaultSnapshot:
    """Read every note and the whole journal.

    Args:
        vault: its `scan` must leave everything in place.
        journal: None if the vault's journal must not be read.
    """
    problems: list[Problem] = []
    notes: dict[str, CheckedNote] = {}
    complete = journal is not None
    for state in sorted(vault.scan(problems), key=lambda state: state.path):
        try:
            notes[state.path] = _read_note(vault.read(state.path), names)
        except AmemError as error:
            message = error.message.replace(f" {state.path}", "")
            problems.append(Problem(state.path, 0, message, error.hint))
            complete = False
    journal_problems: list[Problem] = []
    events: dict[str, Event] = {}
    same_id = []
    for file in journal.read_new({}, journal_problems).files if journal else ():
        for event in file.events:
            first = events.setdefault(event.id, event)
            if first != event:
                same_id.append((file.name, first, event))
    if any(each.message.startswith(UNREAD) for each in (*problems, *journal_problems)):
        complete = False
    return VaultSnapshot(
        vault=vault,
        names=names,
        notes=notes,
        problems=tuple(problems),
        journal={key: events[key] for key in sorted(events)},
        same_id=tuple(same_id),
        journal_problems=tuple(journal_problems),
        complete=complete,
    )


def _read_note(content: FileContent, names: PropertyNames) -> CheckedNote:
    note = parse_note(content.state.path, content.raw, names)
    text = content.raw.decode("utf-8", "replace")
    links = list(_body_links(note.body, text))
    for written in note.links:
        link = parse_link(written)
        if link is not None and link.target:
            links.append(LinkInNote(link.target, "property", written, 0))
    note = replace(note, body="")
    return CheckedNote(note, content.sha, content.cut, tuple(links), conflict_line(text))


def _body_links(body: str, text: str) -> Iterator[LinkInNote]:
    # A body in UTF-16 is decoded otherwise than the whole text, so its lines are unknown.
    offset = len(text) - len(body) if text.endswith(body) else None
    line, counted = 1, 0
    for link in find_links(body):
        if offset is not None:
            line += text.count("\n", counted, offset + link.start)
            counted = offset + link.start
        if link.target:
            yield LinkInNote(link.target, "wikilink", "", 0 if offset is None else line)
