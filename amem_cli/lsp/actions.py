"""What is wrong with a note, and code actions: fixes, suggested links, a note from a selection."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from lsprotocol import types as lsp

from amem_cli.doctor.one_note import NoteChecks, PlacedFinding, similar_notes
from amem_cli.editing.add import NewNote
from amem_cli.editing.edit import link, unlink
from amem_cli.errors import NotFoundError, UsageError
from amem_cli.graph.graph import shortened
from amem_cli.index.records import NoteSummary
from amem_cli.lsp.editor import (
    ACCEPT,
    EXTRACT,
    EXTRACT_KIND,
    FIX,
    FIX_KIND,
    LINK_KIND,
    NEVER,
    ORGANISE,
    SOURCE_KIND,
    Document,
    Editor,
)
from amem_cli.lsp.rename import document_edit
from amem_cli.markdown.links import format_link
from amem_cli.notes.names import shortest_target
from amem_cli.notes.note import file_title
from amem_cli.search.suggestions import suggestions

_LINKS_OFFERED = 5
_REASON_CHARACTERS = 80


def findings(editor: Editor, document: Document) -> list[PlacedFinding]:
    checks = NoteChecks(editor.vault.ports)
    found = checks.findings(document.path, document.text)
    return [*found, *checks.outdated(document.path, document.text)]


def diagnostics(editor: Editor, uri: str) -> lsp.PublishDiagnosticsParams | None:
    """The diagnostics of a document; None if it is no note of the vault."""
    document = editor.document(uri)
    if document is None:
        return None
    shown = [diagnostic(document, found) for found in findings(editor, document)]
    return lsp.PublishDiagnosticsParams(uri, shown, document.version)


def diagnostic(document: Document, found: PlacedFinding) -> lsp.Diagnostic:
    """A finding as editors show it; an outdated link is struck through."""
    finding = found.finding
    is_notice = finding.severity == "notice"
    return lsp.Diagnostic(
        range=document.positions.range(found.start, found.end),
        message=f"{finding.message}\n{finding.hint}".strip(),
        severity=lsp.DiagnosticSeverity.Information
        if is_notice
        else lsp.DiagnosticSeverity.Warning,
        code=finding.check,
        source="amem",
        tags=[lsp.DiagnosticTag.Deprecated] if found.outdated else None,
    )


def code_actions(
    editor: Editor, document: Document, params: lsp.CodeActionParams
) -> list[lsp.CodeAction]:
    """What amem can do about a stretch of a note, or for the note."""
    start, end = document.at(params.range.start), document.at(params.range.end)
    wanted = params.context.only or []

    def is_wanted(kind: str) -> bool:
        return not wanted or any(f"{kind}.".startswith(f"{_value(each)}.") for each in wanted)

    found: list[lsp.CodeAction] = []
    if is_wanted(FIX_KIND):
        found += _fixes(editor, document, start, end)
    if is_wanted(LINK_KIND):
        found += _suggested(editor, document)
    if is_wanted(EXTRACT_KIND) and document.text[start:end].strip():
        title = "Move the selection to a new note, linked both ways"
        where = [document.uri, document.version, start, end]
        found.append(_action(title, EXTRACT_KIND, EXTRACT, where))
    if is_wanted(SOURCE_KIND) and editor.note(document) is not None:
        title = "Organise this note now: keywords, tags and links by amem"
        found.append(_action(title, SOURCE_KIND, ORGANISE, [document.uri]))
    return found


def _value(kind: Any) -> str:
    return str(getattr(kind, "value", kind))


def _action(title: str, kind: str, command: str, arguments: list[Any]) -> lsp.CodeAction:
    run = lsp.Command(title=title, command=command, arguments=arguments)
    return lsp.CodeAction(title=title, kind=kind, command=run)


def _fixes(editor: Editor, document: Document, start: int, end: int) -> Iterator[lsp.CodeAction]:
    for found in findings(editor, document):
        if found.end < start or found.start > end:
            continue
        shown = [diagnostic(document, found)]
        replacements = [*found.replacements]
        if found.missing:
            replacements += similar_notes(editor.vault.ports, found)
        for each in replacements:
            edit = lsp.TextEdit(document.positions.range(each.start, each.end), each.text)
            yield lsp.CodeAction(
                title=f"Link to [[{each.text}]]",
                kind=FIX_KIND,
                diagnostics=shown,
                edit=lsp.WorkspaceEdit(document_changes=[document_edit(document, [edit])]),
            )
        if found.finding.fix is not None and not found.finding.asks:
            title = f"Fix: {found.finding.message}"
            action = _action(title, FIX_KIND, FIX, [document.uri, found.finding.message])
            action.diagnostics = shown
            yield action


def _suggested(editor: Editor, document: Document) -> Iterator[lsp.CodeAction]:
    note = editor.note(document)
    if note is None:
        return
    for each in suggestions(editor.vault.index, note.path)[:_LINKS_OFFERED]:
        reason = shortened(each.reason, _REASON_CHARACTERS)
        about = (
            f"“{each.other(note.path).title}” ({each.relation}{f': {reason}' if reason else ''})"
        )
        ends = [each.source.path, each.target.path]
        yield _action(f"Link to {about}", LINK_KIND, ACCEPT, ends)
        yield _action(f"Never link to {about}", LINK_KIND, NEVER, ends)


def accept_link(editor: Editor, source: str, target: str) -> None:
    """Make a suggested link the person's."""
    link(editor.vault.ports, *_ends(editor, source, target, holder=source))
    editor.upkeep.soon(at_once=True)


