"""Checks the index and the journal against the notes."""

from __future__ import annotations

import contextlib
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager
from functools import cache, partial
from pathlib import Path

from amem_cli.doctor.finding import Finding, Fix, from_problem
from amem_cli.doctor.reading import JOURNAL, OpenPorts, VaultSnapshot
from amem_cli.errors import IndexFault, SettingsError
from amem_cli.index.hand_edits import hand_edits, record_hand_edits
from amem_cli.index.memory_index import MemoryIndex, VaultPorts
from amem_cli.index.sync import check_index, refresh
from amem_cli.journal.events import REMOVING, Event
from amem_cli.journal.provenance import Provenance, is_worded, provenance
from amem_cli.markdown.links import parse_link
from amem_cli.notes.names import resolve
from amem_cli.notes.note import Note, parse_note
from amem_cli.vault.dir_handle import own_files

# The vault over a copy of its index; None if there is no index.
OpenCopy = Callable[[], AbstractContextManager[VaultPorts | None]]

_MERGE_MARK = re.compile(r"(?:<{7}|>{7}|\|{7})(?: |\r?\Z)|={7}\r?\Z")
_EVENT_ID = re.compile(r"\s*\{\s*\"id\"\s*:\s*\"([^\"\\]+)\"")

_INDEX = ".amem/index.db"
_NAMED_DIFFERENCES = 3
# Every command that reads the vault catches up with these; any other difference is damage.
_BEHIND = (
    ": not in the index",
    ": in the index, but gone",
    ": changed since it was indexed",
    ": events not in the index",
    ": not the journal that was indexed",
)


def index_findings(
    open_copy: OpenCopy, unread: Collection[str], *, update: Fix, rebuild: Fix
) -> Iterator[Finding]:
    """Whether the index exists, is usable, and agrees with the notes.

    Args:
        unread: paths of notes and folders that cannot be read now, so that the index cannot be
            compared with them; another check reports them.
        update, rebuild: bring it up to date; make it from scratch.
    """
    hint = "Nothing is lost: `amem index` makes it from the notes."
    try:
        with open_copy() as ports:
            if ports is None:
                yield Finding(_INDEX, "there is no index", hint, fix=update)
                return
            differences = index_differences(ports, unread)
    except IndexFault as fault:
        yield Finding(_INDEX, fault.message, hint, fix=rebuild)
        return
    if differences:
        named = differences[:_NAMED_DIFFERENCES]
        if len(differences) > len(named):
            named.append(f"and {len(differences) - len(named)} more")
        yield Finding(
            _INDEX,
            f"is out of step with the vault: {'; '.join(named)}",
            "`amem index` brings it up to date, and so do most commands; if not,"
            " `amem index --rebuild`.",
            severity="notice" if all(each.endswith(_BEHIND) for each in differences) else "problem",
            fix=update,
        )


def pending_findings(index: MemoryIndex) -> Iterator[Finding]:
    """Notes that the memory process has tried in vain, by the last reason."""
    reasons = Counter(note.error for note in index.queue.pending() if note.error)
    for reason, count in reasons.items():
        waiting = "1 note waits" if count == 1 else f"{count} notes wait"
        hint = "Once that is mended: amem evolve"
        yield Finding("", f"{waiting} for the memory process, which failed: {reason}", hint)


def index_differences(ports: VaultPorts, unread: Collection[str]) -> list[str]:
    """Differences between index and vault, one line each, except for what cannot be read now."""
    hidden = tuple(f"{path}{end}" for path in unread for end in (": ", "/"))
    return [each for each in check_index(ports) if not each.startswith(hidden)]


def journal_findings(vault: VaultSnapshot, state: Path, ports: OpenPorts) -> Iterator[Finding]:
    """Unreadable lines, ids used twice, notes that disagree, events of lost notes."""
    yield from _unreadable_lines(vault, state / "journal")
    for name, first, event in vault.same_id:
        named = f"{_named(first)}, and {_named(event)}"
        message = f"two different events have the id {event.id}: {named}"
        hint = "The first one is used. Delete the line that is wrong."
        yield Finding(f"{JOURNAL}/{name}", message, hint)
    yield from _disagreements(vault, ports)
    yield from _events_of_lost_notes(vault)


