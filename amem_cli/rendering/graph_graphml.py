"""The network of notes as GraphML, with all that is known of notes and links."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from amem_cli.core.graph_clusters import Cluster, cluster_of

if TYPE_CHECKING:
    from amem_cli.core.graph import Edge, Graph

# What XML 1.0 cannot write or advises against, and the carriage return, which its readers change.
_NOT_IN_XML = re.compile("[^\t\n\u0020-\u007e\u00a0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def graphml_text(graph: Graph, clusters: Sequence[Cluster]) -> str:
    """GraphML of a directed multigraph whose nodes are called by the paths of the notes.

    Lists are joined by `; `. What a note or a link does not have is left out.
    """
    import networkx

    network = networkx.MultiDiGraph()
    group = cluster_of(clusters)
    degrees = graph.degrees()
    names = _names(graph)
    for path, note in graph.nodes.items():
        known = {
            "path": path,
            "id": note.id,
            "title": note.title,
            "created": note.created,
            "modified": note.modified,
            "tags": "; ".join(note.tags),
            "keywords": "; ".join(note.keywords),
            "context": note.context,
            "cluster": clusters[group[path]].name if path in group else "",
        }
        network.add_node(names[path], degree=degrees[path], **_written(known))
    for number, edge in enumerate(graph.edges, 1):
        ends = names[edge.source], names[edge.target]
        network.add_edge(*ends, key=f"link-{number}", **_edge(edge))
    return "\n".join(networkx.generate_graphml(network, named_key_ids=True)) + "\n"


def _edge(edge: Edge) -> dict[str, Any]:
    known = {"kind": edge.kind, "by": edge.by, "relation": edge.relation, "reason": edge.reason}
    strength = {} if edge.strength is None else {"strength": float(edge.strength)}
    return {**_written(known), **strength}


def _written(known: Mapping[str, str | None]) -> dict[str, str]:
    return {name: _xml(text) for name, text in known.items() if text}


def _names(graph: Graph) -> dict[str, str]:
    """Paths as XML can hold them; a number sets apart those that it cannot."""
    names: dict[str, str] = {}
    for number, path in enumerate(graph.nodes, 1):
        name = _xml(path)
        names[path] = path if name == path else f"{name} {number}"
    return names


def _xml(text: str) -> str:
    return _NOT_IN_XML.sub("\N{REPLACEMENT CHARACTER}", text)
