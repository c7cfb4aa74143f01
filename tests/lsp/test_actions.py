"""Code actions: suggested links, organising a note, a selection that becomes a note."""

from __future__ import annotations

from pathlib import Path

import pytest
from lsprotocol import types as lsp

from amem_cli.index.sync import synchronise
from tests.conftest import Program
from tests.lsp.editors import TextEditor, editing
from tests.memory.test_suggestions import suggest
from tests.vaults import open_vault, tree_hashes, write_note
from tests.watching import journal_events


@pytest.fixture
def suggested(vault: Path) -> Path:
    """A vault in which amem suggests Butter and Oven for Dough."""
    for number, title in enumerate(("Dough", "Butter", "Oven")):
        header = f'---\nid: "2026010210000{number}"\ntitle: {title}\n---\n'
        write_note(vault, f"{title}.md", f"{header}A note about {title}.\n")
    ports = open_vault(vault)
    synchronise(ports)
    suggest(ports, "Dough.md", "Butter.md", "Oven.md")
    ports.index.close()
    return vault


def offered(editor: TextEditor, path: str, title: str) -> lsp.CodeAction:
    """Wait for an action whose title begins so."""

    def fitting() -> list[lsp.CodeAction]:
        return [each for each in editor.actions(path, "") if each.title.startswith(title)]

    editor.until(fitting)
    return fitting()[0]


def test_a_suggested_link_is_accepted_or_never_made(amem: Program, suggested: Path) -> None:
    with editing(amem, suggested) as editor:
        editor.open("Dough.md")
        action = offered(editor, "Dough.md", "Link to “Butter”")
        assert action.title == "Link to “Butter” (supports: reason 0)"
        editor.run(action)
        assert "[[Butter]]" in (suggested / "Dough.md").read_text(encoding="utf-8")
        editor.run(offered(editor, "Dough.md", "Never link to “Oven”"))
        kinds = ("Link to", "Never")
        editor.until(
            lambda: (
                not [
                    each for each in editor.actions("Dough.md", "") if each.title.startswith(kinds)
                ]
            )
        )
    # Yours from then on; one `undo` would take each back.
    (kept,) = [each for each in journal_events(suggested, "edit") if each.get("links")]
    assert (kept["by"], kept["review"]) == ("person", "accepted")
    (rejected,) = journal_events(suggested, "reject")
    assert rejected["suggested"][0]["path"] == "Oven.md"
    assert amem("links", "--json").json["suggested"] == []


def test_a_link_is_accepted_in_a_note_that_is_saved(amem: Program, suggested: Path) -> None:
    before = tree_hashes(suggested)
    with editing(amem, suggested) as editor:
        editor.open("Dough.md")
        action = offered(editor, "Dough.md", "Link to “Butter”")
        editor.type("Dough.md", editor.texts["Dough.md"] + "😀 Not saved.\n")
        with pytest.raises(Exception, match="Save the note first"):
            editor.run(action)
        assert tree_hashes(suggested) == before
        editor.save("Dough.md")
        editor.run(action)
        text = (suggested / "Dough.md").read_text(encoding="utf-8")
        assert '- "[[Butter]]"' in text
        assert text.endswith("A note about Dough.\n😀 Not saved.\n")
    assert amem("show", "Dough", "--json").json["links"][0]["title"] == "Butter"


def test_a_selection_becomes_a_note_that_is_linked_both_ways(amem: Program, vault: Path) -> None:
    write_note(vault, "Diary.md", "Today 😀.\n\nWalruses haul out on ice.\n\nThe end.\n")
    with editing(amem, vault) as editor:
        editor.open("Diary.md")
        editor.type("Diary.md", editor.texts["Diary.md"] + "Not saved.\n")
        selected = "Walruses haul out on ice.\n"
        editor.until(lambda: editor.actions("Diary.md", "Today 😀.\n\n", selected))
        actions = editor.actions("Diary.md", "Today 😀.\n\n", selected)
        (action,) = [each for each in actions if each.kind == "refactor.extract"]
        editor.run(action)
        (made,) = vault.rglob("Walruses*.md")
        assert editor.texts["Diary.md"] == (
            f"Today 😀.\n\n[[{made.stem}]]\n\nThe end.\nNot saved.\n"
        )
        text = made.read_text(encoding="utf-8")
        assert text.endswith("---\nWalruses haul out on ice.\n")
        assert '"[[Diary]]"' in text

        # An editor that does not make the change gets no second note.
        editor.obeys = False
        editor.open("Other.md", "Seals sleep.\n")
        (action,) = [
            each
            for each in editor.actions("Other.md", "", "Seals sleep.")
            if each.kind == "refactor.extract"
        ]
        with pytest.raises(Exception, match="did not make the change"):
            editor.run(action)
    assert not [path for path in vault.rglob("Seals*.md") if ".trash" not in path.parts]
    assert (vault / "Diary.md").read_text(encoding="utf-8").endswith("The end.\n")


def test_a_note_is_organised_now_if_it_is_saved(amem: Program, vault: Path) -> None:
    write_note(vault, "Bread.md", "The sourdough bread rose slowly in a warm kitchen.\n")
    with editing(amem, vault) as editor:
        editor.open("Bread.md")
        action = offered(editor, "Bread.md", "Organise this note now")
        editor.type("Bread.md", editor.texts["Bread.md"] + "Not saved.\n")
        with pytest.raises(Exception, match="Save the note first"):
            editor.run(action)
        editor.save("Bread.md")
        editor.run(action)
        text = (vault / "Bread.md").read_text(encoding="utf-8")
        assert "keywords:" in text
        assert text.endswith("warm kitchen.\nNot saved.\n")
        editor.until(lambda: [each for each in editor.told if each.startswith("Bread.md: ")])
