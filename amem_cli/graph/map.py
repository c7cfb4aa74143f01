"""The map of notes by meaning: positions, groups, and a picture (PNG)."""

from __future__ import annotations

import io
import math
import warnings
from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, NamedTuple

from amem_cli.data import table
from amem_cli.errors import SettingsError, extra_hint
from amem_cli.graph.clusters import Cluster, clusters, named
from amem_cli.graph.graph import shortened
from amem_cli.language.safe_text import on_one_line

if TYPE_CHECKING:
    from matplotlib.transforms import Bbox

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
_AROUND = (
    (0, 0), (0, 14), (0, -14), (26, 8), (-26, 8), (26, -8), (-26, -8), (0, 24), (0, -24),
    (48, 0), (-48, 0), (0, 38), (0, -38),
)  # fmt: skip
_PADDING_PIXELS = 3.0
_DOT_PIXELS = 5.0
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
_NEAR = 0.2
# An axis shows at least this much of the map, and a little more than its notes need.
_LEAST_REACH = 0.45
_AIR = 1.06


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


def map_tags(graph: Graph) -> list[Cluster]:
    """The notes of each tag, the most used first; a note belongs to the rarest of its common tags.

    Of a nested tag the first part counts, and a tag of one note alone does not count.
    """
    tops = {
        path: {tag.split("/", 1)[0].casefold() for tag in note.tags}
        for path, note in graph.nodes.items()
    }
    counts = Counter(tag for tags in tops.values() for tag in tags)
    common = {tag for tag, _ in counts.most_common(_MOST_BY_MEANING) if counts[tag] > 1}
    groups: dict[str, list[str]] = {}
    for path, tags in tops.items():
        own = [tag for tag in tags if tag in common]
        if own:
            groups.setdefault(min(own, key=lambda tag: (counts[tag], tag)), []).append(path)
    order = sorted(groups.items(), key=lambda item: (-len(item[1]), item[0]))
    return [Cluster(f"#{tag}", paths) for tag, paths in order]


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


class Label(NamedTuple):
    """A text in a picture, `size` in points; a strong one is bold, and centred on its point."""

    text: str
    point: Point
    colour: str
    size: float
    strong: bool


@dataclass(frozen=True, slots=True)
class Theme:
    """Colours of everything but notes."""

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
    positions: Positions,
    groups: Sequence[Cluster],
    title: str,
    *,
    theme: str = "light",
    dpi: int = 150,
) -> bytes:
    """A picture (PNG) of notes as dots by their meaning, a colour for each group.

    Args:
        positions: both coordinates in -1..1, by path.
        groups: the largest first; beyond the twelve colours they are drawn as loose notes.
    """
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plot

    colours = THEMES[theme]
    placed = [Cluster(each.name, [p for p in each.paths if p in positions]) for each in groups]
    shades: list[str] = table("pictures.toml")["clusters"]
    coloured = list(zip([each for each in placed if each.paths], shades, strict=False))
    with warnings.catch_warnings(), plot.rc_context({"font.family": readable_families()}):
        # A sign that no font has is drawn as a box; labels were filtered before.
        warnings.filterwarnings("ignore", message="Glyph .* missing")
        figure = plot.figure(figsize=(_WIDTH_INCHES, _HEIGHT_INCHES), dpi=dpi)
        figure.set_facecolor(colours.ground)
        axes = figure.add_axes((0.02, 0.03, 0.76, 0.88))
        axes.set_axis_off()
        # Directions on the map mean nothing, so that either may be stretched to fill it.
        axes.set_xlim(*_bounds(x for x, _ in positions.values()))
        axes.set_ylim(*_bounds(y for _, y in positions.values()))
        _draw_links(axes, graph, positions, colours)
        _draw_notes(axes, graph, positions, coloured, colours)
        _write_legend(figure, title, len(positions), coloured, colours)
        dots = list(positions.values()) if len(positions) <= _DOTS_KEPT_FREE else []
        _place_labels(axes, _labels(graph, positions, coloured, colours), dots, colours.ground)
        file = io.BytesIO()
        figure.savefig(file, format="png", facecolor=colours.ground, metadata={"Software": "amem"})
        plot.close(figure)
    return file.getvalue()


def _bounds(coordinates: Iterable[float]) -> tuple[float, float]:
    values = list(coordinates) or [0.0]
    middle, half = (min(values) + max(values)) / 2, (max(values) - min(values)) / 2
    reach = max(half, _LEAST_REACH) * _AIR
    return middle - reach, middle + reach


def _draw_links(axes: Any, graph: Graph, positions: Positions, theme: Theme) -> None:
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
    positions: Positions,
    groups: Sequence[tuple[Cluster, str]],
    theme: Theme,
) -> None:
    degrees = graph.degrees()
    # Area of a dot in square points: smaller, the more notes there are.
    area = min(110.0, max(10.0, 9000.0 / (len(positions) + 1)))
    coloured = {path for group, _ in groups for path in group.paths}
    rest = [path for path in positions if path not in coloured]
    layers = [(rest, theme.loose, 0.7)] + [(group.paths, colour, 0.85) for group, colour in groups]
    for paths, colour, alpha in layers:
        if paths:
            axes.scatter(
                [positions[path][0] for path in paths],
                [positions[path][1] for path in paths],
                s=[area * (1 + 0.55 * math.sqrt(degrees.get(path, 0))) for path in paths],
                c=colour,
                alpha=alpha,
                linewidths=0.5,
                edgecolors=theme.ground,
                zorder=2,
            )


