"""`amem graph` as a user meets it: told on terminals of any width, written into files."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import networkx
import pytest

from tests.conftest import Program
from tests.terminal import at_terminal, plain
from tests.vaults import write_note

HUB = "Structure notes are entrances"


@pytest.fixture
def vault(amem: Program) -> Path:
    return amem.vault()


def test_a_vault_is_told_at_a_glance(amem: Program, vault: Path) -> None:
    for number in range(9):
        write_note(vault, f"alone {number}.md", "Nothing leads here.\n")
    write_note(vault, "wanting.md", "See [[Nowhere]] and [[One note holds one idea]].\n")
    write_note(vault, "wanting too.md", "See [[Nowhere]] and [[Elsewhere]].\n")
    told = amem("graph").out
    assert "28 notes, 43 links (0 by amem, 43 by you)" in told
    sections = [line.split("  ")[0] for line in told.splitlines() if line[:1].isalpha()]
    assert sections == ["hubs", "clusters", "orphans", "not yet written"]
    assert "  8  Structure notes are entrances" in told
    assert "#zettelkasten" in told
    assert "10 of 28 notes without a link" in told and "… and 5 more" in told
    assert "  2  [[Nowhere]]  in wanting too.md, wanting.md" in told
    assert "alone 8" not in told and "alone 8" in amem("--verbose", "graph").out


@pytest.mark.parametrize(
    "words",
    [
        ("graph", "--format", "dot"),
        ("graph", "Home", "--format", "text"),
        ("export",),
    ],
)
def test_nothing_is_written_over_settings_and_journal(
    amem: Program, vault: Path, words: tuple[str, ...]
) -> None:
    own = vault / ".amem/config.toml"
    before = own.read_bytes()
    result = amem(*words, "--output", str(own))
    assert result.code == 2 and "amem's own folder" in result.err
    assert own.read_bytes() == before


def test_a_single_orphan_is_told_as_one(amem: Program, vault: Path) -> None:
    write_note(vault, "alone.md", "Nothing leads here.\n")
    assert "1 of 18 notes without a link" in amem("graph").out


def test_a_neighbourhood_shows_direction_maker_and_reason(amem: Program, vault: Path) -> None:
    write_note(vault, "notes/Tea.md", "Tea wants time.\n")
    amem("link", "Tea", HUB, "--relation", "contradicts", "--reason", "no entrance to tea")
    amem("link", HUB, "Tea")
    for number in range(5):
        write_note(vault, f"notes/Cup {number}.md", f"See [[{HUB}]].\n")
    told = amem("graph", HUB, "--depth", "1").out
    assert told.startswith(f"{HUB}  notes/{HUB}.md\n")
    assert "├── ↔ Tea  contradicts, you: no entrance to tea\n" in told
    assert "└── … 2 more (--verbose shows all)\n" in told
    assert "14 notes one link away" in told
    assert amem("--verbose", "graph", HUB, "--depth", "1").out.count("──") == 14
    write_note(vault, "notes/Alone.md", "Nothing.\n")
    assert "no links to or from this note" in amem("graph", "Alone").out
    disputes = amem("graph").out
    assert "Tea  contradicts  Structure notes are entrances" in disputes


def test_what_is_piped_is_whole_and_loads_nothing_to_draw_with(amem: Program, vault: Path) -> None:
    script = (
        "import sys\nfrom amem_cli.cli.main import app\n"
        "try:\n    app(sys.argv[1:])\nexcept SystemExit:\n    pass\n"
        "print([n for n in ('rich.console', 'matplotlib', 'sklearn') if n in sys.modules])\n"
    )
    for arguments in (["graph"], ["graph", HUB]):
        done = amem.beside(sys.executable, "-c", script, *arguments)
        assert done.out.splitlines()[-1] == "[]"


def test_the_suffix_of_the_file_says_what_is_written(amem: Program, vault: Path) -> None:
    begins = {
        "g.dot": "digraph vault {",
        "g.gv": "digraph vault {",
        "g.mmd": "flowchart LR",
        "g.graphml": "<graphml",
        "g.canvas": "{",
        "g.json": "{",
        "g.txt": "17 notes, 42 links",
    }
    for name, beginning in begins.items():
        answer = amem("graph", "--output", name)
        assert (answer.code, answer.out, answer.err) == (0, "", f"wrote {name}\n")
        assert (amem.folder / name).read_text(encoding="utf-8").startswith(beginning)
    assert len(networkx.read_graphml(amem.folder / "g.graphml").nodes) == 17
    files = [
        each.get("file") for each in json.loads((amem.folder / "g.canvas").read_text())["nodes"]
    ]
    assert all((vault / path).is_file() for path in files if path)
    told = amem("--json", "graph", "--output", "g.dot").json
    assert told == {"path": "g.dot", "format": "dot", "notes": 17}


def test_a_canvas_that_was_arranged_by_hand_is_not_replaced_unasked(
    amem: Program, vault: Path
) -> None:
    drawn = vault / "mine.canvas"
    drawn.write_text('{"nodes": [], "edges": []}')
    refused = amem("graph", "--output", str(drawn))
    assert refused.code == 2
    assert "exists already" in refused.err
    assert drawn.read_text() == '{"nodes": [], "edges": []}'
    assert amem("graph", "--output", str(drawn), "--force").code == 0
    assert len(json.loads(drawn.read_text())["nodes"]) >= 17


def test_a_neighbourhood_keeps_the_shape_of_the_whole_graph(amem: Program, vault: Path) -> None:
    whole = amem("graph", "--json").json
    assert set(whole) == {"nodes", "edges"}
    assert set(whole["edges"][0]) == {
        "source", "target", "kind", "by", "relation", "strength", "reason", "suggested",
    }  # fmt: skip
    around = amem("graph", HUB, "--depth", "1", "--json").json
    assert around["root"] == f"notes/{HUB}.md"
    distances = {node.pop("distance") for node in around["nodes"]}
    assert distances == {0, 1}
    assert [set(node) for node in around["nodes"]] == [
        {"id", "path", "title", "tags", "degree"}
    ] * 9
    paths = {node["path"] for node in around["nodes"]}
    assert all({edge["source"], edge["target"]} <= paths for edge in around["edges"])
    assert amem("graph", HUB, "--format", "dot").out.count("[label=") == 14


SHARED_FORMS = ("dot", "mermaid", "graphml", "canvas", "html")


@pytest.fixture
def confidants(vault: Path) -> None:
    """Private notes with a cluster, a broken link and words of their own."""
    for number in range(5):
        others = " ".join(f"[[confidant {each}]]" for each in range(5) if each != number)
        write_note(
            vault,
            f"confidant {number}.md",
            "---\nprivate: true\ntags: [confiding]\ncontext: Confided to nobody.\n---\n"
            f"{others} [[{HUB}]] [[A confided wish]]\n",
        )


@pytest.mark.usefixtures("confidants")
def test_what_is_made_for_others_holds_private_notes_only_when_asked(amem: Program) -> None:
    for form in SHARED_FORMS:
        shown = amem("graph", "--format", form)
        assert "confid" not in shown.out, form
        assert "left out 5 private notes; --private includes them" in shown.err
        around = amem("graph", HUB, "--format", form, "--depth", "3")
        assert around.code == 0 and "confid" not in around.out, form
        refused = amem("graph", "confidant 1", "--format", form)
        assert refused.code == 1 and "is private" in refused.err and "--private" in refused.err
        open_hearted = amem("graph", "--format", form, "--private")
        assert "confid" in open_hearted.out and "left out" not in open_hearted.err


@pytest.mark.usefixtures("confidants")
def test_private_notes_are_told_to_their_owner_unless_not_wanted(
    amem: Program, vault: Path
) -> None:
    amem("link", "confidant 0", HUB)
    for form in ("text", "json"):
        assert "confidant" in amem("graph", "--format", form).out
        for words in ((), (HUB,)):
            shown = amem("--verbose", "graph", *words, "--format", form, "--no-private")
            assert shown.code == 0 and "confid" not in shown.out, (form, words)
            assert "left out" in shown.err, (form, words)
    told = amem("graph", "--no-private").out
    assert "17 notes, 42 links" in told
    assert amem("graph", "confidant 1", "--no-private").code == 1


def test_what_cannot_be_written_is_said(amem: Program, vault: Path) -> None:
    cases = [
        (["--format", "svg"], "no format 'svg'"),
        (["--output", "graph.svg"], "is no known format"),
        (["--output", "notes.md", "--format", "mermaid"], "cannot write a graph into a note"),
        (["--format", "png"], "no format 'png' of the graph"),
        (["--map", "--format", "dot"], "no format 'dot' of a map"),
        (["--map", HUB, "--output", "a.html"], "a map shows all notes"),
        (["--json", "--format", "dot"], "cannot both be printed"),
    ]
    for arguments, message in cases:
        answer = amem("graph", *arguments)
        assert (answer.code, message in answer.err) == (2, True), (arguments, answer.err)
    assert amem("graph", "--output", "no/such/folder.dot").code == 3
    code, shown = at_terminal(amem.folder, ["graph", "--map"], [], **amem.environment)
    assert code == 2 and "html needs a file" in plain(shown)


def test_a_map_is_drawn_and_told_as_json(amem: Program, vault: Path) -> None:
    answer = amem("graph", "--map", "--output", "map.html")
    assert answer.code == 0, answer.err
    assert '"placed":true' in (amem.folder / "map.html").read_text(encoding="utf-8")
    told = amem("graph", "--map", "--json").json
    assert all(-1 <= node["x"] <= 1 and -1 <= node["y"] <= 1 for node in told["nodes"])
    assert len({node["group"] for node in told["nodes"]}) > 1
