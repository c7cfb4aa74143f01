"""Checks the index and the journal."""

from __future__ import annotations

import contextlib
import re
from collections import Counter
from collections.abc import Collection, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from amem_cli.doctor.finding import Finding, Fix, from_problem
from amem_cli.doctor.reading import IndexLook, is_behind
from amem_cli.errors import Problem
from amem_cli.index.memory_index import MemoryIndex
from amem_cli.journal.events import REMOVING, Event
from amem_cli.journal.files import JournalFolder
from amem_cli.vault.dir_handle import own_files

JOURNAL = ".amem/journal"
_MERGE_MARK = re.compile(r"(?:<{7}|>{7}|\|{7})(?: |\r?\Z)|={7}\r?\Z")
_EVENT_ID = re.compile(r"\s*\{\s*\"id\"\s*:\s*\"([^\"\\]+)\"")

_INDEX = ".amem/index.db"
_NAMED_DIFFERENCES = 3


def index_findings(
    look: IndexLook, unread: Collection[str], *, update: Fix, rebuild: Fix
) -> Iterator[Finding]:
    """Whether the index exists, is usable, and agrees with the notes.

    Args:
        unread: see `without_unread`.
        update, rebuild: bring it up to date; make it from scratch.
    """
    if look.fault:
        hint = "Nothing is lost: `amem index` makes it from the notes."
        yield Finding(_INDEX, look.fault, hint, fix=rebuild)
        return
    differences = without_unread(look.differences, unread)
    if differences:
        named = differences[:_NAMED_DIFFERENCES]
        if len(differences) > len(named):
            named.append(f"and {len(differences) - len(named)} more")
        yield Finding(
            _INDEX,
            f"is out of step with the vault: {'; '.join(named)}",
            "`amem index` brings it up to date, and so do most commands; if not,"
            " `amem index --rebuild`.",
            severity="notice" if is_behind(differences) else "problem",
            fix=update,
        )


def without_unread(differences: list[str], unread: Collection[str]) -> list[str]:
    """Differences except those of what cannot be read now, which another check reports."""
    hidden = tuple(f"{path}{end}" for path in unread for end in (": ", "/"))
    return [each for each in differences if not each.startswith(hidden)]


def pending_findings(index: MemoryIndex) -> Iterator[Finding]:
    """Notes that the memory process has tried in vain, by the last reason."""
    reasons = Counter(note.error for note in index.queue.pending() if note.error)
    for reason, count in reasons.items():
        waiting = "1 note waits" if count == 1 else f"{count} notes wait"
        hint = "Once that is mended: amem evolve"
        yield Finding("", f"{waiting} for the memory process, which failed: {reason}", hint)


class JournalLook(NamedTuple):
    """The journal as its files say.

    Attributes:
        events: each id once, in order.
        same_id: different events with one id: file name, the first event, the other one.
    """

    events: dict[str, Event]
    same_id: list[tuple[str, Event, Event]]
    problems: list[Problem]


def look_at_journal(journal: JournalFolder) -> JournalLook:
    """Read the whole journal."""
    look = JournalLook({}, [], [])
    for file in journal.read_new({}, look.problems).files:
        for event in file.events:
            first = look.events.setdefault(event.id, event)
            if first != event:
                look.same_id.append((file.name, first, event))
    return look


def journal_findings(
    journal: JournalLook, folder: Path, notes: MemoryIndex, *, complete: bool
) -> Iterator[Finding]:
    """Unreadable lines, ids used twice, events of lost notes.

    Args:
        folder: the journal's.
        complete: every note could be read.
    """
    yield from _unreadable_lines(journal, folder)
    for name, first, event in journal.same_id:
        named = f"{_named(first)}, and {_named(event)}"
        message = f"two different events have the id {event.id}: {named}"
        hint = "The first one is used. Delete the line that is wrong."
        yield Finding(f"{JOURNAL}/{name}", message, hint)
    if complete:
        yield from _events_of_lost_notes(journal, notes)


def _unreadable_lines(journal: JournalLook, folder: Path) -> Iterator[Finding]:
    files = {path.name: path for path in own_files(folder, "*.jsonl")}

    @cache
    def lines_of(name: str) -> list[str]:
        with contextlib.suppress(OSError, KeyError):
            return files[name].read_bytes().decode("utf-8", "replace").split("\n")
        return []

    for problem in journal.problems:
        if not problem.line:
            yield from_problem(problem, hint="Check its permissions, and the disk.")
            continue
        lines = lines_of(problem.path.rpartition("/")[2])
        text = lines[problem.line - 1] if problem.line <= len(lines) else ""
        if why := _why_harmless(journal, text):
            message = f"{problem.message}; {why}"
            hint, line = "Nothing needs to be done; you may delete the line.", problem.line
            yield Finding(problem.path, message, hint, line, severity="notice")
        else:
            hint = "Restore the line from git or a backup, or delete it; the other lines are used."
            yield from_problem(problem, hint=hint)


def _why_harmless(journal: JournalLook, text: str) -> str:
    """Why nothing is lost with a line that cannot be read; empty if something may be."""
    if _MERGE_MARK.match(text):
        return "it is a merge mark, and both sides of the merge are used"
    if not text.strip("\0 \t\r"):
        return "it is empty"
    event_id = _EVENT_ID.match(text)
    if event_id and event_id[1] in journal.events:
        return "the same event is complete on another line"
    # A change whose journal line was cut off is made again whole, or was taken back.
    if text.startswith("{") and not text.rstrip("\0 \t\r").endswith("}"):
        return "writing it was interrupted"
    return ""


def _events_of_lost_notes(journal: JournalLook, index: MemoryIndex) -> Iterator[Finding]:
    by_note: dict[str, list[Event]] = {}
    for _, event in sorted(journal.events.items()):
        if key := event.note or event.path:
            by_note.setdefault(key, []).append(event)
    present = {name for note in index.notes.summaries() for name in (note.id, note.path)}
    lost = [
        events
        for key, events in by_note.items()
        if not present & {key, *(event.path for event in events)}
        and events[-1].kind not in REMOVING
    ]
    if lost:
        count = sum(map(len, lost))
        counted = "1 event" if count == 1 else f"{count} events"
        notes = "1 note that is" if len(lost) == 1 else f"{len(lost)} notes that are"
        message = f"has {counted} of {notes} not in the vault"
        hint = "Nothing needs to be done; if the notes should exist, look in the trash or in git."
        yield Finding(JOURNAL, message, hint, severity="notice")


def _named(event: Event) -> str:
    return f"{event.kind} of {event.path or event.note or 'the vault'}"
