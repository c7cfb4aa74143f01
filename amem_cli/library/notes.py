"""A memory as A-MEM's library names its parts, read from a vault, and its links."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from amem_cli.editing.edit import category_of, link, unlink
from amem_cli.errors import NotFoundError, UsageError
from amem_cli.journal.events import to_record
from amem_cli.markdown.links import format_link, is_attachment, parse_link
from amem_cli.notes.names import shortest_target
from amem_cli.notes.note import parse_note
from amem_cli.search.suggestions import suggestions

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from amem_cli.index.memory_index import MemoryIndex
    from amem_cli.index.records import NoteSummary
    from amem_cli.workspace.workspace import Workspace

UNCATEGORIZED = "Uncategorized"


@dataclass(frozen=True, slots=True)
class MemoryNote:
    """One memory as it was when it was read; `AgenticMemorySystem.update` changes it.

    Attributes:
        id: the note's id, or its path as long as amem never wrote to it.
        content: the text below the front matter.
        links: ids (paths, if a note has none) of the notes that it links to, then the names of
            notes that are not written yet.
        suggested: ids (or paths) of notes that amem would link with it, in either direction, but is
            not sure of.
        timestamp: creation time as `YYYYMMDDHHmm`.
        retrieval_count: how often it was read or found.
        last_accessed: when last, in the same form, or empty.
        evolution_history: journal records of the changes that later notes caused.
        category: the `category` property, `Uncategorized` if there is none.
    """

    id: str
    content: str
    keywords: list[str] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)
    context: str = ""
    links: list[str] = field(default_factory=list)
    timestamp: str = ""
    retrieval_count: int = 0
    last_accessed: str = ""
    evolution_history: list[dict[str, Any]] = field(default_factory=list)
    category: str = UNCATEGORIZED
    suggested: list[str] = field(default_factory=list)


def found_note(index: MemoryIndex, memory_id: object) -> NoteSummary | None:
    """The note with this id or path; a title is not an id here, nor is the beginning of an id.

    Raises:
        NotFoundError: several notes have this id.
    """
    if not isinstance(memory_id, str):
        # As in a dictionary, which holds no such key.
        return None
    found = [each for each in index.notes.find(memory_id) if memory_id in (each.id, each.path)]
    if len(found) > 1:
        paths = ", ".join(each.path for each in found[:4])
        raise NotFoundError(
            f"{len(found)} notes have the id {memory_id}", hint=f"Name one by its path: {paths}."
        )
    return found[0] if found else None


def read_memory(workspace: Workspace, summary: NoteSummary) -> MemoryNote:
    """Read a note's file and what the index knows of it.

    Raises:
        NotFoundError: the file is gone.
        AmemError: it cannot be read.
    """
    ports, index = workspace.ports, workspace.index
    raw = ports.vault.read(summary.path).raw
    note = parse_note(summary.path, raw, ports.names)
    count, last = index.usage.of(summary.key)
    return MemoryNote(
        id=summary.key,
        content=note.body.strip("\r\n"),
        keywords=list(note.keywords),
        tags=list(note.tags),
        context=note.context,
        links=links_out(index, summary.path),
        timestamp=timestamp(summary.made),
        retrieval_count=count,
        last_accessed=timestamp(last),
        evolution_history=[
            to_record(event) for event in index.events.read(summary.key) if event.kind == "evolve"
        ],
        category=category_of(raw) or UNCATEGORIZED,
        suggested=[link.other(summary.path).key for link in suggestions(index, summary.path)],
    )


def links_out(index: MemoryIndex, path: str) -> list[str]:
    """Ids of the notes that a note links to, then the names of notes that do not exist."""
    known = index.links.outgoing(path)
    targets = dict.fromkeys(target for target, _ in known if target != path)
    notes = [note for target in targets if (note := index.notes.summary(target)) is not None]
    resolved = {link.target for _, link in known}
    waiting = [
        link.target
        for link in index.links.written(path)
        if link.target not in resolved and not is_attachment(link.target)
    ]
    return list(dict.fromkeys([*(note.key for note in notes), *waiting]))


def timestamp(iso: str) -> str:
    """A moment as A-MEM writes it: `YYYYMMDDHHmm`."""
    return "".join(char for char in iso[:16] if char.isdigit())


class Memories(Mapping[str, MemoryNote]):
    """All memories of a vault by id, those that share one by path; each is read when asked for.

    Args:
        call: begins one call, in step with the folder if asked.
    """

    def __init__(self, call: Callable[[bool], AbstractContextManager[Workspace]]) -> None:
        self._call = call

    def __getitem__(self, memory_id: str) -> MemoryNote:
        # Most memories are found without reading the folder; only a miss makes that necessary.
        for in_step in (False, True):
            with self._call(in_step) as workspace:
                summary = found_note(workspace.index, memory_id)
                if summary is not None:
                    try:
                        return read_memory(workspace, summary)
                    except NotFoundError:
                        continue
        raise KeyError(memory_id)

    def __iter__(self) -> Iterator[str]:
        with self._call(True) as workspace:
            known = [(summary.key, summary.path) for summary in workspace.index.notes.summaries()]
        # A copy made by another program has the id of its original.
        count = Counter(key for key, _ in known)
        return iter([key if count[key] == 1 else path for key, path in known])

    def __len__(self) -> int:
        with self._call(True) as workspace:
            return workspace.index.notes.count()

    def __repr__(self) -> str:
        return f"<{len(self)} memories>"


# In a wikilink, these would end the name.
_NOT_IN_A_NAME = str.maketrans("", "", "[]|\n")


def wikilink(workspace: Workspace, given: str) -> str:
    """The link to a note by its id, or to a note of this name that need not be written yet."""
    name = _name(given)
    note = found_note(workspace.index, name)
    if note is not None:
        return format_link(shortest_target(note.path, workspace.index.names))
    return format_link(name.translate(_NOT_IN_A_NAME))


def link_targets(
    workspace: Workspace, summary: NoteSummary, given: Sequence[str]
) -> list[NoteSummary]:
    """The notes that links name; names of notes that are not written yet stay as they are.

    Raises:
        UsageError: a name is neither a memory's nor linked already.
    """
    present = links_out(workspace.index, summary.path)
    targets = []
    for name in map(_name, given):
        target = found_note(workspace.index, name)
        if target is not None:
            targets.append(target)
        elif name not in present:
            raise UsageError(f"no memory {name!r} to link to", hint="Give the ids of memories.")
    return targets


def set_links(workspace: Workspace, note: NoteSummary, targets: Sequence[NoteSummary]) -> None:
    """Link a note, as its owner, to these notes and no others; links in its text stay."""
    index, wanted = workspace.index, {target.path for target in targets}
    present = {path for path, _ in index.links.outgoing(note.path)}
    for path in sorted(present - wanted):
        former = index.notes.summary(path)
        if former is not None:
            unlink(workspace.ports, note, former)
    for target in targets:
        if target.path not in present and target.path != note.path:
            link(workspace.ports, note, target)


def _name(given: str) -> str:
    """What a link names, with or without its brackets."""
    parsed = parse_link(given)
    return parsed.target if parsed is not None else given.strip()