def never_link(editor: Editor, source: str, target: str) -> None:
    """Reject a suggested link; amem does not suggest it again."""
    unlink(editor.vault.ports, *_ends(editor, source, target))
    editor.upkeep.soon(at_once=True)


def _ends(editor: Editor, *paths: str, holder: str = "") -> list[NoteSummary]:
    """The notes of a link; those without an id get one, and the holder gets the link."""
    notes = []
    for path in paths:
        note = editor.vault.index.notes.summary(path)
        if note is None:
            hint = "Look at the links again."
            raise NotFoundError(f"there is no note {path} any more", hint=hint)
        opened = editor.open_documents.get(path)
        is_written = path == holder or note.id is None
        if is_written and opened is not None:
            _require_saved(editor, opened)
        notes.append(note)
    return notes


def _require_saved(editor: Editor, document: Document) -> None:
    if not editor.is_saved(document):
        hint = "Save the note first: amem writes its file, which the editor would overwrite."
        raise UsageError(f"{document.path} is not saved", hint=hint)


def organise(editor: Editor, uri: str) -> None:
    """Describe and link a note now."""
    document = _document(editor, uri)
    _require_saved(editor, document)
    editor.vault.synchronise()
    outcome = editor.vault.process_note(document.path, new_text=False)
    links = f"{len(outcome.links)} links, {len(outcome.suggested)} suggested"
    editor.server.tell(". ".join([f"{document.path}: {links}", *outcome.problems]))
    editor.upkeep.soon(at_once=True)


def _document(editor: Editor, uri: str) -> Document:
    document = editor.document(uri)
    if document is None:
        raise UsageError("this is no note of the vault", hint="Open a note of the vault.")
    return document


def extract(editor: Editor, uri: str, version: int | None, start: int, end: int) -> None:
    """Move a stretch of a note to a new one that links back; a link to it takes its place."""
    document = _document(editor, uri)
    if document.version != version:
        raise UsageError("the note has changed meanwhile", hint="Select the text again.")
    selected = document.text[start:end]
    kept = selected.strip()
    if not kept:
        raise UsageError("nothing is selected", hint="Select the text of the new note.")
    begin = start + selected.index(kept)
    names = editor.vault.index.names
    is_known = editor.note(document) is not None
    back = shortest_target(document.path, names) if is_known else file_title(document.path)
    new = NewNote(kept, links=[format_link(back)])
    added = editor.vault.add(new, wait=False)
    path = added.outcome.path
    link = format_link(shortest_target(path, names))
    edit = lsp.TextEdit(document.positions.range(begin, begin + len(kept)), link)
    change = lsp.WorkspaceEdit(document_changes=[document_edit(document, [edit])])
    if not editor.server.apply(change, "Move the selection to a new note"):
        editor.vault.remove(editor.vault.note(path))
        raise UsageError("the editor did not make the change", hint=f"{path} is in the trash.")
    editor.upkeep.soon(at_once=True)


def fix(editor: Editor, uri: str, message: str) -> None:
    """Put one finding right that amem can repair in the file."""
    document = _document(editor, uri)
    _require_saved(editor, document)
    found = [each.finding for each in findings(editor, document)]
    repair = next((each.fix for each in found if each.fix and each.message == message), None)
    if repair is None:
        raise UsageError("the note has changed meanwhile", hint="Look at it again.")
    editor.server.tell(repair())
    editor.upkeep.soon(at_once=True)
