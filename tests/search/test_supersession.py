"""Search puts the current note before the one that it supersedes, and hides neither."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest

from amem_cli.editing.add import NewNote, add
from amem_cli.editing.edit import link, unlink
from amem_cli.editing.undo import undo
from amem_cli.index.memory_index import VaultPorts
from amem_cli.index.sync import synchronise
from amem_cli.notes.note import Relation, parse_note
from amem_cli.search.read import note_named, read_note
from amem_cli.search.search import Filters, Hit, Mode, search
from tests.fakes.encoder import FakeEncoder
from tests.vaults import indexed, open_vault, write_note

TEXTS = {
    "Old rule": "Deploys go out on Friday evening, the walrus decides the hour.",
    "New rule": "Releases leave the harbour on Monday now.",
    "Newest rule": "No calendar any more: whatever is green is shipped.",
    "Elsewhere": "The walrus eats herring at noon.",
    "Orchard": "Apples want a cold winter.",
}


@pytest.fixture
def ports(tmp_path: Path) -> VaultPorts:
    ports = open_vault(tmp_path)
    for day, (title, text) in enumerate(TEXTS.items(), 1):
        add(ports, NewNote(text, title=title, created=datetime(2026, 3, day, 15)))
    return ports


def supersede(ports: VaultPorts, newer: str, older: str, relation: Relation = "supersedes") -> None:
    synchronise(ports)
    made = link(
        ports, note_named(ports.index, newer), note_named(ports.index, older), relation=relation
    )
    assert made


def hits(ports: VaultPorts, query: str, mode: Mode = "hybrid", **values: object) -> list[Hit]:
    indexed(ports)
    return search(ports.index, query, encoder=FakeEncoder(), mode=mode, **values)  # type: ignore[arg-type]


def titles(found: list[Hit]) -> list[str]:
    return [hit.note.title for hit in found]


QUERY = "Deploys Friday evening walrus decides the hour"


@pytest.mark.parametrize("mode", ["hybrid", "semantic", "keyword"])
def test_the_current_note_comes_right_before_the_one_it_supersedes(
    ports: VaultPorts, mode: Mode
) -> None:
    supersede(ports, "New rule", "Old rule")
    for neighbors in (True, False):
        found = hits(ports, QUERY, mode, limit=2, neighbors=neighbors)
        at = titles(found).index("Old rule")
        assert titles(found)[at - 1] == "New rule"
        assert [each.title for each in found[at].superseded_by] == ["New rule"]
        assert found[at - 1].superseded_by == ()
        assert [hit.score for hit in found] == sorted((hit.score for hit in found), reverse=True)


def test_a_current_note_that_was_not_found_is_brought_in_beside_the_hits(ports: VaultPorts) -> None:
    before = hits(ports, QUERY, "keyword", limit=2, neighbors=False)
    supersede(ports, "New rule", "Old rule")
    found = hits(ports, QUERY, "keyword", limit=2, neighbors=False)
    assert titles(found) == ["New rule", *titles(before)]
    assert found[0].via == note_named(ports.index, "Old rule").key
    assert found[0].snippet


def test_versions_come_newest_first_also_where_only_the_oldest_was_found(
    ports: VaultPorts,
) -> None:
    supersede(ports, "New rule", "Old rule")
    supersede(ports, "Newest rule", "New rule")
    found = hits(ports, QUERY, limit=1, neighbors=False)
    assert titles(found) == ["Newest rule", "New rule", "Old rule"]
    assert [each.title for each in found[1].superseded_by] == ["Newest rule"]
    everything = hits(ports, QUERY, limit=10)
    assert titles(everything)[:3] == ["Newest rule", "New rule", "Old rule"]
    assert len(set(titles(everything))) == len(TEXTS)


def test_of_a_long_history_only_the_newest_notes_come_in(tmp_path: Path) -> None:
    ports = open_vault(tmp_path)
    add(ports, NewNote(TEXTS["Old rule"], title="V0"))
    for number in range(1, 12):
        add(ports, NewNote(f"{'Quarry ' * number}", title=f"V{number}"))
        supersede(ports, f"V{number}", f"V{number - 1}")
    found = hits(ports, QUERY, "keyword", limit=1, neighbors=False)
    assert titles(found) == ["V11", "V10", "V9", "V0"]
    assert found[2].via == note_named(ports.index, "V0").key


def test_notes_that_supersede_one_another_stay_as_they_were_found(ports: VaultPorts) -> None:
    before = titles(hits(ports, QUERY, limit=5))
    supersede(ports, "New rule", "Old rule")
    supersede(ports, "Old rule", "New rule")
    found = hits(ports, QUERY, limit=5)
    assert sorted(titles(found)) == sorted(before)
    assert titles(found)[0] == "Old rule"
    assert all(hit.superseded_by for hit in found if hit.note.title.endswith("rule")
               and hit.note.title != "Newest rule")  # fmt: skip


def test_a_contradiction_is_told_and_moves_nothing(ports: VaultPorts) -> None:
    # By words alone: in other searches a link lends its note something in any case.
    before = titles(hits(ports, QUERY, "keyword", limit=2, neighbors=False))
    supersede(ports, "Orchard", "Old rule", "contradicts")
    found = hits(ports, QUERY, "keyword", limit=2, neighbors=False)
    assert titles(found) == before
    assert [each.title for each in found[0].contradicted_by] == ["Orchard"]


def test_a_filter_keeps_the_current_note_out_and_it_is_only_named(ports: VaultPorts) -> None:
    supersede(ports, "New rule", "Old rule")
    supersede(ports, "Newest rule", "New rule")
    only = Filters(path="notes/Old rule.md")
    found = hits(ports, QUERY, limit=3, filters=only)
    assert titles(found) == ["Old rule"]
    assert [each.title for each in found[0].superseded_by] == ["New rule"]


def test_without_such_a_relation_nothing_changes(ports: VaultPorts) -> None:
    before = hits(ports, QUERY, limit=3, neighbors=False)
    supersede(ports, "Elsewhere", "Orchard")
    unlink(ports, note_named(ports.index, "Elsewhere"), note_named(ports.index, "Orchard"))
    assert hits(ports, QUERY, limit=3, neighbors=False) == [
        replace(hit, note=note_named(ports.index, hit.note.title), via=None) for hit in before
    ]


def test_a_link_that_is_gone_supersedes_nothing(ports: VaultPorts, tmp_path: Path) -> None:
    supersede(ports, "New rule", "Old rule")
    path = note_named(ports.index, "New rule").path
    raw = (tmp_path / path).read_text()
    write_note(tmp_path, path, raw.replace('  - "[[Old rule]]"\n', ""))
    assert all(not hit.superseded_by for hit in hits(ports, QUERY, limit=5))
    write_note(tmp_path, path, raw)
    assert hits(ports, QUERY, limit=1)[-1].note.title == "Old rule"


def test_taking_the_link_back_takes_its_word_back_too(ports: VaultPorts, tmp_path: Path) -> None:
    supersede(ports, "New rule", "Old rule")
    event = ports.index.events.read(note_named(ports.index, "New rule").key)[-1]
    first = undo(ports, event.id).paths
    assert first and not read_note(ports, "Old rule").supersession.superseded_by
    again = ports.index.events.read(note_named(ports.index, "New rule").key)[-1]
    undo(ports, again.id)
    assert read_note(ports, "Old rule").supersession.superseded_by
    assert parse_note(first[0], (tmp_path / first[0]).read_bytes(), ports.names).links


def test_a_renamed_note_still_supersedes_and_is_superseded(
    ports: VaultPorts, tmp_path: Path
) -> None:
    supersede(ports, "New rule", "Old rule")
    path = note_named(ports.index, "New rule").path
    (tmp_path / path).rename(tmp_path / "notes/Other.md")
    synchronise(ports)
    (newer,) = read_note(ports, "Old rule").supersession.superseded_by
    assert newer.path == "notes/Other.md"
