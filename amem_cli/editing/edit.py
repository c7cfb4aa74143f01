"""A person's changes of a note through commands: update, link, unlink, rm.

The category that A-MEM's library keeps of a memory: the `category` property of its note.
Takes stock of a vault when it is made: what is there needs no work of the machine's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from amem_cli.editing.add import text_bytes
from amem_cli.errors import AmemError, HeaderRefused, UsageError, WriteConflict
from amem_cli.index.draft import FieldValue, NoteDraft, VaultPorts, new_event, provenance_of
from amem_cli.index.records import NoteSummary
from amem_cli.index.sync import refresh, synchronise, text_hash
from amem_cli.journal.events import Event, LinkRecord, NoteWrite
from amem_cli.journal.undo_rules import is_worded
from amem_cli.markdown.links import format_link, parse_link
from amem_cli.markdown.tags import normalise_tag
from amem_cli.memory.plan import owned_link
from amem_cli.notes.codec import body_bytes, compose_note, edit_header
from amem_cli.notes.front_matter import find_fences, read_header
from amem_cli.notes.names import resolve, shortest_target
from amem_cli.notes.note import RELATIONS, Note, Relation


@dataclass(frozen=True, slots=True)
class FieldEdits:
    """What to change; None leaves a field as it is.

    Attributes:
        keywords, tags: the whole new list.
        add_*, remove_*: changes of the list there is.
        content: the new text below the front matter.
    """

    content: str | None = None
    context: str | None = None
    keywords: Sequence[str] | None = None
    tags: Sequence[str] | None = None
    add_keywords: Sequence[str] = ()
    remove_keywords: Sequence[str] = ()
    add_tags: Sequence[str] = ()
    remove_tags: Sequence[str] = ()


def update(
    ports: VaultPorts, note: NoteSummary, edits: FieldEdits, *, text: str = ""
) -> tuple[str, ...]:
    """Change fields of a note as its owner.

    Args:
        text: hash of the text that the edits were made for; empty for any.

    Returns:
        Names of the fields that changed, `content` among them.

    Raises:
        UsageError: a tag is impossible, or the text is empty.
        HeaderRefused, WriteConflict: nothing was written.
    """
    with ports.changes.locked():
        content = ports.vault.read(note.path)
        if text and text_hash(content.raw) != text:
            raise WriteConflict(
                f"the text of {note.path} is another one by now", hint="Read it again."
            )
        draft = NoteDraft(ports, content)
        fields = _new_values(draft.note, edits)
        draft.change(fields, new_event(ports, "edit", by="person"))
        changed = [change.field for event in draft.events for change in event.changes]
        if edits.content is not None:
            event = new_event(ports, "edit", by="person", reason="new text")
            if draft.replace_body(text_bytes(edits.content), event):
                changed.append("content")
        ports.changes.apply(draft.write(), draft.events)
        refresh(ports, [note.path])
    return tuple(name for name in changed if name not in ("id", "created"))


def with_appended(ports: VaultPorts, path: str, more: str) -> tuple[str, str]:
    """A note's text with a paragraph more, and the hash of the text as it is.

    Raises:
        UsageError: the note's text is not UTF-8.
    """
    raw = ports.vault.read(path).raw
    try:
        body = body_bytes(raw).decode("utf-8")
    except UnicodeDecodeError:
        raise UsageError(f"the text of {path} is not UTF-8", hint="Save it as UTF-8.") from None
    end = "\r\n" if "\r\n" in body else "\n"
    gap = "" if not body.strip() else end if body.endswith("\n") else 2 * end
    if end != "\n":
        more = more.replace("\r\n", "\n").rstrip("\n").replace("\n", end) + end
    return f"{body}{gap}{more}", text_hash(raw)


def _new_values(note: Note, edits: FieldEdits) -> dict[str, FieldValue]:
    fields: dict[str, FieldValue] = {}
    if edits.context is not None:
        fields["context"] = " ".join(edits.context.split())
    present, given = (note.keywords, ()) if edits.keywords is None else ((), edits.keywords)
    fields["keywords"] = _merged(present, (*given, *edits.add_keywords), edits.remove_keywords)
    add = [_tag(text) for text in (*(edits.tags or ()), *edits.add_tags)]
    tags = note.tags if edits.tags is None else ()
    fields["tags"] = _merged(tags, add, [text.removeprefix("#") for text in edits.remove_tags])
    untouched = {
        "keywords": edits.keywords is None and not edits.add_keywords and not edits.remove_keywords,
        "tags": edits.tags is None and not edits.add_tags and not edits.remove_tags,
    }
    return {name: value for name, value in fields.items() if not untouched.get(name, False)}


def _merged(first: Sequence[str], add: Sequence[str], remove: Sequence[str]) -> list[str]:
    """What is there stays as it is written, beside what is new."""
    gone = {text.casefold() for text in remove}
    merged = [text for text in first if text.casefold() not in gone]
    known = {text.casefold() for text in merged}
    for text in add:
        clean = " ".join(text.split())
        if clean and clean.casefold() not in {*known, *gone}:
            merged.append(clean)
            known.add(clean.casefold())
    return merged


def _tag(text: str) -> str:
    tag = normalise_tag(text)
    if tag is None:
        raise UsageError(f"{text!r} cannot be a tag", hint="Use letters, digits, - _ and /.")
    return tag


def link(
    ports: VaultPorts,
    source: NoteSummary,
    target: NoteSummary,
    *,
    relation: Relation = "related",
    reason: str = "",
) -> bool:
    """Link a note to another as its owner; False where that link is there already.

    A link that the machine made becomes the owner's; what they do not say of it stays.

    Raises:
        UsageError: the notes are one and the same, or the relation is unknown.
        HeaderRefused, WriteConflict: nothing was written.
    """
    if source.path == target.path:
        raise UsageError("a note cannot be linked to itself")
    if relation not in RELATIONS:
        raise UsageError(f"no relation {relation!r}", hint=f"One of: {', '.join(RELATIONS)}.")
    text = format_link(shortest_target(target.path, ports.index.names))
    with ports.changes.locked():
        draft = NoteDraft(ports, ports.vault.read(source.path))
        links = draft.note.links
        present = any(_leads_to(ports, each, source.path) == target.path for each in links)
        owned = provenance_of(ports.index, source.key)
        made = owned_link(ports.index, draft.note, owned, target.path) if present else None
        if present and made is None:
            return False
        record = LinkRecord(target.key, target.path, text, relation, 1.0, reason, by="person")
        if made is not None:
            record = _taken_over(made, record)
        event = new_event(ports, "edit", by="person", reason=reason, links=(record,))
        if made is None:
            draft.change({"links": [*links, record.text]}, event)
        else:
            draft.record(replace(event, links_before=(made,)))
        ports.changes.apply(draft.write(), draft.events)
        refresh(ports, [source.path])
    return True


def _taken_over(made: LinkRecord, said: LinkRecord) -> LinkRecord:
    relation = made.relation if said.relation == "related" and not said.reason else said.relation
    reason = said.reason or made.reason
    return replace(said, target=made.target, text=made.text, relation=relation, reason=reason)


def unlink(ports: VaultPorts, source: NoteSummary, target: NoteSummary) -> bool:
    """Remove the property link from one note to another, whoever made it.

    The machine does not make it again. A link in the body is the author's text and stays.

    Returns:
        False where there is no such property link.
    """
    with ports.changes.locked():
        draft = NoteDraft(ports, ports.vault.read(source.path))
        links = draft.note.links
        kept = [each for each in links if _leads_to(ports, each, source.path) != target.path]
        if len(kept) == len(links):
            return False
        draft.change({"links": kept}, new_event(ports, "edit", by="person", reason="unlinked"))
        ports.changes.apply(draft.write(), draft.events)
        refresh(ports, [source.path])
    return True


def _leads_to(ports: VaultPorts, text: str, source: str) -> str | None:
    parsed = parse_link(text)
    return resolve(parsed.target, source, ports.index.names) if parsed else None


@dataclass(frozen=True, slots=True)
class Removal:
    """What happened when a note was removed.

    Attributes:
        unlinked: notes from which a machine's link to it was removed.
        dangling: notes in which a person's link to it remains.
    """

    path: str
    unlinked: tuple[str, ...]
    dangling: tuple[str, ...]


def remove(ports: VaultPorts, note: NoteSummary) -> Removal:
    """Move a note to the trash; links of the machine's to it go with it, a person's stay.

    Raises:
        WriteConflict: a note changed meanwhile; nothing was done.
    """
    with ports.changes.locked():
        sources = dict.fromkeys(source for source, _ in ports.index.links.incoming(note.path))
        content = ports.vault.read(note.path)
        root = new_event(
            ports,
            "remove",
            by="person",
            note=note.id or "",
            path=note.path,
            sha=content.sha,
            reason="removed",
        )
        writes: list[NoteWrite] = []
        events: list[Event] = [root]
        unlinked = []
        for source in sources:
            draft = _without_machine_links(ports, source, note, root)
            if draft is not None and draft.events:
                writes.extend(draft.write())
                events.extend(draft.events)
                unlinked.append(source)
        writes.append(NoteWrite(note.path, content.raw, None))
        # Who still links to the note can only be told while its name resolves.
        ports.changes.apply(writes, events)
        refresh(ports, unlinked)
        dangling = dict.fromkeys(source for source, _ in ports.index.links.incoming(note.path))
        refresh(ports, [note.path])
    return Removal(note.path, tuple(unlinked), tuple(dangling))


def _without_machine_links(
    ports: VaultPorts, source: str, target: NoteSummary, root: Event
) -> NoteDraft | None:
    summary = ports.index.notes.summary(source)
    if summary is None:
        return None
    records = provenance_of(ports.index, summary.key).links
    record = records.get(target.key) or records.get(target.path)
    if record is None or record.by != "machine":
        return None
    try:
        draft = NoteDraft(ports, ports.vault.read(source))
        kept = [
            text
            for text in draft.note.links
            if is_worded(text) or _leads_to(ports, text, source) != target.path
        ]
        if record.text in draft.note.links:
            # What else leads there is a person's.
            kept = [text for text in draft.note.links if text != record.text]
        draft.change(
            {"links": kept},
            new_event(
                ports,
                "link",
                trigger=target.key,
                cause=root.id,
                reason=f"“{target.title}” was removed",
            ),
        )
    except AmemError:
        # A note that cannot be edited keeps its link; it is reported as dangling.
        return None
    return draft


PROPERTY = "category"


def category_of(raw: bytes) -> str:
    """The category in a note's bytes; empty where there is none, or none that is text."""
    try:
        fences = find_fences(raw)
        header = read_header(raw, fences) if fences else None
    except HeaderRefused:
        return ""
    entry = header.entry(PROPERTY) if header else None
    return (header.text_of(entry.value) or "").strip() if header and entry else ""


