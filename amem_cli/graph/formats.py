"""The forms in which a network of notes can be written, by their names and the names of files.

Colours of clusters and relations, and what stands on a link, in every picture.
The network of notes as a canvas that Obsidian opens (JSON Canvas 1.0).
The network of notes as GraphML, with all that is known of notes and links.
Addresses that open a note in Obsidian.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

from amem_cli.graph.canvas import Layout, Rectangle, grouped_layout, sided_layout
from amem_cli.graph.clusters import Cluster, cluster_of
from amem_cli.graph.graph import distances, joining, part
from amem_cli.language.safe_text import json_text, on_one_line

if TYPE_CHECKING:
    from amem_cli.graph.graph import Edge, Graph

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
        from amem_cli.graph.diagrams import dot_text

        return Written(dot_text(graph, clusters, vault_name, root))
    if form == "graphml":
        return Written(graphml_text(graph, clusters))
    if form == "canvas":
        return Written(canvas_text(graph, clusters, root))
    from amem_cli.graph.diagrams import mermaid_text

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


# Tableau 10 and further ones in between, told apart on white and on near black.
CLUSTER_COLOURS = (
    "#4e79a7", "#f28e2b", "#59a14f", "#e15759", "#76b7b2", "#b07aa1", "#edc948", "#ff9da7",
    "#9c755f", "#d4a6c8", "#8cd17d", "#d37295",
)  # fmt: skip

_RELATION_COLOURS = {
    "contradicts": "#dc2626",
    "supersedes": "#ea580c",
    "supports": "#16a34a",
    "causes": "#9333ea",
    "example_of": "#0891b2",
    "part_of": "#0891b2",
}
_OTHER_RELATION = "#64748b"
_SHARE_OF_A_TINT = 0.14


def tint(colour: str) -> str:
    """The same colour, nearly white, that hides what lies under it; both are `#rrggbb`."""
    parts = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    return "#" + "".join(f"{round(255 - (255 - part) * _SHARE_OF_A_TINT):02x}" for part in parts)


def relation_colour(relation: str) -> str:
    """The colour of a link of this relation, `#rrggbb`."""
    return _RELATION_COLOURS.get(relation, _OTHER_RELATION)


def relation_label(relation: str) -> str:
    """What a picture writes on a link; nothing where the relation says no more than the line."""
    return "" if relation == "related" else on_one_line(relation).replace("_", " ")


_LOOSE = "not linked"
# Obsidian's own colours: 1 red, 2 orange, 3 yellow, 4 green, 5 cyan, 6 purple.
_FRAME_COLOURS = ("4", "5", "6", "3", "2", "1")
_CANVAS_COLOURS = {"contradicts": "1", "supersedes": "2", "supports": "4", "causes": "6"}
_ROOT_COLOUR = "3"
_REASON_LENGTH = 70


def canvas_text(graph: Graph, clusters: Sequence[Cluster], root: str | None = None) -> str:
    """A canvas with a card for each note and an arrow for each link.

    Ids follow from paths alone, so that a canvas made anew differs only where the network does.

    Args:
        root: path of the note in the middle; None puts each cluster into a group.
    """
    if root is None:
        layout = grouped_layout(graph, clusters, _LOOSE)
    else:
        away = distances(graph, root, len(graph.nodes))
        graph = part(graph, away)
        layout = sided_layout(graph, root, away)
    # Obsidian draws in this order: groups lie below the cards in them.
    nodes = [
        _group(name, place, number) for number, (name, place) in enumerate(layout.frames.items())
    ]
    nodes += [_card(path, place, is_root=path == root) for path, place in layout.cards.items()]
    edges = [
        _arrow(edge, layout, reasons=root in (edge.source, edge.target)) for edge in joining(graph)
    ]
    return json_text({"nodes": nodes, "edges": edges}, indent=2) + "\n"


def _card(path: str, place: Rectangle, *, is_root: bool) -> dict[str, Any]:
    card = {"id": _id("note", path), "type": "file", "file": path, **_place(place)}
    return {**card, "color": _ROOT_COLOUR} if is_root else card


def _group(name: str, place: Rectangle, number: int) -> dict[str, Any]:
    group = {"id": _id("group", name), "type": "group", "label": on_one_line(name)}
    colour = {} if name == _LOOSE else {"color": _FRAME_COLOURS[number % len(_FRAME_COLOURS)]}
    return {**group, **_place(place), **colour}


def _place(place: Rectangle) -> dict[str, int]:
    return {"x": place.x, "y": place.y, "width": place.width, "height": place.height}


def _arrow(edge: Edge, layout: Layout, *, reasons: bool) -> dict[str, Any]:
    sides = _sides(layout.cards[edge.source], layout.cards[edge.target])
    arrow = {
        "id": _id("link", edge.source, edge.target),
        "fromNode": _id("note", edge.source),
        "fromSide": sides[0],
        "toNode": _id("note", edge.target),
        "toSide": sides[1],
    }
    if edge.relation in _CANVAS_COLOURS:
        arrow["color"] = _CANVAS_COLOURS[edge.relation]
    if label := _label(edge, reasons=reasons):
        arrow["label"] = label
    return arrow


def _label(edge: Edge, *, reasons: bool) -> str:
    relation = relation_label(edge.relation)
    reason = on_one_line(edge.reason) if reasons else ""
    if len(reason) > _REASON_LENGTH:
        reason = reason[: _REASON_LENGTH - 1].rstrip() + "…"
    return ": ".join(each for each in (relation, reason) if each)


def _sides(source: Rectangle, target: Rectangle) -> tuple[str, str]:
    """The sides of two cards that face each other."""
    across, down = target.x - source.x, target.y - source.y
    if abs(across) >= source.width:
        return ("right", "left") if across > 0 else ("left", "right")
    return ("bottom", "top") if down > 0 else ("top", "bottom")


def _id(*parts: str) -> str:
    """Sixteen hexadecimal digits, as Obsidian's own."""
    told = "\0".join(parts).encode("utf-8", "replace")
    return hashlib.sha256(told).hexdigest()[:16]


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


def obsidian_address(vault_name: str, path: str) -> str:
    """`obsidian://open?…` of a note, of letters, digits and `%` alone.

    Args:
        vault_name: as Obsidian knows the vault: the name of its folder.
        path: of the note within the vault.
    """
    vault, file = (quote(_encodable(text), safe="") for text in (vault_name, path))
    return f"obsidian://open?vault={vault}&file={file}"


def _encodable(text: str) -> bytes:
    return text.encode("utf-8", "replace")
