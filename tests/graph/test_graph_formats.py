"""What is written for other programs is read by those programs, whatever the notes say."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import networkx
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from amem_cli.graph.clusters import Cluster, clusters
from amem_cli.graph.formats import (
    MOST_CHARACTERS,
    MOST_LINKS,
    canvas_text,
    dot_text,
    graphml_text,
    mermaid_text,
)
from amem_cli.graph.graph import Edge, Graph, joining
from amem_cli.index.records import NoteSummary
from amem_cli.language.safe_text import on_one_line
from tests.graph.hostile_networks import hostile_networks
from tests.hypothesis_profiles import examples
from tests.outside_tools import NODE_FOLDER, node_package, program

SCHEMA = Path(__file__).parents[1] / "data" / "json_canvas_1.0.schema.json"
READ_MERMAID = """
import { createInterface } from "node:readline";
import { JSDOM } from "jsdom";
const { window } = new JSDOM("<body></body>");
globalThis.window = window;
globalThis.document = window.document;
const { default: mermaid } = await import("mermaid");
mermaid.initialize({ startOnLoad: false, maxTextSize: 50000, maxEdges: 500 });
// In one pass: a title may hold what looks like a placeholder itself.
const plain = (text) => text.replace(/ﬂ°°(\\d+)¶ß|ﬂ°(\\w+)¶ß/g, (_, code, name) =>
  code ? String.fromCodePoint(Number(code)) : `&${name};`);
const read = async (text) => {
  const diagram = await mermaid.mermaidAPI.getDiagramFromText(text);
  const vertices = [...diagram.db.getVertices().values()].filter((each) => /^n/.test(each.id));
  return {
    type: diagram.type,
    titles: vertices.map((each) => plain(each.text ?? "")),
    links: vertices.map((each) => each.link ?? null),
    edges: diagram.db.getEdges().map((each) => [each.start, each.end, plain(each.text ?? "")]),
    groups: diagram.db.getSubGraphs().map((each) => plain(each.title)),
  };
};
for await (const line of createInterface({ input: process.stdin })) {
  const answer = await read(JSON.parse(line)).catch((error) => ({ error: String(error) }));
  console.log(JSON.stringify(answer));
}
"""


class MermaidParser:
    """Mermaid's own parser, in a process that answers for one flowchart after another."""

    def __init__(self) -> None:
        for name in ("mermaid", "jsdom"):
            node_package(name)
        self._process = subprocess.Popen(
            [program("node"), "--input-type=module", "--eval", READ_MERMAID],
            cwd=NODE_FOLDER,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )

    def __call__(self, text: str) -> Any:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps(text) + "\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline())
        assert "error" not in answer, (answer, text)
        return answer

    def close(self) -> None:
        self._process.communicate(timeout=120)


@pytest.fixture(scope="module")
def read_mermaid() -> Iterator[MermaidParser]:
    parser = MermaidParser()
    yield parser
    parser.close()


def a_note(path: str, title: str, tags: tuple[str, ...] = ()) -> NoteSummary:
    return NoteSummary(path, None, title, "", "", (), tags, "", (), False, "", "", "")


def a_large_network(notes: int) -> Graph:
    """A ring in which every tenth note is linked with the next ten."""
    paths = [f"notes/{number:05}.md" for number in range(notes)]
    pairs = {(paths[i], paths[(i + 1) % notes]) for i in range(notes)}
    pairs |= {
        (paths[i], paths[(i + step) % notes]) for i in range(0, notes, 10) for step in range(2, 12)
    }
    edges = tuple(Edge(source, target, "wikilink", "person") for source, target in sorted(pairs))
    return Graph({path: a_note(path, f"Note {path}") for path in paths}, edges, ())


@given(hostile_networks())
def test_networkx_reads_the_graphml_of_any_notes(graph: Graph) -> None:
    text = graphml_text(graph, clusters(graph))
    text.encode("utf-8")
    read = networkx.parse_graphml(text, force_multigraph=True)
    assert len(read.nodes) == len(graph.nodes)
    assert len(read.edges) == len(graph.edges)
    for (path, note), (name, known) in zip(graph.nodes.items(), read.nodes.items(), strict=True):
        if path.isprintable() and path.isascii():
            assert name == known["path"] == path
        if note.title.isprintable() and note.title.isascii():
            assert known.get("title", "") == note.title
    strengths = sorted(edge.strength for edge in graph.edges if edge.strength is not None)
    assert sorted(data["strength"] for *_, data in read.edges(data=True) if "strength" in data) == (
        strengths
    )


@given(hostile_networks(), st.booleans())
def test_obsidian_reads_the_canvas_of_any_notes(graph: Graph, whole: bool) -> None:
    root = None if whole else next(iter(graph.nodes))
    canvas = json.loads(canvas_text(graph, clusters(graph), root))
    canvas_schema().validate(canvas)
    cards = {each["id"]: each for each in canvas["nodes"] if each["type"] == "file"}
    ids = [each["id"] for each in canvas["nodes"] + canvas["edges"]]
    assert len(set(ids)) == len(ids)
    if whole:
        assert {each["file"] for each in cards.values()} == set(graph.nodes)
        assert len(canvas["edges"]) == len(joining(graph))
    assert all(each["fromNode"] in cards and each["toNode"] in cards for each in canvas["edges"])
    assert_no_card_covers_another(list(cards.values()))


