"""Copies the files that imported notes show or link to; none that is there is touched.

Puts files that are no notes into a vault; nothing that is there is touched.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from amem_cli.errors import AmemError, Problem, SettingsError
from amem_cli.exchange.names import FreePaths, name_of_file
from amem_cli.exchange.source import AttachmentFolder, Source
from amem_cli.exchange.source_markdown import SourceFolder
from amem_cli.vault.dir_handle import OpenFolder
from amem_cli.vault.folder import path_parts, through_link
from amem_cli.vault.safe_write import create_in

MAX_FILE_BYTES = 50 * 1024 * 1024
_MAX_NUMBER = 1000


class ImportedFiles:
    """The files of a source that are no notes, on their way into the vault.

    Attributes:
        copied: (path in the source, path in the vault) of those that are new here.
        problems: those that could not be copied.
    """

    def __init__(
        self, source: Source, folder: AttachmentFolder, free: FreePaths, *, dry_run: bool
    ) -> None:
        self._source = source
        self._folder = folder
        self._free = free
        self._dry_run = dry_run
        self._places: dict[str, str] = {}
        self._given: dict[str, str] = {}
        self._named: dict[str, set[str]] | None = None
        self.copied: list[tuple[str, str]] = []
        self.problems: list[Problem] = []

    def place(self, path: str) -> str:
        """Where a file of the source is in the vault; it is copied with the first link to it.

        Returns:
            Empty where it could not be copied.
        """
        if path not in self._places:
            self._places[path] = self._copy(path)
        return self._places[path]

    def is_only_one(self, place: str) -> bool:
        """Whether no other file of the vault has the name of the one at `place`."""
        if self._named is None:
            self._named = {}
            for path in (*self._folder.paths(), *(path for _, path in self.copied)):
                self._named.setdefault(name_of_file(path), set()).add(path)
        return self._named.get(name_of_file(place), set()) <= {place}

    def _copy(self, path: str) -> str:
        size = self._source.size_of(path)
        if size is not None and size > MAX_FILE_BYTES:
            self._refuse(path, "is larger than 50 MiB and was not copied", "Copy it yourself.")
            return ""
        content = self._source.read_other(path)
        if content is None:
            self._refuse(path, "cannot be read and was not copied")
            return ""
        sha = hashlib.sha256(content).hexdigest()
        for number in range(1, _MAX_NUMBER):
            wanted = self._free.other(path, number)
            there = self._given.get(wanted.casefold()) or self._folder.sha(wanted)
            if there == sha:
                return wanted
            if there is not None:
                continue
            try:
                if not self._dry_run:
                    self._folder.create(wanted, content)
            except FileExistsError:
                continue
            except AmemError as error:
                self._refuse(path, error.message, error.hint)
                return ""
            self._given[wanted.casefold()] = sha
            self.copied.append((path, wanted))
            if self._named is not None:
                self._named.setdefault(name_of_file(wanted), set()).add(wanted)
            return wanted
        self._refuse(path, "finds no free name")
        return ""

    def _refuse(self, path: str, message: str, hint: str = "") -> None:
        self.problems.append(Problem(path, 0, message, hint))


_PIECE = 1024 * 1024


class VaultAttachments:
    """The other files of a vault.

    Args:
        root: the vault's folder.
    """

    def __init__(self, root: Path) -> None:
        self._root = root

    def paths(self) -> tuple[str, ...]:
        """Vault-relative paths of those that are there, hidden ones not."""
        return SourceFolder(self._root).other_paths

    def sha(self, path: str) -> str | None:
        """SHA-256 of the file at a vault-relative path; empty for what is no regular file."""
        *folders, name = path_parts(path)
        try:
            with self._entered(folders, make=False) as folder:
                handle = folder.open(name, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
                with os.fdopen(handle, "rb") as stream:
                    if not stat.S_ISREG(os.fstat(handle).st_mode):
                        return ""
                    digest = hashlib.sha256()
                    while piece := stream.read(_PIECE):
                        digest.update(piece)
                    return digest.hexdigest()
        except FileNotFoundError:
            return None
        except OSError:
            return ""

    def create(self, path: str, content: bytes) -> None:
        """Make a file and the folders that it lies in.

        Raises:
            FileExistsError: something is there already.
            SettingsError, UnsafePath: it cannot be made.
        """
        *folders, name = path_parts(path)
        try:
            with self._entered(folders, make=True) as folder:
                create_in(folder, name, content)
        except FileExistsError:
            raise
        except OSError as error:
            if error.errno == errno.ELOOP:
                raise through_link(path) from None
            raise SettingsError(f"cannot make the folder of {path}: {error.strerror}") from None

    @contextlib.contextmanager
    def _entered(self, folders: list[str], *, make: bool) -> Iterator[OpenFolder]:
        with OpenFolder(self._root) as opened:
            for name in folders:
                if make:
                    opened.make(name)
                opened.enter(name)
            yield opened
