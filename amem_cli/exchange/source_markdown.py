"""Reads a folder of somebody else's notes: no link is followed, and no file without bound.

Reads the forms of tags and ids that zk notebooks have beside the usual ones.
Reads what basic-memory's notes say of each other.
Folders of markdown as places to import from: plain ones, and those of other programs.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from pathlib import Path

from amem_cli.errors import Problem, SettingsError
from amem_cli.exchange.source import (
    SourceNote,
    SourceRelation,
    created_in_header,
    created_in_name,
    moment_in,
)
from amem_cli.exchange.source_logseq import (
    PAGES,
    LogseqPage,
    block_ids,
    convert_page,
    journal_names,
    note_path,
    page_name,
)
from amem_cli.markdown.regions import blank_out, find_regions
from amem_cli.markdown.tags import normalise_tag
from amem_cli.notes.note import RELATIONS
from amem_cli.vault.folder import odd_name, shown_path

MAX_FILE_BYTES = 2 * 1024 * 1024 - 64 * 1024  # a note of 2 MiB with the header that it may get
MAX_OTHER_BYTES = 50 * 1024 * 1024
MAX_DEPTH = 64
MAX_FILES = 500_000
NOTE_ENDINGS = (".md", ".markdown")


@dataclass(frozen=True, slots=True)
class SourceFile:
    """One file of the folder.

    Attributes:
        path: relative to the folder, with `/`.
        modified: when it was changed last, local time.
    """

    path: str
    raw: bytes
    modified: datetime


@dataclass
class SourceFolder:
    """The files of a folder, sorted by path.

    Args:
        root: the folder.
        left_out: a folder inside that is not entered, as the vault's own.
    """

    root: Path
    left_out: Path | None = None
    problems: list[Problem] = field(default_factory=list)

    @property
    def identity(self) -> str:
        """A digest of where the folder lies."""
        place = os.fsencode(self.root.resolve())
        return hashlib.sha256(place).hexdigest()[:16]

    @cached_property
    def paths(self) -> tuple[str, ...]:
        """All regular files that are not hidden; what cannot be taken is put in `problems`.

        Raises:
            SettingsError: the folder itself cannot be read, or holds far too much.
        """
        found: list[str] = []
        waiting = [("", 0)]
        while waiting:
            folder, depth = waiting.pop()
            if depth > MAX_DEPTH:
                self._tell(folder, "lies too deep and was left out")
                continue
            for entry in self._entries(folder):
                path = f"{folder}/{entry.name}" if folder else entry.name
                if entry.name.startswith("."):
                    continue
                if entry.is_symlink():
                    self._tell(path, "is a symbolic link and was left out")
                elif entry.is_dir(follow_symlinks=False):
                    if self.left_out is None or Path(entry.path) != self.left_out:
                        waiting.append((path, depth + 1))
                elif not entry.is_file(follow_symlinks=False):
                    self._tell(path, "is not a regular file and was left out")
                elif (problem := odd_name(path)) is not None:
                    self.problems.append(problem)
                else:
                    found.append(path)
            if len(found) > MAX_FILES:
                raise SettingsError(
                    f"{self.root} holds more than {MAX_FILES} files", hint="Import its folders."
                )
        return tuple(sorted(found))

    @property
    def note_paths(self) -> tuple[str, ...]:
        """The markdown files."""
        return tuple(path for path in self.paths if path.lower().endswith(NOTE_ENDINGS))

    @property
    def other_paths(self) -> tuple[str, ...]:
        """All other files."""
        return tuple(path for path in self.paths if not path.lower().endswith(NOTE_ENDINGS))

    def files(self, problems: list[Problem]) -> Iterator[SourceFile]:
        """The markdown files one by one; what cannot be read is told and left out."""
        paths = self.note_paths
        problems += self.problems
        for path in paths:
            try:
                status, raw = self._read(path, MAX_FILE_BYTES)
            except OSError as error:
                reason = error.strerror or str(error)
                problems.append(Problem(path, 0, f"cannot be read: {reason}"))
                continue
            if len(raw) > MAX_FILE_BYTES:
                problems.append(
                    Problem(path, 0, "is larger than a note can be (2 MiB)", "Split it.")
                )
                continue
            yield SourceFile(path, raw, datetime.fromtimestamp(int(status.st_mtime)))

    def read(self, path: str, limit: int = MAX_OTHER_BYTES) -> bytes | None:
        """A file's bytes; None where it cannot be read or is larger than `limit`."""
        try:
            _, raw = self._read(path, limit)
        except OSError:
            return None
        return raw if len(raw) <= limit else None

    def size_of(self, path: str) -> int | None:
        """Bytes of a regular file, or None."""
        try:
            status = os.lstat(self.root / path)
        except OSError:
            return None
        return status.st_size if stat.S_ISREG(status.st_mode) else None

    def _entries(self, folder: str) -> list[os.DirEntry[str]]:
        try:
            with os.scandir(self.root / folder) as entries:
                return sorted(entries, key=lambda entry: entry.name)
        except OSError as error:
            if not folder:
                raise SettingsError(f"cannot read {self.root}: {error.strerror}") from None
            self._tell(folder, f"cannot be read: {error.strerror}")
            return []

    def _read(self, path: str, limit: int) -> tuple[os.stat_result, bytes]:
        flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
        handle = os.open(self.root / path, flags | getattr(os, "O_BINARY", 0))
        with os.fdopen(handle, "rb") as stream:
            status = os.fstat(handle)
            if not stat.S_ISREG(status.st_mode):
                raise OSError(f"{path} is not a regular file")
            return status, stream.read(limit + 1)

    def _tell(self, path: str, message: str) -> None:
        self.problems.append(Problem(shown_path(path), 0, message))