@settings(examples(0.4))
@given(hostile_networks())
def test_graphviz_reads_the_dot_of_any_notes(graph: Graph) -> None:
    found = clusters(graph)
    read = json.loads(graphviz("-Tdot_json", dot_text(graph, found, 'v"ault\\', None)))
    objects = read.get("objects", [])
    nodes = [each for each in objects if re.fullmatch(r"n\d+", each["name"])]
    nodes.sort(key=lambda each: int(each["name"][1:]))
    assert len(nodes) == len(graph.nodes)
    for node, note in zip(nodes, graph.nodes.values(), strict=True):
        label, whole = unescaped(node["label"]), shown_in_dot(note)
        # A title of more than three lines is cut, which an ellipsis says.
        assert label == whole or (label[-1] == "…" and whole.startswith(label[:-1])), (label, whole)
    assert all(re.fullmatch(r"obsidian://open\?[\w=&;%.~-]*", each["URL"]) for each in nodes)
    named = [each for each in objects if each["name"].startswith("cluster_")]
    assert [unescaped(each["label"]) for each in named] == [
        squeezed(cluster.name) for cluster in found
    ]
    assert len(read.get("edges", [])) == len(joining(graph))


@example(Graph({"blank.md": a_note("blank.md", "\ufeff")}, (), ()))
@given(hostile_networks())
def test_mermaid_reads_the_flowchart_of_any_notes(
    read_mermaid: MermaidParser, graph: Graph
) -> None:
    found = clusters(graph)
    diagram = read_mermaid(mermaid_text(graph, found, "v", None)[0])
    assert diagram["type"].startswith("flowchart")
    assert len(diagram["titles"]) == len(graph.nodes)
    assert all(title.strip() for title in diagram["titles"])
    short = {squeezed(note.title) for note in graph.nodes.values() if len(note.title) < 50}
    assert short - {""} <= {squeezed(title) for title in diagram["titles"]}
    assert len(diagram["edges"]) == len(joining(graph))
    assert all(link.startswith("obsidian://open?vault=v&file=") for link in diagram["links"])
    assert sorted(map(squeezed, diagram["groups"])) == sorted(squeezed(each.name) for each in found)


def test_of_a_large_network_mermaid_gets_what_it_can_draw(read_mermaid: MermaidParser) -> None:
    graph = a_large_network(2000)
    text, notice = mermaid_text(graph, clusters(graph), "v")
    diagram = read_mermaid(text)
    assert 100 < len(diagram["titles"]) < len(graph.nodes)
    assert f"wrote the {len(diagram['titles'])} most linked of 2000 notes" in notice
    assert len(diagram["edges"]) <= MOST_LINKS and len(text) <= MOST_CHARACTERS


def test_graphviz_draws_a_cluster_with_its_notes_and_links_that_open_them() -> None:
    graph = Graph(
        {path: a_note(path, path.removesuffix(".md")) for path in ("a b.md", "c.md", "d.md")},
        (Edge("a b.md", "c.md", "property", "machine", "supports", 0.5, "both on tea"),),
        (),
    )
    drawing = graphviz("-Tsvg", dot_text(graph, [Cluster("Tea & cake", ["a b.md", "c.md"])], "v"))
    assert "Tea &amp; cake" in drawing and "supports" in drawing and "both on tea" in drawing
    assert "obsidian://open?vault=v&amp;file=a%20b.md" in drawing


def test_around_one_note_what_it_links_to_is_right_of_it_and_what_links_to_it_left() -> None:
    graph = Graph(
        {path: a_note(path, path) for path in ("in.md", "middle.md", "out.md", "further.md")},
        (
            Edge("in.md", "middle.md", "wikilink", "person"),
            Edge("middle.md", "out.md", "property", "machine", "causes", 0.9, "rain"),
            Edge("out.md", "further.md", "wikilink", "person"),
        ),
        (),
    )
    canvas = json.loads(canvas_text(graph, [], "middle.md"))
    across = {each["file"]: each["x"] for each in canvas["nodes"]}
    assert sorted(across, key=lambda path: across[path]) == [
        "in.md", "middle.md", "out.md", "further.md",
    ]  # fmt: skip
    labels = [each.get("label") for each in canvas["edges"]]
    assert labels == [None, "causes: rain", None]


def test_a_canvas_keeps_its_ids_when_a_note_is_added() -> None:
    small, large = a_large_network(30), a_large_network(31)
    ids = {each["file"]: each["id"] for each in json.loads(canvas_text(small, []))["nodes"][1:]}
    later = {each["file"]: each["id"] for each in json.loads(canvas_text(large, []))["nodes"][1:]}
    assert len(ids) == 30
    assert ids.items() <= later.items()


@cache
def canvas_schema() -> Any:
    return jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text(encoding="utf-8")))


def assert_no_card_covers_another(cards: list[Any]) -> None:
    for at, one in enumerate(cards):
        for other in cards[at + 1 :]:
            apart_across = abs(one["x"] - other["x"]) >= one["width"]
            apart_down = abs(one["y"] - other["y"]) >= one["height"]
            assert apart_across or apart_down, (one, other)


def graphviz(form: str, text: str) -> str:
    done = subprocess.run(
        [program("dot"), form], input=text.encode("utf-8"), capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr.decode()
    assert b"rror" not in done.stderr, done.stderr.decode()
    return done.stdout.decode("utf-8")


def unescaped(label: str) -> str:
    """A label without its line ends, as Graphviz draws it."""
    drawn = re.sub(r"\\(.)", lambda match: " " if match[1] == "n" else match[1], label)
    return squeezed(drawn.replace("&amp;", "&"))


def shown_in_dot(note: NoteSummary) -> str:
    # A title of nothing but blanks shows nothing, so the path is shown.
    title = on_one_line(note.title).strip(" \t\n\r\x0b\x0c")
    return squeezed(title or on_one_line(note.path))


def squeezed(text: str) -> str:
    """What is left of a text when all that is blank or cannot be shown is gone."""
    return re.sub(r"[\s\ufeff]+|\N{REPLACEMENT CHARACTER}", "", on_one_line(text))
