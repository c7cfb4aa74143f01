"""Notes of other programs come in whole, once, and overwrite nothing."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import unicodedata
from pathlib import Path
from typing import Any

import apsw
import pytest
import yaml

from amem_cli.errors import SettingsError, UsageError
from amem_cli.exchange.import_notes import ImportReport, import_notes
from amem_cli.exchange.open_source import open_source
from amem_cli.exchange.source import SourceNote
from amem_cli.exchange.source_markdown import converted_page
from amem_cli.index.memory_index import VaultPorts
from amem_cli.index.sync import synchronise
from amem_cli.markdown.links import find_links
from amem_cli.notes.names import resolve
from amem_cli.notes.note import body_bytes, parse_note
from tests.vaults import open_vault, tree_hashes, write_note

DATA = Path(__file__).parents[1] / "data"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "vault"
    root.mkdir()
    return root


@pytest.fixture
def ports(root: Path) -> VaultPorts:
    return open_vault(root)


def changed_chroma(folder: Path, *statements: str) -> Path:
    """A database of Chroma, after some statements."""
    folder.mkdir(exist_ok=True)
    place = folder / "chroma.sqlite3"
    shutil.copyfile(DATA / "chroma-1.5.9" / "chroma.sqlite3", place)
    with contextlib.closing(apsw.Connection(str(place))) as db:
        for statement in statements:
            db.execute(statement)
    return place


def bring_in(ports: VaultPorts, source: Path, **options: Any) -> ImportReport:
    """Import a source into the vault behind the ports."""
    root: Path = ports.vault.root
    kind = options.pop("kind", None)
    opened = open_source(source, kind, root)
    return import_notes(ports, opened, **options)


def text_of(root: Path, path: str) -> str:
    return (root / path).read_bytes().decode("utf-8")


def links_of(ports: VaultPorts, path: str) -> list[str | None]:
    """Where the links in a note's text lead."""
    text = body_bytes(ports.vault.read(path).raw).decode("utf-8")
    return [resolve(link.target, path, ports.index.names) for link in find_links(text)]


@pytest.mark.parametrize(
    ("name", "kind", "count"),
    [
        ("obsidian", "obsidian", 7),
        ("logseq", "logseq", 4),
        ("zk", "zk", 3),
        ("basic-memory", "basic-memory", 4),
        ("chroma-1.5.9", "chroma", 5),
        ("chroma-0.5.23", "chroma", 5),
        ("mem0.json", "mem0", 2),
        ("amem.json", "amem", 2),
    ],
)
def test_every_kind_is_recognised_and_comes_in_once(
    ports: VaultPorts, root: Path, name: str, kind: str, count: int
) -> None:
    before = tree_hashes(DATA / name) if (DATA / name).is_dir() else {}
    planned = bring_in(ports, DATA / name, dry_run=True)
    assert tree_hashes(root) == {}
    report = bring_in(ports, DATA / name)
    assert (report.kind, len(report.made)) == (kind, count)
    assert [note.path for note in report.made] == [note.path for note in planned.made]
    after = tree_hashes(root)
    again = bring_in(ports, DATA / name)
    assert (len(again.made), len(again.there)) == (0, count)
    assert tree_hashes(root) == after
    assert before == (tree_hashes(DATA / name) if before else {})


def test_a_link_to_a_note_that_the_vault_has_is_not_called_broken(
    ports: VaultPorts, root: Path, tmp_path: Path
) -> None:
    write_note(root, "People/Lotte.md", "Plays the cello.\n")
    synchronise(ports)
    write_note(tmp_path / "source", "Music school.md", "With [[Lotte]], not with [[Nobody]].\n")
    report = bring_in(ports, tmp_path / "source")
    assert report.unresolved == [("Music school.md", "Nobody")]
    assert "With [[Lotte]], not" in text_of(root, report.made[0].path)


def test_obsidian_notes_keep_every_byte_of_their_text_and_properties(
    ports: VaultPorts, root: Path
) -> None:
    report = bring_in(ports, DATA / "obsidian", folder="")
    for note in report.made:
        source = (DATA / "obsidian" / note.shown).read_bytes()
        here = (root / note.path).read_bytes()
        assert note.path == note.shown
        assert body_bytes(here) == body_bytes(source)
    bread = text_of(root, "Bread.md")
    assert "rating: 4.50\nwhen: 12:30\ncreated: 2024-05-06\n" in bread
    assert not (root / ".trash").exists() and not (root / ".obsidian").exists()
    assert report.files == [("pictures/crumb.png", "pictures/crumb.png")]
    assert report.unresolved == [("Starter.md", "No such note")]


def test_a_name_that_the_vault_has_gets_a_number_and_links_follow(
    ports: VaultPorts, root: Path
) -> None:
    write_note(root, "mine/Starter.md", "My own, see [[Starter]].\n")
    synchronise(ports)
    report = bring_in(ports, DATA / "obsidian", folder="old")
    assert "old/Starter 2.md" in report.paths
    assert links_of(ports, "mine/Starter.md") == ["mine/Starter.md"]
    assert "old/Starter 2.md" in links_of(ports, "old/Bread.md")
    assert "mine/Starter.md" not in links_of(ports, "old/Bread.md")
    assert "[[Starter 2|Starter]]" in text_of(root, "old/Bread.md")


