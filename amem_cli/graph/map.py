"""The map of notes by meaning: positions, groups, and a picture (PNG)."""

from __future__ import annotations

import io
import math
import warnings
from collections.abc import Container, Iterable, Mapping, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from amem_cli.data import table
from amem_cli.errors import SettingsError, extra_hint
from amem_cli.graph.clusters import Cluster, clusters, named
from amem_cli.graph.graph import shortened
from amem_cli.language.safe_text import on_one_line

if TYPE_CHECKING:
    from amem_cli.graph.graph import Graph
    from amem_cli.index.memory_index import MemoryIndex
    from amem_cli.models.ports import Vectors

    Point = tuple[float, float]
    Positions = Mapping[str, Point]

_PACKAGES = ("matplotlib", "sklearn")
_PERPLEXITY = 30.0
_COMPONENTS = 50
_FEWEST_FOR_NEIGHBOURS = 5
_SEED = 0
_FEWEST_BY_MEANING = 8
_MOST_BY_MEANING = 14

# Offsets of a label from its point, in points of type, the best first.
_AROUND = ((0, 12), (0, -12), (30, 8), (-30, 8), (30, -8), (-30, -8), (0, 24), (0, -24))
_PADDING_PIXELS = 3.0
_SIZE_INCHES = (14.0, 9.0)
_DPI = 150
_MOST_LINKS_DRAWN = 2_500
_TITLES_NAMED = 30
_LABEL_LENGTH = 34
_LEGEND_LENGTH = 24
_GROUND, _INK, _FAINT, _LINK, _LOOSE = "#ffffff", "#1e293b", "#64748b", "#94a3b8", "#cbd5e1"


def note_positions(index: MemoryIndex, among: Container[str]) -> dict[str, Point]:
    """The position of each of these notes that has a vector, by path; coordinates in -1..1.

    t-SNE (van der Maaten and Hinton 2008) of the principal components, with a fixed seed: the same
    vectors give the same map. A note's vector is the mean of its passages' vectors.
    """
    paths, vectors = _vectors(index, among)
    if not paths:
        return {}
    import numpy as np

    plane = _plane(vectors)
    plane = plane - (plane.max(axis=0) + plane.min(axis=0)) / 2
    reach = float(np.abs(plane).max()) or 1.0
    return {path: (float(x), float(y)) for path, (x, y) in zip(paths, plane / reach, strict=True)}


def check_map_packages() -> None:
    """Raise `SettingsError` unless what lays out and draws a map is installed."""
    if any(find_spec(name) is None for name in _PACKAGES):
        raise SettingsError(
            "a map needs matplotlib and scikit-learn, which are not installed",
            hint=extra_hint("map"),
        )


def map_clusters(index: MemoryIndex, graph: Graph) -> tuple[list[Cluster], bool]:
    """The clusters of a map, and whether they are by meaning instead of links.

    If links join less than half of the notes, the notes are grouped by their vectors (k-means).
    """
    linked_groups = clusters(graph)
    linked = sum(len(cluster.paths) for cluster in linked_groups)
    if 2 * linked >= len(graph.nodes) or len(graph.nodes) < _FEWEST_BY_MEANING:
        return linked_groups, False
    paths, vectors = _vectors(index, graph.nodes)
    if len(paths) < _FEWEST_BY_MEANING:
        return linked_groups, False
    from sklearn.cluster import KMeans

    count = max(2, min(_MOST_BY_MEANING, round(math.sqrt(len(paths) / 2))))
    grouping = KMeans(count, n_init=4, random_state=_SEED)
    groups: dict[int, list[str]] = {}
    for path, number in zip(paths, grouping.fit_predict(_reduced(vectors)), strict=True):
        groups.setdefault(int(number), []).append(path)
    return named(graph, groups.values()), True


def _vectors(index: MemoryIndex, among: Container[str]) -> tuple[list[str], Vectors]:
    """The notes that have a vector, and these; shape (notes, dimension)."""
    import numpy as np

    vectors = index.vectors.of_all_notes()
    paths = sorted(path for path in vectors if path in among)
    matrix = np.stack([vectors[path] for path in paths] or [np.zeros(0, np.float32)])
    return paths, matrix


def _reduced(vectors: Vectors) -> Vectors:
    """The principal components; shape (notes, at most 50)."""
    from sklearn.decomposition import PCA

    components = min(_COMPONENTS, *vectors.shape)
    reduced: Vectors = PCA(components, random_state=_SEED).fit_transform(vectors)
    return reduced


def _plane(vectors: Vectors) -> Vectors:
    """Shape (notes, 2)."""
    import numpy as np

    # Too few notes have no neighbourhoods, and neither have texts that are all the same.
    if len(vectors) < _FEWEST_FOR_NEIGHBOURS or bool((vectors == vectors[0]).all()):
        angles = np.arange(len(vectors)) * (2 * math.pi / len(vectors)) + math.pi / 2
        return np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)
    from sklearn.manifold import TSNE

    perplexity = min(_PERPLEXITY, (len(vectors) - 1) / 3)
    mapping = TSNE(perplexity=perplexity, init="pca", random_state=_SEED)
    plane: Vectors = mapping.fit_transform(_reduced(vectors))
    return plane


