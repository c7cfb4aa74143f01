"""Renaming a note from an editor: what is open the editor changes, all else amem."""

from __future__ import annotations

from concurrent.futures import CancelledError
from pathlib import Path

import pytest
from lsprotocol import types as lsp

from amem_cli.index.sync import synchronise
from tests.conftest import Program
from tests.faults.injection import check_recovered
from tests.lsp.editors import WITHOUT_RENAME, TextEditor, editing
from tests.memory.test_suggestions import suggest
from tests.vaults import open_vault, tree_hashes, write_note
from tests.watching import journal_events, watching


@pytest.fixture
def sea(vault: Path) -> Path:
    """A vault in which people and amem link to a walrus."""
    for number, title in enumerate(("Walrus", "Seal", "Ice")):
        header = f'---\nid: "2026010210000{number}"\n---\n'
        write_note(vault, f"{title}.md", f"{header}# {title}\n\nA note about {title}.\n")
    write_note(
        vault, "person.md", '---\nup: "[[Walrus]]"\n---\nSee [[Walrus|😀 it]] and [w](Walrus.md).\n'
    )
    write_note(vault, "defined.md", "See [it][w].\n\n- [w]: Walrus.md\n")
    write_note(vault, "open.md", "Open: [[Walrus#Food]].\n")
    ports = open_vault(vault)
    synchronise(ports)
    suggest(ports, "Seal.md", "Walrus.md", written=True)
    suggest(ports, "Ice.md", "Walrus.md", written=True)
    ports.index.close()
    return vault


def test_the_editor_changes_what_it_has_open_and_amem_the_rest(amem: Program, sea: Path) -> None:
    with editing(amem, sea) as editor:
        editor.begin("Walrus.md")
        editor.open("open.md")
        editor.type("open.md", "😀 Not saved: [[Walrus#Food]], [[walrus]] [w].\n\n[w]: Walrus.md\n")
        editor.open("Ice.md")
        on_disk = (sea / "open.md").read_bytes(), (sea / "Ice.md").read_bytes()
        params = lsp.PrepareRenameParams(**editor.at("open.md", "[[Wal"))
        prepared = editor.ask("text_document_prepare_rename", params)
        assert prepared.placeholder == "Walrus"
        assert prepared.range == lsp.Range(lsp.Position(0, 16), lsp.Position(0, 22))

        editor.rename("open.md", "[[Wal", "Sea cow")
        assert not (sea / "Walrus.md").exists()
        assert (sea / "Sea cow.md").is_file()
        assert editor.texts["open.md"] == (
            "😀 Not saved: [[Sea cow#Food]], [[Sea cow]] [w].\n\n[w]: Sea%20cow.md\n"
        )
        assert (sea / "defined.md").read_text() == "See [it][w].\n\n- [w]: Sea%20cow.md\n"
        assert '- "[[Sea cow]]"' in editor.texts["Ice.md"]
        # Their files are the editor's, until it saves them.
        assert ((sea / "open.md").read_bytes(), (sea / "Ice.md").read_bytes()) == on_disk
        assert '- "[[Sea cow]]"' in (sea / "Seal.md").read_text(encoding="utf-8")
        assert (sea / "person.md").read_text(encoding="utf-8") == (
            '---\nup: "[[Sea cow]]"\n---\nSee [[Sea cow|😀 it]] and [w](Sea%20cow.md).\n'
        )
        for path in ("open.md", "Ice.md"):
            editor.save(path)
        editor.until(lambda: amem("index", "--check").code == 0)
    assert amem("doctor").out.count("leads to no note") == 0
    # Both links are still amem's.
    ports = open_vault(sea)
    synchronise(ports)
    records = ports.index.link_history.records()
    by = {(source, record.by) for (source, _), record in records.items()}
    assert by == {("Seal.md", "machine"), ("Ice.md", "machine")}
    ports.index.close()
    (event,) = journal_events(sea, "move")
    assert amem("undo", event["id"]).code == 0
    assert (sea / "Walrus.md").is_file()
    assert "[[Walrus|😀 it]]" in (sea / "person.md").read_text(encoding="utf-8")


