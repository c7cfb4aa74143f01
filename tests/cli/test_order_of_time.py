"""Which notes count for one that is processed: only what was written later and waits is absent."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Program

OVEN = "The deck oven of the Rossi bakery needs a new thermostat and steam valve."
ORDERED = "Deck oven of the Rossi bakery: thermostat and steam valve ordered for the deck oven."
GROCERIES = "Groceries: milk and bread."
OPENING = "The bakery opens on 1 May with a small party for the street."
WRONG = "[[Opening date]] is wrong: we open on 15 June because the health permit takes longer."


@pytest.fixture(autouse=True)
def settled(amem: Program) -> None:
    amem.environment["AMEM_EVOLUTION_SETTLE_SECONDS"] = "0"


def write(vault: Path, title: str, text: str, created: str = "") -> Path:
    path = vault / f"{title}.md"
    path.write_text(f"---\ncreated: {created}\n---\n{text}\n" if created else f"{text}\n")
    return path


def replace_text(path: Path, old: str, new: str) -> None:
    said = path.read_text()
    assert old in said
    path.write_text(said.replace(old, new))


def joined(amem: Program, title: str) -> set[str]:
    """Files of the notes that a note links to or that amem suggests for it."""
    shown = amem("show", title, "--json").json
    return {each["path"] for name in ("links", "suggested") for each in shown[name]}


def relations(amem: Program, title: str) -> list[tuple[str, str]]:
    return [(each["path"], each["relation"]) for each in links(amem, title)]


def links(amem: Program, title: str) -> list[dict[str, Any]]:
    return list(amem("show", title, "--json").json["links"])


def test_an_old_page_edited_today_is_linked_with_newer_notes(amem: Program, vault: Path) -> None:
    page = write(vault, "Oven log", GROCERIES, "2024-01-01")
    write(vault, "Deck oven", OVEN, "2026-03-20")
    assert amem("evolve").code == 0
    assert joined(amem, "Oven log") == set()
    replace_text(page, GROCERIES, ORDERED)
    assert amem("evolve").code == 0
    assert joined(amem, "Oven log") == {"Deck oven.md"}


def test_a_note_is_not_linked_back(amem: Program, vault: Path) -> None:
    page = write(vault, "Deck oven", OVEN, "2024-01-01")
    write(vault, "Oven log", ORDERED, "2026-03-20")
    assert amem("evolve").code == 0
    assert [each["path"] for each in links(amem, "Oven log")] == ["Deck oven.md"]
    before = page.read_bytes()
    assert amem("evolve", "--again", "Deck oven").code == 0
    assert page.read_bytes() == before


@pytest.mark.parametrize("created", ["", "2024-01-01"])
def test_a_note_of_an_adopted_folder_sees_all_others(
    amem: Program, tmp_path: Path, created: str
) -> None:
    folder = tmp_path / "adopted"
    folder.mkdir()
    page = write(folder, "Oven log", GROCERIES, created)
    write(folder, "Deck oven", OVEN, "2026-03-20")
    amem.vault(str(folder), "--adopt")
    replace_text(page, GROCERIES, ORDERED)
    assert amem("evolve").code == 0
    assert joined(amem, "Oven log") == {"Deck oven.md"}


@pytest.mark.parametrize("options", [("--all",), ("--all", "-k", "1")])
def test_notes_processed_at_once_are_linked_as_if_added_one_by_one(
    amem: Program, tmp_path: Path, options: tuple[str, ...]
) -> None:
    folder = tmp_path / "adopted"
    folder.mkdir()
    write(folder, "Deck oven", OVEN, "2024-01-01")
    write(folder, "Oven log", ORDERED, "2026-03-20")
    amem.vault(str(folder), "--adopt")
    for _ in range(2):
        assert amem("evolve", *options).code == 0
    assert [each["path"] for each in links(amem, "Oven log")] == ["Deck oven.md"]
    assert "links:" not in (folder / "Deck oven.md").read_text()


def test_a_date_that_is_still_to_come_hides_no_note(amem: Program, vault: Path) -> None:
    write(vault, "Fair", OVEN, "2999-05-01")
    assert amem("evolve").code == 0
    write(vault, "Oven log", ORDERED)
    assert amem("evolve").code == 0
    assert joined(amem, "Oven log") == {"Fair.md"}


def test_dates_of_other_time_zones_are_moments(amem: Program, vault: Path) -> None:
    write(vault, "Opening date", OPENING, "2026-03-20T11:30:00+02:00")
    write(vault, "Party", WRONG, "2026-03-20T10:00:00Z")
    assert amem("evolve").code == 0
    assert relations(amem, "Party") == [("Opening date.md", "contradicts")]


def test_a_typo_mended_in_an_undated_note_leaves_what_it_says(amem: Program, vault: Path) -> None:
    write(vault, "Opening date", OPENING, "2026-03-06")
    party = write(vault, "Party", WRONG)
    assert amem("evolve").code == 0
    said = amem("show", "Opening date", "--json").json["context"]
    assert "15 June" in said
    replace_text(party, "takes longer", "took longer")
    assert amem("evolve").code == 0
    assert relations(amem, "Party") == [("Opening date.md", "contradicts")]
    assert amem("show", "Opening date", "--json").json["context"] == said
