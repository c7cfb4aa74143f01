"""Names offered to somebody who types a link: of a note that was replaced, below the newer one."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from amem_cli.editing.add import NewNote, add
from amem_cli.editing.edit import link
from amem_cli.index.sync import synchronise
from amem_cli.search.completion import NameList
from amem_cli.search.read import note_named
from amem_cli.search.search import supersessions
from tests.vaults import open_vault


def test_a_note_that_was_replaced_stands_below_the_newer_one(tmp_path: Path) -> None:
    ports = open_vault(tmp_path)
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
