"""What a feature of the language server works with: the vault, and the notes as the editor has
them."""

from __future__ import annotations

import os
import re
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from lsprotocol import types as lsp
from pygls.uris import from_fs_path, to_fs_path

from amem_cli.errors import AmemError
from amem_cli.notes.names import resolve
from amem_cli.notes.note import body_place

if TYPE_CHECKING:
    from amem_cli.index.records import NoteSummary
    from amem_cli.lsp.server import EditorServer
    from amem_cli.lsp.upkeep import Upkeep
    from amem_cli.markdown.links import WikiLink
    from amem_cli.workspace.workspace import Workspace


# The kinds and commands of code actions, as editors and their settings name them.
FIX_KIND = "quickfix"
LINK_KIND = "refactor.rewrite.amem"
EXTRACT_KIND = "refactor.extract"
SOURCE_KIND = "source.amem"
ACTION_KINDS = (FIX_KIND, LINK_KIND, EXTRACT_KIND, SOURCE_KIND)

ACCEPT = "amem.acceptLink"
NEVER = "amem.neverLink"
ORGANISE = "amem.organise"
EXTRACT = "amem.extract"
FIX = "amem.fix"

_FIRST_LINES = 600
# The protocol's line ends, and no others: Python knows more.
_LINE_END = re.compile(r"\r\n|\n|\r")
# By what is agreed with the editor: Python's name, and the bytes of a unit.
_CODECS = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2), "utf-32": ("utf-32-le", 4)}


class Positions:
    """Translates between offsets in a text, in characters, and an editor's positions."""

    def __init__(self, text: str, encoding: str = "utf-16") -> None:
        self._text = text
        ends = list(_LINE_END.finditer(text))
        self._starts = [0, *(end.end() for end in ends)]
        self._ends = [*(end.start() for end in ends), len(text)]
        self._codec, self._width = _CODECS[encoding]

    def offset(self, position: lsp.Position) -> int:
        """The offset of a position; behind a line's end it is that end, behind the last line the
        text's. Within a character it is the character's beginning."""
        if position.line >= len(self._starts):
            return len(self._text)
        start, end = self._starts[position.line], self._ends[position.line]
        line = self._text[start:end].encode(self._codec, "replace")
        before = line[: position.character * self._width]
        return start + len(before.decode(self._codec, "ignore"))

    def position(self, offset: int) -> lsp.Position:
        line = bisect_right(self._starts, offset) - 1
        before = self._text[self._starts[line] : min(offset, self._ends[line])]
        return lsp.Position(line, len(before.encode(self._codec, "replace")) // self._width)

    def range(self, start: int, end: int) -> lsp.Range:
        return lsp.Range(self.position(start), self.position(end))

    def line_end(self, line: int) -> int:
        """The offset of the end of a line, before its line end."""
        return self._ends[min(line, len(self._ends) - 1)]

    def line_start(self, line: int) -> int:
        return self._starts[min(line, len(self._starts) - 1)]


@dataclass(frozen=True)
class Document:
    """A note as the editor shows it, or as its file says if it is not open.

    Attributes:
        path: from the vault's root.
        version: the editor's number of this text; None if it is not open.
    """

    uri: str
    path: str
    text: str
    version: int | None
    encoding: str

    @cached_property
    def positions(self) -> Positions:
        return Positions(self.text, self.encoding)

    @cached_property
    def body(self) -> int:
        """Where the text begins behind the front matter."""
        return body_place(self.text)

    def at(self, position: lsp.Position) -> int:
        return self.positions.offset(position)


@dataclass(frozen=True)
class Editor:
    """One request of an editor: what it has open at this moment, and the vault behind it."""

    vault: Workspace
    upkeep: Upkeep
    server: EditorServer
    opened: Mapping[str, tuple[str, int | None]]

    @cached_property
    def open_documents(self) -> dict[str, Document]:
        """The notes of the vault that are open, by path."""
        found = (self.document(uri) for uri in self.opened)
        return {each.path: each for each in found if each is not None}

    def document(self, uri: str) -> Document | None:
        """The note at a URI; None if that is no note of the vault, or cannot be read."""
        path = note_path(self.vault.root, uri)
        if path is None:
            return None
        text, version = self.opened.get(uri, (None, None))
        if text is None:
            try:
                text = self.text(path)
            except AmemError:
                return None
        return Document(uri, path, text, version, self.server.encoding)

    def text(self, path: str) -> str:
        """The text of a note's file, header included; what is not UTF-8 is replaced.

        Raises:
            NotFoundError, SettingsError: it cannot be read.
        """
        return self.vault.vault.read(path).raw.decode("utf-8", "replace")

    def target(self, link: WikiLink, source: str) -> str | None:
        """The path of the note that a link of the note at `source` leads to, or None."""
        if not link.target:
            return source
        return resolve(link.target, source, self.vault.index.names)

    def document_of(self, path: str) -> Document | None:
        """The note at a path of the vault, open or not; None if it cannot be read."""
        return self.open_documents.get(path) or self.document(self.uri(path))

    def uri(self, path: str) -> str:
        """The address of a note: the editor's own if it is open."""
        known = self.open_documents.get(path)
        return known.uri if known is not None else note_uri(self.vault.root, path)

    def note(self, document: Document) -> NoteSummary | None:
        """The note of a document as the index knows it; None if it was never saved."""
        return self.vault.index.notes.summary(document.path)

    def is_saved(self, document: Document) -> bool:
        """Whether the file holds what the editor shows."""
        try:
            return self.text(document.path) == document.text
        except AmemError:
            return False


def note_path(root: Path, uri: str) -> str | None:
    """The vault-relative path of a note at a URI; None if that is no note in the vault."""
    if not uri.startswith("file:"):
        return None
    file = to_fs_path(uri)
    if not file or not file.lower().endswith(".md"):
        return None
    folder, name = os.path.split(file)
    # The editor may have come by another way, through a link.
    for here, top in ((folder, str(root)), (os.path.realpath(folder), os.path.realpath(root))):
        inside = os.path.relpath(os.path.join(here, name), top).replace(os.sep, "/")  # noqa: PTH118
        if not inside.startswith("../") and not os.path.isabs(inside):  # noqa: PTH117
            hidden = any(part.startswith(".") for part in inside.split("/"))
            return None if hidden else inside
    return None


def note_uri(root: Path, path: str) -> str:
    return from_fs_path(str(root / path)) or ""


def first_lines(body: str) -> str:
    text = body.strip()
    if len(text) <= _FIRST_LINES:
        return text
    cut = text[:_FIRST_LINES]
    line = cut.rfind("\n")
    return (cut[:line] if line > _FIRST_LINES // 2 else cut).rstrip() + "\n…"
