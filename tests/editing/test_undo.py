"""What the machine did is taken back to the byte, or refused."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path

import pytest

from amem_cli.editing.add import NewNote, add
from amem_cli.editing.edit import FieldEdits, link, remove, unlink, update
from amem_cli.editing.undo import undo, undo_since
from amem_cli.errors import NotFoundError, SettingsError, UsageError
from amem_cli.index.draft import NoteDraft, new_event
from amem_cli.index.memory_index import VaultPorts
from amem_cli.index.records import NoteSummary
from amem_cli.index.sync import refresh, synchronise
from amem_cli.journal.events import Event, LinkRecord
from amem_cli.journal.provenance import provenance
from amem_cli.notes.note import Note, parse_note
from tests.vaults import memory_process, open_vault, summary_of, tree_hashes, write_note


def remember(ports: VaultPorts, path: str) -> str:
    """Run the process; returns the id of its root event."""
    memory_process(ports).run(path, asked=True)
    return [event for event in ports.index.events.read() if event.kind == "process"][-1].id


def test_the_exact_bytes_come_back(tmp_path: Path, ports: VaultPorts) -> None:
    write_note(
        tmp_path, "old.md", "---\n# mine\nlinks: []\n---\nCroissant dough in lamination.\r\n"
    )
    before = tree_hashes(tmp_path)
    root = remember(ports, "old.md")
    assert tree_hashes(tmp_path) != before
    undone = undo(ports, root)
    assert undone.paths == ("old.md",)
    assert tree_hashes(tmp_path) == before
    assert ports.index.events.read()[-1].kind == "undo"
    assert ports.index.queue.pending() == []


def own(ports: VaultPorts, path: str) -> Note:
    return parse_note(path, ports.vault.read(path).raw, ports.names)


def events(ports: VaultPorts, kind: str) -> list[Event]:
    return [event for event in ports.index.events.read() if event.kind == kind]


def machine_sets(ports: VaultPorts, path: str, **fields: str | list[str]) -> str:
    """The machine changes a note; returns the event's id."""
    draft = NoteDraft(ports, ports.vault.read(path))
    draft.change(fields, new_event(ports, "evolve", reason="because"))
    ports.changes.apply(draft.write(), draft.events)
    refresh(ports, [path])
    return draft.events[-1].id


def type_into(root: Path, path: str, old: str, new: str) -> None:
    text = (root / path).read_bytes().decode()
    assert old in text
    (root / path).write_bytes(text.replace(old, new).encode())


def test_a_field_that_was_edited_since_is_refused_and_nothing_changes(tmp_path: Path) -> None:
    ports = open_vault(tmp_path)
    path = add(ports, NewNote("Croissant dough tears in lamination.", title="Dough"))
    root = remember(ports, path)
    summary = summary_of(ports, path)
    update(ports, summary, FieldEdits(add_keywords=["my own"]))
    before = tree_hashes(tmp_path)
    with pytest.raises(SettingsError, match=r"keywords of notes/Dough\.md was edited since"):
        undo(ports, root)
    assert tree_hashes(tmp_path) == before


def test_on_request_all_but_the_edits_is_taken_back(tmp_path: Path, ports: VaultPorts) -> None:
    path = add(ports, NewNote("Croissant dough tears in lamination.", title="Dough"))
    root = machine_sets(ports, path, keywords=["dough"], context="Dough tears.")
    type_into(tmp_path, path, "context: Dough tears.", "context: My own sentence.")
    type_into(tmp_path, path, "keywords:\n", "keywords:\n  - my own\n")
    synchronise(ports)
    undone = undo(ports, root, keep_edits=True)
    note = own(ports, path)
    assert (note.keywords, note.tags, note.context) == (("my own",), (), "My own sentence.")
    assert undone.kept == ("context of notes/Dough.md stays as you edited it",)


def test_what_a_person_typed_again_is_not_taken_back(tmp_path: Path, ports: VaultPorts) -> None:
    path = add(ports, NewNote("Dough.", title="Dough"))
    event = machine_sets(ports, path, tags=["one", "two"])
    type_into(tmp_path, path, "  - one\n", "")
    synchronise(ports)
    type_into(tmp_path, path, "  - two\n", "  - one\n  - two\n")
    synchronise(ports)
    undo(ports, event, keep_edits=True)
    assert own(ports, path).tags == ("one",)


