"""Checks the notes: unreadable files, conflicts, headers, names, duplicate ids, broken links."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from functools import partial

from amem_cli.doctor.finding import Finding, from_problem
from amem_cli.doctor.reading import (
    CheckedNote,
    LinkInNote,
    OpenPorts,
    VaultFiles,
    VaultSnapshot,
)
from amem_cli.editing.renames import note_of_link, update_renamed_links
from amem_cli.errors import SettingsError
from amem_cli.index.draft import NoteDraft, new_event
from amem_cli.index.sync import refresh
from amem_cli.journal.events import Change, LinkRecord
from amem_cli.journal.provenance import created_by_machine, provenance
from amem_cli.language.dates import created_text, moment_in, new_id, parse_moment
from amem_cli.markdown.links import is_attachment, parse_link
from amem_cli.notes.creation_date import FirstCommit, creation_date
from amem_cli.notes.front_matter import find_fences, read_header
from amem_cli.notes.names import (
    NameTable,
    conflict_copy,
    is_linkable,
    name_key,
    resolve,
    shortest_target,
)
from amem_cli.notes.note import PropertyNames, parse_note
from amem_cli.system.names import folded, is_for_windows
from amem_cli.vault.file_state import FileContent

_LINK_MESSAGE = "symbolic link"
_TEMPLATE_MESSAGE = "the header is a template's"
# Least likeness of a suggested name; comparing is slow, so only for the first links.
_LIKENESS = 0.7
_SUGGESTIONS = 20
# More notes than these, and than a fifth of all, are seldom deleted on purpose.
LOST_AT_ONCE = 10
_REWRITE = "amem's link can be rewritten: amem doctor --fix"
_AGAIN = "Run `amem doctor` again."


def file_findings(vault: VaultSnapshot) -> Iterator[Finding]:
    """Files that look like notes but are none, and what cannot be read."""
    for problem in vault.problems:
        if conflict_copy(problem.path.rpartition("/")[2]):
            continue
        if _LINK_MESSAGE in problem.message:
            hint = "If it should be a memory, move the note itself into the vault."
            yield Finding(problem.path, problem.message, hint, severity="notice")
        else:
            unread = problem.message.startswith(("cannot read", "cannot be read"))
            hint = "Check its permissions, and the disk." if unread else "Move it elsewhere."
            yield from_problem(problem, hint=hint)


def conflict_findings(vault: VaultSnapshot) -> Iterator[Finding]:
    """Conflict copies that a sync program made, and git conflicts in a text."""
    for problem in vault.problems:
        if conflict_copy(problem.path.rpartition("/")[2]):
            yield from_problem(problem)
    for path, checked in vault.notes.items():
        if checked.conflict_line:
            hint = "Keep what is right between <<<<<<< and >>>>>>>, remove the marks, and save."
            yield Finding(path, "has an unresolved git conflict", hint, checked.conflict_line)


def header_findings(vault: VaultSnapshot) -> Iterator[Finding]:
    """Headers that amem will not write to, and properties with unexpected values."""
    for path, checked in vault.notes.items():
        refused = checked.note.refused
        # The check of conflicts reports a conflict in the header.
        if refused is not None and not checked.conflict_line:
            finding = from_problem(refused)
            # A template is as it should be, wherever the user keeps it.
            is_template = refused.message == _TEMPLATE_MESSAGE
            yield replace(finding, severity="notice") if is_template else finding
        for problem in checked.note.problems:
            yield from_problem(problem)
        if checked.cut:
            message = (
                "is larger than 2 MiB; only its beginning is searchable, and it is never edited"
            )
            yield Finding(path, message, "Split the note.")


def name_findings(vault: VaultSnapshot) -> Iterator[Finding]:
    """Names that clash on another system, and names that another system cannot hold."""
    same: dict[str, list[str]] = {}
    for path in sorted(vault.notes):
        same.setdefault(folded(path), []).append(path)
    for first, *others in same.values():
        if others:
            message = f"differs from {', '.join(others)} only in case or the form of accents"
            hint = "Rename one of them; on Windows or macOS one would replace the other."
            yield Finding(first, message, hint)
    for path in vault.notes:
        if not is_linkable(path):
            hint = "Rename it without # ^ [ ] | ` and without blanks at its ends."
            yield Finding(path, "has a name that links cannot contain", hint)
        elif not is_for_windows(path):
            message = "has a name that Windows does not allow"
            hint = "Rename it if the vault will ever be opened there."
            yield Finding(path, message, hint, severity="notice")


def duplicate_findings(vault: VaultSnapshot, ports: OpenPorts) -> Iterator[Finding]:
    """Every note whose id belongs to another note."""
    for note_id, paths in vault.ids.items():
        if len(paths) < 2:
            continue
        known = {event.path for event in vault.events.get(note_id, ())}.intersection(paths)
        if len(known) != 1:
            why = f"the journal {'names more than one' if known else 'knows none'} of them"
            message = f"has the id {note_id}, and so has {', '.join(paths[:-1])}; {why}"
            hint = f"Remove the line `{vault.names.id}:` from the note that is the copy."
            line = vault.property_line(paths[-1], vault.names.id)
            yield Finding(paths[-1], message, hint, line)
            continue
        (original,) = known
        message = f"has the id {note_id}, which belongs to {original} according to the journal"
        hint = "If it is a copy, remove this line; amem then gives the note a new id."
        for copy in paths:
            if copy != original:
                line = vault.property_line(copy, vault.names.id)
                fix = partial(give_new_id, ports, copy, note_id, original)
                yield Finding(copy, message, hint, line, fix=fix)


def give_new_id(open_ports: OpenPorts, path: str, old: str, original: str) -> str:
    """A fix: the copy of a note gets an id of its own; raises if either was edited since."""
    ports = open_ports()
    with ports.changes.locked():
        draft = NoteDraft(ports, ports.vault.read(path))
        # Either note may have been edited since the check.
        original_id = parse_note(original, ports.vault.read(original).raw, ports.names).id
        if draft.note.id != old or original_id != old:
            raise SettingsError("the notes have changed meanwhile", hint=_AGAIN)
        try:
            moment = parse_moment(old[:14])
        except ValueError:
            moment = ports.clock.now().replace(tzinfo=None)
        fresh = new_id(moment, ports.index.notes.id_taken)
        event = new_event(ports, "edit", by="person", reason=f"the id {old} is that of {original}")
        raw = _with_id(draft.raw, fresh, ports.names)
        draft.restore(raw, event, (Change("id", old, fresh),))
        ports.changes.apply(draft.write(), [replace(each, note=fresh) for each in draft.events])
        refresh(ports, [path])
    return f"Gave {path} the id {fresh}; nothing else in it changed."


def _with_id(raw: bytes, note_id: str, names: PropertyNames) -> bytes:
    """The note with another id in place of its own, and every other byte as it is."""
    fences = find_fences(raw)
    header = read_header(raw, fences) if fences else None
    entry = header.entry(names.id) if header else None
    if fences is None or header is None or entry is None:
        raise SettingsError("the note has no id line", hint=_AGAIN)
    text = header.text
    changed = text[: entry.value.start] + f'"{note_id}"' + text[entry.value.end :]
    after = raw[: fences.text_start] + changed.encode("utf-8") + raw[fences.text_end :]
    # Reading the result back is the only proof that no other property changed.
    if parse_note("", after, names) != replace(parse_note("", raw, names), id=note_id):
        raise SettingsError("the id cannot be changed safely", hint="Change it by hand.")
    return after


def created_findings(
    vault: VaultSnapshot, first_commit: FirstCommit, ports: OpenPorts
) -> Iterator[Finding]:
    """Every note whose `created` amem took from its file's time, though it was made before."""
    for path, checked in vault.notes.items():
        created = checked.note.created
        if not created or created_by_machine(vault.own_events(checked.note)) != created:
            continue
        made = _made_before(created, vault.vault.read(path), vault.names, first_commit)
        if made is not None:
            message = f"amem wrote {vault.names.created}: {created[:10]}, the day of its file"
            hint = f"It was made on {made.date()}, by its properties, its name or git."
            line = vault.property_line(path, vault.names.created)
            fix = partial(_date_back, ports, path, created)
            yield Finding(path, message, hint, line, fix=fix)


