"""`amem mv`: a note gets another name or folder, and every link follows."""

from __future__ import annotations

import json
import unicodedata

from tests.conftest import Program
from tests.vaults import tree_hashes, write_note


def test_links_of_every_kind_follow_and_an_undo_brings_all_back(amem: Program) -> None:
    vault = amem.empty_vault()
    header = 'id: "20260302150004"\nup: "[[Walrus]]"\nlinks:\n  - "[[Walrus]]"\n'
    body = "See [[Walrus#Food|the beast]] and [w](Walrus.md), but `[[Walrus]]` is code.\n"
    write_note(vault, "a.md", f"---\n{header}---\n{body}")
    own = '---\nid: "20260302150005"\naliases: [Tusks]\n---\n'
    write_note(vault, "Walrus.md", f"{own}I, [[Walrus]], by [[a]]. ![](ice.png)\n")
    write_note(vault, "b.md", "[[Tusks]] stays, as the alias does.\n")
    (vault / "ice.png").write_bytes(b"")
    before = tree_hashes(vault)

    moved = amem("mv", "Walrus", "sea/Sea: cow", "--json").json
    assert (moved["source"], moved["path"]) == ("Walrus.md", "sea/Sea - cow.md")
    assert (moved["followed"], moved["left"]) == (["a.md"], [])
    text = (vault / "a.md").read_text(encoding="utf-8")
    assert text.startswith(f"---\n{header.replace('Walrus', 'Sea - cow')}")
    assert "[[Sea - cow#Food|the beast]] and [w](sea/Sea%20-%20cow.md), but `[[Walrus]]`" in text
    moved_text = (vault / "sea/Sea - cow.md").read_text(encoding="utf-8")
    assert "I, [[Sea - cow]], by [[a]]. ![](../ice.png)" in moved_text
    assert not (vault / "Walrus.md").exists()
    assert amem("index", "--check").code == 0
    assert "you moved it" in amem("history", "sea/Sea - cow.md").out

    assert amem("undo", moved["event"]).code == 0
    assert tree_hashes(vault) == before
    assert amem("show", "Walrus", "--json").json["path"] == "Walrus.md"
    assert amem("mv", "Walrus", "sea/").code == 0
    assert amem("mv", "Walrus", "/Walrus").code == 0
    assert tree_hashes(vault) == before


def test_an_apostrophe_in_the_new_name_changes_only_what_is_in_single_quotes(amem: Program) -> None:
    assert amem("init", ".", "--adopt").code == 0
    write_note(amem.folder, "Walrus.md", "x\n")
    header = """---
up: '[[Walrus]]'  # mine
odd: "\\x5b[Walrus]]"
block: |
  [[Walrus]] and
  more
list: ["[[Walrus]]", 'it''s']
---
"""
    write_note(amem.folder, "a.md", header)
    amem("mv", "Walrus", "Kim's cow")
    quoted = header.replace("'[[Walrus]]'", '"[[Walrus]]"').replace("\\x5b", "[")
    assert (amem.folder / "a.md").read_text() == quoted.replace("Walrus", "Kim's cow")


