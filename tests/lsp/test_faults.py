"""A server that is sent nonsense, is killed, or has another beside it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types as lsp

from tests.conftest import Program
from tests.lsp.editors import editing
from tests.vaults import tree_hashes, write_note

NONSENSE: list[object] = [
    "{not json",
    [],
    "null",
    {"jsonrpc": "2.0"},
    {"jsonrpc": "1.0", "id": 7, "method": "initialize"},
    {"jsonrpc": "2.0", "id": 8, "method": "no/such"},
    {"jsonrpc": "2.0", "id": 9, "method": "textDocument/hover", "params": {"textDocument": 3}},
    {"jsonrpc": "2.0", "method": "textDocument/didChange", "params": {}},
    {"jsonrpc": "2.0", "id": 10, "method": "textDocument/completion", "params": None},
    {"jsonrpc": "2.0", "id": 99, "result": {}},
    {"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": 12345}},
]


def framed(message: object) -> bytes:
    body = message if isinstance(message, str) else json.dumps(message)
    return b"Content-Length: %d\r\n\r\n%s" % (len(body.encode()), body.encode())


def test_nonsense_does_not_end_it_and_changes_nothing(amem: Program, vault: Path) -> None:
    write_note(vault, "Walrus.md", "It dives.\n")
    with editing(amem, vault) as editor:
        editor.open("new.md", "[[Wal")
        editor.until(lambda: editor.complete("new.md", "[[Wal"))
        before = tree_hashes(vault)
        for message in NONSENSE:
            editor.raw(framed(message))
        editor.raw(b"Some-Header: x\r\n\r\n")
        assert editor.complete("new.md", "[[Wal")[0].label == "Walrus"

        far = lsp.Position(2**31 - 1, 2**31 - 1)
        for uri in ("file:///etc/passwd.md", "untitled:x", "file:///", f"{vault.as_uri()}/../x.md"):
            where: dict[str, Any] = {
                "text_document": lsp.TextDocumentIdentifier(uri),
                "position": far,
            }
            assert editor.ask("text_document_hover", lsp.HoverParams(**where)) is None
            assert editor.ask("text_document_completion", lsp.CompletionParams(**where)) is None
        where["text_document"] = editor.identity("new.md")
        assert editor.ask("text_document_hover", lsp.HoverParams(**where)) is None
        for command, arguments in (
            ("amem.acceptLink", ["x"]),
            ("amem.acceptLink", ["no.md", "Walrus.md"]),
            ("amem.fix", [editor.uri("new.md"), "nothing"]),
            ("amem.extract", [editor.uri("new.md"), 1, "a", None]),
            ("no.such", []),
        ):
            with pytest.raises(Exception, match=r"."):
                params = lsp.ExecuteCommandParams(command, arguments)
                editor.ask("workspace_execute_command", params)
        assert editor.complete("new.md", "[[Wal")[0].label == "Walrus"
        assert tree_hashes(vault) == before
        assert editor.end() == 0


def test_two_editors_at_once_see_what_the_other_saves(amem: Program, vault: Path) -> None:
    write_note(vault, "Walrus.md", "It dives.\n")
    with editing(amem, vault) as one, editing(amem, vault) as other:
        one.open("mine.md", "A note 😀 of one.\n")
        one.save("mine.md")
        other.open("new.md", "[[min")

        def labels() -> list[str]:
            return [each.label for each in other.complete("new.md", "[[min")]

        other.until(lambda: labels() == ["mine"])
        # Both add a note at once, and neither takes the other's name.
        for editor, text in ((one, "Seals sleep."), (other, "Seals sleep.")):
            editor.open("draft.md", text)
            (action,) = [
                each
                for each in editor.actions("draft.md", "", text)
                if each.kind == "refactor.extract"
            ]
            editor.run(action)
        assert len(list(vault.rglob("Seals sleep*.md"))) == 2
        assert one.texts["draft.md"] != other.texts["draft.md"]
    assert amem("index", "--check").code == 0


def answers(amem: Program, *messages: object) -> tuple[int, list[dict[str, Any]]]:
    """Exit code and all that a server says whose editor sends these, and is gone."""
    done = subprocess.run(
        [sys.executable, "-m", "amem_cli", "lsp"],
        cwd=amem.folder,
        env={**os.environ, **amem.environment},
        input=b"".join(map(framed, messages)),
        capture_output=True,
        timeout=100,
        check=False,
    )
    found, rest = [], done.stdout
    while rest:
        header, _, rest = rest.partition(b"\r\n\r\n")
        length = int(header.split(b"\r\n")[0].rpartition(b" ")[2])
        found.append(json.loads(rest[:length]))
        rest = rest[length:]
    return done.returncode, found


def test_it_ends_with_the_editor_and_prints_nothing_but_the_protocol(
    amem: Program, vault: Path
) -> None:
    greeting = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"capabilities": {}}}
    wrong = {"jsonrpc": "2.0", "id": 2, "method": "textDocument/hover", "params": {"position": 3}}
    code, (welcome, refusal) = answers(amem, greeting, wrong)
    assert code == 0
    assert welcome["result"]["serverInfo"]["name"] == "amem"
    # Without an answer to it the editor would wait.
    assert (refusal["id"], refusal["error"]["code"]) == (2, -32602)


def test_without_a_vault_it_says_so(amem: Program) -> None:
    answer = amem("lsp")
    assert answer.code == 3
    assert answer.out == ""
    assert "vault" in answer.err
