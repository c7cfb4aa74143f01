"""The machine's links follow a note that another program has renamed."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import replace
from functools import cache

from amem_cli.editing.edit import drafted
from amem_cli.errors import AmemError
from amem_cli.index.draft import id_is_shared, new_event
from amem_cli.index.memory_index import VaultPorts
from amem_cli.index.records import NoteSummary, with_key
from amem_cli.journal.events import FOLLOWS, LinkRecord
from amem_cli.journal.provenance import is_worded
from amem_cli.markdown.links import format_link
from amem_cli.memory.plan import target_of
from amem_cli.notes.names import is_linkable, shortest_target

_Renamed = list[tuple[LinkRecord, NoteSummary]]


def update_renamed_links(ports: VaultPorts, targets: Set[str] | None = None) -> list[str]:
    """Rewrite the machine's links that a rename left behind; the paths of their notes.

    Obsidian rewrites links itself when it renames a note, so a watcher calls this a moment later. A
    link that leads to its note under any spelling stays, and so does one with a person's words.

    Args:
        targets: keys (id or path) of the notes that moved; None for every link of the machine.
    """
    renamed: dict[str, _Renamed] = {}
    moves = cache(ports.index.files.moves)
    for (source, key), record in ports.index.link_history.records().items():
        if record.by != "machine":
            continue
        same = with_key(ports.index.notes.find(key), key)
        if not same and key in moves():
            # The link was made before the note had an id.
            same = with_key(ports.index.notes.find(moves()[key]), moves()[key])
        if targets is not None and targets.isdisjoint((key, *(note.key for note in same))):
            continue
        # With one id on two notes, nobody can tell which of them the link means.
        if len(same) != 1 or id_is_shared(ports.index, key) or not is_linkable(same[0].path):
            continue
        if same[0].path not in (source, target_of(record.text, source, ports.index)):
            renamed.setdefault(source, []).append((record, same[0]))
    changed, failed = [], False
    for source, records in renamed.items():
        try:
            if _update_links(ports, source, records):
                changed.append(source)
        except AmemError:
            # A note that is being edited or cannot be written keeps its link for now.
            failed = True
    if targets is None and not failed:
        with ports.index.changing():
            ports.index.files.set_links_follow()
    return changed


def _update_links(ports: VaultPorts, source: str, renamed: _Renamed) -> bool:
    with drafted(ports, source) as draft:
        texts = list(draft.note.links)
        reached = {target_of(text, source, ports.index) for text in texts}
        updates = [
            (record, replace(record, target=note.key, path=note.path, text=format_link(target)))
            for record, note in renamed
            if record.text in texts and not is_worded(record.text) and note.path not in reached
            for target in (shortest_target(note.path, ports.index.names),)
        ]
        if not updates:
            return False
        # Another note may have taken the old name; a link to it stays.
        moved = {record.target for record, _ in renamed}
        records = ports.index.link_history.records(source).items()
        others = {record.text for (_, key), record in records if key not in moved}
        for before, record in updates:
            if before.text in texts and before.text not in others:
                texts[texts.index(before.text)] = record.text
            else:
                texts.append(record.text)
        names = "a note" if len(updates) == 1 else f"{len(updates)} notes"
        event = new_event(
            ports,
            "link",
            trigger=updates[0][1].target,
            reason=f"{FOLLOWS}{names} to the new name",
            links=tuple(record for _, record in updates),
        )
        return draft.change({"links": list(dict.fromkeys(texts))}, event)
