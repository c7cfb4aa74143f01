"""`amem links` as a person and a script use it, and where suggestions and changes of links show."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path

import pytest

from amem_cli.index.memory_index import VaultPorts
from amem_cli.index.sync import synchronise
from tests.conftest import Program
from tests.memory.test_link_changes import carry_out, chained, change
from tests.memory.test_suggestions import suggest
from tests.screen import Screen
from tests.terminal import at_terminal, plain
from tests.vaults import open_vault, tree_hashes, write_note

KEYS = "[q]uit"
TITLES = ("Dough", "Butter", "Oven", "Rye")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A vault in which Dough links to Rye, by amem, and suggests Butter and Oven."""
    ports: VaultPorts = open_vault(tmp_path)
    for number, title in enumerate(TITLES):
        header = f'---\nid: "2026010210000{number}"\ntitle: {title}\n---\n'
        write_note(tmp_path, f"{title}.md", f"{header}A note about {title}.\n")
    synchronise(ports)
    suggest(ports, "Dough.md", "Rye.md", written=True)
    suggest(ports, "Dough.md", "Butter.md", "Oven.md")
    return tmp_path


def linked(root: Path, title: str = "Dough") -> list[str]:
    return [name for name in TITLES if f"[[{name}]]" in (root / f"{title}.md").read_text()]


def test_without_a_terminal_it_lists_what_waits(amem: Program, root: Path) -> None:
    before = tree_hashes(root)
    listed = amem("links")
    assert listed.code == 0
    assert "Dough → Rye  supports, 0.70\n    reason 0" in listed.out
    assert "Dough ⇢ Oven  supports, 0.65\n    reason 1" in listed.out
    document = amem("links", "--json").json
    assert document["links"] == [
        {
            "source": "Dough.md",
            "target": "20260102100003",
            "path": "Rye.md",
            "relation": "supports",
            "reason": "reason 0",
            "strength": 0.7,
        }
    ]
    assert [each["path"] for each in document["suggested"]] == ["Butter.md", "Oven.md"]
    assert document["kept"] == document["rejected"] == []
    assert amem("links", "--suggested", "--json").json["links"] == []
    assert len(amem("links", "Oven", "--json").json["suggested"]) == 1
    assert "… and 2 more: --limit 3 lists all" in amem("links", "--limit", "1").out
    assert {path: sha for path, sha in tree_hashes(root).items() if path.endswith(".md")} == {
        path: sha for path, sha in before.items() if path.endswith(".md")
    }


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_a_terminal_may_list_them_too_and_only_the_strong_ones(amem: Program, root: Path) -> None:
    code, shown = at_terminal(
        root, ["links", "--list", "--min-strength", "0.68"], [], FORCE_HYPERLINK="0"
    )
    assert code == 0 and "Dough ⇢ Butter" in plain(shown) and KEYS not in plain(shown)
    assert "Oven" not in plain(shown)
    strong = amem("links", "--min-strength", "0.7", "--json").json
    assert [each["path"] for each in strong["links"] + strong["suggested"]] == [
        "Rye.md",
        "Butter.md",
    ]
    assert amem("links", "--min-strength", "2").code == 2


def test_options_keep_reject_and_change(amem: Program, root: Path) -> None:
    done = amem("links", "Dough", "--keep", "Butter", "--relation", "causes", "--reject", "Oven")
    assert done.code == 0, done.err
    assert "1 link kept, 1 rejected" in done.out
    assert linked(root) == ["Butter", "Rye"]
    assert linked(root, "Oven") == []
    (waiting,) = amem("links", "--json").json["links"]
    assert waiting["path"] == "Rye.md"
    shown = {each["path"]: each for each in amem("show", "Dough", "--json").json["links"]}
    assert (shown["Butter.md"]["by"], shown["Butter.md"]["relation"]) == ("person", "causes")
    assert amem("show", "Dough", "--json").json["suggested"] == []
    done = amem("links", "Rye", "--reject", "Dough", "--json")
    assert [each["path"] for each in done.json["rejected"]] == ["Rye.md"]
    assert linked(root) == ["Butter"]
    story = amem("history", "Dough").out
    assert "you rejected a suggestion of it" in story and "accepted by you" in story
    assert amem("links").out == "no link waits for a decision\n"
    rejected = next(
        each["id"] for each in amem("history", "--json").json if each["kind"] == "reject"
    )
    assert "took back the rejection of Dough.md" in amem("undo", rejected).out
    assert [each["path"] for each in amem("links", "--json").json["suggested"]] == ["Oven.md"]


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
@pytest.mark.parametrize("mine", ["", "links: []\n", "links: # mine\n"])
def test_a_rejection_leaves_a_note_as_it_was_before_the_link(
    amem: Program, tmp_path: Path, mine: str, line_end: str
) -> None:
    ports = open_vault(tmp_path)
    for number, title in enumerate(("Dough", "Rye")):
        header = f'---\nid: "2026010210000{number}"\n{mine}---\n'
        text = f"{header}A note about {title}.\n\nlinks:\n".replace("\n", line_end)
        write_note(tmp_path, f"{title}.md", text)
    synchronise(ports)
    before = (tmp_path / "Dough.md").read_bytes()
    suggest(ports, "Dough.md", "Rye.md", written=True)
    made = (tmp_path / "Dough.md").read_bytes()
    assert made != before
    assert amem("links", "Dough", "--reject", "Rye").code == 0
    left = (tmp_path / "Dough.md").read_bytes()
    assert left == before.replace(b"links: # mine", b"links: [] # mine")
    assert amem("undo", "--yes").code == 0
    assert (tmp_path / "Dough.md").read_bytes() == made


