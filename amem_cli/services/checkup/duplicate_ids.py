"""Finds notes that carry one id, and gives a copy an id of its own where the journal is clear."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial

from amem_cli.core.changes import NoteWrite
from amem_cli.core.errors import HeaderRefused, SettingsError
from amem_cli.core.finding import Finding
from amem_cli.core.header import find_fences, read_header
from amem_cli.core.identity import new_id, parse_moment
from amem_cli.core.journal import Change, Event, splice_between
from amem_cli.core.note import PropertyNames
from amem_cli.core.note_file import parse_note
from amem_cli.services.checkup.mending import OpenPorts
from amem_cli.services.checkup.reading import VaultReading
from amem_cli.services.recording import NoteDraft, new_event
from amem_cli.services.sync import refresh
from amem_cli.services.vault_ports import VaultPorts


def duplicate_findings(reading: VaultReading, ports: OpenPorts | None) -> Iterator[Finding]:
    """Every note whose id belongs to another note."""
    for note_id, paths in reading.ids.items():
        if len(paths) < 2:
            continue
        original = _original(reading.events.get(note_id, ()), paths)
        if original is None:
            yield _unclear(reading, note_id, paths)
            continue
        for copy in paths:
            if copy != original:
                yield Finding(
                    "ids",
                    copy,
                    f"has the id {note_id}, which the journal knows as that of {original}",
                    "If it is a copy, remove this line; amem gives the note an id of its own.",
                    _id_line(reading, copy),
                    mend=partial(_give_new_id, ports, copy, note_id, original) if ports else None,
                )


def _original(events: Sequence[Event], paths: Sequence[str]) -> str | None:
    """The one of these notes that the journal's events name."""
    named = {event.path for event in events} & set(paths)
    return named.pop() if len(named) == 1 else None


def _unclear(reading: VaultReading, note_id: str, paths: Sequence[str]) -> Finding:
    known = {event.path for event in reading.events.get(note_id, ())} & set(paths)
    why = "the journal names more than one of them" if known else "the journal knows none of them"
    return Finding(
        "ids",
        paths[-1],
        f"has the id {note_id}, and so has {', '.join(paths[:-1])}; {why}",
        f"Remove the line `{reading.names.id}:` from the note that is the copy.",
        _id_line(reading, paths[-1]),
    )


def _id_line(reading: VaultReading, path: str) -> int:
    raw = reading.vault.read(path).raw
    try:
        fences = find_fences(raw)
        header = read_header(raw, fences) if fences else None
    except HeaderRefused:
        return 0
    entry = header.entry(reading.names.id) if header else None
    return header.line(entry.start) if header and entry else 0


def _give_new_id(ports_of: OpenPorts, path: str, old: str, original: str) -> str:
    ports = ports_of()
    with ports.changes.locked():
        content = ports.vault.read(path)
        draft = NoteDraft(ports, content)
        kept = parse_note(original, ports.vault.read(original).raw, ports.names).id
        if draft.note.id != old or kept != old:
            raise SettingsError("the notes changed meanwhile", hint="Run `amem doctor` again.")
        fresh = new_id(_moment(ports, old), ports.index.notes.id_taken)
        raw = _with_id(content.raw, fresh, ports.names)
        event = new_event(ports, "edit", by="person", reason=f"the id {old} is that of {original}")
        event = replace(
            event,
            note=fresh,
            path=path,
            changes=(Change("id", old, fresh),),
            splice=splice_between(content.raw, raw, _sha(content.raw), _sha(raw)),
        )
        ports.changes.apply([NoteWrite(path, content.raw, raw)], [event])
        refresh(ports, [path])
    return f"Gave {path} the id {fresh}; nothing else in it changed."


def _moment(ports: VaultPorts, note_id: str) -> datetime:
    try:
        return parse_moment(note_id[:14])
    except ValueError:
        return ports.clock.now().replace(tzinfo=None)


def _with_id(raw: bytes, note_id: str, names: PropertyNames) -> bytes:
    """The note with another id in place of its own, and every other byte as it is.

    Raises:
        SettingsError: the id cannot be told apart from the rest of the header.
    """
    fences = find_fences(raw)
    header = read_header(raw, fences) if fences else None
    entry = header.entry(names.id) if header else None
    if fences is None or header is None or entry is None:
        raise SettingsError("the note has no id line", hint="Run `amem doctor` again.")
    text = header.text
    changed = text[: entry.value.start] + f'"{note_id}"' + text[entry.value.end :]
    after = raw[: fences.text_start] + changed.encode("utf-8") + raw[fences.text_end :]
    expected = replace(parse_note("", raw, names), id=note_id)
    if parse_note("", after, names) != expected:
        raise SettingsError("the id cannot be changed safely", hint="Change it by hand.")
    return after


def _sha(raw: bytes) -> str:
    return hashlib.sha256(raw).hexdigest()