def test_twins_in_several_folders_keep_their_names_and_their_links(ports: VaultPorts) -> None:
    bring_in(ports, DATA / "obsidian", folder="x")
    assert links_of(ports, "x/Ovens/Index.md") == ["x/Index.md", "x/Index.md"]
    assert links_of(ports, "x/Index.md") == ["x/Bread.md", "x/Ovens/Index.md"]


@pytest.mark.parametrize(
    ("block", "anchored"),
    [
        ("- one\n  id:: {}\n  two\n\t- child", "- one\n  two ^{}\n\t- child"),
        ("- id:: {}\n  one", "- one ^{}"),
        ("- id:: {}\n- next", "- ^{}\n- next"),
        ("\t- one\r\n\t  id:: {}\r\n", "\t- one ^{}\r\n"),
        ("- ## Title\n  id:: {}\n  text", "- ## Title ^{}\n  text"),
        ("- one\n  ```\n  x\n  ```\n  id:: {}", "- one ^{}\n  ```\n  x\n  ```"),
        ("- one\n  1. two\n  id:: {}", "- one ^{}\n  1. two"),
        ("- Title\n  ===\n  id:: {}", "- Title ^{}\n  ==="),
        ("- two\n  lines\n  ---\n  id:: {}\n  x", "- two\n  lines ^{}\n  ---\n  x"),
        ("- one\n  * * *\n  id:: {}", "- one ^{}\n  * * *"),
        # The anchor of what is no paragraph has a line of its own.
        ("- id:: {}\n  ```py\n  x\n  ```", "- ```py\n  x\n  ```\n  ^{}"),
        (
            "- ```py\n\n  id:: x\n  ```\n  id:: {}\n  more",
            "- ```py\n\n  id:: x\n  ```\n  ^{}\n\n  more",
        ),
        ("- $$\n  a\n  $$\n  id:: {}\n- b", "- $$\n  a\n  $$\n  ^{}\n- b"),
        ("- $$a$$\n  id:: {}", "- $$a$$\n  ^{}"),
        ("- | h |\n  |--|\n  | 1 |\n  id:: {}", "- | h |\n  |--|\n  | 1 |\n\n  ^{}"),
        ("\t- > q\n\t  > r\n\t  id:: {}\n", "\t- > q\n\t  > r\n\n\t  ^{}\n"),
        ("- ---\n  id:: {}\n  x", "- ---\n  ^{}\n\n  x"),
        # Code may show such a line.
        ("- ```\n  - id:: {}\n  ```\n- b", "- ```\n  - id:: {}\n  ```\n- b"),
    ],
)
def test_the_anchor_of_a_logseq_block_is_where_obsidian_sees_it(block: str, anchored: str) -> None:
    name = "65e2f0f1-1111-4222-8333-123456789abc"
    page = SourceNote("pages/B.md", "pages/B.md", b"")
    converted = converted_page(page, block.format(name), lambda _: None)
    assert converted.raw.decode() == anchored.format(name)


def test_a_reference_to_an_id_that_is_code_stays_and_is_told(
    ports: VaultPorts, root: Path, tmp_path: Path
) -> None:
    shown, real = "65e2f0f1-1111-4222-8333-123456789abc", "65e2f0f1-1111-4222-8333-123456789abd"
    source = tmp_path / "graph"
    write_note(source, "pages/A.md", f"- ```\n  id:: {shown}\n  ```\n- b\n  id:: {real}\n")
    write_note(source, "pages/B.md", f"- (({shown})) (({real}))\n")
    report = bring_in(ports, source, kind="logseq", folder="")
    assert text_of(root, "pages/B.md").endswith(f"- (({shown})) [[A#^{real}]]\n")
    assert [target for _, target in report.unresolved] == [f"(({shown}))"]


def test_a_logseq_graph_becomes_notes_with_valid_links(ports: VaultPorts, root: Path) -> None:
    report = bring_in(ports, DATA / "logseq", folder="")
    tea = parse_note("pages/Tea.md", (root / "pages/Tea.md").read_bytes())
    assert tea.tags == ("drinks", "plants")
    assert tea.aliases == ("chai", "hot drink")
    assert 'origin: "[[Yunnan]]"' in text_of(root, "pages/Tea.md")
    assert "leaves.\n  collapsed:: true ^65e2f3a0-1111-4222-8333-444455556666\n" in tea.body
    water = text_of(root, "pages/brewing/water.md")
    assert "as [[Tea#^65e2f3a0-1111-4222-8333-444455556666]] says" in water
    assert "- ![[Tea]]\n" in water and "|that block]]" in water
    assert "`((65e2f3a0-1111-4222-8333-444455556666))` is code" in water
    assert links_of(ports, "pages/brewing/time.md") == ["journals/2024-03-02.md"]
    assert set(links_of(ports, "pages/brewing/water.md")) == {"pages/Tea.md"}
    assert [problem.path for problem in report.refused] == ["pages/notes.org"]
    assert (root / "assets/leaf.png").is_file()
    assert text_of(root, "journals/2024-03-02.md").startswith('---\nid: "20240302000000"\n')


