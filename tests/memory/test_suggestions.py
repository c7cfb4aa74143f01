"""A suggested link is in no file; it stands until the notes are linked, taken apart or gone."""

from __future__ import annotations

from pathlib import Path

import pytest

from amem_cli.editing.edit import link, unlink
from amem_cli.editing.move import move
from amem_cli.editing.undo import undo
from amem_cli.index.memory_index import VaultPorts
from amem_cli.index.sync import synchronise
from amem_cli.journal.link_decisions import MOST_SUGGESTED
from amem_cli.memory.outcome import ANALYZER, Description, Linking, NoteAnalysis
from amem_cli.notes.note import MemoryLink
from amem_cli.search.read import note_named
from amem_cli.search.search import search
from amem_cli.search.suggestions import fresh_links, suggestions
from tests.fakes.encoder import FakeEncoder
from tests.index_dump import canonical_dump
from tests.vaults import carry_out, indexed, memory_process, open_vault, tree_hashes, write_note

Pairs = set[frozenset[str]]


def suggest(ports: VaultPorts, source: str, *targets: str, written: bool = False) -> None:
    """A memory process of a note that links it to others (by path), or only suggests that."""
    found = tuple(
        MemoryLink(target, "supports", f"reason {at}", round(0.7 - at / 20, 2))
        for at, target in enumerate(targets)
    )
    linking = Linking(found) if written else Linking(suggested=found)
    carry_out(ports, source, NoteAnalysis(Description(), linking, ANALYZER))


def shown(ports: VaultPorts, path: str | None = None) -> Pairs:
    """The titles of the notes that suggestions would join."""
    found = suggestions(ports.index, path)
    return {frozenset((each.source.title, each.target.title)) for each in found}


def pair(one: str, other: str) -> frozenset[str]:
    return frozenset((one, other))


def rebuilt(root: Path, ports: VaultPorts) -> VaultPorts:
    fresh = open_vault(root, index="fresh.db")
    synchronise(fresh)
    for name in ("suggestions", "decisions"):
        assert set(canonical_dump(ports.index)[name]) == set(canonical_dump(fresh.index)[name])
    return fresh


NAMES = "ABCDEFG"


@pytest.fixture
def ports(tmp_path: Path) -> VaultPorts:
    ports = open_vault(tmp_path)
    for number, name in enumerate(NAMES):
        identity = f'id: "2026010210000{number}"\n' if number % 2 else ""
        write_note(tmp_path, f"{name}.md", f"---\n{identity}title: {name}\n---\nNote {name}.\n")
    synchronise(ports)
    return ports


def test_a_suggestion_is_in_the_journal_alone_and_shown_by_both_notes(
    ports: VaultPorts, tmp_path: Path
) -> None:
    before = tree_hashes(tmp_path)
    suggest(ports, "A.md", "B.md", "C.md")
    notes = {path for path in tree_hashes(tmp_path).items() if path[0].endswith(".md")}
    assert notes <= set(before.items())
    assert shown(ports) == shown(ports, "A.md") == {pair("A", "B"), pair("A", "C")}
    assert shown(ports, "C.md") == {pair("A", "C")} and shown(ports, "D.md") == set()
    assert shown(rebuilt(tmp_path, ports)) == shown(ports)


def test_the_next_process_replaces_them_and_five_are_enough(ports: VaultPorts) -> None:
    suggest(ports, "A.md", *(f"{name}.md" for name in NAMES[1:]))
    assert len(shown(ports)) == MOST_SUGGESTED
    suggest(ports, "A.md", "G.md")
    assert shown(ports) == {pair("A", "G")}
    suggest(ports, "A.md")
    assert shown(ports) == set()


@pytest.mark.parametrize("ends", [("A", "B"), ("B", "A")])
def test_what_is_linked_in_either_direction_is_not_suggested(
    ports: VaultPorts, tmp_path: Path, ends: tuple[str, str]
) -> None:
    suggest(ports, "A.md", "B.md")
    path = tmp_path / f"{ends[0]}.md"
    text = path.read_text()
    path.write_text(f"{text}See [[{ends[1]}]].\n")
    synchronise(ports)
    assert shown(ports) == shown(ports, "B.md") == set()
    suggest(ports, "A.md", "B.md")
    path.write_text(text)
    synchronise(ports)
    # Nobody decided anything, but by the last process they were linked.
    assert shown(ports) == set()


