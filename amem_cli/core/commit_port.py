"""What committing a batch of changes needs of the repository that the vault may lie in."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol


@dataclass(frozen=True, slots=True)
class CommitReport:
    """What became of a commit.

    Attributes:
        commit: id of the new commit; empty where there is none.
        skipped: why there is none though something was to be committed, one line, or empty.
        left_out: why a path was left out, by vault-relative path.
    """

    commit: str = ""
    skipped: str = ""
    left_out: Mapping[str, str] = field(default_factory=dict)


class Repository(Protocol):
    """The git repository that a vault lies in, if it lies in one."""

    def commit(
        self, paths: Sequence[str], describe: Callable[[frozenset[str]], str]
    ) -> CommitReport:
        """Commit exactly these files as they are on disk; what else the user is doing stays.

        Args:
            paths: vault-relative, with `/`; a file that is gone is removed by the commit. One with
                `/` at its end names the files that a folder holds, or held at the last commit.
            describe: given the paths that differ from the last commit and can be committed, the
                message; an empty one calls the commit off.

        Returns:
            What was done. Nothing here raises: a commit that cannot be made is told.
        """