@pytest.mark.parametrize(
    ("form", "link", "day"),
    [
        ("MM-dd-yyyy", "03-02-2024", 2),
        ("MM-dd-yyyy", "02-03-2024", 3),
        ("dd-MM-yyyy", "02-03-2024", 2),
        ("do MMM yyyy", "2nd Mar 2024", 2),
        ("do MMMM yyyy", "11th March 2024", 11),
        ("E, dd-MM-yyyy", "Sat, 02-03-2024", 2),
        ("EEEE, MM/dd/yyyy", "saturday, 03/02/2024", 2),
        ("MM/dd/yyyy", "03/02/2024", 2),
        ("MM_dd_yyyy", "03_02_2024", 2),
        ("yyyy年MM月dd日", "2024年03月02日", 2),
        ("EEEE, yyyy/MM/dd", "Saturday, 2024/03/02", 2),
        ("d. M. yy 'Tag'", "2. 3. 24 Tag", 2),
        ("MM-dd-yyyy", "Mar 2nd, 2024", 2),
        ("MM-dd-yyyy", "2024-03-02", 2),
        ("MM-dd-yyyy", "Saturday, 2024-03-02", 0),
        ("", "Mar 22nd, 2024", 22),
        ("", "2nd Mar 2024", 2),
        ("", "20240302", 2),
        ("", "02-03-2024", 0),
        ("", "03/02/2024", 0),
        ("", "22-03-2024", 0),
    ],
)
def test_the_form_of_a_logseq_graph_says_which_day_a_link_means(
    ports: VaultPorts, root: Path, tmp_path: Path, form: str, link: str, day: int
) -> None:
    graph = tmp_path / "graph"
    days = [(3, 2), (2, 3), (3, 11), (3, 22)]
    config = '{:meta/version 1 ; :journal/page-title-format "dd-MM-yyyy"\n'
    config += ' #_:journal/page-title-format "yy", :journal/page-title-format #_"x"'
    write_note(graph, "logseq/config.edn", f'{config} "{form}"}}')
    for month, number in days:
        write_note(graph, f"journals/2024_{month:02}_{number:02}.md", f"- day {month} {number}\n")
    write_note(graph, "pages/P.md", f"- the talk was on [[{link}]]\n")
    bring_in(ports, graph, folder="")
    month = 3 if (3, day) in days else 2
    wanted = [f"journals/2024-{month:02}-{day:02}.md"] if day else []
    assert [path for path in links_of(ports, "pages/P.md") if path] == wanted


def test_a_logseq_graph_without_its_settings_is_known_by_its_journals(
    ports: VaultPorts, tmp_path: Path
) -> None:
    write_note(tmp_path / "graph", "journals/2026_03_02.md", "- fed the starter")
    write_note(tmp_path / "graph", "pages/Bread.md", "- rye")
    assert bring_in(ports, tmp_path / "graph").kind == "logseq"


def test_files_of_a_logseq_graph_may_name_days_in_another_form(
    ports: VaultPorts, root: Path, tmp_path: Path
) -> None:
    graph = tmp_path / "graph"
    config = '{:journal/file-name-format "dd-MM-yyyy"}'
    write_note(graph, "logseq/config.edn", config)
    write_note(graph, "journals/02-03-2024.md", "- march\n")
    write_note(graph, "pages/P.md", "- [[Mar 2nd, 2024]]\n")
    bring_in(ports, graph, folder="")
    assert links_of(ports, "pages/P.md") == ["journals/2024-03-02.md"]
    assert "created: 2024-03-02T00:00:00" in text_of(root, "journals/2024-03-02.md")


def test_a_logseq_page_of_any_name_is_linked_in_every_form(
    ports: VaultPorts, root: Path, tmp_path: Path
) -> None:
    graph = tmp_path / "graph"
    block = "11111111-1111-1111-1111-111111111111"
    write_note(graph, "pages/C%23.md", f"- sharp\n  id:: {block}\n")
    write_note(graph, "pages/C.md", "- plain\n")
    write_note(graph, "journals/2024_03_05.md", "- a day\n")
    page = f"""related:: (({block})), [[C]]
tags:: [[C#]], d

- [[C#]] [[C]] `[[C#]]` [it]([[C#]]) {{{{embed [[C#]]}}}}
- | [[C#]] | [x]((({block}))) | [[Mar 5th, 2024]] |
  |---|---|---|
"""
    write_note(graph, "pages/P.md", page)
    report = bring_in(ports, graph, kind="logseq", folder="")
    assert report.unresolved == []
    note = parse_note("P.md", (root / "pages/P.md").read_bytes())
    assert note.body.splitlines() == [
        "- [[C♯|C#]] [[C]] `[[C#]]` [[C♯|it]] ![[C♯]]",
        f"- | [[C♯\\|C#]] | [[C♯#^{block}\\|x]] | [[2024-03-05\\|Mar 5th, 2024]] |",
        "  |---|---|---|",
    ]
    assert note.tags == ("C", "d")
    assert f'related: "[[C♯#^{block}]], [[C]]"' in text_of(root, "pages/P.md")


def test_a_name_that_no_link_can_have_is_changed(
    ports: VaultPorts, root: Path, tmp_path: Path
) -> None:
    write_note(tmp_path / "old", "[draft] plan #1.md", "A plan.\n")
    write_note(tmp_path / "old", "hub.md", "[plan](<[draft] plan %231.md>)\n")
    bring_in(ports, tmp_path / "old", folder="")
    assert text_of(root, "hub.md").endswith("[plan](<./draft plan 1.md>)\n")


def test_a_zk_notebook_keeps_its_tags_and_links_by_id(ports: VaultPorts, root: Path) -> None:
    bring_in(ports, DATA / "zk", folder="")
    owls = parse_note("8k2p-owls.md", (root / "8k2p-owls.md").read_bytes())
    assert (owls.tags, owls.keywords) == (("birds", "hunting"), ("birds", "night"))
    assert owls.created == "2023-11-05T21:30:00"
    assert links_of(ports, "8k2p-owls.md") == ["x93q-hearing.md", "x93q-hearing.md"]
    assert links_of(ports, "sub/m4te-mice.md") == ["8k2p-owls.md"]
    assert parse_note("x", (root / "sub/m4te-mice.md").read_bytes()).tags == ()
    assert parse_note("x", (root / "x93q-hearing.md").read_bytes()).tags == ("night-vision",)


