"""Checks one note as it is in an editor, quickly enough to do so while somebody types."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial

from amem_cli.doctor.finding import Finding, from_problem
from amem_cli.doctor.notes import follow_rename, give_new_id, remove_link
from amem_cli.errors import HeaderRefused, UnsafePath
from amem_cli.index.memory_index import VaultPorts
from amem_cli.journal.events import LinkRecord
from amem_cli.journal.provenance import provenance
from amem_cli.markdown.links import WikiLink, is_attachment, target_span
from amem_cli.markdown.outline import all_links
from amem_cli.markdown.regions import conflict_line
from amem_cli.notes.front_matter import find_fences, read_header
from amem_cli.notes.names import (
    NameTable,
    conflict_copy,
    name_key,
    resolve,
    shortest_target,
    without_conflict_mark,
)
from amem_cli.notes.note import Note, body_place, parse_note
from amem_cli.search.search import supersessions

_LIKENESS = 0.7
_OFFERED = 3


@dataclass(frozen=True, slots=True)
class Replacement:
    """A stretch of the text in other words, which puts a finding right."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class PlacedFinding:
    """A finding with its place in the text.

    Attributes:
        finding: with a `fix` where amem can repair the file.
        start, end: a slice of the text.
        outdated: what is there was right once; it leads to a note that another one replaces.
        replacements: of which each would put it right.
        missing: the target of a link that leads nowhere; else empty.
    """

    finding: Finding
    start: int
    end: int
    outdated: bool = False
    replacements: tuple[Replacement, ...] = ()
    missing: str = ""


def note_findings(ports: VaultPorts, path: str, text: str) -> list[PlacedFinding]:
    """What is wrong with one note.

    Args:
        text: the whole note as it is now, saved or not.

    Returns:
        Findings as `amem doctor` has them, in its order of checks.
    """
    body = body_place(text)
    raw = text.encode("utf-8", "replace")
    note = parse_note(path, raw, ports.names)
    found = [*_conflicts(path, text), *_header(note, text)]
    found += _ids(ports, note, text, raw)
    links = all_links(text, body)
    return [*found, *_broken(ports, note, text, links, body), *_outdated(ports, path, text, links)]


def similar_notes(ports: VaultPorts, found: PlacedFinding) -> list[Replacement]:
    """Notes with names like that of a link which leads nowhere, as replacements of its target.

    Compares with every name, which takes a while.
    """
    names = {name_key(note.path): note.path for note in ports.index.notes.outlines()}
    near = difflib.get_close_matches(name_key(found.missing), names, _OFFERED, _LIKENESS)
    return [
        Replacement(found.start, found.end, shortest_target(names[key], ports.index.names))
        for key in near
    ]


def _line(text: str, number: int) -> tuple[int, int]:
    """A 1-based line as a slice of the text, without its end; the first line for none."""
    start = 0
    for _ in range(number - 1):
        start = text.find("\n", start) + 1
        if not start:
            return 0, 0
    end = text.find("\n", start)
    return start, end if end >= 0 else len(text)


def _conflicts(path: str, text: str) -> Iterator[PlacedFinding]:
    name = path.rpartition("/")[2]
    if conflict_copy(name):
        original = without_conflict_mark(name)
        message = f"is a conflict copy of {original}, and no note"
        hint = f"Take over what {original} lacks, and delete this file."
        yield PlacedFinding(Finding(path, message, hint, check="conflicts"), *_line(text, 1))
    if line := conflict_line(text):
        hint = "Keep what is right between <<<<<<< and >>>>>>>, remove the marks, and save."
        finding = Finding(path, "has an unresolved git conflict", hint, line, check="conflicts")
        yield PlacedFinding(finding, *_line(text, line))


def _header(note: Note, text: str) -> Iterator[PlacedFinding]:
    if conflict_line(text):
        return
    for problem in (*([note.refused] if note.refused else ()), *note.problems):
        finding = replace(from_problem(problem), check="headers")
        yield PlacedFinding(finding, *_line(text, problem.line or 1))


