"""The tools: what each does, and the fields of what it gives; data/tools.toml describes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from amem_cli.editing.add import NewNote, text_bytes
from amem_cli.editing.edit import FieldEdits, TextEdit, link, unlink
from amem_cli.errors import UsageError
from amem_cli.index.sync import text_hash
from amem_cli.journal.change_store import CLIENT
from amem_cli.language.dates import given_day, given_moment
from amem_cli.mcp.organise import (
    EVOLVED,
    ORGANISED,
    OUTCOME,
    QUESTIONS,
    evolve,
    next_to_organise,
    organise,
)
from amem_cli.mcp.tool import Arguments, compact, described
from amem_cli.notes.note import parse_note
from amem_cli.search.search import Filters, Hit
from amem_cli.workspace import documents as json
from amem_cli.workspace.documents import (
    COUNT,
    COUNT_OR_NULL,
    FLAG,
    NAME,
    NAME_OR_NULL,
    NAMES,
    TEXT,
    TEXTS,
)

if TYPE_CHECKING:
    from amem_cli.editing.history import HistoryEntry
    from amem_cli.index.records import NoteSummary
    from amem_cli.workspace.workspace import Saved, Workspace

# How much an agent gets at once. Of a search so many characters for each direct hit, with the notes
# linked to it: five are 1,200 tokens, at four characters a token.
_HIT_CHARACTERS = 880
_LINKED = 100
_TAGS = 50


def _filtered(given: Arguments) -> dict[str, Any]:
    """The arguments, with filters in place of those that are a filter's."""
    rest = dict(given)
    tags, folder = tuple(rest.pop("tags") or ()), rest.pop("folder") or ""
    today = datetime.now().date()
    since = given_day(rest.pop("since"), "since", today, last=False)
    until = given_day(rest.pop("until"), "until", today, last=True)
    as_of = given_day(rest.pop("as_of", None), "as_of", today, last=True)
    filters = Filters(tags=tags, since=since, until=until, path=folder, as_of=as_of)
    return {**rest, "filters": filters}


SEARCHED = {
    **json.within("found", json.SEARCH),
    "left_out": COUNT,
}


def _search(workspace: Workspace, given: Arguments) -> Mapping[str, Any]:
    found = workspace.search(**_filtered(given))
    hits = list(found.hits)
    room = _HIT_CHARACTERS * given["limit"]
    # An agent pays for every word. It reads a note whole where a hit is promising.
    for longest in (240, 160, 100, 60, 30):
        hits = [_outlined(hit, longest) for hit in found.hits]
        if _size_of(hits) <= room:
            break
    while _size_of(hits) > room and hits[-1].via is not None:
        hits.pop()
    return {"found": replace(found, hits=tuple(hits)), "left_out": len(found.hits) - len(hits)}


