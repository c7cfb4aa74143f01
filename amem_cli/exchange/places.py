"""Where imported notes and files go in the vault, and how links must be written to lead there.

Nothing that exists is overwritten.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache, cached_property
from posixpath import dirname, normpath, relpath, splitext

from amem_cli.editing.add import free_path
from amem_cli.errors import AmemError, Problem, UsageError
from amem_cli.exchange.source import SourceFolder, sha_of
from amem_cli.index.memory_index import VaultPorts
from amem_cli.markdown.links import WikiLink
from amem_cli.notes.names import (
    NameTable,
    NoteNames,
    conflict_copy,
    file_name,
    file_named,
    is_linkable,
    name_key,
    resolve,
    shortest_target,
)
from amem_cli.system.names import folded, is_for_windows
from amem_cli.vault.folder import VaultFolder, odd_name
from amem_cli.vault.safe_write import sha256, write_failure

# File systems allow 255 bytes; the rest is for temporary files and numbers.
MAX_COMPONENT_BYTES = 240
MAX_PATH_BYTES = 800

_ENDING = ".md"


class FreePaths:
    """Gives out paths in a folder for new notes, none of them twice."""

    def __init__(self, ports: VaultPorts, folder: str) -> None:
        self._ports = ports
        parts = [part for part in folder.split("/") if part not in ("", ".")]
        if folder.startswith("/") or any(_safe_folder(part) != part for part in parts):
            raise UsageError(
                f"--into {folder!r} is not a place for notes", hint="Name a folder of the vault."
            )
        self._prefix = "".join(f"{part}/" for part in parts)
        self._taken: set[str] = set()
        self._folders: dict[str, str] = {}
        self._numbers: dict[str, int] = {}

    def take(self, path: str, title: str, *, at_top: bool = False) -> str:
        """A free path for a note, numbered if necessary; without a path, named by its title.

        Args:
            at_top: the path begins at the top of the vault, not in the folder.
        """
        prefix = "" if at_top else self._prefix
        wanted = prefix + (self._safe_path(path) if path else file_name(title))
        # Starting at the last number keeps thousands of equal titles from being quadratic.
        first = self._numbers.get(folded(wanted), 1)
        free, number = free_path(self._ports, wanted, self._taken, first)
        self._taken.add(folded(free))
        self._numbers[folded(wanted)] = number + 1
        return free

    def other(self, path: str, number: int) -> str:
        """A path for a file that is not a note; `number` beyond 1 gives it another name."""
        *folders, name = path.split("/")
        stem, ending = splitext(name)
        if not _is_safe(name):
            stem = file_name(stem)[: -len(_ENDING)]
        name = (f"{stem} {number}" if number > 1 else stem) + ending
        return self._prefix + "/".join([*self._safe_folders(folders), name])

    def _safe_path(self, path: str) -> str:
        """The path, changed only in what the vault cannot hold."""
        *folders, name = path.split("/")
        parts = self._safe_folders(folders)
        stem = name.removesuffix(_ENDING)
        if not (_is_safe(stem) and is_linkable(stem)) or conflict_copy(name):
            name = file_name(stem)
        whole = "/".join([*parts, name])
        return whole if len(whole.encode()) <= MAX_PATH_BYTES else name

    def _safe_folders(self, folders: Sequence[str]) -> list[str]:
        """Folders of the source; those that differ only in case become one."""
        parts: list[str] = []
        for name in folders:
            key = folded("/".join([*parts, name]))
            parts.append(self._folders.setdefault(key, _safe_folder(name)))
        return parts


def _safe_folder(name: str) -> str:
    return name if _is_safe(name) else file_name(name)[: -len(_ENDING)]


def _is_safe(name: str) -> bool:
    return (
        bool(name.strip())
        and not name.startswith(".")
        and odd_name(name) is None
        and is_for_windows(name)
        and len(name.encode("utf-8")) <= MAX_COMPONENT_BYTES
    )


_MAX_NUMBER = 1000


class AttachmentCopier:
    """Copies other files of a source into a vault, each with the first link to it."""

    def __init__(
        self, source: SourceFolder | None, vault: VaultFolder, free: FreePaths, *, dry_run: bool
    ) -> None:
        self._source = source
        self._vault = vault
        self._free = free
        self._dry_run = dry_run
        self._new_shas: dict[str, str] = {}
        self.copied: list[tuple[str, str]] = []
        self.problems: list[Problem] = []
        # Where a file of the source is in the vault; empty if it could not be copied.
        self.vault_path = cache(self._copy)

    def has_unique_name(self, path: str) -> bool:
        """Whether no other file of the vault has the name of the one at `path`."""
        return self._by_name.get(_name(path), set()) <= {path}

    @cached_property
    def _by_name(self) -> dict[str, set[str]]:
        by_name: dict[str, set[str]] = {}
        for path in SourceFolder(self._vault.root).other_paths:
            by_name.setdefault(_name(path), set()).add(path)
        return by_name

    def _copy(self, path: str) -> str:
        content = self._source.read(path) if self._source else None
        if content is None:
            message = "cannot be read, or is larger than 50 MiB, and was not copied"
            return self._fail(path, message, "Copy it yourself.")
        sha = sha256(content)
        for number in range(1, _MAX_NUMBER):
            candidate = self._free.other(path, number)
            # In a dry run the file is not there yet; names are compared as macOS and Windows do.
            key = candidate.casefold()
            try:
                existing = self._new_shas.get(key) or sha_of(self._vault, candidate)
                if existing == sha:
                    return candidate
                if existing is not None:
                    continue
                if not self._dry_run:
                    self._vault.write(candidate, content, expected=None)
            # Somebody else made it meanwhile.
            except FileExistsError:
                continue
            except OSError as error:
                return self._fail(path, write_failure(candidate, error).message)
            except AmemError as error:
                return self._fail(path, error.message, error.hint)
            self._new_shas[key] = sha
            self.copied.append((path, candidate))
            self._by_name.setdefault(_name(candidate), set()).add(candidate)
            return candidate
        return self._fail(path, "finds no free name")

    def _fail(self, path: str, message: str, hint: str = "") -> str:
        self.problems.append(Problem(path, 0, message, hint))
        return ""


def _name(path: str) -> str:
    return _link_key(path.rpartition("/")[2])


class SourceNames:
    """The notes and other files of a source by the names that its links use.

    Args:
        notes: (path in the source, aliases, title, other names) of each note.
        relative_first: a markdown link prefers a file beside its note to one at the top.
    """

    def __init__(
        self,
        notes: Iterable[tuple[str, Sequence[str], str, Sequence[str]]],
        others: Iterable[str],
        *,
        relative_first: bool,
    ) -> None:
        notes = list(notes)
        self._table = NameTable(note[:3] for note in notes)
        self._named: dict[str, set[str]] = {}
        for path, _, _, names in notes:
            for name in names:
                self._named.setdefault(_link_key(name), set()).add(path)
        self._others = NameTable((path, (), "") for path in others)
        self._relative_first = relative_first

    def note(self, link: WikiLink, source: str) -> str | None:
        """The source's path of the note that a link means."""
        if link.style == "markdown" and self._relative_first:
            # Obsidian resolves from the top first; the others resolve from the note's folder.
            beside = resolve(_beside(link.target), source, self._table)
            if beside is not None:
                return beside
        return resolve(link.target, source, self._table) or self.named(link.target)

    def named(self, name: str) -> str | None:
        """The source's path of the one note that has this name."""
        paths = self._named.get(_link_key(name), set())
        return next(iter(paths)) if len(paths) == 1 else None

    def other(self, link: WikiLink, source: str) -> str | None:
        """The source's path of the other file that a link means."""
        if link.style == "markdown":
            beside = file_named(_beside(link.target), source, self._others)
            if beside is not None:
                return beside
        return file_named(link.target, source, self._others)


