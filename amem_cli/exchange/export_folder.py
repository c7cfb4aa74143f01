"""The folder of a markdown export: it remembers what exports wrote, and replaces nothing else.

Each file is announced before it is written, so that the next export continues a killed one.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, Literal

from amem_cli.errors import AmemError, SettingsError, UsageError, WriteConflict
from amem_cli.exchange.source import SourceFolder, inner_folder, sha_of
from amem_cli.system.files import NO_WAIT
from amem_cli.system.names import folded
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

Written = Literal["written", "unchanged", "kept"]

MANIFEST = ".amem-export.json"
ANNOUNCED = ".amem-export.part"
_MAX_MANIFEST = 64 * 1024 * 1024


class ExportFolder:
    """The folder that the user named, made if missing; neither it nor the vault contains the other.

    Attributes:
        vault: the files of the vault, to copy from.
    """

    def __init__(self, root: Path, *, vault: Path) -> None:
        self._root = root.expanduser().absolute()
        resolved = self._root.resolve()
        if resolved == vault or resolved.is_relative_to(vault) or vault.is_relative_to(resolved):
            raise UsageError(
                f"{root} and the vault contain one another", hint="Name a folder beside the vault."
            )
        try:
            self._root.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise SettingsError(f"cannot make {root}: {error.strerror}") from None
        self.vault = SourceFolder(vault)
        self._files = SourceFolder(self._root)
        self._former = self._read_manifest()
        self._announced = self._read_announced()
        self._announcements: BinaryIO | None = None
        # If a note was renamed in case alone, its file may be the former one.
        self._shas: dict[str, set[str]] = {}
        announced = ((path, sha) for path, shas in self._announced.items() for sha in shas)
        for path, sha in (*self._former.items(), *announced):
            self._shas.setdefault(folded(path), set()).add(sha)
        self._sweep()
        self._written: dict[str, str] = {}

    def put(self, path: str, content: bytes) -> Written:
        """Write a file, unless it is the same already or somebody else's."""
        sha = hashlib.sha256(content).hexdigest()
        *folders, name = path_parts(path)
        try:
            with inner_folder(self._root, folders, make=True) as folder:
                existing = sha_of(folder, name)
                if existing == sha:
                    self._written[path] = sha
                    return "unchanged"
                # Only bytes that an export wrote may be replaced.
                if existing is not None and existing not in self._own(path):
                    return "kept"
                self._announce(path, sha)
                if existing is None:
                    create_in(folder, name, content)
                else:
                    replace_in(folder, name, content, expected=existing)
        except (FileExistsError, NotADirectoryError, WriteConflict):
            return "kept"
        except OSError as error:
            raise write_failure(path, error) from None
        self._written[path] = sha
        return "written"

    def finish(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Remove what former exports wrote and this one did not, and remember what it wrote.

        Returns the paths of removed files, and of those that stay because somebody changed them.
        """
        removed, edited = [], []
        spelled = {folded(path): self._root / path for path in self._written}
        for path in sorted((self._former.keys() | self._announced.keys()) - self._written.keys()):
            with suppress(OSError, ValueError, AmemError):
                *folders, name = path_parts(path)
                with inner_folder(self._root, folders) as folder:
                    existing = sha_of(folder, name)
                    renamed = spelled.get(folded(path))
                    # This export may have written the same file under a name in another case.
                    if existing is None or (renamed and renamed.samefile(self._root / path)):
                        continue
                    if existing in self._own(path):
                        folder.unlink(name)
                        removed.append(path)
                    elif path in self._former:
                        edited.append(path)
        self._sweep_all()
        # What stays is reported by each export, as long as it exists.
        self._remember(self._written | {path: self._former[path] for path in edited})
        return tuple(removed), tuple(edited)

    def remember(self) -> None:
        """Remember what was written so far beside what former exports wrote."""
        self._remember(self._former | self._written)

    def _own(self, path: str) -> set[str]:
        """Hashes of what exports wrote at a path, or announced before they were killed."""
        return self._shas.get(folded(path), set())

    def _announce(self, path: str, sha: str) -> None:
        if self._announcements is None:
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | NO_WAIT
            try:
                with OpenFolder(self._root) as folder:
                    handle = folder.open(ANNOUNCED, flags, 0o666)
            except OSError as error:
                raise write_failure(ANNOUNCED, error) from None
            # It stays open while files are written.
            self._announcements = os.fdopen(handle, "ab", buffering=0)
        self._announcements.write(json.dumps([path, sha]).encode() + b"\n")

    def _read_announced(self) -> dict[str, list[str]]:
        """What a killed export was about to write: hashes by path, in the order of writing."""
        raw = self._files.read(ANNOUNCED, _MAX_MANIFEST) or b""
        announced: dict[str, list[str]] = {}
        for line in raw.splitlines():
            with suppress(ValueError, TypeError, RecursionError):
                path, sha = json.loads(line)
                if isinstance(path, str) and isinstance(sha, str):
                    # The last one must be at the end.
                    announced[path] = [*announced.pop(path, ()), sha]
        return announced

    def _sweep(self) -> None:
        """Delete the temporary file of an export that was killed while writing one."""
        if not self._announced:
            return
        last = next(reversed(self._announced))
        with suppress(OSError, AmemError):
            *folders, name = path_parts(last)
            for inner in {(), tuple(folders)}:
                with inner_folder(self._root, inner) as folder:
                    # What an exchange took out may be somebody's text, and stays.
                    is_partial = sha_of(folder, name) not in self._announced[last]
                    for temporary in _abandoned(folder):
                        if is_partial or sha_of(folder, temporary) in self._own(last):
                            folder.unlink(temporary)

    def _sweep_all(self) -> None:
        """Delete what killed exports left; one may still have been running at the first sweep."""
        known = {sha for shas in self._announced.values() for sha in shas}
        known |= {*self._former.values(), hashlib.sha256(b"").hexdigest()}
        places: set[tuple[str, ...]] = set()
        for path in self._announced:
            with suppress(AmemError):
                places |= {(), tuple(path_parts(path)[:-1])}
        for folders in places:
            with suppress(OSError), inner_folder(self._root, folders) as folder:
                for temporary in _abandoned(folder):
                    if sha_of(folder, temporary) in known:
                        folder.unlink(temporary)

    def _read_manifest(self) -> dict[str, str]:
        raw = self._files.read(MANIFEST, _MAX_MANIFEST)
        try:
            files = json.loads(raw or b"")["files"]
            return {path: sha for path, sha in files.items() if isinstance(sha, str)}
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return {}

    def _remember(self, files: Mapping[str, str]) -> None:
        document = {"written_by": "amem export --format markdown", "files": files}
        text = json.dumps(document, ensure_ascii=False, indent=1, sort_keys=True)
        content = text.encode() + b"\n"
        try:
            with OpenFolder(self._root) as folder:
                existing = sha_of(folder, MANIFEST)
                if existing is None:
                    create_in(folder, MANIFEST, content)
                elif existing != hashlib.sha256(content).hexdigest():
                    replace_in(folder, MANIFEST, content, expected=existing)
        except OSError as error:
            raise write_failure(MANIFEST, error) from None
        if self._announcements is not None:
            self._announcements.close()
            self._announcements = None
        with suppress(OSError), OpenFolder(self._root) as folder:
            folder.unlink(ANNOUNCED)


def _abandoned(folder: OpenFolder) -> Iterator[str]:
    """Temporary files whose writers are gone."""
    with folder.entries() as entries:
        names = [entry.name for entry in entries]
    for name in names:
        temporary = name.startswith(TEMPORARY_PREFIX) and name.endswith(TEMPORARY_SUFFIX)
        if temporary and is_abandoned(name, folder.lstat(name).st_mtime_ns, time.time_ns()):
            yield name