def test_relations_of_basic_memory_are_the_persons_with_their_reasons(
    ports: VaultPorts, root: Path
) -> None:
    bring_in(ports, DATA / "basic-memory", folder="")
    records = {
        record.path: (record.relation, record.reason, record.by)
        for (source, _), record in ports.index.link_history.records().items()
        if source == "projects/Water Plan.md"
    }
    assert records == {
        "Garden.md": ("part_of", "", "person"),
        "projects/Old Plan.md": ("supersedes", "it wasted water", "person"),
        "people/A Neighbour.md": ("related", "inspired by: over the fence", "person"),
    }
    assert "- inspired_by [[A Neighbour|people/a-neighbour]]" in text_of(
        root, "projects/Water Plan.md"
    )


@pytest.mark.parametrize("release", ["1.5.9", "0.5.23"])
def test_a_collection_of_a_mem_becomes_linked_notes(
    ports: VaultPorts, root: Path, release: str
) -> None:
    report = bring_in(ports, DATA / f"chroma-{release}")
    notes = {
        note.id: parse_note(note.path, (root / note.path).read_bytes()) for note in report.made
    }
    ids = [f"0b1c2d3e-0000-4000-8000-00000000000{number}" for number in range(1, 6)]
    assert list(notes) == ids
    bees = notes[ids[0]]
    assert bees.body == "Bees find their way home by the sun.\nEven behind clouds.\n"
    assert bees.keywords == ("bees", "sun compass")
    assert bees.tags == ("animals", "navigation-skills")
    assert (bees.context, bees.created) == ("How bees navigate.", "2025-03-02T15:00:00")
    assert bees.links == ("[[Polarised light tells where the sun stands]]",)
    assert notes[ids[1]].context == ""
    assert notes[ids[2]].tags == ("中文",)
    assert notes[ids[2]].links == ("[[Bees find their way home by the sun]]",)
    assert [target for _, target in report.unresolved] == ["no-such-id"]
    assert list((root / "notes").glob("*Soon*")) == []


def test_memories_of_mem0_keep_ids_dates_and_metadata(ports: VaultPorts, root: Path) -> None:
    report = bring_in(ports, DATA / "mem0.json")
    tea = text_of(root, "notes/Likes green tea.md")
    assert 'id: "1f0c0001-0000-4000-8000-000000000001"' in tea
    assert "tags:\n  - food-preferences\n" in tea and "user_id: alex\n" in tea
    assert "topics:\n  - tea\n  - drinks\n" in tea and "theirs" not in tea
    assert [(each.line, each.message) for each in report.refused] == [
        (3, "no “memory”"),
        (4, "not a JSON object"),
        (0, "1 relations between entities are not memories; left out"),
    ]


def test_the_history_of_mem0_gives_the_last_text_of_what_is_remembered(
    ports: VaultPorts, root: Path, tmp_path: Path
) -> None:
    db = apsw.Connection(str(tmp_path / "history.db"))
    db.execute(
        "CREATE TABLE history(id TEXT PRIMARY KEY, memory_id TEXT, old_memory TEXT,"
        " new_memory TEXT, event TEXT, created_at DATETIME, updated_at DATETIME,"
        " is_deleted INTEGER, actor_id TEXT, role TEXT)"
    )
    for row in [
        ("1", "m1", None, "Likes tea", "ADD", "2025-01-01T10:00:00", None, 0, None, "user"),
        ("2", "m2", None, "Soon gone", "ADD", "2025-01-01T11:00:00", None, 0, None, None),
        ("3", "m1", "Likes tea", "Loves tea", "UPDATE", "2025-01-02T10:00:00", None, 0, None, None),
        ("4", "m2", "Soon gone", None, "DELETE", "2025-01-03T10:00:00", None, 1, None, None),
    ]:
        db.execute(f"INSERT INTO history VALUES({','.join('?' * 10)})", row)
    # What is no text costs itself and no other memory.
    odd = "INSERT INTO history(id, memory_id, new_memory, event, created_at, is_deleted, actor_id)"
    db.execute(f"{odd} VALUES('5', 'm3', CAST(x'ff' AS TEXT), 'ADD', '2025-01-04', 0, x'00')")
    db.close()
    report = bring_in(ports, tmp_path / "history.db")
    assert report.paths == ("notes/Loves tea.md",)
    note = parse_note("x.md", (root / "notes/Loves tea.md").read_bytes())
    assert (note.id, note.created) == ("m1", "2025-01-01T10:00:00")


def test_a_folder_that_lies_too_deep_is_left_out(ports: VaultPorts, tmp_path: Path) -> None:
    source = tmp_path / "source"
    write_note(source, "One.md", "The first.\n")
    write_note(source, "/".join(["d"] * 80) + "/Two.md", "The second.\n")
    report = bring_in(ports, source)
    assert report.paths == ("notes/One.md",)
    assert any("lies too deep" in problem.message for problem in report.refused)


