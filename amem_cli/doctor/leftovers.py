"""Finds what cut writes and changes have left in a vault, and puts away what nobody needs."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

from amem_cli.doctor.finding import Finding, Mend
from amem_cli.errors import SettingsError
from amem_cli.notes.names import conflict_copy
from amem_cli.vault.dir_handle import OpenFolder
from amem_cli.vault.folder import NOTE_SUFFIX
from amem_cli.vault.safe_write import TEMPORARY_PREFIX, is_abandoned


def leftover_findings(
    root: Path, temporary: Sequence[str], settle: Callable[[], object] | None
) -> Iterator[Finding]:
    """Temporary files, changes that were cut off, and indexes that were set aside.

    Args:
        temporary: paths of temporary files, relative to the vault.
        settle: finishes cut changes and sweeps what writers that are gone have left.
    """
    for left in temporary:
        yield _temporary(root, left, settle)
    state = root / ".amem"
    if state.is_symlink():
        return
    for path in sorted((state / "intents").glob("*.json")):
        yield Finding(
            "leftovers",
            path.relative_to(root).as_posix(),
            "is a change that was cut off in the middle",
            "The next command finishes it, or takes it back if a note was edited since.",
            mend=partial(_settled, path, settle) if settle else None,
        )
    for path in sorted((state / "intents").glob("*.unreadable")):
        yield Finding(
            "leftovers",
            path.relative_to(root).as_posix(),
            "is a change that was cut off and cannot be read, so nothing came of it",
            "Look at your newest notes, then delete it.",
        )
    for path in _copies(state):
        yield Finding(
            "leftovers",
            path.relative_to(root).as_posix(),
            "is a conflict copy of the program's own",
            "Take over what you want to keep, then delete it.",
        )
    yield from _set_aside(root, may_mend=settle is not None)


def _copies(state: Path) -> Iterator[Path]:
    # Those of journals are read as any journal, and those of the index are of no use to anybody.
    for path in sorted(state.glob("*")):
        is_own = path.name.startswith((TEMPORARY_PREFIX, "index"))
        if conflict_copy(path.name) and path.is_file() and not is_own:
            yield path


def _set_aside(root: Path, *, may_mend: bool) -> Iterator[Finding]:
    found = sorted(
        path
        for folder in (root / ".amem", root / ".amem" / "tmp")
        for path in folder.glob("index.db.unusable-*")
        if path.is_file() and not path.is_symlink()
    )
    if found:
        mend: Mend | None = partial(_delete, found) if may_mend else None
        yield Finding(
            "leftovers",
            found[0].relative_to(root).as_posix(),
            "was set aside, for the index could not be used"
            + (f"; so were {len(found) - 1} more" if found[1:] else ""),
            "It may be deleted; an index holds nothing but copies.",
            severity="notice",
            mend=mend,
        )


def _delete(paths: Sequence[Path]) -> str:
    for path in paths:
        path.unlink(missing_ok=True)
    return f"Deleted {', '.join(path.name for path in paths)}."


def _temporary(root: Path, shown: str, settle: Callable[[], object] | None) -> Finding:
    path = root / shown
    try:
        is_left = is_abandoned(path.name, path.lstat().st_mtime_ns, time.time_ns())
    except OSError:
        is_left = False
    if not is_left:
        message = "is being written just now, or was left by a write that was cut off"
        hint = "It is put away by itself when nobody can be writing it any more."
        return Finding("leftovers", shown, message, hint, severity="notice")
    return Finding(
        "leftovers",
        shown,
        "was left by a write that was cut off",
        "It may hold somebody's last save; `amem doctor --fix` moves it to .trash/.",
        mend=partial(_sweep, root, path, settle) if settle else None,
    )


def _sweep(root: Path, path: Path, settle: Callable[[], object]) -> str:
    # What lies among the notes, or is an unfinished intent, is swept with any look at the notes.
    settle()
    name = f"recovered-{path.name[len(TEMPORARY_PREFIX) :]}"
    trash = root / ".trash"
    if not path.exists():
        rescued = trash / f"{name}{NOTE_SUFFIX}"
        return f"Moved to .trash/{rescued.name}." if rescued.exists() else "Deleted."
    trash.mkdir(exist_ok=True)
    with OpenFolder(path.parent) as source, OpenFolder(root) as target:
        target.enter(trash.name)
        source.move(path.name, target, name)
    return f"Moved to .trash/{name}."


def _settled(path: Path, settle: Callable[[], object]) -> str:
    settle()
    aside = path.with_suffix(".unreadable")
    if path.exists() or aside.exists():
        hint = f"Look at your newest notes, then delete .amem/intents/{aside.name}."
        raise SettingsError("the change cannot be read", hint=hint)
    return "Finished, or taken back if a note was edited since."
