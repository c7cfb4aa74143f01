"""Tools that leave the notes as they are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, time
from typing import TYPE_CHECKING, Any

from amem_cli.errors import UsageError
from amem_cli.mcp import documents
from amem_cli.mcp import documents as bounds
from amem_cli.mcp import tool as gives
from amem_cli.mcp import tool as takes
from amem_cli.mcp.tool import Document, Tool
from amem_cli.search.search import Filters

if TYPE_CHECKING:
    from amem_cli.workspace.workspace import Workspace

NOTE = takes.text(
    "The note's id (as search and list give it), path, file name, title or alias.",
    bounds.NAME_CHARACTERS,
)
_DAY = "as 2026-03-02, 2026-03, 7d, yesterday or 'last week'"
_FILTERS = {
    "tags": takes.texts(
        "Only notes with all of these tags; `work` also means `work/travel`.",
        bounds.WORDS,
        bounds.WORD_CHARACTERS,
    ),
    "since": takes.text(f"Only notes created on this day or later, {_DAY}.", 50),
    "until": takes.text(f"Only notes created on this day or earlier, {_DAY}.", 50),
    "folder": takes.text(
        "Only notes in this folder of the vault, or whose path is like this: 'daily/2026-*'.",
        bounds.NAME_CHARACTERS,
    ),
}


def _filters(given: Mapping[str, Any]) -> Filters:
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


def _search(workspace: Workspace, given: Mapping[str, Any]) -> Document:
    found = workspace.search(
        given["query"],
        mode=given["mode"],
        limit=given["limit"],
        neighbors=given["neighbors"],
        filters=_filters(given),
    )
    hits = [documents.hit(hit) for hit in found.hits]
    return {"query": bounds.cut(found.query), "mode": found.mode, "hits": hits}


def _ask(workspace: Workspace, given: Mapping[str, Any]) -> Document:
    from amem_cli.terminal.notes import answer_document

    answer = workspace.ask(
        given["question"],
        limit=given["limit"],
        filters=_filters(given),
        use_model=given["use_model"],
    )
    document = answer_document(replace(answer, question=bounds.cut(answer.question)))
    sources = [
        {name: each[name] for name in ("id", "path", "title", "created", "quote", "line")}
        for each in document["sources"]
    ]
    kept = ("question", "answer", "held", "how", "shown", "model", "problems")
    return {**{name: document[name] for name in kept}, "sources": sources}


def _read(workspace: Workspace, given: Mapping[str, Any]) -> Document:
    from amem_cli.index.sync import text_hash

    view = workspace.show(workspace.note(given["note"]))
    return documents.note(view, given["offset"], given["limit"], text_hash(view.raw))


def _related(workspace: Workspace, given: Mapping[str, Any]) -> Document:
    root, limit = workspace.note(given["note"]), given["limit"]
    related = workspace.related(root, depth=given["depth"], limit=limit + 1)
    return {
        "note": documents.named(root),
        "related": [
            {
                **documents.link(each.link),
                "context": bounds.cut(each.note.context),
                "distance": each.distance,
                "from": each.source,
            }
            for each in related[:limit]
        ],
        "truncated": len(related) > limit,
    }


def _list(workspace: Workspace, given: Mapping[str, Any]) -> Document:
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
        "notes": [documents.outline(each.note, each.supersession) for each in notes[start:end]],
    }


def _history(workspace: Workspace, given: Mapping[str, Any]) -> Document:
    key = workspace.note(given["note"]).key if given["note"] else ""
    entries = workspace.history(key, limit=given["limit"])
    return {"events": documents.events(workspace, entries)}


def _stats(workspace: Workspace, given: Mapping[str, Any]) -> Document:
    from amem_cli.mcp.vault import vault_summary

    return vault_summary(workspace)


READING_TOOLS = (
    Tool(
        "search",
        "Search the notes",
        "Find notes by meaning and by words; use it first whenever what the user has written,"
        " decided, planned or learned may matter. Notes linked to the hits come after them (`via`"
        " says whose). Gives outlines and snippets; use read for the whole text. `mode` says how it"
        " was searched: by words alone where the encoder cannot be had.",
        takes.arguments(
            ["query"],
            {
                "query": takes.text(
                    "What to look for, as a question or a few words, in any language.",
                    bounds.QUERY_CHARACTERS,
                ),
                "limit": takes.number("How many direct hits.", 1, bounds.HITS, 5),
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
        gives.SEARCH,
        _search,
    ),
    Tool(
        "ask",
        "Answer from the notes",
        "Answer one question from the notes alone, with quotations and where they stand; `held` is"
        " false where the notes do not say. Use search instead to collect material.",
        takes.arguments(
            ["question"],
            {
                "question": takes.text("The question.", bounds.QUERY_CHARACTERS),
                "limit": takes.number("How many notes to look at.", 1, 20, 6),
                "use_model": takes.flag(
                    "Let the vault's own language model word the answer, where it is good enough;"
                    " false only quotes.",
                    default=True,
                ),
                **_FILTERS,
            },
        ),
        gives.ANSWER,
        _ask,
        asks_model=True,
    ),
    Tool(
        "read",
        "Read a note",
        "Read one note with its links in both directions. Long notes come in parts: where"
        " `truncated` is true, call again with `offset` set to `next_offset`.",
        takes.arguments(
            ["note"],
            {
                "note": NOTE,
                "offset": takes.number("First character of the text.", 0, 10_000_000, 0),
                "limit": takes.number(
                    "At most so many characters.",
                    1,
                    bounds.MOST_READ_CHARACTERS,
                    bounds.READ_CHARACTERS,
                ),
            },
        ),
        gives.NOTE,
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
                "limit": takes.number("At most so many notes.", 1, bounds.LINKED, 30),
            },
        ),
        gives.RELATED,
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
                "limit": takes.number("At most so many.", 1, bounds.LISTED, 20),
                "offset": takes.number("Leave out so many.", 0, 10_000_000, 0),
                **_FILTERS,
            },
        ),
        gives.LISTED,
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
                "limit": takes.number("The newest so many events.", 1, bounds.EVENTS, 20),
            },
        ),
        gives.HISTORY,
        _history,
    ),
    Tool(
        "stats",
        "The vault at a glance",
        "How many notes and links there are, which tags are used most, what is newest and what"
        " waits. Use it once to get to know the vault; take tags for new notes from here.",
        takes.arguments([], {}),
        gives.STATS,
        _stats,
    ),
)
