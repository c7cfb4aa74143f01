"""The network of notes: resolved links, hubs, orphans, broken links, neighbourhoods."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

from amem_cli.language.safe_text import on_one_line
from amem_cli.markdown.links import is_attachment
from amem_cli.notes.names import NameTable, NoteNames, resolve
from amem_cli.search.suggestions import suggestions

if TYPE_CHECKING:
    from amem_cli.index.memory_index import MemoryIndex
    from amem_cli.index.records import LinkKind, NoteLink, NoteSummary
    from amem_cli.journal.events import LinkRecord
    from amem_cli.search.suggestions import OpenLink

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Edge:
    """A link between two notes, by their paths; one in the body is always a person's.

    `relation`, `strength` and `reason` are as recorded when it was made, empty or None if unknown.
    A `suggested` one is in no file.
    """

    source: str
    target: str
    kind: LinkKind
    by: str
    relation: str = ""
    strength: float | None = None
    reason: str = ""
    suggested: bool = False


@dataclass(frozen=True, slots=True)
class Graph:
    """Notes by path, each linked pair and kind once in order, and links to nothing by source.

    What is `suggested` is not among the edges: no degree, cluster or layout depends on it.
    """

    nodes: Mapping[str, NoteSummary]
    edges: tuple[Edge, ...]
    broken: tuple[tuple[str, str], ...]
    suggested: tuple[Edge, ...] = ()

    def makers(self) -> Mapping[tuple[str, str], str]:
        """Who made each link, `person` or `machine`, by the paths of source and target.

        A note that names another in its text and in its properties has one link to it, with two
        edges; one that both made is the person's.
        """
        found: dict[tuple[str, str], str] = {}
        for edge in self.edges:
            if edge.by == "person":
                found[edge.source, edge.target] = edge.by
            else:
                found.setdefault((edge.source, edge.target), edge.by)
        return found

    def degrees(self) -> Mapping[str, int]:
        """Number of different notes that a note is linked with, by path."""
        return {path: len(near) for path, near in self.neighbours().items()}

    def neighbours(self) -> dict[str, list[str]]:
        """Linked notes in either direction, by path, each once."""
        near: dict[str, dict[str, None]] = {path: {} for path in self.nodes}
        for edge in self.edges:
            near[edge.source][edge.target] = None
            near[edge.target][edge.source] = None
        return {path: list(others) for path, others in near.items()}

    def orphans(self) -> list[str]:
        return sorted(path for path, near in self.neighbours().items() if not near)

    def network(self) -> Any:
        """Notes and linked pairs for networkx, sorted: its results depend on the order."""
        import networkx

        network = networkx.Graph()
        network.add_nodes_from(sorted(self.nodes))
        network.add_edges_from(sorted((edge.source, edge.target) for edge in self.edges))
        return network


def vault_graph(index: MemoryIndex) -> Graph:
    notes = list(index.notes.summaries())
    names = NameTable((note.path, note.aliases, note.title) for note in notes)
    return build(notes, index.links.all(), index.link_history.records(), names)


def shown_graph(index: MemoryIndex, *, private: bool = True, suggested: bool = False) -> Graph:
    graph = vault_graph(index)
    if suggested:
        linked = {(edge.source, edge.target) for edge in graph.edges}
        graph = with_suggestions(graph, suggestions(index, linked=linked))
    return graph if private else public(graph)


def build(
    notes: Iterable[NoteSummary],
    links: Iterable[tuple[str, NoteLink]],
    records: Mapping[tuple[str, str], LinkRecord],
    names: NoteNames,
) -> Graph:
    """Resolve all links; those to attachments are left out, those to nothing are broken.

    Links come with the paths of their notes, `records` say how they were made, by their note's path
    and their target's id or path.
    """
    nodes = {note.path: note for note in notes}
    edges: dict[tuple[str, str, str], Edge] = {}
    broken: set[tuple[str, str]] = set()
    for source, link in links:
        target = resolve(link.target, source, names)
        if target is None or target not in nodes:
            if not is_attachment(link.target):
                broken.add((source, link.target))
        elif target != source:
            record = of_link(records, source, nodes[target])
            edge = Edge(source, target, link.kind, "person")
            if record is not None and (link.listed or record.by == "person"):
                strength = record.strength if record.by == "machine" else None
                edge = Edge(
                    source, target, link.kind, record.by, record.relation, strength, record.reason
                )
            known = edges.setdefault((source, target, link.kind), edge)
            # One that both made, in two properties, is the person's.
            if (edge.by, bool(edge.relation)) > (known.by, bool(known.relation)):
                edges[source, target, link.kind] = edge
    return Graph(nodes, tuple(edges[key] for key in sorted(edges)), tuple(sorted(broken)))


def of_link(records: Mapping[tuple[str, str], T], source: str, target: NoteSummary) -> T | None:
    """What is recorded of a link to a note: by its id, or by its path if it had none."""
    return records.get((source, target.key)) or records.get((source, target.path))


def with_suggestions(graph: Graph, links: Iterable[OpenLink]) -> Graph:
    edges = (
        Edge(
            link.source.path,
            link.target.path,
            "property",
            "machine",
            link.relation,
            link.strength,
            link.reason,
            suggested=True,
        )
        for link in links
        if link.pair <= graph.nodes.keys()
    )
    in_order = sorted(edges, key=lambda edge: (edge.source, edge.target))
    return replace(graph, suggested=tuple(in_order))


def joining(graph: Graph) -> tuple[Edge, ...]:
    """One edge from a note to another, the most informative if both kinds of link exist; and what
    is suggested."""
    best: dict[tuple[str, str], Edge] = {}
    for edge in graph.edges:
        pair = edge.source, edge.target
        best[pair] = max(best.get(pair, edge), edge, key=_informative)
    return (*best.values(), *graph.suggested)


def _informative(edge: Edge) -> tuple[bool, bool]:
    return bool(edge.reason), bool(edge.relation)


def distances(graph: Graph, root: str, depth: int | None = None) -> dict[str, int]:
    """How many links, or suggestions, away from `root` each note within `depth` of them is, in
    either direction."""
    import networkx

    network = replace(graph, edges=joining(graph)).network()
    return dict(networkx.single_source_shortest_path_length(network, root, cutoff=depth))


def part(graph: Graph, paths: Collection[str]) -> Graph:
    """These notes, the links among them and their broken links."""
    chosen = set(paths)
    return Graph(
        {path: note for path, note in graph.nodes.items() if path in chosen},
        tuple(edge for edge in graph.edges if edge.source in chosen and edge.target in chosen),
        tuple(each for each in graph.broken if each[0] in chosen),
        tuple(each for each in graph.suggested if {each.source, each.target} <= chosen),
    )


def public(graph: Graph) -> Graph:
    """The network without private notes, their links and the links to them."""
    return part(graph, [path for path, note in graph.nodes.items() if not note.private])


@dataclass(frozen=True, slots=True)
class Branch:
    """A note in the neighbourhood of another.

    Attributes:
        edge: the more informative link that leads to it; None at the root.
        mutual: each of the two notes links to the other.
        children: notes first reached from here, strong links with a reason first.
    """

    path: str
    edge: Edge | None
    mutual: bool = False
    children: tuple[Branch, ...] = ()


def neighbourhood(graph: Graph, root: str, depth: int) -> Branch:
    """The notes within `depth` links of `root` as a tree, each once, at its shortest distance."""
    joined: dict[str, dict[str, list[Edge]]] = defaultdict(lambda: defaultdict(list))
    for edge in joining(graph):
        joined[edge.source][edge.target].append(edge)
        joined[edge.target][edge.source].append(edge)
    children: dict[str, list[str]] = {root: []}
    level = [root]
    for _ in range(depth):
        fresh = []
        for path in level:
            for other in sorted(joined[path], key=lambda each: _order(path, joined[path][each])):
                if other not in children:
                    children[other] = []
                    children[path].append(other)
                    fresh.append(other)
        level = fresh

    def branch(path: str, edges: Sequence[Edge] = ()) -> Branch:
        below = tuple(branch(other, joined[path][other]) for other in children[path])
        edge = max(edges, key=_informative, default=None)
        return Branch(path, edge, len(edges) > 1, below)

    return branch(root)


def _order(path: str, edges: Sequence[Edge]) -> tuple[object, ...]:
    """Links with a reason first, then the strong ones, then outgoing ones; suggestions last."""
    best = max(edges, key=_informative)
    other = best.target if best.source == path else best.source
    return (best.suggested, not best.reason, -(best.strength or 0.0), best.source != path, other)


def relation_label(edge: Edge) -> str:
    """The label of a link in a picture; empty if it says no more than the line."""
    relation = "" if edge.relation == "related" else on_one_line(edge.relation).replace("_", " ")
    return f"{relation}?" if edge.suggested else relation


def shortened(text: str, longest: int) -> str:
    """A text on one line, cut at a word and marked with an ellipsis if it is longer."""
    line = " ".join(text[: 4 * longest].split())
    if len(line) <= longest:
        return line
    cut = line[: longest - 1]
    head, _, _ = cut.rpartition(" ")
    return (head if len(head) > longest // 2 else cut).rstrip() + "…"
