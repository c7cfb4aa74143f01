"""Finds links that lead to nothing, and removes the machine's own to notes that are gone."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Protocol

from amem_cli.doctor.finding import Finding
from amem_cli.doctor.reading import FoundLink, OpenPorts, ReadNote, VaultReading
from amem_cli.errors import SettingsError
from amem_cli.index.draft import NoteDraft, new_event
from amem_cli.index.sync import refresh
from amem_cli.journal.events import LinkRecord
from amem_cli.journal.provenance import provenance
from amem_cli.markdown.links import is_attachment, parse_link
from amem_cli.notes.names import name_key, resolve

# Likeness below which a name is no suggestion; looking is slow, so only for the first links.
_LIKENESS = 0.7
_SUGGESTIONS = 20
# More notes than these, and than a fifth of all, are seldom deleted on purpose.
LOST_AT_ONCE = 10


class FilePaths(Protocol):
    """The files and folders of a vault by their paths."""

    def holds(self, target: str) -> bool:
        """Whether a path ends with a link's target, with or without `.md`, in any case."""


def link_findings(
    reading: VaultReading, others: FilePaths, ports: OpenPorts | None
) -> Iterator[Finding]:
    """Every link to nothing, each target of a note once.

    Args:
        others: all files and folders of the vault; a link to one leads somewhere, if not to a
            memory.
    """
    suggestions = _Suggestions(reading)
    gone: list[tuple[Finding, str]] = []
    for path, each in reading.notes.items():
        broken: dict[tuple[str, str], FoundLink] = {}
        for link in each.links:
            if _is_broken(reading, path, link, others):
                broken.setdefault((link.kind, link.target), link)
        made = _machine_records(reading, each)
        for link in broken.values():
            record = made.get(link.text)
            line = link.line
            if link.kind != "wikilink":
                line = reading.property_line(path, reading.names.links, link.text)
            own = f"amem's own link [[{link.target}]] leads to no note"
            if record is None:
                message = f"the link [[{link.target}]] leads to no note"
                hint = f"{suggestions.near(link.target)}Correct the link, or write the note."
                yield Finding("links", path, message, hint, line)
            elif record.target in reading.ids:
                now = reading.ids[record.target][0]
                hint = f"The note is {now} now; rename it back, or link it again: amem link."
                yield Finding("links", path, own, hint, line)
            else:
                # A note that cannot be read just now is not gone.
                is_gone = reading.complete and not others.holds(record.path)
                mend = None
                if ports and is_gone:
                    mend = partial(_remove, ports, path, link.text, record.target)
                hint = "Remove the link, or bring the note back."
                finding = Finding("links", path, f"{own}; the note is gone", hint, line, mend=mend)
                gone.append((finding, record.target))
    yield from _unless_too_many(reading, gone)


def _is_broken(reading: VaultReading, path: str, link: FoundLink, others: FilePaths) -> bool:
    if is_attachment(link.target) or resolve(link.target, path, reading.table) is not None:
        return False
    return not others.holds(link.target)


def _unless_too_many(
    reading: VaultReading, gone: Sequence[tuple[Finding, str]]
) -> Iterator[Finding]:
    """What can be mended, unless so many notes are gone at once that a folder may be missing."""
    lost = len({target for _, target in gone})
    too_many = lost > max(LOST_AT_ONCE, len(reading.notes) // 5)
    for finding, _ in gone:
        if too_many:
            hint = f"{lost} notes that amem linked to are gone. Is a folder missing?"
            finding = replace(finding, hint=hint, mend=None)
        yield finding


def _machine_records(reading: VaultReading, each: ReadNote) -> dict[str, LinkRecord]:
    """Records of the links that the machine made, by their text in the note's property."""
    if each.note.refused is not None:
        return {}
    links = provenance(reading.own_events(each.note)).links.values()
    return {record.text: record for record in links if record.by == "machine"}


def _remove(ports_of: OpenPorts, path: str, text: str, target: str) -> str:
    ports = ports_of()
    with ports.changes.locked():
        draft = NoteDraft(ports, ports.vault.read(path))
        record = provenance(ports.index.events.read(draft.note.id or path)).links.get(target)
        parsed = parse_link(text)
        leads = parsed is not None and resolve(parsed.target, path, ports.index.names) is not None
        if record is None or record.by != "machine" or record.text != text or leads:
            raise SettingsError("the link changed meanwhile", hint="Run `amem doctor` again.")
        kept = [each for each in draft.note.links if each != text]
        event = new_event(ports, "link", trigger=target, reason=f"{record.path} is gone")
        if not draft.change({"links": kept}, event):
            raise SettingsError("the link is not there any more", hint="Run `amem doctor` again.")
        ports.changes.apply(draft.write(), draft.events)
        refresh(ports, [path])
    return f"Removed {text} from the links of {path}."


class _Suggestions:
    """Names of notes that are spelled nearly alike."""

    def __init__(self, reading: VaultReading) -> None:
        self._names = {
            name_key(path): path.rpartition("/")[2].removesuffix(".md") for path in reading.notes
        }
        self._left = _SUGGESTIONS

    def near(self, target: str) -> str:
        """A question that names a note or two as links, or nothing."""
        if self._left == 0:
            return ""
        self._left -= 1
        keys: Sequence[str] = difflib.get_close_matches(
            name_key(target), self._names, n=2, cutoff=_LIKENESS
        )
        near = " or ".join(f"[[{self._names[key]}]]" for key in keys)
        return f"Did you mean {near}? " if near else ""