def _write_legend(
    figure: Any, title: str, notes: int, groups: Sequence[tuple[Cluster, str]], theme: Theme
) -> None:
    """The title, the number of notes, and the groups with their colours and sizes."""

    def write(x: float, y: float, text: str, colour: str, size: float, **more: str) -> Any:
        return figure.text(x, y, text, color=colour, fontsize=size, parse_math=False, **more)

    write(0.03, 0.945, writable(title), theme.ink, 19, fontweight="bold")
    told = "1 note" if notes == 1 else f"{notes} notes; similar notes lie close together"
    write(0.03, 0.918, told, theme.faint, 10.5)
    for number, (group, colour) in enumerate(groups):
        y = 0.86 - number * 0.042
        write(0.795, y, "●", colour, 13, va="center", family="DejaVu Sans")
        name = shortened(writable(group.name) or f"group {number + 1}", _LEGEND_LENGTH)
        written = write(0.812, y, name, theme.ink, 9.5, va="center")
        count = write(0.985, y, f"{len(group.paths)}", theme.faint, 9, va="center", ha="right")
        # Some signs are far wider than others.
        room = count.get_window_extent().x0 - 2 * _PADDING_PIXELS
        while written.get_window_extent().x1 > room and len(name) > 1:
            name = shortened(name, len(name) - 1)
            written.set_text(name)


def _labels(
    graph: Graph, positions: Positions, groups: Sequence[tuple[Cluster, str]], theme: Theme
) -> list[Label]:
    """The groups' names at their middles, then titles of the most linked notes."""
    labels = [
        Label(text, _middle(group, graph, positions), colour, 12.5, True)
        for group, colour in groups
        if (text := shortened(writable(group.name), _LABEL_LENGTH))
    ]
    degrees = graph.degrees()
    order = sorted(positions, key=lambda path: (-degrees.get(path, 0), path))
    if len(order) > _NOTES_ALL_NAMED:
        order = [path for path in order[:_TITLES_NAMED] if degrees.get(path, 0)]
    titles = ((path, graph.nodes[path].title) for path in order)
    names = {group.name for group, _ in groups}
    return labels + [
        Label(text, positions[path], theme.ink, 8.5, False)
        for path, title in titles
        if title not in names and (text := shortened(writable(title), _LABEL_LENGTH))
    ]


def _middle(group: Cluster, graph: Graph, positions: Positions) -> Point:
    """The place of a group's name: its note of this name, else where its notes are densest."""
    for path in group.paths:
        if graph.nodes[path].title == group.name:
            return positions[path]
    import numpy as np

    places = np.array([positions[path] for path in group.paths])
    near = np.stack([np.hypot(*(places - place).T) < _NEAR for place in places])
    densest = places[near[int(near.sum(axis=1).argmax())]].mean(axis=0)
    return float(densest[0]), float(densest[1])


@cache
def readable_families() -> list[str]:
    """Fonts that are installed, the most readable first."""
    from matplotlib import font_manager

    installed = {font.name for font in font_manager.fontManager.ttflist}
    return [family for family in table("pictures.toml")["fonts"] if family in installed]


@cache
def _signs() -> frozenset[int]:
    """Code points that one of the fonts can write."""
    from matplotlib import font_manager
    from matplotlib.ft2font import FT2Font

    signs: set[int] = set()
    for family in readable_families():
        path = font_manager.findfont(font_manager.FontProperties(family=family))
        signs.update(FT2Font(path).get_charmap())
    return frozenset(signs)


def writable(text: str) -> str:
    """The text without the signs that no font can write; empty if that is most of it."""
    line = on_one_line(text)
    rest = "".join(char for char in line if ord(char) in _signs()).strip()
    return rest if 2 * len(rest) >= len(line) else ""


def _place_labels(axes: Any, labels: Sequence[Label], dots: Sequence[Point], ground: str) -> None:
    """Write labels, the first ones first, over no dot; one that finds no free place is left out."""
    from matplotlib import patheffects
    from matplotlib.transforms import Bbox

    renderer = axes.figure.canvas.get_renderer()
    edge = axes.get_window_extent(renderer)
    taken = [
        Bbox.from_extents(x, y, x, y).padded(_DOT_PIXELS)
        for x, y in (axes.transData.transform(dots) if dots else [])
    ]
    for label in labels:
        text = axes.annotate(
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
        for offset in _AROUND if label.strong else _AROUND[1:]:
            text.set_position(offset)
            box: Bbox = text.get_window_extent(renderer).padded(_PADDING_PIXELS)
            inside = (
                edge.x0 <= box.x0 and box.x1 <= edge.x1 and edge.y0 <= box.y0 <= box.y1 <= edge.y1
            )
            if inside and not any(box.overlaps(other) for other in taken):
                taken.append(box)
                break
        else:
            text.remove()
