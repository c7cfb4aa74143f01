"""The network of notes as a mermaid flowchart."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from amem_cli.core.graph import distances, joining, part
from amem_cli.core.graph_clusters import Cluster
from amem_cli.rendering.graph_colours import CLUSTER_COLOURS, relation_colour, relation_label
from amem_cli.rendering.obsidian_address import obsidian_address
from amem_cli.rendering.output import on_one_line

if TYPE_CHECKING:
    from amem_cli.core.graph import Edge, Graph

# What mermaid draws by default, `maxEdges` and `maxTextSize`; no diagram may raise its own bounds.
MOST_LINKS = 500
MOST_CHARACTERS = 50_000
_MOST_WITH_ADDRESSES = 150
_TITLE_LENGTH = 60
# Stand in mermaid's own way of hiding an escape while it parses.
_PLACEHOLDERS = frozenset("°¶ß")


class Mermaid(NamedTuple):
    """A flowchart.

    Attributes:
        notes, links: how many are in it; fewer than in the network where mermaid draws no more.
    """

    text: str
    notes: int
    links: int


def mermaid_text(
    graph: Graph, clusters: Sequence[Cluster], vault_name: str, root: str | None = None
) -> Mermaid:
    """A flowchart that mermaid draws by default: of a large network the part most linked.

    Args:
        root: path of the note that is set off; the notes nearest to it are kept.
    """
    order = _most_linked(graph, root)
    count = len(order)
    while True:
        kept = part(graph, order[:count])
        edges = joining(kept)
        text = "\n".join(_lines(kept, edges, clusters, vault_name, root)) + "\n"
        if len(edges) <= MOST_LINKS and len(text) <= MOST_CHARACTERS:
            return Mermaid(text, len(kept.nodes), len(edges))
        over = max(len(edges) / MOST_LINKS, len(text) / MOST_CHARACTERS)
        count = min(count - 1, int(count / over) + 1)


def _most_linked(graph: Graph, root: str | None) -> list[str]:
    degrees = graph.degrees()
    away = {} if root is None else distances(graph, root, len(graph.nodes))
    return sorted(graph.nodes, key=lambda path: (away.get(path, 0), -degrees[path], path))


def _lines(
    graph: Graph,
    edges: Sequence[Edge],
    clusters: Sequence[Cluster],
    vault_name: str,
    root: str | None,
) -> Iterator[str]:
    names = {path: f"n{number}" for number, path in enumerate(graph.nodes, 1)}
    yield "flowchart LR"
    for number, cluster in enumerate(clusters):
        members = [path for path in cluster.paths if path in names]
        if members:
            yield f'  subgraph c{number}["{_escaped(cluster.name)}"]'
            yield from (f"    {names[path]}{_box(graph, path)}" for path in members)
            yield "  end"
    grouped = {path for cluster in clusters for path in cluster.paths}
    yield from (
        f"  {name}{_box(graph, path)}" for path, name in names.items() if path not in grouped
    )
    for edge in edges:
        arrow = "-.->" if edge.by == "machine" else "-->"
        relation = relation_label(edge.relation)
        label = f'|"{_escaped(relation)}"|' if relation else ""
        yield f"  {names[edge.source]} {arrow}{label} {names[edge.target]}"
    if len(names) <= _MOST_WITH_ADDRESSES:
        for path, name in names.items():
            yield f'  click {name} href "{obsidian_address(vault_name, path)}"'
    yield from _styles(names, edges, clusters, root)


def _box(graph: Graph, path: str) -> str:
    title = textwrap.shorten(graph.nodes[path].title, _TITLE_LENGTH, placeholder=" …")
    return f'["{_escaped(title or path)}"]'


def _styles(
    names: Mapping[str, str], edges: Iterable[Edge], clusters: Sequence[Cluster], root: str | None
) -> Iterator[str]:
    for number, cluster in enumerate(clusters):
        if any(path in names for path in cluster.paths):
            colour = CLUSTER_COLOURS[number % len(CLUSTER_COLOURS)]
            yield f"  style c{number} fill:{colour}22,stroke:{colour}"
    for number, edge in enumerate(edges):
        if relation_label(edge.relation):
            yield f"  linkStyle {number} stroke:{relation_colour(edge.relation)}"
    if root is not None and root in names:
        yield f"  style {names[root]} stroke-width:4px"


def _escaped(text: str) -> str:
    """Text between quotes of which mermaid reads nothing as its own: by numbers of characters."""
    return "".join(
        f"#{ord(char)};" if char in _PLACEHOLDERS or _is_sign(char) else char
        for char in on_one_line(text)
    )


def _is_sign(char: str) -> bool:
    return char.isascii() and not char.isalnum() and char != " "
