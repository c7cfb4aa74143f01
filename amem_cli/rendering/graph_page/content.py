"""What the page knows of the notes: a JSON document of rows, small enough for thousands of them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from amem_cli.core.markdown_prose import prose_lines

if TYPE_CHECKING:
    from amem_cli.core.graph import Edge, Graph
    from amem_cli.core.index_records import NoteSummary

LONGEST_BEGINNING = 300
# Characters that the beginnings of all notes may take together, so that a large page stays small.
ALL_BEGINNINGS = 1_200_000
SHORTEST_BEGINNING = 60
LONGEST_TEXT = 400
MOST_WORDS = 24

Passages = Callable[[str], Sequence[str]]
Positions = Mapping[str, tuple[float, float]]
Clusters = Sequence[tuple[str, list[str]]]

_BLANKS = re.compile(r"\s+")
_HEADING = re.compile(r"\A\s*#{1,6}[ \t]+([^\n]*)\n")


def page_content(
    network: Graph,
    *,
    vault_name: str,
    clusters: Clusters,
    positions: Positions | None,
    passages: Passages | None,
    focus: str | None,
) -> dict[str, Any]:
    """The document that the page's scripts read.

    Notes and links are rows, in the order that `assets/network.js` reads; links name notes by
    their number.
    """
    numbers = {path: number for number, path in enumerate(network.nodes)}
    kept = [(name, [path for path in group if path in numbers]) for name, group in clusters]
    kept = [(name, group) for name, group in kept if group]
    cluster_of = {path: at for at, (_, group) in enumerate(kept) for path in group}
    relations = sorted({edge.relation for edge in network.edges})
    shortest = ALL_BEGINNINGS // max(1, len(numbers))
    longest = min(LONGEST_BEGINNING, max(SHORTEST_BEGINNING, shortest))
    return {
        "vault": vault_name,
        "focus": numbers.get(focus, -1) if focus is not None else -1,
        "placed": positions is not None,
        "clusters": _told_apart(network, kept),
        "relations": relations,
        "notes": [
            [
                *_note_row(note, cluster_of.get(path, -1)),
                _beginning(passages(path), note.title, longest) if passages is not None else "",
                *_position(path, positions),
            ]
            for path, note in network.nodes.items()
        ],
        "links": [_link_row(edge, numbers, relations) for edge in network.edges],
    }


def _note_row(note: NoteSummary, cluster: int) -> list[Any]:
    return [
        note.path,
        note.title,
        note.created,
        shortened(note.context, LONGEST_TEXT),
        list(note.tags[:MOST_WORDS]),
        list(note.keywords[:MOST_WORDS]),
        list(note.aliases[:MOST_WORDS]),
        cluster,
        int(note.private),
    ]


def _link_row(edge: Edge, numbers: Mapping[str, int], relations: Sequence[str]) -> list[Any]:
    return [
        numbers[edge.source],
        numbers[edge.target],
        int(edge.kind == "property"),
        int(edge.by == "machine"),
        relations.index(edge.relation),
        edge.strength,
        shortened(edge.reason, LONGEST_TEXT),
    ]


def _position(path: str, positions: Positions | None) -> list[float]:
    if positions is None or path not in positions:
        return []
    return [round(float(value), 4) for value in positions[path]]


def _beginning(passages: Sequence[str], title: str, longest: int) -> str:
    if not passages:
        return ""
    text = passages[0][: 4 * longest]
    heading = _HEADING.match(text)
    # The panel shows the title already.
    if heading and heading[1].strip() == title:
        text = text[heading.end() :]
    return shortened(" ".join(prose_lines(text)), longest)


def _told_apart(network: Graph, kept: Clusters) -> list[str]:
    """Names of clusters; those that share one also bear the title of their most linked note."""
    names = Counter(name for name, _ in kept)
    degrees = network.degrees() if len(names) < len(kept) else {}
    return [
        name
        if names[name] == 1
        else f"{name} · {network.nodes[max(group, key=lambda path: (degrees[path], path))].title}"
        for name, group in kept
    ]


def shortened(text: str, longest: int) -> str:
    """A text on one line, cut at a word and marked with an ellipsis where it is longer."""
    line = _BLANKS.sub(" ", text[: 4 * longest]).strip()
    if len(line) <= longest:
        return line
    cut = line[: longest - 1]
    head, _, _ = cut.rpartition(" ")
    return (head if len(head) > longest // 2 else cut).rstrip() + "…"