def _made_before(
    created: str, content: FileContent, names: PropertyNames, first_commit: FirstCommit
) -> datetime | None:
    """When a note was made, if that was on an earlier day than it says."""
    saved = datetime.fromtimestamp(content.state.mtime_ns / 1e9).astimezone()
    path, said = content.state.path, moment_in(created)
    made = creation_date(path, content.raw, saved, first_commit, besides=names.created)
    return made if made and said and made.date() < said.date() else None


def _date_back(open_ports: OpenPorts, path: str, created: str) -> str:
    ports = open_ports()
    with ports.changes.locked():
        content = ports.vault.read(path)
        draft = NoteDraft(ports, content)
        made = _made_before(created, content, ports.names, ports.first_commit)
        if draft.note.created != created or made is None:
            raise SettingsError("the note has changed meanwhile", hint=_AGAIN)
        reason = f"{created[:10]} was the day of its file"
        event = new_event(ports, "edit", by="person", reason=reason)
        draft.change({"created": created_text(made)}, event)
        ports.changes.apply(draft.write(), draft.events)
        refresh(ports, [path])
    return f"{path} was made on {made.date()}; nothing else in it changed."


def link_findings(
    vault: VaultSnapshot, files: VaultFiles, moves: Mapping[str, str], ports: OpenPorts
) -> Iterator[Finding]:
    """Every link that leads nowhere, each target of a note once.

    Args:
        files: a link to any file or folder of the vault leads somewhere, if not to a note.
        moves: present paths of notes by their former ones.
    """
    former = NameTable((path, (), "") for path in moves)
    names = {name_key(path): path.rpartition("/")[2].removesuffix(".md") for path in vault.notes}
    broken = [
        (path, checked, link)
        for path, checked in vault.notes.items()
        for link in _broken_links(vault, checked, files)
    ]
    deleted: list[tuple[Finding, str]] = []
    for number, (path, checked, link) in enumerate(broken):
        record = _machine_links(vault, checked).get(link.text)
        line = link.line
        if link.kind != "wikilink":
            line = vault.property_line(path, vault.names.links, link.text)
        by_amem = f"amem's link [[{link.target}]] leads to no note"
        known = None if record is None else vault.ids.get(record.target)
        old = resolve(link.target, path, former) if record is None else record.path
        now = known[0] if known else moves.get(old or "")
        if now is not None:
            message = f"the note of the link [[{link.target}]] was moved and is now {now}"
            if record is None:
                target = shortest_target(now, vault.table)
                yield Finding(path, message, f"The link is yours: write [[{target}]].", line)
            else:
                is_copied = known is not None and len(known) > 1
                fix = None if is_copied else partial(follow_rename, ports, path, link.text, now)
                yield Finding(path, message, _REWRITE, line, fix=fix)
        elif record is None:
            message = f"the link [[{link.target}]] leads to no note"
            near = _similar_names(link.target, names) if number < _SUGGESTIONS else ""
            yield Finding(path, message, f"{near}Correct the link, or write the note.", line)
        else:
            # A note that cannot be read at the moment is not gone.
            is_gone = vault.complete and not files.holds(record.path)
            fix = partial(remove_link, ports, path, link.text, record.target) if is_gone else None
            hint = "Remove the link, or bring the note back."
            message = f"{by_amem}; the note is gone"
            deleted.append((Finding(path, message, hint, line, fix=fix), record.target))
    yield from _misled_links(vault, ports)
    lost = len({target for _, target in deleted})
    for finding, _ in deleted:
        if lost > max(LOST_AT_ONCE, len(vault.notes) // 5):
            hint = f"{lost} notes that amem linked to are gone. Is a folder missing?"
            finding = replace(finding, hint=hint, fix=None)
        yield finding


def _misled_links(vault: VaultSnapshot, ports: OpenPorts) -> Iterator[Finding]:
    """The machine's links whose notes were moved, and another note has their former name."""
    for path, checked in vault.notes.items():
        parsed = ((text, parse_link(text)) for text in checked.note.links)
        leads = {text: resolve(link.target, path, vault.table) for text, link in parsed if link}
        for text, record in _machine_links(vault, checked).items():
            other, known = leads.get(text), vault.ids.get(record.target, [])
            if other and len(known) == 1 and not {*known} & {path, *leads.values()}:
                message = f"amem's link {text} leads to {other}; its note is now {known[0]}"
                line = vault.property_line(path, vault.names.links, text)
                fix = partial(follow_rename, ports, path, text, known[0])
                yield Finding(path, message, _REWRITE, line, fix=fix)


def _broken_links(
    vault: VaultSnapshot, checked: CheckedNote, files: VaultFiles
) -> Iterator[LinkInNote]:
    # A note may link to the same missing note many times; its first link is enough.
    first = {(link.kind, link.target): link for link in reversed(checked.links)}
    for link in checked.links:
        if (
            first[link.kind, link.target] is link
            and not is_attachment(link.target)
            and resolve(link.target, checked.note.path, vault.table) is None
            and not files.holds(link.target)
        ):
            yield link


def _machine_links(vault: VaultSnapshot, checked: CheckedNote) -> dict[str, LinkRecord]:
    """Records of the links that the machine made, by their text in the note's property."""
    if checked.note.refused is not None:
        return {}
    links = provenance(vault.own_events(checked.note)).links.values()
    return {record.text: record for record in links if record.by == "machine"}


def _similar_names(target: str, names: dict[str, str]) -> str:
    """A question that names one or two notes as links; empty if none is similar."""
    keys: list[str] = difflib.get_close_matches(name_key(target), names, n=2, cutoff=_LIKENESS)
    near = " or ".join(f"[[{names[key]}]]" for key in keys)
    return f"Did you mean {near}? " if near else ""


def follow_rename(open_ports: OpenPorts, path: str, text: str, now: str) -> str:
    """A fix: amem's link follows its note, which is at `now`."""
    ports = open_ports()
    # All at once; what another finding's fix has rewritten already is as it should be.
    update_renamed_links(ports)
    links = parse_note(path, ports.vault.read(path).raw, ports.names).links
    new = next((each for each in links if note_of_link(ports, each, path) == now), "")
    if text in links or not new:
        raise SettingsError("the link cannot be rewritten", hint="Correct it by hand.")
    return f"Rewrote {text} as {new} in the links of {path}."


def remove_link(open_ports: OpenPorts, path: str, text: str, target: str) -> str:
    """A fix: amem's link to a note that is gone is removed, if nobody changed it since."""
    ports = open_ports()
    with ports.changes.locked():
        draft = NoteDraft(ports, ports.vault.read(path))
        record = provenance(ports.index.events.read(draft.note.id or path)).links.get(target)
        parsed = parse_link(text)
        leads = parsed is not None and resolve(parsed.target, path, ports.index.names) is not None
        if record is None or record.by != "machine" or record.text != text or leads:
            raise SettingsError("the link has changed meanwhile", hint=_AGAIN)
        links = [link for link in draft.note.links if link != text]
        event = new_event(ports, "link", trigger=target, reason=f"{record.path} is gone")
        if not draft.change({"links": links}, event):
            raise SettingsError("the link is not there any more", hint=_AGAIN)
        ports.changes.apply(draft.write(), draft.events)
        refresh(ports, [path])
    return f"Removed {text} from the links of {path}."
