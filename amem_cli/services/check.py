"""Compares the index with the vault without writing to either."""

from __future__ import annotations

from amem_cli.core.errors import AmemError, Problem
from amem_cli.core.index_records import NoteRecord
from amem_cli.services.sync import note_record
from amem_cli.services.vault_ports import VaultPorts


def check_index(ports: VaultPorts) -> list[str]:
    """Every difference between index and vault, one line each, by path.

    Each note is read whole; its times are not trusted.
    """
    problems: list[Problem] = []
    known = ports.index.files.states()
    present = {state.path for state in ports.vault.scan(problems)}
    differences = [f"the index file: {damage}" for damage in ports.index.damage()]
    differences += [f"{path}: not in the index" for path in present - set(known)]
    differences += [f"{path}: in the index, but gone" for path in set(known) - present]
    for path in present & set(known):
        try:
            content = ports.vault.read(path)
        except AmemError as error:
            differences.append(f"{path}: {error.message}")
            continue
        if content.sha != known[path].sha:
            differences.append(f"{path}: changed since it was indexed")
        else:
            differences += _stored_differences(ports, path, note_record(content, 0, ports.names))
    news = ports.journal.read_new(ports.index.events.journal_positions(), problems)
    if news.restarted:
        differences.append(".amem/journal: not the journal that was indexed")
    differences += [
        f".amem/journal/{file.name}: events not in the index" for file in news.files if file.events
    ]
    return sorted(differences)


def _stored_differences(ports: VaultPorts, path: str, record: NoteRecord) -> list[str]:
    summary, note = ports.index.notes.summary(path), record.note
    if summary is None:
        return [f"{path}: not in the index"]
    pairs = {
        "id": (summary.id, note.id),
        "title": (summary.title, note.title),
        "keywords": (summary.keywords, note.keywords),
        "tags": (summary.tags, note.tags),
        "context": (summary.context, note.context),
        "links": (tuple(ports.index.links.written(path)), record.links),
        "text": (tuple(ports.index.text.passages(path)), record.passages),
    }
    return [f"{path}: {name} differs" for name, (stored, read) in pairs.items() if stored != read]
