"""Neovim and Emacs with the lines of docs/editors.md, and VS Code's libraries, on a real vault."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from amem_cli.index.sync import synchronise
from tests.conftest import Program
from tests.documents import TOP, editor_configuration
from tests.memory.test_suggestions import suggest
from tests.outside_tools import NODE_FOLDER, missing, node_package, program
from tests.vaults import open_vault, write_note

pytestmark = pytest.mark.slow

PATIENCE = 200
NEOVIM = """
local function wait(holds) assert(vim.wait(60000, holds, 50), "waited too long") end
local function ask(method, character)
  local place = { line = 0, character = character }
  local params = { textDocument = vim.lsp.util.make_text_document_params(), position = place }
  if method == "textDocument/codeAction" then
    params.context = { diagnostics = {} }
    params.range = { start = place, ["end"] = place }
  end
  for _, each in pairs(vim.lsp.buf_request_sync(0, method, params, 60000) or {}) do
    return each.result
  end
end
local function said(text)
  for _, each in ipairs(vim.diagnostic.get(0)) do
    if each.message:find(text, 1, true) then return true end
  end
end
local told = {}
vim.cmd("edit new.md")
vim.cmd("setfiletype markdown")
wait(function() return said("[[Nowhere]] leads to no note") end)
wait(function() return #((ask("textDocument/completion", 12) or {}).items or {}) > 0 end)
told.labels = {}
for _, each in ipairs(ask("textDocument/completion", 12).items) do
  table.insert(told.labels, each.label)
end
told.hover = ask("textDocument/hover", 12).contents.value
-- Neovim names the columns of its buffer in bytes.
vim.api.nvim_win_set_cursor(0, { 1, 14 })
vim.lsp.buf.rename("Sea cow")
wait(function() return vim.fn.getline(1):find("Sea cow", 1, true) ~= nil end)
vim.fn.setline(2, "Now it leads to [[Walrus]].")
wait(function() return not said("Nowhere") and said("Walrus") end)
vim.cmd("write")
for _, each in ipairs(ask("textDocument/codeAction", 0) or {}) do
  if each.title:find("Organise", 1, true) then
    vim.lsp.buf_request_sync(0, "workspace/executeCommand", each.command, 60000)
  end
end
wait(function() vim.cmd("checktime") return vim.fn.getline(1) == "---" end)
vim.fn.writefile({ vim.json and vim.json.encode(told) or vim.fn.json_encode(told) }, "told.json")
vim.cmd("qall!")
"""
EMACS = """
(setq eglot-confirm-server-initiated-edits nil)
(package-initialize)
(require 'eglot)
(require 'markdown-mode)
(defun ask (method &rest more)
  (jsonrpc-request (eglot--current-server-or-lose) method
                   (append (eglot--TextDocumentPositionParams) more) :timeout 60))
(find-file "new.md")
(markdown-mode)
(apply #'eglot--connect (eglot--guess-contact))
(eglot--maybe-activate-editing-mode)
(goto-char 14)
(let (items hover (end (+ (float-time) 60)))
  (while (and (zerop (length items)) (< (float-time) end))
    (setq items (plist-get (ask :textDocument/completion) :items)))
  (setq hover (plist-get (plist-get (ask :textDocument/hover) :contents) :value))
  (eglot-rename "Sea cow")
  (save-buffer)
  (with-temp-file "told.json"
    (insert (json-encode (list :labels (mapcar (lambda (each) (plist-get each :label)) items)
                               :hover hover)))))
(kill-emacs 0)
"""


@pytest.fixture
def home(amem: Program, vault: Path) -> Path:
    """A home with the vault in `~/notes`, and `amem` where programs look for it."""
    (vault.parent / "notes").symlink_to(vault)
    (vault.parent / "bin").mkdir()
    called = vault.parent / "bin" / "amem"
    called.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m amem_cli "$@"\n')
    called.chmod(0o755)
    write_note(vault, "Walrus.md", "---\ncontext: About tusks.\n---\nIt dives.\n")
    write_note(vault, "other.md", "The [[Walrus]] again.\n")
    write_note(vault, "new.md", "漢 😀 See [[Walrus]] on ice.\nNot [[Nowhere]].\n")
    return vault.parent


def run(amem: Program, home: Path, *line: str) -> dict[str, object]:
    """Run an editor in the vault; what it told in the end."""
    path = f"{home / 'bin'}{os.pathsep}{os.environ['PATH']}"
    own = {name: str(home / name) for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME")}
    done = subprocess.run(
        line,
        cwd=home / "notes",
        env={**os.environ, **amem.environment, **own, "HOME": str(home), "PATH": path},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    told = home / "notes" / "told.json"
    assert told.exists(), (done.stdout[-2000:], done.stderr[-2000:])
    found: dict[str, object] = json.loads(told.read_text(encoding="utf-8"))
    return found


def check(told: dict[str, object], vault: Path) -> None:
    """A link was completed and explained, and the note was renamed with all links to it."""
    assert told["labels"] == ["Walrus"]
    assert str(told["hover"]).startswith("**Walrus**")
    assert "About tusks." in str(told["hover"])
    assert "It dives." in (vault / "Sea cow.md").read_text(encoding="utf-8")
    assert (vault / "other.md").read_text(encoding="utf-8") == "The [[Sea cow]] again.\n"
    assert "漢 😀 See [[Sea cow]] on ice.\n" in (vault / "new.md").read_text(encoding="utf-8")
    assert not (vault / "Walrus.md").exists()


def test_neovim_links_renames_and_organises(amem: Program, vault: Path, home: Path) -> None:
    nvim = program("nvim")
    (home / "init.lua").write_text(editor_configuration("Neovim 0.7 to 0.10"), encoding="utf-8")
    (home / "test.lua").write_text(NEOVIM, encoding="utf-8")
    line = [nvim, "--headless", "-n", "-i", "NONE", "-u", str(home / "init.lua")]
    told = run(amem, home, *line, "-c", f"luafile {home / 'test.lua'}", "-c", "cquit")
    check(told, vault)
    text = (vault / "new.md").read_text(encoding="utf-8")
    assert text.startswith("---\n")
    assert text.endswith("Now it leads to [[Walrus]].\n")


def test_emacs_links_and_renames(amem: Program, vault: Path, home: Path) -> None:
    emacs = program("emacs")
    for feature in ("eglot", "markdown-mode"):
        wanted = f"(progn (package-initialize) (require '{feature}))"
        line = [emacs, "--batch", "-l", "package", "--eval", wanted]
        if subprocess.run(line, capture_output=True, check=False).returncode:
            missing(f"{feature} for Emacs")
    (home / "init.el").write_text(editor_configuration("Emacs"), encoding="utf-8")
    (home / "test.el").write_text(EMACS, encoding="utf-8")
    line = [emacs, "--batch", "-l", str(home / "init.el"), "-l", str(home / "test.el")]
    check(run(amem, home, *line), vault)


def test_vs_code_links_renames_and_accepts_a_suggestion(amem: Program, vault: Path) -> None:
    """By the client that its extensions have, with the capabilities that it names."""
    for name in ("protocol", "textdocument"):
        node_package(f"vscode-languageserver-{name}")
    header = '---\nid: "2026010210000{}"\ncontext: About tusks.\n---\n'
    write_note(vault, "Walrus.md", f"{header.format(0)}# Walrus\n\nIt dives.\n")
    write_note(vault, "other.md", f"{header.format(1)}The [[Walrus]] again.\n")
    write_note(vault, "Ice.md", f"{header.format(2)}It melts.\n")
    write_note(vault, "new.md", "漢 😀 See [[Wal\nNot [[Nowhere]].\n")
    ports = open_vault(vault)
    synchronise(ports)
    suggest(ports, "Walrus.md", "Ice.md")
    ports.index.close()

    server = [sys.executable, "-m", "amem_cli", "--vault", str(vault), "lsp"]
    script = str(NODE_FOLDER / "vscode_client.mjs")
    done = amem.beside(program("node"), script, str(vault), *server)
    assert done.code == 0, done.err[-3000:]
    found = done.json
    walrus, cow = ((vault / f"{name}.md").as_uri() for name in ("Walrus", "Sea cow"))
    assert found["encoding"] == "utf-16"
    assert any("[[Nowhere]] leads to no note" in each for each in found["broken"])
    assert found["labels"][0] == "Walrus" and "About tusks." in found["documentation"]
    assert found["completed"] == "漢 😀 See [[Walrus]]\nNot [[Nowhere]].\n"
    assert found["hover"].startswith("**Walrus**") and found["definition"] == walrus
    assert found["references"] == [(vault / f"{name}.md").as_uri() for name in ("new", "other")]
    assert found["symbols"] == ["Walrus"] and "Walrus" in found["found"]
    assert found["placeholder"] == "Walrus"
    assert found["renamed"] == "漢 😀 See [[Sea cow]]\nNot [[Nowhere]].\n"
    assert found["open"] == sorted([cow, (vault / "new.md").as_uri()])
    assert found["mended"] == [] and found["messages"] == [] and found["code"] == 0
    assert any(title.startswith("Link to “Ice”") for title in found["actions"])
    assert "The [[Sea cow]] again." in (vault / "other.md").read_text(encoding="utf-8")
    assert "[[Ice]]" in (vault / "Sea cow.md").read_text(encoding="utf-8")
    assert amem("links", "--json").json["suggested"] == []


@pytest.mark.models
def test_neovim_can_be_recorded_anew() -> None:
    from tests import recorded_editor
    from tests.recorded_session import drawing

    drawn = drawing(recorded_editor.record())
    page = (TOP / "docs/images/neovim.svg").read_text(encoding="utf-8")
    for what, _, expected, _ in recorded_editor.STEPS:
        assert what in drawn and what in page
        assert expected in drawn and expected in page