def test_a_note_that_is_not_open_is_renamed_by_a_link_to_it(amem: Program, sea: Path) -> None:
    before = tree_hashes(sea)
    with editing(amem, sea, WITHOUT_RENAME) as editor:
        editor.begin("open.md")
        editor.rename("open.md", "[[Wal", "deep/Sea cow")
        assert (sea / "deep/Sea cow.md").is_file()
        assert editor.texts["open.md"] == "Open: [[Sea cow#Food]].\n"
        assert "[[Sea cow|😀 it]]" in (sea / "person.md").read_text(encoding="utf-8")
        # It has the note itself open now, and cannot rename a file.
        editor.open("person.md")
        with pytest.raises(Exception, match="cannot rename files"):
            editor.rename("person.md", "---", "other")
    (event,) = journal_events(sea, "move")
    assert amem("undo", event["id"]).code == 0
    assert tree_hashes(sea) == before


def test_nothing_is_renamed_where_the_editor_or_the_name_refuses(amem: Program, sea: Path) -> None:
    before = tree_hashes(sea)
    with editing(amem, sea) as editor:
        editor.begin("open.md")
        editor.obeys = False
        with pytest.raises(Exception, match="did not make the change"):
            editor.rename("open.md", "[[Wal", "Sea cow")
        editor.obeys = True
        for name in ("Seal", "", "../x"):
            with pytest.raises(Exception, match=r"name|empty|vault"):
                editor.rename("open.md", "[[Wal", name)
        with pytest.raises(Exception, match="no note to rename here"):
            editor.rename("person.md" if "person.md" in editor.texts else "open.md", ".\n", "x")
    assert tree_hashes(sea) == before


def test_no_byte_is_lost_if_the_server_is_killed_in_a_rename(amem: Program, sea: Path) -> None:
    """At the moment at which the editor has done its part, and amem none of its own."""
    texts = {path.name: path.read_bytes() for path in sea.glob("*.md")}
    editor = TextEditor(amem, sea)
    try:
        editor.begin("Walrus.md")
        editor.asked = lambda: editor.process.kill()
        # The client gives up as it likes.
        with pytest.raises((Exception, CancelledError)):
            editor.rename("Walrus.md", "# Wal", "Sea cow")
        editor.until(lambda: (sea / "Sea cow.md").exists())
    finally:
        editor.end()
    texts["Sea cow.md"] = texts.pop("Walrus.md")
    assert {path.name: path.read_bytes() for path in sea.glob("*.md")} == texts
    # amem's links follow with the next command that organises; a person's are reported.
    assert amem("index").code == 0
    assert amem("evolve", "--all").code == 0
    assert '- "[[Sea cow]]"' in (sea / "Seal.md").read_text(encoding="utf-8")
    assert "[[Sea cow]]" in amem("doctor").out
    check_recovered(sea)


@pytest.mark.slow
def test_a_rename_beside_a_watcher_changes_each_note_once(amem: Program, sea: Path) -> None:
    with watching(amem, sea) as watcher, editing(amem, sea) as editor:
        editor.begin("Walrus.md")
        editor.open("open.md")
        editor.rename("Walrus.md", "# Wal", "Sea cow")
        editor.save("open.md")
        editor.save("Sea cow.md")
        watcher.until(lambda: amem("index", "--check").code == 0)
        for name in ("Seal", "Ice", "person"):
            text = (sea / f"{name}.md").read_text(encoding="utf-8")
            assert "[[Sea cow" in text
            assert "Walrus" not in text.split("---")[1]
        assert (sea / "open.md").read_text(encoding="utf-8").endswith("Open: [[Sea cow#Food]].\n")
        assert not (sea / "Walrus.md").exists()
    assert len(journal_events(sea, "move")) == 1
    check_recovered(sea)
