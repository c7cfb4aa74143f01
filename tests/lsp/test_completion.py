"""Completion in a text editor: links by name and meaning, headings, tags."""

from __future__ import annotations

from pathlib import Path

import pytest
from lsprotocol import types as lsp

from tests.conftest import Program
from tests.lsp.editors import CAPABILITIES, editing
from tests.vaults import write_note


def test_links_are_completed_by_title_and_alias_from_text_that_is_not_saved(
    amem: Program, vault: Path
) -> None:
    write_note(vault, "sea/Walrus.md", "---\naliases: [Tusker 😀]\n---\nIt dives.\n")
    write_note(vault, "w2.md", "---\ntitle: A walk\n---\nAround the lake.\n")
    write_note(vault, "new.md", "Nothing yet.\n")
    with editing(amem, vault) as editor:
        editor.open("new.md", "漢字 😀😀 [[wal and more\n\n![[tus]] 😀\n")
        editor.until(lambda: len(editor.complete("new.md", "[[wal")) == 2)
        by_title = editor.complete("new.md", "[[wal")
        assert [each.label for each in by_title] == ["Walrus", "A walk"]
        editor.choose("new.md", by_title[0])
        assert editor.texts["new.md"].startswith("漢字 😀😀 [[Walrus]] and more\n")

        (by_alias,) = editor.complete("new.md", "![[tus")
        assert by_alias.label == "Tusker 😀"
        editor.choose("new.md", by_alias)
        assert "![[Walrus|Tusker 😀]] 😀\n" in editor.texts["new.md"]

        # A title that is not the file's name is shown, and the link still leads there.
        editor.type("new.md", "[[a walk")
        editor.choose("new.md", editor.complete("new.md", "[[a walk")[0])
        assert editor.texts["new.md"] == "[[w2|A walk]]"
    assert (vault / "new.md").read_text(encoding="utf-8") == "Nothing yet.\n"


def test_names_and_tags_are_completed_without_their_accents(amem: Program, vault: Path) -> None:
    names = (
        *("Crème brûlée", "Naïve Bayes", "Žižek on ideology", "Łódź", "Gar\u00adden", "Ænima"),
        *("Größenwahn", "Blücher"),
    )
    for name in names:
        write_note(vault, f"{name}.md", "---\ntags: [école]\n---\nText.\n")
    write_note(vault, "new.md", "Nothing yet.\n")
    typed = (
        *("[[creme", "[[naive b", "[[zizek", "[[lodz", "[[garden", "[[aenima"),
        *("[[groessen", "[[bluech"),
    )
    with editing(amem, vault) as editor:
        editor.open("new.md", "\n".join((*typed, "#eco")))
        editor.until(lambda: len(editor.complete("new.md", "[[naive b")) == 1)
        for text, name in zip(typed, names, strict=True):
            best = editor.complete("new.md", text)[0]
            # Editors leave out what does not hold the typed text.
            assert (best.label, best.filter_text) == (name, text[2:])
        (tag,) = editor.complete("new.md", "#eco")
        assert (tag.label, tag.filter_text) == ("école", "eco")


def test_a_link_in_code_or_behind_its_bar_is_left_alone(amem: Program, vault: Path) -> None:
    write_note(vault, "Walrus.md", "It dives.\n")
    with editing(amem, vault) as editor:
        editor.open("new.md", "`[[Wa` [[Walrus|Wa]] [[Walrus]] b\n\n```\n[[Wal\n```\n")
        for before in ("`[[Wa", "[[Walrus|Wa", "[[Walrus]] ", "```\n[[Wal"):
            assert editor.complete("new.md", before) == []


def test_the_paragraph_ranks_and_what_is_typed_is_found_by_meaning(
    amem: Program, vault: Path
) -> None:
    write_note(vault, "A note.md", "Quarterly invoices must reach our accountant.\n")
    write_note(vault, "B note.md", "The sourdough bread rose in a warm kitchen.\n")
    for number in range(3):
        write_note(vault, f"C note {number}.md", "one two\n")
    paragraph = "Before friday the accountant must have invoices: [[{}\n\nThe sourdough bread.\n"
    with editing(amem, vault) as editor:
        editor.open("new.md", paragraph.format("note"))

        def best() -> str:
            found = editor.complete("new.md", "[[note")
            return found[0].label if found else ""

        # Until the encoder is loaded, names alone decide.
        editor.until(lambda: best() == "A note")
        editor.type("new.md", "The bread rose slowly: [[note\n\nInvoices.\n")
        assert best() == "B note"

        editor.type("new.md", paragraph.format("sourdough kitchen"))
        meant = editor.complete("new.md", "[[sourdough kitchen")
        assert meant[0].label == "B note"
        assert meant[0].filter_text == "sourdough kitchen"
        editor.choose("new.md", meant[0])
        assert "[[B note]]\n" in editor.texts["new.md"]


