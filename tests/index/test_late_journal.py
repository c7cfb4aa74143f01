"""A sync program brings a vault's files in any order: a note may come before its journal lines."""

from __future__ import annotations

import shutil
from pathlib import Path

from amem_cli.editing.add import NewNote, add
from amem_cli.index.draft import NoteDraft, new_event
from amem_cli.index.memory_index import VaultPorts
from amem_cli.index.sync import refresh, synchronise
from amem_cli.journal.provenance import Provenance, provenance
from tests.vaults import memory_process, open_vault

TEXT = "Lamination of croissant dough needs butter at 14 degrees, else it tears.\n"
BETTER = "Why dough tears in lamination."


def think(ports: VaultPorts, path: str) -> None:
    memory_process(ports).run(path, asked=True)


def evolve(ports: VaultPorts, path: str, context: str) -> None:
    """A newer note gave the machine a better context for this one."""
    with ports.changes.locked():
        draft = NoteDraft(ports, ports.vault.read(path))
        assert draft.change({"context": context}, new_event(ports, "evolve"))
        ports.changes.apply(draft.write(), draft.events)
        refresh(ports, [path])


def owned(ports: VaultPorts, path: str) -> Provenance:
    summary = ports.index.notes.summary(path)
    assert summary is not None and summary.id is not None
    return provenance(ports.index.events.read(summary.id))


def send(name: str, source: Path, target: Path) -> None:
    for path in source.glob(name):
        shutil.copy2(path, target / path.relative_to(source))


def test_what_the_machine_wrote_stays_its_own_where_the_journal_comes_later(
    tmp_path: Path,
) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    first = open_vault(here, machine="first")
    path = add(first, NewNote(TEXT, title="Dough"))
    think(first, path)
    evolve(first, path, "Butter tears dough.")
    shutil.copytree(here, there, ignore=shutil.ignore_patterns("index.db*", "*.lock"))
    second = open_vault(there, machine="second")
    synchronise(second)
    assert owned(second, path) == owned(first, path)

    evolve(first, path, BETTER)
    before = owned(first, path)
    assert before.context == BETTER

    for _ in range(100):
        # It is later than anything that the first machine has recorded.
        second.clock.now()
    send("notes/*.md", here, there)
    synchronise(second)
    assert second.index.events.read()[-1].kind == "release"
    send(".amem/journal/*first.jsonl", here, there)
    synchronise(second)
    assert owned(second, path) == before
    send(".amem/journal/*second.jsonl", there, here)
    synchronise(first)
    assert owned(first, path) == before
