"""What stands beside the machine's words, or in place of them, is a person's and stays."""

from __future__ import annotations

import json
from pathlib import Path

from amem_cli.editing.edit import FieldEdits, remove, update
from amem_cli.editing.review import accept, reject, review_items
from amem_cli.editing.undo import undo
from amem_cli.index.draft import NoteDraft, new_event, provenance_of
from amem_cli.index.memory_index import VaultPorts
from amem_cli.index.sync import refresh, synchronise
from amem_cli.journal.events import LinkRecord
from amem_cli.journal.link_decisions import Evolution
from amem_cli.memory.outcome import Description, Linking, NoteAnalysis, Outcome
from amem_cli.memory.plan import evolved_fields
from amem_cli.notes.note import MemoryLink
from amem_cli.search.read import note_named
from tests.editing.test_review import propose
from tests.editing.test_undo import machine_sets, own, type_into
from tests.fakes.language_model import ScriptedModel
from tests.memory.test_evolve import CHANGE, NEW, add_old, linking, metadata
from tests.vaults import carry_out, memory_process, open_vault, write_note


def with_header(note_id: str, **fields: object) -> str:
    lines = [f"{name}: {json.dumps(value)}" for name, value in fields.items()]
    return "\n".join(["---", f'id: "{note_id}"', *lines, "---", "Body.", ""])


def machine_links(ports: VaultPorts, path: str, target: str) -> None:
    """The machine links a note to another."""
    summary = note_named(ports.index, target)
    draft = NoteDraft(ports, ports.vault.read(path))
    text = f"[[{target.removesuffix('.md')}]]"
    record = LinkRecord(summary.key, target, text, "related", 0.5, "alike")
    event = new_event(ports, "link", links=(record,))
    draft.change({"links": [*draft.note.links, text]}, event)
    ports.changes.apply(draft.write(), draft.events)
    refresh(ports, [path])


def run_plan(ports: VaultPorts, path: str, older: str, change: Evolution) -> Outcome:
    """Carry out what the machine says of a note, in review."""
    links = Linking((MemoryLink(older, "related", "alike", 0.5),), (change,))
    return carry_out(ports, path, NoteAnalysis(Description(), links, "scripted"), review=True)


def test_removing_a_note_leaves_a_persons_second_link_to_it(tmp_path: Path) -> None:
    ports = open_vault(tmp_path)
    write_note(tmp_path, "B.md", with_header("20260101000001"))
    write_note(tmp_path, "a.md", with_header("20260101000000", links=["[[B|mine]]"]))
    synchronise(ports)
    machine_links(ports, "a.md", "B.md")
    target = note_named(ports.index, "B.md")
    removal = remove(ports, target)
    assert own(ports, "a.md").links == ("[[B|mine]]",)
    assert removal.dangling == ("a.md",)


def test_another_spelling_beside_the_machines_word_stays(tmp_path: Path, ports: VaultPorts) -> None:
    write_note(tmp_path, "a.md", with_header("20260101000000", keywords=[]))
    synchronise(ports)
    machine_sets(ports, "a.md", keywords=["dough"])
    type_into(tmp_path, "a.md", "- dough\n", "- dough\n  - Dough\n")
    synchronise(ports)
    note = own(ports, "a.md")
    owned = provenance_of(ports.index, note.id or "")
    fields = evolved_fields(note, Evolution("a.md", keywords_drop=("dough", "Dough")), owned)
    assert fields == {"keywords": ["Dough"]}


def test_adding_a_keyword_leaves_the_others_as_they_are_written(tmp_path: Path) -> None:
    ports = open_vault(tmp_path)
    keywords = ["Rust", "rust", "two  spaces"]
    write_note(tmp_path, "a.md", with_header("20260101000000", keywords=keywords))
    synchronise(ports)
    summary = note_named(ports.index, "a.md")
    update(ports, summary, FieldEdits(add_keywords=["x", "RUST"]))
    assert own(ports, "a.md").keywords == (*keywords, "x")


def test_a_comment_behind_a_word_that_goes_stays(tmp_path: Path, ports: VaultPorts) -> None:
    write_note(tmp_path, "a.md", '---\nid: "20260101000000"\n---\nx\n')
    synchronise(ports)
    machine_sets(ports, "a.md", keywords=["m1", "m2"])
    type_into(tmp_path, "a.md", "- m1\n", "- m1   # I checked this one\n")
    synchronise(ports)
    machine_sets(ports, "a.md", keywords=["m2"])
    assert "# I checked this one\n" in (tmp_path / "a.md").read_text(encoding="utf-8")
    machine_sets(ports, "a.md", keywords=[])
    assert "# I checked this one\n" in (tmp_path / "a.md").read_text(encoding="utf-8")
    assert own(ports, "a.md").keywords == ()


def test_the_same_change_waits_once(ports: VaultPorts) -> None:
    add_old(ports)
    propose(ports)
    propose(ports, "Torn dough again")
    assert len(review_items(ports)) == 3


def test_what_was_turned_down_is_not_done_when_review_is_switched_off(tmp_path: Path) -> None:
    ports = open_vault(tmp_path)
    old = add_old(ports)
    propose(ports)
    reject(ports, review_items(ports))
    before = (tmp_path / old).read_bytes()
    path = ports.index.notes.find("Torn dough")[0].path
    type_into(tmp_path, path, NEW, f"{NEW} Again.")
    model = ScriptedModel([linking(change=CHANGE), metadata])
    memory_process(ports, model, trusted=True).run(path, asked=True)
    assert (tmp_path / old).read_bytes() == before


def test_what_was_turned_down_stays_so_when_the_note_gets_its_id(tmp_path: Path) -> None:
    ports = open_vault(tmp_path)
    for name in ("old", "new", "newer"):
        write_note(tmp_path, f"{name}.md", f"{name}.\n")
    synchronise(ports)
    change = Evolution("old.md", context="A sentence.", keywords_add=("k",))
    run_plan(ports, "new.md", "old.md", change)
    found = {each.proposal.change.field: each for each in review_items(ports)}
    reject(ports, [found["keywords"]])
    accept(ports, [found["context"]])
    assert own(ports, "old.md").id is not None
    both = Evolution("old.md", context="A sentence.", keywords_add=("k", "l"))
    (proposal,) = run_plan(ports, "newer.md", "old.md", both).proposed
    assert (proposal.change.field, proposal.change.after) == ("keywords", ["l"])


def test_a_proposal_follows_a_note_without_id(tmp_path: Path, ports: VaultPorts) -> None:
    for name in ("old", "new"):
        write_note(tmp_path, f"{name}.md", f"{name}.\n")
    synchronise(ports)
    run_plan(ports, "new.md", "old.md", Evolution("old.md", context="A sentence."))
    (tmp_path / "old.md").rename(tmp_path / "moved.md")
    synchronise(ports)
    assert [each.path for each in review_items(ports)] == ["moved.md"]
    accept(ports, review_items(ports))
    assert own(ports, "moved.md").context == "A sentence."


def test_the_text_of_a_very_large_note_can_be_brought_back(tmp_path: Path) -> None:
    ports = open_vault(tmp_path)
    write_note(tmp_path, "a.md", with_header("20260101000000") + "\n" * 1_900_000)
    synchronise(ports)
    before = (tmp_path / "a.md").read_bytes()
    summary = note_named(ports.index, "a.md")
    update(ports, summary, FieldEdits(content="\n\x01" * 500_000 + "x"))
    undo(ports, ports.index.events.read()[-1].id)
    assert (tmp_path / "a.md").read_bytes() == before