def test_headings_of_a_note_are_completed_its_unsaved_ones_too(amem: Program, vault: Path) -> None:
    header = "---\ntitle: Whale\n# a comment\n---\n"
    write_note(vault, "Whale.md", f"{header}# Food\n\n## Krill: *small*\n\n```\n# no\n```\n")
    with editing(amem, vault) as editor:
        editor.begin("new.md", "# Mine\n\n[[#M]] [[Whale#\n")
        labels = [each.label for each in editor.complete("new.md", "[[Whale#")]
        assert labels == ["Food", "Krill: small"]
        editor.choose("new.md", editor.complete("new.md", "[[Whale#")[1])
        assert "[[Whale#Krill small]]" in editor.texts["new.md"]
        assert [each.label for each in editor.complete("new.md", "[[#M")] == ["Mine"]
        # As Obsidian reads it, which compares with the heading as it is written.
        editor.open("Whale.md", "# ~~Old~~ `song` of [[Krill|them]]\n")
        editor.type("new.md", "[[Whale#")
        editor.choose("new.md", editor.complete("new.md", "[[Whale#")[0])
        assert "[[Whale#~~Old~~ song of Krill them]]" in editor.texts["new.md"]
        editor.open("Whale.md", "# Song\n")
        editor.type("new.md", "[[Whale#")
        assert [each.label for each in editor.complete("new.md", "[[Whale#")] == ["Song"]


def test_tags_are_completed_by_the_words_of_the_vault(amem: Program, vault: Path) -> None:
    for number, tags in enumerate(("sea/arctic, sea", "sea, ice", "sea/arctic, Ärger")):
        write_note(vault, f"{number}.md", f"---\ntags: [{tags}]\n---\nText {number}.\n")
    with editing(amem, vault) as editor:
        text = "---\ntags:\n  - ic\naliases: [x]\n---\nA 😀 #se and #arc, not a#se\n\n# H\n"
        editor.open("new.md", text)
        editor.until(lambda: editor.complete("new.md", " #se"))
        found = editor.complete("new.md", " #se")
        assert [(each.label, each.detail) for each in found] == [
            ("sea", "2 notes"),
            ("sea/arctic", "2 notes"),
        ]
        assert [each.label for each in editor.complete("new.md", "#arc")] == ["sea/arctic"]
        assert [each.label for each in editor.complete("new.md", "- ic")] == ["ice"]
        assert editor.complete("new.md", "not a#se") == []
        assert editor.complete("new.md", "aliases: [x") == []
        editor.choose("new.md", editor.complete("new.md", "#arc")[0])
        assert "and #sea/arctic, not" in editor.texts["new.md"]


def test_an_item_is_documented_by_its_context_and_first_lines(amem: Program, vault: Path) -> None:
    write_note(vault, "Walrus.md", "---\ncontext: About tusks.\n---\n# Walrus\n\nIt dives.\n")
    with editing(amem, vault) as editor:
        editor.open("new.md", "[[Wal")
        editor.until(lambda: editor.complete("new.md", "[[Wal"))
        item = editor.ask("completion_item_resolve", editor.complete("new.md", "[[Wal")[0])
        assert item.documentation.value == "*About tusks.*\n\n# Walrus\n\nIt dives."


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
def test_places_are_counted_as_the_editor_counts_them(
    amem: Program, vault: Path, encoding: str
) -> None:
    write_note(vault, "Walrus.md", "It dives.\n")
    kind = lsp.PositionEncodingKind(encoding)
    general = lsp.GeneralClientCapabilities(position_encodings=[kind])
    capabilities = lsp.ClientCapabilities(workspace=CAPABILITIES.workspace, general=general)
    codec, width = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2), "utf-32": ("utf-32-le", 4)}[
        encoding
    ]
    line = "漢 😀 [[Wal"
    with editing(amem, vault, capabilities) as editor:
        assert editor.greeting.capabilities.position_encoding == encoding
        editor.begin("new.md", f"{line} and\n")
        units = len(line.encode(codec)) // width
        where = lsp.CompletionParams(editor.identity("new.md"), lsp.Position(0, units))
        (item,) = editor.ask("text_document_completion", where).items
        behind = len("漢 😀 [[".encode(codec)) // width
        assert item.text_edit.range == lsp.Range(lsp.Position(0, behind), lsp.Position(0, units))
