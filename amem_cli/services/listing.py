"""Lists notes by what is known of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from amem_cli.core.index_port import MemoryIndex
    from amem_cli.core.index_records import NoteSummary
    from amem_cli.services.query import Filters

    Usage = Mapping[str, tuple[int, str]]

SORTS: dict[str, tuple[Callable[[NoteSummary, Usage], str], bool]] = {
    "created": (lambda note, _: note.created or note.modified, True),
    "modified": (lambda note, _: note.modified, True),
    "read": (lambda note, usage: usage.get(note.key, (0, ""))[1], True),
    "title": (lambda note, _: note.title.casefold(), False),
    "path": (lambda note, _: note.path, False),
}


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a note must be to be listed; every condition that is set has to hold.

    Attributes:
        orphans: without links in either direction.
        pending: waiting for the memory process.
        never_read: neither found nor read by amem as long as its counters go back.
        untouched_since: neither edited by a person nor read since this day, ISO 8601; empty: any.
    """

    orphans: bool = False
    pending: bool = False
    never_read: bool = False
    untouched_since: str = ""


def listed(
    index: MemoryIndex,
    *,
    filters: Filters,
    wanted: Wanted,
    sort: str,
    reverse: bool,
    limit: int | None,
) -> list[NoteSummary]:
    """Notes that meet all conditions; dates sort newest first, names from A to Z."""
    notes = [note for note in index.notes.summaries() if not filters or filters.admit(note)]
    if wanted.pending:
        waiting = {note.path for note in index.queue.pending()}
        notes = [note for note in notes if note.path in waiting]
    if wanted.orphans:
        from amem_cli.services.stats import vault_graph

        alone = set(vault_graph(index).orphans())
        notes = [note for note in notes if note.path in alone]
    usage: Usage = {}
    if wanted.never_read or wanted.untouched_since or sort == "read":
        usage = index.usage.all()
    if wanted.never_read:
        notes = [note for note in notes if note.key not in usage]
    if wanted.untouched_since:
        day = wanted.untouched_since
        notes = [note for note in notes if _is_untouched(index, note, usage, day)]
    key, newest_first = SORTS[sort]
    notes.sort(key=lambda note: key(note, usage), reverse=newest_first != reverse)
    return notes[: max(0, limit)] if limit is not None else notes


def _is_untouched(index: MemoryIndex, note: NoteSummary, usage: Usage, day: str) -> bool:
    """Whether a note was last created, read and edited by a person before a day."""
    known = (_day(note.created), _day(usage.get(note.key, (0, ""))[1]))
    if max(known) >= day:
        return False
    # The journal is asked only about files that changed since.
    return _day(note.modified) < day or _last_edit(index, note) < day


def _last_edit(index: MemoryIndex, note: NoteSummary) -> str:
    """The day a person last edited a note, as far as it is known; empty where it is not.

    The time of a file that is as the machine left it says nothing of a person.
    """
    events = index.events.read(note.key)
    left = next(
        (each for each in events if each.splice and each.splice.sha_after == note.sha), None
    )
    if left is None or left.by != "machine":
        return _day(note.modified)
    return max((_day(each.time) for each in events if each.by == "person"), default="")


def _day(moment: str) -> str:
    """The day of a moment; empty for what is none."""
    return moment[:10] if moment[:4].isdigit() else ""
