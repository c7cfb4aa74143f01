"""Checks the index and the journal."""

from __future__ import annotations

import contextlib
import re
from collections import Counter
from collections.abc import Collection, Iterator
from pathlib import Path

from amem_cli.doctor.finding import Finding, Fix, from_problem
from amem_cli.doctor.reading import IndexLook, is_behind
from amem_cli.errors import Problem
from amem_cli.index.memory_index import MemoryIndex
from amem_cli.journal.events import Event
from amem_cli.journal.files import JournalFolder

JOURNAL = ".amem/journal"
_MERGE_MARK = re.compile(r"(?:<{7}|>{7}|\|{7})(?: |\r?\Z)|={7}\r?\Z")
_EVENT_ID = re.compile(r"\s*\{\s*\"id\"\s*:\s*\"([^\"\\]+)\"")

_INDEX = ".amem/index.db"
_NAMED_DIFFERENCES = 3


def index_findings(look: IndexLook, unread: Collection[str], mend: Fix) -> Iterator[Finding]:
    """Whether the index exists, is usable, and agrees with the notes."""
    if look.fault:
        hint = "Nothing is lost: `amem index` makes it from the notes."
        yield Finding(_INDEX, look.fault, hint, fix=mend)
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
            fix=mend,
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


def journal_findings(journal: JournalFolder, root: Path) -> Iterator[Finding]:
    """Unreadable lines, and different events with one id."""
    events: dict[str, Event] = {}
    problems: list[Problem] = []
    for file in journal.read_new({}, problems).files:
        for event in file.events:
            if events.setdefault(event.id, event) != event:
                message = f"two different events have the id {event.id}"
                hint = "The first one is used. Delete the line that is wrong."
                yield Finding(f"{JOURNAL}/{file.name}", message, hint)
    for problem in problems:
        if not problem.line:
            yield from_problem(problem, "Check its permissions, and the disk.")
        elif _is_harmless(_line_of(root, problem), events):
            message = f"{problem.message}; nothing is lost with it"
            hint = "Nothing needs to be done; you may delete the line."
            yield Finding(problem.path, message, hint, problem.line, severity="notice")
        else:
            hint = "Restore the line from git or a backup, or delete it; the other lines are used."
            yield from_problem(problem, hint)


def _line_of(root: Path, problem: Problem) -> str:
    with contextlib.suppress(OSError, IndexError):
        lines = (root / problem.path).read_bytes().split(b"\n")
        return lines[problem.line - 1].decode("utf-8", "replace")
    return "unreadable"


def _is_harmless(line: str, events: Collection[str]) -> bool:
    """Whether nothing is lost with a line that cannot be read.

    It is a merge mark, blank, on another line too, or was cut off: a change whose line was cut off
    is made again whole, or was taken back.
    """
    text = line.strip("\0 \t\r")
    if not text or _MERGE_MARK.match(line) or (text.startswith("{") and not text.endswith("}")):
        return True
    found = _EVENT_ID.match(line)
    return found is not None and found[1] in events
