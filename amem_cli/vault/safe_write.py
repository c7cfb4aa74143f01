"""Replaces or creates one file so that nobody's text is lost: guarded, atomic, durable.

A save in place takes another program several steps, so files that are open for writing wait.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import BinaryIO

from amem_cli.errors import NoteInUse, SettingsError, WriteConflict
from amem_cli.system.files import NO_WAIT, is_held, take_attributes
from amem_cli.system.leases import is_being_written, wait_for_writers
from amem_cli.system.processes import is_running, numbering
from amem_cli.vault.dir_handle import OpenFolder

TEMPORARY_PREFIX = ".amem-"
TEMPORARY_SUFFIX = ".tmp"
# For a writer on another machine, since nobody here can ask whether it still runs.
ABANDONED_NS = 3600 * 10**9

_WRITER = re.compile(r"\.amem-([0-9a-f]{8})-([0-9a-f]{1,12})-[0-9a-f]+\.tmp")


def temporary_name(mark: str) -> str:
    """A name for a file that is being written, which tells by whom.

    Args:
        mark: hexadecimal digits that tell it from others of this process.
    """
    return f"{TEMPORARY_PREFIX}{_machine()}-{os.getpid():x}-{mark}{TEMPORARY_SUFFIX}"


def is_abandoned(name: str, modified_ns: int, now_ns: int) -> bool:
    """Whether a temporary file's writer is gone, or has had time enough in any case."""
    writer = _WRITER.fullmatch(name)
    if writer and writer[1] == _machine() and not is_running(int(writer[2], 16)):
        return True
    return now_ns - modified_ns > ABANDONED_NS


@cache
def _machine() -> str:
    """Eight digits that tell this machine's processes from those that share its folders."""
    import zlib

    return f"{zlib.crc32(numbering().encode()):08x}"


# An editor would have to save once in each of these instants.
_PUT_BACK_TRIES = 100
_LONGEST_SAVE_S = 0.2


def sha256(data: bytes) -> str:
    import hashlib

    return hashlib.sha256(data).hexdigest()


def replace_file(path: Path, content: bytes, *, expected: str) -> None:
    """Put `content` in place of a file that still has the hash `expected`, as `replace_in`."""
    with _opened(path) as folder:
        replace_in(folder, path.name, content, expected=expected)


def create_file(path: Path, content: bytes) -> None:
    """Create a file that does not exist yet, as `create_in`; it appears whole."""
    with _opened(path) as folder:
        create_in(folder, path.name, content)


def replace_in(
    folder: OpenFolder, name: str, content: bytes, *, expected: str, modified_ns: int = 0
) -> None:
    """Put `content` in place of a regular file that still has the hash `expected`.

    The new file is exchanged with the old one, and what came out is compared again, so that a save
    that happens between the check and the exchange is put back and not lost. A copy of it stays in
    a temporary file, since an editor may have read what was there meanwhile and save that.

    Args:
        modified_ns: the time that the file gets; 0 for now.

    Raises:
        WriteConflict: the file is gone, is not the one expected or is being written; it is as it
            was found.
        SettingsError: the file cannot be written (permission, link, disk).
    """
    temporary = ""
    patience_s = 0.0
    # These may be deleted; anything else in the temporary file is somebody's save.
    known = {expected, sha256(content)}
    try:
        # A link or a pipe is reported as what it is, and is not opened.
        _refuse_odd_file(name, folder.lstat(name))
        source = folder.open(name, os.O_RDONLY | NO_WAIT)
        with os.fdopen(source, "rb") as stream:
            _refuse_odd_file(name, os.fstat(source))
            _require(name, stream.read(), expected)
            temporary = _write_temporary(folder, content, like=source)
            _set_modified(folder, temporary, modified_ns)
        patience_s = _patience(folder, temporary)
        # Once more, as late as possible: without an exchange nothing is compared after this.
        _require(name, _read_settled(folder, name, patience_s), expected)
        if folder.exchange(temporary, name):
            try:
                _require(name, _read_settled(folder, temporary, patience_s), expected)
            except BaseException:
                # Also if the program is interrupted: what came out may be the only copy of a save.
                placed = sha256(content)
                known |= _put_back(folder, temporary, name, placed=placed, patience_s=patience_s)
                raise
        else:
            folder.replace(temporary, name)
        folder.sync()
    except FileNotFoundError:
        raise WriteConflict(f"{name} was moved or deleted meanwhile") from None
    except OSError as error:
        if is_held(error):
            raise _in_use(name, "is held open by another program") from error
        raise write_failure(name, error) from error
    finally:
        _discard(folder, temporary, known, patience_s)


def create_in(folder: OpenFolder, name: str, content: bytes, *, modified_ns: int = 0) -> None:
    """Create a file that does not exist yet; it appears whole.

    Args:
        modified_ns: the time that the file gets; 0 for now.

    Raises:
        FileExistsError: the name is taken.
        SettingsError: the file cannot be written.
    """
    temporary = ""
    try:
        temporary = _write_temporary(folder, content)
        _set_modified(folder, temporary, modified_ns)
        folder.name_own(temporary, name)
        temporary = ""
        folder.sync()
    except FileExistsError:
        raise
    except OSError as error:
        raise write_failure(name, error) from error
    finally:
        if temporary:
            with suppress(OSError):
                folder.unlink(temporary)


def require_writable(folder: OpenFolder, name: str, path: str) -> None:
    """Refuse a note that `replace_in` would refuse for what its file or folder is.

    Args:
        path: how the note is named in messages.

    Raises:
        SettingsError: the file is not a regular one, hard-linked or read-only, or its folder is.
        OSError: there is no such file.
    """
    _refuse_odd_file(path, folder.lstat(name))
    if not folder.is_writable():
        raise SettingsError(
            f"the folder of {path} is read-only", hint="Allow writing in it, if amem may."
        )


