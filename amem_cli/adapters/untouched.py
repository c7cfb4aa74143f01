"""A vault and its index for looking only: nothing is written, moved or swept, whatever is found."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import apsw

from amem_cli.adapters.index_file import Unusable, copy_index, open_index
from amem_cli.adapters.open_folder import OpenFolder
from amem_cli.adapters.sqlite_index import SqliteIndex
from amem_cli.adapters.temporary_names import TEMPORARY_PREFIX, TEMPORARY_SUFFIX
from amem_cli.adapters.vault_folder import VaultFolder
from amem_cli.core.errors import IndexFault, Problem


class UntouchedVault(VaultFolder):
    """The notes of a vault; what a killed process left behind stays where it is."""

    def _rescue(
        self, folder: OpenFolder, entry: os.DirEntry[str], path: str, problems: list[Problem]
    ) -> None:
        pass

    def _sweep_intents(self) -> None:
        pass


class FileNames:
    """Paths of files and folders, found by their ends as links name them."""

    def __init__(self, paths: Iterable[str]) -> None:
        self._paths: dict[str, list[str]] = {}
        for path in paths:
            folded = _folded(path)
            self._paths.setdefault(folded.rpartition("/")[2], []).append(f"/{folded}")

    def holds(self, target: str) -> bool:
        """Whether a path ends with the target, with or without `.md`, in any case."""
        parts = [part for part in target.split("/") if part not in ("", ".", "..")]
        wanted = _folded("/".join(parts))
        return any(
            path.endswith(f"/{name}")
            for name in (wanted, f"{wanted}.md")
            for path in self._paths.get(name.rpartition("/")[2], ())
        )


@dataclass(frozen=True, slots=True)
class Survey:
    """What lies in a vault beside its notes.

    Attributes:
        folders: how many there are, hidden ones among them.
        files: files and folders that are not hidden.
        temporary: vault-relative paths of what writes of this program have left.
    """

    folders: int
    files: FileNames
    temporary: tuple[str, ...]


def survey(root: Path) -> Survey:
    """Walk a whole vault; links are not followed, and what cannot be entered is left out."""
    count = 0
    files: list[str] = []
    temporary = []
    waiting = [root]
    while waiting:
        folder = waiting.pop()
        count += 1
        with contextlib.suppress(OSError), os.scandir(folder) as entries:
            for entry in entries:
                path = Path(entry.path).relative_to(root).as_posix()
                shown = os.fsencode(path).decode("utf-8", "backslashreplace")
                if entry.name.startswith(TEMPORARY_PREFIX):
                    temporary += [shown] if entry.name.endswith(TEMPORARY_SUFFIX) else []
                elif not entry.name.startswith("."):
                    files.append(shown)
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(Path(entry.path))
    return Survey(count, FileNames(files), tuple(sorted(temporary)))


def _folded(text: str) -> str:
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())


@contextlib.contextmanager
def index_copy(path: Path) -> Iterator[SqliteIndex | None]:
    """A copy of the index, which is opened and deleted again; None where there is no index.

    Raises:
        IndexFault: the file is no usable index.
    """
    try:
        if not stat.S_ISREG(path.lstat().st_mode):
            raise IndexFault("is not a regular file")
    except FileNotFoundError:
        yield None
        return
    with tempfile.TemporaryDirectory(prefix="amem-doctor-") as folder:
        try:
            copy = copy_index(path, Path(folder))
        except OSError as error:
            raise IndexFault(f"cannot be copied for a look: {error.strerror}") from None
        _check_usable(copy)
        index = SqliteIndex(copy)
        try:
            yield index
        finally:
            index.close()


def _check_usable(copy: Path) -> None:
    if not copy.exists():
        raise IndexFault("cannot be read")
    if copy.stat().st_size == 0:
        raise IndexFault("is empty")
    try:
        db, _ = open_index(copy)
        try:
            verdict = db.pragma("quick_check")
        finally:
            db.close()
    except (Unusable, OSError, apsw.Error) as error:
        raise IndexFault(f"cannot be used: {error}") from None
    if verdict != "ok":
        raise IndexFault(f"is damaged: {str(verdict).splitlines()[0]}")
