"""A folder of plain markdown: it remembers what exports wrote, and replaces nothing else."""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from amem_cli.adapters.atomic_write import create_in, replace_in, write_failure
from amem_cli.adapters.note_paths import path_parts
from amem_cli.adapters.open_folder import OpenFolder
from amem_cli.adapters.source_folder import SourceFolder
from amem_cli.core.errors import AmemError, SettingsError, UsageError, WriteConflict
from amem_cli.core.export_port import Written

MANIFEST = ".amem-export.json"
_MAX_MANIFEST = 64 * 1024 * 1024


class ExportFolder:
    """The folder that the user named.

    Args:
        root: made where it is not there.
        vault: the vault's folder, which it must not lie in or hold.

    Raises:
        UsageError: it does.
        SettingsError: it cannot be made or read.
    """

    def __init__(self, root: Path, *, vault: Path) -> None:
        self._root = root.expanduser().absolute()
        resolved = self._root.resolve()
        if resolved == vault or resolved.is_relative_to(vault) or vault.is_relative_to(resolved):
            raise UsageError(
                f"{root} and the vault lie in one another", hint="Name a folder beside the vault."
            )
        try:
            self._root.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise SettingsError(f"cannot make {root}: {error.strerror}") from None
        self._vault = SourceFolder(vault)
        self._before = self._read_manifest()
        self._now: dict[str, str] = {}
        self._folders: dict[str, str] = {}

    def put(self, path: str, content: bytes) -> Written:
        """Write a file, or say that it is so already, or that somebody else's file is there.

        Raises:
            SettingsError: it cannot be written.
        """
        sha = hashlib.sha256(content).hexdigest()
        *folders, name = path_parts(path)
        try:
            with OpenFolder(self._root) as folder:
                for part in folders:
                    folder.make(part)
                    folder.enter(part)
                there = _sha(folder, name)
                if there == sha:
                    self._now[path] = sha
                    return "unchanged"
                if there is not None and there != self._before.get(path):
                    return "kept"
                if there is None:
                    create_in(folder, name, content)
                else:
                    replace_in(folder, name, content, expected=there)
        except (FileExistsError, WriteConflict):
            return "kept"
        except OSError as error:
            raise write_failure(path, error) from None
        self._now[path] = sha
        return "written"

    def finish(self) -> tuple[str, ...]:
        """Remove what former exports wrote and this one did not, and remember what it wrote."""
        removed = []
        for path in sorted(self._before.keys() - self._now.keys()):
            with suppress(OSError, ValueError, AmemError):
                *folders, name = path_parts(path)
                with OpenFolder(self._root) as folder:
                    for part in folders:
                        folder.enter(part)
                    if _sha(folder, name) == self._before[path]:
                        folder.unlink(name)
                        removed.append(path)
        self._write_manifest(self._now)
        return tuple(removed)

    def remember(self) -> None:
        """Keep what was written so far beside what former exports wrote."""
        self._write_manifest(self._before | self._now)

    def vault_files(self) -> tuple[str, ...]:
        """Paths of the files in the vault that are no notes."""
        return self._vault.other_paths

    def read_vault_file(self, path: str) -> bytes | None:
        """One of them; None where it cannot be read or is larger than 50 MiB."""
        return self._vault.read(path)

    def _read_manifest(self) -> dict[str, str]:
        raw = SourceFolder(self._root).read(MANIFEST, _MAX_MANIFEST)
        if raw is None:
            return {}
        try:
            files = json.loads(raw)["files"]
        except (ValueError, KeyError, TypeError, RecursionError):
            return {}
        if not isinstance(files, dict):
            return {}
        return {path: sha for path, sha in files.items() if isinstance(sha, str)}

    def _write_manifest(self, files: Mapping[str, str]) -> None:
        document = {"written_by": "amem export --format markdown", "files": files}
        content = (
            json.dumps(document, ensure_ascii=False, indent=1, sort_keys=True).encode() + b"\n"
        )
        try:
            with OpenFolder(self._root) as folder:
                there = _sha(folder, MANIFEST)
                if there is None:
                    create_in(folder, MANIFEST, content)
                elif there != hashlib.sha256(content).hexdigest():
                    replace_in(folder, MANIFEST, content, expected=there)
        except OSError as error:
            raise write_failure(MANIFEST, error) from None


def _sha(folder: OpenFolder, name: str) -> str | None:
    """SHA-256 of a regular file, None where nothing is there; empty for anything else."""
    try:
        handle = folder.open(name, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    except FileNotFoundError:
        return None
    except OSError:
        return ""
    with os.fdopen(handle, "rb") as stream:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            return ""
        return hashlib.sha256(stream.read()).hexdigest()