def test_an_edit_of_the_text_is_no_obstacle_and_stays(tmp_path: Path, ports: VaultPorts) -> None:
    write_note(tmp_path, "a.md", "---\nid: '1'\n# mine\ntags:   [ one ]\n---\nDough.\r\n")
    synchronise(ports)
    event = machine_sets(ports, "a.md", tags=["one", "two"], context="Dough it is.")
    type_into(tmp_path, "a.md", "Dough.\r\n", "Dough and butter.\r\n")
    synchronise(ports)
    undo(ports, event)
    assert (tmp_path / "a.md").read_bytes() == (
        b"---\nid: '1'\n# mine\ntags:   [ one ]\n---\nDough and butter.\r\n"
    )


def test_what_built_on_a_change_is_taken_back_on_request(tmp_path: Path, ports: VaultPorts) -> None:
    path = add(ports, NewNote("Dough.", title="Dough"))
    before = tree_hashes(tmp_path)
    first = machine_sets(ports, path, context="One.")
    second = machine_sets(ports, path, context="Two.")
    with pytest.raises(SettingsError, match=f"changed again by event {second}"):
        undo(ports, first)
    undone = undo(ports, first, cascade=True)
    assert [event.id for event in undone.events] == [second, first]
    assert tree_hashes(tmp_path) == before


def test_later_additions_to_the_same_list_stay(ports: VaultPorts) -> None:
    path = add(ports, NewNote("Dough.", title="Dough"))
    first = machine_sets(ports, path, tags=["one"])
    machine_sets(ports, path, tags=["one", "two"])
    undo(ports, first)
    assert own(ports, path).tags == ("two",)


def test_all_since_a_moment_is_taken_back_to_the_byte(tmp_path: Path, ports: VaultPorts) -> None:
    one = add(ports, NewNote("Croissant dough tears in lamination.", title="Dough"))
    two = add(ports, NewNote("Butter at 14 degrees.", title="Butter"))
    machine_sets(ports, one, tags=["kept"])
    before = tree_hashes(tmp_path)
    first = machine_sets(ports, two, tags=["butter"])
    machine_sets(ports, one, context="One.", tags=["kept", "dough"])
    machine_sets(ports, one, context="Two.")
    undone = undo_since(ports, first)
    assert set(undone.paths) == {one, two}
    assert tree_hashes(tmp_path) == before
    with pytest.raises(SettingsError, match="changed nothing"):
        undo_since(ports, first)


def test_since_takes_dates_and_never_a_persons_own_changes(ports: VaultPorts) -> None:
    path = add(ports, NewNote("Dough.", title="Dough", tags=["mine"]))
    machine_sets(ports, path, tags=["mine", "its"])
    undo_since(ports, "2030-03-02T14:00")
    assert own(ports, path).tags == ("mine",)
    with pytest.raises(SettingsError):
        undo_since(ports, "2031-01-01")
    with pytest.raises(UsageError):
        undo_since(ports, "the other day")


@pytest.mark.parametrize("since", ["yesterday", "7d", "last week", "2030-03", "2030"])
def test_since_takes_days_as_a_search_does(ports: VaultPorts, since: str) -> None:
    path = add(ports, NewNote("Dough.", title="Dough", tags=["mine"]))
    machine_sets(ports, path, tags=["mine", "its"])
    undo_since(ports, since)
    assert own(ports, path).tags == ("mine",)


def test_one_edited_field_keeps_all_since_from_being_taken_back(tmp_path: Path) -> None:
    ports = open_vault(tmp_path)
    one = add(ports, NewNote("Dough.", title="Dough"))
    two = add(ports, NewNote("Butter.", title="Butter"))
    first = machine_sets(ports, one, context="One.")
    machine_sets(ports, two, context="Two.")
    type_into(tmp_path, two, "Two.", "Mine.")
    synchronise(ports)
    before = tree_hashes(tmp_path)
    with pytest.raises(SettingsError, match=r"context of notes/Butter\.md"):
        undo_since(ports, first)
    assert tree_hashes(tmp_path) == before
    undone = undo_since(ports, first, keep_edits=True)
    assert undone.paths == (one,)
    assert own(ports, two).context == "Mine."