def test_relative_links_stay_valid_for_every_reader_of_markdown(amem: Program) -> None:
    assert amem("init", ".", "--adopt").code == 0
    for path in ("img/p.png", "src/run.py", "b/Beta.md", "Gamma.md"):
        write_note(amem.folder, path, "x\n")
    own = "![x](img/p.png) [b](b/Beta.md#h) [c](src/run.py) [g](Gamma.md) [by name](Beta) [[Beta]]"
    write_note(amem.folder, "Alpha.md", f"{own} [r](/b/Beta.md) [n](Nowhere.md)\n")
    write_note(amem.folder, "b/other.md", "[a](../Alpha.md) [a](Alpha.md) [[Alpha]]\n")
    defined = (
        "See [it][r], [s] and [t].\n\n[r]: Alpha.md#h 'A'\n\n- [s]: </Alpha.md>\n  [t]: b/Beta.md\n"
    )
    write_note(amem.folder, "defined.md", defined + "\n      [code]: Alpha.md\n")
    write_note(amem.folder, "items.md", "- one\n\n      [[Alpha]]\n\n> - a\n>\n>       [[Alpha]]\n")
    shown = amem("show", "Alpha", "--json").json
    assert {each["path"] for each in shown["links"] if each["direction"] == "in"} == {
        "b/other.md",
        "defined.md",
    }
    before = tree_hashes(amem.folder)
    moved = amem("mv", "Alpha", "deep/er/", "--json").json
    assert (amem.folder / "deep/er/Alpha.md").read_text() == (
        "![x](../../img/p.png) [b](../../b/Beta.md#h) [c](../../src/run.py) [g](../../Gamma.md)"
        " [by name](Beta) [[Beta]] [r](/b/Beta.md) [n](Nowhere.md)\n"
    )
    text = (amem.folder / "b/other.md").read_text()
    assert text == "[a](../deep/er/Alpha.md) [a](Alpha.md) [[Alpha]]\n"
    assert (amem.folder / "defined.md").read_text() == (
        defined.replace("Alpha.md", "deep/er/Alpha.md") + "\n      [code]: Alpha.md\n"
    )
    assert moved["followed"] == ["b/other.md", "defined.md"]
    assert amem("index", "--check").code == 0
    assert amem("undo", moved["event"]).code == 0
    notes = {path: sha for path, sha in tree_hashes(amem.folder).items() if path in before}
    assert notes == before


def test_a_processed_note_whose_links_followed_is_still_processed(amem: Program) -> None:
    assert amem("init", ".", "--adopt").code == 0
    write_note(amem.folder, "a.md", "See [[Walrus]] on ice.\n")
    write_note(amem.folder, "Walrus.md", "Tusks.\n")
    assert amem("evolve", "--all", "--no-llm").code == 0
    assert amem("mv", "Walrus", "Seal", "--json").json["followed"] == ["a.md"]
    evolved = amem("evolve")
    assert (evolved.out, evolved.err) == ("nothing is pending\n", "")


def test_an_undo_brings_back_how_links_were_written(amem: Program) -> None:
    vault = amem.empty_vault()
    write_note(vault, "Walrus.md", "---\nup: '[[Walrus]]' # me\n---\nTusks.\n")
    write_note(vault, "id.md", "---\nid: '7'\nlinks: ['[[Walrus]]', \"[[x]]\"]\n---\nI.\n")
    write_note(vault, "no id.md", "---\nlinks:\n- '[[Walrus]]' # mine\n---\nNo.\n")
    write_note(vault, "edited.md", "---\nlinks:\n- '[[Walrus]]'\nup: '[[Walrus]]'\n---\nOld.\n")
    before = tree_hashes(vault)
    moved = amem("mv", "Walrus", "sea/Cow", "--json").json
    assert moved["followed"] == ["edited.md", "id.md", "no id.md"]
    edited = vault / "edited.md"
    edited.write_text(edited.read_text().replace("Old.", "New [[Cow]]."))
    assert amem("undo", moved["event"]).code == 0
    after = tree_hashes(vault)
    assert {path for path in before if after.get(path) != before[path]} == {"edited.md"}
    text = edited.read_text()
    assert "New [[Walrus]]." in text and "[[Cow]]" not in text
    assert amem("show", "no id", "--json").json["links"][0]["path"] == "Walrus.md"
    assert amem("update", "no id", "--add-tag", "x", "--no-wait").code == 0
    assert amem("undo", "--yes").code == 0
    assert tree_hashes(vault) == after


def test_a_name_that_cannot_be_is_refused(amem: Program) -> None:
    vault = amem.empty_vault()
    for name in ("a", "b", "old/c"):
        write_note(vault, f"{name}.md", f"The note {name}.\n")
    before = tree_hashes(vault)
    for name, code in (
        ("b", 2),
        ("C", 2),
        ("a", 2),
        ("", 2),
        ("../out", 3),
        (".amem/x", 3),
        ("x/../../y", 3),
    ):
        answer = amem("mv", "a", name)
        assert (answer.code, answer.out) == (code, ""), name
        assert "hint: " in answer.err
    assert amem("mv", "nothing", "x").code == 1
    assert tree_hashes(vault) == before


