"""Finds a note by its name, shows it with its links in both directions, and lists notes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import chain
from typing import TYPE_CHECKING

from amem_cli.errors import NotFoundError
from amem_cli.search.search import Supersession, as_then, supersessions
from amem_cli.search.suggestions import linked_pairs, suggestions

if TYPE_CHECKING:
    from amem_cli.index.memory_index import MemoryIndex, VaultPorts
    from amem_cli.index.records import NoteSummary
    from amem_cli.journal.events import LinkRecord
    from amem_cli.notes.note import Note
    from amem_cli.search.search import Filters
    from amem_cli.search.suggestions import OpenLink

    Usage = Mapping[str, tuple[int, str]]


def note_named(index: MemoryIndex, name: str, *, private: bool = True) -> NoteSummary:
    """A note by id, path, file name, title, alias, or a unique prefix of its id.

    Args:
        private: also find private notes.

    Raises:
        NotFoundError: no note, or more than one, has this name.
    """
    plain = name.strip().removeprefix("[[").removesuffix("]]").replace("\\", "/")
    named = index.notes.find(plain.removeprefix("./"))
    notes = [note for note in named if private or not note.private]
    if len(notes) == 1:
        return notes[0]
    if notes:
        some = ", ".join(f'"{note.path}"' for note in notes[:4])
        if all(note.id and note.id != plain and note.id.startswith(plain) for note in notes):
            count = index.notes.count_ids(plain, private=private)
            message = f"the ids of {count} notes begin with {plain!r}"
            raise NotFoundError(message, hint=f"Write more of one, or a name such as {some}.")
        raise NotFoundError(f"{name!r} names {len(notes)} notes", hint=f"Say which: {some}.")
    shown = (summary for summary in index.notes.summaries() if private or not summary.private)
    titles = {summary.title.casefold(): summary.title for summary in shown}
    close = get_close_matches(plain.casefold(), titles, n=3, cutoff=0.5)
    hint = " or ".join(f'"{titles[title]}"' for title in close)
    raise NotFoundError(
        f"no note {name!r}", hint=f"Did you mean {hint}?" if hint else "`amem list` shows all."
    )


@dataclass(frozen=True, slots=True)
class LinkView:
    id: str | None
    path: str
    title: str
    outgoing: bool
    kind: str
    record: LinkRecord | None


@dataclass(frozen=True, slots=True)
class NoteView:
    summary: NoteSummary
    note: Note
    raw: bytes
    links: tuple[LinkView, ...]
    supersession: Supersession
    usage: tuple[int, str] = (0, "")
    suggested: tuple[OpenLink, ...] = ()


def read_note(ports: VaultPorts, name: str) -> NoteView:
    """The note that the user named; raises like `note_named`."""
    from amem_cli.notes.note import parse_note

    summary = note_named(ports.index, name)
    raw = ports.vault.read(summary.path).raw
    note = parse_note(summary.path, raw, ports.names)
    supersession = supersessions(ports.index, [summary.path]).get(summary.path, Supersession())
    links = _links(ports.index, summary)
    suggested = tuple(suggestions(ports.index, summary.path))
    return NoteView(summary, note, raw, links, supersession, suggested=suggested)


def _links(index: MemoryIndex, note: NoteSummary) -> tuple[LinkView, ...]:
    found: dict[tuple[str, bool], LinkView] = {}
    records: dict[str, Mapping[tuple[str, str], LinkRecord]] = {}
    for outgoing, links in (
        (True, index.links.outgoing(note.path)),
        (False, index.links.incoming(note.path)),
    ):
        for path, link in links:
            other = index.notes.summary(path)
            if other is None or path == note.path:
                continue
            source, target = (note, other) if outgoing else (other, note)
            if source.path not in records:
                records[source.path] = index.link_history.records(source.path)
            made = records[source.path]
            record = made.get((source.path, target.key)) or made.get((source.path, target.path))
            explains = link.listed or (record is not None and record.by == "person")
            explained = record if explains else None
            view = LinkView(other.id, path, other.title, outgoing, link.kind, explained)
            # What is said of a link counts, also if the text has the same link.
            if explained is not None or (path, outgoing) not in found:
                found[path, outgoing] = view
    return tuple(found.values())


SORTS: dict[str, tuple[Callable[[NoteSummary, Usage], str], bool]] = {
    "created": (lambda note, _: note.made, True),
    "modified": (lambda note, _: note.modified, True),
    "read": (lambda note, usage: usage.get(note.key, (0, ""))[1], True),
    "title": (lambda note, _: note.title.casefold(), False),
    "path": (lambda note, _: note.path, False),
}


def listed(
    index: MemoryIndex,
    *,
    filters: Filters,
    orphans: bool,
    pending: bool,
    sort: str,
    reverse: bool,
    limit: int | None,
) -> list[NoteSummary]:
    """Notes that meet all conditions; dates sort newest first, names from A to Z."""
    notes = [note for note in index.notes.summaries() if not filters or filters.admit(note)]
    if pending:
        waiting = {note.path for note in index.queue.pending()}
        notes = [note for note in notes if note.path in waiting]
    if orphans:
        linked = set(chain.from_iterable(linked_pairs(index)))
        notes = [note for note in notes if note.path not in linked]
    usage: Usage = index.usage.all() if sort == "read" else {}
    key, newest_first = SORTS[sort]
    notes.sort(key=lambda note: key(note, usage), reverse=newest_first != reverse)
    first = notes[: max(0, limit)] if limit is not None else notes
    return [as_then(index, note, filters) for note in first]
