"""The network of notes for Graphviz."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from amem_cli.core.graph import joining
from amem_cli.core.graph_clusters import cluster_of
from amem_cli.rendering.graph_colours import CLUSTER_COLOURS, relation_colour, relation_label, tint
from amem_cli.rendering.obsidian_address import obsidian_address
from amem_cli.rendering.output import on_one_line

if TYPE_CHECKING:
    from amem_cli.core.graph import Edge, Graph
    from amem_cli.core.graph_clusters import Cluster

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
