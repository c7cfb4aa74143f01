"""The language server: pygls' protocol on one side, a workspace in worker threads on the other."""

from __future__ import annotations

import asyncio
import functools
import os
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as NoAnswer
from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer
from pygls.protocol import JsonRPCNotification, LanguageServerProtocol

from amem_cli.errors import AmemError
from amem_cli.lsp.editor import ACCEPT, ACTION_KINDS, EXTRACT, FIX, NEVER, ORGANISE, Editor
from amem_cli.system.wire import Wire
from amem_cli.workspace.connection import Stopped

if TYPE_CHECKING:
    from pygls.workspace import TextDocument

    from amem_cli.lsp.upkeep import Upkeep
    from amem_cli.workspace.workspace import Workspace

THREADS = 4
# An editor may ask a person before it makes a change; other writers wait so long in a rename.
ANSWER_SECONDS = 60.0
# An editor is not kept waiting for a large folder longer than this.
FIRST_SECONDS = 0.25
# A note is checked once nothing was typed for so long.
QUIET_SECONDS = 0.3
# The protocol's code for a request that is right and cannot be done.
REQUEST_FAILED = lsp.LSPErrorCodes.RequestFailed.value

# Requests: what answers each, in a worker thread, and what the editor is told of it. Who asks about
# a document also gives that. A feature is loaded when it is first asked for, so that the first
# answer comes soon.
REQUESTS: dict[str, tuple[str, Any]] = {
    lsp.TEXT_DOCUMENT_COMPLETION: (
        "completion.complete",
        # `[` for `[[`; `#` begins a tag, or a heading in a link; `/` goes on in a nested tag.
        lsp.CompletionOptions(trigger_characters=["[", "#", "/"], resolve_provider=True),
    ),
    lsp.COMPLETION_ITEM_RESOLVE: ("completion.resolve_item", None),
    lsp.TEXT_DOCUMENT_HOVER: ("reading.hover", None),
    lsp.TEXT_DOCUMENT_DEFINITION: ("reading.definition", None),
    lsp.TEXT_DOCUMENT_REFERENCES: ("reading.references", None),
    lsp.TEXT_DOCUMENT_DOCUMENT_LINK: ("reading.document_links", lsp.DocumentLinkOptions()),
    lsp.TEXT_DOCUMENT_DOCUMENT_SYMBOL: ("reading.document_symbols", None),
    lsp.WORKSPACE_SYMBOL: ("reading.workspace_symbols", None),
    lsp.TEXT_DOCUMENT_CODE_ACTION: (
        "actions.code_actions",
        lsp.CodeActionOptions(code_action_kinds=[*ACTION_KINDS]),
    ),
    lsp.TEXT_DOCUMENT_PREPARE_RENAME: ("rename.prepare", None),
    lsp.TEXT_DOCUMENT_RENAME: ("rename.rename", lsp.RenameOptions(prepare_provider=True)),
}
# By the commands of code actions.
COMMANDS = {
    ACCEPT: "actions.accept_link",
    NEVER: "actions.never_link",
    ORGANISE: "actions.organise",
    EXTRACT: "actions.extract",
    FIX: "actions.fix",
}


@functools.cache
def _loaded(name: str) -> Callable[..., Any]:
    module, _, function = name.partition(".")
    found: Callable[..., Any] = getattr(import_module(f"amem_cli.lsp.{module}"), function)
    return found


def _answer(handler: str, editor: Editor, params: Any) -> Any:
    """The answer to a request; None about a document that is no note of the vault."""
    if not hasattr(params, "text_document"):
        return _loaded(handler)(editor, params)
    document = editor.document(params.text_document.uri)
    return None if document is None else _loaded(handler)(editor, document, params)


class _Protocol(LanguageServerProtocol):
    """pygls' protocol, which also answers requests whose parameters are none."""

    def structure_message(self, data: dict[str, Any]) -> Any:
        try:
            return super().structure_message(data)
        except JsonRpcException as error:
            if "method" not in data or "id" not in data:
                raise
            # Without an answer the editor would wait for it.
            self._send_response(data["id"], error=error.to_response_error())
            return JsonRPCNotification("$/refused", self.VERSION, None)


