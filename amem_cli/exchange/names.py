"""Gives imported notes and files their places in the vault, so that none takes another's.

Finds what a link of an imported note means, and how it has to be written in the vault.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from posixpath import dirname, normpath, relpath

from amem_cli.errors import UsageError
from amem_cli.index.draft import VaultPorts
from amem_cli.markdown.links import WikiLink
from amem_cli.notes.names import (
    NameTable,
    NoteNames,
    RememberedNames,
    conflict_copy,
    file_name,
    name_key,
    resolve,
    shortest_target,
    with_suffix,
)

MAX_COMPONENT_BYTES = 240
MAX_PATH_BYTES = 800

_ENDING = ".md"
_DRIVE = re.compile(r"[A-Za-z]?:")
_ODD = re.compile(r"[\x00-\x1f\x7f-\x9f\\\ud800-\udfff]")


class FreePaths:
    """Places for new notes.

    Args:
        folder: vault-relative folder for them, empty for the top.
        beside: others that are given out too, of which none is given twice.

    Raises:
        UsageError: the folder leaves the vault or is hidden.
    """

    def __init__(self, ports: VaultPorts, folder: str, beside: FreePaths | None = None) -> None:
        self._ports = ports
        parts = [part for part in folder.split("/") if part not in ("", ".")]
        if folder.startswith("/") or any(_safe_folder(part) != part for part in parts):
            raise UsageError(
                f"--into {folder!r} is not a place for notes", hint="Name a folder of the vault."
            )
        self._prefix = "".join(f"{part}/" for part in parts)
        self._taken: set[str] = set() if beside is None else beside._taken
        self._folders: dict[str, str] = {}
        self._numbers: dict[str, int] = {}

    def take(self, path: str, title: str) -> str:
        """A place for a note that nothing has, with a number where it must be.

        A name that a note of the vault has, in whatever folder, is not used again: links to it
        would come to mean another note.

        Args:
            path: its path in the source; empty where the name comes from the title.
        """
        wanted = self._prefix + (self._settled(path) if path else file_name(title))
        folder, _, name = wanted.rpartition("/")
        start = self._numbers.get(_folded(wanted), 1)
        for number in range(start, 1_000_000):
            candidate = name if number == 1 else with_suffix(name, number)
            full = f"{folder}/{candidate}" if folder else candidate
            if _folded(full) in self._taken or self._is_there(full):
                continue
            self._taken.add(_folded(full))
            self._numbers[_folded(wanted)] = number + 1
            return full
        raise UsageError(f"there are too many notes named {name!r}")

    def other(self, path: str, number: int) -> str:
        """A place for a file that is no note; `number` beyond 1 gives it another name."""
        *folders, name = path.split("/")
        parts = self._placed(folders)
        if _ODD.search(name) or name.startswith(".") or len(name.encode()) > MAX_COMPONENT_BYTES:
            stem, dot, ending = name.rpartition(".")
            name = file_name(stem or ending)[: -len(_ENDING)] + dot + ending
        if number > 1:
            stem, dot, ending = name.rpartition(".")
            name = f"{stem or ending} {number}{dot if stem else ''}{ending if stem else ''}"
        return self._prefix + "/".join([*parts, name])

    def _is_there(self, full: str) -> bool:
        names = self._ports.index.names.candidates(name_key(full))
        return bool(names) or self._ports.vault.exists(full)

    def _settled(self, path: str) -> str:
        """The path with what the vault cannot hold made safe, and nothing else changed."""
        *folders, name = path.split("/")
        parts = self._placed(folders)
        stem = name.removesuffix(_ENDING)
        if not _is_safe(stem) or stem != stem.strip() or conflict_copy(name):
            name = file_name(stem)
        whole = "/".join([*parts, name])
        return whole if len(whole.encode()) <= MAX_PATH_BYTES else name

    def _placed(self, folders: Sequence[str]) -> list[str]:
        """Folders of the source; two in one place that differ in case alone become one."""
        parts: list[str] = []
        for name in folders:
            key = _folded("/".join([*parts, name]))
            parts.append(self._folders.setdefault(key, _safe_folder(name)))
        return parts


def _safe_folder(name: str) -> str:
    return name if _is_safe(name) else file_name(name)[: -len(_ENDING)]


def _is_safe(name: str) -> bool:
    return (
        bool(name.strip())
        and not name.startswith(".")
        and not _ODD.search(name)
        and not _DRIVE.match(name)
        and len(name.encode("utf-8")) <= MAX_COMPONENT_BYTES
    )


def _folded(text: str) -> str:
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())


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
                self._named.setdefault(_folded_name(name), set()).add(path)
        self._others: dict[str, list[str]] = {}
        self._other_at: dict[str, str] = {}
        self._ending_in: dict[str, str | None] = {}
        for path in others:
            self._other_at.setdefault(_folded_name(path), path)
            self._others.setdefault(_folded_name(path.rpartition("/")[2]), []).append(path)
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
        found = self._named.get(_folded_name(name), set())
        return next(iter(found)) if len(found) == 1 else None

    def other(self, link: WikiLink, source: str) -> str | None:
        """The source's path of the other file that a link means."""
        target = link.target
        candidates = self._others.get(_folded_name(target.rpartition("/")[2]), ())
        if not candidates:
            return None
        folder = dirname(source)
        wanted = [normpath(f"{folder}/{target}"), normpath(target.lstrip("/"))]
        if link.style == "wikilink":
            wanted.reverse()
        for path in wanted:
            same = self._other_at.get(_folded_name(path.lstrip("/")))
            if same is not None:
                return same
        ending = "/" + _folded_name(normpath(target).lstrip("./"))
        if ending not in self._ending_in:
            fits = (each for each in candidates if f"/{_folded_name(each)}".endswith(ending))
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
        here, said = f"/{_folded_name(wanted)}", "/" + _folded_name(link.target.lstrip("/"))
        found = here.endswith(said) if only_one else here == said
        return None if found else wanted
    beside = relpath(wanted, dirname(source) or ".")
    return None if normpath(link.target) == beside else beside


def name_of_file(path: str) -> str:
    """The name of a file, as names are compared."""
    return _folded_name(path.rpartition("/")[2])


def _beside(target: str) -> str:
    return target if target.startswith(("/", "./", "../")) else f"./{target}"


def _folded_name(text: str) -> str:
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).strip().casefold())
