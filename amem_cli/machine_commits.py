"""Collects what the machine changes in a vault, and commits it with git."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from amem_cli.vault_location import STATE_FOLDER

if TYPE_CHECKING:
    from amem_cli.core.changes import NoteWrite
    from amem_cli.core.journal import Event
    from amem_cli.services.commit_batch import CommitBatch


class MachineCommits:
    """The changes of one vault since its last commit; several threads may add to them.

    Args:
        environment: variables, those of git among them.
    """

    def __init__(self, root: Path, environment: Mapping[str, str]) -> None:
        self._root = root
        self._environment = environment
        self._collecting = threading.Lock()
        self._batch: CommitBatch | None = None

    def collect(self, writes: Sequence[NoteWrite], events: Sequence[Event]) -> None:
        """Remember a change that was made whole."""
        from amem_cli.services.commit_batch import CommitBatch

        with self._collecting:
            self._batch = self._batch if self._batch is not None else CommitBatch()
            self._batch.collect(writes, events)

    def commit(self) -> list[str]:
        """Commit what was collected since the last call.

        Returns:
            Notices for the user, one line each.
        """
        with self._collecting:
            batch, self._batch = self._batch, None
        if not batch:
            return []
        from amem_cli.adapters.git_repository import GitRepository
        from amem_cli.adapters.machine_name import machine_name
        from amem_cli.services.commit_batch import commit

        state = self._root / STATE_FOLDER
        journal = (state / "journal").glob(f"*-{machine_name(self._environment)}.jsonl")
        described = sorted(path.relative_to(self._root).as_posix() for path in journal)
        repository = GitRepository(self._root, self._environment)
        return commit(
            batch, repository, [*described, f"{STATE_FOLDER}/review/", f"{STATE_FOLDER}/devices/"]
        )
