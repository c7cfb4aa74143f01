"""What the machine did is taken back to the byte, or refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from amem_cli.core.errors import NotFoundError, SettingsError
from amem_cli.services.add import NewNote, add
from amem_cli.services.edit import FieldEdits, update
from amem_cli.services.evolve import MemoryProcess
from amem_cli.services.sync import embed_missing, synchronise
from amem_cli.services.undo import undo
from amem_cli.services.vault_ports import VaultPorts
from tests.fakes.encoder import FakeEncoder
from tests.vaults import open_vault, tree_hashes, write_note


def remember(ports: VaultPorts, path: str) -> str:
    """Run the process; returns the id of its root event."""
    synchronise(ports)
    encoder = FakeEncoder()
    embed_missing(ports, encoder)
    MemoryProcess(ports, encoder, None).run(path, asked=True)
    return [event for event in ports.index.events() if event.kind == "process"][-1].id


def test_the_exact_bytes_come_back(tmp_path: Path) -> None:
    ports = open_vault(tmp_path)
    write_note(
        tmp_path, "old.md", "---\n# mine\nlinks: []\n---\nCroissant dough in lamination.\r\n"
    )
    before = tree_hashes(tmp_path)
    root = remember(ports, "old.md")
    assert tree_hashes(tmp_path) != before
    undone = undo(ports, root)
    assert undone.paths == ("old.md",)
    assert tree_hashes(tmp_path) == before
    assert ports.index.events()[-1].kind == "undo"
    assert ports.index.pending() == []


def test_other_edits_stay_and_edited_fields_are_refused(tmp_path: Path) -> None:
    ports = open_vault(tmp_path)
    path = add(ports, NewNote("Croissant dough tears in lamination.", title="Dough"))
    root = remember(ports, path)
    summary = ports.index.summary(path)
    assert summary is not None
    update(ports, summary, FieldEdits(add_keywords=["my own"]))
    undo(ports, root)
    summary = ports.index.summary(path)
    assert summary is not None
    assert (summary.keywords, summary.context) == (("my own",), "")
    root = remember(ports, path)
    update(ports, summary, FieldEdits(context="My own sentence."))
    before = tree_hashes(tmp_path)
    with pytest.raises(SettingsError, match="context of"):
        undo(ports, root)
    assert tree_hashes(tmp_path) == before


def test_what_is_not_there_is_told(tmp_path: Path) -> None:
    ports = open_vault(tmp_path)
    add(ports, NewNote("Text.", title="T"))
    with pytest.raises(NotFoundError):
        undo(ports, "nothing")
    with pytest.raises(SettingsError):
        undo(ports, ports.index.events()[-1].id)
