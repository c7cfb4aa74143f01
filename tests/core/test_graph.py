"""Links resolved to a network, and what is told of it."""

from __future__ import annotations

from amem_cli.core.graph import build, clusters, neighbourhood
from amem_cli.core.index_port import NoteLink, NoteSummary
from amem_cli.core.journal import LinkRecord
from amem_cli.core.resolution import NameTable


def a_note(path: str, tags: tuple[str, ...] = ()) -> NoteSummary:
    title = path.removesuffix(".md")
    return NoteSummary(path, f"id-{title}", title, "", "", (), tags, "", (), False, "", "", "")


def network(notes: list[NoteSummary], links: list[tuple[str, str, str]], **records: LinkRecord):  # type: ignore[no-untyped-def]
    names = NameTable((note.path, note.aliases, note.title) for note in notes)
    found = [(source, NoteLink(target, kind)) for source, target, kind in links]  # type: ignore[arg-type]
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
    assert [(link.source, link.target) for link in graph.broken] == [("a.md", "gone")]
    assert graph.orphans() == ["c.md"]


def test_clusters_are_named_by_their_common_tag() -> None:
    notes = [a_note(f"{name}.md", ("tea",) if name in "abc" else ()) for name in "abcxyz"]
    pairs = [("a", "b"), ("b", "c"), ("a", "c"), ("x", "y"), ("y", "z")]
    graph = network(notes, [(f"{one}.md", other, "wikilink") for one, other in pairs])
    assert clusters(graph) == [("#tea", ["a.md", "b.md", "c.md"]), ("y", ["x.md", "y.md", "z.md"])]
    assert graph.hubs(1) == [("a.md", 2)]


def test_a_neighbourhood_holds_each_note_once_at_its_shortest_distance() -> None:
    notes = [a_note(f"{name}.md") for name in "abcde"]
    pairs = [("a", "b"), ("b", "c"), ("c", "a"), ("c", "d"), ("d", "e")]
    graph = network(notes, [(f"{one}.md", other, "wikilink") for one, other in pairs])
    tree = neighbourhood(graph, "a.md", 2)
    assert [child.path for child in tree.children] == ["b.md", "c.md"]
    assert [child.path for child in tree.children[1].children] == ["d.md"]
