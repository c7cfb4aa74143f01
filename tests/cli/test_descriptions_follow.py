"""What the machine says of a note follows the note's text; what a person says stays."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from amem_cli.notes.note import Note, PropertyNames, parse_note
from tests.conftest import Program

BREAD = (
    "Sourdough needs a long cold proof. The levain rises overnight, and the oven stone must be hot"
    " before the loaf goes in. Rye flour keeps the crumb of the sourdough moist."
)
TRAIN = (
    "The Nightjet to Rome leaves Vienna at seven. A couchette berth was 60 euros, and the Nightjet"
    " reaches Florence in time for breakfast at the station."
)


def note_at(path: Path) -> Note:
    return parse_note(path.name, path.read_bytes(), PropertyNames())


def with_text(path: Path, text: str) -> None:
    """An editor saves another text below the front matter."""
    head, _, _ = path.read_text().rpartition("---\n")
    path.write_text(f"{head}---\n{text}\n")


def described(amem: Program, *options: str) -> Path:
    added = amem("add", BREAD, "--title", "Weekend", "--json", *options).json
    return Path(amem.environment["AMEM_VAULT"], added["path"])


def last_event(amem: Program) -> dict[str, Any]:
    events = [each for each in amem("history", "Weekend", "--json").json if each.get("changes")]
    return dict(events[-1])


def edited(amem: Program, path: Path) -> None:
    with_text(path, TRAIN)
    assert amem("evolve", "Weekend").code == 0


def updated(amem: Program, path: Path) -> None:
    assert amem("update", "Weekend", "--content", TRAIN).code == 0


def watched(amem: Program, path: Path) -> None:
    with_text(path, TRAIN)
    amem.environment["AMEM_EVOLUTION_SETTLE_SECONDS"] = "0"
    assert amem("watch", "--once").code == 0


@pytest.mark.parametrize("change", [edited, updated, watched])
def test_a_new_text_gets_a_new_description_and_undo_brings_the_old_one_back(
    amem: Program, vault: Path, change: Any
) -> None:
    path = described(amem)
    before = note_at(path).keywords
    assert any("ourdough" in keyword for keyword in before)
    change(amem, path)
    after = note_at(path).keywords
    assert after and not any("ourdough" in keyword for keyword in after)
    event = last_event(amem)
    assert (event["kind"], event["by"], event["reason"]) == (
        "construct",
        "machine",
        "the text changed",
    )
    assert "the text changed" in amem("history", "Weekend").out
    assert amem("undo", event["id"]).code == 0
    assert note_at(path).keywords == before
    # What a person took back is not made again unasked.
    with_text(path, f"{TRAIN} We slept well.")
    assert amem("evolve", "Weekend").code == 0
    assert note_at(path).keywords == before


@pytest.mark.parametrize(
    "text",
    [
        BREAD.replace("overnight", "overnihgt"),
        f"{BREAD} The next loaf gets more salt.",
        BREAD.replace("Sourdough needs a long cold proof. ", ""),
    ],
    ids=["typo", "sentence added", "sentence removed"],
)
def test_a_small_change_leaves_the_description(amem: Program, vault: Path, text: str) -> None:
    path = described(amem)
    before = note_at(path)
    with_text(path, text)
    assert amem("evolve", "Weekend").code == 0
    assert note_at(path).keywords == before.keywords


def test_what_a_person_wrote_or_added_stays(amem: Program, vault: Path) -> None:
    path = described(amem, "--tag", "kitchen")
    own = "We bake on Saturdays."
    assert amem("update", "Weekend", "--add-keyword", "Saturday", "--context", own).code == 0
    edited(amem, path)
    note = note_at(path)
    assert (note.tags, note.context, note.keywords) == (("kitchen",), own, ("Saturday",))


def test_evolve_again_makes_anew_what_was_undone(amem: Program, vault: Path) -> None:
    path = described(amem)
    before = note_at(path).keywords
    edited(amem, path)
    after = note_at(path).keywords
    assert amem("undo", last_event(amem)["id"]).code == 0
    assert amem("evolve", "Weekend").code == 0
    assert note_at(path).keywords == before
    assert amem("evolve", "--again", "Weekend").code == 0
    assert note_at(path).keywords == after
    assert last_event(amem)["reason"] == "asked for again"
    # Once more changes nothing.
    raw = path.read_bytes()
    assert amem("evolve", "--again", "Weekend").code == 0
    assert path.read_bytes() == raw


def test_evolve_again_leaves_what_a_person_wrote(amem: Program, vault: Path) -> None:
    path = described(amem, "--keyword", "bread", "--context", "Mine.", "--tag", "kitchen")
    raw = path.read_bytes()
    assert amem("evolve", "--again", "Weekend").code == 0
    assert path.read_bytes() == raw


def test_evolve_again_needs_a_note(amem: Program, vault: Path) -> None:
    refused = amem("evolve", "--again")
    assert refused.code == 2
    assert "name the notes" in refused.err


def test_a_note_of_which_nothing_can_be_said_is_done(amem: Program, vault: Path) -> None:
    (vault / "short.md").write_text("ok\n")
    assert amem("evolve", "--all").code == 0
    assert (vault / "short.md").read_text() == "ok\n"
    assert amem("evolve").out.strip() == "nothing is pending"


def test_nothing_is_written_that_the_note_says_already(amem: Program, vault: Path) -> None:
    path = described(amem)
    note = note_at(path)
    assert note.context == ""
    assert note.tags == ()


CORRECTION = "[[Opening date]] is wrong: we open on 15 June, as the health permit takes longer."


@pytest.fixture
def corrected(amem: Program, vault: Path) -> Path:
    """A note whose context another one, “Party”, closed with what holds now."""
    amem.environment["AMEM_EVOLUTION_SETTLE_SECONDS"] = "0"
    opening = "The bakery opens on 1 May with a small party for the street."
    for title, text, day in (("Opening date", opening, "06"), ("Party", CORRECTION, "20")):
        assert amem("add", text, "--title", title, "--created", f"2026-03-{day}").code == 0
    path = vault / "notes/Opening date.md"
    assert "15 June" in note_at(path).context
    return path


def test_evolve_again_keeps_what_another_note_says(amem: Program, corrected: Path) -> None:
    before = corrected.read_bytes()
    done = amem("evolve", "--again", "Opening date")
    assert (done.code, "removed" in done.out) == (0, False), done.err
    assert corrected.read_bytes() == before


def test_evolve_again_drops_what_the_other_note_no_longer_says(
    amem: Program, corrected: Path
) -> None:
    party = corrected.with_name("Party.md")
    party.write_text(party.read_text().replace(CORRECTION, "A band plays at the party."))
    assert amem("evolve").code == 0
    assert amem("evolve", "--again", "Opening date").code == 0
    assert note_at(corrected).context == ""
    event = next(
        each
        for each in reversed(amem("history", "Opening date", "--json").json)
        if any(change["field"] == "context" for change in each["changes"])
    )
    assert amem("undo", event["id"]).code == 0
    assert "15 June" in note_at(corrected).context
