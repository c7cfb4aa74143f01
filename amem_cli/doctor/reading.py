"""A vault and its index for looking only: nothing is written, moved or swept, whatever is found.

Reads a whole vault once for all checks, from its files alone and without writing anything.
"""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import apsw

from amem_cli.errors import AmemError, HeaderRefused, IndexFault, Problem
from amem_cli.index.draft import VaultPorts
from amem_cli.index.events import Journal
from amem_cli.index.file import Unusable, copy_index, open_index
from amem_cli.index.memory_index import MemoryIndex
from amem_cli.index.records import LinkKind
from amem_cli.journal.events import Event
from amem_cli.markdown.links import find_links, parse_link
from amem_cli.markdown.regions import conflict_line
from amem_cli.notes.codec import parse_note
from amem_cli.notes.front_matter import find_fences, read_header
from amem_cli.notes.names import NameTable
from amem_cli.notes.note import Note, PropertyNames
from amem_cli.vault.dir_handle import OpenFolder
from amem_cli.vault.folder import VaultFolder
from amem_cli.vault.port import FileContent, Vault
from amem_cli.vault.safe_write import TEMPORARY_PREFIX, TEMPORARY_SUFFIX


class UntouchedVault(VaultFolder):
    """The notes of a vault; what a killed process left behind stays where it is."""

    def _rescue(
        self, folder: OpenFolder, entry: os.DirEntry[str], path: str, problems: list[Problem]
    ) -> None:
        pass

    def _sweep_intents(self) -> None:
        pass


class FileNames:
    """Paths of files and folders, found by their ends as links name them."""

    def __init__(self, paths: Iterable[str]) -> None:
        self._paths: dict[str, list[str]] = {}
        for path in paths:
            folded = _folded(path)
            self._paths.setdefault(folded.rpartition("/")[2], []).append(f"/{folded}")

    def holds(self, target: str) -> bool:
        """Whether a path ends with the target, with or without `.md`, in any case."""
        parts = [part for part in target.split("/") if part not in ("", ".", "..")]
        wanted = _folded("/".join(parts))
        return any(
            path.endswith(f"/{name}")
            for name in (wanted, f"{wanted}.md")
            for path in self._paths.get(name.rpartition("/")[2], ())
        )


@dataclass(frozen=True, slots=True)
class Survey:
    """What lies in a vault beside its notes.

    Attributes:
        folders: how many there are, hidden ones among them.
        files: files and folders that are not hidden.
        temporary: vault-relative paths of what writes of this program have left.
    """

    folders: int
    files: FileNames
    temporary: tuple[str, ...]


def survey(root: Path) -> Survey:
    """Walk a whole vault; links are not followed, and what cannot be entered is left out."""
    count = 0
    files: list[str] = []
    temporary = []
    waiting = [root]
    while waiting:
        folder = waiting.pop()
        count += 1
        with contextlib.suppress(OSError), os.scandir(folder) as entries:
            for entry in entries:
                path = Path(entry.path).relative_to(root).as_posix()
                shown = os.fsencode(path).decode("utf-8", "backslashreplace")
                if entry.name.startswith(TEMPORARY_PREFIX):
                    temporary += [shown] if entry.name.endswith(TEMPORARY_SUFFIX) else []
                elif not entry.name.startswith("."):
                    files.append(shown)
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(Path(entry.path))
    return Survey(count, FileNames(files), tuple(sorted(temporary)))


def _folded(text: str) -> str:
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())


@contextlib.contextmanager
def index_copy(path: Path) -> Iterator[MemoryIndex | None]:
    """A copy of the index, which is opened and deleted again; None where there is no index.

    Raises:
        IndexFault: the file is no usable index.
    """
    try:
        if not stat.S_ISREG(path.lstat().st_mode):
            raise IndexFault("is not a regular file")
    except FileNotFoundError:
        yield None
        return
    with tempfile.TemporaryDirectory(prefix="amem-doctor-") as folder:
        try:
            copy = copy_index(path, Path(folder))
        except OSError as error:
            raise IndexFault(f"cannot be copied for a look: {error.strerror}") from None
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
        try:
            verdict = db.pragma("quick_check")
        finally:
            db.close()
    except (Unusable, OSError, apsw.Error) as error:
        raise IndexFault(f"cannot be used: {error}") from None
    if verdict != "ok":
        raise IndexFault(f"is damaged: {str(verdict).splitlines()[0]}")


JOURNAL = ".amem/journal"
UNREAD = "cannot be read"  # as the scan of a vault begins what it says of a folder

# Opens the vault for a mend, with its index in step with the notes.
OpenPorts = Callable[[], VaultPorts]


@dataclass(frozen=True, slots=True)
class FoundLink:
    """A link of a note with its place.

    Attributes:
        text: the link as it is written in a property; empty for a link in the body.
        line: 1-based line of a link in the body; 0 if it cannot be told, and for a property.
    """

    target: str
    kind: LinkKind
    text: str
    line: int


