"""Exports notes as records, or as plain markdown in which wikilinks are ordinary links.

Keeps private notes, and links to notes that are not exported, out of the export.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from posixpath import dirname, relpath
from typing import TYPE_CHECKING, Any

from amem_cli.errors import HeaderRefused, Problem
from amem_cli.exchange.export_folder import ExportFolder, Written
from amem_cli.exchange.places import SourceNames
from amem_cli.index.memory_index import VaultPorts
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
from amem_cli.notes.front_matter_edit import edit_header
from amem_cli.notes.names import RememberedNames, resolve
from amem_cli.notes.note import Note, body_bytes, parse_note

if TYPE_CHECKING:
    from amem_cli.search.search import Filters


def notes_to_export(
    ports: VaultPorts, filters: Filters | None, *, private: bool
) -> tuple[list[NoteSummary], int]:
    """The notes to export, by path, and how many private ones are left out."""
    notes = [note for note in ports.index.notes.summaries() if not filters or filters.admit(note)]
    public = [note for note in notes if private or not note.private]
    return public, len(notes) - len(public)


class PrivacyFilter:
    """Cuts links to notes that are not exported, and finds the notes that name private ones.

    Attributes:
        named: by the path of an exported note, the private notes left out that its text names.
        cut_links: how many entries of `links` were cut.
    """

    def __init__(self, ports: VaultPorts, notes: Sequence[NoteSummary]) -> None:
        self._exported = {note.path for note in notes}
        self._private = ports.index.notes.private_paths() - self._exported
        self.names = RememberedNames(ports.index.names, {})
        self.named: dict[str, set[str]] = {}
        self.cut_links = 0

    def links(self, texts: Iterable[str], source: str, *, only_private: bool) -> list[str]:
        """The entries of `links` without those to notes (or private notes) left out."""
        links = []
        for text in texts:
            link = parse_link(text)
            to = resolve(link.target, source, self.names) if link else None
            if to is None or to in self._exported or (only_private and to not in self._private):
                links.append(text)
            else:
                self.cut_links += 1
        return links

    def scan(self, text: str, source: str) -> None:
        """Remember which private notes the links of a text name."""
        for link in find_links(text) if self._private and "[" in text else ():
            self.remember(source, resolve(link.target, source, self.names))

    def remember(self, source: str, target: str | None) -> None:
        """Remember that the text of a note names another, if that one is private."""
        if target is not None and target in self._private:
            self.named.setdefault(source, set()).add(target)


def export_records(
    ports: VaultPorts,
    notes: list[NoteSummary],
    privacy: PrivacyFilter,
    problems: list[Problem],
) -> Iterator[dict[str, Any]]:
    """Each note as the object of a JSON line; `aliases` and `private` only if it has them.

    `privacy` cuts links to private notes; `problems` receives what a line cannot hold of a note.
    """
    for summary in notes:
        content = ports.vault.read(summary.path)
        note = parse_note(summary.path, content.raw, ports.names)
        if content.cut:
            problems.append(
                Problem(note.path, 0, "is larger than 2 MiB; the line has its beginning")
            )
        else:
            try:
                content.raw.decode("utf-8")
            except UnicodeDecodeError:
                problems.append(Problem(note.path, 0, "is not UTF-8; the line has � for bad bytes"))
        privacy.scan(note.body, note.path)
        record: dict[str, Any] = {
            "content": note.body,
            "title": note.title,
            "id": note.id,
            "created": note.created,
            "keywords": list(note.keywords),
            "tags": list(note.tags),
            "context": note.context,
            "links": privacy.links(note.links, note.path, only_private=True),
            "path": note.path,
        }
        if note.aliases:
            record["aliases"] = list(note.aliases)
        if note.private:
            record["private"] = True
        yield record


RELATED = "## Related notes"


@dataclass(slots=True)
class MarkdownExport:
    """What an export did.

    Attributes:
        written, unchanged, removed: files of the folder.
        kept: files of others at the path of a note; they are not replaced.
        files: other files, such as pictures, that were copied.
        broken: how many links lead to nothing; they are unchanged.
        named, cut_links: see `PrivacyFilter`.
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
    folder: ExportFolder,
    *,
    progress: Progress | None = None,
) -> MarkdownExport:
    """Write notes, and the files to which they link, to their paths in the vault.

    Links of the `links` property go under a heading at the end, with their meaning.
    """
    export = _Export(ports, notes, folder)
    for done, note in enumerate(notes, 1):
        export.write(note)
        if progress is not None:
            progress(done, len(notes))
    return export.finish()


