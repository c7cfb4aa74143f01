"""Notices what a person changed of the machine's own, and records that it is theirs from then on.

A keyword that the machine wrote, that the person deleted and typed again later, is the person's;
the journal can tell only if it says that it was gone in between.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from amem_cli.errors import AmemError
from amem_cli.index.draft import VaultPorts, is_shared, new_event
from amem_cli.index.records import meant
from amem_cli.index.sync import refresh
from amem_cli.journal.events import Change, Event, LinkRecord
from amem_cli.journal.ownership import Ownership, ownership
from amem_cli.journal.undo_rules import is_worded
from amem_cli.markdown.links import parse_link
from amem_cli.notes.codec import parse_note
from amem_cli.notes.names import resolve
from amem_cli.notes.note import Note


def release_edited(ports: VaultPorts, paths: Iterable[str]) -> list[Event]:
    """Record for each note what of the machine's own is no longer there.

    A note that cannot be read, or whose front matter is refused, is left for later: it may be in
    the middle of a merge or of a save.

    Returns:
        The events recorded, one a note.

    Raises:
        SettingsError: the journal cannot be written.
    """
    suspects = [path for path in paths if _release_of(ports, path) is not None]
    if not suspects:
        return []
    with ports.changes.locked():
        # What looks like an edit may be what another process has written since the journal was
        # read; what is in the journal now explains every note as it is now.
        ports.changes.recover()
        refresh(ports, [])
        events = [event for path in suspects if (event := _release_of(ports, path)) is not None]
        if events:
            ports.changes.apply([], events)
    return events


def missing_of_own(ports: VaultPorts, note: Note) -> tuple[Change, ...]:
    """What the journal calls the machine's own in a note and the note no longer holds."""
    if note.id is None or note.refused is not None:
        return ()
    events = ports.index.events.read(note.id)
    if not any(event.by == "machine" for event in events) or is_shared(ports.index, note.id):
        return ()
    owned = ownership(events)
    changes = []
    for name, own, present in (
        ("keywords", owned.keywords, note.keywords),
        ("tags", owned.tags, note.tags),
    ):
        gone = sorted(own - set(present))
        if gone:
            changes.append(Change(name, gone, []))
    if owned.context and note.context != owned.context:
        changes.append(Change("context", owned.context, note.context))
    lost = _lost_links(ports, note, owned)
    if lost:
        changes.append(Change("links", lost, []))
    return tuple(changes)


def _release_of(ports: VaultPorts, path: str) -> Event | None:
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
    changes = missing_of_own(ports, note)
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


def _lost_links(ports: VaultPorts, note: Note, owned: Ownership) -> list[str]:
    texts = set(note.links)
    if all(record.text in texts for record in owned.links.values()):
        return []
    reached = _reached(ports, note.path, note.links)
    return [
        record.text
        for record in owned.links.values()
        if record.text not in texts and not _leads(ports, record, reached)
    ]


def _reached(ports: VaultPorts, source: str, links: Sequence[str]) -> set[str | None]:
    # Who gave a link other words, or a heading, made it their own.
    parsed = [parse_link(text) for text in links if not is_worded(text)]
    return {resolve(link.target, source, ports.index.names) for link in parsed if link is not None}


def _leads(ports: VaultPorts, record: LinkRecord, reached: set[str | None]) -> bool:
    """Whether a link still leads where the record says, as after a rename."""
    same = meant(ports.index.notes.find(record.target), record.target)
    return any(summary.path in reached for summary in same)
