"""Detects which of the machine's values a person edited, and records that they are the person's.

A keyword that the machine wrote and a person deleted and typed again later is the person's; the
journal can tell only if it says that the keyword was gone in between.
"""

from __future__ import annotations

from collections.abc import Iterable

from amem_cli.errors import AmemError
from amem_cli.index.draft import id_is_shared, new_event
from amem_cli.index.memory_index import VaultPorts
from amem_cli.index.records import with_key
from amem_cli.journal.events import Change, Event, LinkRecord
from amem_cli.journal.provenance import Provenance, is_worded, provenance
from amem_cli.markdown.links import parse_link
from amem_cli.notes.names import resolve
from amem_cli.notes.note import Note, parse_note


def record_hand_edits(ports: VaultPorts, paths: Iterable[str]) -> list[Event]:
    """Record for each note which of the machine's values are gone; returns the events.

    A note that cannot be read, or whose front matter is invalid, is left for later: a merge or a
    save may be under way.
    """
    suspects = [path for path in paths if _event_for(ports, path) is not None]
    if not suspects:
        return []
    with ports.changes.locked():
        # What looks like an edit may have been written by another process after the journal was
        # read. Under the lock the journal explains every note as it is.
        ports.changes.recover()
        ports.index.events.mirror(ports.journal, [])
        events = [event for path in suspects if (event := _event_for(ports, path)) is not None]
        if events:
            ports.changes.apply([], events)
    return events


def hand_edits(ports: VaultPorts, note: Note) -> tuple[Change, ...]:
    """What the machine wrote according to the journal, and the note no longer holds."""
    if note.id is None or note.refused is not None:
        return ()
    events = ports.index.events.read(note.id)
    if not any(event.by == "machine" for event in events) or id_is_shared(ports.index, note.id):
        return ()
    owned = provenance(events)
    changes = [
        Change("keywords", sorted(owned.keywords - set(note.keywords)), []),
        Change("tags", sorted(owned.tags - set(note.tags)), []),
        Change("links", _lost_links(ports, note, owned), []),
    ]
    if owned.context and note.context != owned.context:
        changes.insert(2, Change("context", owned.context, note.context))
    return tuple(change for change in changes if change.before)


def _event_for(ports: VaultPorts, path: str) -> Event | None:
    summary = ports.index.notes.summary(path)
    if summary is None or summary.id is None or not ports.index.events.read(summary.id, limit=1):
        return None
    try:
        content = ports.vault.read(path)
    except AmemError:
        return None
    note = parse_note(path, content.raw, ports.names)
    if content.cut or note.id != summary.id:
        return None
    changes = hand_edits(ports, note)
    if not changes:
        return None
    return new_event(
        ports,
        "release",
        by="person",
        note=note.id,
        path=path,
        changes=changes,
        reason="edited by hand; it is yours from now on",
    )


def _lost_links(ports: VaultPorts, note: Note, owned: Provenance) -> list[str]:
    """Texts of the machine's links that the note no longer has."""
    missing = [link for link in owned.links.values() if link.text not in ("", *note.links)]
    if not missing:
        return []
    # A link to which a person gave other words, or a heading, is the person's.
    parsed = [parse_link(text) for text in note.links if not is_worded(text)]
    reached = {resolve(link.target, note.path, ports.index.names) for link in parsed if link}

    def still_leads(link: LinkRecord) -> bool:
        # A rename changes a link's text, but not where it leads.
        targets = with_key(ports.index.notes.find(link.target), link.target)
        return any(target.path in reached for target in targets)

    return [link.text for link in missing if not still_leads(link)]