class _Export:
    def __init__(
        self, ports: VaultPorts, notes: Sequence[NoteSummary], folder: ExportFolder
    ) -> None:
        self._ports = ports
        self._folder = folder
        self._titles = {note.path: note.title for note in notes}
        self._privacy = PrivacyFilter(ports, notes)
        self._names = self._privacy.names
        self._others = SourceNames((), folder.vault.other_paths, relative_first=True)
        self._records = ports.index.link_history.records()
        self._copied: set[str] = set()
        self.report = MarkdownExport()

    def write(self, summary: NoteSummary) -> None:
        """Write one note."""
        path = summary.path
        content = self._ports.vault.read(path)
        if content.cut:
            self._report_problem(path, "is larger than 2 MiB and is not exported")
            return
        note = parse_note(path, content.raw, self._ports.names)
        raw = self._header_cut(note, content.raw)
        body = body_bytes(raw)
        # The header goes out as it is, so what it names must be reported too.
        for line in raw[: len(raw) - len(body)].decode("utf-8", "replace").splitlines():
            self._privacy.scan(line.strip(), path)
        try:
            text = body.decode("utf-8")
        except UnicodeDecodeError:
            self._report_problem(path, "is not UTF-8 and is exported as it is")
            self._privacy.scan(body.decode("utf-8", "replace"), path)
        else:
            plain = rewrite_links(text, lambda link, _: self._plain(link, path))
            related = self._related(summary, note, text)
            raw = raw[: len(raw) - len(body)] + (plain + related).encode("utf-8")
        done = self._put(path, raw)
        if done == "written":
            self.report.written.append(path)
        self.report.unchanged += done == "unchanged"

    def _put(self, path: str, content: bytes) -> Written:
        done = self._folder.put(path, content)
        if done == "kept":
            self.report.kept.append(path)
            self._report_problem(path, "is somebody else's file in the folder and was not replaced")
        return done

    def finish(self) -> MarkdownExport:
        """Remove files of notes that are gone, and return the report."""
        report = self.report
        report.removed, edited = self._folder.finish()
        for path in sorted(set(edited).difference(report.kept)):
            report.kept.append(path)
            self._report_problem(
                path, "is no longer exported, but was changed in the folder and stays"
            )
        report.named = self._privacy.named
        report.cut_links = self._privacy.cut_links
        return report

    def _header_cut(self, note: Note, raw: bytes) -> bytes:
        """The note without entries of `links` that lead to notes left out."""
        kept = self._privacy.links(note.links, note.path, only_private=False)
        if len(kept) == len(note.links):
            return raw
        try:
            return edit_header(raw, {self._ports.names.links: kept}, self._ports.names)
        except (HeaderRefused, ValueError):
            self._privacy.cut_links -= len(note.links) - len(kept)
            self._report_problem(note.path, "has links in its header to notes that are left out")
            return raw

    def _plain(self, link: WikiLink, source: str) -> str | None:
        """The text that replaces a link; None to leave it."""
        if link.style == "markdown":
            other = self._others.other(link, source)
            if other is not None:
                self._copy(other)
                return None
        found = resolve(link.target, source, self._names)
        if found is not None and found not in self._titles:
            # The note is not exported, so only the words remain.
            name = link.target.rpartition("/")[2]
            # Other words for the note do not give its name away.
            if name.casefold() in (link.display or name).casefold():
                self._privacy.remember(source, found)
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
        # After the bar of an embedded picture comes its size.
        is_size = link.embed and link.display.replace("x", "").isdigit()
        shown = name if is_size or not link.display else link.display
        beside = relpath(other, dirname(source) or ".")
        return markdown_link(shown, beside, picture=link.embed and is_attachment(other))

    def _copy(self, path: str) -> None:
        if path in self._copied:
            return
        self._copied.add(path)
        content = self._folder.vault.read(path)
        if content is None:
            self._report_problem(
                path, "cannot be read, or is larger than 50 MiB, and is not exported"
            )
        elif self._put(path, content) != "kept":
            self.report.files.append(path)

    def _related(self, summary: NoteSummary, note: Note, text: str) -> str:
        """A list of the property links that the text does not have."""
        path = summary.path
        # The links of an unreadable header are unknown.
        if note.refused is not None:
            return ""
        linked = {resolve(link.target, path, self._names) for link in find_links(text)}
        lines: dict[str, str] = {}
        for each in note.links:
            link = parse_link(each)
            to = resolve(link.target, path, self._names) if link else None
            if link is None or to is None or to in (*linked, path) or to not in self._titles:
                continue
            beside = relpath(to, dirname(path) or ".")
            shown = link.display or self._titles[to]
            lines.setdefault(to, f"- {markdown_link(shown, beside)}{_why(self._record(path, to))}")
        if not lines:
            return ""
        end = "\r\n" if "\r\n" in text else "\n"
        gap = "" if text.endswith(end * 2) or not text else end if text.endswith(end) else end * 2
        return gap + end.join([RELATED, "", *lines.values(), ""])

    def _record(self, source: str, target: str) -> LinkRecord | None:
        summary = self._ports.index.notes.summary(target)
        # The journal names a note by its id, or by its path if it had none.
        by_id = self._records.get((source, summary.id or "")) if summary else None
        return by_id or self._records.get((source, target))

    def _report_problem(self, path: str, message: str) -> None:
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