@dataclass(frozen=True, slots=True)
class ReadNote:
    """What the checks need of a note.

    Attributes:
        note: without its body.
        cut: only its beginning was read, for it is larger than a note may be.
        conflict_line: line of the first git conflict, 0 if there is none.
    """

    note: Note
    cut: bool
    links: tuple[FoundLink, ...]
    conflict_line: int


@dataclass(frozen=True, slots=True)
class VaultReading:
    """A vault as its files say.

    Attributes:
        notes: by path.
        ids: paths of the notes with each id.
        problems: of files that are no notes or could not be read.
        events: of the journal, each id once, by the note's id or path, oldest first.
        same_id: events whose id another one has, though they say something else, with that one.
        complete: every folder, note and journal file could be read.
        table: the notes' names.
    """

    vault: Vault
    names: PropertyNames
    notes: Mapping[str, ReadNote]
    ids: Mapping[str, tuple[str, ...]]
    problems: tuple[Problem, ...]
    events: Mapping[str, tuple[Event, ...]]
    event_ids: frozenset[str]
    same_id: tuple[tuple[str, Event, Event], ...]
    journal_problems: tuple[Problem, ...]
    complete: bool
    table: NameTable = field(repr=False)

    def own_events(self, note: Note) -> tuple[Event, ...]:
        """The events of one note."""
        return self.events.get(note.id or note.path, ())

    def property_line(self, path: str, name: str, text: str = "") -> int:
        """The 1-based line of a note's property, or of a text in it; 0 if it cannot be told."""
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


def read_vault(vault: Vault, journal: Journal | None, names: PropertyNames) -> VaultReading:
    """Read every note and the whole journal.

    Args:
        vault: one whose `scan` leaves everything where it is.
        journal: None if the vault's journal must not be read.
    """
    problems: list[Problem] = []
    notes: dict[str, ReadNote] = {}
    unread = journal is None
    for state in sorted(vault.scan(problems), key=lambda state: state.path):
        try:
            content = vault.read(state.path)
        except AmemError as error:
            message = error.message.replace(f" {state.path}", "")
            problems.append(Problem(state.path, 0, message, error.hint))
            unread = True
            continue
        notes[state.path] = _read_note(content, names)
    journal_problems: list[Problem] = []
    found = _read_journal(journal, journal_problems)
    told = (*problems, *journal_problems)
    unread = unread or any(problem.message.startswith(UNREAD) for problem in told)
    events, same_id = _each_once(found)
    rows = ((path, each.note.aliases, each.note.title) for path, each in notes.items())
    return VaultReading(
        vault=vault,
        names=names,
        notes=notes,
        ids=_ids(notes),
        problems=tuple(problems),
        events=_by_note(events),
        event_ids=frozenset(event.id for event in events),
        same_id=tuple(same_id),
        journal_problems=tuple(journal_problems),
        complete=not unread,
        table=NameTable(rows),
    )


def _ids(notes: Mapping[str, ReadNote]) -> dict[str, tuple[str, ...]]:
    found: dict[str, list[str]] = {}
    for path, each in notes.items():
        if each.note.id:
            found.setdefault(each.note.id, []).append(path)
    return {note_id: tuple(paths) for note_id, paths in found.items()}


def _read_note(content: FileContent, names: PropertyNames) -> ReadNote:
    note = parse_note(content.state.path, content.raw, names)
    text = content.raw.decode("utf-8", "replace")
    links = list(_body_links(note.body, text))
    for written in note.links:
        link = parse_link(written)
        if link is not None and link.target:
            links.append(FoundLink(link.target, "property", written, 0))
    return ReadNote(replace(note, body=""), content.cut, tuple(links), conflict_line(text))


def _body_links(body: str, text: str) -> Iterator[FoundLink]:
    # A body in UTF-16 is decoded otherwise than the whole text; its lines cannot be told.
    offset = len(text) - len(body) if text.endswith(body) else None
    line, counted = 1, 0
    for link in find_links(body):
        if offset is not None:
            line += text.count("\n", counted, offset + link.start)
            counted = offset + link.start
        if link.target:
            yield FoundLink(link.target, "wikilink", "", 0 if offset is None else line)


def _read_journal(journal: Journal | None, problems: list[Problem]) -> list[tuple[str, Event]]:
    if journal is None:
        return []
    try:
        news = journal.read_new({}, problems)
    except OSError as error:
        problems.append(Problem(JOURNAL, 0, f"{UNREAD}: {error.strerror or error}"))
        return []
    return [(file.name, event) for file in news.files for event in file.events]


def _each_once(
    found: Sequence[tuple[str, Event]],
) -> tuple[list[Event], list[tuple[str, Event, Event]]]:
    first: dict[str, Event] = {}
    same_id = []
    for name, event in found:
        known = first.setdefault(event.id, event)
        if known != event:
            same_id.append((name, known, event))
    return [first[key] for key in sorted(first)], same_id


def _by_note(events: Sequence[Event]) -> dict[str, tuple[Event, ...]]:
    grouped: dict[str, list[Event]] = {}
    for event in events:
        key = event.note or event.path
        if key:
            grouped.setdefault(key, []).append(event)
    return {key: tuple(each) for key, each in grouped.items()}
