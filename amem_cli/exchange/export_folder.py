"""A folder of plain markdown: it remembers what exports wrote, and replaces nothing else.

What an export is about to write is noted down first, so that one that was killed is gone on with.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
import time
import unicodedata
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from amem_cli.errors import AmemError, SettingsError, UsageError, WriteConflict
from amem_cli.exchange.export_markdown import Written
from amem_cli.exchange.source_markdown import SourceFolder
from amem_cli.vault.dir_handle import OpenFolder
from amem_cli.vault.folder import path_parts
from amem_cli.vault.safe_write import (
    TEMPORARY_PREFIX,
    TEMPORARY_SUFFIX,
    create_in,
    is_abandoned,
    replace_in,
    write_failure,
)

MANIFEST = ".amem-export.json"
AHEAD = ".amem-export.part"
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
        self._ahead = self._read_ahead()
        self._noting: BinaryIO | None = None
        self._shas: dict[str, set[str]] | None = None
        self._spelled: dict[str, str] | None = None
        self._sweep()
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
                if there is not None and there not in self._own(path):
                    return "kept"
                self._note(path, sha)
                if there is None:
                    create_in(folder, name, content)
                else:
                    replace_in(folder, name, content, expected=there)
        except (FileExistsError, NotADirectoryError, WriteConflict):
            return "kept"
        except OSError as error:
            raise write_failure(path, error) from None
        self._now[path] = sha
        return "written"

    def finish(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Remove what former exports wrote and this one did not, and remember what it wrote.

        Returns:
            Paths of the files that were removed, and of those that somebody changed and that stay.
        """
        removed, edited = [], []
        for path in sorted((self._before.keys() | self._ahead.keys()) - self._now.keys()):
            with suppress(OSError, ValueError, AmemError):
                *folders, name = path_parts(path)
                with OpenFolder(self._root) as folder:
                    for part in folders:
                        folder.enter(part)
                    there = _sha(folder, name)
                    if there is not None and self._is_renamed(path):
                        continue
                    if there in self._own(path):
                        folder.unlink(name)
                        removed.append(path)
                    elif there is not None and path in self._before:
                        edited.append(path)
        self._sweep_all()
        # What stays is told each time, for as long as it is there.
        self._remember(self._now | {path: self._before[path] for path in edited})
        return tuple(removed), tuple(edited)

    def remember(self) -> None:
        """Keep what was written so far beside what former exports wrote."""
        self._remember(self._before | self._now)

    def vault_files(self) -> tuple[str, ...]:
        """Paths of the files in the vault that are no notes."""
        return self._vault.other_paths

    def read_vault_file(self, path: str) -> bytes | None:
        """One of them; None where it cannot be read or is larger than 50 MiB."""
        return self._vault.read(path)

    def _own(self, path: str) -> set[str]:
        """Hashes of what exports wrote at a path, or were about to when they were killed.

        Case is no matter: where a note was renamed by it alone, its file may be the former one.
        """
        if self._shas is None:
            self._shas = {}
            written = [
                *self._before.items(),
                *((p, sha) for p in self._ahead for sha in self._ahead[p]),
            ]
            for each, sha in written:
                self._shas.setdefault(_folded(each), set()).add(sha)
        return self._shas.get(_folded(path), set())

    def _is_renamed(self, path: str) -> bool:
        """Whether the file is one that this export wrote by a name that differs in case alone."""
        if self._spelled is None:
            self._spelled = {_folded(each): each for each in self._now}
        now = self._spelled.get(_folded(path))
        return now is not None and (self._root / now).samefile(self._root / path)

    def _note(self, path: str, sha: str) -> None:
        """Note what is about to be written, so that it is known for an export's after a kill."""
        if self._noting is None:
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_NONBLOCK", 0)
            try:
                with OpenFolder(self._root) as folder:
                    handle = folder.open(AHEAD, flags, 0o666)
            except OSError as error:
                raise write_failure(AHEAD, error) from None
            # It stays open for as long as files are written.
            self._noting = os.fdopen(handle, "ab", buffering=0)
        self._noting.write(json.dumps([path, sha]).encode() + b"\n")

    def _read_ahead(self) -> dict[str, list[str]]:
        """What an export that was killed was about to write: hashes by path, as they were noted."""
        raw = SourceFolder(self._root).read(AHEAD, _MAX_MANIFEST) or b""
        found: dict[str, list[str]] = {}
        for line in raw.splitlines():
            with suppress(ValueError, TypeError, RecursionError):
                path, sha = json.loads(line)
                if isinstance(path, str) and isinstance(sha, str):
                    # What was noted last comes to stand at the end.
                    found[path] = [*found.pop(path, ()), sha]
        return found

    def _sweep(self) -> None:
        """Delete the temporary file of an export that was killed while it wrote one."""
        if not self._ahead:
            return
        last = next(reversed(self._ahead))
        with suppress(OSError, AmemError):
            *folders, name = path_parts(last)
            for inner in {(), tuple(folders)}:
                with OpenFolder(self._root) as folder:
                    for part in inner:
                        folder.enter(part)
                    # A save that came out of an exchange is somebody's text, and stays.
                    is_partial = _sha(folder, name) not in self._ahead[last]
                    for temporary in _abandoned(folder):
                        if is_partial or _sha(folder, temporary) in self._own(last):
                            folder.unlink(temporary)

    def _sweep_all(self) -> None:
        """Delete what killed exports left; one may have been dying yet at the first sweep."""
        known = {sha for shas in self._ahead.values() for sha in shas} | set(self._before.values())
        known.add(hashlib.sha256(b"").hexdigest())
        inner: set[tuple[str, ...]] = set()
        for path in self._ahead:
            with suppress(AmemError):
                inner |= {(), tuple(path_parts(path)[:-1])}
        for folders in inner:
            with suppress(OSError), OpenFolder(self._root) as folder:
                for part in folders:
                    folder.enter(part)
                for temporary in _abandoned(folder):
                    if _sha(folder, temporary) in known:
                        folder.unlink(temporary)

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

    def _remember(self, files: Mapping[str, str]) -> None:
        self._write_manifest(files)
        if self._noting is not None:
            self._noting.close()
            self._noting = None
        with suppress(OSError), OpenFolder(self._root) as folder:
            folder.unlink(AHEAD)

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


def _folded(path: str) -> str:
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", path).casefold())


def _abandoned(folder: OpenFolder) -> list[str]:
    """Temporary files whose writers are gone."""
    with folder.entries() as entries:
        names = [entry.name for entry in entries if entry.name.startswith(TEMPORARY_PREFIX)]
    return [
        name
        for name in names
        if name.endswith(TEMPORARY_SUFFIX)
        and is_abandoned(name, folder.lstat(name).st_mtime_ns, time.time_ns())
    ]


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
