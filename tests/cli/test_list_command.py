"""`amem list` shows the notes that meet every condition."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from tests.conftest import Program
from tests.vaults import write_note

DAY = 86_400


def left_alone(path: Path, days: int) -> None:
    """As if the file had been saved so many days ago."""
    moment = time.time() - days * DAY
    os.utime(path, (moment, moment))


@pytest.fixture
def vault(amem: Program) -> Program:
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


def test_a_tag_may_be_typed_without_its_accents(vault: Program) -> None:
    root = vault.folder / "v"
    write_note(root, "boat.md", "---\ntags: [łódka/Größe]\n---\nA boat.\n")
    write_note(root, "plain.md", "A boat. #lodka\n")
    assert listed(vault, "--tag", "Lodka", "--sort", "title") == ["boat", "plain"]
    assert listed(vault, "--tag", "łódka") == ["boat"]
    assert listed(vault, "--tag", "lodka/groesse") == ["boat"]
    assert listed(vault, "--tag", "lod") == []


def test_notes_sort_by_when_they_were_read(vault: Program) -> None:
    assert vault("show", "Old").code == 0
    assert vault("search", "newer", "--mode", "keyword", "-k", "1").code == 0
    rows = {row["title"]: row for row in vault("list", "--json").json}
    assert rows["Old"]["retrieval_count"] == 1 and rows["Old"]["last_accessed"]
    assert (rows["New"]["retrieval_count"], rows["New"]["last_accessed"]) == (0, "")
    assert listed(vault, "--sort", "read")[0] in {"Old", "Newer"}
    assert listed(vault, "--sort", "read", "--reverse")[0] in {"Older", "New"}


def test_conditions_hold_together_and_with_an_order(vault: Program) -> None:
    assert listed(vault, "--pending", "--orphans", "--sort", "title") == ["New", "Old"]
    assert listed(vault, "--orphans", "--sort", "modified", "--reverse", "-n", "1") == ["Old"]
    assert "  Old  #t" in vault("list", "--orphans").out


def test_an_order_without_meaning_is_refused(vault: Program) -> None:
    assert vault("list", "--sort", "colour").code == 2