def test_an_empty_property_of_a_persons_stays_though_amem_had_brought_one_before(
    amem: Program, tmp_path: Path
) -> None:
    ports = open_vault(tmp_path)
    for number, title in enumerate(("Dough", "Rye")):
        header = f'---\nid: "2026010210000{number}"\n---\n'
        write_note(tmp_path, f"{title}.md", f"{header}A note about {title}.\n")
    synchronise(ports)
    suggest(ports, "Dough.md", "Rye.md", written=True)
    assert amem("links", "Dough", "--reject", "Rye").code == 0
    note = tmp_path / "Dough.md"
    note.write_text(note.read_text().replace("\n---\nA", "\nlinks: []\n---\nA"))
    before = note.read_bytes()
    assert amem("link", "Dough", "Rye").code == amem("unlink", "Dough", "Rye").code == 0
    assert note.read_bytes() == before


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (["--keep", "Oven"], 2, "need the note"),
        (["Dough", "--relation", "causes"], 2, "goes with --keep"),
        (["Dough", "--keep", "Oven", "--relation", "likes"], 2, "'likes' is not one of"),
        (["Dough", "--keep", "Oven", "--reject", "Oven"], 2, "cannot be both kept"),
        (["Butter", "--keep", "Oven"], 1, "no link between"),
        (["Dough", "--reject", "Oven", "--keep", "Nowhere"], 1, "no note 'Nowhere'"),
    ],
)
def test_a_wrong_option_changes_nothing(
    amem: Program, root: Path, options: list[str], code: int, said: str
) -> None:
    before = amem("links", "--json").json
    refused = amem("links", *options)
    assert (refused.code, said in refused.err) == (code, True), refused.err
    assert amem("links", "--json").json == before


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_keys_step_through_the_links(root: Path) -> None:
    pressed = [(KEYS, "k"), (KEYS, "x"), ("press one of", "\r"), (KEYS, "c"), ("[7] causes", "7")]
    code, shown = at_terminal(root, ["links"], pressed)
    said = plain(shown)
    assert code == 0, said
    assert "press one of" in said and "(3 left)" in said and "A note about Oven." in said
    assert "2 links kept, 0 rejected" in said
    assert linked(root) == ["Oven", "Rye"]
    code, shown = at_terminal(root, ["links", "Butter"], [(KEYS, "n")])
    assert code == 0 and "0 links kept, 1 rejected" in plain(shown)
    code, shown = at_terminal(root, ["links"], [])
    assert "no link waits for a decision" in plain(shown)


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_what_notes_say_flows_and_prompts_break_between_words(root: Path) -> None:
    for title in ("Dough", "Butter"):
        text = (root / f"{title}.md").read_text()
        (root / f"{title}.md").write_text(f"{text}Rest it.\n\nThen fold\r\nit twice.\n")
    with Screen(root, ["links", "Butter"], columns=60) as screen:
        screen.wait_for("left)")
        lines = screen.lines
        assert not [line for line in lines if "\N{REPLACEMENT CHARACTER}" in line]
        assert any("Rest it. Then fold it twice." in line for line in lines), lines
        at = lines.index("[k]eep  [r]eject  [c]hange relation  [s]kip  [q]uit   (1")
        assert lines[at + 1] == "left)"
        screen.press("q")
        assert screen.finish() == 0


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_a_key_and_enter_may_arrive_together(root: Path) -> None:
    code, shown = at_terminal(root, ["links"], [(KEYS, "k\r"), ("(2 left)", "n\rq\r")])
    said = plain(shown)
    assert code == 0 and "press one of" not in said
    assert "1 link kept, 1 rejected" in said and "(1 left)" in said
    story = at_terminal(root, ["history"], [])[1]
    assert "links    kept [[Rye]]  supports 1" in plain(story) and "- [[" not in plain(story)


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_the_relations_have_a_way_back_and_an_interrupt_keeps_the_summary(root: Path) -> None:
    pressed = [(KEYS, "k"), (KEYS, "c"), ("[q] back", "q"), ("(2 left)", "c"), ("[q] back", "\x03")]
    code, shown = at_terminal(root, ["links"], pressed)
    assert code == 130 and "1 link kept, 0 rejected" in plain(shown), plain(shown)
    assert linked(root) == ["Rye"]
    code, shown = at_terminal(root, ["links"], [(KEYS, "c"), ("[q] back", "\r"), (KEYS, "q")])
    assert code == 0 and "0 links kept, 0 rejected" in plain(shown)


