"""In review, what would change in older notes waits for a person, and only that."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from amem_cli.editing.add import NewNote, add
from amem_cli.editing.edit import FieldEdits, update
from amem_cli.editing.review import Decisions, accept, items_named, reject, review_items
from amem_cli.editing.undo import undo
from amem_cli.errors import NotFoundError, Problem
from amem_cli.index.memory_index import VaultPorts
from amem_cli.index.sync import synchronise
from amem_cli.journal.provenance import provenance
from amem_cli.memory.outcome import Outcome
from amem_cli.notes.note import Note, parse_note
from tests.fakes.language_model import ScriptedModel
from tests.memory.test_evolve import CHANGE, NEW, add_old, linking
from tests.vaults import memory_process, open_vault, summary_of


def propose(ports: VaultPorts, title: str = "Torn dough") -> Outcome:
    """Add a note because of which the old one would change."""
    path = add(ports, NewNote(NEW, title=title))
    model = ScriptedModel([linking(change=CHANGE)])
    return memory_process(ports, model, trusted=True, review=True).run(path, asked=True)


def read(ports: VaultPorts, path: str) -> Note:
    return parse_note(path, ports.vault.read(path).raw, ports.names)


def test_proposals_survive_a_restart_and_the_loss_of_the_index(tmp_path: Path) -> None:
    ports = open_vault(tmp_path)
    add_old(ports)
    propose(ports)
    ports.index.close()
    for part in (tmp_path / ".amem").glob("index.db*"):
        part.unlink()
    again = open_vault(tmp_path)
    synchronise(again)
    assert len(review_items(again)) == 3


def test_what_is_accepted_is_done_with_its_reason_and_can_be_undone(tmp_path: Path) -> None:
    ports = open_vault(tmp_path)
    old = add_old(ports)
    before = (tmp_path / old).read_bytes()
    propose(ports)
    decisions = accept(ports, review_items(ports))
    assert len(decisions.accepted) == 3
    assert review_items(ports) == []
    note = read(ports, old)
    assert note.context == CHANGE["context"]
    assert "fridge" in note.keywords
    events = [event for event in ports.index.events.read(note.id) if event.kind == "evolve"]
    assert {event.review for event in events} == {"accepted"}
    assert {event.reason for event in events} == {CHANGE["why"]}
    assert provenance(ports.index.events.read(note.id)).may_replace_context(note.context)
    process = next(event for event in ports.index.events.read() if event.kind == "process")
    undo(ports, process.id)
    assert (tmp_path / old).read_bytes() == before


def test_a_proposal_for_a_field_that_a_person_wrote_since_is_dropped(ports: VaultPorts) -> None:
    old = add_old(ports)
    propose(ports)
    update(ports, summary_of(ports, old), FieldEdits(context="My own sentence."))
    decisions = accept(ports, review_items(ports))
    assert [each.outdated for each in decisions.outdated] == ["you wrote its context since"]
    assert len(decisions.accepted) == 2
    assert read(ports, old).context == "My own sentence."
    assert review_items(ports) == []


def test_what_a_person_added_to_a_list_since_stays(ports: VaultPorts) -> None:
    old = add_old(ports)
    propose(ports)
    update(ports, summary_of(ports, old), FieldEdits(add_keywords=["my own"]))
    accept(ports, review_items(ports))
    assert {"my own", "fridge"} <= set(read(ports, old).keywords)


def test_a_proposal_follows_its_note_and_goes_with_it(tmp_path: Path, ports: VaultPorts) -> None:
    old = add_old(ports)
    propose(ports)
    (tmp_path / old).rename(tmp_path / "notes/Laminating.md")
    synchronise(ports)
    assert {each.path for each in review_items(ports)} == {"notes/Laminating.md"}
    (tmp_path / "notes/Laminating.md").unlink()
    synchronise(ports)
    decisions = accept(ports, review_items(ports))
    assert {each.outdated for each in decisions.outdated} == {"the note is gone"}
    assert review_items(ports) == []


def test_proposals_are_named_by_the_beginning_of_their_ids(ports: VaultPorts) -> None:
    add_old(ports)
    propose(ports)
    one = review_items(ports)[0]
    assert items_named(ports, [one.proposal.id]) == [one]
    with pytest.raises(NotFoundError, match="more than one"):
        items_named(ports, [one.proposal.id[:4]])
    with pytest.raises(NotFoundError):
        items_named(ports, ["nothing"])


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("links", ["[[Home]]"]),
        ("id", "20200101000000"),
        ("context", "---\nid: x\n---"),
        ("context", ["a list"]),
        ("tags", ["#"]),
        ("keywords", ["x" * 5000]),
        ("keywords", [7]),
    ],
)
def test_a_forged_proposal_changes_nothing(tmp_path: Path, field: str, value: object) -> None:
    ports = open_vault(tmp_path)
    old = add_old(ports)
    propose(ports)
    before = (tmp_path / old).read_bytes()
    for path in (tmp_path / ".amem/review").iterdir():
        record = json.loads(path.read_text(encoding="utf-8"))
        empty: object = [] if field != "context" else ""
        record["change"] = {"field": field, "before": empty, "after": value}
        path.write_text(json.dumps(record), encoding="utf-8")
    problems: list[Problem] = []
    decisions = accept(ports, review_items(ports, problems=problems))
    assert decisions.accepted == ()
    assert problems or decisions.outdated
    assert (tmp_path / old).read_bytes() == before


@pytest.mark.parametrize("content", [b"", b"\xff", b"[]", b"{", b"[" * 100_000, b"{}", b"null"])
def test_an_unreadable_proposal_is_told_and_stops_nothing(tmp_path: Path, content: bytes) -> None:
    ports = open_vault(tmp_path)
    add_old(ports)
    propose(ports)
    (tmp_path / ".amem/review/000.json").write_bytes(content)
    problems: list[Problem] = []
    assert len(review_items(ports, problems=problems)) == 3
    assert [problem.path for problem in problems] == [".amem/review/000.json"]


def test_proposals_wait_while_their_note_is_in_the_middle_of_a_merge(tmp_path: Path) -> None:
    ports = open_vault(tmp_path)
    old = add_old(ports)
    propose(ports)
    before = (tmp_path / old).read_bytes()
    torn = before.replace(b"---\n", b"---\n<<<<<<< HEAD\na: 1\n=======\na: 2\n>>>>>>> b\n", 1)
    (tmp_path / old).write_bytes(torn)
    synchronise(ports)
    decisions = accept(ports, review_items(ports))
    assert (decisions.accepted, decisions.outdated) == ((), ())
    assert "merge conflict" in decisions.problems[0].message
    assert (tmp_path / old).read_bytes() == torn
    (tmp_path / old).write_bytes(before)
    synchronise(ports)
    assert len(accept(ports, review_items(ports)).accepted) == 3


def test_a_note_renamed_while_its_proposals_are_shown_keeps_them(tmp_path: Path) -> None:
    ports = open_vault(tmp_path)
    old = add_old(ports)
    propose(ports)
    shown = review_items(ports)
    (tmp_path / old).rename(tmp_path / "notes/Elsewhere.md")
    decisions = accept(ports, shown)
    assert (decisions.accepted, decisions.outdated) == ((), ())
    assert decisions.problems
    synchronise(ports)
    assert len(accept(ports, review_items(ports)).accepted) == 3


def test_what_was_decided_elsewhere_is_not_decided_again(ports: VaultPorts) -> None:
    add_old(ports)
    propose(ports)
    shown = review_items(ports)
    accept(ports, shown)
    count = len(ports.index.events.read())
    assert accept(ports, shown) == reject(ports, shown) == Decisions()
    assert len(ports.index.events.read()) == count


def test_what_is_turned_down_stays_so_when_the_rest_of_the_list_changes(ports: VaultPorts) -> None:
    old = add_old(ports)
    propose(ports)
    reject(ports, review_items(ports))
    update(ports, summary_of(ports, old), FieldEdits(add_keywords=["my own"]))
    assert propose(ports, "Torn dough again").proposed == ()


def test_a_proposal_is_for_no_note_whose_id_only_begins_alike(tmp_path: Path) -> None:
    ports = open_vault(tmp_path)
    old = add_old(ports)
    propose(ports)
    note_id = read(ports, old).id
    (tmp_path / old).unlink()
    text = f'---\nid: "{note_id}-2"\n---\nAnother.\n'
    (tmp_path / "other.md").write_text(text, encoding="utf-8")
    synchronise(ports)
    assert {each.outdated for each in review_items(ports)} == {"the note is gone"}


def test_a_rejection_is_of_the_text_that_the_newer_note_had_by_then(
    tmp_path: Path, ports: VaultPorts
) -> None:
    add_old(ports)
    new = propose(ports).path
    with (tmp_path / new).open("a") as file:
        file.write("So lamination with butter of 4 degrees from the fridge tore the dough.\n")
    synchronise(ports)

    def asked(context: str) -> list[str]:
        answer = linking(change={**CHANGE, "context": context})
        process = memory_process(ports, ScriptedModel([answer]), trusted=True, review=True)
        replace(process, again=True).run(new, asked=True)
        waiting = (each.change for each in ports.changes.waiting())
        return [change.after for change in waiting if change.field == "context"]

    assert asked(str(CHANGE["context"])) == [CHANGE["context"]]
    reject(ports, review_items(ports))
    assert asked("For lamination, butter of 14 degrees; from the fridge it tore the dough.") == []


@pytest.mark.parametrize("edited", ["newer", "older"])
def test_a_context_that_is_turned_down_is_not_proposed_in_other_words_of_the_same_texts(
    tmp_path: Path, ports: VaultPorts, edited: str
) -> None:
    old = add_old(ports)
    new = propose(ports).path
    reject(ports, review_items(ports))

    def asked(context: str) -> list[str]:
        answer = linking(change={**CHANGE, "context": context})
        process = memory_process(ports, ScriptedModel([answer]), trusted=True, review=True)
        replace(process, again=True).run(new, asked=True)
        return [each.change.after for each in ports.changes.waiting()]

    other = "For lamination, butter of 14 degrees; butter from the fridge tore the dough."
    assert asked(other) == []
    with (tmp_path / {"newer": new, "older": old}[edited]).open("a") as file:
        file.write("So lamination with butter of 4 degrees from the fridge tore the dough.\n")
    synchronise(ports)
    # The very words that were turned down are not asked again even then.
    assert asked(str(CHANGE["context"])) == []
    assert asked(other) == [other]
    reject(ports, review_items(ports))
    assert asked("In lamination, butter from the fridge tore the dough; 14 degrees it needs.") == []