def test_what_was_taken_back_can_be_brought_back(tmp_path: Path, ports: VaultPorts) -> None:
    path = add(ports, NewNote("Dough.", title="Dough"))
    event = machine_sets(ports, path, context="One.")
    after = tree_hashes(tmp_path)
    undo(ports, event)
    with pytest.raises(SettingsError, match="taken back already"):
        undo(ports, event)
    undo(ports, events(ports, "undo")[-1].id)
    assert tree_hashes(tmp_path) == after
    undo(ports, event)
    assert own(ports, path).context == ""


def linked(ports: VaultPorts) -> tuple[str, NoteSummary, NoteDraft, LinkRecord]:
    """A note that the machine has linked: its path, the target, the change, and why."""
    target = add(ports, NewNote("Butter at 14 degrees.", title="Butter"))
    source = add(ports, NewNote("Dough.", title="Dough"))
    summary = ports.index.notes.summary(target)
    assert summary is not None and summary.id is not None
    draft = NoteDraft(ports, ports.vault.read(source))
    record = LinkRecord(summary.id, target, "[[Butter]]", "supports", 0.5, "both are butter")
    draft.change({"links": ["[[Butter]]"]}, new_event(ports, "link", links=(record,)))
    ports.changes.apply(draft.write(), draft.events)
    refresh(ports, [source])
    return source, summary, draft, record


def test_a_removed_note_comes_back_with_the_links_to_it(tmp_path: Path, ports: VaultPorts) -> None:
    source, summary, draft, record = linked(ports)
    before = tree_hashes(tmp_path)
    remove(ports, summary)
    assert own(ports, source).links == ()
    undo(ports, events(ports, "remove")[-1].id)
    found = tree_hashes(tmp_path)
    assert {path: found[path] for path in before} == before
    links = provenance(ports.index.events.read(draft.note.id)).links
    assert links == {summary.id: record}


def test_a_link_that_was_brought_back_is_the_machines_again(ports: VaultPorts) -> None:
    source, summary, draft, record = linked(ports)
    note = draft.note.id
    undo(ports, draft.events[0].id)
    assert provenance(ports.index.events.read(note)).declined == {summary.id}
    undo(ports, events(ports, "undo")[-1].id)
    assert provenance(ports.index.events.read(note)).links == {summary.id: record}
    assert remove(ports, summary).unlinked == (source,)


def test_a_removed_note_that_the_trash_no_longer_holds_stays_away(tmp_path: Path) -> None:
    ports = open_vault(tmp_path)
    path = add(ports, NewNote("Butter.", title="Butter"))
    summary = summary_of(ports, path)
    remove(ports, summary)
    event = events(ports, "remove")[-1].id
    (tmp_path / ".trash/Butter.md").write_text("something else", encoding="utf-8")
    with pytest.raises(SettingsError, match="no longer in the trash"):
        undo(ports, event)
    assert not (tmp_path / path).exists()


def test_a_link_is_taken_back_after_its_target_was_renamed(tmp_path: Path) -> None:
    ports = open_vault(tmp_path)
    source, summary, draft, _ = linked(ports)
    (tmp_path / summary.path).rename(tmp_path / "notes/Cultured.md")
    type_into(tmp_path, source, "[[Butter]]", "[[Cultured]]")
    synchronise(ports)
    undo(ports, draft.events[0].id)
    assert own(ports, source).links == ()
    undo(ports, events(ports, "undo")[-1].id)
    assert own(ports, source).links == ("[[Cultured]]",)


def test_a_new_text_is_taken_back_unless_it_was_edited_again(tmp_path: Path) -> None:
    ports = open_vault(tmp_path)
    path = add(ports, NewNote("Dough.", title="Dough"))
    before = tree_hashes(tmp_path)
    summary = summary_of(ports, path)
    update(ports, summary, FieldEdits(content="Butter."))
    event = events(ports, "edit")[-1].id
    undo(ports, event)
    assert tree_hashes(tmp_path) == before
    update(ports, summary, FieldEdits(content="Butter."))
    event = events(ports, "edit")[-1].id
    type_into(tmp_path, path, "Butter.", "Butter and flour.")
    synchronise(ports)
    with pytest.raises(SettingsError, match="the text of"):
        undo(ports, event)