def test_the_relation_told_is_the_one_in_the_note(amem: Program, root: Path) -> None:
    assert amem("link", "Dough", "Rye", "--json").json["relation"] == "supports"
    again = amem("link", "Dough", "Rye", "--relation", "causes", "--json").json
    assert (again["made"], again["relation"]) == (False, "supports")
    assert amem("link", "Dough", "Oven", "--json").json["relation"] == "supports"
    assert amem("link", "Oven", "Rye", "--json").json["relation"] == "related"


def test_both_notes_show_what_is_suggested(amem: Program, root: Path) -> None:
    shown = amem("show", "Dough").out
    assert "suggested" in shown and "⇢ Butter  reason 0\n⇢ Oven  reason 1" in shown
    assert "⇠ Dough  reason 1" in amem("show", "Oven").out
    (seen,) = amem("show", "Oven", "--json").json["suggested"]
    assert seen == {
        "target": "20260102100000",
        "path": "Dough.md",
        "title": "Dough",
        "direction": "in",
        "relation": "supports",
        "reason": "reason 1",
        "strength": 0.65,
    }
    assert "suggested" not in amem("show", "Rye").out


def test_to_link_or_unlink_by_hand_decides_as_well(amem: Program, root: Path) -> None:
    assert amem("link", "Dough", "Butter").code == 0
    assert amem("unlink", "Oven", "Dough").code == 0
    assert amem("unlink", "Oven", "Dough").code == 1
    shown = {each["path"]: each for each in amem("show", "Dough", "--json").json["links"]}
    assert (shown["Butter.md"]["relation"], shown["Butter.md"]["reason"]) == (
        "supports",
        "reason 0",
    )
    assert amem("links", "--suggested", "--json").json["suggested"] == []
    amem("index", "--rebuild")
    assert amem("links", "--suggested", "--json").json["suggested"] == []


def test_the_graph_draws_suggestions_where_they_are_asked_for(amem: Program, root: Path) -> None:
    edges = amem("graph", "--json").json["edges"]
    assert [(each["target"], each["suggested"]) for each in edges] == [
        ("Rye.md", False),
        ("Butter.md", True),
        ("Oven.md", True),
    ]
    assert {each["path"]: each["degree"] for each in amem("graph", "--json").json["nodes"]} == {
        "Butter.md": 0,
        "Dough.md": 1,
        "Oven.md": 0,
        "Rye.md": 1,
    }
    for form, mark in (
        ("dot", 'style="dotted"'),
        ("mermaid", '|"supports#63;"|'),
        ("graphml", 'key="suggested"'),
        ("canvas", "supports?"),
        ("text", "⇢ Oven  supports, 0.7, suggested"),
    ):
        for around in ([], ["Dough"]):
            if (form, around) != ("text", []):
                assert mark in amem("graph", *around, "--format", form, "--suggested").out
            assert mark not in amem("graph", *around, "--format", form).out
    assert "`amem links` decides" in amem("graph", "--suggested").out
    assert "amem links" not in amem("graph").out
    page = amem("graph", "--format", "html").out
    content = page.partition('id="content">')[2].partition("</script>")[0]
    document = json.loads(content)
    assert len(document["suggested"]) == 2 and len(document["links"]) == 1


