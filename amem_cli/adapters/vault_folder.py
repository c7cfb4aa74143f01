"""The vault's folder of notes: finding, reading and, in one place, writing them."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath

from amem_cli.adapters.atomic_write import (
    TEMPORARY_PREFIX,
    create_file,
    move_file,
    replace_file,
)
from amem_cli.core.errors import NotFoundError, Problem, SettingsError, UnsafePath
from amem_cli.core.filenames import conflict_copy
from amem_cli.core.vault_port import FileContent, FileState

NOTE_SUFFIX = ".md"
MAX_NOTE_BYTES = 2 * 1024 * 1024
TRASH = ".trash"
ABANDONED_NS = 3600 * 10**9
STATE_FOLDER = ".amem"


class VaultFolder:
    """One vault on disk. Every path given or returned is relative to it, with `/`."""

    def __init__(self, root: Path, *, excluded: Sequence[str] = ()) -> None:
        self.root = root.resolve()
        self._excluded = tuple(folder.strip("/") for folder in excluded if folder.strip("/"))

    @property
    def state_folder(self) -> Path:
        """The program's own folder."""
        return self.root / STATE_FOLDER

    def is_excluded(self, path: str) -> bool:
        """True for a path in a folder that the settings leave out."""
        return any(path == folder or path.startswith(folder + "/") for folder in self._excluded)

    def scan(self, problems: list[Problem] | None = None) -> Iterator[FileState]:
        """All notes, in no particular order; what cannot be a note is told in `problems`."""
        found = problems if problems is not None else []
        folders = [""]
        while folders:
            folder = folders.pop()
            try:
                entries = os.scandir(self.root / folder)
            except OSError as error:
                found.append(Problem(folder, 0, f"cannot be read: {error.strerror}"))
                continue
            with entries:
                for entry in entries:
                    path = f"{folder}/{entry.name}" if folder else entry.name
                    if entry.name.startswith(TEMPORARY_PREFIX):
                        self._rescue(entry)
                    if entry.name.startswith(".") or self.is_excluded(path):
                        continue
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(path)
                    elif entry.name.endswith(NOTE_SUFFIX):
                        state = self._entry_state(entry, path, found)
                        if state is not None:
                            yield state

    def _entry_state(
        self, entry: os.DirEntry[str], path: str, problems: list[Problem]
    ) -> FileState | None:
        try:
            path.encode("utf-8")
        except UnicodeEncodeError:
            shown = path.encode("utf-8", "backslashreplace").decode("ascii", "replace")
            problems.append(Problem(shown, 0, "the file name is not UTF-8", "Rename the file."))
            return None
        if entry.is_symlink():
            problems.append(Problem(path, 0, "is a symbolic link and was left out"))
            return None
        if conflict_copy(entry.name):
            problems.append(
                Problem(path, 0, "is a conflict copy", "Merge it into the note and delete it.")
            )
            return None
        try:
            status = entry.stat(follow_symlinks=False)
        except OSError:
            return None
        if not stat.S_ISREG(status.st_mode):
            problems.append(Problem(path, 0, "is not a regular file and was left out"))
            return None
        return _file_state(path, status)

    def locate(self, path: str) -> Path:
        """The absolute path of a note or of a place for one.

        Raises:
            UnsafePath: the path leaves the vault, follows a link, or enters a dot folder.
        """
        pure = PurePosixPath(path)
        odd = "\\" in path or "\0" in path or pure.is_absolute() or not pure.parts
        if odd or any(part.startswith(".") for part in pure.parts) or ":" in pure.parts[0][:2]:
            raise UnsafePath(f"{path!r} is not a place for notes", hint="Name a path in the vault.")
        full = self.root.joinpath(*pure.parts)
        if full.parent.resolve() != full.parent or full.is_symlink():
            raise UnsafePath(f"{path!r} goes through a link", hint="Use the real path.")
        return full

    def exists(self, path: str) -> bool:
        """True where a regular file is at `path`."""
        try:
            return stat.S_ISREG(self.locate(path).lstat().st_mode)
        except (OSError, UnsafePath):
            return False

    def read(self, path: str) -> FileContent:
        """Read one note; never blocks on a FIFO, never follows a link.

        Raises:
            NotFoundError: there is no such regular file.
            UnsafePath: see `locate`.
        """
        flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
        try:
            handle = os.open(self.locate(path), flags | getattr(os, "O_BINARY", 0))
        except OSError as error:
            raise NotFoundError(f"cannot read {path}: {error.strerror}") from None
        with os.fdopen(handle, "rb") as stream:
            status = os.fstat(stream.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise NotFoundError(f"{path} is not a regular file")
            try:
                raw = stream.read(MAX_NOTE_BYTES)
            except OSError as error:
                raise NotFoundError(f"cannot read {path}: {error.strerror}") from None
        return FileContent(_file_state(path, status), raw, status.st_size > MAX_NOTE_BYTES)

    def write(self, path: str, content: bytes, *, expected: str | None) -> None:
        """Write one note: the only function in the program that does.

        Args:
            expected: hash of the version that `content` was made from; None creates the note.

        Raises:
            WriteConflict: the note changed or went away meanwhile; nothing was written.
            FileExistsError: a note to be created is there already.
            SettingsError: the note cannot be written.
        """
        target = self.locate(path)
        if expected is None:
            try:
                target.parent.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise SettingsError(f"cannot make the folder of {path}: {error.strerror}") from None
            create_file(target, content)
            return
        if target.stat(follow_symlinks=False).st_size > MAX_NOTE_BYTES:
            raise SettingsError(f"{path} is larger than 2 MiB", hint="Split the note.")
        replace_file(target, content, expected=expected)

    def move_to_trash(self, path: str) -> str:
        """Move a note to `.trash/`, as Obsidian does.

        Returns:
            Its path there, relative to the vault.
        """
        source = self.locate(path)
        trash = self.root / TRASH
        trash.mkdir(exist_ok=True)
        if trash.is_symlink():
            raise UnsafePath(f"{TRASH} is a link", hint="Replace it by a folder.")
        for number in range(1, 10_000):
            suffix = "" if number == 1 else f" {number}"
            target = trash / f"{source.stem}{suffix}{source.suffix}"
            try:
                # One step: a link and an unlink would delete what an editor saves between them.
                move_file(source, target)
            except FileExistsError:
                continue
            return f"{TRASH}/{target.name}"
        raise SettingsError("the trash is full of notes of this name", hint="Empty .trash/.")

    def _rescue(self, entry: os.DirEntry[str]) -> None:
        """Move what a killed write left behind to the trash: it may be somebody's last save."""
        with suppress(OSError):
            status = entry.stat(follow_symlinks=False)
            if time.time_ns() - status.st_mtime_ns > ABANDONED_NS and stat.S_ISREG(status.st_mode):
                trash = self.root / TRASH
                trash.mkdir(exist_ok=True)
                if trash.is_symlink():
                    return
                Path(entry.path).rename(
                    trash / f"recovered-{entry.name[len(TEMPORARY_PREFIX) :]}.md"
                )


def _file_state(path: str, status: os.stat_result) -> FileState:
    return FileState(path, status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)
