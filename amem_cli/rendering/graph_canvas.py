"""The network of notes as a canvas that Obsidian opens (JSON Canvas 1.0)."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from amem_cli.core.canvas_layout import Layout, Rectangle, grouped_layout, sided_layout
from amem_cli.core.graph import distances, joining, part
from amem_cli.rendering.graph_colours import relation_label
from amem_cli.rendering.output import json_text, on_one_line

if TYPE_CHECKING:
    from amem_cli.core.graph import Edge, Graph
    from amem_cli.core.graph_clusters import Cluster

_LOOSE = "not linked"
# Obsidian's own colours: 1 red, 2 orange, 3 yellow, 4 green, 5 cyan, 6 purple.
_FRAME_COLOURS = ("4", "5", "6", "3", "2", "1")
_RELATION_COLOURS = {"contradicts": "1", "supersedes": "2", "supports": "4", "causes": "6"}
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
    if edge.relation in _RELATION_COLOURS:
        arrow["color"] = _RELATION_COLOURS[edge.relation]
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
