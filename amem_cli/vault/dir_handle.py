"""A folder held open, so that no link put in its place can lead a write astray."""

from __future__ import annotations

import errno
import os
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from amem_cli.errors import SettingsError
from amem_cli.system.files import FOLDER, NO_LINK, NO_WAIT, PLAIN, is_link, patiently
from amem_cli.system.names import folded

_BY_HANDLE = (
    {os.open, os.stat, os.unlink, os.rename, os.mkdir, os.rmdir, os.link} <= os.supports_dir_fd
    and os.scandir in os.supports_fd
    and hasattr(os, "O_NOFOLLOW")
    and hasattr(os, "O_DIRECTORY")
)
# What a file system without hard links may answer.
_UNSUPPORTED = (errno.EPERM, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP)
_NO_SECOND_NAME = (*_UNSUPPORTED, errno.EMLINK, errno.EINVAL)
# Flags of renameat2, from <linux/fs.h>; Python has no names for them.
_RENAME_NOREPLACE = 1
_RENAME_EXCHANGE = 2


class OpenFolder:
    """A folder that stays the same one even if its path comes to lead elsewhere.

    If the system knows no handles of folders, names are joined to the path instead.

    Args:
        path: where the folder is; a link here is followed, links below are not.

    Raises:
        OSError: it cannot be opened, or is not a folder.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._handle: int | None = None
        if _BY_HANDLE:
            self._handle = os.open(path, os.O_RDONLY | FOLDER | PLAIN)
        elif not stat.S_ISDIR(path.stat().st_mode):
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(path))

    def __enter__(self) -> OpenFolder:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None

    def enter(self, name: str) -> None:
        """Go down into a folder in this one.

        Raises:
            OSError: it is not there, is not a folder, or is a link (ELOOP).
        """
        # Only for a clear error: a link that is put there after this is refused by O_NOFOLLOW.
        if self.is_link(name):
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), name)
        if self._handle is None:
            inner = OpenFolder(self._path / name)
            self._path = inner._path
            return
        flags = os.O_RDONLY | FOLDER | NO_LINK | PLAIN
        handle = os.open(name, flags, dir_fd=self._handle)
        os.close(self._handle)
        self._handle, self._path = handle, self._path / name

    def is_link(self, name: str) -> bool:
        """True if the name leads elsewhere."""
        try:
            return is_link(self.lstat(name))
        except FileNotFoundError:
            return False

    def is_writable(self) -> bool:
        """False if the system would not let this user make files here."""
        place = self._path if self._handle is None else "."
        return os.access(place, os.W_OK | os.X_OK, dir_fd=self._handle)

    def lstat(self, name: str) -> os.stat_result:
        """What the system says of a name, of a link itself."""
        return os.stat(self._place(name), dir_fd=self._handle, follow_symlinks=False)

    def set_modified(self, name: str, modified_ns: int) -> None:
        """Give a file, or a link itself, the time of its last change."""
        times = (modified_ns, modified_ns)
        os.utime(self._place(name), ns=times, dir_fd=self._handle, follow_symlinks=False)

    def open(self, name: str, flags: int, mode: int = 0o600) -> int:
        """Open a file of this folder; a link is refused."""
        return os.open(self._place(name), flags | PLAIN | NO_LINK, mode, dir_fd=self._handle)

    def make(self, name: str) -> None:
        """Make a folder in this one if there is none."""
        with suppress(FileExistsError):
            os.mkdir(self._place(name), dir_fd=self._handle)

    def unlink(self, name: str) -> None:
        patiently(lambda: os.unlink(self._place(name), dir_fd=self._handle))

    def remove_folder(self, name: str) -> None:
        os.rmdir(self._place(name), dir_fd=self._handle)

    def entries(self) -> Any:
        """An iterator of `os.DirEntry`, to be used as a context."""
        return os.scandir(self._path if self._handle is None else self._handle)

    def replace(self, source: str, target: str) -> None:
        """Give a file another name; a file of that name is gone."""
        self._replace(source, self, target)

    def exchange(self, one: str, other: str) -> bool:
        """Exchange two names in one step; False if the system cannot."""
        return _rename2(self, one, self, other, _RENAME_EXCHANGE)

    def name_own(self, temporary: str, name: str) -> None:
        """Give a file that nobody else knows its name; the name must be free.

        Raises:
            FileExistsError: the name is taken.
            OSError: the file cannot be named so.
        """
        if self._moved_if_free(temporary, self, name):
            return
        places, handle = (self._place(temporary), self._place(name)), self._handle
        try:
            os.link(*places, src_dir_fd=handle, dst_dir_fd=handle, follow_symlinks=False)
        except OSError as error:
            if error.errno not in _NO_SECOND_NAME:
                raise
            self._claim_and_move(temporary, self, name)
        else:
            # The file has its name, whatever becomes of the other one.
            with suppress(OSError):
                self.unlink(temporary)

    def move(self, source: str, to: OpenFolder, target: str) -> None:
        """Move a file to a name that is free, in one step if the system can.

        Raises:
            FileExistsError: the name is taken.
            OSError: the file cannot be moved.
        """
        if self._is_one(source, to, target):
            self._replace(source, to, target)
        elif not self._moved_if_free(source, to, target):
            self._claim_and_move(source, to, target)

    def _is_one(self, source: str, to: OpenFolder, target: str) -> bool:
        """Whether the disk finds one file by two spellings of its name."""
        if source == target or folded(source) != folded(target):
            return False
        try:
            one, other = self.lstat(source), to.lstat(target)
        except OSError:
            return False
        # Two hard links are two names, of which a move would leave both.
        return os.path.samestat(one, other) and one.st_nlink == 1

    def _moved_if_free(self, source: str, to: OpenFolder, target: str) -> bool:
        """Move a file in one step to a name that is free; False if the system cannot."""
        if sys.platform == "win32":
            # Refuses a name that is taken.
            patiently(lambda: (self._path / source).rename(to._path / target))
            return True
        return _rename2(self, source, to, target, _RENAME_NOREPLACE)

    def _claim_and_move(self, source: str, to: OpenFolder, target: str) -> None:
        # An empty file claims the name first, so that the move replaces nobody's note.
        os.close(to.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL))
        try:
            self._replace(source, to, target)
        except OSError:
            to.unlink(target)
            raise

    def _replace(self, source: str, to: OpenFolder, target: str) -> None:
        places = self._place(source), to._place(target)
        handles = self._handle, to._handle
        patiently(lambda: os.replace(*places, src_dir_fd=handles[0], dst_dir_fd=handles[1]))

    def sync(self) -> None:
        """Make renames in this folder durable, if the system can."""
        if self._handle is not None:
            with suppress(OSError):
                os.fsync(self._handle)

    def _place(self, name: str) -> str:
        return str(self._path / name) if self._handle is None else name


@cache
def _renameat2() -> Callable[..., int] | None:
    if not sys.platform.startswith("linux"):
        return None
    import ctypes

    try:
        call: Callable[..., int] = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError):
        return None
    return call


def _rename2(
    source: OpenFolder, source_name: str, target: OpenFolder, target_name: str, flags: int
) -> bool:
    """Rename with flags; False if the system or file system has no such call."""
    call = _renameat2()
    if call is None or source._handle is None or target._handle is None:
        return False
    names = os.fsencode(source_name), os.fsencode(target_name)
    if call(source._handle, names[0], target._handle, names[1], flags) == 0:
        return True
    import ctypes

    code = ctypes.get_errno()
    # An old kernel, or a file system that does not know the flag.
    if code in (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP):
        return False
    raise OSError(code, os.strerror(code), target_name)


def own_files(folder: Path, pattern: str) -> Iterator[Path]:
    """Regular files of one of the program's own folders, by name; none if it is a link."""
    if folder.is_symlink() or not folder.is_dir():
        return
    for path in sorted(folder.glob(pattern)):
        if not path.is_symlink() and path.is_file():
            yield path


def make_own_folder(folder: Path) -> None:
    """Make one of the program's own folders if it is missing.

    Raises:
        SettingsError: it is a link, and would lead what is written elsewhere.
        OSError: it cannot be made.
    """
    if folder.is_symlink():
        raise SettingsError(f"{folder.name} in .amem is a link", hint="Replace it by a folder.")
    # Not its parents: a vault that was moved away is not begun anew in its former place.
    folder.mkdir(exist_ok=True)


def read_own_file(path: Path, limit: int) -> bytes:
    """Read a file of the program's own, following no link and waiting for no pipe.

    Raises:
        OSError: it cannot be read.
        ValueError: it is not a regular file, or is larger than `limit` bytes.
    """
    handle = os.open(path, os.O_RDONLY | NO_LINK | NO_WAIT | PLAIN)
    with os.fdopen(handle, "rb") as stream:
        if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
            raise ValueError("it is not a regular file")
        raw = stream.read(limit + 1)
    if len(raw) > limit:
        raise ValueError("the file is too large")
    return raw
