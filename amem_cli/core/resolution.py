"""Finds the note that a link means, as Obsidian does, and writes links to notes."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

_PICTURES = "avif|bmp|gif|heic|jpe?g|png|svg|tiff?|webp"
_RECORDINGS = "3gp|flac|m4a|mp3|ogg|opus|wav|mkv|mov|mp4|ogv|webm"
_DOCUMENTS = "pdf|canvas|base|csv|docx?|epub|od[pst]|pptx?|rtf|txt|xlsx?|zip"
_ATTACHMENT = re.compile(rf"[^/]\.(?:{_PICTURES}|{_RECORDINGS}|{_DOCUMENTS})\Z", re.IGNORECASE)

_NOTE_ENDING = ".md"
_UNLINKABLE = re.compile(r"[#^\[\]|\n\r`]|%%|<!--")


class NoteNames(Protocol):
    """The names by which the notes of a vault are found."""

    def candidates(self, key: str) -> Sequence[str]:
        """Vault-relative paths of the notes for whose path `name_key` gives `key`."""

    def alias_candidates(self, key: str) -> Sequence[str]:
        """Paths of the notes with an alias or title for which `alias_key` gives `key`.

        The notes whose file has that name too may be left out.
        """


class NameTable:
    """The names of notes in memory."""

    def __init__(self, notes: Iterable[tuple[str, Sequence[str], str]]) -> None:
        """Args: notes: (vault-relative path, aliases, title) of each note; a title may be empty."""
        self._paths: dict[str, list[str]] = {}
        self._aliased: dict[str, list[str]] = {}
        for path, aliases, title in notes:
            self._paths.setdefault(name_key(path), []).append(path)
            keys = {alias_key(alias) for alias in (*aliases, title)} - {"", name_key(path)}
            for key in keys:
                self._aliased.setdefault(key, []).append(path)

    def candidates(self, key: str) -> Sequence[str]:
        return self._paths.get(key, ())

    def alias_candidates(self, key: str) -> Sequence[str]:
        return self._aliased.get(key, ())


class RememberedNames:
    """Other names, each key looked up once; for resolving many links at a time.

    Args:
        candidates: what is known already of keys.
    """

    def __init__(self, names: NoteNames, candidates: Mapping[str, Sequence[str]]) -> None:
        self._names = names
        self._candidates = dict(candidates)
        self._aliased: dict[str, Sequence[str]] = {}

    def candidates(self, key: str) -> Sequence[str]:
        if key not in self._candidates:
            self._candidates[key] = self._names.candidates(key)
        return self._candidates[key]

    def alias_candidates(self, key: str) -> Sequence[str]:
        if key not in self._aliased:
            self._aliased[key] = self._names.alias_candidates(key)
        return self._aliased[key]


def name_key(text: str) -> str:
    """The base name of a path or link target in the form in which names are compared.

    Without folders and `.md`, Unicode-normalised, without case. Only for comparing: a file is
    opened by its path as it is.
    """
    return _folded(_without_ending(text.rpartition("/")[2]))


def alias_key(text: str) -> str:
    """The `name_key` of an alias or title; empty where a link could only mean a folder by it."""
    return "" if "/" in text else name_key(text.strip())


def is_attachment(target: str) -> bool:
    """Whether a link target names a file of another kind, such as a picture, by its ending."""
    return _ATTACHMENT.search(target) is not None


def is_linkable(path: str) -> bool:
    """Whether a wikilink can name the note: some characters in a file name break every link."""
    return not _UNLINKABLE.search(path) and all(
        part == part.strip() for part in _without_ending(path).split("/")
    )


def resolve(target: str, source: str, names: NoteNames) -> str | None:
    """Find the note that a link means.

    A target that is a whole path from the root comes first; then, among the notes whose path ends
    with the target, those in or below the folder of the source, then the shortest path. Case only
    decides between equals. `./` and `../` start from the folder of the source, `/` from the root.
    Where no file has the name, the one note with that alias or title.

    Args:
        target: the part of a link before `|`, with or without `#heading` and `.md`.
        source: path of the note that holds the link, or empty.

    Returns:
        The path of the note; the source where the target is only a heading; None where no note or
        more than one alias fits, or the target is an attachment.
    """
    wanted = target.strip()
    if not wanted or wanted.startswith("#"):
        return source or None
    if is_attachment(wanted):
        return None
    found = _by_path(wanted, source, names) or _by_alias(wanted, names)
    if found is None and "#" in wanted:
        return resolve(wanted.partition("#")[0], source, names)
    return found


def shortest_target(path: str, names: NoteNames) -> str:
    """How to write a link to a note so that it means that note in every other note.

    Args:
        path: a note that `names` knows.

    Returns:
        The file name without `.md` where no other note has it; else the path from the root without
        `.md`, with a leading `/` for a note in the root folder; with `.md` only where the name
        would otherwise read as another kind of file.
    """
    is_unique = len(names.candidates(name_key(path))) == 1
    whole = path.rpartition("/")[2] if is_unique else (path if "/" in path else f"/{path}")
    short = _without_ending(whole)
    return short if resolve(short, "", names) == path else whole


def _by_path(wanted: str, source: str, names: NoteNames) -> str | None:
    location = _location(wanted, source)
    if location is None:
        return None
    key = _path_key(location)
    is_anchored = wanted.startswith(("/", "./", "../"))
    folder = _folded(source.rpartition("/")[0])
    best: tuple[int, int, int, str] | None = None
    for path in names.candidates(name_key(location)):
        path_key = _path_key(path)
        if path_key == key:
            nearness = 0
        elif is_anchored or not path_key.endswith(f"/{key}"):
            continue
        else:
            nearness = 1 if not folder or path_key.startswith(f"{folder}/") else 2
        rank = (nearness, _spelling(location, path), len(path), path)
        best = rank if best is None else min(best, rank)
    return best[3] if best else None


def _by_alias(wanted: str, names: NoteNames) -> str | None:
    key = alias_key(wanted)
    paths = set(names.alias_candidates(key)) if key else set()
    return paths.pop() if len(paths) == 1 else None


def _location(wanted: str, source: str) -> str | None:
    """The target as a path without `.` and `..`, or None where it is no path inside the vault."""
    is_relative = wanted.startswith(("./", "../"))
    parts = source.split("/")[:-1] if is_relative else []
    if wanted.endswith("/"):
        return None
    for part in wanted.split("/"):
        if part == "..":
            if not parts:
                return None
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    return "/".join(parts) or None


def _spelling(location: str, path: str) -> int:
    """How far the written name differs from the file's: 0 not, 1 in normalisation, 2 in case."""
    written, actual = location, path
    for distance in (0, 1):
        for ending in (actual, _without_ending(actual)):
            if f"/{ending}".endswith(f"/{written}"):
                return distance
        written, actual = _normalised(written), _normalised(actual)
    return 2


def _path_key(path: str) -> str:
    return _folded(_without_ending(path))


def _without_ending(path: str) -> str:
    return path[: -len(_NOTE_ENDING)] if path.lower().endswith(_NOTE_ENDING) else path


def _normalised(text: str) -> str:
    return unicodedata.normalize("NFC", text).replace("\u00a0", " ").replace("\u202f", " ")


def _folded(text: str) -> str:
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFC", _normalised(text).casefold())
