"""Puts files that are no notes into a vault; nothing that is there is touched."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from amem_cli.adapters.atomic_write import create_in
from amem_cli.adapters.note_paths import path_parts, through_link
from amem_cli.adapters.open_folder import OpenFolder
from amem_cli.adapters.source_folder import SourceFolder
from amem_cli.core.errors import SettingsError

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
