"""Checks the index and the journal against the notes."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager
from functools import cache, partial

from amem_cli.doctor.finding import Finding, Mend, from_problem
from amem_cli.doctor.reading import JOURNAL, OpenPorts, VaultReading
from amem_cli.errors import IndexFault, SettingsError
from amem_cli.index.draft import VaultPorts
from amem_cli.index.hand_edits import hand_edits, record_hand_edits
from amem_cli.index.sync import check_index, refresh
from amem_cli.journal.events import REMOVING, Event
from amem_cli.journal.provenance import Provenance, provenance
from amem_cli.journal.undo_rules import is_worded
from amem_cli.markdown.links import parse_link
from amem_cli.notes.codec import parse_note
from amem_cli.notes.names import resolve
from amem_cli.notes.note import Note

# The vault over a copy of its index; None if there is no index.
OpenCopy = Callable[[], AbstractContextManager[VaultPorts | None]]
# The lines of a journal's file, by the file's name.
LinesOf = Callable[[str], Sequence[str]]

_MERGE_MARK = re.compile(r"(?:<{7}|>{7}|\|{7})(?: |\r?\Z)|={7}\r?\Z")
_EVENT_ID = re.compile(r"\s*\{\s*\"id\"\s*:\s*\"([^\"\\]+)\"")

_INDEX = ".amem/index.db"
_SHOWN = 3
# What every command that reads the vault catches up with; any other difference is damage.
_BEHIND = (
    ": not in the index",
    ": in the index, but gone",
    ": changed since it was indexed",
    ": events not in the index",
    ": not the journal that was indexed",
)


def index_findings(
    open_copy: OpenCopy,
    unread: Collection[str],
    *,
    update: Mend | None,
    rebuild: Mend | None,
) -> Iterator[Finding]:
    """Whether the index is there, can be used, and says what the notes say.

    Args:
        unread: paths of notes and folders that cannot be read now; the index cannot be compared
            with them, and another check tells them.
        update, rebuild: bring it in step; make it anew from nothing.
    """
    hint = "Nothing is lost: `amem index` makes it from the notes."
    try:
        with open_copy() as ports:
            if ports is None:
                yield Finding("index", _INDEX, "there is no index", hint, mend=update)
                return
            differences = index_differences(ports, unread)
    except IndexFault as fault:
        yield Finding("index", _INDEX, fault.message, hint, mend=rebuild)
        return
    if differences:
        more = len(differences) - _SHOWN
        shown = [*differences[:_SHOWN], *([f"and {more} more"] if more > 0 else [])]
        yield Finding(
            "index",
            _INDEX,
            f"is not in step with the vault: {'; '.join(shown)}",
            "`amem index` brings it up to date, as most commands do by themselves; otherwise"
            " `amem index --rebuild`.",
            severity="notice" if all(each.endswith(_BEHIND) for each in differences) else "problem",
            mend=update,
        )


def index_differences(ports: VaultPorts, unread: Collection[str]) -> list[str]:
    """Differences between index and vault, one line each, but for what cannot be read now."""
    hidden = tuple(f"{path}{end}" for path in unread for end in (": ", "/"))
    return [each for each in check_index(ports) if not each.startswith(hidden)]


def journal_findings(
    reading: VaultReading, ports: OpenPorts | None, lines_of: LinesOf
) -> Iterator[Finding]:
    """Lines that cannot be read, ids used twice, notes that disagree, events of lost notes."""
    yield from _unread_lines(reading, cache(lines_of))
    for name, known, event in reading.same_id:
        yield Finding(
            "journal",
            f"{JOURNAL}/{name}",
            f"two different events have the id {event.id}: {_named(known)}, and {_named(event)}",
            "The first one counts. Delete the line that is wrong.",
        )
    yield from _disagreements(reading, ports)
    yield from _events_of_lost_notes(reading)


def _unread_lines(reading: VaultReading, lines_of: LinesOf) -> Iterator[Finding]:
    for problem in reading.journal_problems:
        lines = lines_of(problem.path.rpartition("/")[2]) if problem.line else ()
        text = lines[problem.line - 1] if 0 < problem.line <= len(lines) else ""
        why = _why_harmless(reading, text) if problem.line else ""
        if why:
            message = f"{problem.message}; {why}"
            hint, line = "Nothing needs doing; the line may be deleted.", problem.line
            yield Finding("journal", problem.path, message, hint, line, severity="notice")
            continue
        hint = "Check its permissions, and the disk."
        if problem.line:
            hint = "Put the line back from git or a backup, or delete it; the others count."
        yield from_problem("journal", problem, hint=hint)


def _why_harmless(reading: VaultReading, text: str) -> str:
    """Why nothing is lost with a line that cannot be read; empty if something may be."""
    if _MERGE_MARK.match(text):
        return "it is a mark of a merge, of which both sides count"
    if not text.strip("\0 \t\r"):
        return "it is empty"
    known = _EVENT_ID.match(text)
    if known and known[1] in reading.event_ids:
        return "the same event is whole on another line"
    # A change of which the journal line was cut off is made again whole, or was taken back.
    if text.startswith("{") and not text.rstrip("\0 \t\r").endswith("}"):
        return "its writing was cut off"
    return ""


def _disagreements(reading: VaultReading, ports: OpenPorts | None) -> Iterator[Finding]:
    shared = {path for paths in reading.ids.values() if len(paths) > 1 for path in paths}
    for path, each in reading.notes.items():
        if each.note.id is None or each.note.refused is not None or path in shared:
            continue
        gone = _gone_of_own(reading, each.note)
        if gone:
            yield Finding(
                "journal",
                path,
                f"no longer holds what amem wrote, by the journal: {'; '.join(gone)}",
                "If you took it out, it is yours to decide; `amem doctor --fix` records that.",
                mend=partial(_release, ports, path) if ports else None,
            )


def _gone_of_own(reading: VaultReading, note: Note) -> list[str]:
    """What the machine wrote and nobody recorded as removed, field by field."""
    events = reading.own_events(note)
    if not any(event.by == "machine" for event in events):
        return []
    owned = provenance(events)
    gone = {
        "keywords": sorted(owned.keywords - set(note.keywords)),
        "tags": sorted(owned.tags - set(note.tags)),
        "context": ["another sentence"] if owned.context not in (None, "", note.context) else [],
        "links": _lost_links(reading, note, owned),
    }
    return [f"{name} {', '.join(values)}" for name, values in gone.items() if values]


def _lost_links(reading: VaultReading, note: Note, owned: Provenance) -> list[str]:
    missing = [record for record in owned.links.values() if record.text not in note.links]
    if not missing:
        return []
    # A link to which a person gave words is the person's, as in `services.release`.
    parsed = [parse_link(text) for text in note.links if not is_worded(text)]
    reached = {resolve(link.target, note.path, reading.table) for link in parsed if link}
    # A link whose text a rename changed still leads where the record says.
    return [
        record.text
        for record in missing
        if not reached & set(reading.ids.get(record.target, [record.target]))
    ]


def _release(ports_of: OpenPorts, path: str) -> str:
    # Opening the vault brings the index in step, which may have recorded it already.
    ports = ports_of()
    with ports.changes.locked():
        record_hand_edits(ports, [path])
        refresh(ports, [path])
    note = parse_note(path, ports.vault.read(path).raw, ports.names)
    if hand_edits(ports, note):
        raise SettingsError("the note changed meanwhile", hint="Run `amem doctor` again.")
    return f"The journal says that it is yours from now on; {path} is as it was."


def _events_of_lost_notes(reading: VaultReading) -> Iterator[Finding]:
    lost: list[tuple[Event, ...]] = []
    for key, events in reading.events.items():
        here = key in reading.ids or any(event.path in reading.notes for event in events)
        if not here and events[-1].kind not in REMOVING:
            lost.append(events)
    if lost and reading.complete:
        count = sum(map(len, lost))
        counted = "1 event" if count == 1 else f"{count} events"
        notes = "1 note that is" if len(lost) == 1 else f"{len(lost)} notes that are"
        yield Finding(
            "journal",
            JOURNAL,
            f"holds {counted} of {notes} not in the vault",
            "Nothing needs doing; if the notes should be here, look in the trash or in git.",
            severity="notice",
        )


def _named(event: Event) -> str:
    return f"{event.kind} of {event.path or event.note or 'the vault'}"
