"""Names offered to somebody who types a link: of a note that was replaced, below the newer one."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import pytest

from amem_cli.editing.add import NewNote, add
from amem_cli.editing.edit import link
from amem_cli.errors import NotFoundError
from amem_cli.index.memory_index import VaultPorts
from amem_cli.index.sync import synchronise
from amem_cli.search.completion import NameList
from amem_cli.search.read import note_named
from amem_cli.search.search import supersessions
from tests.vaults import open_vault, write_note


def test_a_note_that_was_replaced_stands_below_the_newer_one(ports: VaultPorts) -> None:
    for day, title in enumerate(("Rent", "Rent from June", "Rental car"), 1):
        add(ports, NewNote(f"{title}.", title=title, created=datetime(2026, 3, day, 15)))
    newer, older = (note_named(ports.index, name) for name in ("Rent from June", "Rent"))
    plain = NameList(ports.index.notes.summaries()).matching("rent", {}, 10)
    assert plain[0].name == "Rent" and not plain[0].newer
    assert link(ports, newer, older, relation="supersedes")
    synchronise(ports)
    known = {path: each.newer for path, each in supersessions(ports.index).items()}
    names = NameList(ports.index.notes.summaries(), known)
    offered = names.matching("rent", {}, 10)
    assert [each.name for each in offered] == ["Rent from June", "Rent", "Rental car"]
    assert offered[1].newer == "Rent from June"
    near = {older.path: 0.9, newer.path: 0.8}
    assert [each.name for each in names.by_meaning(near, 10)] == ["Rent from June", "Rent"]


@pytest.mark.parametrize(
    ("typed", "path"),
    [
        ("creme brulee", "Crème brûlée.md"),
        ("don't panic", "Don’t panic.md"),
        ('1990-2000 "non-fiction"', "1990–2000 “non‑fiction”.md"),
        ("CREME BRÛLÉE", "Crème brûlée.md"),
        ("notes/lodz", "notes/Łódź.md"),
        ("the aenima", "third.md"),
        ("dessert prefere", "Crème brûlée.md"),
        ("groessenwahn", "Größenwahn.md"),
        ("grossenwahn", "Größenwahn.md"),
        ("aarhus", "Århus.md"),
        ("garden", "Gar\u00adden.md"),
        ("naïve", "naive.md"),
    ],
)
def test_a_name_may_be_typed_without_its_accents(tmp_path: Path, typed: str, path: str) -> None:
    write_note(tmp_path, "Crème brûlée.md", "---\naliases: [Dessert préféré]\n---\nSugar.\n")
    write_note(tmp_path, "notes/Łódź.md", "A town.\n")
    write_note(tmp_path, "third.md", "---\ntitle: The Ænima\n---\nA record.\n")
    write_note(tmp_path, "Gar\u00adden.md", "Roses.\n")
    write_note(tmp_path, "Größenwahn.md", "Too big.\n")
    write_note(tmp_path, "Århus.md", "A town.\n")
    write_note(tmp_path, "Don’t panic.md", "A towel.\n")
    write_note(tmp_path, "1990–2000 “non‑fiction”.md", "Books.\n")
    write_note(tmp_path, "naive.md", "[[creme brulee]]\n")
    ports = open_vault(tmp_path)
    synchronise(ports)
    assert note_named(ports.index, typed).path == path
    assert ports.index.links.outgoing("naive.md") == [], "for Obsidian that is another name"


def test_what_is_written_comes_before_what_it_is_without_accents(tmp_path: Path) -> None:
    for name in ("resume", "résumé", "Résume"):
        write_note(tmp_path, f"{name}.md", "Text.\n")
    ports = open_vault(tmp_path)
    synchronise(ports)
    assert note_named(ports.index, "resume").path == "resume.md"
    assert note_named(ports.index, "résumé").path == "résumé.md"
    with pytest.raises(NotFoundError, match="names 3 notes"):
        note_named(ports.index, "resumé")
