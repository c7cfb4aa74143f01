"""Drafts changes of links that the machine made earlier: of strength, of relation, or removal."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from amem_cli.core.index_port import MemoryIndex
from amem_cli.core.journal import Event, LinkRecord
from amem_cli.core.note import Note
from amem_cli.core.ownership import Ownership
from amem_cli.core.resolution import resolve
from amem_cli.core.reversal import is_worded
from amem_cli.core.reweighing import LinkChange, changed_record
from amem_cli.core.wikilinks import parse_link
from amem_cli.services.outcome import ChangedLink
from amem_cli.services.owned import owned_by_machine
from amem_cli.services.recording import NoteDraft

MakeEvent = Callable[..., Event]


def weighed(
    index: MemoryIndex, note: Note, owned: Ownership, changes: Sequence[LinkChange]
) -> Iterator[tuple[LinkChange, LinkRecord, LinkRecord | None]]:
    """The changes of a note's links that may be made, with the records before and after.

    A link that a person made, worded, or wants as it is stays; so does one whose very text stands
    there twice, for nobody can tell whose is whose.

    Yields:
        The record before with the text as it stands in the note now; None after where it goes.
    """
    seen = set()
    for change in changes:
        record = owned_link(index, note, owned, change.target)
        if record is None or record.target in seen or record.target in owned.kept:
            continue
        seen.add(record.target)
        after = changed_record(record, change)
        if after != record:
            yield change, record, after


def owned_link(index: MemoryIndex, note: Note, owned: Ownership, target: str) -> LinkRecord | None:
    """The record of the machine's link from a note to another, as it stands in the note now.

    Args:
        target: path of the other note.
    """
    summary = index.notes.summary(target)
    keys = {target} if summary is None else {summary.key, summary.path}
    for record in owned.links.values():
        if record.by == "machine" and record.target in keys:
            text = _text(index, note, record, target)
            if text is not None:
                return LinkRecord(
                    record.target,
                    target,
                    text,
                    record.relation,
                    record.strength,
                    record.reason,
                )
    return None


def _text(index: MemoryIndex, note: Note, record: LinkRecord, target: str) -> str | None:
    """How the link is written now: a rename may have changed it."""
    if record.text in note.links:
        return record.text if note.links.count(record.text) == 1 else None
    leading = [
        text
        for text in note.links
        if not is_worded(text)
        and (link := parse_link(text)) is not None
        and resolve(link.target, note.path, index.names) == target
    ]
    return leading[0] if len(leading) == 1 else None


def draft_link_changes(
    draft: NoteDraft, index: MemoryIndex, changes: Sequence[LinkChange], event: MakeEvent
) -> list[ChangedLink]:
    """Draft the changes that may be made of a note's links, an event each.

    Args:
        event: makes an event of a reason and further fields.
    """
    note = draft.note
    owned = owned_by_machine(index, note.id or note.path, draft.events)
    made = []
    for change, before, after in weighed(index, note, owned, changes):
        if after is None:
            links = [text for text in draft.note.links if text != before.text]
            draft.change({"links": links}, event(reason=change.reason, links_before=(before,)))
        else:
            draft.note_down(event(reason=change.reason, links=(after,), links_before=(before,)))
        summary = index.notes.summary(change.target)
        title = change.target if summary is None else summary.title
        made.append(ChangedLink(note.path, change.target, title, before, after, change.reason))
    return made
