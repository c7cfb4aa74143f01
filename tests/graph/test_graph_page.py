"""The page that `amem graph --format html` writes: what stands in it, and what may not."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from amem_cli.data import table
from amem_cli.graph.clusters import Cluster, clusters
from amem_cli.graph.graph import Edge, Graph
from amem_cli.graph.page import graph_page
from tests.conftest import Program
from tests.networks import made_up_network, made_up_note
from tests.outside_tools import node_package

VENDORED = {
    "d3-dispatch.min.js": ("d3-dispatch", "dist/d3-dispatch.min.js"),
    "d3-force.min.js": ("d3-force", "dist/d3-force.min.js"),
    "d3-quadtree.min.js": ("d3-quadtree", "dist/d3-quadtree.min.js"),
    "d3-timer.min.js": ("d3-timer", "dist/d3-timer.min.js"),
    "d3.LICENSE.txt": ("d3-force", "LICENSE"),
    "events.LICENSE.txt": ("events", "LICENSE"),
    "graphology.LICENSE.txt": ("graphology", "LICENSE.txt"),
    "graphology.umd.min.js": ("graphology", "dist/graphology.umd.min.js"),
    "sigma.LICENSE.txt": ("sigma", "LICENSE.txt"),
    "sigma.min.js": ("sigma", "dist/sigma.min.js"),
}
HOSTILE = (
    "</script><script>alert(1)</script>",
    '<img src=x onerror="alert(2)">',
    "javascript:alert(3)",
    "\"'`];}--><!--<script>",
    "{{scripts}} ${alert(4)} \u2028\u2029 \x00 \u202e",
    "<svg/onload=alert(5)>",
    "__proto__",
)


class Elements(HTMLParser):
    """The elements of a document, with the text of scripts and styles."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[tuple[str, str]] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        if self.cdata_elem is not None:
            self.texts.append((self.cdata_elem, data))


def hostile_network() -> Graph:
    notes = {
        f"notes/{number} {text}.md": made_up_note(
            f"notes/{number} {text}.md",
            text,
            tags=(text,),
            keywords=(text,),
            aliases=(text,),
            context=text,
            created=text,
        )
        for number, text in enumerate(HOSTILE)
    }
    paths = list(notes)
    edges = tuple(
        Edge(source, target, "property", "machine", text, 0.9, text)
        for source, target, text in zip(paths, paths[1:], HOSTILE, strict=False)
    )
    return Graph(notes, edges, ())


def hostile_page() -> str:
    network = hostile_network()
    paths = list(network.nodes)
    groups = [Cluster(HOSTILE[0], paths[:3]), Cluster(HOSTILE[1], paths[3:])]
    return graph_page(
        network, vault_name=HOSTILE[1], clusters=groups, passages=lambda path: [HOSTILE[0]]
    )


def content(page: str) -> Any:
    found = re.search(r'<script type="application/json" id="content">(.*?)</script>', page, re.S)
    assert found is not None
    return json.loads(found[1])


def test_the_libraries_are_those_of_their_packages_byte_for_byte() -> None:
    folder = Path(__file__).parents[2] / "amem_cli/graph/page_files/vendor"
    assert {file.name for file in folder.iterdir()} == set(VENDORED)
    for name, (package, path) in VENDORED.items():
        assert (folder / name).read_bytes() == (node_package(package) / path).read_bytes(), name


def test_hostile_notes_add_no_element_to_the_page() -> None:
    plain = graph_page(
        made_up_network(5, 5), vault_name="Notes", clusters=[], passages=lambda path: []
    )
    hostile = Elements(hostile_page())
    own = [(tag, set(attributes)) for tag, attributes in Elements(plain).found]
    assert [(tag, set(attributes)) for tag, attributes in hostile.found] == own
    for tag, attributes in hostile.found:
        assert not any(name.startswith("on") for name in attributes), tag
        assert not {"src", "srcset", "action", "style", "data"} & set(attributes), tag
        assert (attributes.get("href") or "#").startswith("#"), tag


