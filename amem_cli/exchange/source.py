"""The one shape in which every import source gives its notes, and what reading them needs.

Its folder may be somebody else's: no link is followed, no pipe is waited for, and every file has a
limit.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from amem_cli.errors import Problem, SettingsError
from amem_cli.markdown.links import as_tag
from amem_cli.notes.creation_date import FirstCommit
from amem_cli.system.files import NO_LINK, NO_WAIT, PLAIN, is_junction
from amem_cli.vault.folder import VaultFolder, odd_name, shown_path
from amem_cli.vault.safe_write import sha256

Properties = Mapping[str, str | tuple[str, ...]]


class SourceRelation(NamedTuple):
    """A link to one of another note's names, with the source's own word for its meaning."""

    target: str
    relation: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class SourceNote:
    """One note of a source.

    Attributes:
        key: a path or id, unique in the source and the same in every import.
        place, line: for messages; line 0 if it is a whole file.
        raw: a whole markdown file with its header; for records and with `exact` the text alone.
        has_header: `raw` may open with a header of its own, which is kept.
        path: its path in the source, with `.md`; empty if the file name comes from the title.
        created: when it was made, unless its header says so; None if that is not known.
        saved: the local time of its file; None for a record.
        links: names of notes that it links to outside its text.
        names: other names by which notes of the source refer to it.
        properties: more properties by name; those in its header win.
        dangling: its references, in the source's own syntax, to nothing in the source.
        exact: nothing is added to it, because amem itself exported it.
    """

    key: str
    place: str
    raw: bytes
    line: int = 0
    has_header: bool = True
    path: str = ""
    title: str = ""
    id: str = ""
    created: datetime | None = None
    saved: datetime | None = None
    keywords: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    context: str = ""
    links: tuple[str, ...] = ()
    relations: tuple[SourceRelation, ...] = ()
    names: tuple[str, ...] = ()
    properties: Properties = field(default_factory=dict)
    dangling: tuple[str, ...] = ()
    exact: bool = False


# A note of 2 MiB with the header that it may get.
MAX_NOTE_BYTES = 2 * 1024 * 1024 - 64 * 1024
_MAX_FOLDERS = 64
MAX_OTHER_BYTES = 50 * 1024 * 1024
NOTE_ENDINGS = (".md", ".markdown")


@dataclass
class SourceFolder:
    """The files of a folder, sorted by path, without those of a folder in it, such as the vault.

    Attributes:
        problems: what `paths` left out, and why.
        first_commit: by path in the folder.
    """

    root: Path
    left_out: Path | None = None
    first_commit: FirstCommit = lambda path: None
    problems: list[Problem] = field(default_factory=list)

    @cached_property
    def paths(self) -> tuple[str, ...]:
        """All regular files that are not hidden."""
        return tuple(sorted(self._walk("")))

    @property
    def note_paths(self) -> tuple[str, ...]:
        return tuple(path for path in self.paths if path.lower().endswith(NOTE_ENDINGS))

    @property
    def other_paths(self) -> tuple[str, ...]:
        return tuple(path for path in self.paths if not path.lower().endswith(NOTE_ENDINGS))

    def files(self, problems: list[Problem]) -> Iterator[tuple[str, bytes, datetime]]:
        """Path, bytes and time of the last change of each markdown file that can be read."""
        paths = self.note_paths
        problems += self.problems
        for path in paths:
            try:
                raw, saved = self._read(path, MAX_NOTE_BYTES)
            except OSError as error:
                reason = error.strerror or str(error)
                problems.append(Problem(path, 0, f"cannot be read: {reason}"))
                continue
            if len(raw) > MAX_NOTE_BYTES:
                problem = Problem(path, 0, "is larger than a note can be (2 MiB)", "Split it.")
                problems.append(problem)
                continue
            yield path, raw, datetime.fromtimestamp(int(saved)).astimezone()

    def read(self, path: str) -> bytes | None:
        """A file's bytes; None if it cannot be read or is larger than 50 MiB."""
        with suppress(OSError):
            raw, _ = self._read(path, MAX_OTHER_BYTES)
            return raw if len(raw) <= MAX_OTHER_BYTES else None
        return None

    def _walk(self, folder: str) -> Iterator[str]:
        try:
            with os.scandir(self.root / folder) as listing:
                entries = sorted(listing, key=lambda entry: entry.name)
        except OSError as error:
            if not folder:
                raise SettingsError(f"cannot read {self.root}: {error.strerror}") from None
            self._leave_out(folder, f"cannot be read: {error.strerror}")
            return
        for entry in entries:
            path = f"{folder}/{entry.name}" if folder else entry.name
            if entry.name.startswith(".") or Path(entry.path) == self.left_out:
                continue
            if entry.is_symlink():
                self._leave_out(path, "is a symbolic link and was left out")
            elif entry.is_dir(follow_symlinks=False) and not is_junction(entry):
                if path.count("/") >= _MAX_FOLDERS:
                    self._leave_out(path, "lies too deep and was left out")
                    continue
                yield from self._walk(path)
            elif not entry.is_file(follow_symlinks=False):
                self._leave_out(path, "is not a regular file and was left out")
            elif (problem := odd_name(path)) is not None:
                self.problems.append(problem)
            else:
                yield path

    def _read(self, path: str, limit: int) -> tuple[bytes, float]:
        # A path may become a link or a pipe between the scan and the reading.
        handle = os.open(self.root / path, os.O_RDONLY | NO_LINK | NO_WAIT | PLAIN)
        with os.fdopen(handle, "rb") as stream:
            status = os.fstat(handle)
            if not stat.S_ISREG(status.st_mode):
                raise OSError(f"{path} is not a regular file")
            return stream.read(limit + 1), status.st_mtime

    def _leave_out(self, path: str, message: str) -> None:
        self.problems.append(Problem(shown_path(path), 0, message))


