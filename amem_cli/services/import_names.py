"""Finds what a link of an imported note means, and how it has to be written in the vault."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from posixpath import dirname, normpath, relpath

from amem_cli.core.resolution import (
    NameTable,
    NoteNames,
    RememberedNames,
    resolve,
    shortest_target,
)
from amem_cli.core.wikilinks import WikiLink


class SourceNames:
    """The notes and other files of a source by the names that its links use.

    Args:
        notes: (path in the source, aliases, title, other names) of each note.
        others: paths of the files that are no notes.
        relative_first: a markdown link means a file beside its note before one at the top.
    """

    def __init__(
        self,
        notes: Iterable[tuple[str, Sequence[str], str, Sequence[str]]],
        others: Iterable[str],
        *,
        relative_first: bool,
    ) -> None:
        listed = list(notes)
        self._table = NameTable((path, aliases, title) for path, aliases, title, _ in listed)
        self._named: dict[str, set[str]] = {}
        for path, _, _, names in listed:
            for name in names:
                self._named.setdefault(_folded(name), set()).add(path)
        self._others: dict[str, list[str]] = {}
        self._other_at: dict[str, str] = {}
        self._ending_in: dict[str, str | None] = {}
        for path in others:
            self._other_at.setdefault(_folded(path), path)
            self._others.setdefault(_folded(path.rpartition("/")[2]), []).append(path)
        self._relative_first = relative_first

    def note(self, link: WikiLink, source: str) -> str | None:
        """The source's path of the note that a link means."""
        if link.style == "markdown" and self._relative_first:
            beside = resolve(_beside(link.target), source, self._table)
            if beside is not None:
                return beside
        return resolve(link.target, source, self._table) or self.named(link.target)

    def named(self, name: str) -> str | None:
        """The source's path of the one note that has this name."""
        found = self._named.get(_folded(name), set())
        return next(iter(found)) if len(found) == 1 else None

    def other(self, link: WikiLink, source: str) -> str | None:
        """The source's path of the other file that a link means."""
        target = link.target
        candidates = self._others.get(_folded(target.rpartition("/")[2]), ())
        if not candidates:
            return None
        folder = dirname(source)
        wanted = [normpath(f"{folder}/{target}"), normpath(target.lstrip("/"))]
        if link.style == "wikilink":
            wanted.reverse()
        for path in wanted:
            same = self._other_at.get(_folded(path.lstrip("/")))
            if same is not None:
                return same
        ending = "/" + _folded(normpath(target).lstrip("./"))
        if ending not in self._ending_in:
            fits = (each for each in candidates if f"/{_folded(each)}".endswith(ending))
            self._ending_in[ending] = min(fits, key=lambda each: (len(each), each), default=None)
        return self._ending_in[ending]


class VaultNames:
    """The names of the vault's notes together with those that are about to be made."""

    def __init__(
        self, present: NoteNames, coming: Iterable[tuple[str, Sequence[str], str]]
    ) -> None:
        self._present = RememberedNames(present, {})
        self._coming = NameTable(coming)

    def candidates(self, key: str) -> Sequence[str]:
        """Paths of the notes with this file name."""
        return tuple(dict.fromkeys((*self._present.candidates(key), *self._coming.candidates(key))))

    def alias_candidates(self, key: str) -> Sequence[str]:
        """Paths of the notes with this alias or title."""
        both = (*self._present.alias_candidates(key), *self._coming.alias_candidates(key))
        return tuple(dict.fromkeys(both))


def note_target(link: WikiLink, source: str, wanted: str, names: NoteNames) -> str | None:
    """How a link of the note at `source` has to be written to mean the note at `wanted`.

    Returns:
        None where it means that already.
    """
    if resolve(link.target, source, names) == wanted:
        return None
    if link.style == "markdown":
        return _beside(relpath(wanted, dirname(source) or "."))
    return shortest_target(wanted, names)


def file_target(link: WikiLink, source: str, wanted: str, *, only_one: bool) -> str | None:
    """The same for a file that is no note.

    Args:
        only_one: no other file has its name, so that its name alone, or the end of its path, means
            it.
    """
    if link.style == "wikilink":
        here, said = f"/{_folded(wanted)}", "/" + _folded(link.target.lstrip("/"))
        found = here.endswith(said) if only_one else here == said
        return None if found else wanted
    beside = relpath(wanted, dirname(source) or ".")
    return None if normpath(link.target) == beside else beside


def name_of_file(path: str) -> str:
    """The name of a file, as names are compared."""
    return _folded(path.rpartition("/")[2])


def _beside(target: str) -> str:
    return target if target.startswith(("/", "./", "../")) else f"./{target}"


def _folded(text: str) -> str:
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).strip().casefold())