def _outlined(hit: Hit, longest: int) -> Hit:
    note, words = hit.note, max(1, longest // 24)
    note = replace(
        note,
        title=json.cut(note.title, max(60, longest)),
        context=json.cut(hit.note.context, longest),
        keywords=hit.note.keywords[:words],
        tags=hit.note.tags[:words],
    )
    return replace(
        hit,
        note=note,
        snippet=json.cut(hit.snippet, longest),
        marks=(),
        superseded_by=hit.superseded_by[:words],
        contradicted_by=hit.contradicted_by[:words],
    )


def _size_of(hits: Sequence[Hit]) -> int:
    return len(compact([json.document(json.HIT, hit, bounded=True) for hit in hits]))


ANSWER = {
    **json.without(json.ANSWER, "calls", "tokens", "seconds"),
    "sources": json.listed(json.without(json.CITATION, "via"), "citations"),
}


_LINK = json.without(json.LINK, "kind")
# How often the user saw a note is not the agents' business.
NOTE_PART = {
    **json.within(
        "view", json.without(json.NOTE, "private", "retrieval_count", "last_accessed", "problem")
    ),
    "content": NAME,
    "offset": COUNT,
    "total_characters": COUNT,
    "truncated": FLAG,
    "next_offset": COUNT_OR_NULL,
    "revision": NAME,
    "links": json.listed(_LINK, "view.links", longest=_LINKED),
    "more_links": COUNT,
    "problem": NAME_OR_NULL.of("view.summary.refused"),
}


def _read(workspace: Workspace, given: Arguments) -> Mapping[str, Any]:
    view = workspace.show(workspace.note(given["note"]))
    body, start = view.note.body, given["offset"]
    part = body[start : start + given["limit"]]
    end = start + len(part)
    return {
        "view": view,
        "content": part,
        "offset": start,
        "total_characters": len(body),
        "truncated": end < len(body),
        "next_offset": end if end < len(body) else None,
        "revision": text_hash(view.raw),
        "more_links": max(0, len(view.links) - _LINKED),
    }


RELATED = {
    "note": json.record(json.NAMED),
    "related": json.listed(
        {
            **json.within("link", _LINK),
            "context": TEXT.of("note.context"),
            "distance": COUNT,
            "from": NAME.of("source"),
        }
    ),
    **json.within("view", json.pick(json.NOTE, ("suggested",))),
    "truncated": FLAG,
}


def _related(workspace: Workspace, given: Arguments) -> Mapping[str, Any]:
    root, limit = workspace.note(given["note"]), given["limit"]
    related = workspace.related(root, depth=given["depth"], limit=limit + 1)
    return {
        "note": root,
        "related": related[:limit],
        "view": workspace.show(root, counts=False),
        "truncated": len(related) > limit,
    }


LISTED = {
    "total": COUNT,
    "offset": COUNT,
    "next_offset": COUNT_OR_NULL,
    "notes": json.listed(json.OUTLINE),
}


def _list(workspace: Workspace, given: Arguments) -> Mapping[str, Any]:
    notes = workspace.list_notes(
        filters=_filtered(given)["filters"],
        orphans=given["only"] == "orphans",
        pending=given["only"] == "pending",
        sort=given["sort"],
    )
    start, end = given["offset"], given["offset"] + given["limit"]
    return {
        "total": len(notes),
        "offset": start,
        "next_offset": end if end < len(notes) else None,
        "notes": notes[start:end],
    }


def _value(value: object) -> str | list[str]:
    # The journal is a file: whatever it holds is a text here.
    if isinstance(value, (list, tuple)):
        return [json.cut(str(item)) for item in value[: json.BOUNDED_WORDS]]
    return json.cut(str(value))


EVENT = {
    "event": NAME.of("event.id"),
    "time": NAME.of("event.time"),
    "kind": NAME.of("event.kind"),
    "by": NAME.of(lambda entry: "person" if entry["event"].by == "person" else "machine"),
    "client": json.TEXT_OR_NULL,
    "id": NAME_OR_NULL,
    "path": NAME_OR_NULL,
    "title": json.TEXT_OR_NULL,
    "because": json.TEXT_OR_NULL,
    "reason": json.TEXT_OR_NULL,
    "changes": json.listed(
        {
            "field": NAME,
            "before": NAMES.of(lambda change: _value(change.before)),
            "after": NAMES.of(lambda change: _value(change.after)),
        }
    ),
    "text_changed": FLAG,
    "links": json.listed(
        {
            "path": NAME,
            "relation": NAME,
            # A foreign journal may hold any number.
            "strength": json.SHARE.of(lambda link: max(0.0, min(1.0, link.strength))),
            "reason": TEXT,
        },
        longest=_LINKED,
    ),
    "undone_by": NAME_OR_NULL,
}
HISTORY = {"events": json.listed(EVENT)}


def _history(workspace: Workspace, given: Arguments) -> Mapping[str, Any]:
    key = workspace.note(given["note"]).key if given["note"] else ""
    entries = workspace.history(key, limit=given["limit"])
    notes = {note.key: note for note in workspace.index.notes.summaries()}
    return {"events": [_event(workspace, entry, notes) for entry in entries]}


def _event(
    workspace: Workspace, entry: HistoryEntry, notes: Mapping[str, NoteSummary]
) -> Mapping[str, Any]:
    event, hidden = entry.event, workspace.hidden()
    own = notes.get(event.note) or notes.get(event.path)
    cause = notes.get(event.trigger)
    # Nobody knows any more whether a note that is gone was private.
    is_shown = own is not None or workspace.sees_private
    is_explained = (
        not event.trigger or workspace.sees_private or (cause is not None and not cause.private)
    )
    client = event.extra.get(CLIENT)
    return {
        "event": event,
        "client": client if isinstance(client, str) else None,
        "id": event.note if is_shown else None,
        "path": (own.path if own is not None else event.path) if is_shown else None,
        "title": entry.title if is_shown else None,
        "because": entry.because if is_explained else None,
        "reason": event.reason if is_explained and is_shown else None,
        # Links are listed below, with their reasons.
        "changes": [each for each in event.changes if each.field != "links"] if is_shown else [],
        "text_changed": event.splice is not None and not event.changes,
        "links": [link for link in event.links if link.path not in hidden] if is_shown else [],
        "undone_by": entry.undone_by,
    }


SUMMARY = {
    **json.within(
        "stats",
        {
            "notes": COUNT,
            "links": COUNT,
            "machine_links": COUNT,
            "broken_links": COUNT,
            "orphans": COUNT,
            "pending": COUNT,
            "proposed": COUNT,
        },
    ),
    "tags": json.listed({"tag": TEXT, "notes": COUNT}),
    "newest": json.listed(json.pick(json.OUTLINE, ("id", "path", "title", "created"))),
}


def _summary(workspace: Workspace, given: Arguments) -> Mapping[str, Any]:
    """Counts of the notes that agents are shown, the tags and the newest notes."""
    tags = workspace.index.notes.tag_counts(public=not workspace.sees_private)
    most_used = sorted(tags.items(), key=lambda item: (-item[1], item[0]))[:_TAGS]
    return {
        "stats": workspace.stats(),
        "tags": [{"tag": tag, "notes": count} for tag, count in most_used],
        "newest": workspace.list_notes(limit=10),
    }


ADDED = {
    "known": FLAG,
    **json.within("outcome", OUTCOME),
}


def _add(workspace: Workspace, given: Arguments) -> Saved:
    # Whether an id is taken would reveal a private note.
    if parse_note("", text_bytes(given["content"]), workspace.ports.names).id is not None:
        raise UsageError(
            "the text brings an `id` in its front matter", hint="Leave it out: amem gives ids."
        )
    new = NewNote(
        content=given["content"],
        title=given["title"] or "",
        keywords=given["keywords"] or (),
        tags=given["tags"] or (),
        context=given["context"] or "",
        created=given_moment(given["created"], "created", datetime.now().date()),
    )
    return workspace.add(new, unless_known=given["unless_known"], wait=given["wait"])


UPDATED = {"changed": NAMES, "revision": NAME, **json.within("outcome", OUTCOME)}


def _update(workspace: Workspace, given: Arguments) -> Saved:
    note = workspace.note(given["note"])
    append, revision = given["append"], given["revision"] or ""
    if given["content"] is not None and append is not None:
        raise UsageError("give `content` or `append`, not both")
    if given["content"] is not None and not revision:
        raise UsageError(
            "`content` replaces the whole text and needs the `revision` that it was made from",
            hint="Read the note for it; to add to the end use `append`.",
        )
    edits = FieldEdits(
        content=given["content"],
        context=given["context"],
        add_keywords=given["add_keywords"] or (),
        remove_keywords=given["remove_keywords"] or (),
        add_tags=given["add_tags"] or (),
        remove_tags=given["remove_tags"] or (),
    )
    if edits == FieldEdits() and append is None:
        raise UsageError("nothing to change", hint="Give a field and its new value.")
    return workspace.update(note, edits, append=append, revision=revision, wait=given["wait"])


def _edit(workspace: Workspace, given: Arguments) -> Saved:
    edit = TextEdit(given["replacement"], given["find"] or "", given["section"] or "")
    note = workspace.note(given["note"])
    return workspace.edit_text(note, edit, revision=given["revision"], wait=given["wait"])


MOVED = {
    "source": NAME,
    "path": NAME,
    "followed": NAMES,
    "left": TEXTS,
    "event": NAME,
}


LINKED = {
    "source": json.record(json.NAMED),
    "target": json.record(json.NAMED),
    "changed": FLAG,
}


def _link(workspace: Workspace, given: Arguments) -> Mapping[str, Any]:
    source, target = workspace.note(given["note"]), workspace.note(given["target"])
    if given["remove"]:
        changed = unlink(workspace.ports, source, target)
    else:
        relation, reason = given["relation"], given["reason"] or ""
        made = link(workspace.ports, source, target, relation=relation, reason=reason)
        changed = made is not None
    return {"source": source, "target": target, "changed": changed}


UNDONE = {
    "events": json.listed({"event": NAME.of("id"), "kind": NAME, "path": NAME}),
    "paths": NAMES,
    "kept": TEXTS,
}


DELETED = {
    "path": NAME,
    "unlinked": NAMES,
    "still_linked_from": NAMES.of("dangling"),
}


TOOLS = described(
    {
        "search": (SEARCHED, _search),
        "ask": (ANSWER, lambda workspace, given: workspace.ask(**_filtered(given))),
        "read": (NOTE_PART, _read),
        "related": (RELATED, _related),
        "list": (LISTED, _list),
        "history": (HISTORY, _history),
        "stats": (SUMMARY, _summary),
        "add": (ADDED, _add),
        "update": (UPDATED, _update),
        "edit": (UPDATED, _edit),
        "move": (
            MOVED,
            lambda workspace, given: workspace.move(workspace.note(given["note"]), given["name"]),
        ),
        "link": (LINKED, _link),
        "evolve": (EVOLVED, evolve),
        "next_to_organise": (QUESTIONS, next_to_organise),
        "organise": (ORGANISED, organise),
        "undo": (UNDONE, lambda workspace, given: workspace.undo(**given)),
        "delete": (
            DELETED,
            lambda workspace, given: workspace.remove(workspace.note(given["note"])),
        ),
    }
)