def test_a_kept_one_is_the_owners_in_one_event_that_undo_takes_back(
    ports: VaultPorts, tmp_path: Path
) -> None:
    suggest(ports, "B.md", "C.md")
    before = (tmp_path / "B.md").read_bytes()
    one, other = (note_named(ports.index, name) for name in "BC")
    count = len(ports.index.events.read())
    assert link(ports, one, other, relation="causes")
    (event,) = ports.index.events.read()[count:]
    assert (event.by, event.review, event.model) == ("person", "accepted", ANALYZER)
    assert b"[[C]]" in (tmp_path / "B.md").read_bytes() and shown(ports) == set()
    (record,) = ports.index.link_history.records("B.md").values()
    assert (record.by, record.relation, record.reason) == ("person", "causes", "reason 0")
    assert [each.kept for each in ports.index.link_history.decided()] == [True]
    again = undo(ports, event.id).again
    assert (tmp_path / "B.md").read_bytes() == before
    # As if it had not been touched: nothing is decided.
    assert shown(ports) == {pair("B", "C")} and not ports.index.link_history.decided()
    undo(ports, again)
    assert shown(ports) == set()
    assert [each.kept for each in ports.index.link_history.decided()] == [True]
    move(ports, note_named(ports.index, "C"), "Cc")
    assert b"[[Cc]]" in (tmp_path / "B.md").read_bytes()
    assert ("B.md", "Cc.md", True) in ports.index.link_history.decided()
    rebuilt(tmp_path, ports)


@pytest.mark.parametrize("ends", ["BC", "CB"])
def test_a_rejected_one_is_never_made_or_suggested_again_from_either_side(
    ports: VaultPorts, tmp_path: Path, ends: str
) -> None:
    suggest(ports, "B.md", "C.md")
    one, other = (note_named(ports.index, name) for name in ends)
    assert unlink(ports, one, other) and not unlink(ports, one, other)
    event = ports.index.events.read()[-1]
    assert shown(ports) == set()
    for source, target in ("BC", "CB"):
        suggest(ports, f"{source}.md", f"{target}.md")
        assert shown(ports) == set()
        assert f"{target}.md" in ports.index.link_history.unlinked(f"{source}.md")
    fresh = rebuilt(tmp_path, ports)
    assert shown(fresh) == set()
    assert [each.kept for each in ports.index.link_history.decided()] == [False]
    again = undo(ports, event.id).again
    assert shown(ports) == {pair("B", "C")} and not ports.index.link_history.decided()
    undo(ports, again)
    assert shown(ports) == set()


def test_a_new_note_at_the_old_path_of_another_inherits_nothing(
    ports: VaultPorts, tmp_path: Path
) -> None:
    suggest(ports, "A.md", "C.md", "E.md")
    assert unlink(ports, note_named(ports.index, "C"), note_named(ports.index, "A"))
    suggest(ports, "G.md", "E.md")
    for name in "ACEG":
        (tmp_path / f"{name}.md").rename(tmp_path / f"{name} before.md")
        write_note(tmp_path, f"{name}.md", f"---\ntitle: New {name}\n---\nTax papers, {name}.\n")
    synchronise(ports)
    assert shown(ports, "A.md") == shown(ports, "E.md") == set()
    assert shown(ports) == {pair("A", "E"), pair("G", "E")}
    # What was rejected stays so under the new names, and binds no other notes.
    suggest(ports, "A before.md", "C before.md")
    suggest(ports, "A.md", "C.md")
    assert shown(ports, "C.md") == {pair("New A", "New C")}
    assert shown(ports) == {pair("New A", "New C"), pair("G", "E")}
    assert shown(rebuilt(tmp_path, ports)) == shown(ports)


@pytest.mark.parametrize("by_amem", [False, True])
def test_suggestions_follow_notes_without_id_to_other_names(
    ports: VaultPorts, tmp_path: Path, by_amem: bool
) -> None:
    suggest(ports, "A.md", "C.md", "B.md")
    suggest(ports, "B.md", "E.md")
    found = shown(ports)
    for name in "ACE":
        if by_amem:
            move(ports, note_named(ports.index, f"{name}.md"), f"archive/New {name}")
        else:
            (tmp_path / f"{name}.md").rename(tmp_path / f"New {name}.md")
    synchronise(ports)
    folder = "archive/" if by_amem else ""
    assert shown(ports) == found == {pair("A", "C"), pair("A", "B"), pair("B", "E")}
    assert shown(ports, f"{folder}New A.md") == {pair("A", "C"), pair("A", "B")}
    assert shown(ports, f"{folder}New E.md") == {pair("B", "E")}
    assert shown(rebuilt(tmp_path, ports)) == found
    # The next process under the new name replaces them.
    suggest(ports, f"{folder}New A.md", "G.md")
    assert shown(ports) == {pair("A", "G"), pair("B", "E")}
    assert unlink(ports, note_named(ports.index, "B"), note_named(ports.index, "E"))
    assert shown(ports) == {pair("A", "G")}


def test_a_suggestion_goes_to_no_copy_of_a_note_without_id(
    ports: VaultPorts, tmp_path: Path
) -> None:
    suggest(ports, "A.md", "C.md")
    write_note(tmp_path, "Copy.md", (tmp_path / "A.md").read_text())
    synchronise(ports)
    assert shown(ports, "Copy.md") == set() and shown(ports, "A.md") == {pair("A", "C")}
    (tmp_path / "A.md").rename(tmp_path / "Other copy.md")
    synchronise(ports)
    # Nobody can tell which of the two it was.
    assert shown(ports) == set()


