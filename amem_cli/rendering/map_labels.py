"""Labels on a picture, none on another, of signs that a font on this machine has."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from amem_cli.rendering.output import on_one_line

if TYPE_CHECKING:
    from matplotlib.transforms import Bbox

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
