"""Labels on a picture, none on another, of signs that a font on this machine has.

The map of notes as a picture (PNG).
"""

from __future__ import annotations

import io
import math
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from amem_cli.graph.clusters import Cluster
from amem_cli.graph.formats import CLUSTER_COLOURS
from amem_cli.language.safe_text import on_one_line

if TYPE_CHECKING:
    from matplotlib.transforms import Bbox

    from amem_cli.graph.graph import Graph

# In the order in which a sign is looked for; DejaVu Sans comes with matplotlib.
_FAMILIES = (
    "Inter", "Noto Sans", "Segoe UI", "Helvetica Neue", "DejaVu Sans", "Noto Sans CJK SC",
    "Noto Sans CJK JP", "Source Han Sans SC", "PingFang SC", "Hiragino Sans", "Microsoft YaHei",
    "Yu Gothic", "Malgun Gothic", "WenQuanYi Micro Hei", "Arial Unicode MS", "Noto Sans Arabic",
    "Noto Sans Hebrew", "Noto Sans Devanagari", "Noto Sans Thai",
)  # fmt: skip
# Offsets of a label from its point, in points of type, the best first.
_AROUND = (
    (0, 0), (0, 14), (0, -14), (26, 8), (-26, 8), (26, -8), (-26, -8), (0, 24), (0, -24),
    (48, 0), (-48, 0), (0, 38), (0, -38),
)  # fmt: skip
_PADDING_PIXELS = 3.0
_DOT_PIXELS = 5.0


class Label(NamedTuple):
    """A text for a picture.

    Attributes:
        point: in the coordinates of the axes' data.
        size: in points.
        strong: bold, and centred on its point where there is room.
    """

    text: str
    point: tuple[float, float]
    colour: str
    size: float
    strong: bool


@cache
def readable_families() -> list[str]:
    """Fonts that are installed, the most readable first."""
    from matplotlib import font_manager

    installed = {font.name for font in font_manager.fontManager.ttflist}
    return [family for family in _FAMILIES if family in installed]


@cache
def _signs() -> frozenset[int]:
    """Code points that one of the fonts can write."""
    from matplotlib import font_manager
    from matplotlib.ft2font import FT2Font

    found: set[int] = set()
    for family in readable_families():
        path = font_manager.findfont(font_manager.FontProperties(family=family))
        found.update(FT2Font(path).get_charmap())
    return frozenset(found)


def writable(text: str) -> str:
    """The text without the signs that no font can write; empty where that is most of it."""
    shown = on_one_line(text)
    kept = "".join(char for char in shown if ord(char) in _signs()).strip()
    return kept if 2 * len(kept) >= len(shown) else ""


def unwritable(names: Sequence[str]) -> list[str]:
    """Those of which no font here can write the greater part."""
    return [name for name in names if name and not writable(name)]


def place_labels(
    axes: Any, labels: Sequence[Label], dots: Sequence[tuple[float, float]], ground: str
) -> None:
    """Write labels, the first ones first; one that finds no free place is left out.

    Args:
        dots: places that no label covers, in the coordinates of the axes' data.
        ground: the colour around the letters.
    """
    from matplotlib import patheffects

    figure = axes.figure
    renderer = figure.canvas.get_renderer()
    edge = axes.get_window_extent(renderer)
    taken: list[Bbox] = [_around(dot) for dot in axes.transData.transform(dots)] if dots else []
    for label in labels:
        written = axes.annotate(
            label.text,
            label.point,
            xytext=(0, 0),
            textcoords="offset points",
            ha="center",
            va="center",
            color=label.colour,
            fontsize=label.size,
            fontweight="bold" if label.strong else "normal",
            parse_math=False,
            zorder=4 if label.strong else 3,
            path_effects=[patheffects.withStroke(linewidth=3, foreground=ground, alpha=0.85)],
        )
        if not _settle(written, renderer, edge, taken, strong=label.strong):
            written.remove()


def _around(dot: Sequence[float]) -> Bbox:
    from matplotlib.transforms import Bbox

    x, y = dot
    return Bbox.from_extents(x - _DOT_PIXELS, y - _DOT_PIXELS, x + _DOT_PIXELS, y + _DOT_PIXELS)