@dataclass(frozen=True, slots=True)
class ImportSource:
    """What `amem import` reads from; it is never written to.

    Attributes:
        kind: one of `open_source.KINDS`.
        notes: gives the notes in a stable order; adds what cannot be read to the list that it is
            given.
        folder: the folder of the notes, whose other files they may show; None for records.
    """

    kind: str
    notes: Callable[[list[Problem]], Iterator[SourceNote]]
    folder: SourceFolder | None = None

    @property
    def identity(self) -> str:
        """Tells it from other sources of this machine without naming a path.

        Ids of records are unique by themselves.
        """
        if self.folder is None:
            return self.kind
        return hashlib.sha256(os.fsencode(self.folder.root.resolve())).hexdigest()[:16]


def sha_of(folder: VaultFolder, path: str) -> str | None:
    """SHA-256 of a file below a folder; None if there is none, empty if nothing here wrote it.

    Raises:
        UnsafePath: the path leads out of the folder or through a link.
        OSError: it cannot be read.
    """
    place = folder.locate(path)
    try:
        status = place.lstat()
    except FileNotFoundError:
        return None
    is_ours = stat.S_ISREG(status.st_mode) and status.st_size <= MAX_OTHER_BYTES
    return sha256(place.read_bytes()) if is_ours else ""


def texts_in(value: object) -> tuple[str, ...]:
    """The texts and numbers of a list, each once; it may be written out in a text.

    A text holds a list as JSON, or what stands between its commas.
    """
    if isinstance(value, str):
        value = _written_list(value.strip())
    if not isinstance(value, (list, tuple)):
        return ()
    texts = (
        " ".join(str(item).split())
        for item in value
        if isinstance(item, (str, int, float)) and not isinstance(item, bool)
    )
    return tuple(dict.fromkeys(text for text in texts if text and text != "None"))


def _written_list(text: str) -> object:
    if text[:1] == "{":
        return ()
    with suppress(ValueError, RecursionError):
        return json.loads(text) if text[:1] == "[" else text.split(",")
    return [part.strip(" '\"") for part in text.strip("[]").split(",")]


def valid_tags(texts: Iterable[str]) -> tuple[str, ...]:
    """The texts as tags that Obsidian can hold, each once, without those that cannot be tags."""
    tags = map(as_tag, texts)
    return tuple(dict.fromkeys(tag for tag in tags if tag))
