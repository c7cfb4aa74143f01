"""Writes and removes amem's files among Obsidian's, and its entries in Obsidian's own."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from amem_cli.errors import SettingsError, WriteConflict
from amem_cli.obsidian.views import (
    MARK,
    Shown,
    base_text,
    graph_groups,
    is_own_group,
    snippet_text,
)
from amem_cli.system.files import is_link
from amem_cli.vault.safe_write import create_file, replace_file, sha256, write_failure

BASE = "amem.base"
SNIPPET = "amem"
FOLDER = ".obsidian"


@dataclass(frozen=True, slots=True)
class Written:
    """Vault-relative paths of the files that were written or changed, and of those removed."""

    written: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()


def write_views(root: Path, shown: Shown) -> Written:
    """Write what is shown into the files of a vault's Obsidian; what is as wanted is left.

    Raises:
        SettingsError: Obsidian has no settings here, a file is not amem's or not readable, or it
            cannot be written; nothing was written in the first cases.
    """
    return _apply(root, _changes(root, shown))


def remove_views(root: Path) -> Written:
    """Remove all that `write_views` wrote, and nothing else. Errors as there."""
    return _apply(root, _changes(root, None))


def _changes(root: Path, shown: Shown | None) -> dict[str, tuple[bytes, bytes]]:
    """What is in each file, and what has to be; empty for no file."""
    if not (root / FOLDER).is_dir():
        hint = "Open the folder in Obsidian once: it makes its settings."
        raise SettingsError(f"Obsidian has no settings in {root}", hint=hint)
    groups = [] if shown is None else graph_groups(shown)
    snippets = [] if shown is None else [SNIPPET]

    def color_groups(present: list[Any]) -> list[Any]:
        return [*(each for each in present if not is_own_group(each)), *groups]

    def enabled_snippets(present: list[Any]) -> list[Any]:
        return [*(each for each in present if each != SNIPPET), *snippets]

    changes = {}
    for path, new in (
        (BASE, "" if shown is None else base_text(shown)),
        (f"{FOLDER}/snippets/{SNIPPET}.css", "" if shown is None else snippet_text(shown)),
    ):
        old = _read(root, path)
        if old and MARK.encode() not in old.partition(b"\n")[0]:
            raise SettingsError(f"{path} is not amem's", hint="Give that file another name.")
        changes[path] = old, new.encode("utf-8", "replace")
    for path, key, change in (
        (f"{FOLDER}/graph.json", "colorGroups", color_groups),
        (f"{FOLDER}/appearance.json", "enabledCssSnippets", enabled_snippets),
    ):
        old = _read(root, path)
        changes[path] = old, _with_list(path, old, key, change)
    return changes


def _read(root: Path, path: str) -> bytes:
    """A file's content, empty without one; never through a link, which may lead anywhere."""
    for part in (root / path, *(root / path).parents):
        if part == root:
            break
        with suppress(FileNotFoundError):
            if is_link(part.lstat()):
                raise SettingsError(f"{part} is a link", hint="amem writes no file behind a link.")
    try:
        return (root / path).read_bytes()
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise SettingsError(f"cannot read {path}: {error.strerror}") from None


def _with_list(path: str, raw: bytes, key: str, change: Callable[[list[Any]], list[Any]]) -> bytes:
    """A JSON file with another list under a key; the bytes it has, if that changes nothing."""
    try:
        document = json.loads(raw) if raw.strip() else {}
    except ValueError:
        document = None
    present = document.get(key) if isinstance(document, dict) else None
    if document is None or not isinstance(present, (list, type(None))):
        hint = "Correct it, or close Obsidian and delete it."
        raise SettingsError(f"cannot read {path}", hint=hint)
    wanted = change(present or [])
    if wanted == (present or []):
        return raw
    changed = {**document, key: wanted}
    if not wanted and present != wanted:
        del changed[key]
    # As Obsidian writes it.
    return json.dumps(changed, ensure_ascii=False, indent=2).encode() if changed else b""


def _apply(root: Path, changes: dict[str, tuple[bytes, bytes]]) -> Written:
    written, removed = [], []
    for path, (old, new) in changes.items():
        if old == new:
            continue
        file = root / path
        try:
            if not new:
                if file.read_bytes() != old:
                    raise WriteConflict(f"{path} was changed meanwhile")
                file.unlink()
                removed.append(path)
                with suppress(OSError):
                    # The folder of snippets, if nothing else is in it.
                    (root / FOLDER / "snippets").rmdir()
                continue
            file.parent.mkdir(exist_ok=True)
            if old or file.exists():
                replace_file(file, new, expected=sha256(old))
            else:
                create_file(file, new)
        except OSError as error:
            raise write_failure(path, error) from None
        written.append(path)
    return Written(tuple(written), tuple(removed))
