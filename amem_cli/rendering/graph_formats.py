"""The forms in which a network of notes can be written, by their names and the names of files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from amem_cli.core.graph import Graph
    from amem_cli.core.graph_clusters import Cluster

FORMATS = ("text", "json", "dot", "mermaid", "graphml", "canvas", "html")
MAP_FORMATS = ("png", "html", "json")
SUFFIXES = {
    ".txt": "text",
    ".json": "json",
    ".dot": "dot",
    ".gv": "dot",
    ".mmd": "mermaid",
    ".mermaid": "mermaid",
    ".graphml": "graphml",
    ".canvas": "canvas",
    ".html": "html",
    ".htm": "html",
    ".png": "png",
}


class Written(NamedTuple):
    """A network in one of the forms.

    Attributes:
        notice: what of it could not be written; empty where all is.
    """

    text: str
    notice: str = ""


def format_of(path: PurePath) -> str | None:
    """The form that a file's suffix stands for; None for any other."""
    return SUFFIXES.get(path.suffix.lower())


def written_as(
    form: str, graph: Graph, clusters: Sequence[Cluster], vault_name: str, root: str | None
) -> Written:
    """A network for another program.

    Args:
        form: `dot`, `mermaid`, `graphml` or `canvas`.
        root: path of the note whose neighbourhood it is; None for a whole vault.
    """
    if form == "dot":
        from amem_cli.rendering.graph_dot import dot_text

        return Written(dot_text(graph, clusters, vault_name, root))
    if form == "graphml":
        from amem_cli.rendering.graph_graphml import graphml_text

        return Written(graphml_text(graph, clusters))
    if form == "canvas":
        from amem_cli.rendering.graph_canvas import canvas_text

        return Written(canvas_text(graph, clusters, root))
    from amem_cli.rendering.graph_mermaid import mermaid_text

    drawn = mermaid_text(graph, clusters, vault_name, root)
    if drawn.notes == len(graph.nodes):
        return Written(drawn.text)
    notice = (
        f"mermaid draws no more than 500 links: written are {drawn.notes} of {len(graph.nodes)}"
        " notes, those most linked; dot, graphml, canvas and html hold all"
    )
    return Written(drawn.text, notice)


def neighbourhood_document(
    document: dict[str, Any], root: str, away: Mapping[str, int]
) -> dict[str, Any]:
    """The document of a network that is a note's neighbourhood, with each note's distance."""
    nodes = [{**node, "distance": away[node["path"]]} for node in document["nodes"]]
    return {"root": root, **document, "nodes": nodes}


def map_document(
    document: dict[str, Any],
    positions: Mapping[str, tuple[float, float]],
    group: Mapping[str, str],
) -> dict[str, Any]:
    """The document of a network with the places of its notes on the map; null without a vector.

    Args:
        group: name of the group whose colour a note has, by path.
    """
    nodes = []
    for node in document["nodes"]:
        x, y = positions.get(node["path"], (None, None))
        nodes.append({**node, "x": x, "y": y, "group": group.get(node["path"])})
    return {**document, "nodes": nodes}
