"""The folder of a markdown export: it remembers what exports wrote, and replaces nothing else."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Literal

from amem_cli.errors import AmemError, SettingsError, UsageError, WriteConflict
from amem_cli.exchange.source import SourceFolder, sha_of
from amem_cli.system.files import NO_LINK, NO_WAIT, PLAIN
from amem_cli.system.names import folded
from amem_cli.vault.folder import VaultFolder
from amem_cli.vault.safe_write import create_file, replace_file, sha256, write_failure

Written = Literal["written", "unchanged", "kept"]

MANIFEST = ".amem-export.json"
ANNOUNCED = ".amem-export.part"
_MAX_MANIFEST = 64 * 1024 * 1024


class ExportFolder:
    """The folder that the user named, made if missing; neither it nor the vault contains the other.

    Each file is announced before it is written, so that the next export continues a killed one.

    Attributes:
        vault: the files of the vault, to copy from.
    """

    def __init__(self, root: Path, *, vault: Path) -> None:
        self._root = root.expanduser().absolute()
        resolved = self._root.resolve()
        if resolved.is_relative_to(vault) or vault.is_relative_to(resolved):
            raise UsageError(
                f"{root} and the vault contain one another", hint="Name a folder beside the vault."
            )
        try:
            self._root.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise SettingsError(f"cannot make {root}: {error.strerror}") from None
        self.vault = SourceFolder(vault)
        self._folder = VaultFolder(self._root)
        self._former = self._read_manifest()
        announced = list(self._read_announced())
        self._paths = {*self._former, *(path for path, _ in announced)}
        # If a note was renamed in case alone, its file may be the former one.
        self._shas: dict[str, set[str]] = {}
        for path, sha in (*self._former.items(), *announced):
            self._shas.setdefault(folded(path), set()).add(sha)
        self._written: dict[str, str] = {}

    def put(self, path: str, content: bytes) -> Written:
        """Write a file, unless it is the same already or somebody else's."""
        sha = sha256(content)
        done: Written = "written"
        try:
            existing = sha_of(self._folder, path)
            if existing == sha:
                done = "unchanged"
            elif existing is None:
                self._announce(path, sha)
                self._folder.write(path, content, expected=None)
            elif existing in self._own(path):
                self._announce(path, sha)
                replace_file(self._folder.locate(path), content, expected=existing)
            else:
                return "kept"
        except (FileExistsError, NotADirectoryError, WriteConflict):
            return "kept"
        except OSError as error:
            raise write_failure(path, error) from None
        self._written[path] = sha
        return done

    def finish(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Remove what former exports wrote and this one did not, and remember what it wrote.

        Returns the paths of removed files, and of those that stay because somebody changed them.
        """
        removed, edited = [], []
        spelled = {folded(path): path for path in self._written}
        for path in sorted(self._paths - self._written.keys()):
            with suppress(OSError, ValueError, AmemError):
                existing, place = sha_of(self._folder, path), self._folder.locate(path)
                renamed = spelled.get(folded(path))
                # This export may have written the same file under a name in another case.
                if existing is None or (renamed and place.samefile(self._root / renamed)):
                    continue
                if existing in self._own(path):
                    place.unlink()
                    removed.append(path)
                elif path in self._former:
                    edited.append(path)
        # A killed export may have begun a temporary file and not written into it.
        self._folder.discard_left(self._paths, {sha256(b"")}.union(*self._shas.values()))
        # What stays is reported by each export, as long as it exists.
        self._remember(self._written | {path: self._former[path] for path in edited})
        return tuple(removed), tuple(edited)

    def _own(self, path: str) -> set[str]:
        """Hashes of what exports wrote at a path, or announced before they were killed."""
        return self._shas.get(folded(path), set())

    def _announce(self, path: str, sha: str) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | NO_LINK | NO_WAIT | PLAIN
        try:
            with os.fdopen(os.open(self._root / ANNOUNCED, flags, 0o666), "ab") as file:
                file.write(json.dumps([path, sha]).encode() + b"\n")
        except OSError as error:
            raise write_failure(ANNOUNCED, error) from None

    def _read_announced(self) -> Iterator[tuple[str, str]]:
        """Path and hash of what a killed export was about to write."""
        raw = SourceFolder(self._root).read(ANNOUNCED, _MAX_MANIFEST) or b""
        for line in raw.splitlines():
            with suppress(ValueError, TypeError, RecursionError):
                path, sha = json.loads(line)
                if isinstance(path, str) and isinstance(sha, str):
                    yield path, sha

    def _read_manifest(self) -> dict[str, str]:
        raw = SourceFolder(self._root).read(MANIFEST, _MAX_MANIFEST)
        try:
            files = json.loads(raw or b"")["files"]
            return {path: sha for path, sha in files.items() if isinstance(sha, str)}
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return {}

    def _remember(self, files: Mapping[str, str]) -> None:
        document = {"written_by": "amem export --format markdown", "files": files}
        content = json.dumps(document, ensure_ascii=False, indent=1, sort_keys=True).encode()
        place = self._root / MANIFEST
        try:
            if place.exists():
                replace_file(place, content + b"\n", expected=sha256(place.read_bytes()))
            else:
                create_file(place, content + b"\n")
            (self._root / ANNOUNCED).unlink(missing_ok=True)
        except OSError as error:
            raise write_failure(MANIFEST, error) from None