_COLON_TAGS = re.compile(r"(?<![^\s]):((?:[^\s:#]{1,80}:){1,20})(?=\s|\Z)")
_WORDS_IN_HASHES = re.compile(r"(?<![^\s])#([^\s#][^#\r\n]{0,80}[^\s#\\])#(?=[\s.,;!?]|\Z)")
_FILE_ID = re.compile(r"([0-9]{8,14}|[0-9a-z]{4,12})(?=[-_ ]|\Z)")
_LETTER = re.compile(r"[^\W_]")


def zk_tags(text: str) -> tuple[str, ...]:
    """Tags written `:one:two:` and `#several words#`, outside code, as Obsidian can hold them."""
    if ":" not in text and "#" not in text:
        return ()
    spans = [(region.start, region.end) for region in find_regions(text)]
    visible = blank_out(text, spans)
    found: list[str] = []
    for match in _COLON_TAGS.finditer(visible):
        found += match[1].split(":")
    for match in _WORDS_IN_HASHES.finditer(visible):
        if " " in match[1]:
            found.append(match[1])
    tags = (normalise_tag(text) for text in found if _LETTER.search(text))
    return tuple(dict.fromkeys(tag for tag in tags if tag))


def file_id(path: str) -> str:
    """The id with which a file's name begins, as `2k8x` of `2k8x-a-thought.md`; or empty."""
    stem = path.rsplit("/", 1)[-1].rsplit(".", 1)[0]
    match = _FILE_ID.match(stem)
    return match[1] if match and any(letter.isdigit() for letter in match[1]) else ""


_RELATION = re.compile(
    r"^[ \t]{0,40}[-*][ \t](?P<relation>[^\[\]\r\n]{1,100})"
    r"\[\[(?P<target>[^\[\]\r\n|#]{1,300})(?:[|#][^\[\]\r\n]{0,300})?\]\]"
    r"[ \t]{0,20}(?:\((?P<reason>[^\r\n]{1,500})\))?[ \t]{0,20}\r?$",
    re.MULTILINE,
)
_PERMALINK = re.compile(
    rb"^permalink[ \t]*:[ \t]*[\"']?([^\"'\r\n]{1,300}?)[\"']?[ \t]*\r?$", re.MULTILINE
)
_BEGINNING = 8 * 1024
_WORDS = {
    "supports": "supports",
    "confirms": "supports",
    "contradicts": "contradicts",
    "contradicted by": "contradicts",
    "supersedes": "supersedes",
    "replaces": "supersedes",
    "example of": "example_of",
    "instance of": "example_of",
    "part of": "part_of",
    "belongs to": "part_of",
    "causes": "causes",
    "leads to": "causes",
}


def permalink(raw: bytes) -> str:
    """The `permalink` of a note's header, or empty."""
    if not raw.startswith((b"---", b"\xef\xbb\xbf---")):
        return ""
    head, fence, _ = raw[3:_BEGINNING].partition(b"\n---")
    found = _PERMALINK.search(head) if fence else None
    return found[1].decode("utf-8", "replace").strip() if found else ""


def relations_in(text: str) -> Iterator[SourceRelation]:
    """The relations that stand in a note's lists, `- part_of [[Other note]] (why)`."""
    if "[[" not in text:
        return
    spans = [(region.start, region.end) for region in find_regions(text)]
    for match in _RELATION.finditer(blank_out(text, spans)):
        relation = match["relation"].strip(" :\t")
        if relation:
            yield SourceRelation(match["target"].strip(), relation, (match["reason"] or "").strip())


def known_relation(word: str) -> str:
    """The relation of amem that another program's word means; `related` where none does."""
    plain = " ".join(word.casefold().replace("_", " ").replace("-", " ").split())
    if plain.replace(" ", "_") in RELATIONS:
        return plain.replace(" ", "_")
    return _WORDS.get(plain, "related")


