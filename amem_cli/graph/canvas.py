"""The network of notes as a canvas that Obsidian opens (JSON Canvas 1.0), and its layout."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from amem_cli.graph.graph import distances, joining, part, relation_label, shortened
from amem_cli.language.safe_text import json_text, on_one_line

if TYPE_CHECKING:
    from amem_cli.graph.clusters import Cluster
    from amem_cli.graph.graph import Edge, Graph

CARD_WIDTH = 320
CARD_HEIGHT = 200
_COLUMN_STEP = CARD_WIDTH + 120
_ROW_STEP = CARD_HEIGHT + 60
_MARGIN = 60
_BETWEEN_GROUPS = 160
# Width by height of what fills a wide screen.
_ASPECT = 1.6
_CARDS_IN_A_COLUMN = 8
_BETWEEN_SIDES = 360
# Springs take too long for a larger group.
_MOST_WITH_SPRINGS = 400

_LOOSE = "not linked"
# Obsidian's own colours: 1 red, 2 orange, 3 yellow, 4 green, 5 cyan, 6 purple.
_FRAME_COLOURS = ("4", "5", "6", "3", "2", "1")
_RELATION_COLOURS = {"contradicts": "1", "supersedes": "2", "supports": "4", "causes": "6"}
_ROOT_COLOUR = "3"
_REASON_LENGTH = 70


class Rectangle(NamedTuple):
    """A card or frame on the canvas; `y` grows downwards."""

    x: int
    y: int
    width: int = CARD_WIDTH
    height: int = CARD_HEIGHT


Places = dict[str, Rectangle]


def canvas_text(graph: Graph, clusters: Sequence[Cluster], root: str | None = None) -> str:
    """A canvas with a card for each note and an arrow for each link; `root` is in the middle.

    Without it, each cluster is a group. Ids follow from paths alone, so a new canvas of the same
    vault differs only where the network does.
    """
    if root is None:
        cards, frames = grouped_layout(graph, clusters, _LOOSE)
    else:
        away = distances(graph, root)
        graph = part(graph, away)
        joined = replace(graph, edges=joining(graph))
        cards, frames = _sided_layout(joined, root, away), {}
    nodes: list[dict[str, Any]] = []
    # Obsidian draws in this order: groups lie below the cards in them.
    for number, (name, frame) in enumerate(frames.items()):
        group = {"id": _id("group", name), "type": "group", "label": on_one_line(name)}
        colour = {} if name == _LOOSE else {"color": _FRAME_COLOURS[number % len(_FRAME_COLOURS)]}
        nodes.append({**group, **frame._asdict(), **colour})
    for path, place in cards.items():
        card = {"id": _id("note", path), "type": "file", "file": path, **place._asdict()}
        nodes.append({**card, "color": _ROOT_COLOUR} if path == root else card)
    edges = [_arrow(edge, cards, root) for edge in joining(graph)]
    return json_text({"nodes": nodes, "edges": edges}, indent=2) + "\n"


def _arrow(edge: Edge, cards: Places, root: str | None) -> dict[str, Any]:
    source, target = cards[edge.source], cards[edge.target]
    across, down = target.x - source.x, target.y - source.y
    if abs(across) >= source.width:
        sides = ("right", "left") if across > 0 else ("left", "right")
    else:
        sides = ("bottom", "top") if down > 0 else ("top", "bottom")
    arrow = {
        "id": _id("link", edge.source, edge.target),
        "fromNode": _id("note", edge.source),
        "fromSide": sides[0],
        "toNode": _id("note", edge.target),
        "toSide": sides[1],
    }
    if edge.relation in _RELATION_COLOURS:
        arrow["color"] = _RELATION_COLOURS[edge.relation]
    with_reason = root in (edge.source, edge.target)
    reason = shortened(on_one_line(edge.reason), _REASON_LENGTH) if with_reason else ""
    if label := ": ".join(filter(None, (relation_label(edge), reason))):
        arrow["label"] = label
    return arrow


def _id(*parts: str) -> str:
    """Sixteen hexadecimal digits, like Obsidian's own ids."""
    return hashlib.sha256("\0".join(parts).encode("utf-8", "replace")).hexdigest()[:16]


def grouped_layout(graph: Graph, clusters: Sequence[Cluster], loose: str) -> tuple[Places, Places]:
    """Cards by path, and frames around them by the names of clusters.

    Args:
        loose: the name of the last frame, which has the notes of no cluster.
    """
    groups = {cluster.name: cluster.paths for cluster in clusters}
    in_clusters = {path for paths in groups.values() for path in paths}
    if rest := [path for path in graph.nodes if path not in in_clusters]:
        groups[loose] = rest
    tables = {name: _table(graph, paths) for name, paths in groups.items()}
    frames = _shelves({name: _frame_size(cards) for name, cards in tables.items()}, last=loose)
    cards = {
        path: _moved(card, frames[name].x + _MARGIN, frames[name].y + _MARGIN)
        for name, table in tables.items()
        for path, card in table.items()
    }
    return cards, frames


