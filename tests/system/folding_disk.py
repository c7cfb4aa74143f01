"""A folder that behaves like a disk of Windows or macOS, on which `Note.md` is also `note.md`.

`os` and `io.open` are patched for paths below it and for folders opened there; what is stored is
a usual folder. Names are kept as they were given, or, as HFS+ does, in decomposed form.
"""

# ruff: noqa: PTH100, PTH117, PTH118, PTH119, PTH206
from __future__ import annotations

import io
import os
import pathlib
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from amem_cli.system import names
from amem_cli.system.names import folded
from amem_cli.vault import dir_handle


class FoldingDisk:
    """The patched calls.

    Args:
        root: below this folder, names are folded.
        decomposes: names are stored in decomposed form (NFD).
    """

    def __init__(self, root: Path, *, decomposes: bool) -> None:
        self._root = os.path.realpath(root)
        self._decomposes = decomposes
        self._listdir = os.listdir
        self._rename = os.rename

    def install(self, patch: pytest.MonkeyPatch) -> None:
        """Patch until the test ends."""
        for name in ("open", "stat", "lstat", "unlink", "remove", "mkdir", "rmdir", "utime"):
            patch.setattr(os, name, self._on_one_path(getattr(os, name)))
        for name in ("access", "chmod", "scandir", "listdir", "truncate"):
            patch.setattr(os, name, self._on_one_path(getattr(os, name)))
        patch.setattr(io, "open", self._on_one_path(io.open))
        patch.setattr(os, "link", self._on_two_paths(os.link))
        for name in ("rename", "replace"):
            patch.setattr(os, name, self._renaming)
        # Python 3.10's paths keep the calls that they found when they were imported.
        accessor = getattr(pathlib, "_NormalAccessor", None)
        for name in vars(accessor) if accessor else ():
            module = io if name == "open" else os
            if not name.startswith("_") and hasattr(module, name):
                patch.setattr(accessor, name, staticmethod(getattr(module, name)))
        # Neither macOS nor Windows has renameat2.
        patch.setattr(dir_handle, "_renameat2", lambda: None)
        patch.setattr(names, "_USUALLY_FOLDS", True)

    def _on_one_path(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def patched(path: Any = ".", *given: Any, **named: Any) -> Any:
            return call(self._stored(path, named.get("dir_fd")), *given, **named)

        return patched

    def _on_two_paths(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def patched(source: Any, target: Any, **named: Any) -> Any:
            source = self._stored(source, named.get("src_dir_fd"))
            return call(source, self._stored(target, named.get("dst_dir_fd")), **named)

        return patched

    def _renaming(
        self,
        source: Any,
        target: Any,
        *,
        src_dir_fd: int | None = None,
        dst_dir_fd: int | None = None,
    ) -> None:
        handles: dict[str, Any] = {"src_dir_fd": src_dir_fd, "dst_dir_fd": dst_dir_fd}
        source, there = self._stored(source, src_dir_fd), self._stored(target, dst_dir_fd)
        self._rename(source, there, **handles)
        # The file gets the name in its new spelling.
        folder, name = os.path.split(os.fspath(there))
        wanted = os.path.join(folder, self._form(os.path.basename(os.fspath(target))))
        if isinstance(name, str) and wanted != there:
            self._rename(there, wanted, src_dir_fd=dst_dir_fd, dst_dir_fd=dst_dir_fd)

    def _stored(self, path: Any, handle: int | None = None) -> Any:
        """The path with each name as it is stored, of those that are there."""
        if isinstance(path, int):
            return path
        text = os.fspath(path)
        if isinstance(text, bytes):
            return text
        if handle is not None and not os.path.isabs(text):
            return text if text == "." else self._name_in(handle, text)
        absolute = os.path.abspath(text)
        if not absolute.startswith(self._root + os.sep):
            return path
        place = self._root
        for name in absolute[len(self._root) + 1 :].split(os.sep):
            place = os.path.join(place, self._name_in(place, name))
        return place

    def _name_in(self, folder: int | str, name: str) -> str:
        try:
            there = self._listdir(folder)
        except OSError:
            return name
        # This file system itself tells them apart.
        same = [each for each in there if folded(each) == folded(name)]
        return same[0] if same else self._form(name)

    def _form(self, name: str) -> str:
        return unicodedata.normalize("NFD", name) if self._decomposes else name
