"""Folders of markdown as places to import from: plain ones, and those of other programs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from functools import cached_property

from amem_cli.adapters.source_folder import MAX_OTHER_BYTES, SourceFile, SourceFolder
from amem_cli.core.basic_memory import permalink, relations_in
from amem_cli.core.errors import Problem
from amem_cli.core.import_port import SourceNote
from amem_cli.core.logseq import (
    PAGES,
    LogseqPage,
    block_ids,
    convert_page,
    journal_names,
    note_path,
    page_name,
)
from amem_cli.core.source_dates import created_in_header, created_in_name, moment_in
from amem_cli.core.tags import normalise_tag
from amem_cli.core.zk_notebook import file_id, zk_tags


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
