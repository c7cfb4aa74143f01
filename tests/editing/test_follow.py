"""Links that the machine wrote follow notes that were renamed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from amem_cli.editing.add import NewNote, add
from amem_cli.editing.move import move
from amem_cli.editing.renames import update_renamed_links
from amem_cli.editing.undo import undo
from amem_cli.index.draft import NoteDraft, new_event
from amem_cli.index.memory_index import VaultPorts
from amem_cli.index.sync import refresh, synchronise
from amem_cli.journal.events import LinkRecord
from amem_cli.journal.provenance import provenance
from amem_cli.markdown.links import format_link
from amem_cli.notes.names import shortest_target
from amem_cli.notes.note import parse_note
from tests.vaults import memory_process, open_vault, summary_of, tree_hashes, write_note

OLD = "Lamination of croissant dough needs butter at 14 degrees, else it tears."
NEW = "See Lamination: the croissant dough tore in lamination, the butter was at 4 degrees."


def linked_vault(root: Path) -> tuple[VaultPorts, str, str]:
    """A vault in which the analyzer has linked a new note to an old one."""
    ports = open_vault(root)
    old = add(ports, NewNote(OLD, title="Lamination"))
    new = add(ports, NewNote(NEW, title="Tearing"))
    outcome = memory_process(ports, minimum_strength=0.3).run(new, asked=True)
    assert [link.path for link in outcome.links] == [old]
    return ports, old, new


def links_of(ports: VaultPorts, path: str) -> tuple[str, ...]:
    return parse_note(path, ports.vault.read(path).raw, ports.names).links


def rename(ports: VaultPorts, root: Path, old: str, new: str) -> None:
    (root / new).parent.mkdir(parents=True, exist_ok=True)
    (root / old).rename(root / new)
    assert synchronise(ports).moved == ((old, new),)


def test_a_link_follows_a_renamed_note_and_stays_the_machines(tmp_path: Path) -> None:
    ports, old, new = linked_vault(tmp_path)
    target = summary_of(ports, old)
    assert target.id is not None
    rename(ports, tmp_path, old, "notes/Butter temperature.md")
    assert update_renamed_links(ports, {target.id}) == [new]
    assert links_of(ports, new) == ("[[Butter temperature]]",)
    summary = summary_of(ports, new)
    assert summary.id is not None
    owned = provenance(ports.index.events.read(summary.id)).links[target.id]
    assert (owned.text, owned.by) == ("[[Butter temperature]]", "machine")
    assert owned.reason
    assert update_renamed_links(ports) == []


def test_a_link_that_obsidian_has_rewritten_already_is_left(tmp_path: Path) -> None:
    ports, old, new = linked_vault(tmp_path)
    rename(ports, tmp_path, old, "notes/Butter.md")
    note = tmp_path / new
    note.write_text(note.read_text().replace("[[Lamination]]", "[[Butter]]"))
    synchronise(ports)
    before = tree_hashes(tmp_path)
    assert update_renamed_links(ports) == []
    assert tree_hashes(tmp_path) == before


def test_a_link_with_a_persons_words_is_left(tmp_path: Path) -> None:
    ports, old, new = linked_vault(tmp_path)
    note = tmp_path / new
    note.write_text(note.read_text().replace("[[Lamination]]", "[[Lamination|how butter]]"))
    synchronise(ports)
    rename(ports, tmp_path, old, "notes/Butter.md")
    before = tree_hashes(tmp_path)
    assert update_renamed_links(ports) == []
    assert tree_hashes(tmp_path) == before


def test_a_move_to_another_folder_that_the_link_still_finds_writes_nothing(
    tmp_path: Path,
) -> None:
    ports, old, _ = linked_vault(tmp_path)
    rename(ports, tmp_path, old, "archive/Lamination.md")
    before = tree_hashes(tmp_path)
    assert update_renamed_links(ports) == []
    assert tree_hashes(tmp_path) == before


def test_a_name_that_another_note_took_meanwhile_is_told_apart(tmp_path: Path) -> None:
    ports, old, new = linked_vault(tmp_path)
    rename(ports, tmp_path, old, "notes/Butter.md")
    write_note(tmp_path, old, "Another note under the old name.\n")
    synchronise(ports)
    assert update_renamed_links(ports) == [new]
    assert links_of(ports, new) == ("[[Butter]]",)


def test_following_can_be_taken_back(tmp_path: Path) -> None:
    ports, old, new = linked_vault(tmp_path)
    before = (tmp_path / new).read_bytes()
    rename(ports, tmp_path, old, "notes/Butter.md")
    update_renamed_links(ports)
    event = ports.index.events.read()[-1]
    undo(ports, event.id)
    assert (tmp_path / new).read_bytes() == before


def machine_link(ports: VaultPorts, source: str, target: str) -> None:
    """A link as the memory process writes it, also where another one of this text is there."""
    summary = summary_of(ports, target)
    text = format_link(shortest_target(target, ports.index.names))
    record = LinkRecord(summary.key, target, text, "related", 0.9, "alike")
    with ports.changes.locked():
        draft = NoteDraft(ports, ports.vault.read(source))
        event = new_event(ports, "link", links=(record,))
        links = list(dict.fromkeys([*draft.note.links, text]))
        if not draft.change({"links": links}, event):
            draft.events.append(replace(event, note=draft.note.id or "", path=source))
        ports.changes.apply(draft.write(), draft.events)
        refresh(ports, [source])


def two_targets_of_one_name(root: Path) -> tuple[VaultPorts, str]:
    """A note whose first target was renamed, and a second one came by the first one's name."""
    ports, old, new = linked_vault(root)
    rename(ports, root, old, "notes/Butter.md")
    assert add(ports, NewNote("Another text.", title="Lamination")) == old
    machine_link(ports, new, old)
    assert links_of(ports, new) == ("[[Lamination]]",)
    return ports, new


def test_a_link_that_leads_to_another_note_by_now_is_not_taken_from_it(tmp_path: Path) -> None:
    ports, new = two_targets_of_one_name(tmp_path)
    assert update_renamed_links(ports) == [new]
    assert links_of(ports, new) == ("[[Lamination]]", "[[Butter]]")
    assert update_renamed_links(ports) == []


def test_two_targets_of_one_name_are_both_followed(tmp_path: Path) -> None:
    ports, new = two_targets_of_one_name(tmp_path)
    rename(ports, tmp_path, "notes/Lamination.md", "notes/Layers.md")
    assert update_renamed_links(ports) == [new]
    assert set(links_of(ports, new)) == {"[[Butter]]", "[[Layers]]"}
    assert update_renamed_links(ports) == []


def test_a_rename_changes_no_context(tmp_path: Path, ports: VaultPorts) -> None:
    """By a command or by another program, with a title of its own or without."""
    context = "Lamination: the dough tears."
    for name, title in (("Lamination", ""), ("Layers", "title: Lamination\n")):
        path = f"notes/{name}.md"
        write_note(tmp_path, path, f"---\n{title}---\n{OLD}\n")
        synchronise(ports)
        draft = NoteDraft(ports, ports.vault.read(path))
        assert draft.change({"context": context}, new_event(ports, "construct"))
        ports.changes.apply(draft.write(), draft.events)
        refresh(ports, [path])
    note = summary_of(ports, "notes/Layers.md")
    moved = move(ports, note, "Butter").path
    rename(ports, tmp_path, "notes/Lamination.md", "other/Lamination of dough.md")
    assert update_renamed_links(ports) == []
    for path in (moved, "other/Lamination of dough.md"):
        assert parse_note(path, ports.vault.read(path).raw, ports.names).context == context
