"""The vault's folder of notes: finding, reading and, in one place, writing them."""

from __future__ import annotations

import errno
import os
import re
import stat
import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from copy import copy
from functools import cached_property
from pathlib import Path, PurePosixPath

from amem_cli.errors import NotFoundError, Problem, SettingsError, UnsafePath, WriteConflict
from amem_cli.notes.canvas import ENDING as CANVAS_ENDING
from amem_cli.notes.names import conflict_copy, with_suffix
from amem_cli.settings import STATE_FOLDER
from amem_cli.system.files import LISTS_INODES, NO_WAIT, is_junction
from amem_cli.system.names import composed, folded, folds_names, is_possible_here
from amem_cli.vault.dir_handle import OpenFolder, own_files
from amem_cli.vault.file_state import FileContent, FileState
from amem_cli.vault.safe_write import (
    TEMPORARY_PREFIX,
    create_in,
    is_abandoned,
    replace_in,
    require_writable,
    sha256,
    write_failure,
)

_DRIVE = re.compile(r"[A-Za-z]?:")


def shown_path(path: str) -> str:
    """The path as valid Unicode; other bytes are shown as escapes."""
    return path.encode("utf-8", "backslashreplace").decode("ascii", "replace")


def path_parts(path: str) -> tuple[str, ...]:
    """The names that a vault-relative path goes through.

    Raises:
        UnsafePath: the path leaves the vault or enters a dot folder.
    """
    pure = PurePosixPath(path)
    odd = "\\" in path or "\0" in path or pure.is_absolute() or not pure.parts
    if odd or any(part.startswith(".") for part in pure.parts):
        raise UnsafePath(f"{path!r} is not a place for notes", hint="Name a path in the vault.")
    if not is_possible_here(path):
        raise UnsafePath(f"Windows does not allow the name {path!r}", hint="Choose another name.")
    return pure.parts


def through_link(path: str) -> UnsafePath:
    """What is raised for a path that goes through a link."""
    return UnsafePath(f"{path!r} goes through a link", hint="Use the real path.")


def odd_name(path: str) -> Problem | None:
    """Why a file cannot be a note for its name alone."""
    if path.isprintable() and "\\" not in path:
        return None
    try:
        path.encode("utf-8")
    except UnicodeEncodeError:
        return Problem(shown_path(path), 0, "the file name is not UTF-8", "Rename the file.")
    if "\\" in path:
        return Problem(path, 0, "a backslash is in the name or its folder's", "Rename it.")
    if any(character < " " or "\x7f" <= character <= "\x9f" for character in path):
        return Problem(path, 0, "a control character is in the name or its folder's", "Rename it.")
    return None


def file_state(path: str, status: os.stat_result) -> FileState:
    """What the program remembers of a file to see whether it changed."""
    inode = status.st_ino if LISTS_INODES else 0
    return FileState(path, status.st_size, status.st_mtime_ns, status.st_ctime_ns, inode)


NOTE_SUFFIX = ".md"
MAX_NOTE_BYTES = 2 * 1024 * 1024
TRASH = ".trash"
INTENTS = "intents"