def map_picture(
    graph: Graph, positions: Positions, groups: Sequence[Cluster], title: str, *, dpi: int = _DPI
) -> bytes:
    """A picture (PNG) of notes as dots by their meaning, a colour for each group.

    Args:
        positions: both coordinates in -1..1, by path.
        groups: the largest first; beyond the twelve colours they are drawn as loose notes.
    """
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plot

    shades: list[str] = table("pictures.toml")["clusters"]
    placed = [Cluster(each.name, [p for p in each.paths if p in positions]) for each in groups]
    coloured = list(zip([each for each in placed if each.paths], shades, strict=False))
    with warnings.catch_warnings(), plot.rc_context({"font.family": _readable_families()}):
        # A sign that no font has is drawn as a box.
        warnings.filterwarnings("ignore", message="Glyph .* missing")
        figure = plot.figure(figsize=_SIZE_INCHES, dpi=dpi, facecolor=_GROUND)
        axes = figure.add_axes((0.02, 0.03, 0.76, 0.88))
        axes.set_axis_off()
        axes.margins(0.05)
        degrees = graph.degrees()
        _draw_links(axes, graph, positions)
        _draw_notes(axes, degrees, positions, coloured)
        _write_legend(figure, title, len(positions), coloured)
        _place_labels(axes, _labels(graph, degrees, positions, coloured))
        file = io.BytesIO()
        figure.savefig(file, format="png", metadata={"Software": "amem"})
        plot.close(figure)
    return file.getvalue()


def _draw_links(axes: Any, graph: Graph, positions: Positions) -> None:
    from matplotlib.collections import LineCollection

    pairs = {
        (min(edge.source, edge.target), max(edge.source, edge.target))
        for edge in graph.edges
        if edge.source in positions and edge.target in positions
    }
    if len(pairs) <= _MOST_LINKS_DRAWN:
        lines = [(positions[one], positions[other]) for one, other in sorted(pairs)]
        alpha = min(0.45, max(0.08, 30 / (len(lines) + 1)))
        drawn = LineCollection(lines, colors=_LINK, linewidths=0.7, alpha=alpha, zorder=1)
        axes.add_collection(drawn)


def _draw_notes(
    axes: Any,
    degrees: Mapping[str, int],
    positions: Positions,
    groups: Sequence[tuple[Cluster, str]],
) -> None:
    # Area of a dot in square points: smaller, the more notes there are.
    area = min(110.0, max(10.0, 9000.0 / (len(positions) + 1)))
    colours = {path: colour for group, colour in groups for path in group.paths}
    # Loose notes lie below the others.
    paths = sorted(positions, key=lambda path: path in colours)
    axes.scatter(
        [positions[path][0] for path in paths],
        [positions[path][1] for path in paths],
        s=[area * (1 + 0.55 * math.sqrt(degrees[path])) for path in paths],
        c=[colours.get(path, _LOOSE) for path in paths],
        alpha=0.85,
        linewidths=0.5,
        edgecolors=_GROUND,
        zorder=2,
    )


def _write_legend(
    figure: Any, title: str, notes: int, groups: Sequence[tuple[Cluster, str]]
) -> None:
    """The title, the number of notes, and the groups with their colours and sizes."""

    def write(x: float, y: float, text: str, colour: str, size: float, **more: str) -> None:
        figure.text(x, y, text, color=colour, fontsize=size, parse_math=False, **more)

    write(0.03, 0.945, on_one_line(title), _INK, 19, fontweight="bold")
    told = "1 note" if notes == 1 else f"{notes} notes; similar notes lie close together"
    write(0.03, 0.918, told, _FAINT, 10.5)
    for number, (group, colour) in enumerate(groups):
        y = 0.86 - number * 0.042
        write(0.795, y, "●", colour, 13, va="center", family="DejaVu Sans")
        name = shortened(on_one_line(group.name), _LEGEND_LENGTH)
        write(0.812, y, f"{name} ({len(group.paths)})", _INK, 9.5, va="center")


def _labels(
    graph: Graph,
    degrees: Mapping[str, int],
    positions: Positions,
    groups: Sequence[tuple[Cluster, str]],
) -> list[tuple[str, Point, str, float]]:
    """Text, point, colour and size: groups at their first notes, then the most linked notes."""
    labels = [(group.name, positions[group.paths[0]], colour, 12.5) for group, colour in groups]
    names = {group.name for group, _ in groups}
    order = sorted(positions, key=lambda path: (-degrees[path], path))
    titles = [(path, graph.nodes[path].title) for path in order[:_TITLES_NAMED]]
    labels += [(title, positions[path], _INK, 8.5) for path, title in titles if title not in names]
    return [
        (shortened(on_one_line(text), _LABEL_LENGTH), point, colour, size)
        for text, point, colour, size in labels
    ]


def _readable_families() -> list[str]:
    """Fonts that are installed, the most readable first."""
    from matplotlib import font_manager

    installed = {font.name for font in font_manager.fontManager.ttflist}
    return [family for family in table("pictures.toml")["fonts"] if family in installed]


def _place_labels(axes: Any, labels: Iterable[tuple[str, Point, str, float]]) -> None:
    """Write labels, the first ones first; one that finds no free place is left out."""
    from matplotlib import patheffects

    edge = axes.get_window_extent()
    taken: list[Any] = []
    for text, point, colour, size in labels:
        label = axes.annotate(
            text,
            point,
            xytext=(0, 0),
            textcoords="offset points",
            ha="center",
            va="center",
            color=colour,
            fontsize=size,
            parse_math=False,
            zorder=3,
            path_effects=[patheffects.withStroke(linewidth=3, foreground=_GROUND, alpha=0.85)],
        )
        for offset in _AROUND:
            label.set_position(offset)
            box = label.get_window_extent().padded(_PADDING_PIXELS)
            inside = edge.containsx(box.x0) and edge.containsx(box.x1)
            inside = inside and edge.containsy(box.y0) and edge.containsy(box.y1)
            if inside and not any(box.overlaps(other) for other in taken):
                taken.append(box)
                break
        else:
            label.remove()
