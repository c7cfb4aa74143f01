"""The network of notes for Graphviz.

The network of notes as a mermaid flowchart.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from amem_cli.graph.clusters import Cluster, cluster_of
from amem_cli.graph.formats import (
    CLUSTER_COLOURS,
    obsidian_address,
    relation_colour,
    relation_label,
    tint,
)
from amem_cli.graph.graph import distances, joining, part
from amem_cli.language.safe_text import on_one_line

if TYPE_CHECKING:
    from amem_cli.graph.graph import Edge, Graph

_LABEL_WIDTH = 26
_LABEL_LINES = 3
# Up to this many notes layers of boxes can be read; beyond, points that repel one another can.
_MOST_IN_LAYERS = 60
_MOST_WITH_REASONS = 60


def dot_text(
    graph: Graph, clusters: Sequence[Cluster], vault_name: str, root: str | None = None
) -> str:
    """A `digraph` with a subgraph for each cluster; `dot` lays it out by itself.

    Args:
        root: path of the note that is set off.
    """
    names = {path: f"n{number}" for number, path in enumerate(graph.nodes, 1)}
    group = cluster_of(clusters)
    in_layers = len(graph.nodes) <= _MOST_IN_LAYERS
    lines = ["digraph vault {", *_settings(vault_name, in_layers=in_layers)]
    for number, cluster in enumerate(clusters):
        fill = CLUSTER_COLOURS[number % len(CLUSTER_COLOURS)]
        lines += [
            f"  subgraph cluster_{number} {{",
            f"    label={_quoted(cluster.name)}; fontsize=14;",
            f'    style="rounded,filled"; color="{fill}55"; fillcolor="{fill}14";',
            *(f"    {names[path]};" for path in cluster.paths),
            "  }",
        ]
    for path, name in names.items():
        told = _node(graph, path, vault_name, group, in_layers=in_layers)
        if path == root:
            told |= {"penwidth": "3", "fillcolor": "#fef9c3"}
        lines.append(f"  {name} [{_listed(told)}];")
    few = len(graph.edges) <= _MOST_WITH_REASONS
    for edge in joining(graph):
        attributes = _listed(_edge(edge, labelled=few))
        ends = f"{names[edge.source]} -> {names[edge.target]}"
        lines.append(f"  {ends} [{attributes}];" if attributes else f"  {ends};")
    return "\n".join([*lines, "}"]) + "\n"


def _settings(vault_name: str, *, in_layers: bool) -> Iterator[str]:
    yield f"  label={_quoted(vault_name)}; labelloc=t; fontsize=20;"
    yield '  charset="UTF-8"; bgcolor="white"; fontname="Helvetica"; fontcolor="#334155";'
    if in_layers:
        yield "  layout=dot; rankdir=LR; nodesep=0.25; ranksep=0.9; splines=spline;"
    else:
        yield '  layout=sfdp; overlap="prism"; overlap_scaling=-3; K=0.9; outputorder=edgesfirst;'
    yield (
        '  node [shape=box, style="rounded,filled", fillcolor="white", color="#94a3b8",'
        ' fontname="Helvetica", fontsize=11, margin="0.14,0.08"];'
    )
    colour = "#94a3b8" if in_layers else "#94a3b890"
    yield (
        f'  edge [color="{colour}", arrowsize=0.6, fontname="Helvetica", fontsize=9,'
        ' fontcolor="#64748b"];'
    )


def _node(
    graph: Graph, path: str, vault_name: str, group: Mapping[str, int], *, in_layers: bool
) -> dict[str, str]:
    note = graph.nodes[path]
    lines = textwrap.wrap(on_one_line(note.title), _LABEL_WIDTH) or [on_one_line(path)]
    if len(lines) > _LABEL_LINES:
        lines = [*lines[: _LABEL_LINES - 1], lines[_LABEL_LINES - 1] + " …"]
    attributes = {
        "label": "\\n".join(map(_escaped, lines)),
        "tooltip": _escaped(note.context or note.title or path),
        "URL": _escaped(obsidian_address(vault_name, path)),
    }
    if path in group:
        colour = CLUSTER_COLOURS[group[path] % len(CLUSTER_COLOURS)]
        # Where frames are not drawn the boxes are filled.
        fill = {} if in_layers else {"fillcolor": tint(colour)}
        attributes |= {"color": colour, **fill}
    return attributes


def _edge(edge: Edge, *, labelled: bool) -> dict[str, str]:
    attributes: dict[str, str] = {}
    if edge.relation:
        attributes["color"] = relation_colour(edge.relation)
        if labelled and relation_label(edge.relation):
            attributes["label"] = _escaped(relation_label(edge.relation))
    if edge.reason:
        attributes["tooltip"] = attributes["labeltooltip"] = _escaped(edge.reason)
    if edge.by == "machine":
        attributes["style"] = "dashed"
    if edge.strength is not None:
        attributes["penwidth"] = f"{0.6 + 1.6 * edge.strength:.2f}"
    return attributes


def _listed(attributes: Mapping[str, str]) -> str:
    return ", ".join(f'{name}="{value}"' for name, value in attributes.items())


def _quoted(text: str) -> str:
    return f'"{_escaped(text)}"'


def _escaped(text: str) -> str:
    """Text for a quoted string that Graphviz reads as a label: no escapes, no HTML entities."""
    plain = " ".join(on_one_line(text).split())
    return plain.replace("&", "&amp;").replace("\\", "\\\\").replace('"', '\\"')


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
            yield f'  subgraph c{number}["{_mermaid_escaped(cluster.name)}"]'
            yield from (f"    {names[path]}{_box(graph, path)}" for path in members)
            yield "  end"
    grouped = {path for cluster in clusters for path in cluster.paths}
    yield from (
        f"  {name}{_box(graph, path)}" for path, name in names.items() if path not in grouped
    )
    for edge in edges:
        arrow = "-.->" if edge.by == "machine" else "-->"
        relation = relation_label(edge.relation)
        label = f'|"{_mermaid_escaped(relation)}"|' if relation else ""
        yield f"  {names[edge.source]} {arrow}{label} {names[edge.target]}"
    if len(names) <= _MOST_WITH_ADDRESSES:
        for path, name in names.items():
            yield f'  click {name} href "{obsidian_address(vault_name, path)}"'
    yield from _styles(names, edges, clusters, root)


def _box(graph: Graph, path: str) -> str:
    title = textwrap.shorten(graph.nodes[path].title, _TITLE_LENGTH, placeholder=" …")
    return f'["{_mermaid_escaped(title or path)}"]'


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


def _mermaid_escaped(text: str) -> str:
    """Text between quotes of which mermaid reads nothing as its own: by numbers of characters."""
    return "".join(
        f"#{ord(char)};" if char in _PLACEHOLDERS or _is_sign(char) else char
        for char in on_one_line(text)
    )


def _is_sign(char: str) -> bool:
    return char.isascii() and not char.isalnum() and char != " "
