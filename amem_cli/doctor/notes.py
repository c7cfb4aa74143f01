"""Checks the notes' files: what cannot be read, conflicts, headers, names, ids used twice."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from functools import partial

from amem_cli.doctor.finding import Finding, from_problem
from amem_cli.doctor.reading import OpenPorts, VaultReading
from amem_cli.errors import SettingsError
from amem_cli.index.draft import NoteDraft, VaultPorts, new_event
from amem_cli.index.sync import refresh
from amem_cli.journal.events import Change
from amem_cli.language.dates import new_id, parse_moment
from amem_cli.notes.codec import parse_note
from amem_cli.notes.front_matter import find_fences, read_header
from amem_cli.notes.names import conflict_copy, is_linkable
from amem_cli.notes.note import PropertyNames

# What Windows refuses anywhere in a path, and the names that it takes for devices.
_NOT_ON_WINDOWS = re.compile(r'[<>:"\\|?*\x00-\x1f]|[ .](?:/|\Z)')
_DEVICE = re.compile(
    r"(?:\A|/)(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(?: *\.[^/]*)?(?=/|\Z)", re.IGNORECASE
)
_LINK_MESSAGE = "symbolic link"
_TEMPLATE_MESSAGE = "the header is a template's"


def file_findings(reading: VaultReading) -> Iterator[Finding]:
    """Files that look like notes but are none, and what cannot be read."""
    for problem in reading.problems:
        if conflict_copy(problem.path.rpartition("/")[2]):
            continue
        if _LINK_MESSAGE in problem.message:
            hint = "Put the note itself into the vault if it shall be a memory."
            yield Finding("files", problem.path, problem.message, hint, severity="notice")
        else:
            unread = problem.message.startswith(("cannot read", "cannot be read"))
            hint = "Check its permissions, and the disk." if unread else "Move it elsewhere."
            yield from_problem("files", problem, hint=hint)


def conflict_findings(reading: VaultReading) -> Iterator[Finding]:
    """Copies that a synchronising program made of a conflict, and conflicts of git in a text."""
    for problem in reading.problems:
        if conflict_copy(problem.path.rpartition("/")[2]):
            yield from_problem("conflicts", problem)
    for path, each in reading.notes.items():
        if each.conflict_line:
            yield Finding(
                "conflicts",
                path,
                "holds an unresolved conflict of git's",
                "Keep what is right between <<<<<<< and >>>>>>>, remove the marks, and save.",
                each.conflict_line,
            )


def header_findings(reading: VaultReading) -> Iterator[Finding]:
    """Headers that the program will not write to, and properties that hold something odd."""
    for each in reading.notes.values():
        refused = each.note.refused
        # A conflict in the header is told by the check on conflicts.
        if refused is not None and not each.conflict_line:
            found = from_problem("headers", refused)
            # A template is as it should be, wherever the user keeps it.
            is_template = refused.message == _TEMPLATE_MESSAGE
            yield replace(found, severity="notice") if is_template else found
        for problem in each.note.problems:
            yield from_problem("headers", problem)
        if each.cut:
            message = "is larger than 2 MiB; its beginning is searchable, it is never edited"
            yield Finding("headers", each.note.path, message, "Split the note.")


def name_findings(reading: VaultReading) -> Iterator[Finding]:
    """Names that clash on another system, and names that another system cannot hold."""
    same: dict[str, list[str]] = {}
    for path in sorted(reading.notes):
        folded = unicodedata.normalize("NFC", unicodedata.normalize("NFC", path).casefold())
        same.setdefault(folded, []).append(path)
    for first, *others in same.values():
        if others:
            yield Finding(
                "names",
                first,
                f"has the same name as {', '.join(others)}, but for case or the form of accents",
                "Rename one of them; on Windows or macOS one would replace the other.",
            )
    for path in reading.notes:
        if not is_linkable(path):
            yield Finding(
                "names",
                path,
                "has a name that no link can hold",
                "Rename it without # ^ [ ] | ` and without blanks at its ends.",
            )
        elif _NOT_ON_WINDOWS.search(path) or _DEVICE.search(path.removesuffix(".md")):
            yield Finding(
                "names",
                path,
                "has a name that Windows cannot hold",
                "Rename it if the vault shall ever be opened there.",
                severity="notice",
            )


def duplicate_findings(reading: VaultReading, ports: OpenPorts | None) -> Iterator[Finding]:
    """Every note whose id belongs to another note."""
    for note_id, paths in reading.ids.items():
        if len(paths) < 2:
            continue
        known = {event.path for event in reading.events.get(note_id, ())}.intersection(paths)
        if len(known) != 1:
            why = f"the journal {'names more than one' if known else 'knows none'} of them"
            yield Finding(
                "ids",
                paths[-1],
                f"has the id {note_id}, and so has {', '.join(paths[:-1])}; {why}",
                f"Remove the line `{reading.names.id}:` from the note that is the copy.",
                reading.property_line(paths[-1], reading.names.id),
            )
            continue
        (original,) = known
        for copy in paths:
            if copy != original:
                yield Finding(
                    "ids",
                    copy,
                    f"has the id {note_id}, which the journal knows as that of {original}",
                    "If it is a copy, remove this line; amem gives the note an id of its own.",
                    reading.property_line(copy, reading.names.id),
                    mend=partial(_give_new_id, ports, copy, note_id, original) if ports else None,
                )


def _give_new_id(ports_of: OpenPorts, path: str, old: str, original: str) -> str:
    ports = ports_of()
    with ports.changes.locked():
        draft = NoteDraft(ports, ports.vault.read(path))
        kept = parse_note(original, ports.vault.read(original).raw, ports.names).id
        if draft.note.id != old or kept != old:
            raise SettingsError("the notes changed meanwhile", hint="Run `amem doctor` again.")
        fresh = new_id(_moment(ports, old), ports.index.notes.id_taken)
        event = new_event(ports, "edit", by="person", reason=f"the id {old} is that of {original}")
        raw = _with_id(draft.raw, fresh, ports.names)
        draft.restore(raw, event, (Change("id", old, fresh),))
        ports.changes.apply(draft.write(), [replace(each, note=fresh) for each in draft.events])
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
