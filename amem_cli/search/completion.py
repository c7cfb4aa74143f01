"""Names of notes and tags for somebody who is typing one, the likeliest first."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Literal

from amem_cli.index.records import NoteSummary
from amem_cli.language.lexicon import as_typed, fold
from amem_cli.notes.names import NameTable, is_linkable, shortest_target
from amem_cli.search.search import current_first

# A name is a better match the more of it was typed from its beginning.
_WHOLE, _BEGINNING, _WORD, _WORDS, _WITHIN = 1.0, 0.8, 0.6, 0.5, 0.3
# What two names that match alike gain from a meaning near to the paragraph.
_MEANING_SHARE = 0.5
# Where nothing is typed, and nothing is near, the notes that changed last are offered.
_LATEST = 100


@dataclass(frozen=True, slots=True)
class NoteName:
    """A name under which a note can be linked.

    Attributes:
        target: what to write between the brackets, without the name if it is not the file's.
        kind: `meaning` if the note was found by what it says, not by what was typed.
        newer: the title of a note by which it no longer holds; empty if it does.
    """

    path: str
    name: str
    target: str
    kind: Literal["title", "alias", "meaning"]
    newer: str = ""


@dataclass(frozen=True, slots=True)
class _Entry:
    note: NoteName
    spellings: tuple[str, ...]
    modified: str


class NameList:
    """The names of all notes that a link can have, kept in memory."""

    def __init__(
        self,
        notes: Iterable[NoteSummary],
        newer: Mapping[str, Sequence[NoteSummary]] = MappingProxyType({}),
    ) -> None:
        notes = [note for note in notes if is_linkable(note.path)]
        self._newer = {path: [note.path for note in those] for path, those in newer.items()}
        table = NameTable((note.path, note.aliases, note.title) for note in notes)
        self._entries: list[_Entry] = []
        self._titles: dict[str, _Entry] = {}
        for note in notes:
            target = shortest_target(note.path, table)
            later = newer[note.path][0].title if newer.get(note.path) else ""
            title = NoteName(note.path, note.title, target, "title", later)
            entry = _Entry(title, as_typed(fold(note.title)), note.modified)
            self._titles[note.path] = entry
            self._entries.append(entry)
            for alias in note.aliases:
                named = NoteName(note.path, alias, target, "alias", later)
                self._entries.append(_Entry(named, as_typed(fold(alias)), note.modified))
        titles = self._titles.values()
        self._latest = heapq.nlargest(_LATEST, titles, key=lambda each: each.modified)

    def __len__(self) -> int:
        return len(self._titles)

    def matching(
        self, typed: str, near: Mapping[str, float], limit: int, *, besides: str = ""
    ) -> list[NoteName]:
        """Names for what was typed, the likeliest first; for nothing typed, those nearest."""
        query = _typed(typed)
        words = query.split()
        nearest = max(near.values(), default=0.0) or 1.0
        if query:
            matches = (
                (entry, max(_match(query, words, each) for each in entry.spellings))
                for entry in self._entries
            )
            fitting = [(entry, match) for entry, match in matches if match]
        else:
            close = (self._titles[path] for path in near if path in self._titles)
            likely = {entry.note.path: entry for entry in (*close, *self._latest)}
            fitting = [(entry, 0.0) for entry in likely.values()]
        found = [
            (match + _MEANING_SHARE * max(0.0, near.get(path, 0.0)) / nearest, entry)
            for entry, match in fitting
            if (path := entry.note.path) != besides
        ]
        best = heapq.nlargest(
            limit, found, key=lambda each: (each[0], each[1].modified, each[1].note.path)
        )
        return self._current_first([entry.note for _, entry in best])

    def by_meaning(
        self, near: Mapping[str, float], limit: int, *, besides: Iterable[str] = ()
    ) -> list[NoteName]:
        left_out = {*besides}
        order = sorted(near, key=lambda path: -near[path])
        entries = (self._titles.get(path) for path in order if path not in left_out)
        notes = [entry.note for entry in entries if entry is not None]
        best = [replace(each, kind="meaning") for each in notes[:limit]]
        return self._current_first(best)

    def _current_first(self, names: list[NoteName]) -> list[NoteName]:
        """Names of a note that no longer holds behind those of the note that replaced it."""
        paths = list(dict.fromkeys(each.path for each in names))
        if self._newer.keys().isdisjoint(paths):
            return names
        order = [path for path, _ in current_first(paths, self._newer, ())]
        return sorted(names, key=lambda each: order.index(each.path))


def _match(query: str, words: list[str], name: str) -> float:
    """How well what was typed fits a name, 0..1; 0 if it does not."""
    if not query:
        return 0.0
    place = name.find(query)
    if place == 0:
        return _WHOLE if len(name) == len(query) else _BEGINNING
    if place > 0:
        return _WITHIN if name[place - 1].isalnum() else _WORD
    if len(words) > 1 and all(word in name for word in words):
        return _WORDS
    return 0.0


def _typed(text: str) -> str:
    """What somebody types of a name or tag, as it is compared with `as_typed`."""
    return as_typed(fold(text.strip()))[0]


def matching_tags(tags: Mapping[str, int], typed: str, limit: int) -> list[tuple[str, int]]:
    """Tags for what was typed, with the number of their notes: the most used of the best matches.

    A level of a nested tag is found by its own beginning too.
    """
    query = _typed(typed)
    found = []
    for tag, count in tags.items():
        spellings = as_typed(fold(tag))
        if fold(tag) == fold(typed):
            continue
        if any(each.startswith(query) for each in spellings):
            found.append((0, -count, tag))
        elif any(f"/{query}" in each or f"-{query}" in each for each in spellings):
            found.append((1, -count, tag))
    return [(tag, -count) for _, count, tag in sorted(found)[:limit]]
