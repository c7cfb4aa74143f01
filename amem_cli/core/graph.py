"""The network of notes: hubs, orphans, clusters, broken links, neighbourhoods."""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from amem_cli.core.resolution import NoteNames, is_attachment, resolve

if TYPE_CHECKING:
    from amem_cli.core.index_port import LinkKind, NoteLink, NoteSummary
    from amem_cli.core.journal import LinkRecord


@dataclass(frozen=True, slots=True)
class Edge:
    """A link between two notes, by their paths.

    Attributes:
        by: who made it; a link in the body is always a person's.
        relation, strength, reason: as recorded when it was made, empty or None where unknown.
    """

    source: str
    target: str
    kind: LinkKind
    by: str
    relation: str = ""
    strength: float | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class BrokenLink:
    """A link to a note that does not exist."""

    source: str
    target: str


@dataclass(frozen=True, slots=True)
class Graph:
    """Notes and links.

    Attributes:
        nodes: notes by path.
        edges: each linked pair and kind once, by source, then target.
    """

    nodes: Mapping[str, NoteSummary]
    edges: tuple[Edge, ...]
    broken: tuple[BrokenLink, ...]

    def degrees(self) -> Mapping[str, int]:
        """Number of different notes that a note is linked with, by path."""
        return {path: len(near) for path, near in self.neighbours().items()}

    def neighbours(self) -> dict[str, list[str]]:
        """Linked notes in either direction, by path, each once."""
        near: dict[str, dict[str, None]] = {path: {} for path in self.nodes}
        for edge in self.edges:
            near[edge.source][edge.target] = None
            near[edge.target][edge.source] = None
        return {path: list(found) for path, found in near.items()}

    def orphans(self) -> list[str]:
        """Notes without any link, by path."""
        return sorted(path for path, near in self.neighbours().items() if not near)

    def hubs(self, limit: int = 5) -> list[tuple[str, int]]:
        """The most linked notes with their degree."""
        order = sorted(self.degrees().items(), key=lambda item: (-item[1], item[0]))
        return [(path, degree) for path, degree in order[:limit] if degree > 1]


def build(
    notes: Iterable[NoteSummary],
    links: Iterable[tuple[str, NoteLink]],
    records: Mapping[tuple[str, str], LinkRecord],
    names: NoteNames,
) -> Graph:
    """Resolve all links; those to attachments are left out, to nothing are broken."""
    nodes = {note.path: note for note in notes}
    edges: dict[tuple[str, str, str], Edge] = {}
    broken: dict[tuple[str, str], BrokenLink] = {}
    for source, link in links:
        target = resolve(link.target, source, names)
        if target is None or target not in nodes:
            if not is_attachment(link.target):
                broken.setdefault((source, link.target), BrokenLink(source, link.target))
        elif target != source:
            edge = _edge(source, nodes[target], link, records)
            edges.setdefault((source, target, link.kind), edge)
    ordered = tuple(edges[key] for key in sorted(edges))
    return Graph(nodes, ordered, tuple(broken[key] for key in sorted(broken)))


def _edge(
    source: str,
    target: NoteSummary,
    link: NoteLink,
    records: Mapping[tuple[str, str], LinkRecord],
) -> Edge:
    record = records.get((source, target.key)) or records.get((source, target.path))
    if link.kind == "wikilink" or record is None:
        return Edge(source, target.path, link.kind, "person")
    return Edge(
        source,
        target.path,
        link.kind,
        record.by,
        record.relation,
        record.strength if record.by == "machine" else None,
        record.reason,
    )


def clusters(graph: Graph) -> list[tuple[str, list[str]]]:
    """Groups of closely linked notes with a name each, largest first; singletons left out.

    Louvain communities (Blondel et al. 2008) with a fixed seed, so that the answer is the same for
    the same vault.
    """
    import networkx

    network = networkx.Graph()
    network.add_nodes_from(sorted(graph.nodes))
    network.add_edges_from(sorted((edge.source, edge.target) for edge in graph.edges))
    groups = networkx.community.louvain_communities(network, seed=0)
    found = [sorted(group) for group in groups if len(group) > 1]
    found.sort(key=lambda group: (-len(group), group[0]))
    return [(cluster_name(graph, group), group) for group in found]


def cluster_name(graph: Graph, paths: Sequence[str]) -> str:
    """The tag that most of the notes share, else the title of the most linked one."""
    tags = Counter(tag for path in paths for tag in graph.nodes[path].tags)
    if tags:
        tag, count = max(tags.items(), key=lambda item: (item[1], item[0]))
        if count * 2 >= len(paths):
            return f"#{tag}"
    degrees = graph.degrees()
    return graph.nodes[max(paths, key=lambda path: (degrees[path], path))].title


@dataclass(frozen=True, slots=True)
class Branch:
    """A note in the neighbourhood of another, with the link that leads to it.

    Attributes:
        edge: None at the root.
        children: notes first reached from here.
    """

    path: str
    edge: Edge | None
    children: tuple[Branch, ...] = ()


def neighbourhood(graph: Graph, root: str, depth: int) -> Branch:
    """The notes within `depth` links of `root` as a tree, each once, at its shortest distance."""
    leading: dict[str, list[Edge]] = defaultdict(list)
    for edge in graph.edges:
        leading[edge.source].append(edge)
        leading[edge.target].append(edge)
    parents: dict[str, tuple[str, Edge]] = {}
    distance = {root: 0}
    queue = deque([root])
    while queue:
        path = queue.popleft()
        if distance[path] >= depth:
            continue
        for edge in sorted(leading[path], key=lambda edge: (edge.source != path, edge.by)):
            other = edge.target if edge.source == path else edge.source
            if other not in distance:
                distance[other] = distance[path] + 1
                parents[other] = (path, edge)
                queue.append(other)
    return _branches(root, parents, distance)


def _branches(
    root: str, parents: Mapping[str, tuple[str, Edge]], distance: Mapping[str, int]
) -> Branch:
    built: dict[str, list[Branch]] = defaultdict(list)
    # From the far end inwards, so that every branch is whole before it is attached.
    for path in sorted(parents, key=lambda path: (-distance[path], path)):
        parent, edge = parents[path]
        built[parent].append(Branch(path, edge, tuple(built[path])))
    return Branch(root, None, tuple(built[root]))