def test_what_is_suggested_for_a_new_note_is_told_in_a_line(amem: Program) -> None:
    assert amem("init", ".").code == 0
    assert amem("config", "set", "llm.backend", "none").code == 0
    assert amem("config", "set", "evolution.links", "careless").code == 3
    assert amem("config", "set", "evolution.links", "eager").code == 0
    # None may be written, so that all are suggested, whatever their strengths.
    assert amem("config", "set", "evolution.max_links", "0").code == 0
    old = "Lamination of croissant dough needs butter at 14 degrees, else the dough tears."
    new = "The croissant dough tore in Lamination of dough: the butter came from the fridge."
    assert amem("add", old, "--title", "Lamination of dough").code == 0
    added = amem("add", new, "--title", "Morning batch", "--json").json
    (found,) = [each for each in added["suggested"] if "Lamination" in each["path"]]
    assert set(found) == {"target", "path", "relation", "reason", "strength"}
    assert added["links"] == [] and "links" not in (amem.folder / added["path"]).read_text()
    third = amem("add", f"{new} Again.", "--title", "Evening batch").out
    assert "links: amem links 'notes/Evening batch.md'" in third
    # The command works also if two notes have one title, or a name looks like an option.
    for name in ("One", "-Two"):
        text = f"---\ntitle: Twin\n---\n{name}: the croissant dough tore in Lamination of dough.\n"
        write_note(amem.folder, f"{name}.md", text)
    told = [line for line in amem("evolve").out.splitlines() if "amem links" in line]
    assert amem("links", "Twin").code == 1 and len(told) == 2
    for line in told:
        assert amem("links", *shlex.split(line.partition("amem links ")[2])).code == 0
    assert amem("add", new + " Third.", "--title", "Later", "--no-wait").code == 0
    assert "5 links: amem links notes/Later.md" in amem("evolve").out


@pytest.fixture
def ports(tmp_path: Path) -> VaultPorts:
    """First links to Second, and Third knows more."""
    ports = open_vault(tmp_path)
    chained(ports)
    return ports


def test_history_tells_a_link_before_and_after_and_why(amem: Program, ports: VaultPorts) -> None:
    carry_out(ports, "Third", [change(relation="supersedes", strength=0.8)])
    carry_out(ports, "Third", [change(removed=True)])
    told = amem("history", "First").out
    lines = [line.strip() for line in told.splitlines()]
    assert "because of “Third”, amem changed its links" in told
    assert "links    - [[Second]]  related 0.5: as one" in lines
    assert "links    + [[Second]]  supersedes 0.8: the news say so" in lines
    assert "links    - [[Second]]  supersedes 0.8: the news say so" in lines
    event = amem("history", "First", "--json").json[-1]
    assert event["links_before"][0]["relation"] == "supersedes"
    undone = amem("undo", event["id"])
    assert undone.code == 0 and "notes/First.md" in undone.out
    (shown,) = [each for each in amem("show", "First", "--json").json["links"]
                if each["direction"] == "out"]  # fmt: skip
    assert (shown["relation"], shown["strength"]) == ("supersedes", 0.8)


def test_undo_tells_of_a_note_of_which_no_byte_changed(amem: Program, ports: VaultPorts) -> None:
    carry_out(ports, "Third", [change(strength=0.9)])
    event = amem("history", "First", "--json").json[-1]
    undone = amem("undo", event["id"])
    assert undone.code == 0 and "notes/First.md" in undone.out


def test_review_shows_what_would_become_of_a_link(amem: Program, ports: VaultPorts) -> None:
    carry_out(ports, "Third", [change(relation="contradicts", strength=0.7)], review=True)
    shown = [line.strip() for line in amem("review").out.splitlines()]
    assert "links    - [[Second]]  related 0.5: as one" in shown
    assert "links    + [[Second]]  contradicts 0.7: the news say so" in shown
    (document,) = amem("review", "--json").json["waiting"]
    assert document["link"] == {
        "path": "notes/Second.md",
        "before": {"relation": "related", "strength": 0.5},
        "after": {"relation": "contradicts", "strength": 0.7},
    }
    assert amem("review", "--accept-all").code == 0
    # Of the two the later one holds, though the other has the link.
    assert "contradicted" not in amem("show", "Second").out.partition("\n\n")[0]
    assert amem("show", "First").out.splitlines()[2].startswith("contradicted by “Second” since ")