def test_a_title_that_spelled_the_name_out_changes_with_it(amem: Program) -> None:
    vault = amem.empty_vault()
    made = amem("add", "Ice melts.", "--title", "Ice: why", "--no-wait", "--json").json
    write_note(vault, "a.md", "[[Ice: why]]\n")
    assert amem("mv", "Ice: why", "Thaw").code == 0
    assert (vault / "a.md").read_text(encoding="utf-8") == "[[Thaw]]\n"
    shown = amem("show", made["id"], "--json").json
    assert (shown["title"], shown["path"]) == ("Thaw", "notes/Thaw.md")
    move = next(e for e in json.loads(amem("history", "--json").out) if e["kind"] == "move")
    assert amem("undo", move["id"]).code == 0
    assert amem("show", made["id"], "--json").json["title"] == "Ice: why"


def test_a_picture_is_led_to_in_the_form_of_accents_that_its_file_has(amem: Program) -> None:
    picture = amem.folder / "att" / "Bild fu\u0308r a\u0308.png"
    picture.parent.mkdir()
    picture.write_bytes(b"x")
    write_note(amem.folder, "hub.md", "![](att/Bild%20f%C3%BCr%20%C3%A4.png) ![](att/No.png)\n")
    assert amem("init", ".", "--adopt").code == 0
    assert amem("mv", "hub", "deep/hub").code == 0
    text = (amem.folder / "deep/hub.md").read_text(encoding="utf-8")
    assert "![](../att/Bild%20fu\u0308r%20a\u0308.png) ![](att/No.png)\n" in text


def test_links_in_any_property_count_and_follow(amem: Program) -> None:
    vault = amem.empty_vault()
    write_note(vault, "Parent.md", "Parent text\n")
    write_note(vault, "Café.md", "Sibling text\n")
    header = """up: "[[Parent]]" # mine
related:
  - '[[Parent|P]]'
  - "[[Nowhere]]"
keywords: ["[[Caf\\xE9]]", b]
nested:
  deep: {list: ["[[Café#H]]"], "[[Key]]": x}
text: >-
  as [[Café]]
  says
bare: [[Café]]
# [[Comment]]
"""
    write_note(vault, "Child.md", f"---\n{header}---\nWithout a link.\n")
    before = tree_hashes(vault)
    view = amem("show", "Parent", "--json").json
    assert [link["path"] for link in view["links"]] == ["Child.md"]
    assert [edge["by"] for edge in amem("graph", "--format", "json").json["edges"]] == [
        "person",
        "person",
    ]
    assert amem("list", "--orphans", "--json").json == []
    told = amem("doctor").out
    assert "1 link leads to notes not yet written: [[Nowhere]]" in told
    assert "Key" not in told
    assert "Comment" not in told
    assert "Caf" not in told

    first = amem("mv", "Parent", 'Chef "A"', "--json").json
    assert first["followed"] == ["Child.md"]
    second = amem("mv", "Café", "Tea", "--json").json
    assert second["followed"] == ["Child.md"]
    path = first["path"].removesuffix(".md")
    text = header.replace("Parent", path).replace("Caf\\xE9", "Tea").replace("Café", "Tea")
    assert (vault / "Child.md").read_text(encoding="utf-8") == f"---\n{text}---\nWithout a link.\n"
    assert amem("index", "--check").code == 0
    for event in (second["event"], first["event"]):
        assert amem("undo", event).code == 0
    assert tree_hashes(vault) == before

    (vault / "Parent.md").rename(vault / "Elsewhere.md")
    told = amem("doctor").out
    assert "Child.md:2  the note of the link [[Parent]] was moved and is now Elsewhere.md" in told