def test_a_suggestion_of_a_note_without_id_goes_with_its_text(
    ports: VaultPorts, tmp_path: Path
) -> None:
    suggest(ports, "B.md", "C.md", "E.md")
    suggest(ports, "G.md", "D.md")
    for name in "CG":
        path = tmp_path / f"{name}.md"
        path.write_text(path.read_text() + "More.\n")
    synchronise(ports)
    assert shown(ports) == {pair("B", "E")}


def test_a_rejection_takes_both_links_of_a_pair_and_undo_brings_both_back(
    ports: VaultPorts, tmp_path: Path
) -> None:
    suggest(ports, "B.md", "D.md", written=True)
    suggest(ports, "D.md", "B.md", written=True)
    before = [(tmp_path / f"{name}.md").read_bytes() for name in "BD"]
    one, other = (note_named(ports.index, name) for name in "BD")
    count = len(ports.index.events.read())
    assert unlink(ports, one, other) and not unlink(ports, other, one)
    (event, _) = ports.index.events.read()[count:]
    assert b"[[D]]" not in (tmp_path / "B.md").read_bytes()
    assert b"[[B]]" not in (tmp_path / "D.md").read_bytes()
    assert fresh_links(ports.index) == []
    again = undo(ports, event.id).again
    assert [(tmp_path / f"{name}.md").read_bytes() for name in "BD"] == before
    undo(ports, again)
    assert b"[[B]]" not in (tmp_path / "D.md").read_bytes()
    assert not rebuilt(tmp_path, ports).index.links.incoming("B.md")


def test_a_rejection_leaves_the_owners_link_the_other_way(
    ports: VaultPorts, tmp_path: Path
) -> None:
    suggest(ports, "B.md", "D.md", written=True)
    one, other = (note_named(ports.index, name) for name in "BD")
    assert link(ports, other, one)
    assert unlink(ports, one, other)
    assert b"[[B]]" in (tmp_path / "D.md").read_bytes()


def test_a_suggestion_never_tells_an_open_note_of_a_private_one(
    ports: VaultPorts, tmp_path: Path
) -> None:
    suggest(ports, "A.md", "B.md")
    suggest(ports, "C.md", "D.md")
    for name in "BC":
        path = tmp_path / f"{name}.md"
        path.write_text(path.read_text().replace("---\n", "---\nprivate: true\n", 1))
    synchronise(ports)
    # As with links: a private note may name an open one.
    assert shown(ports) == {pair("C", "D")}


def test_a_machines_link_waits_for_a_decision_until_there_is_one(ports: VaultPorts) -> None:
    suggest(ports, "A.md", "B.md", "C.md", written=True)
    fresh = fresh_links(ports.index, "B.md")
    assert [(each.source.title, each.target.title, each.suggested) for each in fresh] == [
        ("A", "B", False)
    ]
    assert len(fresh_links(ports.index)) == 2
    one, other, third = (note_named(ports.index, name) for name in "ABC")
    assert link(ports, one, other)
    assert [each.target.title for each in fresh_links(ports.index)] == ["C"]
    assert unlink(ports, one, third)
    assert fresh_links(ports.index) == fresh_links(ports.index, "A.md") == []


def test_with_no_link_to_be_written_the_analyzer_still_suggests(tmp_path: Path) -> None:
    ports = open_vault(tmp_path)
    old = "Lamination of croissant dough needs butter at 14 degrees, else it tears."
    new = "The croissant dough tore in Lamination: the butter came from the fridge."
    write_note(tmp_path, "Lamination of dough.md", f"---\ncreated: 2029-01-01\n---\n{old}\n")
    write_note(tmp_path, "Morning batch.md", f"---\ncreated: 2029-01-02\n---\n{new}\n")
    for number in range(4):
        write_note(tmp_path, f"N{number}.md", f"Number {number}: frost and weather.\n")
    process = memory_process(ports, max_links=0)
    outcome = process.run("Morning batch.md", asked=True)
    assert not outcome.links and [each.title for each in outcome.suggested] == [
        "Lamination of dough"
    ]
    assert "links:" not in (tmp_path / "Morning batch.md").read_text()
    again = process.run("Morning batch.md", asked=True, only_pending=True)
    assert again.suggested == outcome.suggested


def test_a_suggested_note_is_among_the_best_until_the_suggestion_is_rejected(
    tmp_path: Path,
) -> None:
    write_note(tmp_path, "Cause.md", "The walrus is ill.\n")
    write_note(tmp_path, "Effect.md", "Tickets are refunded until Friday.\n")
    for number in range(30):
        write_note(tmp_path, f"{number}.md", f"Number {number} is about bread and trams.\n")
    ports = indexed(open_vault(tmp_path))

    def best() -> set[str]:
        hits = search(ports.index, "ill walrus", encoder=FakeEncoder(), limit=2, neighbors=False)
        return {hit.note.title for hit in hits}

    assert best() != {"Cause", "Effect"}
    suggest(ports, "Cause.md", "Effect.md")
    assert best() == {"Cause", "Effect"}
    unlink(ports, note_named(ports.index, "Cause"), note_named(ports.index, "Effect"))
    assert best() != {"Cause", "Effect"}