def test_a_note_that_changed_in_its_source_is_told_of_and_not_doubled(
    ports: VaultPorts, root: Path, tmp_path: Path
) -> None:
    source = tmp_path / "source"
    write_note(source, "One.md", "The first.\n")
    write_note(source, "Two.md", "The second.\n")
    bring_in(ports, source)
    after = tree_hashes(root)
    write_note(source, "One.md", "The first, changed.\n")
    (source / "Two.md").rename(source / "Renamed.md")
    write_note(source, "Three.md", "The third.\n")
    report = bring_in(ports, source)
    assert report.paths == ("notes/Three.md",)
    decisions = {note.shown: (note.decision, note.path) for note in report.there}
    assert decisions == {
        "One.md": ("changed", "notes/One.md"),
        "Renamed.md": ("there", "notes/Two.md"),
    }
    assert {path: tree_hashes(root)[path] for path in after} == after


def test_a_note_is_known_again_where_it_was_renamed_or_removed_here(
    ports: VaultPorts, root: Path, tmp_path: Path
) -> None:
    source = tmp_path / "source"
    write_note(source, "One.md", "The first.\n")
    write_note(source, "Two.md", "The second.\n")
    bring_in(ports, source)
    (root / "notes/One.md").rename(root / "Elsewhere.md")
    (root / "notes/Two.md").unlink()
    synchronise(ports)
    report = bring_in(ports, source)
    assert report.made == []
    assert [(note.path, note.reason) for note in report.there] == [
        ("Elsewhere.md", "is in the vault as Elsewhere.md"),
        ("", "was imported as notes/Two.md, which is no longer there"),
    ]


def test_notes_that_one_template_made_are_not_taken_for_one_that_was_renamed(
    ports: VaultPorts, tmp_path: Path
) -> None:
    day = "## Plans for today\n\n## What happened, and what I think of it now\n\n## Tomorrow\n"
    write_note(tmp_path / "old", "2026-01-01.md", day)
    write_note(tmp_path / "old", "Ideas.md", "")
    bring_in(ports, tmp_path / "old")
    write_note(tmp_path / "new", "2026-01-02.md", day)
    write_note(tmp_path / "new", "Inbox.md", "")
    write_note(tmp_path / "new", "See.md", "[[2026-01-02]] [[Inbox]]\n")
    assert len(bring_in(ports, tmp_path / "new").made) == 3
    assert links_of(ports, "notes/See.md") == ["notes/2026-01-02.md", "notes/Inbox.md"]