def test_what_is_not_there_is_told(ports: VaultPorts) -> None:
    add(ports, NewNote("Text.", title="T"))
    with pytest.raises(NotFoundError):
        undo(ports, "nothing")
    with pytest.raises(SettingsError):
        undo(ports, ports.index.events.read()[-1].id)


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("b.md", '---\nid: "20260101000000-2"\nkeywords:\n  - dough\n---\nAnother.\n'),
        ("c.md", '---\naliases: ["20260101000000"]\nkeywords: [dough]\n---\nAnother.\n'),
        ("20260101000000.md", "---\nkeywords: [dough]\n---\nAnother.\n"),
        ("a.md", '---\nid: "20260202000000"\nkeywords: [dough]\n---\nAnother.\n'),
        ("a.md", "---\nkeywords: [dough]\n---\nAnother.\n"),
    ],
)
def test_an_event_of_a_note_that_is_gone_changes_no_other_note(
    tmp_path: Path, ports: VaultPorts, path: str, text: str
) -> None:
    write_note(tmp_path, "a.md", '---\nid: "20260101000000"\n---\nDough.\n')
    synchronise(ports)
    event = machine_sets(ports, "a.md", keywords=["dough"])
    (tmp_path / "a.md").unlink()
    synchronise(ports)
    write_note(tmp_path, path, text)
    synchronise(ports)
    for keep_edits in (False, True):
        with pytest.raises(NotFoundError, match="is gone"):
            undo(ports, event, keep_edits=keep_edits)
    assert (tmp_path / path).read_bytes() == text.encode()


def test_an_event_of_two_notes_with_one_id_is_refused_with_both_paths(tmp_path: Path) -> None:
    ports = open_vault(tmp_path)
    write_note(tmp_path, "a.md", '---\nid: "20260101000000"\n---\nDough.\n')
    synchronise(ports)
    event = machine_sets(ports, "a.md", keywords=["dough"])
    (tmp_path / "a copy.md").write_bytes((tmp_path / "a.md").read_bytes())
    synchronise(ports)
    with pytest.raises(NotFoundError, match="nobody can tell") as error:
        undo(ports, event)
    assert "a copy.md, a.md" in error.value.hint


def machine_links(ports: VaultPorts, root: Path) -> str:
    """The machine links `a.md` to `sub/B.md`; returns the event's id."""
    write_note(root, "sub/B.md", '---\nid: "20260101000001"\n---\nButter.\n')
    write_note(root, "a.md", '---\nid: "20260101000000"\n---\nDough.\n')
    synchronise(ports)
    record = LinkRecord("20260101000001", "sub/B.md", "[[B]]", "related", 0.5, "alike")
    draft = NoteDraft(ports, ports.vault.read("a.md"))
    draft.change({"links": ["[[B]]"]}, new_event(ports, "link", links=(record,)))
    ports.changes.apply(draft.write(), draft.events)
    return draft.events[0].id


@pytest.mark.parametrize("mine", ["[[B|my words]]", "[[B#Part]]", "[[sub/B]]", "[[sub/B.md]]"])
def test_a_persons_second_link_to_the_same_note_stays(
    ports: VaultPorts, tmp_path: Path, mine: str
) -> None:
    event = machine_links(ports, tmp_path)
    type_into(tmp_path, "a.md", '  - "[[B]]"\n', f'  - "[[B]]"\n  - "{mine}"\n')
    synchronise(ports)
    undo(ports, event, keep_edits=True)
    assert own(ports, "a.md").links == (mine,)


def test_a_link_to_which_a_person_gave_words_is_not_taken_back(
    ports: VaultPorts, tmp_path: Path
) -> None:
    event = machine_links(ports, tmp_path)
    type_into(tmp_path, "a.md", "[[B]]", "[[B|my words]]")
    synchronise(ports)
    with pytest.raises(SettingsError, match="was edited since"):
        undo(ports, event)
    assert own(ports, "a.md").links == ("[[B|my words]]",)