def _ids(ports: VaultPorts, note: Note, text: str, raw: bytes) -> Iterator[PlacedFinding]:
    if note.id is None:
        return
    same = [each.path for each in ports.index.notes.find(note.id) if each.id == note.id]
    others = [path for path in same if path != note.path]
    if not others:
        return
    paths = [*others, note.path]
    known = {event.path for event in ports.index.events.read(note.id)}.intersection(paths)
    line = _line(text, _property_line(raw, ports.names.id))
    if len(known) == 1 and note.path not in known:
        (original,) = known
        message = f"has the id {note.id}, which belongs to {original} according to the journal"
        hint = "If it is a copy, remove this line; amem then gives the note a new id."
        fix = partial(give_new_id, lambda: ports, note.path, note.id, original)
        yield PlacedFinding(Finding(note.path, message, hint, fix=fix, check="ids"), *line)
    elif len(known) != 1:
        message = f"has the id {note.id}, and so has {', '.join(others)}"
        hint = f"Remove the line `{ports.names.id}:` from the note that is the copy."
        yield PlacedFinding(Finding(note.path, message, hint, check="ids"), *line)


def _property_line(raw: bytes, name: str) -> int:
    try:
        fences = find_fences(raw)
        header = read_header(raw, fences) if fences else None
    except HeaderRefused:
        return 0
    entry = header.entry(name) if header else None
    return header.line(entry.start) if header and entry else 0


def _broken(
    ports: VaultPorts, note: Note, text: str, links: list[WikiLink], body: int
) -> Iterator[PlacedFinding]:
    moves: NameTable | None = None
    records: dict[str, LinkRecord] = {}
    for link in links:
        if not link.target or is_attachment(link.target) or _leads(ports, link, note.path):
            continue
        start, end = target_span(text, link)
        if moves is None:
            moves = NameTable((former, (), "") for former in ports.index.files.moves())
            owned = provenance(ports.index.events.read(note.id or note.path))
            records = {each.text: each for each in owned.links.values() if each.by == "machine"}
        # amem's own links stand in the properties.
        record = records.get(text[link.start : link.end]) if link.start < body else None
        former = resolve(link.target, note.path, moves) if record is None else record.path
        now = ports.index.files.moves().get(former or "")
        if now is None or ports.index.notes.summary(now) is None:
            yield _missing(ports, note.path, link, (start, end), record)
            continue
        message = f"the note of the link [[{link.target}]] was moved and is now {now}"
        target = shortest_target(now, ports.index.names)
        if record is None:
            finding = Finding(note.path, message, f"Write [[{target}]].", check="links")
            yield PlacedFinding(
                finding, start, end, replacements=(Replacement(start, end, target),)
            )
        else:
            fix = partial(follow_rename, lambda: ports, note.path, record.text, now)
            hint = "amem's link can be rewritten."
            yield PlacedFinding(
                Finding(note.path, message, hint, fix=fix, check="links"), start, end
            )


def _missing(
    ports: VaultPorts, path: str, link: WikiLink, place: tuple[int, int], record: LinkRecord | None
) -> PlacedFinding:
    """A link to a note that is not there."""
    if record is None:
        message = f"the link [[{link.target}]] leads to no note"
        finding = Finding(path, message, "Correct the link, or write the note.", check="links")
        return PlacedFinding(finding, *place, missing=link.target)
    message = f"amem's link [[{link.target}]] leads to no note; the note is gone"
    fix = partial(remove_link, lambda: ports, path, record.text, record.target)
    hint = "Remove the link, or bring the note back."
    return PlacedFinding(Finding(path, message, hint, fix=fix, check="links"), *place)


def _leads(ports: VaultPorts, link: WikiLink, source: str) -> bool:
    """Whether a link leads to a note, or to another file that is there."""
    if resolve(link.target, source, ports.index.names) is not None:
        return True
    try:
        return ports.vault.exists(link.target.lstrip("/"))
    except UnsafePath:
        return False


def _outdated(
    ports: VaultPorts, path: str, text: str, links: list[WikiLink]
) -> Iterator[PlacedFinding]:
    leads = {link: resolve(link.target, path, ports.index.names) for link in links if link.target}
    targets = {target for target in leads.values() if target is not None} - {path}
    if not targets:
        return
    known = supersessions(ports.index, sorted(targets))
    for link, target in leads.items():
        newer = known[target].superseded_by if target in known else ()
        # The note that replaces the older one has to name it.
        if not newer or any(each.path == path for each in newer):
            continue
        names = " and ".join(f"“{each.title}”" for each in newer)
        start, end = target_span(text, link)
        finding = Finding(
            path,
            f"the note of the link [[{link.target}]] is superseded by {names}",
            "Link to the newer note, if that is meant.",
            severity="notice",
            check="superseded",
        )
        replacements = tuple(
            Replacement(start, end, shortest_target(each.path, ports.index.names)) for each in newer
        )
        yield PlacedFinding(finding, start, end, outdated=True, replacements=replacements)
