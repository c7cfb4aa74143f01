"""Checks all notes (files, conflicts, headers, names, ids, links) and the cards of canvases."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field, replace

from amem_cli.doctor.finding import Finding, from_problem
from amem_cli.doctor.note_fixes import OpenPorts
from amem_cli.doctor.one_note import NoteChecks, PlacedFinding, similar_notes
from amem_cli.errors import AmemError, Problem
from amem_cli.index.memory_index import VaultPorts
from amem_cli.markdown.links import find_links, is_attachment
from amem_cli.notes.canvas import card_files, card_texts
from amem_cli.notes.names import conflict_copy, is_linkable, name_key, resolve
from amem_cli.notes.note import body_place
from amem_cli.system.names import folded, is_for_windows
from amem_cli.vault.file_state import FileContent

# The order in which findings of notes are shown and fixed.
ORDER = ("files", "conflicts", "names", "headers", "ids", "links")
_LINK_MESSAGE = "symbolic link"
# How the scan of a vault begins its message about a folder.
UNREAD = "cannot be read"
# Comparing names is slow, so only the first links are told similar ones.
_SUGGESTIONS = 20
# Of notes not yet written, the most wanted are named.
_WANTED_NAMED = 5
# More notes than these, and than a fifth of all, are seldom deleted on purpose.
LOST_AT_ONCE = 10


@dataclass
class NotesLook:
    """What is wrong with the notes of a vault."""

    findings: list[Finding] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    unread: set[str] = field(default_factory=set)
    complete: bool = True


def look_at_notes(
    ports: VaultPorts,
    open_ports: OpenPorts,
    holds: Callable[[str], bool],
    *,
    complete: bool,
) -> NotesLook:
    """Check every note; if `complete`, what the journal does not name does not exist."""
    problems: list[Problem] = []
    looked = NotesLook(complete=complete)
    states = sorted(ports.vault.scan(problems), key=lambda state: state.path)
    checks = NoteChecks(ports, open_ports, holds)
    placed: list[PlacedFinding] = []
    found: list[Finding] = []
    for state in states:
        try:
            content = ports.vault.read(state.path)
        except AmemError as error:
            message = error.message.replace(f" {state.path}", "")
            problems.append(Problem(state.path, 0, message, error.hint))
            looked.complete = False
            continue
        looked.paths.append(state.path)
        placed += _of_one(checks, content)
        if content.cut:
            message = "is larger than 2 MiB; only its beginning is searchable, and it is not edited"
            found.append(Finding(state.path, message, "Split the note.", check="headers"))
    looked.complete &= not any(each.message.startswith(UNREAD) for each in problems)
    looked.unread = {problem.path for problem in problems}
    found += [*_problems(problems), *_names(looked.paths)]
    found += _advised(ports, placed, holds, looked)
    looked.findings = sorted(found, key=lambda each: ORDER.index(each.check))
    return looked


def _of_one(checks: NoteChecks, content: FileContent) -> Iterator[PlacedFinding]:
    """Findings with their lines; what header or text say several times is told once of each."""
    text, told = content.raw.decode("utf-8", "replace"), set()
    body = body_place(text)
    for each in checks.findings(content.state.path, text, content.raw):
        said = (each.finding.message, each.start < body)
        if said not in told:
            told.add(said)
            line = each.finding.line or text.count("\n", 0, each.start) + 1
            yield replace(each, finding=replace(each.finding, line=line))


def _advised(
    ports: VaultPorts, placed: list[PlacedFinding], holds: Callable[[str], bool], looked: NotesLook
) -> Iterator[Finding]:
    lost = len({each.gone.target for each in placed if each.gone})
    unwritten: dict[str, list[str]] = {}
    suggested = 0
    for each in placed:
        finding = each.finding
        if each.same and finding.path != each.same[-1]:
            continue
        if each.missing:
            wanted = unwritten.setdefault(name_key(each.missing), [])
            like = []
            if not wanted and suggested < _SUGGESTIONS:
                suggested += 1
                like = [f"[[{near.text}]]" for near in similar_notes(ports, each)]
            if not like:
                wanted.append(each.missing)
                continue
            hint = f"Did you mean {' or '.join(like)}?"
            finding = replace(finding, hint=hint, severity="notice")
        elif each.gone and lost > max(LOST_AT_ONCE, len(looked.paths) // 5):
            hint = f"{lost} notes that amem linked to are gone. Is a folder missing?"
            finding = replace(finding, hint=hint, fix=None)
        elif each.gone and (not looked.complete or holds(each.gone.path)):
            # A note that cannot be read at the moment is not gone.
            finding = replace(finding, fix=None)
        yield finding
    if links := list(filter(None, unwritten.values())):
        yield _not_yet_written(links)


def _not_yet_written(links: Collection[list[str]]) -> Finding:
    """All links to notes that are not there, which is normal, by the names that they want."""
    most = sorted(links, key=len, reverse=True)
    named = ", ".join(f"[[{each[0]}]]" for each in most[:_WANTED_NAMED])
    more = f" and {len(most) - _WANTED_NAMED:,} more" if len(most) > _WANTED_NAMED else ""
    count = sum(map(len, links))
    links_to = "1 link leads" if count == 1 else f"{count:,} links lead"
    message = f"{links_to} to notes not yet written: {named}{more}"
    return Finding("", message, "`amem graph` shows where.", severity="notice", check="links")


def _problems(problems: list[Problem]) -> Iterator[Finding]:
    """Files that look like notes but are none, and what cannot be read."""
    for problem in problems:
        if conflict_copy(problem.path.rpartition("/")[2]):
            yield replace(from_problem(problem), check="conflicts")
        elif _LINK_MESSAGE in problem.message:
            hint = "If it should be a memory, move the note itself into the vault."
            finding = Finding(problem.path, problem.message, hint, severity="notice")
            yield replace(finding, check="files")
        else:
            unread = problem.message.startswith(("cannot read", UNREAD))
            hint = "Check its permissions, and the disk." if unread else "Move it elsewhere."
            yield replace(from_problem(problem, hint), check="files")


def _names(paths: Collection[str]) -> Iterator[Finding]:
    """Names that clash on another system, and names that another system cannot hold."""
    same: dict[str, list[str]] = {}
    for path in paths:
        same.setdefault(folded(path), []).append(path)
    for first, *others in same.values():
        if others:
            message = f"differs from {', '.join(others)} only in case or the form of accents"
            hint = "Rename one of them; on Windows or macOS one would replace the other."
            yield Finding(first, message, hint, check="names")
    for path in paths:
        if not is_linkable(path):
            hint = "Rename it without # ^ [ ] | ` and without blanks at its ends."
            yield Finding(path, "has a name that links cannot contain", hint, check="names")
        elif not is_for_windows(path):
            message = "has a name that Windows does not allow"
            hint = "Rename it if the vault will ever be opened there."
            yield Finding(path, message, hint, severity="notice", check="names")


def card_findings(ports: VaultPorts, holds: Callable[[str], bool]) -> Iterator[Finding]:
    """Cards whose file is gone, and links on cards that lead to no note."""
    moves = ports.index.files.moves()
    for path in ports.vault.canvases():
        raw = ports.vault.read(path).raw
        for file in dict.fromkeys(card_files(raw)):
            # What Obsidian keeps in dot folders is not looked at.
            if file.startswith(".") or "/." in file or ports.vault.spelled(file):
                continue
            now = moves.get(file)
            moved = now is not None and ports.vault.exists(now)
            message = f"the file {file} of a card was moved and is now {now}"
            hint = f"The card is yours: let it show {now}."
            if not moved:
                message = f"a card shows {file}, which is not there"
                hint = "Let the card show another file, or delete it."
            yield Finding(path, message, hint, check="cards")
        links = (link for text in card_texts(raw) for link in find_links(text) if link.target)
        for target in dict.fromkeys(link.target for link in links):
            is_note = not is_attachment(target)
            if is_note and resolve(target, path, ports.index.names) is None and not holds(target):
                message = f"the link [[{target}]] on a card leads to no note"
                yield Finding(path, message, "Correct the link, or write the note.", check="cards")
