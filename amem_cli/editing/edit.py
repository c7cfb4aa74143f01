"""What a person changes in notes by command: fields, text, links, removal.

Also the `category` that A-MEM's library keeps of a memory, and the baseline of a new vault.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from amem_cli.editing.add import checked_tag, text_bytes
from amem_cli.errors import AmemError, HeaderRefused, NotFoundError, UsageError, WriteConflict
from amem_cli.index.draft import FieldValue, NoteDraft, new_event, provenance_of
from amem_cli.index.memory_index import VaultPorts
from amem_cli.index.records import NoteSummary
from amem_cli.index.sync import refresh, synchronise, text_hash
from amem_cli.journal.events import Event, LinkRecord, NoteWrite
from amem_cli.markdown.links import find_links, format_link
from amem_cli.markdown.outline import Heading, headings
from amem_cli.memory.outcome import ANALYZER
from amem_cli.memory.plan import owned_link, target_of
from amem_cli.notes.canvas import card_files, card_texts
from amem_cli.notes.front_matter import header_of
from amem_cli.notes.front_matter_edit import compose_note, edit_header
from amem_cli.notes.names import resolve, shortest_target
from amem_cli.notes.note import RELATIONS, Note, Relation, body_bytes
from amem_cli.search.suggestions import OpenLink, suggestions
from amem_cli.system.names import composed

_CATEGORY = "category"
_SHOWN = 60
_NAMED = "the note gets an id, by which a decision on its links is kept"


@dataclass(frozen=True, slots=True)
class FieldEdits:
    """What to change; None leaves a field as it is.

    `content` is the new text below the front matter, `keywords` and `tags` are the whole new list.
    """

    content: str | None = None
    context: str | None = None
    keywords: Sequence[str] | None = None
    tags: Sequence[str] | None = None
    add_keywords: Sequence[str] = ()
    remove_keywords: Sequence[str] = ()
    add_tags: Sequence[str] = ()
    remove_tags: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class TextEdit:
    """What to replace: the text `find`, or else all that is below the heading `section`.

    A section ends at the next heading of its level or above; its own heading stays.
    """

    replacement: str
    find: str = ""
    section: str = ""


@contextmanager
def drafted(ports: VaultPorts, path: str) -> Iterator[NoteDraft]:
    """A note to edit under the write lock; what was edited is written at the end."""
    with ports.changes.locked():
        draft = NoteDraft(ports, ports.vault.read(path))
        yield draft
        if draft.events:
            ports.changes.apply(draft.write(), draft.events)
            refresh(ports, [path])


def update(
    ports: VaultPorts, note: NoteSummary, edits: FieldEdits, *, text: str = ""
) -> tuple[str, ...]:
    """Change fields of a note as its owner; the names of those that changed, `content` among them.

    Args:
        text: hash of the text that the edits were made for; empty for any.

    Raises:
        UsageError, HeaderRefused, WriteConflict: nothing was written.
    """
    with drafted(ports, note.path) as draft:
        _require_text(draft, text)
        draft.change(_new_values(draft.note, edits), new_event(ports, "edit", by="person"))
        changed = [change.field for event in draft.events for change in event.changes]
        if edits.content is not None:
            event = new_event(ports, "edit", by="person", reason="new text")
            if draft.replace_body(text_bytes(edits.content), event):
                changed.append("content")
    return tuple(name for name in changed if name not in ("id", "created"))


def _require_text(draft: NoteDraft, text: str) -> None:
    if text and text_hash(draft.raw) != text:
        raise WriteConflict(
            f"the text of {draft.path} is another one by now", hint="Read it again."
        )


def edit_text(ports: VaultPorts, note: NoteSummary, edit: TextEdit, *, text: str = "") -> bool:
    """Replace one place in a note's text as its owner; False if that changes nothing.

    Args:
        text: as for `update`.

    Raises:
        NotFoundError: the place is not there, or not only once.
        UsageError, HeaderRefused, WriteConflict: nothing was written.
    """
    with drafted(ports, note.path) as draft:
        _require_text(draft, text)
        new = _edited(_text_of(draft.raw, note.path), edit)
        # Checks that there is a text, of a size that a note may have.
        text_bytes(new)
        event = new_event(ports, "edit", by="person", reason="new text")
        return draft.replace_body(new.encode("utf-8"), event)


def _text_of(raw: bytes, path: str) -> str:
    try:
        return body_bytes(raw).decode("utf-8")
    except UnicodeDecodeError:
        raise UsageError(f"the text of {path} is not UTF-8", hint="Save it as UTF-8.") from None


def _edited(text: str, edit: TextEdit) -> str:
    """The text with the one place replaced; it keeps its line ends."""
    if bool(edit.find) == bool(edit.section):
        raise UsageError("give `find` or `section`, one of them")
    end = "\r\n" if "\r\n" in text else "\n"
    replacement = _with_ends(edit.replacement, end)
    if edit.section:
        start, stop = _section(text, edit.section)
        if replacement and not replacement.endswith("\n"):
            replacement += end
        # The blank lines around the section are as they were.
        old = text[start:stop]
        before = old[: len(old) - len(old.lstrip("\r\n"))] if old.strip() else ""
        after = old[len(old.rstrip("\r\n")) :].removeprefix(end) if old.strip() else old
        heading_ends = text[:start].endswith("\n")
        return (
            f"{text[:start]}{'' if heading_ends else end}{before}{replacement}{after}{text[stop:]}"
        )
    find = edit.find if edit.find in text else _with_ends(edit.find, end)
    count = text.count(find)
    if count != 1:
        times = f"is there {count} times" if count else "is not in the text"
        hint = "Give more of the words around it." if count else "Read the note again."
        raise NotFoundError(f"{_shown(find)!r} {times}", hint=hint)
    return text.replace(find, replacement)


def _with_ends(text: str, end: str) -> str:
    return text.replace("\r\n", "\n").replace("\n", end)


def _section(text: str, heading: str) -> tuple[int, int]:
    outline = headings(text)
    wanted = " ".join(heading.lstrip("#").split()).casefold()
    same = [each for each in outline if wanted in (_said(each).casefold(), each.text.casefold())]
    if len(same) != 1:
        what = f"{len(same)} headings" if same else "no heading"
        shown = "; ".join(map(_said, outline[:10]))
        hint = "Use `find`." if same else f"There are: {shown}." if outline else "It has none."
        raise NotFoundError(f"{what} {_shown(heading)!r}", hint=hint)
    start = min(same[0].end + 1, len(text))
    return start, max(start, same[0].section_end)


def _said(heading: Heading) -> str:
    # A heading may hold code, which is compared as it is written.
    return " ".join(heading.written.split())


def _shown(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"


def with_appended(ports: VaultPorts, path: str, more: str) -> tuple[str, str]:
    """A note's text with a paragraph more, and the hash of the text as it is."""
    raw = ports.vault.read(path).raw
    body = _text_of(raw, path)
    # The file keeps its line ends.
    end = "\r\n" if "\r\n" in body else "\n"
    gap = "" if not body.strip() else end if body.endswith("\n") else 2 * end
    if end != "\n":
        more = more.replace("\r\n", "\n").rstrip("\n").replace("\n", end) + end
    return f"{body}{gap}{more}", text_hash(raw)


