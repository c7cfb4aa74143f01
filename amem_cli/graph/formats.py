"""The network of notes as Graphviz, mermaid, GraphML and a canvas of Obsidian (JSON Canvas 1.0)."""

from __future__ import annotations

import hashlib
import math
import re
import textwrap
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple
from urllib.parse import quote

from amem_cli.data import table
from amem_cli.graph.clusters import Cluster, cluster_of
from amem_cli.graph.graph import (
    Edge,
    Graph,
    distances,
    joining,
    part,
    relation_label,
    shortened,
)
from amem_cli.language.safe_text import flowed, json_text, on_one_line

FORMATS = ("text", "json", "dot", "mermaid", "graphml", "canvas", "html")
MAP_FORMATS = ("html", "json")
_OTHER_RELATION = "#64748b"

_LABEL_WIDTH = 26
_LABEL_LINES = 3
# Up to this many notes layers of boxes are readable; beyond, points that repel one another are.
_MOST_IN_LAYERS = 60
_MOST_WITH_REASONS = 60

_DOT_SETTINGS = """\
digraph vault {{
  label="{name}"; labelloc=t; fontsize=20;
  charset="UTF-8"; bgcolor="white"; fontname="Helvetica"; fontcolor="#334155";
  {layout}
  node [shape=box, style="rounded,filled", fillcolor="white", color="#94a3b8", \
fontname="Helvetica", fontsize=11, margin="0.14,0.08"];
  edge [color="{line}", arrowsize=0.6, fontname="Helvetica", fontsize=9, fontcolor="#64748b"];"""
_IN_LAYERS = "layout=dot; rankdir=LR; nodesep=0.25; ranksep=0.9; splines=spline;"
_REPELLING = 'layout=sfdp; overlap="prism"; overlap_scaling=-3; K=0.9; outputorder=edgesfirst;'

# What mermaid draws by default, `maxEdges` and `maxTextSize`; no diagram may raise its own bounds.
MOST_LINKS = 500
MOST_CHARACTERS = 50_000
_MOST_WITH_ADDRESSES = 150
_TITLE_LENGTH = 60
# Mermaid itself hides an escape behind these while it parses.
_PLACEHOLDERS = frozenset("°¶ß")

