"""What is wrong with a note, in the editor, and its quick fixes."""

from __future__ import annotations

from pathlib import Path

import pytest
from lsprotocol import types as lsp

from tests.conftest import Program
from tests.lsp.editors import editing
from tests.vaults import write_note


def test_a_broken_link_is_shown_while_it_is_written_and_fixed_by_a_name_like_it(
    amem: Program, vault: Path
) -> None:
    write_note(vault, "Walrus.md", "It dives.\n")
    (vault / "ice.png").write_bytes(b"")
    with editing(amem, vault) as editor:
        editor.open("new.md", "😀 [[Walruss#Food|w]] ![[ice.png]] [[Walrus]] `[[none]]`\n")
        found = editor.until_said("new.md", "[[Walruss]] leads to no note")
        assert found.range == lsp.Range(lsp.Position(0, 5), lsp.Position(0, 12))
        assert (found.source, found.code) == ("amem", "links")
        assert len(editor.diagnostics("new.md")) == 1
        editor.until(lambda: editor.actions("new.md", "[[Wal"))
        (fix,) = [each for each in editor.actions("new.md", "[[Wal") if each.kind == "quickfix"]
        editor.run(fix)
        assert editor.texts["new.md"].startswith("😀 [[Walrus#Food|w]] ")
        editor.until(lambda: not editor.diagnostics("new.md"))
        editor.type("new.md", "[[Sea cow]]\n")
        editor.until_said("new.md", "[[Sea cow]] leads to no note")
        # Written by another program, the note is there once the folder was read.
        write_note(vault, "Sea cow.md", "Gone since 1768.\n")
        editor.open("Walrus.md")
        editor.save("Walrus.md")
        editor.until(lambda: not editor.diagnostics("new.md"))
        editor.type("new.md", "[[nothing]]\n")
        editor.until_said("new.md", "nothing")
        editor.close("new.md")
        editor.until(lambda: not editor.diagnostics("new.md"))


def test_a_link_to_a_superseded_note_is_struck_through(amem: Program, vault: Path) -> None:
    for number, name in enumerate(("old", "new")):
        write_note(
            vault, f"{name}.md", f'---\nid: "2026010210000{number}"\n---\nThe {name} note.\n'
        )
    assert amem("index").code == 0
    assert amem("link", "new", "old", "--relation", "supersedes").code == 0
    with editing(amem, vault) as editor:
        editor.open("third.md", "We use [[old]].\n")
        found = editor.until_said("third.md", "is superseded by “new”")
        assert lsp.DiagnosticTag.Deprecated in (found.tags or ())
        editor.run(editor.actions("third.md", "[[ol")[0])
        assert editor.texts["third.md"] == "We use [[new]].\n"
        # The note that replaces the older one has to name it.
        editor.open("new.md")
        editor.open("fourth.md", "[[nobody]]\n")
        editor.until_said("fourth.md", "nobody")
        assert editor.diagnostics("new.md") == []


def test_a_copy_gets_an_id_of_its_own_once_it_is_saved(amem: Program, vault: Path) -> None:
    assert amem("add", "The original.", "--title", "One").code == 0
    original = next(vault.rglob("One.md"))
    copy = write_note(vault, "Two.md", original.read_text(encoding="utf-8"))
    note_id = next(line for line in copy.read_text().splitlines() if line.startswith("id:"))
    with editing(amem, vault) as editor:
        editor.open("Two.md")
        found = editor.until_said("Two.md", "which belongs to")
        assert found.range.start.line == 1
        editor.type("Two.md", editor.texts["Two.md"] + "More.\n")
        (fix,) = [each for each in editor.actions("Two.md", note_id) if each.kind == "quickfix"]
        with pytest.raises(Exception, match="Save the note first"):
            editor.run(fix)
        assert note_id in copy.read_text()
        editor.save("Two.md")
        editor.run(fix)
        text = copy.read_text(encoding="utf-8")
        assert note_id not in text
        assert text.endswith("More.\n")
        assert note_id in original.read_text(encoding="utf-8")


def test_headers_that_amem_refuses_and_conflicts_are_shown(amem: Program, vault: Path) -> None:
    with editing(amem, vault) as editor:
        editor.open("a.md", "---\ntitle: a\ntitle: b\n---\nText.\n")
        editor.until(lambda: editor.diagnostics("a.md"))
        (found,) = editor.diagnostics("a.md")
        assert (found.code, found.range.start.line) == ("headers", 2)
        editor.open("b.md", "Text.\n<<<<<<< HEAD\na\n=======\nb\n>>>>>>> c\n")
        found = editor.until_said("b.md", "git conflict")
        assert found.range.start.line == 1
        editor.open("c.sync-conflict-20260101-101010-ABCDEFG.md", "Text.\n")
        path = "c.sync-conflict-20260101-101010-ABCDEFG.md"
        assert "c.md" in editor.until_said(path, "conflict copy").message
