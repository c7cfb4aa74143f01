"""What an editor shows of notes and their links: hover, places, references, outline, search."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types as lsp

from amem_cli.lsp.editor import Document, Editor, first_lines
from amem_cli.markdown.links import WikiLink, is_attachment, target_span
from amem_cli.markdown.outline import block_place, heading_named, headings
from amem_cli.notes.note_links import all_links, link_at

if TYPE_CHECKING:
    from amem_cli.search.read import NoteView

_LINKS_SHOWN = 6
_SYMBOLS = 50


def hover(editor: Editor, document: Document, params: lsp.HoverParams) -> lsp.Hover | None:
    """The note behind the link at a position."""
    link, path = _link(editor, document, params.position)
    note = editor.vault.index.notes.summary(path) if path is not None else None
    if link is None or not link.target or note is None:
        return None
    card = _card(editor.vault.show(note, counts=False), document.path)
    contents = lsp.MarkupContent(lsp.MarkupKind.Markdown, card)
    return lsp.Hover(contents, document.positions.range(link.start, link.end))


def _card(view: NoteView, source: str) -> str:
    """What to show of a note at a link to it from the note at `source`."""
    note = view.summary
    # The link where it stands before the one of the other note.
    links = sorted(view.links, key=lambda link: link.outgoing)
    here = next((link.record for link in links if link.path == source and link.record), None)
    parts = [f"**{_plain(note.title)}** · {note.made[:10]} · {note.path}"]
    parts += [
        f"⚠ {kind} by **{_plain(each.title)}** since {each.made[:10]}"
        for kind, each in view.supersession.words
    ]
    if note.context:
        parts.append(f"*{_plain(note.context)}*")
    if here is not None:
        why = f": {_plain(here.reason)}" if here.reason else ""
        parts.append(f"Linked here as *{here.relation}*{why}")
    if beginning := first_lines(view.note.body):
        parts += ["---", beginning]
    rows = [
        f"- {'→' if each.outgoing else '←'} {_plain(each.title)} ({each.record.relation})"
        + (f": {_plain(each.record.reason)}" if each.record.reason else "")
        for each in view.links
        if each.record is not None
    ]
    if rows:
        parts += ["---", "\n".join(rows[:_LINKS_SHOWN])]
    return "\n\n".join(parts)


def _plain(text: str) -> str:
    """A text from a note as one line that markdown does not read as marks."""
    return "".join(f"\\{each}" if each in "\\`*_[]<>" else each for each in " ".join(text.split()))


def _link(
    editor: Editor, document: Document, position: lsp.Position
) -> tuple[WikiLink | None, str | None]:
    """The link at a position, and the path of its note."""
    link = link_at(document.text, document.at(position), document.body)
    return link, None if link is None else editor.target(link, document.path)


def definition(
    editor: Editor, document: Document, params: lsp.DefinitionParams
) -> lsp.Location | None:
    """Where the link at a position leads: a note, or a heading or block in it."""
    link, path = _link(editor, document, params.position)
    if link is None:
        return None
    if path is None:
        found = link.target.lstrip("/")
        if not is_attachment(link.target) or not editor.vault.vault.exists(found):
            return None
        return lsp.Location(editor.uri(found), lsp.Range(lsp.Position(0, 0), lsp.Position(0, 0)))
    target = editor.document_of(path)
    return None if target is None else lsp.Location(target.uri, _place_in(target, link.fragment))


def _place_in(document: Document, fragment: str) -> lsp.Range:
    place = None
    if fragment.startswith("^"):
        place = block_place(document.text, fragment[1:])
    elif fragment:
        heading = heading_named(headings(document.text, document.body), fragment)
        place = heading.start if heading else None
    return document.positions.range(place or 0, place or 0)


def references(
    editor: Editor, document: Document, params: lsp.ReferenceParams
) -> list[lsp.Location]:
    """Links of other notes to the note of the link at a position, or to the note itself."""
    link, path = _link(editor, document, params.position)
    if link is not None and path is None:
        return []
    wanted = path or document.path
    linking = {source for source, _ in editor.vault.index.links.incoming(wanted)}
    found: list[lsp.Location] = []
    for path in sorted(linking | ({*editor.open_documents} - {wanted})):
        source = editor.document_of(path)
        if source is None:
            continue
        for each in all_links(source.text, source.body):
            if each.target and editor.target(each, path) == wanted:
                where = source.positions.range(each.start, each.end)
                found.append(lsp.Location(source.uri, where))
    return found


def document_links(
    editor: Editor, document: Document, params: lsp.DocumentLinkParams
) -> list[lsp.DocumentLink]:
    found = []
    for link in all_links(document.text, document.body):
        path = editor.target(link, document.path) if link.target else None
        if path is None:
            continue
        start, end = target_span(document.text, link)
        found.append(
            lsp.DocumentLink(
                document.positions.range(start, end), target=editor.uri(path), tooltip=path
            )
        )
    return found


def document_symbols(
    editor: Editor, document: Document, params: lsp.DocumentSymbolParams
) -> list[lsp.DocumentSymbol]:
    """The outline of a note's headings."""
    top: list[lsp.DocumentSymbol] = []
    above: list[tuple[int, lsp.DocumentSymbol]] = []
    for heading in headings(document.text, document.body):
        symbol = lsp.DocumentSymbol(
            # The protocol takes no empty name.
            name=heading.text or "#" * heading.level,
            kind=lsp.SymbolKind.String,
            range=document.positions.range(heading.start, heading.section_end),
            selection_range=document.positions.range(heading.start, heading.end),
            children=[],
        )
        while above and above[-1][0] >= heading.level:
            above.pop()
        siblings = above[-1][1].children if above else top
        assert isinstance(siblings, list)
        siblings.append(symbol)
        above.append((heading.level, symbol))
    return top


def workspace_symbols(
    editor: Editor, params: lsp.WorkspaceSymbolParams
) -> list[lsp.SymbolInformation]:
    """Notes for a query, by meaning and by words."""
    if not params.query.strip():
        return []
    from amem_cli.search.search import search

    encoder = editor.upkeep.encoder
    found = search(
        editor.vault.index,
        params.query,
        encoder=encoder,
        mode="keyword" if encoder is None else "hybrid",
        limit=_SYMBOLS,
        neighbors=False,
    )
    start = lsp.Range(lsp.Position(0, 0), lsp.Position(0, 0))
    return [
        lsp.SymbolInformation(
            name=hit.note.title,
            kind=lsp.SymbolKind.File,
            location=lsp.Location(editor.uri(hit.note.path), start),
            container_name=hit.note.context or hit.note.path,
        )
        for hit in found
    ]