def test_canvases_that_still_show_a_removed_note_are_told(amem: Program) -> None:
    vault = amem.empty_vault()
    write_note(vault, "Bär.md", "A bear.\n")
    for name, card in {
        "card": {"file": unicodedata.normalize("NFD", "Bär.md")},
        "text": {"text": "see [[Bär#Teeth]]"},
        "other": {"file": "sub/Bär.md"},
    }.items():
        write_note(vault, f"{name}.canvas", json.dumps({"nodes": [card], "edges": []}))
    told = amem("rm", "Bär").out
    assert "still shown on card.canvas" in told and "still shown on text.canvas" in told
    assert "other.canvas" not in told


def test_cards_of_canvases_follow_and_the_dead_ones_are_named(amem: Program) -> None:
    vault = amem.empty_vault()
    write_note(vault, "Walrus.md", "A\n")
    write_note(vault, "sub/Other.md", "B\n")
    board = (
        '{"nodes":[{"id":"1","file":"Walrus.md", "type":"file","extra":{"file":"Walrus.md"}},\n'
        '{"id":"2","type":"file","file":"sub/Other.md","subpath":"#h"},\n'
        '{"id":"3","type":"text","text":"see [[Walrus#H|it]] \\u00e9\\n`[[Walrus]]`"},\n'
        '{"id":"4","type":"text","text":"file: Walrus.md, [[Gone]] [w](../Walrus.md)"},\n'
        '{"id":"5","type":"file","file":"pics/gone.png"}],"edges":[{"file":"Walrus.md"}]}\n'
    )
    write_note(vault, "deep/board.canvas", board)
    write_note(vault, "no.canvas", '{"nodes":[{"file":"Walrus.md"}')
    before = tree_hashes(vault)
    first = amem("mv", "Walrus", "sea/Sea “cow”", "--json").json
    assert first["followed"] == ["deep/board.canvas"]
    amem("mv", "Other", "moved/")
    after = board.replace('file":"Walrus.md", ', 'file":"sea/Sea “cow”.md", ')
    after = after.replace("[[Walrus#H|it]]", "[[Sea “cow”#H|it]]").replace("sub/O", "moved/O")
    after = after.replace("(../Walrus.md)", "(../sea/Sea%20“cow”.md)")
    assert (vault / "deep/board.canvas").read_text(encoding="utf-8") == after
    told = amem("doctor").out
    assert "deep/board.canvas  a card shows pics/gone.png, which is not there" in told
    assert "deep/board.canvas  the link [[Gone]] on a card leads to no note" in told
    assert told.count("canvas") == 2
    assert amem("mv", "Other", "sub/").code == 0
    assert amem("undo", first["event"]).code == 0
    assert tree_hashes(vault) == before

    (vault / "Walrus.md").rename(vault / "Cow.md")
    assert "the file Walrus.md of a card was moved and is now Cow.md" in amem("doctor").out
    assert amem("dedupe", "--merge", "Other", "Cow").code == 0


def test_files_are_found_whatever_the_form_of_their_accents(amem: Program) -> None:
    assert amem("init", ".", "--adopt").code == 0
    name = unicodedata.normalize("NFD", "Nöte")
    write_note(amem.folder, f"sub/{name}.md", "x\n")
    write_note(amem.folder, "Hub.md", "[n](sub/Nöte.md) [c](sub/nöte)\n")
    card = {"id": "1", "type": "file", "file": "sub/Nöte.md", "x": 0, "y": 0}
    canvas = write_note(amem.folder, "Board.canvas", json.dumps({"nodes": [card], "edges": []}))
    assert "card" not in amem("doctor").out
    assert amem("mv", "Hub", "deep/Hub").code == 0
    moved = unicodedata.normalize("NFC", (amem.folder / "deep/Hub.md").read_text())
    assert moved.startswith("[n](../sub/N") and "[c](../sub/" in moved
    assert amem("mv", "Nöte", "sub/Other").code == 0
    assert "sub/Other.md" in canvas.read_text()
