"""What an editor shows of notes: hover, definition, references, outline, search."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
from lsprotocol import types as lsp

from amem_cli.index.sync import synchronise
from tests.conftest import Program
from tests.lsp.editors import TextEditor, editing
from tests.memory.test_suggestions import suggest
from tests.vaults import open_vault, write_note


@pytest.fixture
def linked(vault: Path) -> Path:
    """A vault in which amem linked Dough to Rye."""
    for number, title in enumerate(("Dough", "Rye")):
        header = f'---\nid: "2026010210000{number}"\ncontext: About {title}.\n---\n'
        write_note(vault, f"{title}.md", f"{header}# {title}\n\nA note about {title}.\n")
    ports = open_vault(vault)
    synchronise(ports)
    suggest(ports, "Dough.md", "Rye.md", written=True)
    ports.index.close()
    return vault


def test_hover_tells_what_a_note_is_and_why_it_is_linked(amem: Program, linked: Path) -> None:
    with editing(amem, linked) as editor:
        editor.begin("Dough.md")
        shown = editor.hover("Dough.md", "[[R")
        assert shown.startswith("**Rye** · 2026-01-02 · Rye.md\n")
        assert "*About Rye.*" in shown
        assert "Linked here as *supports*: reason 0" in shown
        assert "A note about Rye." in shown
        editor.open("new.md", "No link here, [[Nobody]], [[Rye#Rye]].\n")
        assert editor.hover("new.md", "No ") == ""
        assert editor.hover("new.md", "[[Nob") == ""
        assert "Linked here" not in editor.hover("new.md", "[[Rye#R")


def test_a_definition_is_the_heading_or_block_that_a_link_names(amem: Program, vault: Path) -> None:
    write_note(vault, "sea/Whale.md", "---\ntitle: Whale\n---\n😀\n\n## Food\n\nKrill ^k1\n")
    with editing(amem, vault) as editor:
        editor.begin(
            "new.md",
            "😀 [[Whale]] [[Whale#Food]] [[sea/Whale#^k1|k]] [[#Here]] [[No]] [d][r]\n# Here\n\n"
            "- [r]: sea/Whale.md\n",
        )

        def leads(before: str) -> tuple[str, int] | None:
            params = lsp.DefinitionParams(**editor.at("new.md", before))
            found = editor.ask("text_document_definition", params)
            return found and (found.uri.rpartition("/")[2], found.range.start.line)

        assert leads("😀 [[W") == ("Whale.md", 0)
        assert leads("[[Whale#F") == ("Whale.md", 5)
        assert leads("[[sea/W") == ("Whale.md", 7)
        assert leads("[[#H") == ("new.md", 1)
        assert leads("[[N") is None
        assert leads("[d") == leads("- [r") == ("Whale.md", 0)


def test_headings_above_a_line_are_headings_as_well(amem: Program, vault: Path) -> None:
    text = (
        "Field report\n====\n\nintro\n\nPart *one*,\nagain\n---\nfirst\n\n## Two\n\n- a\n---\nb\n"
    )
    write_note(vault, "report.md", text)
    with editing(amem, vault) as editor:
        editor.begin("new.md", "[[report#Part one, again]] [[report#")
        params = lsp.DefinitionParams(**editor.at("new.md", "[[rep"))
        found = editor.ask("text_document_definition", params)
        assert found.range.start.line == 5
        offered = editor.complete("new.md", "[[report#Part one, again]] [[report#")
        assert [each.label for each in offered] == ["Field report", "Part one, again", "Two"]
        editor.open("report.md")
        document = lsp.TextDocumentIdentifier(editor.uri("report.md"))
        (top,) = editor.ask(
            "text_document_document_symbol", lsp.DocumentSymbolParams(text_document=document)
        )
        assert (top.name, top.range.start.line, top.selection_range.end.line) == (
            "Field report",
            0,
            1,
        )
        assert [each.name for each in top.children] == ["Part one, again", "Two"]


def test_references_are_the_links_of_other_notes_unsaved_ones_too(
    amem: Program, vault: Path
) -> None:
    write_note(vault, "Whale.md", "---\naliases: [Leviathan]\n---\n# Whale\n")
    write_note(vault, "a.md", "First.\n\nThe 😀 [[leviathan]] and `[[Whale]]` and [w](Whale.md).\n")
    write_note(vault, "b.md", "[[Whale]]\n")
    write_note(vault, "d.md", "See [it][r].\n\n- [r]: Whale.md\n")
    with editing(amem, vault) as editor:
        editor.begin("b.md")
        editor.type("b.md", "No more.\n")
        editor.open("c.md", "\nNot saved: [[Whale#x]]\n")
        editor.open("Whale.md")
        params = lsp.ReferenceParams(
            **editor.at("Whale.md", "# Wh"), context=lsp.ReferenceContext(True)
        )
        found = editor.ask("text_document_references", params)
        places = [(each.uri.rpartition("/")[2], each.range) for each in found]
        assert places == [
            ("a.md", lsp.Range(lsp.Position(2, 7), lsp.Position(2, 20))),
            ("a.md", lsp.Range(lsp.Position(2, 41), lsp.Position(2, 54))),
            ("c.md", lsp.Range(lsp.Position(1, 11), lsp.Position(1, 22))),
            ("d.md", lsp.Range(lsp.Position(2, 2), lsp.Position(2, 15))),
        ]


def test_links_and_outline_of_a_note(amem: Program, vault: Path) -> None:
    write_note(vault, "Whale.md", "A whale.\n")
    text = "---\nup: '[[Whale]]'\n---\n# One\n\n[[Whale|w]] [x](Whale.md) [[No]]\n\n"
    text += "## Two\n\ntext\n\n```\n# no\n```\n\n# Three\n"
    with editing(amem, vault) as editor:
        editor.begin("new.md", text)
        identity = editor.identity("new.md")
        links = editor.ask("text_document_document_link", lsp.DocumentLinkParams(identity))
        assert [(each.range.start.line, each.range.start.character) for each in links] == [
            (1, 7),
            (5, 2),
            (5, 16),
        ]
        assert {each.target for each in links} == {editor.uri("Whale.md")}

        symbols = editor.ask("text_document_document_symbol", lsp.DocumentSymbolParams(identity))
        assert [(each.name, [inner.name for inner in each.children]) for each in symbols] == [
            ("One", ["Two"]),
            ("Three", []),
        ]


def test_notes_of_the_vault_are_found_by_meaning(amem: Program, vault: Path) -> None:
    write_note(vault, "A.md", "Quarterly invoices must reach our accountant.\n")
    write_note(vault, "B.md", "The sourdough bread rose in a warm kitchen.\n")
    with editing(amem, vault) as editor:
        editor.open("A.md")

        def best() -> str:
            found = editor.ask("workspace_symbol", lsp.WorkspaceSymbolParams("slowly warm bread"))
            return found[0].name if found else ""

        editor.until(lambda: best() == "B")
        assert editor.ask("workspace_symbol", lsp.WorkspaceSymbolParams("")) == []


def test_a_note_is_served_whatever_its_name_needs_in_an_address(amem: Program, vault: Path) -> None:
    names = ("My 50% note.md", "Übung 漢 😀.md", "sub folder/It's (a+b), & c.md")
    write_note(vault, "Walrus.md", "It dives.\n")
    for name in names:
        write_note(vault, name, "On disk.\n")
    with editing(amem, vault) as editor:
        for name in names:
            editor.begin(name, "Typed: [[Walr and [[Nowhere]]. [[Walrus]]\n")
            assert editor.complete(name, "[[Walr")[0].label == "Walrus"
            editor.until_said(name, "[[Nowhere]]")
            assert editor.hover(name, "[[Walrus").startswith("**Walrus**")
            editor.type(name, "Typed: [[Walrus]]\n")
            editor.until(partial(_is_right, editor, name))
        stem = "My 51% note"
        editor.rename("My 50% note.md", "Typed: [[Wal", "Sea cow")
        for name in names:
            assert editor.texts[name] == "Typed: [[Sea cow]]\n"
            assert (vault / name).read_text(encoding="utf-8") == "On disk.\n"
        editor.open("Sea cow.md")
        editor.type("Sea cow.md", f"# It\n\nSee [[{stem.replace('1', '0')}]].\n")
        editor.rename("Sea cow.md", "See [[My", stem)
        assert editor.texts["Sea cow.md"] == f"# It\n\nSee [[{stem}]].\n"
        assert editor.texts[f"{stem}.md"] == "Typed: [[Sea cow]]\n"


def _is_right(editor: TextEditor, path: str) -> bool:
    return not editor.diagnostics(path)