# What XML 1.0 cannot write or advises against, and the carriage return, which its readers change.
_NOT_IN_XML = re.compile("[^\t\n\u0020-\u007e\u00a0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def suffixes() -> dict[str, str]:
    named: dict[str, str] = table("pictures.toml")["suffixes"]
    return named


def export(
    form: str, graph: Graph, clusters: Sequence[Cluster], vault_name: str, root: str | None
) -> tuple[str, str]:
    """A network for another program, and a notice if something was left out.

    Args:
        root: path of the note whose neighbourhood it is; None for a whole vault.
    """
    if form == "dot":
        return dot_text(graph, clusters, vault_name, root), ""
    if form == "graphml":
        return graphml_text(graph, clusters), ""
    if form == "canvas":
        return canvas_text(graph, clusters, root), ""
    return mermaid_text(graph, clusters, vault_name, root)


def relation_colour(relation: str) -> str:
    colours: dict[str, str] = table("pictures.toml")["relations"]
    return colours.get(relation, _OTHER_RELATION)


def _cluster_colour(number: int) -> str:
    colours: list[str] = table("pictures.toml")["clusters"]
    return colours[number % len(colours)]


def obsidian_address(vault_name: str, path: str) -> str:
    """`obsidian://open?…` of a note in a vault's folder, of letters, digits and `%` alone."""
    vault, file = (quote(text.encode("utf-8", "replace"), safe="") for text in (vault_name, path))
    return f"obsidian://open?vault={vault}&file={file}"


def dot_text(
    graph: Graph, clusters: Sequence[Cluster], vault_name: str, root: str | None = None
) -> str:
    """A `digraph` with a subgraph for each cluster; the note at `root` is highlighted."""
    names = {path: f"n{number}" for number, path in enumerate(graph.nodes, 1)}
    group = cluster_of(clusters)
    in_layers = len(graph.nodes) <= _MOST_IN_LAYERS
    layout, line = (_IN_LAYERS, "#94a3b8") if in_layers else (_REPELLING, "#94a3b890")
    lines = [_DOT_SETTINGS.format(name=_escaped(vault_name), layout=layout, line=line)]
    for number, cluster in enumerate(clusters):
        fill = _cluster_colour(number)
        lines += [
            f"  subgraph cluster_{number} {{",
            f'    label="{_escaped(cluster.name)}"; fontsize=14;',
            f'    style="rounded,filled"; color="{fill}55"; fillcolor="{fill}14";',
            *(f"    {names[path]};" for path in cluster.paths),
            "  }",
        ]
    for path, name in names.items():
        attributes = _dot_node(graph, path, vault_name, group, in_layers=in_layers)
        if path == root:
            attributes |= {"penwidth": "3", "fillcolor": "#fef9c3"}
        lines.append(f"  {name} [{_listed(attributes)}];")
    few = len(graph.edges) <= _MOST_WITH_REASONS
    for edge in joining(graph):
        attributes = _dot_edge(edge, labelled=few)
        ends = f"{names[edge.source]} -> {names[edge.target]}"
        lines.append(f"  {ends} [{_listed(attributes)}];" if attributes else f"  {ends};")
    return "\n".join([*lines, "}"]) + "\n"


def _dot_node(
    graph: Graph, path: str, vault_name: str, group: Mapping[str, int], *, in_layers: bool
) -> dict[str, str]:
    note = graph.nodes[path]
    lines = textwrap.wrap(
        on_one_line(note.title), _LABEL_WIDTH, max_lines=_LABEL_LINES, placeholder=" …"
    )
    attributes = {
        "label": "\\n".join(map(_escaped, lines or [on_one_line(path)])),
        "tooltip": _escaped(note.context or note.title or path),
        "URL": _escaped(obsidian_address(vault_name, path)),
    }
    if path in group:
        colour = _cluster_colour(group[path])
        # `sfdp` draws no frames, so there the boxes are filled.
        attributes |= (
            {"color": colour} if in_layers else {"color": colour, "fillcolor": f"{colour}24"}
        )
    return attributes


def _dot_edge(edge: Edge, *, labelled: bool) -> dict[str, str]:
    attributes: dict[str, str] = {}
    if edge.relation:
        attributes["color"] = relation_colour(edge.relation)
        if labelled and relation_label(edge):
            attributes["label"] = _escaped(relation_label(edge))
    if edge.reason:
        attributes["tooltip"] = attributes["labeltooltip"] = _escaped(edge.reason)
    if edge.by == "machine":
        attributes["style"] = "dotted" if edge.suggested else "dashed"
    if edge.strength is not None:
        attributes["penwidth"] = f"{0.6 + 1.6 * edge.strength:.2f}"
    return attributes


def _listed(attributes: Mapping[str, str]) -> str:
    return ", ".join(f'{name}="{value}"' for name, value in attributes.items())


def _escaped(text: str) -> str:
    """Text for a quoted string that Graphviz reads as a label: no escapes, no HTML entities."""
    plain = " ".join(flowed(text).split())
    return plain.replace("&", "&amp;").replace("\\", "\\\\").replace('"', '\\"')


def mermaid_text(
    graph: Graph, clusters: Sequence[Cluster], vault_name: str, root: str | None = None
) -> tuple[str, str]:
    """A flowchart that mermaid draws by default, and a notice if it is only the most linked part.

    Notes near `root`, which is highlighted, are preferred.
    """
    degrees = graph.degrees()
    away = {} if root is None else distances(graph, root)
    order = sorted(graph.nodes, key=lambda path: (away.get(path, 0), -degrees[path], path))
    count, notice = len(order), ""
    while True:
        chosen = part(graph, order[:count])
        edges = joining(chosen)
        text = "\n".join(_mermaid_lines(chosen, edges, clusters, vault_name, root)) + "\n"
        if len(edges) <= MOST_LINKS and len(text) <= MOST_CHARACTERS:
            return text, notice
        # The excess shrinks about in proportion to the notes, so few rounds are needed.
        over = max(len(edges) / MOST_LINKS, len(text) / MOST_CHARACTERS)
        count = min(count - 1, int(count / over) + 1)
        notice = (
            f"mermaid draws at most {MOST_LINKS} links: wrote the {count} most linked of"
            f" {len(order)} notes; dot, graphml, canvas and html hold all"
        )


def _mermaid_lines(
    graph: Graph,
    edges: Sequence[Edge],
    clusters: Sequence[Cluster],
    vault_name: str,
    root: str | None,
) -> Iterator[str]:
    names = {path: f"n{number}" for number, path in enumerate(graph.nodes, 1)}
    yield "flowchart LR"
    boxes = {}
    for path, name in names.items():
        # Mermaid trims as JavaScript does, byte order marks too.
        title = shortened(graph.nodes[path].title, _TITLE_LENGTH).strip("\ufeff ")
        boxes[path] = f'{name}["{_mermaid_escaped(title or path)}"]'
    styles = []
    for number, cluster in enumerate(clusters):
        if members := [path for path in cluster.paths if path in boxes]:
            yield f'  subgraph c{number}["{_mermaid_escaped(cluster.name)}"]'
            yield from (f"    {boxes.pop(path)}" for path in members)
            yield "  end"
            colour = _cluster_colour(number)
            styles.append(f"  style c{number} fill:{colour}22,stroke:{colour}")
    yield from (f"  {box}" for box in boxes.values())
    for number, edge in enumerate(edges):
        arrow = "-.->" if edge.by == "machine" else "-->"
        label = ""
        if relation := relation_label(edge):
            label = f'|"{_mermaid_escaped(relation)}"|'
            styles.append(f"  linkStyle {number} stroke:{relation_colour(edge.relation)}")
        yield f"  {names[edge.source]} {arrow}{label} {names[edge.target]}"
    if len(names) <= _MOST_WITH_ADDRESSES:
        for path, name in names.items():
            yield f'  click {name} href "{obsidian_address(vault_name, path)}"'
    yield from styles
    if root in names:
        yield f"  style {names[root]} stroke-width:4px"


def _mermaid_escaped(text: str) -> str:
    """Text between quotes in which mermaid sees no syntax: characters by their numbers."""
    return "".join(
        f"#{ord(char)};"
        if char in _PLACEHOLDERS or (char.isascii() and not char.isalnum() and char != " ")
        else char
        for char in flowed(text)
    )


def graphml_text(graph: Graph, clusters: Sequence[Cluster]) -> str:
    """GraphML of a directed multigraph whose nodes are named by the paths of the notes.

    Lists are joined by `; `. What a note or a link does not have is left out.
    """
    import networkx

    network = networkx.MultiDiGraph()
    group = cluster_of(clusters)
    degrees = graph.degrees()
    names: dict[str, str] = {}
    for number, (path, note) in enumerate(graph.nodes.items(), 1):
        # Two paths that XML cannot hold may look the same in it; a number sets them apart.
        names[path] = path if path == _xml(path) else f"{_xml(path)} {number}"
        texts = {
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
        network.add_node(names[path], degree=degrees[path], **_xml_texts(texts))
    for number, edge in enumerate((*graph.edges, *graph.suggested), 1):
        texts = {"kind": edge.kind, "by": edge.by, "relation": edge.relation, "reason": edge.reason}
        strength = {} if edge.strength is None else {"strength": float(edge.strength)}
        mark = {"suggested": True} if edge.suggested else {}
        ends = names[edge.source], names[edge.target]
        network.add_edge(*ends, key=f"link-{number}", **_xml_texts(texts), **strength, **mark)
    return "\n".join(networkx.generate_graphml(network, named_key_ids=True)) + "\n"


def _xml_texts(texts: Mapping[str, str | None]) -> dict[str, str]:
    return {name: _xml(text) for name, text in texts.items() if text}


def _xml(text: str) -> str:
    return _NOT_IN_XML.sub("\N{REPLACEMENT CHARACTER}", text)


CARD_WIDTH = 320
CARD_HEIGHT = 200
_COLUMN_STEP = CARD_WIDTH + 120
_ROW_STEP = CARD_HEIGHT + 60
_MARGIN = 60
_BETWEEN_GROUPS = 160
# Width by height of what fills a wide screen.
_ASPECT = 1.6
_BETWEEN_SIDES = 360

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
        cards, frames = grouped_layout(graph, clusters)
    else:
        graph = part(graph, distances(graph, root))
        cards, frames = _sided_layout(graph, root), {}
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
    reason = shortened(flowed(edge.reason), _REASON_LENGTH) if with_reason else ""
    if label := ": ".join(filter(None, (relation_label(edge), reason))):
        arrow["label"] = label
    return arrow


def _id(*parts: str) -> str:
    """Sixteen hexadecimal digits, like Obsidian's own ids."""
    return hashlib.sha256("\0".join(parts).encode("utf-8", "replace")).hexdigest()[:16]


def grouped_layout(graph: Graph, clusters: Sequence[Cluster]) -> tuple[Places, Places]:
    """Cards by path, and frames around them by the names of clusters.

    The notes of no cluster have the last frame.
    """
    groups = {cluster.name: cluster.paths for cluster in clusters}
    in_clusters = {path for paths in groups.values() for path in paths}
    if rest := [path for path in graph.nodes if path not in in_clusters]:
        groups[_LOOSE] = rest
    tables = {name: _table(paths) for name, paths in groups.items()}
    frames = _shelves({name: _frame_size(cards) for name, cards in tables.items()})
    cards = {
        path: _moved(card, frames[name].x + _MARGIN, frames[name].y + _MARGIN)
        for name, table in tables.items()
        for path, card in table.items()
    }
    return cards, frames


def _sided_layout(graph: Graph, root: str) -> Places:
    """One note in the middle, what it links to on the right and what links to it on the left.

    Notes further away stand behind the note by which they are reached.
    """
    import networkx

    network = replace(graph, edges=joining(graph)).network()
    outgoing = {edge.target for edge in graph.edges if edge.source == root}
    columns: dict[int, list[str]] = defaultdict(list)
    for path, way in networkx.single_source_shortest_path(network, root).items():
        columns[(len(way) - 1) * (1 if way[:2][-1] in outgoing else -1)].append(path)
    return {
        path: Rectangle(
            column * (CARD_WIDTH + _BETWEEN_SIDES), int((row - len(paths) / 2) * _ROW_STEP)
        )
        for column, paths in columns.items()
        for row, path in enumerate(paths)
    }


def _table(paths: Sequence[str]) -> Places:
    rows = max(1, round(math.sqrt(len(paths) * _COLUMN_STEP / _ROW_STEP / _ASPECT)))
    columns = math.ceil(len(paths) / rows)
    return {
        path: Rectangle(at % columns * _COLUMN_STEP, at // columns * _ROW_STEP)
        for at, path in enumerate(paths)
    }


def _frame_size(cards: Places) -> tuple[int, int]:
    """Width and height around cards that begin at (0, 0)."""
    width = max(card.x for card in cards.values()) + CARD_WIDTH
    height = max(card.y for card in cards.values()) + CARD_HEIGHT
    return width + 2 * _MARGIN, height + 2 * _MARGIN


def _shelves(sizes: Mapping[str, tuple[int, int]]) -> Places:
    """Rectangles in rows that fill a wide screen, the tallest first, around (0, 0)."""
    area = sum((w + _BETWEEN_GROUPS) * (h + _BETWEEN_GROUPS) for w, h in sizes.values())
    # No packing is perfect: rows of exactly this area's width would make the whole too tall.
    limit = math.sqrt(area * _ASPECT) * 1.15
    x = y = tallest = widest = 0
    placed: Places = {}
    for name in sorted(sizes, key=lambda name: (name == _LOOSE, -sizes[name][1])):
        width, height = sizes[name]
        if x and x + width > limit:
            x, y, tallest = 0, y + tallest + _BETWEEN_GROUPS, 0
        placed[name] = Rectangle(x, y, width, height)
        widest, tallest = max(widest, x + width), max(tallest, height)
        x += width + _BETWEEN_GROUPS
    return {name: _moved(one, -widest // 2, -(y + tallest) // 2) for name, one in placed.items()}


def _moved(one: Rectangle, across: int, down: int) -> Rectangle:
    return one._replace(x=one.x + across, y=one.y + down)