def with_category(content: str, category: str) -> str:
    """The text of a new note with its category above it.

    Raises:
        ValueError: the text is no valid Unicode.
    """
    changes = {PROPERTY: " ".join(category.split())}
    try:
        return edit_header(content.encode("utf-8"), changes).decode("utf-8")
    except HeaderRefused:
        return compose_note(changes, content).decode("utf-8")


def set_category(ports: VaultPorts, note: NoteSummary, category: str) -> bool:
    """Give a note another category as its owner; False where it has it already.

    Raises:
        HeaderRefused, WriteConflict: nothing was written.
    """
    wanted = " ".join(category.split())
    with ports.changes.locked():
        draft = NoteDraft(ports, ports.vault.read(note.path))
        if category_of(draft.raw) == wanted:
            return False
        event = new_event(ports, "edit", by="person", reason=f"category: {wanted}")
        draft.restore(edit_header(draft.raw, {PROPERTY: wanted}, ports.names), event, ())
        ports.changes.apply(draft.write(), draft.events)
        refresh(ports, [note.path])
    return True


def take_stock(ports: VaultPorts) -> int:
    """Index the notes that are there and record their texts as known.

    A known text is not pending; `evolve --all` processes it all the same.

    Returns:
        How many notes there are.
    """
    synchronise(ports)
    with ports.changes.locked():
        known = tuple(sorted({note.text_hash for note in ports.index.notes.summaries()}))
        event: Event = new_event(ports, "baseline", reason="the vault was made", known=known)
        ports.changes.apply([], [event])
    synchronise(ports)
    return ports.index.notes.count()
