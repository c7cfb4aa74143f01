"""Proposals that wait for a person, one file each, in the vault's own folder."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from amem_cli.adapters.atomic_write import create_file, sync_folder
from amem_cli.adapters.own_folder import make_own_folder, own_files, read_own_file
from amem_cli.core.errors import Problem, SettingsError

if TYPE_CHECKING:
    from amem_cli.core.proposals import Proposal

MAX_BYTES = 256 * 1024


class ReviewFolder:
    """The waiting proposals.

    Args:
        folder: the vault's `.amem/review`.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def waiting(self, problems: list[Problem] | None = None) -> list[Proposal]:
        """All proposals, oldest first; what cannot be read is told in `problems`."""
        found = []
        for path in own_files(self._folder, "*.json"):
            try:
                proposal = _read(path)
                if proposal.id != path.stem:
                    raise ValueError("the id is not the file's name")
                found.append(proposal)
            except (OSError, ValueError, RecursionError) as error:
                if problems is not None:
                    place = f".amem/review/{path.name}"
                    problems.append(Problem(place, 0, f"unreadable proposal: {error}"))
        return found

    def keep(self, proposals: Sequence[Proposal]) -> None:
        """Store proposals; those that are there already stay.

        Raises:
            SettingsError: they cannot be written.
        """
        if not proposals:
            return
        from amem_cli.core.proposals import proposal_record

        try:
            make_own_folder(self._folder)
            for proposal in proposals:
                text = json.dumps(proposal_record(proposal), ensure_ascii=False, indent=2)
                with suppress(FileExistsError):
                    create_file(self._place(proposal.id), (text + "\n").encode())
        except OSError as error:
            raise SettingsError(
                f"cannot keep a proposal: {error.strerror}", hint="Check space and permissions."
            ) from error

    def drop(self, ids: Sequence[str]) -> None:
        """Delete proposals that are decided.

        One that cannot be deleted is no error: the journal knows of the decision.
        """
        if self._folder.is_symlink():
            return
        for name in ids:
            with suppress(OSError):
                self._place(name).unlink()
        if ids:
            sync_folder(self._folder)

    def _place(self, name: str) -> Path:
        if not (name.isascii() and name.isalnum()):
            raise SettingsError(f"{name!r} is no id of a proposal")
        return self._folder / f"{name}.json"


def _read(path: Path) -> Proposal:
    from amem_cli.core.proposals import proposal_from_record

    record = json.loads(read_own_file(path, MAX_BYTES))
    if not isinstance(record, dict):
        raise ValueError("not an object")
    return proposal_from_record(record)
