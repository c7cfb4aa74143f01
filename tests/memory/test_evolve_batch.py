"""Many notes in one run: nothing is done twice or forgotten, and what cannot go on ends soon."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

from amem_cli.editing.add import NewNote, add
from amem_cli.errors import BudgetSpent, ModelError
from amem_cli.index.memory_index import VaultPorts
from amem_cli.index.sync import synchronise
from amem_cli.memory.batch import EvolveBatch
from amem_cli.memory.process import MemoryProcess
from amem_cli.models.ports import LanguageModel
from tests.fakes.language_model import EchoSchemaModel, ScriptedModel
from tests.vaults import memory_process, open_vault, tree_hashes, write_note


def vault_of(root: Path, count: int) -> VaultPorts:
    """Notes that were there before the program, and came to the index at once."""
    for number in range(count):
        text = f"Walrus {number} dives for razor clams. Razor clams lie in the mud of the bay.\n"
        path = write_note(root, f"n{number:02}.md", text)
        os.utime(path, (1_000_000 + number, 1_000_000 + number))
    return open_vault(root)


def process_of(ports: VaultPorts, model: LanguageModel | None = None) -> MemoryProcess:
    return memory_process(ports, model, trusted=True)


def batch_of(ports: VaultPorts, model: LanguageModel | None = None) -> EvolveBatch:
    process = process_of(ports, model)
    return EvolveBatch(process, ports.index.queue.unprocessed())


def runs(ports: VaultPorts) -> Counter[str]:
    synchronise(ports)
    return Counter(event.path for event in ports.index.events.read() if event.kind == "process")


def test_a_run_that_ends_in_the_middle_is_gone_on_with(tmp_path: Path) -> None:
    ports = vault_of(tmp_path, 9)
    first = batch_of(ports)
    done = first.outcomes()
    assert [next(done).path for _ in range(4)] == [f"n{n:02}.md" for n in range(4)]
    done.close()
    assert first.reached == 4
    second = batch_of(ports)
    assert [outcome.path for outcome in second.outcomes()] == [f"n{n:02}.md" for n in range(4, 9)]
    assert set(runs(ports).values()) == {1} and len(runs(ports)) == 9


def test_two_runs_at_a_time_share_the_notes(tmp_path: Path) -> None:
    ports = vault_of(tmp_path, 6)
    other = open_vault(tmp_path, machine="other")
    mine, theirs = batch_of(ports), batch_of(other)
    first, second = mine.outcomes(), theirs.outcomes()
    paths = [next(first).path, next(second).path, *(each.path for each in first)]
    paths += [each.path for each in second]
    assert sorted(paths) == [f"n{n:02}.md" for n in range(6)]
    assert mine.elsewhere + theirs.elsewhere == 6
    assert set(runs(ports).values()) == {1}


def test_what_a_person_saves_meanwhile_stays_and_is_done_with_the_new_text(tmp_path: Path) -> None:
    ports = vault_of(tmp_path, 3)
    done = batch_of(ports).outcomes()
    next(done)
    note = write_note(tmp_path, "n02.md", "A seal sleeps on the ice.\n")
    os.utime(note, (1_000_000, 1_000_000))
    (tmp_path / "n01.md").unlink()
    gone, edited = done
    assert (gone.path, gone.pending) == ("n01.md", False)
    assert (edited.path, edited.pending) == ("n02.md", False)
    assert note.read_text().endswith("---\nA seal sleeps on the ice.\n")
    assert "n02.md" not in {each.path for each in ports.index.queue.pending()}


def test_a_model_that_dies_in_the_middle_ends_the_run_soon(tmp_path: Path) -> None:
    ports = vault_of(tmp_path, 30)
    living = EchoSchemaModel()

    class Dying:
        name, is_remote, asked = "dying", False, 0

        def answer(self, request: object) -> object:
            self.asked += 1
            if self.asked > 4:
                raise ModelError("nobody answers at the server", hint="Start it.")
            return living.answer(request)  # type: ignore[arg-type]

        def close(self) -> None: ...

    dying = Dying()
    batch = batch_of(ports, dying)  # type: ignore[arg-type]
    outcomes = list(batch.outcomes())
    # It is not asked any more, and the analyzer stands in for it.
    assert len(outcomes) == 30
    assert all(each.metadata.keywords for each in outcomes)
    assert dying.asked < 12
    assert batch.stopped == ("3 notes in a row failed: nobody answers at the server", "Start it.")
    assert [each.failed for each in outcomes[-3:]] == [True] * 3
    # None is forgotten.
    assert {*batch_of(ports).paths} == {each.path for each in outcomes if each.failed}


def test_a_spent_budget_ends_the_run_and_counts_against_no_note(tmp_path: Path) -> None:
    ports = vault_of(tmp_path, 4)
    batch = batch_of(ports, ScriptedModel([BudgetSpent("spent", hint="tomorrow")]))
    assert list(batch.outcomes()) == []
    assert (batch.reached, batch.stopped) == (0, ("spent", "tomorrow"))
    assert ports.index.queue.unprocessed() == [f"n{n:02}.md" for n in range(4)]


def test_a_folder_that_cannot_be_written_ends_the_run(tmp_path: Path) -> None:
    ports = vault_of(tmp_path, 30)
    batch = batch_of(ports)
    # A file stands where the intents are kept.
    (tmp_path / ".amem/intents").write_bytes(b"")
    before = tree_hashes(tmp_path)
    assert len(list(batch.outcomes())) == 3
    assert "3 notes in a row failed" in batch.stopped[0]
    assert tree_hashes(tmp_path) == before


def test_a_named_note_is_gone_through_again(ports: VaultPorts) -> None:
    path = add(ports, NewNote("Walrus.", title="Walrus"))
    for _ in range(2):
        batch = EvolveBatch(process_of(ports), [path], asked=True)
        assert [outcome.path for outcome in batch.outcomes()] == [path]
    assert runs(ports)[path] == 2
