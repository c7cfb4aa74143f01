"""Checks one note, as it is in its file or in an editor, quickly enough for somebody who types."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial

from amem_cli.doctor.finding import Finding, from_problem
from amem_cli.doctor.note_fixes import (
    OpenPorts,
    follow_by_hand,
    follow_rename,
    give_new_id,
    remove_link,
)
from amem_cli.errors import HeaderRefused, UnsafePath
from amem_cli.index.memory_index import VaultPorts
from amem_cli.index.records import with_key
from amem_cli.journal.events import LinkRecord
from amem_cli.journal.provenance import provenance
from amem_cli.markdown.links import WikiLink, is_attachment, target_span
from amem_cli.markdown.regions import conflict_line
from amem_cli.notes.front_matter import header_of
from amem_cli.notes.names import (
    NameTable,
    conflict_copy,
    name_key,
    resolve,
    shortest_target,
    without_conflict_mark,
)
from amem_cli.notes.note import Note, body_place, parse_note
from amem_cli.notes.note_links import all_links
from amem_cli.search.search import Supersession, supersessions

# Least likeness of a suggested name.
_LIKENESS = 0.7
_OFFERED = 3
_TEMPLATE_MESSAGE = "the header is a template's"


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
        missing: the target of a person's link that leads nowhere; else empty.
        gone: amem's link, if its note is gone.
        same: paths of the notes that have one id, if nobody knows whose it is.
    """

    finding: Finding
    start: int
    end: int
    outdated: bool = False
    replacements: tuple[Replacement, ...] = ()
    missing: str = ""
    gone: LinkRecord | None = None
    same: tuple[str, ...] = ()


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