class EditorServer:
    def __init__(self, vault: Workspace) -> None:
        self._vault = vault
        self._threads = ThreadPoolExecutor(THREADS, "amem-lsp")
        self._loop: asyncio.AbstractEventLoop | None = None
        self._protocol = self._new_protocol()
        self._checks: dict[str, asyncio.Task[None]] = {}

    @functools.cached_property
    def _upkeep(self) -> Upkeep:
        # Loaded behind the greeting, for which the editor waits.
        from amem_cli.lsp.upkeep import Upkeep

        return Upkeep(self._vault, self._log, self._vault_changed)

    def serve(self, wire: Wire) -> None:
        """Serve the editor until it closes its end."""
        with os.fdopen(wire.source, "rb") as source, os.fdopen(wire.sink, "wb") as sink:
            self._protocol.start_io(source, sink)

    def end(self) -> None:
        """Let the work at hand end, and close the vault."""
        self._upkeep.end()
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._vault.close(2.0)

    def _new_protocol(self) -> LanguageServer:
        # The whole text with each change: notes are short, and no two programs have to agree on
        # what was counted.
        server = LanguageServer(
            "amem",
            version("amem-cli"),
            text_document_sync_kind=lsp.TextDocumentSyncKind.Full,
            max_workers=2,
            protocol_cls=_Protocol,
        )
        for method, (handler, options) in REQUESTS.items():
            server.feature(method, options)(self._answering(handler))
        for command, handler in COMMANDS.items():
            server.command(command)(self._running(handler))
        for method, handle in (
            (lsp.INITIALIZED, lambda given: self._initialized()),
            (lsp.TEXT_DOCUMENT_DID_OPEN, lambda given: self._check(given.text_document.uri, 0.0)),
            (
                lsp.TEXT_DOCUMENT_DID_CHANGE,
                lambda given: self._check(given.text_document.uri, QUIET_SECONDS),
            ),
            (lsp.TEXT_DOCUMENT_DID_CLOSE, lambda given: self._closed(given.text_document.uri)),
            (lsp.WORKSPACE_DID_CHANGE_WATCHED_FILES, lambda given: self._upkeep.soon(at_once=True)),
        ):
            # A function: pygls marks what it is given, and a method cannot be marked.
            server.feature(method)(handle)
        saves = lsp.SaveOptions(include_text=False)
        server.feature(lsp.TEXT_DOCUMENT_DID_SAVE, saves)(
            lambda given: self._upkeep.soon(at_once=True)
        )
        return server

    def _answering(self, handler: str) -> Callable[[Any], Any]:
        async def answer(params: Any) -> Any:
            editor = self._editor()
            return await self._done(lambda: _answer(handler, editor, params))

        return answer

    def _running(self, handler: str) -> Callable[..., Any]:
        # pygls gives itself to a parameter of this name.
        async def command(ls: LanguageServer, *arguments: object) -> None:
            editor = self._editor()
            await self._done(lambda: _loaded(handler)(editor, *arguments))

        return command

    async def _done(self, work: Callable[[], Any]) -> Any:
        self._upkeep.soon()
        loop = asyncio.get_running_loop()
        try:
            return await loop.run_in_executor(self._threads, self._result, work)
        except (AmemError, Stopped) as error:
            message = getattr(error, "message", "the server ends")
            hint = getattr(error, "hint", "")
            raise JsonRpcException(f"{message}. {hint}".strip(), REQUEST_FAILED) from None

    def _result(self, work: Callable[[], Any]) -> Any:
        # A moment, so that the first answers know the notes that are new.
        self._upkeep.has_begun.wait(FIRST_SECONDS)
        with self._vault.call(in_step=False):
            return work()

    def _editor(self) -> Editor:
        """The editor as it is now; called in the thread that takes its messages."""
        opened = {uri: (each.source, each.version) for uri, each in self._documents.items()}
        return Editor(self._vault, self._upkeep, self, opened)

    @property
    def encoding(self) -> str:
        """How the editor counts places in a line."""
        encoding = self._protocol.workspace.position_encoding
        return str(getattr(encoding, "value", encoding))

    @property
    def _documents(self) -> dict[str, TextDocument]:
        """What is open, by the editor's own addresses; pygls' keys are without their escapes."""
        return {each.uri: each for each in self._protocol.workspace.text_documents.values()}

    @property
    def can_rename(self) -> bool:
        """Whether the editor renames files as part of a change."""
        folder = self._protocol.client_capabilities.workspace
        edits = folder.workspace_edit if folder is not None else None
        return bool(
            edits is not None
            and edits.document_changes
            and lsp.ResourceOperationKind.Rename in (edits.resource_operations or ())
        )

    def _initialized(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._upkeep.start()

    def apply(self, edit: lsp.WorkspaceEdit, label: str) -> bool:
        """Have the editor make a change; called in a worker thread, which waits for the answer."""
        assert self._loop is not None
        params = lsp.ApplyWorkspaceEditParams(edit=edit, label=label)
        asking = self._protocol.workspace_apply_edit_async(params)
        try:
            done = asyncio.run_coroutine_threadsafe(asking, self._loop).result(ANSWER_SECONDS)
        except (JsonRpcException, NoAnswer):
            return False
        return bool(done.applied)

    def tell(self, text: str) -> None:
        """Show a line to the person; from any thread."""
        params = lsp.ShowMessageParams(type=lsp.MessageType.Info, message=text)
        self._in_loop(lambda: self._protocol.window_show_message(params))

    def _log(self, text: str) -> None:
        params = lsp.LogMessageParams(type=lsp.MessageType.Warning, message=text)
        self._in_loop(lambda: self._protocol.window_log_message(params))

    def _in_loop(self, send: Callable[[], object]) -> None:
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(send)

    def _closed(self, uri: str) -> None:
        if check := self._checks.pop(uri, None):
            check.cancel()
        self._protocol.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, []))

    def _vault_changed(self) -> None:
        """Other notes changed, on which what is wrong with the open ones may depend."""

        def check_all() -> None:
            for uri in self._documents:
                self._check(uri, 0.0)

        self._in_loop(check_all)

    def _check(self, uri: str, delay: float) -> None:
        """Check an open note once it is quiet; called in the thread of the protocol."""
        if check := self._checks.pop(uri, None):
            check.cancel()
        self._checks[uri] = asyncio.create_task(self._checked(uri, delay))

    async def _checked(self, uri: str, delay: float) -> None:
        await asyncio.sleep(delay)
        editor = self._editor()
        # Before the folder was read, every link to a new note would seem broken.
        if uri not in editor.opened or not self._upkeep.has_begun.is_set():
            return
        loop = asyncio.get_running_loop()
        try:
            found = await loop.run_in_executor(
                self._threads, self._result, lambda: _loaded("actions.diagnostics")(editor, uri)
            )
        except AmemError as error:
            self._log(f"{error.message}. {error.hint}".strip())
            return
        # What was typed meanwhile is checked by itself.
        document = self._documents.get(uri)
        if found is not None and document is not None and document.version == found.version:
            self._protocol.text_document_publish_diagnostics(found)


def run(vault: Workspace, wire: Wire) -> None:
    server = EditorServer(vault)
    try:
        server.serve(wire)
    finally:
        server.end()
        sys.stderr.flush()
