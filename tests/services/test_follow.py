"""Links that the machine wrote follow notes that were renamed."""

from __future__ import annotations

from pathlib import Path

from amem_cli.core.note_file import parse_note
from amem_cli.core.ownership import ownership
from amem_cli.services.add import NewNote, add
from amem_cli.services.evolve import MemoryProcess
from amem_cli.services.follow import follow_moves
from amem_cli.services.sync import embed_missing, synchronise
from amem_cli.services.undo import undo
from amem_cli.services.vault_ports import VaultPorts
from tests.fakes.encoder import FakeEncoder
from tests.vaults import open_vault, tree_hashes, write_note

OLD = "Lamination of croissant dough needs butter at 14 degrees, else it tears."
NEW = "See Lamination: the croissant dough tore in lamination, the butter was at 4 degrees."


def linked_vault(root: Path) -> tuple[VaultPorts, str, str]:
    """A vault in which the analyzer has linked a new note to an old one."""
    ports = open_vault(root)
    old = add(ports, NewNote(OLD, title="Lamination"))
    new = add(ports, NewNote(NEW, title="Tearing"))
    encoder = FakeEncoder()
    embed_missing(ports, encoder)
    outcome = MemoryProcess(ports, encoder, None).run(new, asked=True)
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
    target = ports.index.summary(old)
    assert target is not None and target.id is not None
    rename(ports, tmp_path, old, "notes/Butter temperature.md")
    assert follow_moves(ports, {target.id}) == [new]
    assert links_of(ports, new) == ("[[Butter temperature]]",)
    summary = ports.index.summary(new)
    assert summary is not None and summary.id is not None
    owned = ownership(ports.index.events(summary.id)).links[target.id]
    assert (owned.text, owned.by) == ("[[Butter temperature]]", "machine")
    assert owned.reason
    assert follow_moves(ports) == []


def test_a_link_that_obsidian_has_rewritten_already_is_left(tmp_path: Path) -> None:
    ports, old, new = linked_vault(tmp_path)
    rename(ports, tmp_path, old, "notes/Butter.md")
    note = tmp_path / new
    note.write_text(note.read_text().replace("[[Lamination]]", "[[Butter]]"))
    synchronise(ports)
    before = tree_hashes(tmp_path)
    assert follow_moves(ports) == []
    assert tree_hashes(tmp_path) == before


def test_a_link_with_a_persons_words_is_left(tmp_path: Path) -> None:
    ports, old, new = linked_vault(tmp_path)
    note = tmp_path / new
    note.write_text(note.read_text().replace("[[Lamination]]", "[[Lamination|how butter]]"))
    synchronise(ports)
    rename(ports, tmp_path, old, "notes/Butter.md")
    before = tree_hashes(tmp_path)
    assert follow_moves(ports) == []
    assert tree_hashes(tmp_path) == before


def test_a_move_to_another_folder_that_the_link_still_finds_writes_nothing(
    tmp_path: Path,
) -> None:
    ports, old, _ = linked_vault(tmp_path)
    rename(ports, tmp_path, old, "archive/Lamination.md")
    before = tree_hashes(tmp_path)
    assert follow_moves(ports) == []
    assert tree_hashes(tmp_path) == before


def test_a_name_that_another_note_took_meanwhile_is_told_apart(tmp_path: Path) -> None:
    ports, old, new = linked_vault(tmp_path)
    rename(ports, tmp_path, old, "notes/Butter.md")
    write_note(tmp_path, old, "Another note under the old name.\n")
    synchronise(ports)
    assert follow_moves(ports) == [new]
    assert links_of(ports, new) == ("[[Butter]]",)


def test_following_can_be_taken_back(tmp_path: Path) -> None:
    ports, old, new = linked_vault(tmp_path)
    before = (tmp_path / new).read_bytes()
    rename(ports, tmp_path, old, "notes/Butter.md")
    follow_moves(ports)
    event = ports.index.events()[-1]
    undo(ports, event.id)
    assert (tmp_path / new).read_bytes() == before
