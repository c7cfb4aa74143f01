"""Vaults for tests: real folders, with a clock that the test moves."""

from __future__ import annotations

import hashlib
import itertools
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from amem_cli.index.memory_index import MemoryIndex, VaultPorts
from amem_cli.index.records import NoteSummary
from amem_cli.index.sync import embed_missing, refresh, synchronise
from amem_cli.journal.change_store import ChangeStore
from amem_cli.journal.files import JournalFolder
from amem_cli.memory.outcome import NoteAnalysis, Outcome, ProcessSettings
from amem_cli.memory.plan import ProcessPlan
from amem_cli.memory.process import MemoryProcess
from amem_cli.notes.note import PropertyNames
from amem_cli.vault.file_state import SystemClock
from amem_cli.vault.folder import VaultFolder
from tests.fakes.encoder import FakeEncoder


class SteppingClock(SystemClock):
    """Starts at a fixed moment; every reading is one second later than the one before.

    File times come from the real clock, so the nanoseconds are kept far ahead of them: files count
    as settled and their times as trustworthy. Tokens are unique in the whole test run, as random
    ones would be.
    """

    _made = itertools.count(1)

    def __init__(self) -> None:
        self._moment = datetime(2030, 3, 2, 15, 0, 0, tzinfo=timezone.utc)
        self._last = 0

    def now(self) -> datetime:
        self._moment += timedelta(seconds=1)
        return self._moment

    def set_back(self, *, days: int) -> None:
        """Somebody sets the clock back."""
        self._moment -= timedelta(days=days)

    def time_ns(self) -> int:
        return int(self.now().timestamp() * 1e9)

    def moment(self, after: int) -> int:
        self._last = max(self.time_ns() // 1000, after + 1, self._last + 1)
        return self._last

    def token(self) -> str:
        return f"{next(self._made) % 0x1000000:06x}"


def open_vault(
    root: Path,
    *,
    names: PropertyNames | None = None,
    index: str = "index.db",
    machine: str = "test",
) -> VaultPorts:
    """The folder as a vault on one machine, made one where it is not."""
    state = root / ".amem"
    state.mkdir(parents=True, exist_ok=True)
    vault = VaultFolder(root)
    journal = JournalFolder(state / "journal", machine)
    ports = VaultPorts(
        vault=vault,
        index=MemoryIndex(state / index, refill=lambda: synchronise(ports)),
        open_changes=lambda: ChangeStore(vault, journal),
        journal=journal,
        clock=SteppingClock(),
        names=names or PropertyNames(),
    )
    return ports


def indexed(ports: VaultPorts) -> VaultPorts:
    """The vault with an index of all its notes, by words and by meaning."""
    synchronise(ports)
    embed_missing(ports, FakeEncoder())
    return ports


def memory_process(
    ports: VaultPorts, model: Any = None, *, judge: Any = None, **settings: Any
) -> MemoryProcess:
    """The memory process over the notes as they are now."""
    given = ProcessSettings(**settings)
    return MemoryProcess(indexed(ports), FakeEncoder(), model, given, judge=judge)


def carry_out(
    ports: VaultPorts, path: str, thought: NoteAnalysis, *, review: bool = False
) -> Outcome:
    """Write what was thought of a note, as the memory process does, with no check of it before."""
    with ports.changes.locked():
        content, settings = ports.vault.read(path), ProcessSettings(review=review)
        plan = ProcessPlan(ports, settings, lambda content, note: True, content, thought)
        outcome = plan.draft()
        writes = [write for draft in plan.drafts for write in draft.write()]
        ports.changes.apply(writes, plan.events(), proposed=plan.proposed)
        refresh(ports, [draft.path for draft in plan.drafts])
    return outcome


def summary_of(ports: VaultPorts, path: str) -> NoteSummary:
    """A note as the index has it."""
    summary = ports.index.notes.summary(path)
    assert summary is not None
    return summary


def write_note(root: Path, path: str, text: str) -> Path:
    """Write a note as a person's editor would."""
    full = root / path
    full.parent.mkdir(parents=True, exist_ok=True)
    full.write_bytes(text.encode("utf-8"))
    return full


def hashes_but_trash(root: Path) -> dict[str, str]:
    """The same without what is in the trash."""
    return {path: sha for path, sha in tree_hashes(root).items() if not path.startswith(".trash")}


def tree_hashes(root: Path) -> dict[str, str]:
    """Hash of every file outside the program's own folder, by path."""
    return {
        path.relative_to(root).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(root.rglob("*"))
        if path.is_file() and ".amem" not in path.relative_to(root).parts
    }
