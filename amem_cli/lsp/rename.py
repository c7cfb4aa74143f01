"""Renames a note from an editor: what is open there the editor changes, all else amem."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import SequenceMatcher
from functools import partial
from itertools import accumulate

from lsprotocol import types as lsp

from amem_cli.editing.move import OpenInEditor
from amem_cli.errors import UsageError
from amem_cli.index.records import NoteSummary
from amem_cli.lsp.editor import Document, Editor, note_uri
from amem_cli.markdown.links import target_span
from amem_cli.markdown.outline import headings
from amem_cli.notes.note import file_title
from amem_cli.notes.note_links import link_at

_LONG = 400


def text_edits(document: Document, after: str) -> list[lsp.TextEdit]:
    """The edits that make a document's text another one; lines that stay are not touched."""
    before = document.text
    if before == after:
        return []
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    starts = [*accumulate(map(len, old), initial=0)]
    edits: list[lsp.TextEdit] = []
    matcher = SequenceMatcher(None, old, new, autojunk=len(old) > _LONG)
    for kind, first, last, new_first, new_last in matcher.get_opcodes():
        if kind != "equal":
            where = document.positions.range(starts[first], starts[last])
            edits.append(lsp.TextEdit(where, "".join(new[new_first:new_last])))
    return edits


def document_edit(document: Document, edits: Iterable[lsp.TextEdit]) -> lsp.TextDocumentEdit:
    """Edits of one document, which the editor refuses if it changed meanwhile."""
    where = lsp.OptionalVersionedTextDocumentIdentifier(uri=document.uri, version=document.version)
    return lsp.TextDocumentEdit(where, list(edits))


def prepare(
    editor: Editor, document: Document, params: lsp.PrepareRenameParams
) -> lsp.PrepareRenamePlaceholder | None:
    """What would be renamed: the note of a link, or this note at its properties and its title."""
    found = _note_at(editor, document, params.position)
    if found is None:
        return None
    note, start, end = found
    return lsp.PrepareRenamePlaceholder(document.positions.range(start, end), file_title(note.path))


def _note_at(
    editor: Editor, document: Document, position: lsp.Position
) -> tuple[NoteSummary, int, int] | None:
    """The note to rename at a position, and the stretch of the text that names it."""
    place = document.at(position)
    link = link_at(document.text, place, document.body)
    if link is not None and link.target:
        path = editor.target(link, document.path)
        note = editor.vault.index.notes.summary(path) if path is not None else None
        return None if note is None else (note, *target_span(document.text, link))
    own = editor.note(document)
    outline = headings(document.text, document.body)
    is_title = bool(outline) and outline[0].start <= place <= outline[0].end
    if own is None or not (place < document.body or is_title or position.line == 0):
        return None
    start = document.positions.line_start(position.line)
    return own, start, document.positions.line_end(position.line)


def rename(editor: Editor, document: Document, params: lsp.RenameParams) -> lsp.WorkspaceEdit:
    """Rename the note at a position.

    The editor is asked to change what it has open, the note's own file among it; once it did, amem
    writes the links of all other notes, as one change that `amem undo` takes back.
    """
    found = _note_at(editor, document, params.position)
    if found is None:
        raise UsageError(
            "there is no note to rename here", hint="Go to a link, or to the note's title."
        )
    note = found[0]
    if note.path in editor.open_documents and not editor.server.can_rename:
        hint = "Close the note first, or use `amem mv`."
        raise UsageError("this editor cannot rename files", hint=hint)

    texts = {path: each.text for path, each in editor.open_documents.items()}
    opened = OpenInEditor(texts, partial(_apply, editor))
    moved = editor.vault.move(note, params.new_name, editor=opened)
    for line in moved.left:
        editor.server.tell(line)
    editor.upkeep.soon(at_once=True)
    # The editor was asked before; there is nothing left for it to do.
    return lsp.WorkspaceEdit(document_changes=[])


def _apply(editor: Editor, texts: Mapping[str, str], names: tuple[str, str] | None) -> bool:
    documents = editor.open_documents
    changes: list[lsp.TextDocumentEdit | lsp.RenameFile] = [
        document_edit(documents[path], text_edits(documents[path], text))
        for path, text in texts.items()
    ]
    if names is not None:
        old, new = names
        changes.append(lsp.RenameFile(editor.uri(old), note_uri(editor.vault.root, new)))
    label = f"Rename to {file_title(names[1])}" if names else "Rename a note"
    return editor.server.apply(lsp.WorkspaceEdit(document_changes=changes), label)
