"""Completion of links, headings and tags."""

from __future__ import annotations

from lsprotocol import types as lsp

from amem_cli.lsp.editor import Document, Editor, first_lines
from amem_cli.markdown.links import format_link
from amem_cli.markdown.outline import TypedLink, TypedTag, headings, typed_link, typed_tag
from amem_cli.notes.names import resolve
from amem_cli.notes.note import body_place
from amem_cli.search.completion import NoteName

_KINDS = {
    "title": lsp.CompletionItemKind.File,
    "alias": lsp.CompletionItemKind.Reference,
    "meaning": lsp.CompletionItemKind.Reference,
}


def complete(
    editor: Editor, document: Document, params: lsp.CompletionParams
) -> lsp.CompletionList | None:
    """What fits at the cursor: notes or headings in a link, tags behind a `#`."""
    place = document.at(params.position)
    link = typed_link(document.text, place, document.body)
    if link is not None and link.fragment is None:
        return _notes(editor, document, link)
    if link is not None:
        return _headings(editor, document, link)
    tag = typed_tag(document.text, place, document.body)
    return None if tag is None else _tags(editor, document, tag)


def _notes(editor: Editor, document: Document, typed: TypedLink) -> lsp.CompletionList:
    names = editor.upkeep.links(document.text, typed, document.path)
    width = len(str(len(names)))
    items = [
        _note_item(document, typed, name, f"{number:0{width}}") for number, name in enumerate(names)
    ]
    # With the next key other notes may come nearest.
    return lsp.CompletionList(is_incomplete=True, items=items)


def _note_item(
    document: Document, typed: TypedLink, name: NoteName, order: str
) -> lsp.CompletionItem:
    # An alias or a title that is not the file's name is what a reader is to see.
    written = format_link(name.target, "" if name.kind == "meaning" else name.name)[2:-2]
    folder = name.path.rpartition("/")[0]
    details = [f"alias of {name.target}"] if name.kind == "alias" else []
    details += ["by meaning"] if name.kind == "meaning" else []
    details += [f"newer: “{name.newer}”"] if name.newer else []
    return lsp.CompletionItem(
        label=name.name,
        label_details=lsp.CompletionItemLabelDetails(
            detail=f" {', '.join(details)}" if details else None, description=folder or None
        ),
        detail=", ".join([*details, name.path]),
        kind=_KINDS[name.kind],
        sort_text=order,
        filter_text=_filter_text(name.name, typed.target),
        text_edit=lsp.TextEdit(
            range=document.positions.range(typed.start, typed.end),
            new_text=written if typed.closed else f"{written}]]",
        ),
        data={"path": name.path},
    )


def _filter_text(label: str, typed: str) -> str | None:
    """What an editor, which leaves out what does not hold the typed text, is to compare with it: a
    note that was found by its meaning or without its accents does not hold it."""
    return None if typed.strip().casefold() in label.casefold() else typed


def _headings(editor: Editor, document: Document, typed: TypedLink) -> lsp.CompletionList:
    path = document.path
    if typed.target.strip():
        found = resolve(typed.target, document.path, editor.vault.index.names)
        if found is None:
            return lsp.CompletionList(is_incomplete=False, items=[])
        path = found
    own = editor.document_of(path)
    outline = [] if own is None else headings(own.text, own.body)
    start = typed.start + len(typed.target) + 1
    items = [
        lsp.CompletionItem(
            label=heading.text,
            detail=f"{'#' * heading.level} {path}",
            kind=lsp.CompletionItemKind.Reference,
            sort_text=f"{number:05}",
            text_edit=lsp.TextEdit(
                range=document.positions.range(start, typed.end),
                new_text=_fragment(heading.written) + ("" if typed.closed else "]]"),
            ),
            data={"path": path},
        )
        for number, heading in enumerate(outline)
    ]
    return lsp.CompletionList(is_incomplete=False, items=items)


def _fragment(heading: str) -> str:
    """A heading as a link names it: what would end the link is left out, as Obsidian does."""
    return " ".join("".join(" " if each in "#|^:%[]`*" else each for each in heading).split())


def _tags(editor: Editor, document: Document, typed: TypedTag) -> lsp.CompletionList:
    found = editor.upkeep.tags(typed.text)
    items = [
        lsp.CompletionItem(
            label=tag,
            detail=f"{count} {'note' if count == 1 else 'notes'}",
            kind=lsp.CompletionItemKind.Keyword,
            sort_text=f"{number:05}",
            filter_text=_filter_text(tag, typed.text),
            text_edit=lsp.TextEdit(
                range=document.positions.range(typed.start, typed.end), new_text=tag
            ),
        )
        for number, (tag, count) in enumerate(found)
    ]
    return lsp.CompletionList(is_incomplete=True, items=items)


def resolve_item(editor: Editor, item: lsp.CompletionItem) -> lsp.CompletionItem:
    """The item with what its note says: the context and the first lines."""
    path = item.data.get("path") if isinstance(item.data, dict) else None
    note = editor.vault.index.notes.summary(path) if isinstance(path, str) else None
    if note is not None:
        text = editor.text(note.path)
        beginning = first_lines(text[body_place(text) :])
        parts = [f"*{note.context}*" if note.context else "", beginning]
        value = "\n\n".join(part for part in parts if part)
        item.documentation = lsp.MarkupContent(lsp.MarkupKind.Markdown, value)
    return item