def _new_values(note: Note, edits: FieldEdits) -> dict[str, FieldValue]:
    fields: dict[str, FieldValue] = {}
    if edits.context is not None:
        fields["context"] = " ".join(edits.context.split())
    tags = None if edits.tags is None else [checked_tag(text) for text in edits.tags]
    add_tags = [checked_tag(text) for text in edits.add_tags]
    remove_tags = [text.removeprefix("#") for text in edits.remove_tags]
    for name, whole, add, remove in (
        ("keywords", edits.keywords, edits.add_keywords, edits.remove_keywords),
        ("tags", tags, add_tags, remove_tags),
    ):
        if whole is not None or add or remove:
            present = getattr(note, name) if whole is None else ()
            fields[name] = _merged(present, (*(whole or ()), *add), remove)
    return fields


def _merged(present: Sequence[str], add: Sequence[str], remove: Sequence[str]) -> list[str]:
    """Present items keep their spelling, in whatever spelling they are added again."""
    gone = {text.casefold() for text in remove}
    merged = [text for text in present if text.casefold() not in gone]
    for text in (" ".join(text.split()) for text in add):
        if text and text.casefold() not in {*gone, *(item.casefold() for item in merged)}:
            merged.append(text)
    return merged


def link(
    ports: VaultPorts,
    source: NoteSummary,
    target: NoteSummary,
    *,
    relation: Relation | None = None,
    reason: str = "",
) -> LinkRecord | None:
    """Link a note to another as its owner, as recorded; None if the owner's link exists.

    A link that the machine made or suggests becomes the owner's, with its relation and reason
    unless new ones are given. After an error nothing was written.

    Args:
        relation: None is the machine's, or `related`.
    """
    if source.path == target.path:
        raise UsageError("a note cannot be linked to itself")
    if relation not in (None, *RELATIONS):
        raise UsageError(f"no relation {relation!r}", hint=f"One of: {', '.join(RELATIONS)}.")
    text = format_link(shortest_target(target.path, ports.index.names))
    with drafted(ports, source.path) as draft:
        links = draft.note.links
        present = any(target_of(each, source.path, ports.index) == target.path for each in links)
        owned = provenance_of(ports.index, source.key)
        made = owned_link(ports.index, draft.note, owned, target.path) if present else None
        if present and made is None:
            return None
        suggested = None if present else _suggestion(ports, source, target)
        known = made or suggested
        record = LinkRecord(
            target=made.target if made else target.key,
            path=target.path,
            text=made.text if made else text,
            relation=relation or (known.relation if known else "related"),
            # The strength of a suggestion teaches how sure the machine must be.
            strength=suggested.strength if suggested else 1.0,
            reason=reason or (known.reason if known else ""),
            by="person",
        )
        event = new_event(ports, "edit", by="person", reason=reason, links=(record,))
        if made is not None:
            draft.record(replace(event, links_before=(made,)))
            return record
        if suggested is not None:
            event = replace(event, model=ANALYZER, review="accepted", reason=record.reason)
        draft.change({"links": [*links, text]}, event)
    return record


