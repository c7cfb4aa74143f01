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
    root = amem.folder / "v"
    (root / ".amem").mkdir(parents=True)
    for name, text, days in (
        ("Old", "Sourdough needs patience.", 400),
        ("Older", "Older, leads to [[Newer]].", 500),
        ("Newer", "Newer.", 100),
        ("New", "New and alone.", 0),
    ):
        left_alone(write_note(root, f"{name}.md", f"---\ntags: [t]\n---\n{text}\n"), days)
    amem.environment["AMEM_VAULT"] = str(root)
    return amem


def listed(amem: Program, *options: str) -> list[str]:
    answer = amem("list", *options, "--json")
    assert answer.code == 0, answer.err
    return [row["title"] for row in answer.json]


def test_stale_are_notes_that_nobody_edited_or_read_for_a_year(vault: Program) -> None:
    assert listed(vault, "--stale", "--sort", "title") == ["Old", "Older"]
    assert listed(vault, "--stale", "--orphans") == ["Old"]
    assert listed(vault, "--stale-days", "90", "--sort", "path") == ["Newer", "Old", "Older"]
    assert listed(vault, "--stale", "--tag", "other") == []
    assert vault("config", "set", "list.stale_days", "450").code == 0
    assert listed(vault, "--stale") == ["Older"]
    assert vault("show", "Older").code == 0
    assert listed(vault, "--stale") == []


def test_what_amem_writes_into_a_note_is_no_edit(vault: Program) -> None:
    assert vault("evolve", "Old", "Older").code == 0
    assert "keywords:" in (vault.folder / "v" / "Old.md").read_text(encoding="utf-8")
    assert listed(vault, "--stale", "--sort", "title") == ["Old", "Older"]
    old = vault.folder / "v" / "Old.md"
    old.write_text(old.read_text(encoding="utf-8") + "A word more.\n", encoding="utf-8")
    assert listed(vault, "--stale") == ["Older"]


def test_a_change_by_a_command_is_an_edit(vault: Program) -> None:
    assert vault("update", "Old", "--add-tag", "kept", "--no-wait").code == 0
    assert listed(vault, "--stale") == ["Older"]


def test_never_read_are_notes_that_amem_never_showed(vault: Program) -> None:
    assert vault("show", "Old").code == 0
    assert vault("search", "newer", "--mode", "keyword", "-k", "1").code == 0
    unread = listed(vault, "--never-read", "--sort", "title")
    assert "Old" not in unread and "New" in unread
    rows = {row["title"]: row for row in vault("list", "--json").json}
    assert rows["Old"]["retrieval_count"] == 1 and rows["Old"]["last_accessed"]
    assert (rows["New"]["retrieval_count"], rows["New"]["last_accessed"]) == (0, "")
    assert listed(vault, "--sort", "read")[0] in {"Old", "Newer"}


def test_conditions_hold_together_and_with_an_order(vault: Program) -> None:
    assert listed(vault, "--pending", "--orphans", "--never-read", "--sort", "title") == [
        "New",
        "Old",
    ]
    assert listed(vault, "--orphans", "--sort", "modified", "--reverse", "-n", "1") == ["Old"]
    assert vault("list", "--orphans", "--stale").out.splitlines()[0].endswith("Old  #t")


@pytest.mark.parametrize("line", [["--stale-days", "0"], ["--sort", "colour"]])
def test_conditions_without_meaning_are_refused(vault: Program, line: list[str]) -> None:
    assert vault("list", *line).code == 2
