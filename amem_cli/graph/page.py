"""What the page knows of the notes: a JSON document of rows, small enough for thousands of them.

Puts the page together: own markup, styles and scripts, the drawing libraries and the notes.
The network of notes as one page that works without a network: `graph_page` makes it.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from importlib import resources
from typing import TYPE_CHECKING, Any

from amem_cli.markdown.plain_text import prose_lines

if TYPE_CHECKING:
    from amem_cli.graph.graph import Edge, Graph
    from amem_cli.index.records import NoteSummary

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


# In the order in which the page runs them.
LIBRARIES = (
    "d3-dispatch.min.js",
    "d3-quadtree.min.js",
    "d3-timer.min.js",
    "d3-force.min.js",
    "graphology.umd.min.js",
    "sigma.min.js",
)
SCRIPTS = (
    "network.js",
    "colours.js",
    "elements.js",
    "state.js",
    "layout.js",
    "overlay.js",
    "drawing.js",
    "search.js",
    "filters.js",
    "panel.js",
    "list.js",
    "page.js",
)
LICENCES = (
    ("sigma.js", "sigma.LICENSE.txt"),
    ("graphology", "graphology.LICENSE.txt"),
    ("d3-force, d3-quadtree, d3-dispatch, d3-timer", "d3.LICENSE.txt"),
    ("events", "events.LICENSE.txt"),
)

# Comments that name an address, and maps that a browser would look for beside the page.
_ADDRESS_COMMENT = re.compile(r"^// https?://\S+ (.*)$", re.MULTILINE)
_SOURCE_MAP = re.compile(r"^//# sourceMappingURL=.*$\n?", re.MULTILINE)
# Characters that could end the element, or that older scripts take for line ends, and halves of
# surrogate pairs, which no encoding of the page can write.
_UNSAFE_IN_MARKUP = re.compile("[<>&\u2028\u2029\ud800-\udfff]")
_PLACE = re.compile(r"\{\{(\w+)\}\}")


def graph_page(
    network: Graph,
    *,
    vault_name: str,
    clusters: Clusters,
    positions: Positions | None = None,
    passages: Passages | None = None,
    focus: str | None = None,
) -> str:
    """The network as one HTML document that loads nothing and can be shown to others.

    The same notes make the same page, byte for byte.

    Args:
        vault_name: name of the vault's folder, by which Obsidian opens its notes.
        clusters: names and paths of groups of notes, largest first.
        positions: where to draw the notes, by path, in any unit; None lets the page arrange them.
        passages: the beginning of a note, by its path, as `IndexedText.passages` gives it.
        focus: path of the note that the page shows first.
    """
    content = page_content(
        network,
        vault_name=vault_name,
        clusters=clusters,
        positions=positions,
        passages=passages,
        focus=focus,
    )
    document = json_for_markup(content)
    style = _asset("page.css")
    scripts = [_library(name) for name in LIBRARIES] + [_asset(name) for name in SCRIPTS]
    places = {
        "policy": _policy(style, scripts),
        "title": html.escape(_encodable(f"{vault_name} · notes and links")),
        "style": f"<style>{style}</style>",
        "content": f'<script type="application/json" id="content">{document}</script>',
        "licences": "\n".join(_licence(name, file) for name, file in LICENCES),
        "scripts": "\n".join(f"<script>{script}</script>" for script in scripts),
    }
    return _PLACE.sub(lambda place: places[place[1]], _asset("page.html"))


def json_for_markup(document: Any) -> str:
    """JSON that can stand in a script element: no markup in it, and the same data when read."""
    text = json.dumps(document, ensure_ascii=False, separators=(",", ":"))
    return _UNSAFE_IN_MARKUP.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _policy(style: str, scripts: list[str]) -> str:
    allowed = " ".join(_digest(script) for script in scripts)
    return (
        f"default-src 'none'; script-src {allowed}; style-src {_digest(style)}; "
        "base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def _licence(name: str, file: str) -> str:
    text = html.escape(_vendored(file).strip())
    return f"<h3>{html.escape(name)}</h3>\n<pre>{text}</pre>"


def _library(name: str) -> str:
    script = _SOURCE_MAP.sub("", _vendored(name))
    return _ADDRESS_COMMENT.sub(rf"// {name} \1", script)


def _vendored(name: str) -> str:
    return _text("vendor", name)


def _asset(name: str) -> str:
    return _text("assets", name)


def _text(folder: str, name: str) -> str:
    file = resources.files(__package__) / "page_files" / folder / name
    # A checkout with other line ends must not change what the policy allows.
    return file.read_text(encoding="utf-8").replace("\r\n", "\n")


def _encodable(text: str) -> str:
    return text.encode("utf-8", "replace").decode()
