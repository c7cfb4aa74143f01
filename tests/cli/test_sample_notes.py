"""The notes that amem makes a vault with lend a person's notes no tags and get no links, until a
person edits them or speaks of them."""

from __future__ import annotations

from typing import Any

import pytest

from amem_cli.editing.edit import record_baseline
from tests.conftest import Program
from tests.vaults import open_vault

REVIEW = (
    "The weekly review on Sunday evening: I read the notes of the week again, look at what the"
    " program changed, undo what is wrong and empty the box of scraps. Forty minutes."
)


def added(amem: Program) -> dict[str, Any]:
    done: dict[str, Any] = amem("add", REVIEW, "--title", "Sunday round", "--json").json
    return done


def others(found: dict[str, Any]) -> set[str]:
    return {link["path"] for name in ("links", "suggested") for link in found[name]}


def test_they_lend_no_tag_and_get_no_link(amem: Program) -> None:
    assert amem("init", ".").code == 0
    found = added(amem)
    assert others(found) == set() and found["tags"] == []


def test_one_that_a_person_edited_counts(amem: Program) -> None:
    assert amem("init", ".").code == 0
    path = "notes/I review new notes on Sunday evening.md"
    note = amem.folder / path
    note.write_text(note.read_text() + "\nLast week it took an hour.\n")
    assert path in others(added(amem))


def test_what_a_note_says_of_one_is_seen(amem: Program) -> None:
    assert amem("init", ".").code == 0
    text = "I look through new notes on Friday. This replaces the Sunday evening review."
    amem("add", text, "--title", "Friday round")
    older = "I review new notes on Sunday evening"
    assert "superseded by “Friday round”" in amem("show", older).out


def test_one_that_a_person_links_counts(amem: Program) -> None:
    assert amem("init", ".").code == 0
    older = "I review new notes on Sunday evening"
    text = f"This replaces [[{older}]]: from now on I do it on Friday."
    amem("add", text, "--title", "Friday round")
    assert "superseded by “Friday round”" in amem("show", older).out


@pytest.mark.parametrize("samples", [True, False])
def test_no_guess_is_made_at_what_became_of_one(amem: Program, samples: bool) -> None:
    assert amem("init", ".").code == 0
    texts = {
        "Clinic": "The clinic's invoices are due after 30 days. Reminder after that, friendly.",
        "Terms": "The clinic's invoices are due after 14 days now, not 30. The bank wanted it.",
    }
    for day, (title, text) in enumerate(texts.items(), 1):
        header = f"---\ncreated: 2026-03-0{day}T10:00:00\n---\n"
        (amem.folder / f"{title}.md").write_text(header + text)
    if samples:
        record_baseline(open_vault(amem.folder), samples=True)
    assert amem("evolve", *texts, "--no-llm").code == 0
    waiting = amem("review", "--list", "--json").json["waiting"]
    assert [each["title"] for each in waiting] == ([] if samples else ["Clinic"])