def _settle(written: Any, renderer: Any, edge: Bbox, taken: list[Bbox], *, strong: bool) -> bool:
    """Move a text to the first free place around its point."""
    for offset in _AROUND if strong else _AROUND[1:]:
        written.set_position(offset)
        box = written.get_window_extent(renderer).padded(_PADDING_PIXELS)
        inside = box.x0 >= edge.x0 and box.x1 <= edge.x1 and box.y0 >= edge.y0 and box.y1 <= edge.y1
        if inside and not any(box.overlaps(other) for other in taken):
            taken.append(box)
            return True
    return False


_WIDTH_INCHES = 14.0
_HEIGHT_INCHES = 9.0
_MOST_LINKS_DRAWN = 2_500
_NOTES_ALL_NAMED = 40
_TITLES_NAMED = 18
# Up to this many notes no label covers the dot of one.
_DOTS_KEPT_FREE = 150
_LABEL_LENGTH = 34
_LEGEND_LENGTH = 24
# Share of the map within which notes count as near one another.
_REACH = 0.2
# An axis shows this much of the map at least, and a little more than where notes lie.
_LEAST_REACH = 0.45
_AIR = 1.06
_MORE_THAN_THE_COLOURS = 12


@dataclass(frozen=True, slots=True)
class Theme:
    """Colours of what is no note."""

    ground: str
    ink: str
    faint: str
    link: str
    loose: str


THEMES = {
    "light": Theme("#ffffff", "#1e293b", "#64748b", "#94a3b8", "#cbd5e1"),
    "dark": Theme("#0f172a", "#f1f5f9", "#94a3b8", "#475569", "#475569"),
}


def map_picture(
    graph: Graph,
    positions: Mapping[str, tuple[float, float]],
    groups: Sequence[Cluster],
    title: str,
    *,
    theme: str = "light",
    dpi: int = 150,
) -> bytes:
    """A picture of notes as dots by their meaning, a colour for each group.

    Args:
        positions: both coordinates in -1..1, by path.
        groups: the largest first; of more than twelve the last ones share a grey.
        theme: `light` or `dark`.

    Returns:
        The bytes of a PNG file.
    """
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plot

    colours = THEMES[theme]
    with warnings.catch_warnings(), plot.rc_context({"font.family": readable_families()}):
        # A sign that no font has is drawn as a box; labels are looked over before.
        warnings.filterwarnings("ignore", message="Glyph .* missing")
        figure = plot.figure(figsize=(_WIDTH_INCHES, _HEIGHT_INCHES), dpi=dpi)
        figure.set_facecolor(colours.ground)
        axes = figure.add_axes((0.02, 0.03, 0.76, 0.88))
        axes.set_axis_off()
        # Directions on the map mean nothing, so that either may be stretched to fill it.
        axes.set_xlim(*_bounds(x for x, _ in positions.values()))
        axes.set_ylim(*_bounds(y for _, y in positions.values()))
        _draw_links(axes, graph, positions, colours)
        shown = _shown(groups, positions)
        _draw_notes(axes, graph, positions, shown, colours)
        _write_head(figure, title, len(positions), colours)
        _draw_legend(figure, shown, colours)
        dots = list(positions.values()) if len(positions) <= _DOTS_KEPT_FREE else []
        labels = _labels(graph, positions, shown, colours)
        place_labels(axes, labels, dots, colours.ground)
        file = io.BytesIO()
        figure.savefig(file, format="png", facecolor=colours.ground, metadata={"Software": "amem"})
        plot.close(figure)
    return file.getvalue()


def _bounds(coordinates: Iterable[float]) -> tuple[float, float]:
    values = list(coordinates) or [0.0]
    middle, half = (min(values) + max(values)) / 2, (max(values) - min(values)) / 2
    reach = max(half, _LEAST_REACH) * _AIR
    return middle - reach, middle + reach


def _shown(groups: Sequence[Cluster], positions: Mapping[str, object]) -> list[tuple[Cluster, str]]:
    """Groups that have a place on the map, each with its colour."""
    placed = [Cluster(each.name, [p for p in each.paths if p in positions]) for each in groups]
    placed = [each for each in placed if each.paths]
    return list(zip(placed[:_MORE_THAN_THE_COLOURS], CLUSTER_COLOURS, strict=False))


