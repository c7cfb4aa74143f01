"""Links that amem suggests and that nobody has decided on, and its links that nobody looked at."""

from __future__ import annotations

from collections.abc import Callable, Set
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, cast

from amem_cli.notes.names import NameTable, is_linkable, resolve

if TYPE_CHECKING:
    from amem_cli.index.memory_index import MemoryIndex
    from amem_cli.index.records import NoteSummary
    from amem_cli.notes.note import Relation

Pair = frozenset[str]


@dataclass(frozen=True, slots=True)
class OpenLink:
    """A link of amem's from one note to another that a person has not decided on."""

    source: NoteSummary
    target: NoteSummary
    relation: Relation
    strength: float
    reason: str
    suggested: bool

    @property
    def pair(self) -> Pair:
        """Paths of the two notes."""
        return frozenset((self.source.path, self.target.path))

    def other(self, path: str) -> NoteSummary:
        return self.target if self.source.path == path else self.source


def suggestions(
    index: MemoryIndex, path: str | None = None, linked: Set[tuple[str, str]] | None = None
) -> list[OpenLink]:
    """What amem suggests of and to a note, or of all, the strongest first, each pair once.

    Nothing of notes that are linked in either direction, that a person took apart or that are gone,
    and nothing private of a note that is not.
    """
    found: dict[Pair, OpenLink] = {}
    summary, names_one = _summaries(index, path), cache(is_linkable)
    for link in index.link_history.suggested(None if path is None else [path]):
        one, other = summary(link.source), summary(link.target)
        if one is None or other is None or one is other or (other.private and not one.private):
            continue
        pair = frozenset((one.path, other.path))
        if pair not in found and names_one(other.path):
            relation = cast("Relation", link.relation)
            told = (relation, link.strength, link.reason)
            found[pair] = OpenLink(one, other, *told, suggested=True)
    if not found:
        return []
    if path is None:
        linked = linked_pairs(index) if linked is None else linked
        removed = (each for each in index.link_history.decided() if not each.kept)
        apart = {(each.source, each.target) for each in removed}
    else:
        linked = _linked_with(index, path)
        apart = {(path, other) for other in index.link_history.unlinked(path)}
    settled = set(map(frozenset, linked | apart))
    return [link for pair, link in found.items() if pair not in settled]


def open_links(
    index: MemoryIndex, note: NoteSummary | None = None, *, suggested_only: bool = False
) -> list[OpenLink]:
    """Links that wait for a decision: those that amem made, then those that it suggests, of and to
    a note or of all, each the strongest first."""
    path = None if note is None else note.path
    linked = linked_pairs(index) if note is None else None
    made = [] if suggested_only else fresh_links(index, path, linked)
    return [*made, *suggestions(index, path, linked)]


def _summaries(index: MemoryIndex, path: str | None) -> Callable[[str], NoteSummary | None]:
    """Notes by path: of one note only those asked for, else all are read at once."""
    if path is not None:
        return cache(index.notes.summary)
    return {note.path: note for note in index.notes.summaries()}.get


def _linked_with(index: MemoryIndex, path: str) -> set[tuple[str, str]]:
    """Source and target of the links of a note and to it."""
    outgoing = {(path, other) for other, _ in index.links.outgoing(path)}
    return outgoing | {(other, path) for other, _ in index.links.incoming(path)}


def linked_pairs(index: MemoryIndex) -> set[tuple[str, str]]:
    """Paths of two notes of which the first links to the second."""
    # All names in memory: a query for each link would take far longer.
    names = NameTable((note.path, note.aliases, note.title) for note in index.notes.summaries())
    pairs = ((source, resolve(link.target, source, names)) for source, link in index.links.all())
    return {(one, other) for one, other in pairs if other is not None and other != one}


def fresh_links(
    index: MemoryIndex, path: str | None = None, linked: Set[tuple[str, str]] | None = None
) -> list[OpenLink]:
    """Links of amem's in the properties of a note, to it, or of all, that nobody decided on."""
    if path is None:
        written = linked_pairs(index) if linked is None else linked
        records = dict(index.link_history.records())
    else:
        written, records = _linked_with(index, path), {}
        for source in {source for source, _ in written}:
            records |= index.link_history.records(source)
    decided = {(each.source, each.target) for each in index.link_history.decided()}
    summary, found = _summaries(index, path), []
    for source, target in written - decided:
        one, other = summary(source), summary(target)
        if one is None or other is None:
            continue
        record = records.get((source, other.key)) or records.get((source, target))
        if record is not None and record.by == "machine":
            relation = cast("Relation", record.relation)
            told = (relation, record.strength, record.reason)
            found.append(OpenLink(one, other, *told, suggested=False))
    return sorted(found, key=lambda link: (-link.strength, link.source.path, link.target.path))
