"""Copies the files that imported notes show or link to into the vault; nothing is overwritten."""

from __future__ import annotations

import errno
import hashlib
from pathlib import Path

from amem_cli.errors import AmemError, Problem
from amem_cli.exchange.names import FreePaths, folded
from amem_cli.exchange.source import SourceFolder, inner_folder, sha_of
from amem_cli.vault.folder import path_parts, through_link
from amem_cli.vault.safe_write import create_in, write_failure

_MAX_NUMBER = 1000


class AttachmentCopier:
    """Copies other files of a source, each with the first link to it.

    Args:
        source: None if the source has no files.
        root: the vault's folder.

    Attributes:
        copied: (path in the source, path in the vault) of new files.
        problems: those that could not be copied.
    """

    def __init__(
        self, source: SourceFolder | None, root: Path, free: FreePaths, *, dry_run: bool
    ) -> None:
        self._source = source
        self._root = root
        self._free = free
        self._dry_run = dry_run
        self._paths: dict[str, str] = {}
        self._new_shas: dict[str, str] = {}
        self._by_name: dict[str, set[str]] | None = None
        self.copied: list[tuple[str, str]] = []
        self.problems: list[Problem] = []

    def vault_path(self, path: str) -> str:
        """Where a file of the source is in the vault; empty if it could not be copied."""
        if path not in self._paths:
            self._paths[path] = self._copy(path)
        return self._paths[path]

    def has_unique_name(self, path: str) -> bool:
        """Whether no other file of the vault has the name of the one at `path`."""
        if self._by_name is None:
            self._by_name = {}
            existing = SourceFolder(self._root).other_paths
            for other in (*existing, *(new for _, new in self.copied)):
                self._by_name.setdefault(_name(other), set()).add(other)
        return self._by_name.get(_name(path), set()) <= {path}

    def _copy(self, path: str) -> str:
        content = self._source.read(path) if self._source else None
        if content is None:
            message = "cannot be read, or is larger than 50 MiB, and was not copied"
            self.problems.append(Problem(path, 0, message, "Copy it yourself."))
            return ""
        sha = hashlib.sha256(content).hexdigest()
        for number in range(1, _MAX_NUMBER):
            candidate = self._free.other(path, number)
            # In a dry run the file is not there yet; names are compared as macOS and Windows do.
            existing = self._new_shas.get(candidate.casefold()) or self._sha(candidate)
            if existing == sha:
                return candidate
            if existing is not None:
                continue
            try:
                if not self._dry_run:
                    self._create(candidate, content)
            # Somebody else made it meanwhile.
            except FileExistsError:
                continue
            except AmemError as error:
                self.problems.append(Problem(path, 0, error.message, error.hint))
                return ""
            self._new_shas[candidate.casefold()] = sha
            self.copied.append((path, candidate))
            if self._by_name is not None:
                self._by_name.setdefault(_name(candidate), set()).add(candidate)
            return candidate
        self.problems.append(Problem(path, 0, "finds no free name"))
        return ""

    def _sha(self, path: str) -> str | None:
        """SHA-256 of a file in the vault; None if there is none, empty if it is not regular."""
        *folders, name = path_parts(path)
        try:
            with inner_folder(self._root, folders) as folder:
                return sha_of(folder, name)
        except FileNotFoundError:
            return None
        except OSError:
            return ""

    def _create(self, path: str, content: bytes) -> None:
        *folders, name = path_parts(path)
        try:
            with inner_folder(self._root, folders, make=True) as folder:
                create_in(folder, name, content)
        except FileExistsError:
            raise
        except OSError as error:
            # A link below the vault could lead anywhere.
            is_link = error.errno == errno.ELOOP
            raise (through_link(path) if is_link else write_failure(path, error)) from None


def _name(path: str) -> str:
    return folded(path.rpartition("/")[2].strip())
