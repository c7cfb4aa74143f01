"""`amem stats` tells what there is, and what the models took."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Program
from tests.fakes.chat_server import ChatServer
from tests.vaults import write_note


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