class VaultFolder:
    """One vault on disk. Every path given or returned is relative to it, with `/`."""

    def __init__(self, root: Path, *, excluded: Sequence[str] = ()) -> None:
        self.root = root.resolve()
        # In whatever case, as people seldom mean another folder by it.
        self._excluded = frozenset(folded(each.strip("/")) for each in excluded if each.strip("/"))
        # Of the files that are found.
        self._ending = NOTE_SUFFIX

    @property
    def state_folder(self) -> Path:
        return self.root / STATE_FOLDER

    def is_excluded(self, path: str) -> bool:
        """True for a path in a folder that the settings leave out."""
        path = folded(path)
        return any(path == folder or path.startswith(folder + "/") for folder in self._excluded)

    @cached_property
    def _folds(self) -> bool:
        """Whether the disk finds a file under other spellings of its name."""
        return folds_names(self.state_folder)

    def is_readable(self, folder: str) -> bool:
        """False for a folder that may be there and cannot be listed; True if it is gone."""
        try:
            with self._enter(folder) as opened, opened.entries():
                return True
        except UnsafePath:
            return True
        except OSError as error:
            return error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)

    def scan(self, problems: list[Problem] | None = None) -> Iterator[FileState]:
        """All notes, in no particular order; what cannot be a note goes to `problems`."""
        self._sweep_intents()
        yield from self._walk([""], problems if problems is not None else [])

    def canvases(self) -> list[str]:
        """The paths of the canvases (JSON Canvas), sorted."""
        canvases = copy(self)
        canvases._ending = CANVAS_ENDING
        return sorted(state.path for state in canvases.scan())

    def look(
        self, paths: Collection[str], problems: list[Problem] | None = None
    ) -> Iterator[FileState]:
        """The notes at these paths, and those below them if a path is a folder's."""
        found = problems if problems is not None else []
        wanted: dict[str, set[str]] = {}
        for path in paths:
            if path in ("", "."):
                yield from self._walk([""], found)
                return
            with suppress(UnsafePath):
                parts = path_parts(path)
                wanted.setdefault("/".join(parts[:-1]), set()).add(parts[-1])
        below: list[str] = []
        for folder, names in wanted.items():
            # A hint may name a folder as it was spelled before.
            if not self.is_excluded(folder) and self._is_spelled(folder):
                yield from self._listed(folder, below, found, names)
        yield from self._walk(below, found)

    def _walk(self, folders: list[str], problems: list[Problem]) -> Iterator[FileState]:
        while folders:
            yield from self._listed(folders.pop(), folders, problems)

    def _listed(
        self,
        folder: str,
        folders: list[str],
        problems: list[Problem],
        names: Collection[str] | None = None,
    ) -> list[FileState]:
        """The notes right in a folder; its folders are put with `folders`."""
        states: list[FileState] = []
        try:
            with self._enter(folder) as opened, opened.entries() as entries:
                for entry in entries:
                    if names is None or entry.name in names:
                        self._take_entry(opened, folder, entry, folders, states, problems)
        except (OSError, UnsafePath) as error:
            # What was named by a hint may be gone by now, which is not reported.
            gone = isinstance(error, (FileNotFoundError, NotADirectoryError))
            if names is None or not gone:
                reason = error.strerror if isinstance(error, OSError) else "it became a link"
                problems.append(Problem(shown_path(folder) or ".", 0, f"cannot be read: {reason}"))
        return states

    def _take_entry(
        self,
        opened: OpenFolder,
        folder: str,
        entry: os.DirEntry[str],
        folders: list[str],
        states: list[FileState],
        problems: list[Problem],
    ) -> None:
        """Put what a folder holds under a name where it belongs."""
        name = entry.name
        path = f"{folder}/{name}" if folder else name
        if name.startswith("."):
            if name.startswith(TEMPORARY_PREFIX):
                self._rescue(opened, entry, path, problems)
            return
        # Folders that are left out are not entered, so nothing in them comes here.
        if folded(path) in self._excluded:
            return
        if entry.is_dir(follow_symlinks=False):
            if not is_junction(entry):
                folders.append(path)
        elif name.endswith(self._ending):
            state = self._entry_state(entry, path, problems)
            if state is not None:
                states.append(state)

    def _entry_state(
        self, entry: os.DirEntry[str], path: str, problems: list[Problem]
    ) -> FileState | None:
        problem = odd_name(path)
        if problem is None and entry.is_symlink():
            problem = Problem(path, 0, "is a symbolic link and was left out")
        if problem is None and conflict_copy(entry.name):
            problem = Problem(
                path, 0, "is a conflict copy", "Merge it into the note and delete it."
            )
        if problem is None:
            try:
                status = entry.stat(follow_symlinks=False)
            except OSError:
                return None
            if stat.S_ISREG(status.st_mode):
                return file_state(path, status)
            problem = Problem(path, 0, "is not a regular file and was left out")
        problems.append(problem)
        return None

    def has_unfinished_change(self) -> bool:
        """True if a killed process may have written only some notes of a change."""
        return any(own_files(self.state_folder / INTENTS, "*.json"))

    def locate(self, path: str) -> Path:
        """The absolute path of a note or of a place for one.

        For programs that open files themselves, as an editor; what this class reads and writes
        goes through folders held open.

        Raises:
            UnsafePath: the path leaves the vault, follows a link, or enters a dot folder.
        """
        parts = path_parts(path)
        with suppress(OSError), self._enter(path.rpartition("/")[0]) as folder:
            if folder.is_link(parts[-1]):
                raise through_link(path)
        return self.root.joinpath(*parts)

    def exists(self, path: str) -> bool:
        """True if a regular file is at `path`."""
        try:
            with self._folder_of(path) as folder:
                return stat.S_ISREG(folder.lstat(path_parts(path)[-1]).st_mode)
        except (OSError, UnsafePath):
            return False

    def has(self, path: str) -> bool:
        """True if a regular file is at `path`, spelled so: a name of the note, not of its file.

        On many disks, one file is found by its name in any case; `exists` is true of all of them.
        """
        return self.exists(path) and self._is_spelled(path)

    def _is_spelled(self, path: str) -> bool:
        """False for other spellings of the names of a file or folder that is there."""
        return not self._folds or self._as_on_disk(path) is not None

    def spelled(self, path: str) -> str | None:
        """The path, as it is on the disk, of a regular file that a link names, its accents in any
        form; None if there is none."""
        found = path if self.exists(path) else self._as_on_disk(path)
        return found if found is not None and self.exists(found) else None

    def _as_on_disk(self, path: str) -> str | None:
        """A path with the names that the disk has, which may give accents another form; the path
        itself if that cannot be seen, None if no such name is there."""
        names: list[str] = []
        try:
            with OpenFolder(self.root) as opened:
                for name in PurePosixPath(path).parts:
                    if names:
                        opened.enter(names[-1])
                    with opened.entries() as entries:
                        same = [e.name for e in entries if composed(e.name) == composed(name)]
                    if not same:
                        return None
                    names.append(name if name in same else same[0])
        except OSError:
            return path
        return "/".join(names)

    def read(self, path: str) -> FileContent:
        """Read one note; never blocks on a FIFO, never follows a link.

        Raises:
            NotFoundError: there is no such regular file.
            UnsafePath: see `locate`.
        """
        try:
            with self._folder_of(path) as folder:
                status, raw = _read_regular(folder, path_parts(path)[-1])
        except OSError as error:
            raise NotFoundError(f"cannot read {path}: {error.strerror}") from None
        if raw is None:
            raise NotFoundError(f"{path} is not a regular file")
        return FileContent(file_state(path, status), raw, status.st_size > MAX_NOTE_BYTES)

    def write(
        self, path: str, content: bytes, *, expected: str | None, modified_ns: int = 0
    ) -> None:
        """Write one note: the only function in the program that does.

        Args:
            expected: hash of the version that `content` was made from; None creates the note.
            modified_ns: the time that the file gets; 0 for now.

        Raises:
            WriteConflict: the note changed or went away meanwhile; nothing was written.
            FileExistsError: a note to be created is there already.
            SettingsError: the note cannot be written.
        """
        name = path_parts(path)[-1]
        if expected is None:
            with self._made_folder_of(path) as folder:
                create_in(folder, name, content, modified_ns=modified_ns)
            return
        with _told(path, NotADirectoryError), self._folder_of(path) as folder:
            if not self._is_spelled(path):
                raise FileNotFoundError
            if folder.lstat(name).st_size > MAX_NOTE_BYTES:
                raise SettingsError(f"{path} is larger than 2 MiB", hint="Split the note.")
            replace_in(folder, name, content, expected=expected, modified_ns=modified_ns)

    def require_writable(self, path: str) -> None:
        """Refuse a note whose file or folder cannot be written; nothing is touched."""
        try:
            with self._folder_of(path) as folder:
                require_writable(folder, path_parts(path)[-1], path)
        except OSError as error:
            raise write_failure(path, error) from error

    def move(self, path: str, to: str) -> None:
        """Give a note another path, in folders that are made if they are missing.

        Raises:
            WriteConflict: there is no such note any more.
            FileExistsError: the path is taken.
            SettingsError: it cannot be moved.
        """
        name, new_name = path_parts(path)[-1], path_parts(to)[-1]
        with _told(path), self._folder_of(path) as folder, self._made_folder_of(to) as other:
            folder.move(name, other, new_name)
            folder.sync()
            other.sync()

    def missing_folder(self, path: str) -> str:
        """The outermost folder that a note at this path lacks; empty if all are there."""
        folders = [folder.as_posix() for folder in PurePosixPath(path).parents][-2::-1]
        for folder in folders:
            try:
                self._enter(folder).close()
            except (OSError, UnsafePath):
                return folder
        return ""

    def remove_folders(self, path: str, outermost: str) -> None:
        """Remove the folders in which a note was, up to the outermost one, as far as they are
        empty."""
        for folder in PurePosixPath(path).parents:
            if not folder.is_relative_to(outermost):
                return
            try:
                with self._folder_of(folder.as_posix()) as above:
                    above.remove_folder(folder.name)
            except (OSError, UnsafePath):
                return

    def move_to_trash(self, path: str) -> str:
        """Move a note to `.trash/`, as Obsidian does; returns its path there.

        Raises:
            WriteConflict: there is no such note any more.
            SettingsError: it cannot be moved.
        """
        name = path_parts(path)[-1]
        with _told(path), self._folder_of(path) as folder, self._trash() as trash:
            folder.lstat(name)
            for number in range(1, 10_000):
                target = name if number == 1 else with_suffix(name, number)
                try:
                    # One step: a link and an unlink would delete what an editor saves between.
                    folder.move(name, trash, target)
                except FileExistsError:
                    continue
                folder.sync()
                return f"{TRASH}/{target}"
        raise SettingsError("the trash is full of notes of this name", hint="Empty .trash/.")

    def read_trashed(self, path: str, sha: str) -> FileContent | None:
        """A note that was moved to `.trash/` from `path`, if it is there with this hash."""
        name = path_parts(path)[-1]
        beginning = name.removesuffix(NOTE_SUFFIX)[:40]
        with suppress(OSError, UnsafePath), self._enter(TRASH) as trash:
            with trash.entries() as entries:
                names = [entry.name for entry in entries if entry.name.startswith(beginning)]
            for each in sorted(names):
                status, raw = _read_regular(trash, each)
                if raw is not None and sha256(raw) == sha:
                    return FileContent(file_state(path, status), raw, cut=False)
        return None

    def _enter(self, folder: str, *, make: bool = False) -> OpenFolder:
        """Open a folder of the vault, going down name by name and through no link."""
        opened = OpenFolder(self.root)
        try:
            for name in PurePosixPath(folder).parts:
                if make:
                    opened.make(name)
                opened.enter(name)
        except OSError as error:
            opened.close()
            if error.errno == errno.ELOOP:
                raise through_link(folder) from None
            raise
        return opened

    def _folder_of(self, path: str) -> OpenFolder:
        path_parts(path)
        return self._enter(path.rpartition("/")[0])

    def _made_folder_of(self, path: str) -> OpenFolder:
        folder = path.rpartition("/")[0]
        # Such a name may be read, but not made: on Windows it would lead out of the vault.
        if _DRIVE.match(path):
            raise UnsafePath(f"{path!r} is not a place for notes", hint="Name a path in the vault.")
        try:
            return self._enter(folder, make=True)
        except OSError as error:
            raise SettingsError(
                f"cannot make the folder of {path}: {error.strerror}",
                hint="Check the permissions and the disk.",
            ) from None

    def _trash(self) -> OpenFolder:
        try:
            return self._enter(TRASH, make=True)
        except UnsafePath:
            raise UnsafePath(f"{TRASH} is a link", hint="Replace it by a folder.") from None

    def _rescue(
        self, folder: OpenFolder, entry: os.DirEntry[str], path: str, problems: list[Problem]
    ) -> None:
        """Move what a killed write left behind to the trash: it may be somebody's last save."""
        with suppress(OSError, UnsafePath):
            status = entry.stat(follow_symlinks=False)
            if stat.S_ISREG(status.st_mode) and is_abandoned(
                entry.name, status.st_mtime_ns, time.time_ns()
            ):
                if not status.st_size or self._has_copy(path, status):
                    folder.unlink(entry.name)
                    return
                name = f"recovered-{entry.name[len(TEMPORARY_PREFIX) :]}{NOTE_SUFFIX}"
                with self._trash() as trash:
                    folder.move(entry.name, trash, name)
                problems.append(Problem(path, 0, f"was left by a cut write; now {TRASH}/{name}"))

    def _has_copy(self, path: str, status: os.stat_result) -> bool:
        """Whether a note beside a file holds the same bytes: a cut write may be made again."""
        parent, _, name = path.rpartition("/")
        # A second handle: two listings of one handle share their position.
        with self._enter(parent) as folder:
            with folder.entries() as entries:
                notes = [
                    entry.name
                    for entry in entries
                    if entry.name.endswith(NOTE_SUFFIX) and entry.is_file(follow_symlinks=False)
                ]
            alike = [note for note in notes if folder.lstat(note).st_size == status.st_size]
            content = _read_regular(folder, name)[1] if alike else None
            return status.st_size <= MAX_NOTE_BYTES and any(
                _read_regular(folder, note)[1] == content for note in alike
            )

    def discard_left(self, paths: Iterable[str], versions: Collection[str]) -> None:
        """Delete what killed writes left beside these notes, if it is one of their versions.

        Args:
            versions: hashes of the bytes that the notes had or got.
        """
        for parent in {path.rpartition("/")[0] for path in paths}:
            with suppress(OSError, UnsafePath), self._enter(parent) as folder:
                for name in _abandoned(folder):
                    raw = _read_regular(folder, name)[1]
                    if raw is not None and sha256(raw) in versions:
                        folder.unlink(name)

    def _sweep_intents(self) -> None:
        """Delete intents that a killed process did not finish writing; nothing came of them."""
        with suppress(OSError, UnsafePath), self._enter(f"{STATE_FOLDER}/{INTENTS}") as folder:
            for name in _abandoned(folder):
                folder.unlink(name)


@contextmanager
def _told(path: str, *gone: type[OSError]) -> Iterator[None]:
    """What the system says of a note that cannot be written, as the program's own errors; `gone`
    are further errors that mean that the note is not there."""
    try:
        yield
    except FileExistsError:
        raise
    except OSError as error:
        if isinstance(error, (FileNotFoundError, *gone)):
            raise WriteConflict(f"{path} was moved or deleted meanwhile") from None
        raise write_failure(path, error) from error


def _abandoned(folder: OpenFolder) -> list[str]:
    with folder.entries() as entries:
        names = [entry.name for entry in entries if entry.name.startswith(TEMPORARY_PREFIX)]
    now = time.time_ns()
    return [name for name in names if is_abandoned(name, folder.lstat(name).st_mtime_ns, now)]


def _read_regular(folder: OpenFolder, name: str) -> tuple[os.stat_result, bytes | None]:
    """The first 2 MiB of a file; None for what is not a regular file, which is not waited for."""
    handle = folder.open(name, os.O_RDONLY | NO_WAIT)
    with os.fdopen(handle, "rb") as stream:
        status = os.fstat(handle)
        return status, stream.read(MAX_NOTE_BYTES) if stat.S_ISREG(status.st_mode) else None