def note_target(
    link: WikiLink, source: str, wanted: str, names: NoteNames, *, was: str
) -> str | None:
    """How a link in the note at `source` must be written to mean `wanted`; None if it does.

    A link that names a file must name it as it is on the disk, with accents in the same form. Only
    a wikilink may name an alias instead.
    """
    names_file = link.style == "markdown" or name_key(link.target) == name_key(was)
    said = _stem(normpath(link.target).lstrip("./"))
    is_named = not names_file or f"/{_stem(wanted)}".endswith(f"/{said}")
    if is_named and resolve(link.target, source, names) == wanted:
        return None
    if link.style == "markdown":
        return _beside(relpath(wanted, dirname(source) or "."))
    return shortest_target(wanted, names)


def file_target(link: WikiLink, source: str, wanted: str, *, only_one: bool) -> str | None:
    """Whether a link means another file; its name is enough if it is the `only_one` of its name."""
    if link.style == "wikilink":
        here, said = f"/{_link_key(wanted)}", "/" + _link_key(link.target.lstrip("/"))
        means_it = here.endswith(said) if only_one else here == said
        return None if means_it else wanted
    beside = relpath(wanted, dirname(source) or ".")
    return None if normpath(link.target) == beside else beside


def _stem(path: str) -> str:
    return path.casefold().removesuffix(_ENDING)


def _beside(target: str) -> str:
    return target if target.startswith(("/", "./", "../")) else f"./{target}"


def _link_key(text: str) -> str:
    return folded(text.strip())
