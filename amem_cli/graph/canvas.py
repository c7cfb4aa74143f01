"""Where the notes of a network lie as cards on a plane, none on another."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from amem_cli.graph.graph import joining, part

if TYPE_CHECKING:
    from amem_cli.graph.clusters import Cluster
    from amem_cli.graph.graph import Graph

CARD_WIDTH = 320
CARD_HEIGHT = 200
_GAP_ACROSS = 120
_GAP_DOWN = 60
_MARGIN = 60
_BETWEEN_GROUPS = 160
_STRETCHES = (1.0, 1.15, 1.3, 1.5, 1.75, 2.0)
# Width by height of what fills a wide screen.
_ASPECT = 1.6
# Around one note columns hold this many cards before the next one begins.
_MOST_IN_A_COLUMN = 8
_BETWEEN_SIDES = 360
# A group of more notes is filled by their order alone; springs take too long.
_MOST_WITH_SPRINGS = 400


@dataclass(frozen=True, slots=True)
class Rectangle:
    """A place on the plane; `y` grows downwards."""

    x: int
    y: int
    width: int = CARD_WIDTH
    height: int = CARD_HEIGHT

    def moved(self, across: int, down: int) -> Rectangle:
        """The same somewhere else."""
        return Rectangle(self.x + across, self.y + down, self.width, self.height)


@dataclass(frozen=True, slots=True)
class Layout:
    """Cards by path, and frames around those that belong together, by name."""

    cards: Mapping[str, Rectangle]
    frames: Mapping[str, Rectangle]


def grouped_layout(graph: Graph, clusters: Sequence[Cluster], loose: str) -> Layout:
    """Each cluster in a frame of its own, and the notes without one in a last frame.

    Args:
        loose: the name of the last frame.
    """
    inside = {path for cluster in clusters for path in cluster.paths}
    groups = [(cluster.name, list(cluster.paths)) for cluster in clusters]
    rest = [path for path in graph.nodes if path not in inside]
    if rest:
        groups.append((loose, rest))
    tables = {name: _table(graph, paths) for name, paths in groups}
    frames = _shelves({name: _frame(cards) for name, cards in tables.items()}, last=loose)
    placed = {
        path: card.moved(frames[name].x + _MARGIN, frames[name].y + _MARGIN)
        for name, cards in tables.items()
        for path, card in cards.items()
    }
    return Layout(placed, frames)


def sided_layout(graph: Graph, root: str, away: Mapping[str, int]) -> Layout:
    """One note in the middle, what it links to on the right and what links to it on the left.

    Args:
        away: how many links away from `root` each note is.
    """
    sides = _sides(graph, root, away)
    cards = {root: Rectangle(0, -CARD_HEIGHT // 2)}
    for side in (1, -1):
        start = CARD_WIDTH + _BETWEEN_SIDES
        for distance in range(1, max(away.values(), default=0) + 1):
            column = [path for path, own in sides.items() if own == (side, distance)]
            if column:
                cards |= _columns(column, side, start)
                start += _columns_width(len(column)) + _BETWEEN_SIDES
    return Layout(cards, {})


def _sides(graph: Graph, root: str, away: Mapping[str, int]) -> dict[str, tuple[int, int]]:
    """For each note its side (1 right, -1 left) and its distance, in the order of its column."""
    outgoing = {edge.target for edge in graph.edges if edge.source == root}
    incoming = {edge.source for edge in graph.edges if edge.target == root}
    near = graph.neighbours()
    right, left = outgoing - incoming, incoming - outgoing
    for path in sorted(outgoing & incoming):
        (right if len(right) <= len(left) else left).add(path)
    sides = {path: (1 if path in right else -1, 1) for path in sorted(right | left)}
    # What lies further out stands in the order of the notes by which it was reached.
    for distance in range(1, max(away.values(), default=0)):
        for path in [path for path, own in sides.items() if own[1] == distance]:
            for other in sorted(near[path]):
                if away.get(other) == distance + 1 and other not in sides:
                    sides[other] = (sides[path][0], distance + 1)
    return sides


def _columns(paths: Sequence[str], side: int, start: int) -> dict[str, Rectangle]:
    cards = {}
    count = math.ceil(len(paths) / _MOST_IN_A_COLUMN)
    height = math.ceil(len(paths) / count)
    for number, path in enumerate(paths):
        column, row = divmod(number, height)
        length = min(height, len(paths) - column * height)
        x = side * (start + column * (CARD_WIDTH + _GAP_ACROSS))
        y = int((row - length / 2) * (CARD_HEIGHT + _GAP_DOWN) + _GAP_DOWN / 2)
        cards[path] = Rectangle(x, y)
    return cards


def _columns_width(cards: int) -> int:
    count = math.ceil(cards / _MOST_IN_A_COLUMN)
    return count * CARD_WIDTH + (count - 1) * _GAP_ACROSS


def _table(graph: Graph, paths: Sequence[str]) -> dict[str, Rectangle]:
    """Cards in rows and columns, linked ones near one another."""
    cell = (CARD_WIDTH + _GAP_ACROSS) / (CARD_HEIGHT + _GAP_DOWN)
    rows = max(1, round(math.sqrt(len(paths) * cell / _ASPECT)))
    columns = math.ceil(len(paths) / rows)
    order = _by_springs(graph, paths)
    cards = {}
    for row in range(math.ceil(len(paths) / columns)):
        across = order[row * columns : (row + 1) * columns]
        across.sort(key=lambda item: item[1])
        for column, (path, _, _) in enumerate(across):
            cards[path] = Rectangle(
                column * (CARD_WIDTH + _GAP_ACROSS), row * (CARD_HEIGHT + _GAP_DOWN)
            )
    return cards


def _by_springs(graph: Graph, paths: Sequence[str]) -> list[tuple[str, float, float]]:
    """Notes with a place each where links pull (Fruchterman and Reingold 1991), from above."""
    inner = part(graph, paths)
    edges = sorted({tuple(sorted((edge.source, edge.target))) for edge in joining(inner)})
    if not edges or len(paths) > _MOST_WITH_SPRINGS:
        return [(path, float(number), 0.0) for number, path in enumerate(paths)]
    import networkx

    network = networkx.Graph()
    network.add_nodes_from(paths)
    network.add_edges_from(edges)
    places = networkx.spring_layout(network, seed=0, iterations=60)
    placed = [(path, float(places[path][0]), float(places[path][1])) for path in paths]
    return sorted(placed, key=lambda item: (item[2], item[0]))


def _frame(cards: Mapping[str, Rectangle]) -> tuple[int, int]:
    """Width and height around cards that begin at (0, 0)."""
    width = max(card.x + card.width for card in cards.values())
    height = max(card.y + card.height for card in cards.values())
    return width + 2 * _MARGIN, height + 2 * _MARGIN


def _shelves(sizes: Mapping[str, tuple[int, int]], last: str) -> dict[str, Rectangle]:
    """Rectangles in rows that fill a wide screen best, the tallest first, around (0, 0)."""
    if not sizes:
        return {}
    order = sorted(sizes, key=lambda name: (name == last, -sizes[name][1]))
    area = sum((w + _BETWEEN_GROUPS) * (h + _BETWEEN_GROUPS) for w, h in sizes.values())
    trials = [_rows(sizes, order, math.sqrt(area * _ASPECT) * stretch) for stretch in _STRETCHES]
    placed = min(trials, key=_screen_filled)
    across, down = (each // 2 for each in _extent(placed))
    return {name: each.moved(-across, -down) for name, each in placed.items()}


def _rows(
    sizes: Mapping[str, tuple[int, int]], order: Sequence[str], limit: float
) -> dict[str, Rectangle]:
    x = y = tallest = 0
    placed: dict[str, Rectangle] = {}
    for name in order:
        width, height = sizes[name]
        if x and x + width > limit:
            x, y, tallest = 0, y + tallest + _BETWEEN_GROUPS, 0
        placed[name] = Rectangle(x, y, width, height)
        x += width + _BETWEEN_GROUPS
        tallest = max(tallest, height)
    return placed


def _extent(placed: Mapping[str, Rectangle]) -> tuple[int, int]:
    return (
        max(each.x + each.width for each in placed.values()),
        max(each.y + each.height for each in placed.values()),
    )


def _screen_filled(placed: Mapping[str, Rectangle]) -> float:
    """Height of the screen that shows all."""
    width, height = _extent(placed)
    return max(width / _ASPECT, float(height))
