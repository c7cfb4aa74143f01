"""Finds the note that the user named."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

from amem_cli.core.errors import NotFoundError

if TYPE_CHECKING:
    from amem_cli.core.index_port import MemoryIndex
    from amem_cli.core.index_records import NoteSummary


def note_named(index: MemoryIndex, name: str, *, private: bool = True) -> NoteSummary:
    """A note by id, path, file name, title, alias, or a unique prefix of its id.

    Args:
        private: private notes have names, too.

    Raises:
        NotFoundError: no note, or more than one, has this name.
    """
    wanted = name.strip().removeprefix("[[").removesuffix("]]").replace("\\", "/")
    named = index.notes.find(wanted.removeprefix("./"))
    found = [each for each in named if private or not each.private]
    if len(found) == 1:
        return found[0]
    if found:
        paths = ", ".join(summary.path for summary in found[:4])
        raise NotFoundError(f"{name!r} names {len(found)} notes", hint=f"Say which: {paths}.")
    shown = (summary for summary in index.notes.summaries() if private or not summary.private)
    titles = {summary.title.casefold(): summary.title for summary in shown}
    close = get_close_matches(wanted.casefold(), titles, n=3, cutoff=0.5)
    hint = "; ".join(f"“{titles[title]}”" for title in close)
    raise NotFoundError(
        f"no note {name!r}", hint=f"Did you mean {hint}?" if hint else "`amem list` shows all."
    )
