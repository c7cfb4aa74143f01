"""Exports notes as records, or as plain markdown in which wikilinks are ordinary links.

Keeps private notes, and links to notes that are not exported, out of the export.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from posixpath import dirname, normpath, relpath
from typing import TYPE_CHECKING, Any

from amem_cli.errors import HeaderRefused, Problem, SettingsError, UsageError
from amem_cli.exchange.places import SourceNames
from amem_cli.exchange.source import SourceFolder
from amem_cli.graph.graph import of_link
from amem_cli.index.memory_index import VaultPorts
from amem_cli.index.records import NoteSummary, Progress
from amem_cli.journal.events import LinkRecord
from amem_cli.markdown.links import (
    WikiLink,
    encoded_path,
    find_links,
    heading_anchor,
    is_attachment,
    markdown_link,
    parse_link,
    rewrite_links,
    target_span,
)
from amem_cli.notes.front_matter_edit import edit_header
from amem_cli.notes.names import RememberedNames, resolve
from amem_cli.notes.note import Note, body_bytes, parse_note
from amem_cli.notes.note_links import redirected_properties
from amem_cli.vault.folder import VaultFolder
from amem_cli.vault.safe_write import write_failure

if TYPE_CHECKING:
    from amem_cli.search.search import Filters

RELATED = "## Related notes"


class Selection:
    """The notes that an export takes, and what they say of those that it leaves out.

    Attributes:
        notes: by path.
        left_out: how many private notes were selected and do not go out.
        named: by the path of an exported note, the private notes left out that its text names.
        cut_links: how many entries of `links` were cut.
        problems: what could not be exported as it is.
    """

    def __init__(self, ports: VaultPorts, filters: Filters | None, *, private: bool) -> None:
        found = [
            note for note in ports.index.notes.summaries() if not filters or filters.admit(note)
        ]
        self.notes = [note for note in found if private or not note.private]
        self.left_out = len(found) - len(self.notes)
        self._exported = {note.path for note in self.notes}
        self._private = ports.index.notes.private_paths() - self._exported
        self.names = RememberedNames(ports.index.names, {})
        self.named: dict[str, set[str]] = {}
        self.cut_links = 0
        self.problems: list[Problem] = []

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

    def report(self, path: str, message: str) -> None:
        self.problems.append(Problem(path, 0, message))


def export_records(ports: VaultPorts, selection: Selection) -> Iterator[dict[str, Any]]:
    """Each note as the object of a JSON line; `aliases` and `private` only if it has them."""
    for summary in selection.notes:
        content = ports.vault.read(summary.path)
        note = parse_note(summary.path, content.raw, ports.names)
        if content.cut:
            selection.report(note.path, "is larger than 2 MiB; the line has its beginning")
        else:
            try:
                content.raw.decode("utf-8")
            except UnicodeDecodeError:
                selection.report(note.path, "is not UTF-8; the line has � for bad bytes")
        selection.scan(note.body, note.path)
        record: dict[str, Any] = {
            "content": note.body,
            "title": note.title,
            "id": note.id,
            "created": note.created,
            "keywords": list(note.keywords),
            "tags": list(note.tags),
            "context": note.context,
            "links": selection.links(note.links, note.path, only_private=True),
            "path": note.path,
        }
        if note.aliases:
            record["aliases"] = list(note.aliases)
        if note.private:
            record["private"] = True
        yield record


class MarkdownExport:
    """Writes notes, and the files to which they link, to their paths in the vault.

    Links of the `links` property go under a heading at the end, with their meaning.
    """

    def __init__(self, ports: VaultPorts, selection: Selection, folder: VaultFolder) -> None:
        self._ports = ports
        self._folder = folder
        self.selection = selection
        self._notes = {note.path: note for note in selection.notes}
        self._names = selection.names
        self._vault = SourceFolder(ports.vault.root)
        self._others = SourceNames((), self._vault.other_paths, relative_first=True)
        self._records = ports.index.link_history.records()
        self._copied: set[str] = set()
        self.written: list[str] = []
        self.files: list[str] = []
        self.broken = 0

    def run(self, progress: Progress | None = None) -> None:
        for done, note in enumerate(self.selection.notes, 1):
            self._write(note)
            if progress is not None:
                progress(done, len(self.selection.notes))

    def _write(self, summary: NoteSummary) -> None:
        path = summary.path
        content = self._ports.vault.read(path)
        if content.cut:
            self.selection.report(path, "is larger than 2 MiB and is not exported")
            return
        note = parse_note(path, content.raw, self._ports.names)
        raw = self._with_plain_header(note, content.raw)
        body = body_bytes(raw)
        header = raw[: len(raw) - len(body)]
        # The header goes out as it is, so what it names must be reported too.
        for line in header.decode("utf-8", "replace").splitlines():
            self.selection.scan(line.strip(), path)
        try:
            text = body.decode("utf-8")
        except UnicodeDecodeError:
            self.selection.report(path, "is not UTF-8 and is exported as it is")
            self.selection.scan(body.decode("utf-8", "replace"), path)
        else:
            plain = rewrite_links(text, lambda link, written: self._plain(link, written, path))
            raw = header + (plain + self._related(note, text)).encode("utf-8")
        self._put(path, raw, self.written)

    def _put(self, path: str, content: bytes, done: list[str]) -> None:
        try:
            self._folder.write(path, content, expected=None)
        except FileExistsError:
            # The disk takes names that differ in case alone for one.
            self.selection.report(path, "has the place of another file and is not exported")
        except OSError as error:
            raise write_failure(path, error) from None
        else:
            done.append(path)

    def _with_plain_header(self, note: Note, raw: bytes) -> bytes:
        """The note with ordinary links in its properties, none of them to notes left out."""
        names = self._ports.names

        def plain(text: str) -> str:
            return rewrite_links(text, lambda link, written: self._plain(link, written, note.path))

        kept = self.selection.links(note.links, note.path, only_private=False)
        links = list(map(plain, kept))
        try:
            if links != [*note.links]:
                raw = edit_header(raw, {names.links: links}, names)
            return redirected_properties(raw, plain, without=names.links)
        except (HeaderRefused, ValueError):
            if len(kept) < len(note.links):
                self.selection.cut_links -= len(note.links) - len(kept)
                message = "has links in its header to notes that are left out"
                self.selection.report(note.path, message)
            return raw

    def _plain(self, link: WikiLink, written: str, source: str) -> str | None:
        """The text that replaces a link; None to leave it."""
        if link.style == "markdown":
            other = self._others.other(link, source)
            if other is not None:
                self._copy(other)
                return _led_to(link, written, source, other)
        found = resolve(link.target, source, self._names)
        if found is not None and found not in self._notes:
            # The note is not exported, so only the words remain.
            name = link.target.rpartition("/")[2]
            # Other words for the note do not give its name away.
            if name.casefold() in (link.display or name).casefold():
                self.selection.remember(source, found)
            return link.display or name
        if link.style == "markdown":
            return _led_to(link, written, source, found) if found and link.target else None
        if found is not None:
            return _note_link(link, source, found)
        return self._file_link(link, source)

    def _file_link(self, link: WikiLink, source: str) -> str | None:
        other = self._others.other(link, source)
        if other is None:
            self.broken += 1
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
        content = self._vault.read(path)
        if content is None:
            message = "cannot be read, or is larger than 50 MiB, and is not exported"
            self.selection.report(path, message)
        else:
            self._put(path, content, self.files)

    def _related(self, note: Note, text: str) -> str:
        """A list of the property links that the text does not have."""
        path = note.path
        # The links of an unreadable header are unknown.
        if note.refused is not None:
            return ""
        linked = {resolve(link.target, path, self._names) for link in find_links(text)}
        lines: dict[str, str] = {}
        for each in note.links:
            link = parse_link(each)
            to = resolve(link.target, path, self._names) if link else None
            if link is None or to is None or to in (*linked, path) or to not in self._notes:
                continue
            beside = relpath(to, dirname(path) or ".")
            shown = link.display or self._notes[to].title
            why = _why(of_link(self._records, path, self._notes[to]))
            lines.setdefault(to, f"- {markdown_link(shown, beside)}{why}")
        if not lines:
            return ""
        end = "\r\n" if "\r\n" in text else "\n"
        gap = "" if text.endswith(end * 2) or not text else end if text.endswith(end) else end * 2
        return gap + end.join([RELATED, "", *lines.values(), ""])


def _led_to(link: WikiLink, written: str, source: str, path: str) -> str | None:
    """A markdown link that names a file as it is on the disk; None if it does."""
    own = dirname(source) or "."
    if path in (normpath(f"{own}/{link.target}"), link.target.lstrip("/")):
        return None
    start, end = target_span(written, replace(link, start=0, end=len(written)))
    return written[:start] + encoded_path(relpath(path, own)) + written[end:]


def _note_link(link: WikiLink, source: str, target: str) -> str:
    shown = link.display or link.target.rpartition("/")[2].removesuffix(".md")
    if link.fragment and not link.display:
        shown += "" if link.fragment.startswith("^") else f" > {link.fragment.replace('#', ' > ')}"
    anchor = "" if link.fragment.startswith("^") else heading_anchor(link.fragment)
    if not link.target:
        # Other programs know no anchors of blocks.
        words = link.display or link.fragment
        return markdown_link(words, "", anchor) if anchor else words
    return markdown_link(shown, relpath(target, dirname(source) or "."), anchor)


def _why(record: LinkRecord | None) -> str:
    if record is None:
        return ""
    words = [record.relation.replace("_", " ")] if record.relation != "related" else []
    words += [" ".join(record.reason.split())] if record.reason else []
    return f" – {': '.join(words)}" if words else ""


def new_folder(root: Path, *, vault: Path) -> VaultFolder:
    """The folder that the user named for an export, made if missing.

    Raises:
        UsageError: it is in the vault, or the vault in it, or it holds more than hidden files.
        SettingsError: it cannot be made or read.
    """
    root = root.expanduser().absolute()
    resolved = root.resolve()
    if resolved.is_relative_to(vault) or vault.is_relative_to(resolved):
        raise UsageError(
            f"{root} and the vault contain one another", hint="Name a folder beside the vault."
        )
    try:
        root.mkdir(parents=True, exist_ok=True)
        holds_files = any(not each.name.startswith(".") for each in root.iterdir())
    except OSError as error:
        raise SettingsError(f"cannot use {root}: {error.strerror}") from None
    if holds_files:
        raise UsageError(
            f"{root} is not empty, and an export replaces nothing",
            hint="Name a new folder, or delete what an earlier export wrote there.",
        )
    return VaultFolder(root)
