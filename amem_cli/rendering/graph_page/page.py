"""Puts the page together: own markup, styles and scripts, the drawing libraries and the notes."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from importlib import resources
from typing import TYPE_CHECKING, Any

from amem_cli.rendering.graph_page.content import (
    Clusters,
    Passages,
    Positions,
    page_content,
)

if TYPE_CHECKING:
    from amem_cli.core.graph import Graph

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
    file = resources.files(__package__) / folder / name
    # A checkout with other line ends must not change what the policy allows.
    return file.read_text(encoding="utf-8").replace("\r\n", "\n")


def _encodable(text: str) -> str:
    return text.encode("utf-8", "replace").decode()