class MarkdownSource:
    """A folder of markdown; every note is taken as it is.

    Args:
        kind: what is told of it.
    """

    def __init__(self, folder: SourceFolder, kind: str = "markdown") -> None:
        self._folder = folder
        self.kind = kind

    @property
    def identity(self) -> str:
        """What tells it from another folder."""
        return self._folder.identity

    @property
    def others(self) -> tuple[str, ...]:
        """Paths of the files that are no notes."""
        return self._folder.other_paths

    def notes(self, problems: list[Problem]) -> Iterator[SourceNote]:
        """The notes by path."""
        for file in self._folder.files(problems):
            yield self._note(file, problems)

    def size_of(self, path: str) -> int | None:
        """Bytes of one of the other files."""
        return self._folder.size_of(path)

    def read_other(self, path: str) -> bytes | None:
        """One of the other files; None where it cannot be read or is larger than 50 MiB."""
        return self._folder.read(path, MAX_OTHER_BYTES)

    def _note(self, file: SourceFile, problems: list[Problem]) -> SourceNote:
        created = created_in_header(file.raw) or created_in_name(file.path)
        return SourceNote(
            key=file.path,
            place=file.path,
            raw=file.raw,
            path=_with_md(file.path),
            created=created or file.modified,
        )


class ZkNotebook(MarkdownSource):
    """A zk notebook: notes are also known by the id with which their file's name begins."""

    def __init__(self, folder: SourceFolder) -> None:
        super().__init__(folder, "zk")

    @cached_property
    def _file_ids(self) -> frozenset[str]:
        """Ids with which the name of one note alone begins."""
        ids = [file_id(path) for path in self._folder.note_paths]
        return frozenset(each for each, count in Counter(ids).items() if each and count == 1)

    def _note(self, file: SourceFile, problems: list[Problem]) -> SourceNote:
        note = super()._note(file, problems)
        prefix = file_id(file.path)
        names = (prefix,) if prefix in self._file_ids else ()
        text = file.raw.decode("utf-8", "replace")
        return replace(note, names=names, tags=zk_tags(text))


class BasicMemoryProject(MarkdownSource):
    """A project of basic-memory: notes are also known by their permalink, and relations count."""

    def __init__(self, folder: SourceFolder) -> None:
        super().__init__(folder, "basic-memory")

    def _note(self, file: SourceFile, problems: list[Problem]) -> SourceNote:
        note = super()._note(file, problems)
        link = permalink(file.raw)
        relations = tuple(relations_in(file.raw.decode("utf-8", "replace")))
        return replace(note, names=(link,) if link else (), relations=relations)


class LogseqGraph(MarkdownSource):
    """A Logseq graph: pages, journals and what stands in their properties and references."""

    def __init__(self, folder: SourceFolder) -> None:
        super().__init__(folder, "logseq")

    def notes(self, problems: list[Problem]) -> Iterator[SourceNote]:
        """The pages by path; those in org are told of."""
        for path in self._folder.other_paths:
            if path.lower().endswith(".org"):
                hint = "Turn it into markdown first."
                problems.append(Problem(path, 0, "is written in org, which is not read", hint))
        for file in self._folder.files(problems):
            # What Logseq keeps for itself, and its backups, are no pages.
            if not file.path.startswith("logseq/"):
                yield self._note(file, problems)

    @cached_property
    def _pages_of_blocks(self) -> dict[str, str]:
        found: dict[str, str] = {}
        for file in self._folder.files([]):
            target = note_path(file.path).removesuffix(".md").removeprefix(PAGES)
            name = target if file.path.startswith(PAGES) else target.rpartition("/")[2]
            for identifier in block_ids(file.raw.decode("utf-8", "replace")):
                found.setdefault(identifier, name)
        return found

    def _note(self, file: SourceFile, problems: list[Problem]) -> SourceNote:
        note = super()._note(file, problems)
        names = journal_names(file.path)
        own = page_name(file.path)
        note = replace(note, path=note_path(file.path), names=(*names, own))
        try:
            text = file.raw.decode("utf-8")
        except UnicodeDecodeError:
            return note
        # YAML at the top is a page's too in newer graphs; then nothing is moved into it.
        if text.startswith("---"):
            return note
        page = convert_page(text, self._pages_of_blocks.get)
        return _with_properties(note, page)


def _with_properties(note: SourceNote, page: LogseqPage) -> SourceNote:
    properties = dict(page.properties)
    if page.aliases:
        properties["aliases"] = page.aliases
    tags = (normalise_tag(tag) for tag in page.tags)
    created = _logseq_moment(page.created)
    return replace(
        note,
        raw=page.body.encode("utf-8"),
        has_header=False,
        title=page.title,
        created=created or note.created,
        tags=tuple(dict.fromkeys(tag for tag in tags if tag)),
        names=(*note.names, *page.aliases, *((page.title,) if page.title else ())),
        properties=properties,
        lost=tuple(f"(({identifier}))" for identifier in page.unresolved),
    )


def _logseq_moment(text: str) -> datetime | None:
    if text.isdigit() and len(text) == 13:
        return datetime.fromtimestamp(int(text) // 1000)
    return moment_in(text.strip("[] "))


def _with_md(path: str) -> str:
    stem, _, _ = path.rpartition(".")
    return f"{stem}.md"
