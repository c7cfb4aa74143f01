"""Colours of clusters and relations, and what stands on a link, in every picture."""

from __future__ import annotations

from amem_cli.rendering.output import on_one_line

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
