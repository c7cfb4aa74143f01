"""Reads a vault, through an index of its own that is in step with it, and writes nothing."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from amem_cli.errors import IndexFault, Problem
from amem_cli.index.file import copy_index
from amem_cli.index.memory_index import MemoryIndex, VaultPorts
from amem_cli.index.sync import check_index, synchronise
from amem_cli.system.names import folded
from amem_cli.vault.dir_handle import OpenFolder
from amem_cli.vault.folder import VaultFolder
from amem_cli.vault.safe_write import TEMPORARY_PREFIX, TEMPORARY_SUFFIX

# Every command that reads the vault catches up with these; any other difference is damage.
_BEHIND = (
    ": not in the index",
    ": in the index, but gone",
    ": changed since it was indexed",
    ": events not in the index",
    ": not the journal that was indexed",
)


class ReadOnlyVault(VaultFolder):
    """The notes of a vault; what a killed process left behind stays in place."""

    def _rescue(
        self, folder: OpenFolder, entry: os.DirEntry[str], path: str, problems: list[Problem]
    ) -> None:
        pass

    def _sweep_intents(self) -> None:
        pass

    def has_unfinished_change(self) -> bool:
        """Not for who only reads."""
        return False


class VaultFiles:
    """Everything in a vault, notes or not.

    Attributes:
        temporary: vault-relative paths of the temporary files that amem's writes left behind.
    """

    def __init__(self, root: Path) -> None:
        self.temporary: list[str] = []
        self._by_name: dict[str, list[str]] = defaultdict(list)
        # Links are not followed, folders that cannot be entered are skipped.
        for folder, folders, names in os.walk(root):
            for name in (*folders, *names):
                path = (Path(folder) / name).relative_to(root).as_posix()
                # Names that are not UTF-8 could not be printed.
                shown = os.fsencode(path).decode("utf-8", "backslashreplace")
                if name.startswith(TEMPORARY_PREFIX):
                    self.temporary += [shown] if name.endswith(TEMPORARY_SUFFIX) else []
                elif not name.startswith("."):
                    shown = folded(shown)
                    self._by_name[shown.rpartition("/")[2]].append(f"/{shown}")
        self.temporary.sort()

    def holds(self, target: str) -> bool:
        """Whether a path ends with a link's target, with or without `.md`, in any case."""
        end = folded("/".join(part for part in target.split("/") if part not in ("", ".", "..")))
        return any(
            path.endswith(f"/{name}")
            for name in (end, f"{end}.md")
            for path in self._by_name.get(name.rpartition("/")[2], ())
        )


class IndexLook(NamedTuple):
    """A vault's index as it was found, and the vault over a copy that was brought in step.

    Attributes:
        fault: why there is no usable index; empty if there is one.
        differences: between index and vault, one line each.
    """

    ports: VaultPorts
    fault: str
    differences: list[str]


def is_behind(differences: list[str]) -> bool:
    """Whether an index with these differences is whole, and only not up to date."""
    return all(each.endswith(_BEHIND) for each in differences)


def look_at_index(
    index: Path | None,
    temporary: contextlib.ExitStack,
    open_ports: Callable[[MemoryIndex, Path], VaultPorts],
) -> IndexLook:
    """Compare an index with its vault.

    Args:
        index: None if the vault's own must not be read.
        temporary: keeps the copy; even reading a database writes files beside it.
        open_ports: the vault over an index in a temporary folder.
    """
    folder = Path(temporary.enter_context(tempfile.TemporaryDirectory(prefix="amem-doctor-")))
    fault, differences = "there is no index", list[str]()
    if index is not None and index.exists():
        replaced: list[str] = []
        try:
            copy = copy_index(index, folder)
            if not copy.exists() or not copy.stat().st_size:
                raise IndexFault("cannot be read, or is empty")
            ports = open_ports(MemoryIndex(copy, notify=replaced.append), folder)
            differences = check_index(ports)
            # The copy of a file that is no index was replaced by an empty one.
            fault = " ".join(replaced)
        except IndexFault as error:
            fault = error.message
        except OSError as error:
            fault = f"cannot be copied: {error.strerror}"
    if fault or not is_behind(differences):
        ports = open_ports(MemoryIndex(folder / "fresh.db"), folder)
    synchronise(ports, recording=False)
    return IndexLook(ports, fault, differences)
