"""The network of notes: links resolved, hubs, orphans, broken links, neighbourhoods.

The network of notes as the index has it.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from amem_cli.markdown.links import is_attachment
from amem_cli.notes.names import NoteNames, resolve

if TYPE_CHECKING:
    from amem_cli.index.memory_index import MemoryIndex
    from amem_cli.index.records import LinkKind, NoteLink, NoteSummary
    from amem_cli.journal.events import LinkRecord


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


def joining(graph: Graph) -> tuple[Edge, ...]:
    """One edge from a note to another, the one that says most, where both kinds of link lead."""
    best: dict[tuple[str, str], Edge] = {}
    for edge in graph.edges:
        pair = edge.source, edge.target
        if pair not in best or _telling(edge) > _telling(best[pair]):
            best[pair] = edge
    return tuple(best.values())


def _telling(edge: Edge) -> tuple[bool, bool]:
    return bool(edge.reason), bool(edge.relation)


def distances(graph: Graph, root: str, depth: int) -> dict[str, int]:
    """How many links away from `root` each note within `depth` links is, in either direction."""
    near = graph.neighbours()
    found = {root: 0}
    queue = deque([root])
    while queue:
        path = queue.popleft()
        if found[path] < depth:
            for other in near[path]:
                if other not in found:
                    found[other] = found[path] + 1
                    queue.append(other)
    return found


def part(graph: Graph, paths: Collection[str]) -> Graph:
    """These notes, the links among them and the broken ones that stand in them."""
    kept = set(paths)
    return Graph(
        {path: note for path, note in graph.nodes.items() if path in kept},
        tuple(edge for edge in graph.edges if edge.source in kept and edge.target in kept),
        tuple(link for link in graph.broken if link.source in kept),
    )


def public(graph: Graph) -> Graph:
    """The network without private notes; no link of theirs or to them is left."""
    return part(graph, [path for path, note in graph.nodes.items() if not note.private])


@dataclass(frozen=True, slots=True)
class Branch:
    """A note in the neighbourhood of another, with the link that leads to it.

    Attributes:
        edge: None at the root; of several that which says most.
        mutual: each of the two notes links to the other.
        children: notes first reached from here, those with a reason and of great strength first.
    """

    path: str
    edge: Edge | None
    mutual: bool = False
    children: tuple[Branch, ...] = ()


def neighbourhood(graph: Graph, root: str, depth: int) -> Branch:
    """The notes within `depth` links of `root` as a tree, each once, at its shortest distance."""
    leading: dict[str, dict[str, list[Edge]]] = defaultdict(lambda: defaultdict(list))
    for edge in joining(graph):
        leading[edge.source][edge.target].append(edge)
        leading[edge.target][edge.source].append(edge)
    parents: dict[str, tuple[str, list[Edge]]] = {}
    distance = {root: 0}
    queue = deque([root])
    while queue:
        path = queue.popleft()
        if distance[path] >= depth:
            continue
        for other, edges in sorted(leading[path].items(), key=lambda item: _order(path, *item)):
            if other not in distance:
                distance[other] = distance[path] + 1
                parents[other] = (path, edges)
                queue.append(other)
    return _branches(root, parents)


def _order(path: str, other: str, edges: Sequence[Edge]) -> tuple[object, ...]:
    best = max(edges, key=_telling)
    return (not best.reason, -(best.strength or 0.0), best.source != path, other)


def _branches(root: str, parents: Mapping[str, tuple[str, list[Edge]]]) -> Branch:
    children: dict[str, list[str]] = defaultdict(list)
    for path, (parent, _) in parents.items():
        children[parent].append(path)
    built: dict[str, Branch] = {}
    # Notes were reached from the root outwards; every branch is whole before it is attached.
    for path in reversed([root, *parents]):
        below = tuple(built[child] for child in children[path])
        edges = parents[path][1] if path in parents else []
        best = max(edges, key=_telling) if edges else None
        built[path] = Branch(path, best, len(edges) > 1, below)
    return built[root]


def vault_graph(index: MemoryIndex) -> Graph:
    """The whole network as the index has it."""
    from amem_cli.notes.names import NameTable

    notes = list(index.notes.summaries())
    names = NameTable((note.path, note.aliases, note.title) for note in notes)
    return build(notes, index.links.all(), index.link_history.records(), names)
