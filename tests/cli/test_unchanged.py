"""Commands that have nothing to do, do nothing, and odd arguments are told."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Program
from tests.vaults import tree_hashes


def test_an_editor_that_changes_nothing_costs_nothing(amem: Program, tmp_path: Path) -> None:
    assert amem("init").code == 0
    before = tree_hashes(tmp_path)
    assert amem("edit", "Home", EDITOR="true", VISUAL="true").code == 0
    assert tree_hashes(tmp_path) == before


def test_a_folder_in_the_way_of_a_new_note_gives_it_another_name(
    amem: Program, tmp_path: Path
) -> None:
    assert amem("init").code == 0
    (tmp_path / "notes/T.md").mkdir()
    added = amem("add", "x", "--title", "T", "--no-wait", "--json")
    assert added.json["path"] == "notes/T 2.md"


@pytest.mark.parametrize(
    "line",
    [
        ["history", "-n", "-3"],
        ["history", "-n", "0"],
        ["list", "-n", "0"],
        ["evolve", "--limit", "-1"],
        ["index", "--check", "--rebuild"],
    ],
)
def test_limits_and_options_that_make_no_sense_are_wrong_usage(
    amem: Program, line: list[str]
) -> None:
    assert amem("init").code == 0
    assert amem(*line).code == 2


def test_the_history_of_a_removed_note_is_told_by_its_id(amem: Program) -> None:
    assert amem("init").code == 0
    note = amem("add", "Otters.", "--title", "Otters", "--no-wait", "--json").json["id"]
    assert amem("rm", note).code == 0
    assert [event["kind"] for event in amem("history", note, "--json").json] == ["add", "remove"]
    assert amem("history", "nothing").code == 1


def test_export_is_lines_or_one_document(amem: Program) -> None:
    assert amem("init").code == 0
    lines = amem("export").out.splitlines()
    assert len(amem("export", "--json").json) == len(lines) == 17