def _suggestion(ports: VaultPorts, source: NoteSummary, target: NoteSummary) -> OpenLink | None:
    ends = (source.path, target.path)
    found = (each for each in suggestions(ports.index, source.path))
    return next((each for each in found if (each.source.path, each.target.path) == ends), None)


def unlink(ports: VaultPorts, source: NoteSummary, target: NoteSummary) -> bool:
    """Remove the property link from one note to another, whoever made it, and the machine's the
    other way, or reject that the machine suggests one between them; False if there is none.

    The machine does not make or suggest it again. A link in the body is the author's text and
    stays. It is one change, which one undo takes back.
    """
    with ports.changes.locked():
        drafts = _without_links(ports, source, target) or _rejected(ports, source, target)
        if drafts:
            writes = [write for draft in drafts for write in draft.write()]
            ports.changes.apply(writes, [event for draft in drafts for event in draft.events])
            refresh(ports, [draft.path for draft in drafts])
    return bool(drafts)


def _without_links(ports: VaultPorts, source: NoteSummary, target: NoteSummary) -> list[NoteDraft]:
    event = new_event(ports, "edit", by="person", reason="unlinked")
    draft = NoteDraft(ports, ports.vault.read(source.path))
    left = [
        text
        for text in draft.note.links
        if target_of(text, source.path, ports.index) != target.path
    ]
    drafts = [draft] if _take_links(ports, draft, left, event) else []
    owned = provenance_of(ports.index, target.key)
    if not owned.links.keys() & {source.key, source.path}:
        return drafts
    back = NoteDraft(ports, ports.vault.read(target.path))
    made = owned_link(ports.index, back.note, owned, source.path)
    if made is not None:
        cause = event.id if drafts else ""
        event = new_event(ports, "edit", by="person", reason="unlinked", cause=cause)
        left = [text for text in back.note.links if text != made.text]
        _take_links(ports, back, left, event)
        drafts.append(back)
    return drafts


def _take_links(ports: VaultPorts, draft: NoteDraft, left: Sequence[str], event: Event) -> bool:
    """Leave a note only these links; the property goes with the last one if amem brought it."""
    name = re.compile(rf"^\s*{re.escape(ports.names.links)}:", re.MULTILINE)
    firsts = [
        each.splice
        for each in ports.index.events.read(draft.note.id or draft.path)
        if any(change.field == "links" and not change.before for change in each.changes)
    ]
    is_brought = any(splice and name.search(splice.inserted) for splice in firsts[-1:])
    return draft.change({"links": left}, event, dropped="links" if is_brought else "")


def _rejected(ports: VaultPorts, source: NoteSummary, target: NoteSummary) -> list[NoteDraft]:
    one = _suggestion(ports, source, target) or _suggestion(ports, target, source)
    if one is None:
        return []
    drafts: list[NoteDraft] = []
    ids: list[str] = []
    # Known by its path alone, a note would leave the decision to the next one of that name.
    for note in (one.target, one.source):
        draft = NoteDraft(ports, ports.vault.read(note.path))
        draft.identify(new_event(ports, "edit", by="person", reason=_NAMED), taken=ids)
        ids.append(draft.note.id or "")
        drafts.append(draft)
    text = format_link(shortest_target(one.target.path, ports.index.names))
    rejected = LinkRecord(ids[0], one.target.path, text, one.relation, one.strength, one.reason)
    event = new_event(ports, "reject", by="person", model=ANALYZER, reason=one.reason)
    drafts[-1].record(replace(event, suggested=(rejected,)))
    return drafts