def write_failure(name: str, error: OSError) -> SettingsError:
    """What to say if the system does not let a file be written."""
    hint = {
        errno.ENOSPC: "The disk is full; free some space and try again.",
        errno.EDQUOT: "Your quota on this disk is used up; free some space and try again.",
        errno.EROFS: "The file system is read-only.",
        errno.EACCES: "Check the permissions of the folder.",
        errno.EPERM: "Check the permissions of the file and the folder.",
        errno.ENAMETOOLONG: "Give it a shorter name.",
        errno.ENOENT: "Name a file in a folder that is there.",
        errno.EISDIR: "Name a file in a folder that is there.",
        errno.EMFILE: "Too many files are open; raise the limit (ulimit -n).",
        errno.EFBIG: "The limit on a file's size is reached (ulimit -f).",
    }.get(error.errno or 0, "Check the disk and the permissions of the folder.")
    return SettingsError(f"cannot write {name}: {error.strerror or error}", hint=hint)


def sync_folder(folder: Path) -> None:
    """Make a rename in `folder` durable, if the system can."""
    with suppress(OSError), OpenFolder(folder) as opened:
        opened.sync()


def _opened(path: Path) -> OpenFolder:
    try:
        return OpenFolder(path.parent)
    except OSError as error:
        raise write_failure(path.name, error) from error


def _put_back(
    folder: OpenFolder, came_out: str, name: str, *, placed: str, patience_s: float
) -> set[str]:
    """Put back what came out of an exchange, and keep a copy of it.

    If somebody saves again before it is back, that newer save is put in its place.

    Returns:
        Hashes of what there is a copy of now.
    """
    kept: set[str] = set()
    for _ in range(_PUT_BACK_TRIES):
        back = ""
        with (
            suppress(OSError, SettingsError, WriteConflict),
            _opened_settled(folder, came_out, patience_s) as save,
        ):
            raw = save.read()
            back = sha256(raw)
            if back not in kept:
                _write_temporary(folder, raw, like=save.fileno(), durable=False)
                kept.add(back)
        folder.exchange(came_out, name)
        if _hash_of(folder, came_out, patience_s) in (placed, None):
            break
        placed = back
    return kept


def _hash_of(folder: OpenFolder, name: str, patience_s: float) -> str | None:
    """None for what cannot be read, nothing that is a hash for what is still being written."""
    try:
        return sha256(_read_settled(folder, name, patience_s))
    except WriteConflict:
        return "being written"
    except (OSError, SettingsError):
        return None


def _discard(folder: OpenFolder, temporary: str, known: set[str], patience_s: float) -> None:
    """Delete a temporary file, unless it came to hold a save of somebody else's.

    What is left then a later scan moves to the trash.
    """
    if temporary and _hash_of(folder, temporary, patience_s) in known:
        with suppress(OSError):
            folder.unlink(temporary)


def _write_temporary(
    folder: OpenFolder, content: bytes, *, like: int | None = None, durable: bool = True
) -> str:
    """Write a file under a name that no scan takes for a note's; returns the name.

    Args:
        like: handle of the file whose mode, owner and attributes the new one gets.
        durable: wait until the disk has it.
    """
    import secrets

    name = temporary_name(secrets.token_hex(6))
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    # A new note follows the umask; a new version stays closed until it has the old one's mode.
    handle = folder.open(name, flags, 0o666 if like is None else 0o600)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
            stream.flush()
            if like is not None:
                take_attributes(handle, like)
            # Before it takes the note's place, or a power loss could cost the note its text.
            if durable:
                os.fsync(handle)
    except BaseException:
        with suppress(OSError):
            folder.unlink(name)
        raise
    return name


def _set_modified(folder: OpenFolder, temporary: str, modified_ns: int) -> None:
    if modified_ns:
        # Only a convenience: a file system that has no such time must not keep the note from it.
        with suppress(OSError, OverflowError, NotImplementedError):
            folder.set_modified(temporary, modified_ns)


def _patience(folder: OpenFolder, own: str) -> float:
    """How many seconds to wait for somebody who writes; none if nothing reveals writers."""
    handle = folder.open(own, os.O_RDONLY)
    try:
        return 0.0 if is_being_written(handle) else _LONGEST_SAVE_S
    finally:
        os.close(handle)


@contextmanager
def _opened_settled(folder: OpenFolder, name: str, patience_s: float) -> Iterator[BinaryIO]:
    """A regular file to be read, once nobody writes in it any more."""
    handle = folder.open(name, os.O_RDONLY | NO_WAIT)
    with os.fdopen(handle, "rb") as stream:
        _refuse_odd_file(name, os.fstat(handle))
        if patience_s and not wait_for_writers(handle, patience_s):
            raise _in_use(name, "is being written by another program")
        yield stream


def _in_use(name: str, how: str) -> NoteInUse:
    return NoteInUse(f"{name} {how}", hint="Close it there, or try again in a moment.")


def _read_settled(folder: OpenFolder, name: str, patience_s: float) -> bytes:
    with _opened_settled(folder, name, patience_s) as stream:
        return stream.read()


def _require(name: str, raw: bytes, expected: str) -> None:
    if sha256(raw) != expected:
        raise WriteConflict(f"{name} changed meanwhile")


def _refuse_odd_file(name: str, status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise SettingsError(
            f"{name} is not a regular file", hint="amem does not write through links."
        )
    if status.st_nlink > 1:
        raise SettingsError(
            f"{name} is hard-linked elsewhere",
            hint="Writing would split the link; make a separate copy first.",
        )
    if not status.st_mode & stat.S_IWUSR:
        raise SettingsError(f"{name} is read-only", hint="Allow writing it, if amem may.")
