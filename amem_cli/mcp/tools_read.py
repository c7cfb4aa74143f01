"""Tools that leave the notes as they are."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, time
from typing import TYPE_CHECKING, Any

from amem_cli.errors import UsageError
from amem_cli.journal.change_store import CLIENT
from amem_cli.mcp import tool as takes
from amem_cli.mcp.tool import Arguments, Tool
from amem_cli.search.search import Filters
from amem_cli.workspace import documents as json
from amem_cli.workspace.documents import COUNT, COUNT_OR_NULL, FLAG, NAME, NAME_OR_NULL, TEXT

if TYPE_CHECKING:
    from amem_cli.ask.ask import Answer
    from amem_cli.editing.history import HistoryEntry
    from amem_cli.index.records import NoteSummary
    from amem_cli.workspace.queries import SearchResult
    from amem_cli.workspace.workspace import Workspace

NOTE = takes.text(
    "The note's id (as search and list give it), path, file name, title or alias.",
    takes.NAME_CHARACTERS,
)
_DAY = "as 2026-03-02, 2026-03, 7d, yesterday or 'last week'"
_FILTERS = {
    "tags": takes.texts(
        "Only notes with all of these tags; `work` also means `work/travel`.",
        takes.WORDS,
        takes.WORD_CHARACTERS,
    ),
    "since": takes.text(f"Only notes created on this day or later, {_DAY}.", 50),
    "until": takes.text(f"Only notes created on this day or earlier, {_DAY}.", 50),
    "folder": takes.text(
        "Only notes in this folder of the vault, or whose path is like this: 'daily/2026-*'.",
        takes.NAME_CHARACTERS,
    ),
}


def _filters(given: Arguments) -> Filters:
    return Filters(
        tags=tuple(given["tags"] or ()),
        since=_day(given["since"], "since", 0),
        until=_day(given["until"], "until", 1),
        path=given["folder"] or "",
    )


def _day(text: str | None, name: str, end: int) -> datetime | None:
    if not text:
        return None
    from amem_cli.language.dates import day_range

    try:
        return datetime.combine(day_range(text, datetime.now().date())[end], time())
    except ValueError:
        raise UsageError(
            f"{name} {text!r} is no date",
            hint="Write it as 2026-03-02, 2026-03, 7d, yesterday or 'last week'.",
        ) from None


def _search(workspace: Workspace, given: Arguments) -> SearchResult:
    return workspace.search(
        given["query"],
        mode=given["mode"],
        limit=given["limit"],
        neighbors=given["neighbors"],
        filters=_filters(given),
    )


ANSWER = {
    "question": TEXT,
    "answer": NAME.of("text"),
    "held": FLAG.about("false: the notes do not hold an answer"),
    "how": json.choice("model", "extract", "nothing"),
    "sources": json.listed(
        {**json.NAMED, "created": NAME, "quote": NAME, "line": COUNT}, "citations"
    ),
    "shown": json.listed(json.NAMED).about("notes that were looked at"),
    "model": NAME_OR_NULL,
    "problems": json.NAMES,
}


def _ask(workspace: Workspace, given: Arguments) -> Answer:
    return workspace.ask(
        given["question"],
        limit=given["limit"],
        filters=_filters(given),
        use_model=given["use_model"],
    )


_LINK = json.without(json.LINK, "kind")
# How often the user saw a note is not the agents' business.
NOTE_PART = {
    **json.within(
        "view", json.without(json.NOTE, "private", "retrieval_count", "last_accessed", "problem")
    ),
    "content": NAME,
    "offset": COUNT,
    "total_characters": COUNT,
    "truncated": FLAG.about("there is more; read on with `next_offset`"),
    "next_offset": COUNT_OR_NULL,
    "revision": NAME.about("names this text; update takes it when it replaces the text"),
    "links": json.listed(_LINK, "view.links", longest=takes.LINKED),
    "more_links": COUNT,
    "problem": NAME_OR_NULL.of("view.summary.refused"),
}


def _read(workspace: Workspace, given: Arguments) -> Mapping[str, Any]:
    from amem_cli.index.sync import text_hash

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
        "more_links": max(0, len(view.links) - takes.LINKED),
    }


RELATED = {
    "note": json.record(json.NAMED),
    "related": json.listed(
        {
            **json.within("link", _LINK),
            "context": TEXT.of("note.context"),
            "distance": COUNT.about("links away"),
            "from": NAME.of("source").about("path of the note at the other end of the link"),
        }
    ),
    "truncated": FLAG,
}


def _related(workspace: Workspace, given: Arguments) -> Mapping[str, Any]:
    root, limit = workspace.note(given["note"]), given["limit"]
    related = workspace.related(root, depth=given["depth"], limit=limit + 1)
    return {"note": root, "related": related[:limit], "truncated": len(related) > limit}


LISTED = {
    "total": COUNT.about("how many notes there are of this kind"),
    "offset": COUNT,
    "next_offset": COUNT_OR_NULL,
    "notes": json.listed(json.OUTLINE),
}


def _list(workspace: Workspace, given: Arguments) -> Mapping[str, Any]:
    from amem_cli.search.read import Wanted

    notes = workspace.list_notes(
        filters=_filters(given),
        wanted=Wanted(orphans=given["only"] == "orphans", pending=given["only"] == "pending"),
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


_VALUE = json.Field({"type": ["string", "array"], "items": {"type": "string"}})
EVENT = {
    "event": NAME.of("event.id").about("id for undo"),
    "time": NAME.of("event.time"),
    "kind": NAME.of("event.kind"),
    "by": json.choice("person", "machine").of(
        lambda entry: "person" if entry["event"].by == "person" else "machine"
    ),
    "client": json.TEXT_OR_NULL.about("the agent's program, if one asked for it"),
    "id": NAME_OR_NULL,
    "path": NAME_OR_NULL,
    "title": json.TEXT_OR_NULL,
    "because": json.TEXT_OR_NULL.about("title of the note that gave rise to it"),
    "reason": json.TEXT_OR_NULL,
    "changes": json.listed(
        {
            "field": NAME,
            "before": _VALUE.of(lambda change: _value(change.before)),
            "after": _VALUE.of(lambda change: _value(change.after)),
        }
    ),
    "text_changed": FLAG,
    "links": json.listed(
        {
            "path": NAME,
            "relation": NAME,
            # A foreign journal may hold any number; the schema promises a share.
            "strength": json.SHARE.of(lambda link: max(0.0, min(1.0, link.strength))),
            "reason": TEXT,
        },
        longest=takes.LINKED,
    ),
    "undone_by": NAME_OR_NULL,
}
HISTORY = {"events": json.listed(EVENT).about("oldest first")}


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


STATS = {
    "notes": COUNT,
    "links": COUNT,
    "machine_links": COUNT,
    "broken_links": COUNT,
    "orphans": COUNT.about("notes without links"),
    "pending": COUNT.about("notes that wait for the memory process"),
    "proposed": COUNT.about("changes of notes that wait for the user's decision"),
}
SUMMARY = {
    **json.within("stats", STATS),
    "tags": json.listed({"tag": TEXT, "notes": COUNT}).about("the most used first"),
    "newest": json.listed(json.pick(json.OUTLINE, ("id", "path", "title", "created"))),
}


def vault_summary(workspace: Workspace, given: Arguments) -> Mapping[str, Any]:
    """Counts of the notes that agents are shown, the tags and the newest notes."""
    from amem_cli.search.read import Wanted

    tags = workspace.index.notes.tag_counts(public=not workspace.sees_private)
    most_used = sorted(tags.items(), key=lambda item: (-item[1], item[0]))[: takes.WORDS]
    return {
        "stats": workspace.stats(),
        "tags": [{"tag": tag, "notes": count} for tag, count in most_used],
        "newest": workspace.list_notes(wanted=Wanted(), limit=10),
    }


READING_TOOLS = (
    Tool(
        "search",
        "Search the notes",
        "Find notes by meaning and by words; use it first whenever what the user has written,"
        " decided, planned or learned may matter. Notes linked to the hits come after them (`via`"
        " says whose). Gives outlines and snippets; use read for the whole text. `mode` says how it"
        " was searched: by words alone if the encoder cannot be had.",
        takes.arguments(
            ["query"],
            {
                "query": takes.text(
                    "What to look for, as a question or a few words, in any language.",
                    takes.QUERY_CHARACTERS,
                ),
                "limit": takes.number("How many direct hits.", 1, takes.HITS, 5),
                "mode": takes.choice(
                    "`hybrid` for almost everything; `keyword` for exact words, names and codes;"
                    " `semantic` for meaning alone.",
                    ("hybrid", "semantic", "keyword"),
                    "hybrid",
                ),
                "neighbors": takes.flag("Also notes linked to the hits.", default=True),
                **_FILTERS,
            },
        ),
        json.SEARCH,
        _search,
    ),
    Tool(
        "ask",
        "Answer from the notes",
        "Answer one question from the notes alone, with quotations and where they stand; `held` is"
        " false if the notes do not say. Use search instead to collect material.",
        takes.arguments(
            ["question"],
            {
                "question": takes.text("The question.", takes.QUERY_CHARACTERS),
                "limit": takes.number("How many notes to look at.", 1, 20, 6),
                "use_model": takes.flag(
                    "Let the vault's own language model word the answer, if it is good enough;"
                    " false only quotes.",
                    default=True,
                ),
                **_FILTERS,
            },
        ),
        ANSWER,
        _ask,
        asks_model=True,
    ),
    Tool(
        "read",
        "Read a note",
        "Read one note with its links in both directions. Long notes come in parts: if"
        " `truncated` is true, call again with `offset` set to `next_offset`.",
        takes.arguments(
            ["note"],
            {
                "note": NOTE,
                "offset": takes.number("First character of the text.", 0, 10_000_000, 0),
                "limit": takes.number(
                    "At most so many characters.",
                    1,
                    takes.MOST_READ_CHARACTERS,
                    takes.READ_CHARACTERS,
                ),
            },
        ),
        NOTE_PART,
        _read,
    ),
    Tool(
        "related",
        "Notes linked to a note",
        "The neighbourhood of a note: linked notes in both directions, nearest first, each with"
        " who made the link, its relation, strength and reason.",
        takes.arguments(
            ["note"],
            {
                "note": NOTE,
                "depth": takes.number("How many links away.", 1, 3, 1),
                "limit": takes.number("At most so many notes.", 1, takes.LINKED, 30),
            },
        ),
        RELATED,
        _related,
    ),
    Tool(
        "list",
        "List notes",
        "List notes by date or name, the newest first, a page at a time. Use it for what is new or"
        " waits, not to find something: that is search.",
        takes.arguments(
            [],
            {
                "only": takes.choice(
                    "`orphans`: notes without links; `pending`: notes that wait for keywords, tags"
                    " and links.",
                    ("all", "orphans", "pending"),
                    "all",
                ),
                "sort": takes.choice(
                    "Dates sort newest first, names from A to Z.",
                    ("created", "modified", "title", "path"),
                    "created",
                ),
                "limit": takes.number("At most so many.", 1, takes.LISTED, 20),
                "offset": takes.number("Leave out so many.", 0, 10_000_000, 0),
                **_FILTERS,
            },
        ),
        LISTED,
        _list,
    ),
    Tool(
        "history",
        "What changed",
        "What amem, agents and the user's commands changed in the notes, when, why, and because of"
        " which note; ids of events are what undo takes.",
        takes.arguments(
            [],
            {
                "note": {**NOTE, "description": "Only this note. " + NOTE["description"]},
                "limit": takes.number("The newest so many events.", 1, takes.EVENTS, 20),
            },
        ),
        HISTORY,
        _history,
    ),
    Tool(
        "stats",
        "The vault at a glance",
        "How many notes and links there are, which tags are used most, what is newest and what"
        " waits. Use it once to get to know the vault; take tags for new notes from here.",
        takes.arguments([], {}),
        SUMMARY,
        vault_summary,
    ),
)