def _draw_links(
    axes: Any, graph: Graph, positions: Mapping[str, tuple[float, float]], theme: Theme
) -> None:
    from matplotlib.collections import LineCollection

    pairs = {
        (min(edge.source, edge.target), max(edge.source, edge.target))
        for edge in graph.edges
        if edge.source in positions and edge.target in positions
    }
    if len(pairs) > _MOST_LINKS_DRAWN:
        return
    lines = [(positions[one], positions[other]) for one, other in sorted(pairs)]
    alpha = min(0.45, max(0.08, 30 / (len(lines) + 1)))
    axes.add_collection(
        LineCollection(lines, colors=theme.link, linewidths=0.7, alpha=alpha, zorder=1)
    )


def _draw_notes(
    axes: Any,
    graph: Graph,
    positions: Mapping[str, tuple[float, float]],
    shown: Sequence[tuple[Cluster, str]],
    theme: Theme,
) -> None:
    degrees = graph.degrees()
    scale = _dot_size(len(positions))
    coloured = {path for group, _ in shown for path in group.paths}
    rest = [path for path in positions if path not in coloured]
    layers = [(rest, theme.loose, 0.7)] + [(group.paths, colour, 0.85) for group, colour in shown]
    for paths, colour, alpha in layers:
        if paths:
            axes.scatter(
                [positions[path][0] for path in paths],
                [positions[path][1] for path in paths],
                s=[scale * (1 + 0.55 * math.sqrt(degrees.get(path, 0))) for path in paths],
                c=colour,
                alpha=alpha,
                linewidths=0.5,
                edgecolors=theme.ground,
                zorder=2,
            )


def _dot_size(notes: int) -> float:
    """Area of a dot in square points: smaller, the more notes there are."""
    return float(min(110.0, max(10.0, 9000.0 / (notes + 1))))


def _labels(
    graph: Graph,
    positions: Mapping[str, tuple[float, float]],
    shown: Sequence[tuple[Cluster, str]],
    theme: Theme,
) -> list[Label]:
    """The groups' names at their middles, then titles of the most linked notes."""
    labels = []
    for group, colour in shown:
        text = writable(group.name)
        if text:
            labels.append(Label(_short(text), _middle(group, graph, positions), colour, 12.5, True))
    degrees = graph.degrees()
    order = sorted(positions, key=lambda path: (-degrees.get(path, 0), path))
    if len(order) > _NOTES_ALL_NAMED:
        order = [path for path in order[:_TITLES_NAMED] if degrees.get(path, 0)]
    said = {group.name for group, _ in shown}
    for path in order:
        title = graph.nodes[path].title
        text = "" if title in said else writable(title)
        if text:
            labels.append(Label(_short(text), positions[path], theme.ink, 8.5, False))
    return labels


def _middle(
    group: Cluster, graph: Graph, positions: Mapping[str, tuple[float, float]]
) -> tuple[float, float]:
    """Where a group's name stands: at the note of this name, else where its notes are densest."""
    for path in group.paths:
        if graph.nodes[path].title == group.name:
            return positions[path]
    import numpy as np

    places = np.array([positions[path] for path in group.paths])
    around = np.stack([np.hypot(*(places - place).T) < _REACH for place in places])
    densest = places[around[int(around.sum(axis=1).argmax())]].mean(axis=0)
    return float(densest[0]), float(densest[1])


def _short(text: str, length: int = _LABEL_LENGTH) -> str:
    return text if len(text) <= length else text[: length - 1].rstrip() + "…"


def _write_head(figure: Any, title: str, notes: int, theme: Theme) -> None:
    figure.text(
        0.03,
        0.945,
        writable(title),
        color=theme.ink,
        fontsize=19,
        fontweight="bold",
        parse_math=False,
    )
    told = "1 note" if notes == 1 else f"{notes} notes, those of like meaning near one another"
    figure.text(0.03, 0.918, told, color=theme.faint, fontsize=10.5)


def _draw_legend(figure: Any, shown: Sequence[tuple[Cluster, str]], theme: Theme) -> None:
    top, step = 0.86, 0.042
    for number, (group, colour) in enumerate(shown):
        y = top - number * step
        figure.text(0.795, y, "●", color=colour, fontsize=13, va="center", family="DejaVu Sans")
        name = _short(writable(group.name) or f"group {number + 1}", _LEGEND_LENGTH)
        figure.text(0.812, y, name, color=theme.ink, fontsize=9.5, va="center", parse_math=False)
        figure.text(
            0.985, y, f"{len(group.paths)}", color=theme.faint, fontsize=9, va="center", ha="right"
        )
