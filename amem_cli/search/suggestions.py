"""Links that amem suggests and that nobody has decided on, and its links that nobody looked at."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, cast

from amem_cli.index.records import with_key
from amem_cli.notes.names import NameTable, is_linkable, resolve

if TYPE_CHECKING:
    from amem_cli.index.events import SuggestedLink
    from amem_cli.index.memory_index import MemoryIndex
    from amem_cli.index.records import NoteSummary
    from amem_cli.notes.note import Relation

Pair = frozenset[str]


@dataclass(frozen=True, slots=True)
class OpenLink:
    """A link of amem's from one note to another that a person has not decided on.

    Attributes:
        suggested: it is in no file.
    """

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
        """The note at the other end."""
        return self.target if self.source.path == path else self.source


def suggestions(index: MemoryIndex, path: str | None = None) -> list[OpenLink]:
    """What amem suggests of and to a note, or of all, the strongest first, each pair once.

    Nothing of notes that are linked in either direction, that a person took apart or that are gone,
    and nothing private of a note that is not.
    """
    keys = None if path is None else _keys(index, path)
    found: dict[Pair, OpenLink] = {}
    for link in _resolved(index, index.link_history.suggested(keys)):
        spreads = link.target.private and not link.source.private
        if len(link.pair) == 2 and not spreads and is_linkable(link.target.path):
            found.setdefault(link.pair, link)
    if not found:
        return []
    settled = _all_settled(index) if path is None else _settled(index, path)
    return [link for pair, link in found.items() if pair not in settled]


def _keys(index: MemoryIndex, path: str) -> list[str]:
    note = index.notes.summary(path)
    if note is not None and note.id is not None:
        return [note.id, path]
    # The journal may know a note without an id by a path that it had.
    return [path, *(old for old, now in index.files.moves().items() if now == path)]


def _resolved(index: MemoryIndex, links: Iterable[SuggestedLink]) -> Iterator[OpenLink]:
    moves, summary = cache(index.files.moves), cache(index.notes.summary)
    for link in links:
        same = with_key(index.notes.find(link.target), link.target)
        if not same and (now := moves().get(link.target)):
            same = with_key(index.notes.find(now), now)
        source = summary(link.source)
        # If two notes have one id, nobody can tell which is meant.
        if source is not None and len(same) == 1:
            relation = cast("Relation", link.relation)
            yield OpenLink(source, same[0], relation, link.strength, link.reason, suggested=True)


def _settled(index: MemoryIndex, path: str) -> set[Pair]:
    """The note with each that it is linked with or was taken apart from."""
    ends = {other for other, _ in (*index.links.outgoing(path), *index.links.incoming(path))}
    return {frozenset((path, other)) for other in ends | index.link_history.unlinked(path)}


def _all_settled(index: MemoryIndex) -> set[Pair]:
    removed = (each for each in index.link_history.decided(-1) if not each.decision.kept)
    apart = {frozenset((each.source, each.target)) for each in removed}
    return apart | {frozenset(pair) for pair in linked_pairs(index)}


def linked_pairs(index: MemoryIndex) -> set[tuple[str, str]]:
    """Paths of two notes of which the first links to the second."""
    # All names in memory: a query for each link would take far longer.
    names = NameTable((note.path, note.aliases, note.title) for note in index.notes.summaries())
    pairs = ((source, resolve(link.target, source, names)) for source, link in index.links.all())
    return {(one, other) for one, other in pairs if other is not None and other != one}


def fresh_links(index: MemoryIndex, path: str | None = None) -> list[OpenLink]:
    """Links of amem's in the properties of a note, to it, or of all, that nobody decided on."""
    if path is None:
        written, records = linked_pairs(index), dict(index.link_history.records())
    else:
        out = {(path, other) for other, _ in index.links.outgoing(path)}
        incoming = {(other, path) for other, _ in index.links.incoming(path)}
        written, records = out | incoming, {}
        for source in {source for source, _ in written}:
            records |= index.link_history.records(source)
    decided = {(each.source, each.target) for each in index.link_history.decided(-1)}
    summary, found = cache(index.notes.summary), []
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
