"""The map of notes as a picture (PNG)."""

from __future__ import annotations

import io
import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from amem_cli.core.graph_clusters import Cluster
from amem_cli.rendering.graph_colours import CLUSTER_COLOURS
from amem_cli.rendering.map_labels import Label, place_labels, readable_families, writable

if TYPE_CHECKING:
    from amem_cli.core.graph import Graph

_WIDTH_INCHES = 14.0
_HEIGHT_INCHES = 9.0
_MOST_LINKS_DRAWN = 2_500
_NOTES_ALL_NAMED = 40
_TITLES_NAMED = 18
_LABEL_LENGTH = 34
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
        axes.set_xlim(-1.06, 1.06)
        axes.set_ylim(-1.06, 1.06)
        _draw_links(axes, graph, positions, colours)
        shown = _shown(groups, positions)
        _draw_notes(axes, graph, positions, shown, colours)
        _write_head(figure, title, len(positions), colours)
        _draw_legend(figure, shown, colours)
        place_labels(axes, _labels(graph, positions, shown, colours), colours.ground)
        file = io.BytesIO()
        figure.savefig(file, format="png", facecolor=colours.ground, metadata={"Software": "amem"})
        plot.close(figure)
    return file.getvalue()


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
    return float(min(110.0, max(9.0, 4200.0 / (notes + 1))))


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
            labels.append(Label(_short(text), _middle(group.paths, positions), colour, 12.5, True))
    degrees = graph.degrees()
    order = sorted(positions, key=lambda path: (-degrees.get(path, 0), path))
    count = len(order) if len(order) <= _NOTES_ALL_NAMED else _TITLES_NAMED
    for path in order[:count]:
        text = writable(graph.nodes[path].title)
        if text:
            labels.append(Label(_short(text), positions[path], theme.ink, 8.5, False))
    return labels


def _middle(
    paths: Sequence[str], positions: Mapping[str, tuple[float, float]]
) -> tuple[float, float]:
    """Where a group is densest: the median of either coordinate of its notes."""
    across = sorted(positions[path][0] for path in paths)
    up = sorted(positions[path][1] for path in paths)
    return across[len(across) // 2], up[len(up) // 2]


def _short(text: str) -> str:
    return text if len(text) <= _LABEL_LENGTH else text[: _LABEL_LENGTH - 1].rstrip() + "…"


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
    told = f"{notes} notes, those of like meaning near one another"
    figure.text(0.03, 0.918, told, color=theme.faint, fontsize=10.5)


def _draw_legend(figure: Any, shown: Sequence[tuple[Cluster, str]], theme: Theme) -> None:
    top, step = 0.86, 0.042
    for number, (group, colour) in enumerate(shown):
        y = top - number * step
        figure.text(0.795, y, "●", color=colour, fontsize=13, va="center", family="DejaVu Sans")
        name = _short(writable(group.name) or f"group {number + 1}")
        figure.text(0.812, y, name, color=theme.ink, fontsize=9.5, va="center", parse_math=False)
        figure.text(
            0.985, y, f"{len(group.paths)}", color=theme.faint, fontsize=9, va="center", ha="right"
        )
