"""Relation and strength behind the links of a note's properties, shown but not in the file."""

from __future__ import annotations

from lsprotocol import types as lsp

from amem_cli.lsp.editor import Editor
from amem_cli.markdown.outline import all_links


def inlay_hints(editor: Editor, params: lsp.InlayHintParams) -> list[lsp.InlayHint]:
    """What the journal knows of the links in the properties that are in sight."""
    document = editor.document(params.text_document.uri)
    note = editor.note(document) if document is not None and editor.shows_hints else None
    if document is None or note is None:
        return []
    records = editor.vault.index.link_history.records(note.path)
    by_text = {record.text: record for record in records.values()}
    start, end = document.at(params.range.start), document.at(params.range.end)
    found = []
    for link in all_links(document.text[: document.body], document.body):
        record = by_text.get(document.text[link.start : link.end])
        if record is None or not start <= link.start <= end:
            continue
        strength = "" if record.by == "person" else f" {record.strength:.2f}"
        # Behind the quotes that stand around a link in YAML.
        place = document.positions.line_end(document.positions.position(link.end).line)
        found.append(
            lsp.InlayHint(
                position=document.positions.position(place),
                label=f"{record.relation}{strength}",
                padding_left=True,
                tooltip=record.reason or None,
            )
        )
    return found
