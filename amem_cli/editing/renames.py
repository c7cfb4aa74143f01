"""Lets links that the machine wrote follow notes that were renamed or moved."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace

from amem_cli.errors import AmemError
from amem_cli.index.draft import NoteDraft, VaultPorts, id_is_shared, new_event
from amem_cli.index.records import NoteSummary, with_key
from amem_cli.index.sync import refresh
from amem_cli.journal.events import Event, LinkRecord
from amem_cli.journal.undo_rules import is_worded
from amem_cli.markdown.links import format_link, parse_link
from amem_cli.notes.names import is_linkable, resolve, shortest_target


def follow_moves(ports: VaultPorts, targets: Collection[str] | None = None) -> list[str]:
    """Rewrite the machine's links that a rename left behind.

    Obsidian rewrites links itself when it renames a note, so this is for what was renamed outside
    of it, and comes after a moment. A link that leads to its note under any spelling stays.

    Args:
        targets: keys (id or path) of the notes that moved; None for every link of the machine.

    Returns:
        Paths of the notes whose links were rewritten.
    """
    changed: list[str] = []
    for source, records in _left_behind(ports, targets).items():
        try:
            if _follow(ports, source, records):
                changed.append(source)
        except AmemError:
            # A note that is being edited or cannot be written keeps its link for now.
            continue
    return changed


def _left_behind(
    ports: VaultPorts, targets: Collection[str] | None
) -> dict[str, list[tuple[LinkRecord, NoteSummary]]]:
    found: dict[str, list[tuple[LinkRecord, NoteSummary]]] = {}
    for (source, key), record in ports.index.link_history.records().items():
        if record.by != "machine" or (targets is not None and key not in targets):
            continue
        target = _target(ports, key)
        if target is None or target.path == source or _leads(ports, record, source, target):
            continue
        found.setdefault(source, []).append((record, target))
    return found


def _target(ports: VaultPorts, key: str) -> NoteSummary | None:
    same = with_key(ports.index.notes.find(key), key)
    if len(same) != 1 or id_is_shared(ports.index, key) or not is_linkable(same[0].path):
        return None
    return same[0]


def _leads(ports: VaultPorts, record: LinkRecord, source: str, target: NoteSummary) -> bool:
    parsed = parse_link(record.text)
    return parsed is not None and resolve(parsed.target, source, ports.index.names) == target.path


def _follow(ports: VaultPorts, source: str, records: list[tuple[LinkRecord, NoteSummary]]) -> bool:
    with ports.changes.locked():
        draft = NoteDraft(ports, ports.vault.read(source))
        texts = list(draft.note.links)
        written = [
            (record, replace(record, path=target.path, text=text))
            for record, target in records
            for text in _new_text(ports, draft, record, target)
        ]
        if not written:
            return False
        others = _texts_of_others(ports, source, {record.target for record, _ in records})
        for old, new in written:
            if old.text in texts and old.text not in others:
                texts[texts.index(old.text)] = new.text
            else:
                texts.append(new.text)
        event = _event(ports, [new for _, new in written])
        if not draft.change({"links": list(dict.fromkeys(texts))}, event):
            return False
        ports.changes.apply(draft.write(), draft.events)
        refresh(ports, [source])
    return True


def _texts_of_others(ports: VaultPorts, source: str, moved: Collection[str]) -> set[str]:
    """Links to notes that did not move; one of them may have taken the name of one that did."""
    records = ports.index.link_history.records(source).items()
    return {record.text for (_, key), record in records if key not in moved}


def _new_text(
    ports: VaultPorts, draft: NoteDraft, record: LinkRecord, target: NoteSummary
) -> Iterator[str]:
    """The link as it is to be written; nothing where it is gone, or leads to the note already."""
    links = draft.note.links
    if record.text not in links or is_worded(record.text):
        return
    parsed = [parse_link(text) for text in links]
    reached = {resolve(link.target, draft.path, ports.index.names) for link in parsed if link}
    if target.path not in reached:
        yield format_link(shortest_target(target.path, ports.index.names))


def _event(ports: VaultPorts, records: list[LinkRecord]) -> Event:
    names = "a note" if len(records) == 1 else f"{len(records)} notes"
    return new_event(
        ports,
        "link",
        trigger=records[0].target,
        reason=f"follows {names} to the new name",
        links=tuple(records),
    )
