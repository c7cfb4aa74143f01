"""Gives imported notes and files their places in the vault, so that none takes another's."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from amem_cli.core.errors import UsageError
from amem_cli.core.filenames import conflict_copy, file_name, with_suffix
from amem_cli.core.resolution import name_key
from amem_cli.services.vault_ports import VaultPorts

MAX_COMPONENT_BYTES = 240
MAX_PATH_BYTES = 800

_ENDING = ".md"
_DRIVE = re.compile(r"[A-Za-z]?:")
_ODD = re.compile(r"[\x00-\x1f\x7f-\x9f\\\ud800-\udfff]")


class FreePaths:
    """Places for new notes.

    Args:
        folder: vault-relative folder for them, empty for the top.
        beside: others that are given out too, of which none is given twice.

    Raises:
        UsageError: the folder leaves the vault or is hidden.
    """

    def __init__(self, ports: VaultPorts, folder: str, beside: FreePaths | None = None) -> None:
        self._ports = ports
        parts = [part for part in folder.split("/") if part not in ("", ".")]
        if folder.startswith("/") or any(_safe_folder(part) != part for part in parts):
            raise UsageError(
                f"--into {folder!r} is not a place for notes", hint="Name a folder of the vault."
            )
        self._prefix = "".join(f"{part}/" for part in parts)
        self._taken: set[str] = set() if beside is None else beside._taken
        self._folders: dict[str, str] = {}
        self._numbers: dict[str, int] = {}

    def take(self, path: str, title: str) -> str:
        """A place for a note that nothing has, with a number where it must be.

        A name that a note of the vault has, in whatever folder, is not used again: links to it
        would come to mean another note.

        Args:
            path: its path in the source; empty where the name comes from the title.
        """
        wanted = self._prefix + (self._settled(path) if path else file_name(title))
        folder, _, name = wanted.rpartition("/")
        start = self._numbers.get(_folded(wanted), 1)
        for number in range(start, 1_000_000):
            candidate = name if number == 1 else with_suffix(name, number)
            full = f"{folder}/{candidate}" if folder else candidate
            if _folded(full) in self._taken or self._is_there(full):
                continue
            self._taken.add(_folded(full))
            self._numbers[_folded(wanted)] = number + 1
            return full
        raise UsageError(f"there are too many notes named {name!r}")

    def other(self, path: str, number: int) -> str:
        """A place for a file that is no note; `number` beyond 1 gives it another name."""
        *folders, name = path.split("/")
        parts = self._placed(folders)
        if _ODD.search(name) or name.startswith(".") or len(name.encode()) > MAX_COMPONENT_BYTES:
            stem, dot, ending = name.rpartition(".")
            name = file_name(stem or ending)[: -len(_ENDING)] + dot + ending
        if number > 1:
            stem, dot, ending = name.rpartition(".")
            name = f"{stem or ending} {number}{dot if stem else ''}{ending if stem else ''}"
        return self._prefix + "/".join([*parts, name])

    def _is_there(self, full: str) -> bool:
        names = self._ports.index.names.candidates(name_key(full))
        return bool(names) or self._ports.vault.exists(full)

    def _settled(self, path: str) -> str:
        """The path with what the vault cannot hold made safe, and nothing else changed."""
        *folders, name = path.split("/")
        parts = self._placed(folders)
        stem = name.removesuffix(_ENDING)
        if not _is_safe(stem) or stem != stem.strip() or conflict_copy(name):
            name = file_name(stem)
        whole = "/".join([*parts, name])
        return whole if len(whole.encode()) <= MAX_PATH_BYTES else name

    def _placed(self, folders: Sequence[str]) -> list[str]:
        """Folders of the source; two in one place that differ in case alone become one."""
        parts: list[str] = []
        for name in folders:
            key = _folded("/".join([*parts, name]))
            parts.append(self._folders.setdefault(key, _safe_folder(name)))
        return parts


def _safe_folder(name: str) -> str:
    return name if _is_safe(name) else file_name(name)[: -len(_ENDING)]


def _is_safe(name: str) -> bool:
    return (
        bool(name.strip())
        and not name.startswith(".")
        and not _ODD.search(name)
        and not _DRIVE.match(name)
        and len(name.encode("utf-8")) <= MAX_COMPONENT_BYTES
    )


def _folded(text: str) -> str:
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())
