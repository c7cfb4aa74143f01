"""What is wrong with a note, shown in the editor while it is written."""

from __future__ import annotations

from lsprotocol import types as lsp

from amem_cli.doctor.one_note import NoteChecks, PlacedFinding
from amem_cli.lsp.editor import Document, Editor

SOURCE = "amem"


def findings(editor: Editor, document: Document) -> list[PlacedFinding]:
    """What is wrong with a document, as it is in the editor."""
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
        source=SOURCE,
        tags=[lsp.DiagnosticTag.Deprecated] if found.outdated else None,
    )