def test_lines_of_this_program_and_of_others_never_get_one_place(
    ports: VaultPorts, root: Path, tmp_path: Path
) -> None:
    lines = [{"content": "Ours.", "path": "notes/A.md"}, {"content": "Theirs.", "title": "A"}]
    (tmp_path / "l.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    report = bring_in(ports, tmp_path / "l.jsonl")
    assert report.refused == []
    assert report.paths == ("notes/A.md", "notes/A 2.md")
    assert not (root / ".trash").exists()


def test_a_folder_keeps_its_name_beside_one_elsewhere_that_differs_in_case(
    ports: VaultPorts, tmp_path: Path
) -> None:
    for path in ("notes/Notes/A.md", "notes/B.md", "Ideas/C.md", "ideas/D.md"):
        write_note(tmp_path / "old", path, f"{path}\n")
    assert bring_in(ports, tmp_path / "old", folder="").paths == (
        "Ideas/C.md",
        "Ideas/D.md",
        "notes/B.md",
        "notes/Notes/A.md",
    )


def test_a_picture_is_shown_where_the_vault_has_another_of_its_name(
    ports: VaultPorts, root: Path, tmp_path: Path
) -> None:
    (root / "pic.png").write_bytes(b"ours")
    source = tmp_path / "old"
    write_note(source, "A.md", "![[pic.png]] ![[own.png]] ![p](pics/pic.png)\n")
    (source / "pics").mkdir()
    (source / "pics" / "pic.png").write_bytes(b"theirs")
    (source / "pics" / "own.png").write_bytes(b"own")
    bring_in(ports, source)
    assert text_of(root, "notes/A.md").endswith(
        "![[notes/pics/pic.png]] ![[own.png]] ![p](pics/pic.png)\n"
    )


def test_a_note_with_the_id_of_one_that_is_here_and_another_text_is_told_as_changed(
    ports: VaultPorts, root: Path, tmp_path: Path
) -> None:
    write_note(root, "A.md", "---\nid: a1\n---\nMine.\n")
    write_note(root, "B.md", "---\nid: b1\ntags: [x]\n---\nOurs.\n")
    synchronise(ports)
    write_note(tmp_path / "old", "A.md", "---\nid: a1\n---\nMine, and longer.\n")
    write_note(tmp_path / "old", "B.md", "---\nid: b1\n---\nOurs.\n")
    report = bring_in(ports, tmp_path / "old")
    assert [(note.path, note.decision) for note in report.there] == [
        ("A.md", "changed"),
        ("B.md", "there"),
    ]


def test_what_a_header_says_stays_as_it_is_written(
    ports: VaultPorts, root: Path, tmp_path: Path
) -> None:
    """Only id and created are added; nothing that is there takes another form."""
    header = (
        "tags: tag1 tag2\ntag: one\nkeywords: a, b\ncontext: [one, two]\naliases: Rest, Nap\n"
        "links: [memory://specs/x, plain words]\ncount: 3\nratio: 1.10\nopen: no\nnone: ~\nempty:\n"
        "day: 2026-02-11\ntime: 12:30\nnested: {a: [1, {b: null}]}\nlist: [1, two, true]\n"
    )
    text = "See [the spec](memory://specs/x) and memory://specs/y.\n"
    write_note(tmp_path / "old", "2026-03-08.md", f"---\n{header}---\n{text}")
    report = bring_in(ports, tmp_path / "old")
    assert report.noted == []
    added = 'id: "20260308000000"\ncreated: 2026-03-08T00:00:00\n'
    assert text_of(root, "notes/2026-03-08.md") == f"---\n{header}{added}---\n{text}"


def test_a_property_to_which_the_import_adds_keeps_its_other_values(
    ports: VaultPorts, root: Path, tmp_path: Path
) -> None:
    write_note(tmp_path / "old", "Sea.md", "---\ntags: one\nother: 3\n---\n:two: waves\n")
    bring_in(ports, tmp_path / "old", kind="zk")
    assert "tags:\n  - one\n  - two\nother: 3\n" in text_of(root, "notes/Sea.md")


def test_values_of_records_keep_their_kind(ports: VaultPorts, root: Path, tmp_path: Path) -> None:
    metadata = {
        "count": 3,
        "share": 0.5,
        "open": False,
        "digits": "007",
        "nothing": None,
        "mixed": [1, "two", True],
        "nested": {"a": {"b": [1.5, "x: {{y}}"]}},
        "deep": json.loads("[" * 30 + "]" * 30),
    }
    record = {"id": "m1", "memory": "Likes tea", "user_id": 42, "metadata": metadata}
    (tmp_path / "m.json").write_text(json.dumps([record]), encoding="utf-8")
    bring_in(ports, tmp_path / "m.json", kind="mem0")
    header = text_of(root, "notes/Likes tea.md").split("---\n")[1]
    assert "user_id: 42\ncount: 3\nshare: 0.5\nopen: false\n" in header
    assert 'digits: "007"\nmixed: [1, "two", true]\nnested: {"a": {"b": [1.5, ' in header
    read = yaml.safe_load(header)
    assert read["nested"] == metadata["nested"]
    assert "nothing" not in read and "deep" not in read


def test_numbers_and_booleans_of_a_logseq_page_are_no_texts(
    ports: VaultPorts, root: Path, tmp_path: Path
) -> None:
    page = "rating:: 5\ndone:: true\nversion:: 1.10\n\n- Waves.\n"
    write_note(tmp_path / "old", "pages/Sea.md", page)
    bring_in(ports, tmp_path / "old", kind="logseq")
    (path,) = root.rglob("Sea.md")
    assert 'rating: 5\ndone: true\nversion: "1.10"\n' in path.read_text()


def test_a_private_memory_stays_private(ports: VaultPorts, tmp_path: Path) -> None:
    (tmp_path / "m.json").write_text(
        json.dumps(
            [
                {"id": "1", "memory": "A secret.", "metadata": {"private": True}},
                {"id": "2", "memory": "No secret.", "metadata": {"private": False}},
            ]
        ),
        encoding="utf-8",
    )
    paths = bring_in(ports, tmp_path / "m.json", kind="mem0").paths
    assert [parse_note(path, ports.vault.read(path).raw).private for path in paths] == [True, False]


SAME = "Dough that rests in the cold overnight tastes better and is easier to shape.\n"


def test_a_text_that_is_here_is_left_out_where_that_is_wanted(
    ports: VaultPorts, root: Path, tmp_path: Path
) -> None:
    write_note(root, "mine/Rest.md", f"---\nid: r1\n---\n# Rest\n\n{SAME}")
    synchronise(ports)
    source = tmp_path / "old"
    write_note(source, "Cold dough.md", f"---\ntags: [x]\n---\r\n{SAME}\n")
    write_note(
        source,
        "New.md",
        "A text that nobody has written down anywhere before, see [[Cold dough]].\n",
    )
    write_note(
        source,
        "New 2.md",
        "A text that nobody has written down anywhere before, see [[Cold dough]].\n",
    )
    left_out = bring_in(ports, source, unless_known=True, dry_run=True)
    assert [(note.shown, note.path) for note in left_out.there] == [
        ("Cold dough.md", "mine/Rest.md"),
        ("New.md", "notes/New 2.md"),
    ]
    report = bring_in(ports, source, folder="all")
    assert report.paths == ("all/Cold dough.md", "all/New 2.md", "all/New.md")
    again = bring_in(ports, source, folder="all", unless_known=True)
    assert (again.made, len(again.there)) == ([], 3)


def test_links_to_a_note_that_is_left_out_lead_to_the_one_that_has_its_text(
    ports: VaultPorts, root: Path, tmp_path: Path
) -> None:
    write_note(root, "mine/Rest.md", SAME)
    synchronise(ports)
    source = tmp_path / "old"
    write_note(source, "Cold dough.md", SAME)
    write_note(source, "Bread.md", "See [[Cold dough#Why]] for it.\n")
    report = bring_in(ports, source, unless_known=True)
    assert report.paths == ("notes/Bread.md",)
    assert links_of(ports, "notes/Bread.md") == ["mine/Rest.md"]
    assert "[[Rest#Why|Cold dough > Why]]" in text_of(root, "notes/Bread.md")


def test_what_is_imported_is_the_persons(ports: VaultPorts) -> None:
    from amem_cli.index.draft import provenance_of

    report = bring_in(ports, DATA / "amem.json")
    for note in report.made:
        owned = provenance_of(ports.index, note.id)
        assert not owned.keywords and not owned.tags and owned.context is None
        assert all(record.by == "person" for record in owned.links.values())
        assert {event.by for event in ports.index.events.read(note.id)} == {"person"}


@pytest.mark.skipif(os.name == "nt", reason="POSIX names and links")
def test_a_hostile_folder_is_bounded_and_reported(
    ports: VaultPorts, root: Path, tmp_path: Path
) -> None:
    source = tmp_path / "source"
    write_note(tmp_path, "secret.md", "Outside.\n")
    write_note(source, "good.md", "Good, see [[../../secret]] and ![[../secret.png]].\n")
    write_note(source, "Good.md", "Its twin in another case.\n")
    write_note(source, "bomb.md", "---\na: &a [x,x]\nb: [*a,*a]\n---\nText.\n")
    write_note(source, "deep.md", "---\na: " + "[" * 30_000 + "\n---\nText.\n")
    write_note(source, "CON.md", "A name of Windows.\n")
    write_note(source, "a\\b.md", "Backslash.\n")
    (source / "latin.md").write_bytes(b"caf\xe9 [[good]]\n")
    (source / "link.md").symlink_to(tmp_path / "secret.md")
    (source / "out").symlink_to(tmp_path)
    os.mkfifo(source / "pipe.md")
    with (source / "huge.md").open("wb") as stream:
        stream.truncate(100 * 1024 * 1024)
    (source / os.fsdecode(b"\xff.md")).write_text("Odd name.\n")
    write_note(source, "n (conflicted copy 2024).md", "Conflict.\n")
    report = bring_in(ports, source)
    told = {problem.path: problem.message for problem in report.refused}
    assert told["link.md"] == "is a symbolic link and was left out"
    assert told["pipe.md"] == "is not a regular file and was left out"
    assert told["huge.md"] == "is larger than a note can be (2 MiB)"
    assert "a\\b.md" in told and "out" in told and "n (conflicted copy 2024).md" in told
    assert len(told) == 7
    made = {note.shown: note.path for note in report.made}
    assert set(made) == {"good.md", "Good.md", "bomb.md", "deep.md", "CON.md", "latin.md"}
    assert len({path.casefold() for path in made.values()}) == len(made)
    assert (root / made["latin.md"]).read_bytes() == b"caf\xe9 [[good]]\n"
    assert (root / made["bomb.md"]).read_bytes() == (source / "bomb.md").read_bytes()
    assert {path.name for path in root.iterdir()} == {".amem", "notes"}
    assert "Outside." not in "".join(
        path.read_text(errors="replace") for path in root.rglob("*.md")
    )


@pytest.mark.skipif(os.name == "nt", reason="makes names that Windows refuses")
def test_names_that_windows_refuses_are_changed_and_links_follow(
    ports: VaultPorts, root: Path, tmp_path: Path
) -> None:
    source = tmp_path / "source"
    write_note(source, "aux.md", "See [[Why?]], [why](Why%3F.md) and [[a*b/Sub: one]].\n")
    write_note(source, "Why?.md", "Because of [[aux]].\n")
    write_note(source, "a*b/Sub: one.md", "Below.\n")
    report = bring_in(ports, source)
    made = {note.shown: note.path for note in report.made}
    assert made == {
        "aux.md": "notes/aux_.md",
        "Why?.md": "notes/Why.md",
        "a*b/Sub: one.md": "notes/ab/Sub - one.md",
    }
    assert links_of(ports, made["aux.md"]) == [
        made["Why?.md"],
        made["Why?.md"],
        made["a*b/Sub: one.md"],
    ]
    assert links_of(ports, made["Why?.md"]) == [made["aux.md"]]


@pytest.mark.skipif(os.name == "nt", reason="named pipes")
def test_a_link_names_the_file_as_it_is_here_with_its_accents_in_the_same_form(
    ports: VaultPorts, root: Path, tmp_path: Path
) -> None:
    """Programs that read markdown compare names byte by byte; titles are no names to them."""
    composed, apart = (unicodedata.normalize(form, "Über Bäume") for form in ("NFC", "NFD"))
    source = tmp_path / "source"
    write_note(source, "Q? A.md", "Asked.\n")
    write_note(source, f"{apart}.md", "Trees.\n")
    write_note(source, f"{apart}/Ulm.md", "A city.\n")
    write_note(source, "Müll.md", "---\naliases: [Abfall]\n---\nWaste.\n")
    spaced, mull = composed.replace(" ", "%20"), unicodedata.normalize("NFD", "Müll")
    write_note(
        source,
        "sub/a.md",
        f"[b](../Q%3F%20A.md) [[Q? A]] [c][r] [d](../{spaced}.md) [[{composed}]] [[{mull}|e]]"
        f" [[Abfall]] [[müll]] [[Ulm]] [f](../{spaced}/Ulm.md)\n\n[r]: <../Q? A.md>\n",
    )
    bring_in(ports, source)
    assert text_of(root, "notes/sub/a.md").rpartition("---\n")[2] == (
        f"[b](../Q%20A.md) [[Q A|Q? A]] [c][r] [d](../{apart.replace(' ', '%20')}.md)"
        f" [[{apart}|{composed}]] [[Müll|e]] [[Abfall]] [[müll]] [[Ulm]]"
        f" [f](../{apart.replace(' ', '%20')}/Ulm.md)\n\n[r]: <../Q A.md>\n"
    )


def test_a_pipe_is_not_waited_for(ports: VaultPorts, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.jsonl")
    with pytest.raises(SettingsError, match="not a regular file"):
        bring_in(ports, tmp_path / "pipe.jsonl")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("chroma.sqlite3", b"SQLite format 3\0" + b"\xff" * 5000),
        ("memories.pkl", b"\x80\x04\x95"),
        ("deep.json", b"[" * 200_000),
        ("text.json", b"\xff\xfe"),
        ("broken.json", b'{"a": \n 1,,}'),
    ],
)
def test_a_source_that_cannot_be_read_is_one_error(
    ports: VaultPorts, tmp_path: Path, name: str, content: bytes
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(SettingsError):
        bring_in(ports, path, kind="amem" if name.endswith(".json") else None)


def test_a_database_with_views_and_triggers_runs_none_of_them(
    ports: VaultPorts, tmp_path: Path
) -> None:
    place = changed_chroma(
        tmp_path / "db",
        "DROP TABLE embedding_metadata",
        "CREATE VIEW embedding_metadata AS SELECT 1 AS id",
    )
    with pytest.raises(SettingsError, match="no table embedding_metadata"):
        bring_in(ports, place.parent)


@pytest.mark.parametrize("text", ["CAST(x'ff41' AS TEXT)", "printf('%.*c', 70000000, 'x')"])
def test_one_endless_text_or_none_of_a_database_stops_no_other_note(
    ports: VaultPorts, tmp_path: Path, text: str
) -> None:
    place = changed_chroma(
        tmp_path,
        f"UPDATE embedding_metadata SET string_value = {text}"
        " WHERE key IN ('chroma:document', 'content') AND id = 1",
        "INSERT INTO embedding_metadata(id, key) VALUES(2, CAST(x'ff' AS TEXT))",
    )
    report = bring_in(ports, place)
    refused = [problem.message for problem in report.refused]
    assert (len(report.made), refused) == (4, ["no “content”"])


def test_a_memory_without_a_time_of_its_own_has_that_of_its_row(
    ports: VaultPorts, tmp_path: Path
) -> None:
    place = changed_chroma(
        tmp_path,
        "UPDATE embedding_metadata SET string_value = 'soon' WHERE key = 'timestamp'",
        "UPDATE embeddings SET created_at = '2024-05-06 07:08:09'",
    )
    made = bring_in(ports, place).made
    notes = [parse_note(each.path, ports.vault.read(each.path).raw) for each in made]
    assert {note.created[:10] for note in notes} == {"2024-05-06"}


def test_a_database_in_use_is_read_with_what_is_not_yet_in_its_main_file(
    ports: VaultPorts, tmp_path: Path
) -> None:
    shutil.copytree(DATA / "chroma-1.5.9", tmp_path / "db")
    db = apsw.Connection(str(tmp_path / "db/chroma.sqlite3"))
    db.pragma("journal_mode", "wal")
    db.execute(
        "UPDATE embedding_metadata SET string_value = 'Newer.' WHERE key = 'chroma:document'"
        " AND id = 1"
    )
    report = bring_in(ports, tmp_path / "db")
    db.close()
    assert report.made[0].path == "notes/Newer.md"


def test_the_vault_is_not_imported_into_itself(ports: VaultPorts, root: Path) -> None:
    write_note(root, "sub/a.md", "A.\n")
    with pytest.raises(UsageError):
        bring_in(ports, root / "sub")
    report = bring_in(ports, root.parent, dry_run=True)
    assert report.made == []


@pytest.mark.parametrize("folder", ["../out", "/etc", ".hidden", "a/../b", "a\\b"])
def test_a_folder_outside_is_refused(ports: VaultPorts, folder: str) -> None:
    with pytest.raises(UsageError):
        bring_in(ports, DATA / "amem.json", folder=folder)


def test_a_file_of_the_vault_is_never_replaced_by_one_of_the_source(
    ports: VaultPorts, root: Path
) -> None:
    (root / "pictures").mkdir()
    (root / "pictures/crumb.png").write_bytes(b"mine")
    report = bring_in(ports, DATA / "obsidian", folder="")
    assert (root / "pictures/crumb.png").read_bytes() == b"mine"
    assert report.files == [("pictures/crumb.png", "pictures/crumb 2.png")]
    assert "![[pictures/crumb 2.png|200]]" in text_of(root, "Bread.md")
    assert "![crumb](../pictures/crumb%202.png)" in text_of(root, "Ovens/Steam.md")


def test_many_notes_come_in_and_a_stopped_import_goes_on(
    ports: VaultPorts, root: Path, tmp_path: Path
) -> None:
    source = tmp_path / "source"
    for number in range(100):
        write_note(source, f"{number:03}.md", f"See [[{(number + 1) % 100:03}]].\n")

    def stop(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        bring_in(ports, source, progress=stop)
    made = len(list((root / "notes").glob("*.md")))
    assert 0 < made < 100
    report = bring_in(ports, source)
    assert (len(report.made), len(report.there)) == (100 - made, made)
    assert all(None not in links_of(ports, f"notes/{number:03}.md") for number in range(100))


def test_lines_of_json_may_be_a_dump_of_a_mem(ports: VaultPorts, tmp_path: Path) -> None:
    path = tmp_path / "notes.json"
    path.write_text(
        json.dumps({"x1": {"content": "A.", "links": "['x2']"}, "x2": {"content": "B."}})
    )
    report = bring_in(ports, path)
    assert report.kind == "amem"
    assert [note.id for note in report.made] == ["x1", "x2"]