def _sided_layout(graph: Graph, root: str, away: Mapping[str, int]) -> Places:
    """One note in the middle, what it links to on the right and what links to it on the left."""
    sides = _sides(graph, root, away)
    cards = {root: Rectangle(0, -CARD_HEIGHT // 2)}
    for side in (1, -1):
        start = CARD_WIDTH + _BETWEEN_SIDES
        for distance in range(1, max(away.values(), default=0) + 1):
            paths = [path for path, own in sides.items() if own == (side, distance)]
            columns = math.ceil(len(paths) / _CARDS_IN_A_COLUMN)
            height = math.ceil(len(paths) / columns) if columns else 0
            for number, path in enumerate(paths):
                column, row = divmod(number, height)
                length = min(height, len(paths) - column * height)
                y = int((row - length / 2) * _ROW_STEP + (_ROW_STEP - CARD_HEIGHT) / 2)
                cards[path] = Rectangle(side * (start + column * _COLUMN_STEP), y)
            if paths:
                start += (columns - 1) * _COLUMN_STEP + CARD_WIDTH + _BETWEEN_SIDES
    return cards


def _sides(graph: Graph, root: str, away: Mapping[str, int]) -> dict[str, tuple[int, int]]:
    """For each note its side (1 right, -1 left) and its distance, in the order of its column."""
    outgoing = {edge.target for edge in graph.edges if edge.source == root}
    incoming = {edge.source for edge in graph.edges if edge.target == root}
    near = graph.neighbours()
    right, left = outgoing - incoming, incoming - outgoing
    for path in sorted(outgoing & incoming):
        (right if len(right) <= len(left) else left).add(path)
    sides = {path: (1 if path in right else -1, 1) for path in sorted(right | left)}
    # Notes further out follow the order of the notes by which they were reached.
    for distance in range(1, max(away.values(), default=0)):
        for path in [path for path, own in sides.items() if own[1] == distance]:
            for other in sorted(near[path]):
                if away.get(other) == distance + 1 and other not in sides:
                    sides[other] = (sides[path][0], distance + 1)
    return sides


def _table(graph: Graph, paths: Sequence[str]) -> Places:
    """Cards in rows and columns, linked ones near one another."""
    rows = max(1, round(math.sqrt(len(paths) * _COLUMN_STEP / _ROW_STEP / _ASPECT)))
    columns = math.ceil(len(paths) / rows)
    places = _spring_places(graph, paths)
    order = sorted(paths, key=lambda path: places[path][1]) if places else paths
    cards = {}
    for row in range(math.ceil(len(paths) / columns)):
        across = order[row * columns : (row + 1) * columns]
        if places:
            across = sorted(across, key=lambda path: places[path][0])
        for column, path in enumerate(across):
            cards[path] = Rectangle(column * _COLUMN_STEP, row * _ROW_STEP)
    return cards


def _spring_places(graph: Graph, paths: Sequence[str]) -> Mapping[str, Sequence[float]]:
    """Where links pull the notes (Fruchterman and Reingold 1991); empty without links."""
    network = part(graph, paths).network()
    if not network.edges or len(paths) > _MOST_WITH_SPRINGS:
        return {}
    import networkx

    places: Mapping[str, Sequence[float]] = networkx.spring_layout(network, seed=0, iterations=60)
    return places


def _frame_size(cards: Places) -> tuple[int, int]:
    """Width and height around cards that begin at (0, 0)."""
    width = max(card.x for card in cards.values()) + CARD_WIDTH
    height = max(card.y for card in cards.values()) + CARD_HEIGHT
    return width + 2 * _MARGIN, height + 2 * _MARGIN


def _shelves(sizes: Mapping[str, tuple[int, int]], last: str) -> Places:
    """Rectangles in rows that fill a wide screen, the tallest first, around (0, 0)."""
    area = sum((w + _BETWEEN_GROUPS) * (h + _BETWEEN_GROUPS) for w, h in sizes.values())
    # No packing is perfect: rows of exactly this area's width would make the whole too tall.
    limit = math.sqrt(area * _ASPECT) * 1.15
    x = y = tallest = widest = 0
    placed: Places = {}
    for name in sorted(sizes, key=lambda name: (name == last, -sizes[name][1])):
        width, height = sizes[name]
        if x and x + width > limit:
            x, y, tallest = 0, y + tallest + _BETWEEN_GROUPS, 0
        placed[name] = Rectangle(x, y, width, height)
        widest, tallest = max(widest, x + width), max(tallest, height)
        x += width + _BETWEEN_GROUPS
    return {name: _moved(one, -widest // 2, -(y + tallest) // 2) for name, one in placed.items()}


def _moved(one: Rectangle, across: int, down: int) -> Rectangle:
    return one._replace(x=one.x + across, y=one.y + down)
