"""What an export of plain markdown needs of the folder that it writes to and of the vault.

Keeps links to private notes that stay behind out of an export, and finds who names them.
Writes notes out as plain markdown: wikilinks become links that any program follows.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from posixpath import dirname, relpath
from typing import Literal, Protocol

from amem_cli.errors import HeaderRefused, Problem
from amem_cli.exchange.names import SourceNames
from amem_cli.index.draft import VaultPorts
from amem_cli.index.records import NoteSummary, Progress
from amem_cli.journal.events import LinkRecord
from amem_cli.markdown.links import (
    WikiLink,
    find_links,
    heading_anchor,
    is_attachment,
    markdown_link,
    parse_link,
    rewrite_links,
)
from amem_cli.notes.codec import body_bytes, edit_header, parse_note
from amem_cli.notes.names import RememberedNames, resolve
from amem_cli.notes.note import Note

Written = Literal["written", "unchanged", "kept"]


class PlainFolder(Protocol):
    """A folder outside the vault in which only what was written by exports is ever replaced."""

    def put(self, path: str, content: bytes) -> Written:
        """Write a file, or say that it is so already, or that somebody else's file is there."""

    def finish(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Remove what former exports wrote and this one did not.

        Returns:
            Paths of the files that were removed, and of those that somebody changed and that stay.
        """

    def remember(self) -> None:
        """Keep in mind what was written so far, when an export is cut short."""

    def vault_files(self) -> tuple[str, ...]:
        """Paths of the files in the vault that are no notes."""

    def read_vault_file(self, path: str) -> bytes | None:
        """One of them; None where it cannot be read or is larger than 50 MiB."""


class StayingNotes:
    """The notes of the vault that do not go out with an export.

    Args:
        notes: those that do.

    Attributes:
        named: by the path of a note that goes out, the private ones that its own words name.
        cut_links: how many entries of `links` lead to a note that stays, and were left out.
    """

    def __init__(self, ports: VaultPorts, notes: Sequence[NoteSummary]) -> None:
        self._going = {note.path for note in notes}
        self._private = ports.index.notes.private_paths() - self._going
        self.names = RememberedNames(ports.index.names, {})
        self.named: dict[str, set[str]] = {}
        self.cut_links = 0

    def links(self, texts: Iterable[str], source: str, *, any_note: bool) -> list[str]:
        """The entries of `links` without those that lead to a note that stays.

        Args:
            any_note: also where it is not private.
        """
        kept = []
        for text in texts:
            link = parse_link(text)
            found = resolve(link.target, source, self.names) if link else None
            stays = found is not None and found not in self._going
            if stays and found is not None and (any_note or found in self._private):
                self.cut_links += 1
            else:
                kept.append(text)
        return kept

    def look_through(self, text: str, source: str) -> None:
        """Remember which private notes that stay are named by links of a text."""
        if not self._private or "[" not in text:
            return
        for link in find_links(text):
            found = resolve(link.target, source, self.names)
            if found is not None:
                self.remember(source, found)

    def remember(self, source: str, target: str) -> None:
        """Remember that the words of a note name another, where that one is private and stays."""
        if target in self._private:
            self.named.setdefault(source, set()).add(target)


RELATED = "## Related notes"


@dataclass(slots=True)
class MarkdownExport:
    """What an export did.

    Attributes:
        written, unchanged, removed: files of the folder.
        kept: files of others that stand where a note belongs; they stay.
        files: files that are no notes, as pictures, that were written out with them.
        broken: how many links lead to nothing, and stay as they are.
        named: by the path of a note, the private notes that stay and that its own words name.
        cut_links: how many entries of `links` lead to a note that stays, and are left out.
    """

    written: list[str] = field(default_factory=list)
    unchanged: int = 0
    removed: tuple[str, ...] = ()
    kept: list[str] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    broken: int = 0
    named: dict[str, set[str]] = field(default_factory=dict)
    cut_links: int = 0
    problems: list[Problem] = field(default_factory=list)


def export_markdown(
    ports: VaultPorts,
    notes: Sequence[NoteSummary],
    folder: PlainFolder,
    *,
    progress: Progress | None = None,
) -> MarkdownExport:
    """Write notes, and the files to which they link, where they stand in the vault.

    Links of the `links` property come to stand under a heading at the end, with what they mean.

    Raises:
        SettingsError: the folder cannot be written.
    """
    export = _Export(ports, notes, folder)
    try:
        for done, note in enumerate(notes, 1):
            export.write(note)
            if progress is not None:
                progress(done, len(notes))
    except BaseException:
        # Else the next export would take what this one wrote for somebody else's.
        folder.remember()
        raise
    return export.finish()


class _Export:
    def __init__(
        self, ports: VaultPorts, notes: Sequence[NoteSummary], folder: PlainFolder
    ) -> None:
        self._ports = ports
        self._folder = folder
        self._titles = {note.path: note.title for note in notes}
        self._staying = StayingNotes(ports, notes)
        self._names = self._staying.names
        self._others = SourceNames((), folder.vault_files(), relative_first=True)
        self._records = ports.index.link_history.records()
        self._copied: dict[str, bool] = {}
        self.report = MarkdownExport()

    def write(self, summary: NoteSummary) -> None:
        """Write one note."""
        path = summary.path
        content = self._ports.vault.read(path)
        if content.cut:
            self._tell(path, "is larger than 2 MiB and is not written out")
            return
        note = parse_note(path, content.raw, self._ports.names)
        raw = self._header_cut(note, content.raw)
        body = body_bytes(raw)
        for line in raw[: len(raw) - len(body)].decode("utf-8", "replace").splitlines():
            self._staying.look_through(line.strip(), path)
        try:
            text = body.decode("utf-8")
        except UnicodeDecodeError:
            self._tell(path, "is not UTF-8 and is written out as it is")
            self._staying.look_through(body.decode("utf-8", "replace"), path)
        else:
            plain = rewrite_links(text, lambda link, _: self._plain(link, path))
            related = self._related(summary, note, text)
            raw = raw[: len(raw) - len(body)] + (plain + related).encode("utf-8")
        done = self._folder.put(path, raw)
        if done == "unchanged":
            self.report.unchanged += 1
        elif done == "written":
            self.report.written.append(path)
        else:
            self.report.kept.append(path)
            self._tell(path, "is somebody else's file in the folder and stays")

    def finish(self) -> MarkdownExport:
        """Remove what is no more, and tell what was done."""
        report = self.report
        report.removed, edited = self._folder.finish()
        for path in sorted(set(edited).difference(report.kept)):
            report.kept.append(path)
            self._tell(path, "does not go out any more, but was changed in the folder and stays")
        report.named = self._staying.named
        report.cut_links = self._staying.cut_links
        return report

    def _header_cut(self, note: Note, raw: bytes) -> bytes:
        """The note without entries of `links` that lead to notes that stay."""
        kept = self._staying.links(note.links, note.path, any_note=True)
        if len(kept) == len(note.links):
            return raw
        try:
            return edit_header(raw, {self._ports.names.links: kept}, self._ports.names)
        except (HeaderRefused, ValueError):
            self._staying.cut_links -= len(note.links) - len(kept)
            self._tell(note.path, "has links in its header to notes that are left out")
            return raw

    def _plain(self, link: WikiLink, source: str) -> str | None:
        """What stands for a link; None to leave it."""
        if link.style == "markdown":
            other = self._others.other(link, source)
            if other is not None:
                self._copy(other)
                return None
        found = resolve(link.target, source, self._names)
        if found is not None and found not in self._titles:
            # The note is not written out, so only the words are.
            name = link.target.rpartition("/")[2]
            if name.casefold() in (link.display or name).casefold():
                self._staying.remember(source, found)
            return link.display or name
        if link.style == "markdown":
            return None
        if found is not None:
            return _note_link(link, source, found)
        return self._file_link(link, source)

    def _file_link(self, link: WikiLink, source: str) -> str | None:
        other = self._others.other(link, source)
        if other is None:
            self.report.broken += 1
            return None
        self._copy(other)
        name = other.rpartition("/")[2]
        # Behind the bar of an embedded picture stands its size.
        is_size = link.embed and link.display.replace("x", "").isdigit()
        shown = name if is_size or not link.display else link.display
        beside = relpath(other, dirname(source) or ".")
        return markdown_link(shown, beside, picture=link.embed and is_attachment(other))

    def _copy(self, path: str) -> None:
        if path in self._copied:
            return
        content = self._folder.read_vault_file(path)
        self._copied[path] = content is not None
        if content is None:
            self._tell(path, "cannot be read, or is larger than 50 MiB, and is not written out")
        elif self._folder.put(path, content) == "kept":
            self.report.kept.append(path)
            self._tell(path, "is somebody else's file in the folder and stays")
        else:
            self.report.files.append(path)

    def _related(self, summary: NoteSummary, note: Note, text: str) -> str:
        """The links of the properties that do not stand in the text, as a list."""
        path = summary.path
        if note.refused is not None:
            return ""
        said = {resolve(link.target, path, self._names) for link in find_links(text)}
        lines: dict[str, str] = {}
        for each in note.links:
            link = parse_link(each)
            found = resolve(link.target, path, self._names) if link else None
            if link is None or found in (None, path) or found in said or found not in self._titles:
                continue
            assert found is not None
            beside = relpath(found, dirname(path) or ".")
            shown = link.display or self._titles[found]
            record = self._record(summary, found)
            lines.setdefault(found, f"- {markdown_link(shown, beside)}{_why(record)}")
        if not lines:
            return ""
        end = "\r\n" if "\r\n" in text else "\n"
        gap = "" if text.endswith(end * 2) or not text else end if text.endswith(end) else end * 2
        return gap + end.join([RELATED, "", *lines.values(), ""])

    def _record(self, source: NoteSummary, target: str) -> LinkRecord | None:
        summary = self._ports.index.notes.summary(target)
        keys = (summary.id, target) if summary else (target,)
        for key in keys:
            record = self._records.get((source.path, key or ""))
            if record is not None:
                return record
        return None

    def _tell(self, path: str, message: str) -> None:
        self.report.problems.append(Problem(path, 0, message))


def _note_link(link: WikiLink, source: str, target: str) -> str:
    shown = link.display or link.target.rpartition("/")[2].removesuffix(".md")
    if link.fragment and not link.display:
        shown += "" if link.fragment.startswith("^") else f" > {link.fragment.replace('#', ' > ')}"
    anchor = "" if link.fragment.startswith("^") else heading_anchor(link.fragment)
    if not link.target:
        return markdown_link(link.display or link.fragment, "", anchor)
    return markdown_link(shown, relpath(target, dirname(source) or "."), anchor)


def _why(record: LinkRecord | None) -> str:
    if record is None:
        return ""
    words = [record.relation.replace("_", " ")] if record.relation != "related" else []
    words += [" ".join(record.reason.split())] if record.reason else []
    return f" – {': '.join(words)}" if words else ""
