"""`amem list` shows the notes that meet every condition; `amem stats` tells what there is."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from tests.conftest import Program
from tests.fakes.chat_server import ChatServer
from tests.vaults import write_note

DAY = 86_400


def left_alone(path: Path, days: int) -> None:
    """As if the file had been saved so many days ago."""
    moment = time.time() - days * DAY
    os.utime(path, (moment, moment))


@pytest.fixture
def aged(amem: Program) -> Program:
    root = amem.empty_vault()
    for name, text, days in (
        ("Old", "Sourdough needs patience.", 400),
        ("Older", "Older, leads to [[Newer]].", 500),
        ("Newer", "Newer.", 100),
        ("New", "New and alone.", 0),
    ):
        left_alone(write_note(root, f"{name}.md", f"---\ntags: [t]\n---\n{text}\n"), days)
    return amem


def listed(amem: Program, *options: str) -> list[str]:
    answer = amem("list", *options, "--json")
    assert answer.code == 0, answer.err
    return [row["title"] for row in answer.json]


def test_a_tag_may_be_typed_without_its_accents(aged: Program) -> None:
    root = aged.folder / "v"
    write_note(root, "boat.md", "---\ntags: [łódka/Größe]\n---\nA boat.\n")
    write_note(root, "plain.md", "A boat. #lodka\n")
    assert listed(aged, "--tag", "Lodka", "--sort", "title") == ["boat", "plain"]
    assert listed(aged, "--tag", "łódka") == ["boat"]
    assert listed(aged, "--tag", "lodka/groesse") == ["boat"]
    assert listed(aged, "--tag", "lod") == []


def test_notes_sort_by_when_they_were_read(aged: Program) -> None:
    assert aged("show", "Old").code == 0
    assert aged("search", "newer", "--mode", "keyword", "-k", "1").code == 0
    rows = {row["title"]: row for row in aged("list", "--json").json}
    assert rows["Old"]["retrieval_count"] == 1 and rows["Old"]["last_accessed"]
    assert (rows["New"]["retrieval_count"], rows["New"]["last_accessed"]) == (0, "")
    assert listed(aged, "--sort", "read")[0] in {"Old", "Newer"}
    assert listed(aged, "--sort", "read", "--reverse")[0] in {"Older", "New"}


def test_conditions_hold_together_and_with_an_order(aged: Program) -> None:
    assert listed(aged, "--pending", "--orphans", "--sort", "title") == ["New", "Old"]
    assert listed(aged, "--orphans", "--sort", "modified", "--reverse", "-n", "1") == ["Old"]
    assert "  Old  #t" in aged("list", "--orphans").out


def test_an_order_without_meaning_is_refused(aged: Program) -> None:
    assert aged("list", "--sort", "colour").code == 2


@pytest.fixture
def vault(amem: Program) -> Program:
    amem.empty_vault()
    return amem


def note(root: Path, name: str, created: str, text: str) -> None:
    write_note(root / "v", f"{name}.md", f"---\ncreated: {created}\n---\n{text}\n")


def test_stats_and_graph_count_the_same_links(vault: Program) -> None:
    note(vault.folder, "B", "2025-02-01", "Chess.")
    write_note(vault.folder / "v", "A.md", '---\nlinks:\n  - "[[B]]"\n---\nSee [[B]].\n')
    write_note(vault.folder / "v", "C.md", "See [[A]].\n")
    told = vault("stats", "--json").json
    assert (told["links"], told["machine_links"]) == (2, 0)
    assert "3 notes, 2 links (0 by amem, 2 by you)" in vault("graph").out


def test_the_links_of_amem_are_told_apart_and_lower_the_share_of_orphans(vault: Program) -> None:
    text = "Lamination of croissant dough needs butter at 14 degrees, and rest in the cold."
    assert vault("add", text, "--title", "Lamination of dough").code == 0
    text = "As Lamination of dough says, croissant dough needs cold butter at 14 degrees."
    assert vault("add", text, "--title", "Croissants").code == 0
    note(vault.folder, "A", "2025-01-15", "Walrus, with [[B]].")
    note(vault.folder, "B", "2025-02-15", "Chess.")
    told = vault("stats", "--json").json
    assert (told["notes"], told["orphans"], told["orphans_without_amem"]) == (4, 0, 2)
    assert (told["orphan_rate"], told["orphan_rate_without_amem"]) == (0.0, 0.5)
    shown = vault("stats").out
    assert "orphans   0 (0% of the notes); 2 (50%) without amem's links\n" in shown


def test_what_each_model_took_is_told(vault: Program) -> None:
    with ChatServer() as server:
        server.usage = {"prompt_tokens": 1000, "completion_tokens": 100}
        assert vault("add", "Walrus colonies rest on ice.", **server.variables("m")).code == 0
    (use,) = vault("stats", "--json").json["models"]
    assert use["model"] == "m at 127.0.0.1" and use["calls"] >= 1
    assert "m at 127.0.0.1: " in vault("stats").out


def test_an_empty_vault_and_notes_without_a_day_are_told_too(vault: Program) -> None:
    assert vault("stats", "--json").json["notes"] == 0
    note(vault.folder, "A", "someday", "Walrus.")
    assert vault("stats", "--json").json["notes"] == 1