@dataclass(frozen=True, slots=True)
class Removal:
    """What happened when a note was removed.

    `unlinked` notes lost a machine's link to it; in `dangling` ones a person's link remains, in
    canvases also a card. `event` is the id of the event that `undo` takes back.
    """

    path: str
    unlinked: tuple[str, ...]
    dangling: tuple[str, ...]
    event: str


def remove(ports: VaultPorts, note: NoteSummary) -> Removal:
    """Move a note to the trash; links of the machine's to it go with it, a person's stay."""
    with ports.changes.locked():
        content = ports.vault.read(note.path)
        removal = new_event(
            ports,
            "remove",
            by="person",
            note=note.id or "",
            path=note.path,
            sha=content.sha,
            reason="removed",
        )
        drafts = [
            draft
            for source in dict.fromkeys(path for path, _ in ports.index.links.incoming(note.path))
            if (draft := _without_machine_link(ports, source, note, removal)) is not None
        ]
        writes = [write for draft in drafts for write in draft.write()]
        events = [removal, *(event for draft in drafts for event in draft.events)]
        ports.changes.apply([*writes, NoteWrite(note.path, content.raw, None)], events)
        unlinked = tuple(draft.path for draft in drafts)
        refresh(ports, unlinked)
        # Only as long as the index has the note do links to it resolve.
        dangling = dict.fromkeys(source for source, _ in ports.index.links.incoming(note.path))
        dangling |= dict.fromkeys(_canvases_with(ports, note.path))
        refresh(ports, [note.path])
    return Removal(note.path, unlinked, tuple(dangling), removal.id)


def _canvases_with(ports: VaultPorts, note: str) -> Iterator[str]:
    for path in ports.vault.canvases():
        try:
            raw = ports.vault.read(path).raw
        except AmemError:
            # The note is gone already: a canvas that cannot be read is no reason to fail.
            continue
        links = (link.target for text in card_texts(raw) for link in find_links(text))
        if composed(note) in map(composed, card_files(raw)) or any(
            resolve(target, path, ports.index.names) == note for target in links
        ):
            yield path


def _without_machine_link(
    ports: VaultPorts, source: str, target: NoteSummary, removal: Event
) -> NoteDraft | None:
    reason = f"“{target.title}” was removed"
    event = new_event(ports, "link", trigger=target.key, cause=removal.id, reason=reason)
    try:
        draft = NoteDraft(ports, ports.vault.read(source))
        owned = provenance_of(ports.index, draft.note.id or source)
        made = owned_link(ports.index, draft.note, owned, target.path)
        if made is None:
            return None
        # What else leads there is a person's.
        left = [text for text in draft.note.links if text != made.text]
        return draft if draft.change({"links": left}, event) else None
    except AmemError:
        # A note that cannot be edited keeps its link; it is reported as dangling.
        return None


def category_of(raw: bytes) -> str:
    """The category in a note's bytes; empty if there is none, or none that is text."""
    try:
        header = header_of(raw)
    except HeaderRefused:
        return ""
    entry = header.entry(_CATEGORY) if header else None
    return (header.text_of(entry.value) or "").strip() if header and entry else ""


def with_category(content: str, category: str) -> str:
    """The text of a new note with its category above it; `ValueError` if it is no valid Unicode."""
    changes = {_CATEGORY: " ".join(category.split())}
    try:
        return edit_header(content.encode("utf-8"), changes).decode("utf-8")
    except HeaderRefused:
        return compose_note(changes, content).decode("utf-8")


def set_category(ports: VaultPorts, note: NoteSummary, category: str) -> bool:
    """Give a note another category as its owner; False if it has it already."""
    category = " ".join(category.split())
    with drafted(ports, note.path) as draft:
        if category_of(draft.raw) == category:
            return False
        event = new_event(ports, "edit", by="person", reason=f"category: {category}")
        draft.restore(edit_header(draft.raw, {_CATEGORY: category}, ports.names), event, ())
    return True


def record_baseline(ports: VaultPorts, *, samples: bool = False) -> int:
    """Index the existing notes and record their texts as known, so that they are not pending.

    `evolve --all` processes them all the same.

    Args:
        samples: no person wrote them: as long as their texts are as they are, they lend
            others no tags and are not linked with them unasked.
    """
    synchronise(ports)
    with ports.changes.locked():
        known = tuple(sorted({note.text_hash for note in ports.index.notes.summaries()}))
        brought = known if samples else ()
        reason = "the vault was made"
        event = new_event(ports, "baseline", reason=reason, known=known, samples=brought)
        ports.changes.apply([], [event])
    synchronise(ports)
    return ports.index.notes.count()
