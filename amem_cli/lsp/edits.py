"""Changes of notes as an editor takes them."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import SequenceMatcher

from lsprotocol import types as lsp

from amem_cli.lsp.editor import Document

_LONG = 400


def text_edits(document: Document, after: str) -> list[lsp.TextEdit]:
    """The edits that make a document's text another one; lines that stay are not touched."""
    before = document.text
    if before == after:
        return []
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    starts = _starts(old)
    edits: list[lsp.TextEdit] = []
    matcher = SequenceMatcher(None, old, new, autojunk=len(old) > _LONG)
    for kind, first, last, new_first, new_last in matcher.get_opcodes():
        if kind != "equal":
            where = document.positions.range(starts[first], starts[last])
            edits.append(lsp.TextEdit(where, "".join(new[new_first:new_last])))
    return edits


def _starts(lines: Iterable[str]) -> list[int]:
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    return starts


def document_edit(document: Document, edits: Iterable[lsp.TextEdit]) -> lsp.TextDocumentEdit:
    """Edits of one document, which the editor refuses if it changed meanwhile."""
    where = lsp.OptionalVersionedTextDocumentIdentifier(uri=document.uri, version=document.version)
    return lsp.TextDocumentEdit(where, list(edits))