def test_a_new_text_is_taken_back_below_what_the_machine_wrote_since(tmp_path: Path) -> None:
    ports = open_vault(tmp_path)
    path = add(ports, NewNote("Croissant dough tears.", title="Dough"))
    synchronise(ports)
    summary = summary_of(ports, path)
    update(ports, summary, FieldEdits(content="Croissant dough rests in the cold."))
    event = events(ports, "edit")[-1].id
    machine_sets(ports, path, keywords=["rest"])
    machine_sets(ports, path, context="It rests.")
    undo(ports, event)
    note = own(ports, path)
    assert note.body.strip() == "Croissant dough tears."
    assert (note.keywords, note.context) == (("rest",), "It rests.")
    again = events(ports, "undo")[-1].id
    type_into(tmp_path, path, "tears", "tears apart")
    with pytest.raises(SettingsError, match=r"text of .* was edited since"):
        undo(ports, again)
    assert own(ports, path).body.strip() == "Croissant dough tears apart."


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_changes_of_one_list_are_taken_back_in_any_order(
    tmp_path: Path, ports: VaultPorts, order: Sequence[int]
) -> None:
    write_note(tmp_path, "a.md", '---\nid: "20260101000000"\nkeywords: [mine]\n---\nDough.\n')
    synchronise(ports)
    made = []
    for number in range(3):
        made.append(
            machine_sets(ports, "a.md", keywords=[*own(ports, "a.md").keywords, f"k{number}"])
        )
    for number in order:
        undo(ports, made[number])
    assert own(ports, "a.md").keywords == ("mine",)
    back = [event.id for event in events(ports, "undo")]
    for number in order:
        undo(ports, back[number])
    assert set(own(ports, "a.md").keywords) == {"mine", "k0", "k1", "k2"}
    type_into(tmp_path, "a.md", "k1", "my own")
    synchronise(ports)
    for event in [*made, *(each.id for each in events(ports, "undo"))]:
        with pytest.raises(SettingsError, match=r"edited since|taken back already"):
            undo(ports, event)
    assert "my own" in own(ports, "a.md").keywords


def test_what_built_on_a_change_is_taken_back_beneath_a_later_addition(tmp_path: Path) -> None:
    ports = open_vault(tmp_path)
    write_note(tmp_path, "a.md", '---\nid: "20260101000000"\nkeywords: [mine]\n---\nDough.\n')
    synchronise(ports)
    first = machine_sets(ports, "a.md", context="one", keywords=["mine", "k1"])
    machine_sets(ports, "a.md", context="two", keywords=["mine", "k1", "k2"])
    machine_sets(ports, "a.md", keywords=["mine", "k1", "k2", "k3"])
    undo(ports, first, cascade=True)
    note = own(ports, "a.md")
    assert (note.context, note.keywords) == ("", ("mine", "k3"))


def test_a_persons_link_to_a_moved_note_stays_beside_the_machines_new_one(tmp_path: Path) -> None:
    ports = open_vault(tmp_path)
    write_note(tmp_path, "B.md", '---\nid: "20260101000001"\n---\nButter.\n')
    write_note(tmp_path, "a.md", '---\nid: "20260101000000"\n---\nDough.\n')
    synchronise(ports)
    made = []
    for name in ("B", "C"):
        text = f"[[{name}]]"
        record = LinkRecord("20260101000001", f"{name}.md", text, "related", 0.5, "alike")
        draft = NoteDraft(ports, ports.vault.read("a.md"))
        links = [*draft.note.links, text]
        draft.change({"links": links}, new_event(ports, "link", links=(record,)))
        ports.changes.apply(draft.write(), draft.events)
        refresh(ports, ["a.md"])
        made.append(draft.events[0].id)
        source, target = ports.index.notes.summary("a.md"), ports.index.notes.summary("B.md")
        if source is not None and target is not None:
            unlink(ports, source, target)
            link(ports, source, target)
            (tmp_path / "B.md").rename(tmp_path / "C.md")
            synchronise(ports)
    assert own(ports, "a.md").links == ("[[B]]", "[[C]]")
    undo(ports, made[0], keep_edits=True)
    assert "[[B]]" in own(ports, "a.md").links
