"""Links resolved to a network, what is told of it, and the notes of a map on their plane."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from amem_cli.graph.clusters import clusters, unwritten
from amem_cli.graph.formats import grouped_layout
from amem_cli.graph.graph import build, distances, neighbourhood, part, vault_graph
from amem_cli.graph.map import note_positions
from amem_cli.index.memory_index import VaultPorts
from amem_cli.index.records import NoteLink, NoteSummary
from amem_cli.journal.events import LinkRecord
from amem_cli.notes.names import NameTable
from tests.networks import made_up_note
from tests.vaults import indexed, open_vault, write_note


def a_note(path: str, tags: tuple[str, ...] = ()) -> NoteSummary:
    title = path.removesuffix(".md")
    return made_up_note(path, title, id=f"id-{title}", tags=tags)


def network(notes: list[NoteSummary], links: list[tuple[str, str, str]], **records: LinkRecord):  # type: ignore[no-untyped-def]
    names = NameTable((note.path, note.aliases, note.title) for note in notes)
    found = [(source, NoteLink(target, kind, kind == "property")) for source, target, kind in links]  # type: ignore[arg-type]
    known = {(record.path, record.target): record for record in records.values()}
    return build(notes, found, known, names)


def test_edges_know_who_made_them_and_why() -> None:
    record = LinkRecord("id-b", "a.md", "[[b]]", "supports", 0.8, "both on tea")
    graph = network(
        [a_note("a.md"), a_note("b.md"), a_note("c.md")],
        [
            ("a.md", "b", "property"),
            ("a.md", "b", "wikilink"),
            ("a.md", "b", "wikilink"),
            ("a.md", "gone", "wikilink"),
            ("a.md", "picture.png", "wikilink"),
            ("a.md", "a", "wikilink"),
        ],
        one=record,
    )
    edges = [(edge.kind, edge.by, edge.relation, edge.strength) for edge in graph.edges]
    assert edges == [("property", "machine", "supports", 0.8), ("wikilink", "person", "", None)]
    assert graph.broken == (("a.md", "gone"),)
    assert graph.orphans() == ["c.md"]


def test_clusters_are_named_by_their_common_tag() -> None:
    notes = [a_note(f"{name}.md", ("tea",) if name in "abc" else ()) for name in "abcxyz"]
    pairs = [("a", "b"), ("b", "c"), ("a", "c"), ("x", "y"), ("y", "z")]
    graph = network(notes, [(f"{one}.md", other, "wikilink") for one, other in pairs])
    assert clusters(graph) == [("#tea", ["a.md", "b.md", "c.md"]), ("y", ["y.md", "x.md", "z.md"])]
    assert distances(graph, "y.md") == {"y.md": 0, "x.md": 1, "z.md": 1}


def test_a_neighbourhood_holds_each_note_once_at_its_shortest_distance() -> None:
    notes = [a_note(f"{name}.md") for name in "abcde"]
    pairs = [("a", "b"), ("b", "c"), ("c", "a"), ("c", "d"), ("d", "e")]
    graph = network(notes, [(f"{one}.md", other, "wikilink") for one, other in pairs])
    tree = neighbourhood(graph, "a.md", 2)
    assert [child.path for child in tree.children] == ["b.md", "c.md"]
    assert [child.path for child in tree.children[1].children] == ["d.md"]
    assert distances(graph, "a.md", 2) == {"a.md": 0, "b.md": 1, "c.md": 1, "d.md": 2}


def test_links_in_both_directions_are_one_branch() -> None:
    record = LinkRecord("id-b", "a.md", "[[b]]", "supports", 0.8, "both on tea")
    graph = network(
        [a_note("a.md"), a_note("b.md")],
        [("b.md", "a", "wikilink"), ("a.md", "b", "wikilink"), ("a.md", "b", "property")],
        one=record,
    )
    branch = neighbourhood(graph, "b.md", 1).children[0]
    assert branch.mutual and branch.edge is not None
    assert (branch.edge.source, branch.edge.reason) == ("a.md", "both on tea")


def test_the_most_wanted_missing_note_comes_first() -> None:
    links = [("a.md", "x", "wikilink"), ("a.md", "y", "wikilink"), ("b.md", "y", "wikilink")]
    graph = network([a_note("a.md"), a_note("b.md")], links)
    assert unwritten(graph) == [("y", ["a.md", "b.md"]), ("x", ["a.md"])]


def test_every_card_of_a_canvas_lies_in_the_frame_of_its_cluster() -> None:
    notes = [a_note(f"{number:03}.md") for number in range(60)]
    links = [(f"{n:03}.md", f"{n // 10 * 10:03}", "wikilink") for n in range(50)]
    graph = network(notes, links)
    found = clusters(graph)
    cards, framed = grouped_layout(graph, found)
    assert set(cards) == set(graph.nodes)
    for cluster in found:
        frame = framed[cluster.name]
        for path in cluster.paths:
            card = cards[path]
            assert frame.x < card.x and card.x + card.width < frame.x + frame.width
            assert frame.y < card.y and card.y + card.height < frame.y + frame.height
    frames = list(framed.values())
    assert len(frames) == 6
    for at, one in enumerate(frames):
        for other in frames[at + 1 :]:
            across = one.x + one.width <= other.x or other.x + other.width <= one.x
            down = one.y + one.height <= other.y or other.y + other.height <= one.y
            assert across or down


def test_a_part_holds_the_links_among_its_notes() -> None:
    graph = network(
        [a_note("a.md"), a_note("b.md"), a_note("c.md")],
        [("a.md", "b", "wikilink"), ("b.md", "c", "wikilink"), ("c.md", "gone", "wikilink")],
    )
    kept = part(graph, ["a.md", "b.md"])
    assert (list(kept.nodes), len(kept.edges), kept.broken) == (["a.md", "b.md"], 1, ())


TEA = "tea kettle leaf cup pot steam"
SHIP = "ship harbour sail mast anchor tide"


def a_vault(root: Path, texts: dict[str, str]) -> VaultPorts:
    for path, text in texts.items():
        write_note(root, path, text)
    return indexed(open_vault(root))


def two_subjects(each: int) -> dict[str, str]:
    made = {}
    for name, text in (("tea", TEA), ("ship", SHIP)):
        for number in range(each):
            made[f"{name} {number}.md"] = f"---\ntags: [{name}/x]\n---\n{text} number{number}\n"
    return made


def test_notes_of_like_meaning_lie_together(tmp_path: Path) -> None:
    ports = a_vault(tmp_path, two_subjects(12))
    graph = vault_graph(ports.index)
    places = note_positions(ports.index, graph.nodes)
    assert set(places) == set(graph.nodes)
    assert note_positions(ports.index, graph.nodes) == places
    assert max(abs(value) for place in places.values() for value in place) == pytest.approx(1)
    for path, place in places.items():
        near = sorted(places, key=lambda other: math.dist(place, places[other]))[1:5]
        assert sum(other.split()[0] == path.split()[0] for other in near) >= 3


@pytest.mark.parametrize("count", [0, 1, 2, 3, 4, 5, 6])
def test_a_map_of_few_notes_can_be_drawn(tmp_path: Path, count: int) -> None:
    texts = {f"{number}.md": f"word{number} tea\n" for number in range(count)}
    ports = a_vault(tmp_path, texts)
    graph = vault_graph(ports.index)
    places = note_positions(ports.index, graph.nodes)
    assert len(set(places.values())) == count
    assert all(math.isfinite(value) for place in places.values() for value in place)


def test_notes_that_say_the_same_have_places(tmp_path: Path) -> None:
    ports = a_vault(tmp_path, {f"{number}.md": "---\ntitle: x\n---\nsame\n" for number in range(8)})
    places = note_positions(ports.index, vault_graph(ports.index).nodes)
    assert len(places) == 8