def _unreadable_lines(vault: VaultSnapshot, folder: Path) -> Iterator[Finding]:
    files = {path.name: path for path in own_files(folder, "*.jsonl")}

    @cache
    def lines_of(name: str) -> list[str]:
        with contextlib.suppress(OSError, KeyError):
            return files[name].read_bytes().decode("utf-8", "replace").split("\n")
        return []

    for problem in vault.journal_problems:
        if not problem.line:
            yield from_problem(problem, hint="Check its permissions, and the disk.")
            continue
        lines = lines_of(problem.path.rpartition("/")[2])
        text = lines[problem.line - 1] if problem.line <= len(lines) else ""
        if why := _why_harmless(vault, text):
            message = f"{problem.message}; {why}"
            hint, line = "Nothing needs to be done; you may delete the line.", problem.line
            yield Finding(problem.path, message, hint, line, severity="notice")
        else:
            hint = "Restore the line from git or a backup, or delete it; the other lines are used."
            yield from_problem(problem, hint=hint)


def _why_harmless(vault: VaultSnapshot, text: str) -> str:
    """Why nothing is lost with a line that cannot be read; empty if something may be."""
    if _MERGE_MARK.match(text):
        return "it is a merge mark, and both sides of the merge are used"
    if not text.strip("\0 \t\r"):
        return "it is empty"
    event_id = _EVENT_ID.match(text)
    if event_id and event_id[1] in vault.journal:
        return "the same event is complete on another line"
    # A change whose journal line was cut off is made again whole, or was taken back.
    if text.startswith("{") and not text.rstrip("\0 \t\r").endswith("}"):
        return "writing it was interrupted"
    return ""


def _disagreements(vault: VaultSnapshot, ports: OpenPorts) -> Iterator[Finding]:
    shared = {path for paths in vault.ids.values() if len(paths) > 1 for path in paths}
    for path, checked in vault.notes.items():
        if checked.note.id is None or checked.note.refused is not None or path in shared:
            continue
        missing = _missing_of_machine(vault, checked.note)
        if missing:
            message = f"lacks what amem wrote according to the journal: {'; '.join(missing)}"
            hint = "If you removed it, that is fine; `amem doctor --fix` records your edit."
            yield Finding(path, message, hint, fix=partial(_record_edit, ports, path))


def _missing_of_machine(vault: VaultSnapshot, note: Note) -> list[str]:
    """What the machine wrote and nobody recorded as removed, field by field."""
    events = vault.own_events(note)
    if not any(event.by == "machine" for event in events):
        return []
    owned = provenance(events)
    missing = {
        "keywords": sorted(owned.keywords - set(note.keywords)),
        "tags": sorted(owned.tags - set(note.tags)),
        "context": ["another sentence"] if owned.context not in (None, "", note.context) else [],
        "links": _lost_links(vault, note, owned),
    }
    return [f"{name} {', '.join(values)}" for name, values in missing.items() if values]


def _lost_links(vault: VaultSnapshot, note: Note, owned: Provenance) -> list[str]:
    # A link to which a person gave words is the person's, as in `index.hand_edits`.
    parsed = [parse_link(text) for text in note.links if not is_worded(text)]
    reached = {resolve(link.target, note.path, vault.table) for link in parsed if link}
    # A link whose text a rename changed still leads where the record says.
    return [
        record.text
        for record in owned.links.values()
        if record.text not in note.links
        and not reached & set(vault.ids.get(record.target, [record.target]))
    ]


def _record_edit(open_ports: OpenPorts, path: str) -> str:
    # Opening the vault updates the index, which may have recorded it already.
    ports = open_ports()
    with ports.changes.locked():
        record_hand_edits(ports, [path])
        refresh(ports, [path])
    note = parse_note(path, ports.vault.read(path).raw, ports.names)
    if hand_edits(ports, note):
        raise SettingsError("the note has changed meanwhile", hint="Run `amem doctor` again.")
    return f"Recorded your edit in the journal; {path} is unchanged."


def _events_of_lost_notes(vault: VaultSnapshot) -> Iterator[Finding]:
    lost = [
        events
        for key, events in vault.events.items()
        if key not in vault.ids
        and not any(event.path in vault.notes for event in events)
        and events[-1].kind not in REMOVING
    ]
    if lost and vault.complete:
        count = sum(map(len, lost))
        counted = "1 event" if count == 1 else f"{count} events"
        notes = "1 note that is" if len(lost) == 1 else f"{len(lost)} notes that are"
        message = f"has {counted} of {notes} not in the vault"
        hint = "Nothing needs to be done; if the notes should exist, look in the trash or in git."
        yield Finding(JOURNAL, message, hint, severity="notice")


def _named(event: Event) -> str:
    return f"{event.kind} of {event.path or event.note or 'the vault'}"
