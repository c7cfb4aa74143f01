"""A text editor at work: pygls' own client on a server in a process of its own."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Union

from lsprotocol import types as lsp
from pygls.lsp.client import LanguageClient
from pygls.protocol import default_converter

from tests.conftest import Program

# Only a test that fails waits so long.
PATIENCE = 120.0
CAPABILITIES = lsp.ClientCapabilities(
    workspace=lsp.WorkspaceClientCapabilities(
        apply_edit=True,
        workspace_edit=lsp.WorkspaceEditClientCapabilities(
            document_changes=True, resource_operations=[lsp.ResourceOperationKind.Rename]
        ),
    )
)
WITHOUT_RENAME = lsp.ClientCapabilities(workspace=lsp.WorkspaceClientCapabilities(apply_edit=True))


def _converter() -> Any:
    """pygls' own, which takes every code action with a command for a command."""
    made: Any = default_converter
    converter = made()

    def structure(found: dict[str, Any], kind: object) -> Any:
        is_command = isinstance(found.get("command"), str)
        return converter.structure(found, lsp.Command if is_command else lsp.CodeAction)

    # A union that is written with a bar is of another class.
    converter.register_structure_hook(Union[lsp.Command, lsp.CodeAction], structure)  # noqa: UP007
    return converter


class TextEditor:
    """An editor with its open notes, called from a test without `async`.

    Attributes:
        texts: of the open notes, by path, as the person sees them; saved by `save` alone.
        told: what the server showed to the person.
        obeys: it makes the changes that the server asks for.
        asked: called with each such change, before it is made.
    """

    def __init__(
        self,
        amem: Program,
        vault: Path,
        capabilities: lsp.ClientCapabilities = CAPABILITIES,
        **variables: str,
    ) -> None:
        self.vault = vault
        self.texts: dict[str, str] = {}
        self.told: list[str] = []
        self.obeys = True
        self.asked: Callable[[], None] = lambda: None
        self._versions: dict[str, int] = {}
        self._diagnostics: dict[str, list[lsp.Diagnostic]] = {}
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._thread.start()
        self.client: Any = LanguageClient("test", "1", converter_factory=_converter)
        self._listen()
        line = [sys.executable, "-m", "amem_cli", "--vault", str(vault), "lsp"]
        environment = {**os.environ, **amem.environment, **variables}
        self._wait(self.client.start_io(*line, env=environment, cwd=amem.folder))
        self.greeting: lsp.InitializeResult = self.ask(
            "initialize",
            lsp.InitializeParams(capabilities=capabilities, root_uri=vault.as_uri()),
        )
        self._call(lambda: self.client.initialized(lsp.InitializedParams()))

    @property
    def process(self) -> Any:
        """The server's process."""
        return self.client._server

    def _listen(self) -> None:
        def publish(params: lsp.PublishDiagnosticsParams) -> None:
            self._diagnostics[params.uri] = list(params.diagnostics)

        def show(params: lsp.ShowMessageParams | lsp.LogMessageParams) -> None:
            self.told.append(params.message)

        def apply(params: lsp.ApplyWorkspaceEditParams) -> lsp.ApplyWorkspaceEditResult:
            self.asked()
            if self.obeys:
                self.apply(params.edit)
            return lsp.ApplyWorkspaceEditResult(applied=self.obeys)

        for method, handle in (
            (lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS, publish),
            (lsp.WINDOW_SHOW_MESSAGE, show),
            (lsp.WINDOW_LOG_MESSAGE, lambda params: show(params)),
            (lsp.WORKSPACE_APPLY_EDIT, apply),
        ):
            self.client.feature(method)(handle)

    def _wait(self, asking: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(asking, self._loop).result(PATIENCE)

    def _call(self, tell: Callable[[], None]) -> None:
        async def call() -> None:
            tell()

        self._wait(call())

    def ask(self, method: str, params: Any) -> Any:
        """Send a request (a method of pygls' client, without `_async`); its result."""
        return self._wait(getattr(self.client, f"{method}_async")(params))

    def raw(self, data: bytes) -> None:
        """Write bytes to the server's input."""
        self._call(lambda: self.process.stdin.write(data))

    def uri(self, path: str) -> str:
        return (self.vault / path).as_uri()

    def identity(self, path: str) -> lsp.TextDocumentIdentifier:
        return lsp.TextDocumentIdentifier(self.uri(path))

    def open(self, path: str, text: str | None = None) -> None:
        """Open a note: its file, or a text that was not saved."""
        if text is None:
            text = (self.vault / path).read_bytes().decode("utf-8")
        self.texts[path], self._versions[path] = text, 1
        item = lsp.TextDocumentItem(self.uri(path), "markdown", 1, text)
        self._call(lambda: self.client.text_document_did_open(lsp.DidOpenTextDocumentParams(item)))

    def type(self, path: str, text: str) -> None:
        """Change the text of an open note, without saving it."""
        self.texts[path] = text
        self._versions[path] += 1
        identity = lsp.VersionedTextDocumentIdentifier(
            version=self._versions[path], uri=self.uri(path)
        )
        changes = [lsp.TextDocumentContentChangeWholeDocument(text)]
        params = lsp.DidChangeTextDocumentParams(identity, changes)
        self._call(lambda: self.client.text_document_did_change(params))

    def save(self, path: str) -> None:
        """Write an open note to its file."""
        (self.vault / path).write_bytes(self.texts[path].encode("utf-8"))
        params = lsp.DidSaveTextDocumentParams(self.identity(path))
        self._call(lambda: self.client.text_document_did_save(params))

    def close(self, path: str) -> None:
        """Close a note; what was not saved is gone."""
        del self.texts[path]
        params = lsp.DidCloseTextDocumentParams(self.identity(path))
        self._call(lambda: self.client.text_document_did_close(params))

    def begin(self, path: str, text: str | None = None) -> None:
        """Open a note, and wait until the server knows the vault."""
        self.open("begin.md", "[[nowhere]]")
        self.open(path, text)
        self.until_said("begin.md", "nowhere")
        self.close("begin.md")

    def place(self, path: str, before: str) -> lsp.Position:
        """The position behind some text of an open note."""
        text = self.texts[path]
        return position(text, text.index(before) + len(before))

    def at(self, path: str, before: str) -> dict[str, Any]:
        """Document and position, for the parameters of a request."""
        return {"text_document": self.identity(path), "position": self.place(path, before)}

    def complete(self, path: str, before: str) -> list[lsp.CompletionItem]:
        """What is offered behind some text."""
        found = self.ask("text_document_completion", lsp.CompletionParams(**self.at(path, before)))
        return [] if found is None else found.items

    def choose(self, path: str, item: lsp.CompletionItem) -> None:
        """Take what is offered."""
        assert isinstance(item.text_edit, lsp.TextEdit)
        self.type(path, edited(self.texts[path], [item.text_edit]))

    def hover(self, path: str, before: str) -> str:
        found = self.ask("text_document_hover", lsp.HoverParams(**self.at(path, before)))
        return "" if found is None else str(found.contents.value)

    def actions(self, path: str, before: str, selected: str = "") -> list[lsp.CodeAction]:
        """The code actions behind some text, or for the selection that follows it."""
        text = self.texts[path]
        start = text.index(before) + len(before)
        end = start + len(selected)
        assert text[start:end] == selected
        found: list[lsp.CodeAction] = self.ask(
            "text_document_code_action",
            lsp.CodeActionParams(
                self.identity(path),
                lsp.Range(position(text, start), position(text, end)),
                lsp.CodeActionContext([]),
            ),
        )
        return found

    def run(self, action: lsp.CodeAction) -> None:
        """Do what an action says."""
        if action.edit is not None:
            self.apply(action.edit)
        if action.command is not None:
            command = lsp.ExecuteCommandParams(action.command.command, action.command.arguments)
            self.ask("workspace_execute_command", command)

    def rename(self, path: str, before: str, name: str) -> Any:
        params = lsp.RenameParams(**self.at(path, before), new_name=name)
        return self.ask("text_document_rename", params)

    def diagnostics(self, path: str) -> list[lsp.Diagnostic]:
        """What the server said last of a note."""
        return self._diagnostics.get(self.uri(path), [])

    def until(self, holds: Callable[[], object]) -> None:
        """Wait until something holds."""
        end = time.monotonic() + PATIENCE
        while not holds():
            assert time.monotonic() < end, (self._diagnostics, self.told)
            time.sleep(0.02)

    def until_said(self, path: str, text: str) -> lsp.Diagnostic:
        """Wait for a diagnostic that holds a text."""
        self.until(lambda: [each for each in self.diagnostics(path) if text in each.message])
        return next(each for each in self.diagnostics(path) if text in each.message)

    def apply(self, edit: lsp.WorkspaceEdit) -> None:
        """Make a change as an editor does: in what is open, saved later; files are renamed."""
        changes: list[Any] = list(edit.document_changes or [])
        for uri, edits in (edit.changes or {}).items():
            identity = lsp.OptionalVersionedTextDocumentIdentifier(uri=uri)
            changes.append(lsp.TextDocumentEdit(identity, list(edits)))
        for change in changes:
            if isinstance(change, lsp.RenameFile):
                old, new = self._path(change.old_uri), self._path(change.new_uri)
                (self.vault / old).rename(self.vault / new)
                if old in self.texts:
                    text = self.texts[old]
                    self._loop.call_soon_threadsafe(self._reopen, old, new, text)
                    self.texts[new] = self.texts.pop(old)
                    self._versions[new] = 1
                continue
            path = self._path(change.text_document.uri)
            expected = change.text_document.version
            assert expected in (None, self._versions[path])
            self.texts[path] = edited(self.texts[path], change.edits)
            self._versions[path] += 1
            self._loop.call_soon_threadsafe(self._tell_changed, path, self._versions[path])

    def _tell_changed(self, path: str, version: int) -> None:
        identity = lsp.VersionedTextDocumentIdentifier(version=version, uri=self.uri(path))
        if path in self.texts:
            changes = [lsp.TextDocumentContentChangeWholeDocument(self.texts[path])]
            params = lsp.DidChangeTextDocumentParams(identity, changes)
            self.client.text_document_did_change(params)

    def _reopen(self, old: str, new: str, text: str) -> None:
        closing = lsp.DidCloseTextDocumentParams(self.identity(old))
        self.client.text_document_did_close(closing)
        item = lsp.TextDocumentItem(self.uri(new), "markdown", 1, text)
        self.client.text_document_did_open(lsp.DidOpenTextDocumentParams(item))

    def _path(self, uri: str) -> str:
        top = self.vault.as_uri()
        assert uri.startswith(f"{top}/")
        from urllib.parse import unquote

        return unquote(uri[len(top) + 1 :])

    def end(self) -> int:
        """End as editors do; the server's exit code."""
        if self._loop.is_closed():
            return int(self.process.returncode)
        try:
            if self.process.returncode is None:
                self.ask("shutdown", None)
                self._call(lambda: self.client.exit(None))
                self._wait(self.process.wait())
            self._wait(self.client.stop())
        finally:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(PATIENCE)
            self._loop.close()
        return int(self.process.returncode)


@contextmanager
def editing(
    amem: Program,
    vault: Path,
    capabilities: lsp.ClientCapabilities = CAPABILITIES,
    **variables: str,
) -> Iterator[TextEditor]:
    """An editor on the vault, which is closed at the end."""
    editor = TextEditor(amem, vault, capabilities, **variables)
    try:
        yield editor
    finally:
        editor.end()


def position(text: str, offset: int) -> lsp.Position:
    """The position of an offset, in UTF-16, by Python's own codec."""
    lines = text[:offset].split("\n")
    return lsp.Position(len(lines) - 1, len(lines[-1].encode("utf-16-le")) // 2)


def edited(text: str, edits: list[Any]) -> str:
    """A text with edits whose positions are in UTF-16."""
    lines = text.split("\n")

    def offset(place: lsp.Position) -> int:
        before = sum(len(line) + 1 for line in lines[: place.line])
        unit = lines[place.line].encode("utf-16-le")[: 2 * place.character]
        return before + len(unit.decode("utf-16-le"))

    for edit in sorted(edits, key=lambda each: offset(each.range.start), reverse=True):
        text = text[: offset(edit.range.start)] + edit.new_text + text[offset(edit.range.end) :]
    return text
