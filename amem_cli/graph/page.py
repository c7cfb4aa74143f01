"""The network of notes as one HTML page that loads nothing from elsewhere.

The page holds its own markup, styles and scripts, the drawing libraries, and the notes as JSON rows
that are small enough for thousands of notes.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from collections.abc import Callable, Mapping, Sequence
from importlib import resources
from typing import Any

from amem_cli.data import table
from amem_cli.duplicates.compare import without_title
from amem_cli.graph.clusters import Cluster, cluster_of
from amem_cli.graph.graph import Edge, Graph, shortened
from amem_cli.graph.stats import link_days, note_days
from amem_cli.markdown.plain_text import prose

LONGEST_BEGINNING = 300
# Characters of the beginnings of all notes together, so that a large page stays small.
ALL_BEGINNINGS = 1_200_000
SHORTEST_BEGINNING = 60
LONGEST_TEXT = 400
MOST_WORDS = 24

Passages = Callable[[str], Sequence[str]]
Positions = Mapping[str, tuple[float, float]]


# Comments that name an address, and maps that a browser would look for beside the page.
_ADDRESS_COMMENT = re.compile(r"^// https?://\S+ (.*)$", re.MULTILINE)
_SOURCE_MAP = re.compile(r"^//# sourceMappingURL=.*$\n?", re.MULTILINE)
# Characters that could end the element, or that older scripts take for line ends, and halves of
# surrogate pairs, which no encoding of the page can write.
_UNSAFE_IN_MARKUP = re.compile("[<>&\u2028\u2029\ud800-\udfff]")
_PLACEHOLDER = re.compile(r"\{\{(\w+)\}\}")


def graph_page(
    network: Graph,
    *,
    vault_name: str,
    clusters: Sequence[Cluster],
    positions: Positions | None = None,
    passages: Passages | None = None,
    made: Mapping[tuple[str, str], str] | None = None,
    focus: str | None = None,
) -> str:
    """The network as one HTML document that loads nothing and can be shared.

    The same notes make the same page, byte for byte. Its scripts read rows in the order of
    `assets/network.js`: links name notes by their number, and both their days by its number (-1 if
    it is unknown).

    Args:
        clusters: of its notes, largest first.
        positions: of the notes, by path, in any unit; None lets the page arrange them.
        passages: the beginning of a note, by its path, as `IndexedText.passages` gives it.
        made: when links were made, as `IndexLinkHistory.first_made` gives it.
        focus: path of the note that the page shows first.
    """
    numbers = {path: number for number, path in enumerate(network.nodes)}
    clusters_of = cluster_of(clusters)
    relations = sorted({edge.relation for edge in (*network.edges, *network.suggested)})
    shortest = ALL_BEGINNINGS // max(1, len(numbers))
    longest = min(LONGEST_BEGINNING, max(SHORTEST_BEGINNING, shortest))
    notes = [
        [
            note.path,
            note.title,
            note.created,
            shortened(note.context, LONGEST_TEXT),
            list(note.tags[:MOST_WORDS]),
            list(note.keywords[:MOST_WORDS]),
            list(note.aliases[:MOST_WORDS]),
            clusters_of.get(path, -1),
            int(note.private),
            _beginning(passages(path), note.title, longest) if passages is not None else "",
            *(round(float(value), 4) for value in (positions or {}).get(path, ())),
        ]
        for path, note in network.nodes.items()
    ]

    def row(edge: Edge, *made: int) -> list[Any]:
        told = relations.index(edge.relation), edge.strength, shortened(edge.reason, LONGEST_TEXT)
        return [numbers[edge.source], numbers[edge.target], *made, *told]

    of_notes, of_links = note_days(network), link_days(network, made or {})
    days = sorted({*of_notes.values(), *of_links.values()} - {""})
    day_numbers = {day: number for number, day in enumerate(days)}
    content = {
        "vault": vault_name,
        "focus": numbers.get(focus, -1) if focus is not None else -1,
        "placed": positions is not None,
        "clusters": [cluster.name for cluster in clusters],
        "relations": relations,
        "notes": notes,
        "links": [
            row(edge, int(edge.kind == "property"), int(edge.by == "machine"))
            for edge in network.edges
        ],
        "suggested": [row(edge) for edge in network.suggested],
        "days": days,
        "note_days": [day_numbers.get(day, -1) for day in of_notes.values()],
        "link_days": [
            day_numbers.get(of_links[edge.source, edge.target], -1) for edge in network.edges
        ],
    }
    return _rendered(content)


def _rendered(content: Mapping[str, Any]) -> str:
    style = _asset("assets", "page.css")
    parts = table("pictures.toml")
    scripts = [
        _ADDRESS_COMMENT.sub(rf"// {name} \1", _SOURCE_MAP.sub("", _asset("vendor", name)))
        for name in parts["libraries"]
    ]
    scripts += [_asset("assets", name) for name in parts["scripts"]]
    allowed = " ".join(map(_digest, scripts))
    title = f"{content['vault']} · notes and links".encode("utf-8", "replace").decode()
    values = {
        "policy": (
            f"default-src 'none'; script-src {allowed}; style-src {_digest(style)}; "
            "base-uri 'none'; form-action 'none'"
        ),
        "title": html.escape(title),
        "style": f"<style>{style}</style>",
        "content": '<script type="application/json" id="content">'
        f"{_json_for_markup(content)}</script>",
        "licences": "\n".join(
            f"<h3>{name}</h3>\n<pre>{html.escape(_asset('vendor', file).strip())}</pre>"
            for name, file in parts["licences"].items()
        ),
        "scripts": "\n".join(f"<script>{script}</script>" for script in scripts),
    }
    return _PLACEHOLDER.sub(lambda match: values[match[1]], _asset("assets", "page.html"))


def _json_for_markup(document: Any) -> str:
    """JSON for a script element: it contains no markup, and reads as the same data."""
    # Escapes would make a page of Chinese notes twice as large.
    text = json.dumps(document, ensure_ascii=False, separators=(",", ":"))
    return _UNSAFE_IN_MARKUP.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def _digest(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def _asset(folder: str, name: str) -> str:
    file = resources.files(__package__) / "page_files" / folder / name
    # A checkout with other line ends must not change what the policy allows.
    return file.read_text(encoding="utf-8").replace("\r\n", "\n")


def _beginning(passages: Sequence[str], title: str, longest: int) -> str:
    if not passages:
        return ""
    # The panel shows the title already.
    text = without_title(passages[0][: 4 * longest], [title])
    return shortened(" ".join(prose(text).splitlines()), longest)