class NoteChecks:
    """What is wrong with single notes of a vault.

    Args:
        ports: the vault as it is looked at.
        open_ports: the vault for repairs; `ports` themselves if None.
        holds: whether a link's target is another file of the vault.
    """

    def __init__(
        self,
        ports: VaultPorts,
        open_ports: OpenPorts | None = None,
        holds: Callable[[str], bool] | None = None,
    ) -> None:
        self._ports = ports
        self._open_ports = open_ports or (lambda: ports)
        self._holds = holds or self._exists

    def findings(self, path: str, text: str, raw: bytes | None = None) -> Iterator[PlacedFinding]:
        """What is wrong with a note, in the order of `amem doctor`'s checks.

        Args:
            text: the whole note as it is now, saved or not.
            raw: its bytes, if they may hold what is not UTF-8.
        """
        raw = text.encode("utf-8", "replace") if raw is None else raw
        note = parse_note(path, raw, self._ports.names)
        yield from _conflicts(path, text)
        yield from _header(note, text)
        yield from self._ids(note, text, raw)
        yield from self._links(note, text)

    def outdated(self, path: str, text: str) -> Iterator[PlacedFinding]:
        """Links to notes that others replace."""
        ports, links = self._ports, all_links(text, body_place(text))
        leads = {link: resolve(link.target, path, ports.index.names) for link in links}
        targets = {target for link, target in leads.items() if link.target and target} - {path}
        known = supersessions(ports.index, sorted(targets)) if targets else {}
        for link, target in leads.items():
            newer = known.get(target or "", Supersession()).superseded_by
            # The note that replaces the older one has to name it.
            if not newer or any(each.path == path for each in newer):
                continue
            titles = " and ".join(f"“{each.title}”" for each in newer)
            message = f"the note of the link [[{link.target}]] is superseded by {titles}"
            hint = "Link to the newer note, if that is meant."
            finding = Finding(path, message, hint, severity="notice", check="superseded")
            start, end = target_span(text, link)
            replacements = tuple(
                Replacement(start, end, shortest_target(each.path, ports.index.names))
                for each in newer
            )
            yield PlacedFinding(finding, start, end, outdated=True, replacements=replacements)

    def _ids(self, note: Note, text: str, raw: bytes) -> Iterator[PlacedFinding]:
        if note.id is None:
            return
        same = [each for each in self._ports.index.notes.find(note.id) if each.id == note.id]
        paths = sorted({note.path, *(each.path for each in same)})
        others = [path for path in paths if path != note.path]
        if not others:
            return
        known = {event.path for event in self._ports.index.events.read(note.id)} & {*paths}
        line = _line(text, property_line(raw, self._ports.names.id))
        originals = [each for each in others if _is_named_after(note.path, each)]
        if len(known) != 1 and originals:
            name = originals[0]
            message = f"is most likely a copy of {name}, whose id {note.id} it has"
            hint = (
                f"Take over what {name} lacks, and delete this file; or remove its line"
                f" `{self._ports.names.id}:`, and both stay."
            )
            yield PlacedFinding(Finding(note.path, message, hint, check="conflicts"), *line)
        elif len(known) != 1:
            # Copies are told by themselves.
            rest = [path for path in paths if not any(_is_named_after(path, o) for o in paths)]
            others = [path for path in rest if path != note.path]
            if not others:
                return
            why = f"the journal {'names more than one' if known else 'knows none'} of them"
            message = f"has the id {note.id}, and so has {', '.join(others)}; {why}"
            hint = f"Remove the line `{self._ports.names.id}:` from the note that is the copy."
            finding = Finding(note.path, message, hint, check="ids")
            yield PlacedFinding(finding, *line, same=tuple(rest))
        elif note.path not in known:
            (original,) = known
            message = f"has the id {note.id}, which belongs to {original} according to the journal"
            hint = "If it is a copy, remove this line; amem then gives the note a new id."
            if _is_named_after(note.path, original):
                hint = f"First take over what {original} lacks, if both were edited. {hint}"
            fix = partial(give_new_id, self._open_ports, note.path, note.id, original)
            yield PlacedFinding(Finding(note.path, message, hint, fix=fix, check="ids"), *line)

    def _links(self, note: Note, text: str) -> Iterator[PlacedFinding]:
        index, body = self._ports.index, body_place(text)
        records: dict[str, LinkRecord] = {}
        if note.refused is None:
            owned = provenance(index.events.read(note.id or note.path)).links.values()
            records = {each.text: each for each in owned if each.by == "machine"}
        links = all_links(text, body)
        leads = {link: resolve(link.target, note.path, index.names) for link in links}
        reached = {note.path, *leads.values()}
        for link, target in leads.items():
            # amem's own links stand in the properties.
            record = records.get(text[link.start : link.end]) if link.start < body else None
            now = self._place_of(record) if record is not None else ""
            if target is None and link.target and not is_attachment(link.target):
                if not self._holds(link.target):
                    yield self._broken(note.path, link, target_span(text, link), record)
            elif record is not None and target is not None and now and now not in reached:
                message = f"amem's link {record.text} leads to {target}; its note is now {now}"
                place = target_span(text, link)
                yield self._to_rewrite(note.path, message, record, now, place)

    def _broken(
        self, path: str, link: WikiLink, place: tuple[int, int], record: LinkRecord | None
    ) -> PlacedFinding:
        former = resolve(link.target, path, self._former) if record is None else record.path
        now = (record and self._place_of(record)) or self._moves.get(former or "")
        if now is not None and self._ports.index.notes.summary(now) is not None:
            message = f"the note of the link [[{link.target}]] was moved and is now {now}"
            if record is not None:
                return self._to_rewrite(path, message, record, now, place)
            target = shortest_target(now, self._ports.index.names)
            hint = f"The link is yours: write [[{target}]], or let `amem doctor --fix` ask you."
            replacements = (Replacement(*place, target),)
            fix = partial(follow_by_hand, self._open_ports, path, former or "", now)
            finding = Finding(path, message, hint, fix=fix, asks=True, check="links")
            return PlacedFinding(finding, *place, replacements=replacements)
        if record is None:
            message = f"the link [[{link.target}]] leads to no note"
            finding = Finding(path, message, "Correct the link, or write the note.", check="links")
            return PlacedFinding(finding, *place, missing=link.target)
        message = f"amem's link [[{link.target}]] leads to no note; the note is gone"
        fix = partial(remove_link, self._open_ports, path, record.text, record.target)
        hint = "Remove the link, or bring the note back."
        finding = Finding(path, message, hint, fix=fix, check="links")
        return PlacedFinding(finding, *place, gone=record)

    def _to_rewrite(
        self, path: str, message: str, record: LinkRecord, now: str, place: tuple[int, int]
    ) -> PlacedFinding:
        # With one id on two notes, nobody can tell which of them the link means.
        same = with_key(self._ports.index.notes.find(record.target), record.target)
        fix = partial(follow_rename, self._open_ports, path, record.text, now)
        hint = "amem's link can be rewritten: amem doctor --fix"
        finding = Finding(path, message, hint, fix=fix if len(same) < 2 else None, check="links")
        return PlacedFinding(finding, *place)

    def _place_of(self, record: LinkRecord) -> str:
        """Where the note of a link is now; empty if it is gone, or one of two copies."""
        same = with_key(self._ports.index.notes.find(record.target), record.target)
        return same[0].path if len(same) == 1 else ""

    @cached_property
    def _moves(self) -> Mapping[str, str]:
        return self._ports.index.files.moves()

    @cached_property
    def _former(self) -> NameTable:
        return NameTable((path, (), "") for path in self._moves)

    def _exists(self, target: str) -> bool:
        try:
            return self._ports.vault.exists(target.lstrip("/"))
        except UnsafePath:
            return False


def _is_named_after(path: str, original: str) -> bool:
    """Whether a file's name begins or ends with that of another: `Note 2.md`, `Copy of Note.md`."""
    other = re.escape(name_key(original))
    pattern = rf"{other}(?![^\W_]).+|.+(?<![^\W_]){other}"
    return re.fullmatch(pattern, name_key(path), re.DOTALL) is not None


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
        # A template is as it should be, wherever the user keeps it.
        if problem.message == _TEMPLATE_MESSAGE:
            finding = replace(finding, severity="notice")
        yield PlacedFinding(finding, *_line(text, problem.line or 1))


def property_line(raw: bytes, name: str) -> int:
    try:
        header = header_of(raw)
    except HeaderRefused:
        return 0
    entry = header.entry(name) if header else None
    return header.line(entry.start) if header and entry else 0