def test_only_the_pages_own_scripts_and_style_may_run() -> None:
    elements = Elements(hostile_page())
    policy = next(
        attributes["content"] or ""
        for tag, attributes in elements.found
        if tag == "meta" and attributes.get("http-equiv") == "Content-Security-Policy"
    )
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy and "http" not in policy and "*" not in policy
    allowed = set(re.findall(r"'(sha256-[^']+)'", policy))
    texts = [text for _, text in elements.texts]
    digests = {
        "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        for text in texts
    }
    parts = table("pictures.toml")
    assert len(allowed) == len(parts["libraries"]) + len(parts["scripts"]) + 1
    assert len(digests - allowed) == 1, "all but the notes, which are data"


def test_the_page_names_no_address_of_the_network() -> None:
    # A licence may name the authors' site; it is text that nothing follows.
    page = re.sub(r"<pre>[^<]*</pre>", "", hostile_page())
    assert re.findall(r"https?://|sourceMappingURL", page) == []


def test_what_the_notes_say_reaches_the_page_unchanged() -> None:
    document = content(hostile_page())
    assert [row[1] for row in document["notes"]] == list(HOSTILE)
    assert document["vault"] == HOSTILE[1]
    assert {row[6] for row in document["links"]} <= {
        re.sub(r"\s+", " ", text).strip() for text in HOSTILE
    }


def test_half_a_character_in_a_title_can_be_written() -> None:
    note = made_up_note("a.md", "half \ud83d")
    page = graph_page(Graph({"a.md": note}, (), ()), vault_name="\udc80", clusters=[])
    assert "half \\ud83d" in page
    page.encode("utf-8")


def test_the_same_notes_make_the_same_page() -> None:
    pages = {
        graph_page(network, vault_name="Notes", clusters=clusters(network))
        for network in (made_up_network(80, 150), made_up_network(80, 150))
    }
    assert len(pages) == 1


def test_a_page_of_five_thousand_notes_stays_small() -> None:
    network = made_up_network(5000, 15000)
    groups = [Cluster("all", list(network.nodes))]
    page = graph_page(
        network, vault_name="Notes", clusters=groups, passages=lambda path: ["word " * 400]
    )
    bare = graph_page(Graph({}, (), ()), vault_name="Notes", clusters=[])
    assert len(page.encode()) - len(bare.encode()) < 5_000_000


def test_given_places_are_kept() -> None:
    network = made_up_network(3, 2)
    first = next(iter(network.nodes))
    page = graph_page(network, vault_name="Notes", clusters=[], positions={first: (0.123456, -2.0)})
    document = content(page)
    assert document["placed"] is True
    assert document["notes"][0][10:] == [0.1235, -2.0]
    assert document["notes"][1][10:] == []


def test_notes_and_links_have_the_days_on_which_they_were_made() -> None:
    notes = {
        "a.md": made_up_note("a.md", "A", created="2026-03-02"),
        "b.md": made_up_note("b.md", "B", created="2026-03-05T10:00:00Z"),
        "c.md": made_up_note("c.md", "C", created="some day", modified=""),
    }
    edges = (
        Edge("a.md", "b.md", "property", "machine"),
        Edge("b.md", "a.md", "wikilink", "person"),
        Edge("b.md", "c.md", "property", "person"),
    )
    made = {("a.md", "b.md"): "2026-04-01T09:00:00Z", ("b.md", "a.md"): "2026-04-02T09:00:00Z"}
    page = graph_page(Graph(notes, edges, ()), vault_name="v", clusters=[], made=made)
    document = content(page)
    assert document["days"] == ["2026-03-02", "2026-03-05", "2026-04-01"]
    assert document["note_days"] == [0, 1, -1]
    # A link that a person typed has no entry in the journal: it is as old as its younger note.
    assert document["link_days"] == [2, 1, 1]


def test_the_program_writes_the_page_of_a_vault(amem: Program) -> None:
    amem.vault("notes")
    written = amem("graph", "--format", "html", "--output", "graph.html")
    assert written.code == 0, written.err
    document = content((amem.folder / "graph.html").read_text(encoding="utf-8"))
    assert document["vault"] == "notes"
    beginnings = {row[1]: row[9] for row in document["notes"]}
    assert beginnings["Linking beats filing"]
    assert all(len(beginning) <= 300 for beginning in beginnings.values())
