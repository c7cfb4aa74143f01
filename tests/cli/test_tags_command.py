"""`amem tags`: tags are listed, renamed and merged in properties and texts, as one change."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Program
from tests.vaults import tree_hashes, write_note

NOTES = {
    "list.md": "---\nid: \"20260302150004\"\ntags:\n  - 'Food' # mine\n  - food/Bread\n  - x\n---\n"
    "Eat #food, `#food` is code, [[x#food]] a heading. #foods #food/rye/dark\r\n",
    "inline.md": "---\ntags: [food, y]\n---\nText.\n",
    "singular.md": "---\ntag: food, z\n---\nText #FOOD.\n",
    "words.md": "---\ntags: z food\n---\nText.\n",
    "other.md": "---\ntags:\n  - foods\n---\n#z\n",
}


@pytest.fixture
def vault(amem: Program) -> Path:
    for name, text in NOTES.items():
        (amem.folder / name).write_bytes(text.encode())
    assert amem("init", ".", "--adopt").code == 0
    return amem.folder


def tags(amem: Program) -> dict[str, int]:
    return {each["tag"]: each["notes"] for each in amem("tags", "--json").json}


def test_tags_are_listed_with_the_number_of_their_notes(amem: Program, vault: Path) -> None:
    assert tags(amem) == {
        "food": 4,
        "z": 3,
        "foods": 2,
        "food/Bread": 1,
        "food/rye/dark": 1,
        "x": 1,
        "y": 1,
    }
    rows = amem("tags", "-k", "2").out.splitlines()
    assert [row.split() for row in rows] == [["4", "#food"], ["3", "#z"]]
    assert amem("tags", "--by-name").out.split()[1::2][-3:] == ["#x", "#y", "#z"]


def test_a_tag_is_renamed_with_those_nested_in_it_and_an_undo_brings_all_back(
    amem: Program, vault: Path
) -> None:
    before = tree_hashes(vault)
    changed = amem("tags", "rename", "#food", "kitchen/Food", "--json").json
    assert changed["paths"] == ["inline.md", "list.md", "singular.md", "words.md"]
    assert (changed["tag"], changed["left"]) == ("kitchen/Food", [])
    text = (vault / "list.md").read_bytes().decode()
    assert "\n  - kitchen/Food\n  - kitchen/Food/Bread\n" in text and "# mine\n" in text
    assert text.endswith(
        "Eat #kitchen/Food, `#food` is code, [[x#food]] a heading. #foods"
        " #kitchen/Food/rye/dark\r\n"
    )
    assert "#kitchen/Food." in (vault / "singular.md").read_text()
    assert not any(name.casefold().startswith("food/") for name in tags(amem))
    assert tags(amem)["kitchen/Food"] == 4 and tags(amem)["foods"] == 2
    assert amem("index", "--check").code == 0

    undone = amem("undo", changed["event"], "--json").json
    assert sorted(set(undone["paths"])) == changed["paths"]
    assert tree_hashes(vault) == before
    assert amem("undo", undone["again"]).code == 0
    assert tags(amem)["kitchen/Food"] == 4
    assert amem("undo", "--yes").code == 0
    assert tree_hashes(vault) == before


def test_a_rename_that_would_merge_is_refused_and_names_the_way(amem: Program, vault: Path) -> None:
    before = tree_hashes(vault)
    refused = amem("tags", "rename", "food", "Z")
    assert refused.code == 2 and "amem tags merge food Z" in refused.err
    assert amem("tags", "rename", "fod", "new").code == 1
    assert "#food" in amem("tags", "rename", "fod", "new").err
    assert amem("tags", "rename", "food", "2026").code == 2
    assert amem("tags", "merge", "food", "food").code == 2
    assert tree_hashes(vault) == before
    merged = amem("tags", "merge", "food", "y", "Z", "--json").json
    assert merged["tag"] == "z" and len(merged["paths"]) == 4
    assert tags(amem) == {"z": 5, "foods": 2, "z/Bread": 1, "z/rye/dark": 1, "x": 1}


def test_the_case_of_a_tag_can_be_changed_and_a_tag_can_move_into_itself(
    amem: Program, vault: Path
) -> None:
    assert amem("tags", "rename", "FOOD", "FOOD").code == 0
    assert tags(amem)["FOOD"] == 4 and tags(amem)["FOOD/Bread"] == 1
    assert amem("tags", "rename", "food", "food/all").code == 0
    assert tags(amem)["food/all"] == 4 and tags(amem)["FOOD/Bread"] == 1


def test_a_text_with_a_new_tag_is_not_processed_again(amem: Program, vault: Path) -> None:
    assert amem("evolve", "--all").code == 0
    assert amem("tags", "rename", "food", "meal").code == 0
    assert amem("list", "--pending", "--json").json == []


def test_a_note_that_cannot_be_edited_is_named(amem: Program, vault: Path) -> None:
    write_note(vault, "bad.md", "---\ntags: [food\n---\n#food\n")
    done = amem("tags", "rename", "food", "meal")
    assert done.code == 1 and "! bad.md is as it was" in done.out
    assert tags(amem)["meal"] == 4


def test_a_soft_hyphen_makes_no_other_tag(amem: Program, vault: Path) -> None:
    text = "---\ntags:\n  - gar\u00adden\n  - mine\u00ad\n---\n#gar\u00adden\n"
    write_note(vault, "soft.md", text)
    write_note(vault, "plain.md", "#garden\n")
    assert tags(amem)["garden"] == 2
    assert [each["path"] for each in amem("list", "--tag", "garden", "--json").json] == [
        "plain.md",
        "soft.md",
    ]
    assert amem("tags", "rename", "garden", "plot").code == 0
    changed = (vault / "soft.md").read_text(encoding="utf-8")
    assert "  - plot\n  - mine\u00ad\n" in changed and changed.endswith("---\n#plot\n")
    assert amem("undo", "--yes").code == 0
    assert (vault / "soft.md").read_text(encoding="utf-8") == text
