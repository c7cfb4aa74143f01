"""Tools that leave the notes as they are."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from amem_cli.agents import arguments as takes
from amem_cli.agents import bounds, documents
from amem_cli.agents import result_schemas as gives
from amem_cli.agents.tool import Document, Later, Tool

if TYPE_CHECKING:
    from amem_cli.agents.lanes import Call
    from amem_cli.agents.open_vault import OpenVault

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


def _filters(vault: OpenVault, given: Mapping[str, Any]) -> Any:
    return vault.filters(given["tags"], given["since"], given["until"], given["folder"])


def _search(vault: OpenVault, given: Mapping[str, Any], call: Call) -> Document:
    from amem_cli.services.query import search

    mode = given["mode"]
    encoder = None
    if mode != "keyword":
        encoder = vault.embedded(call) if mode == "semantic" else vault.encoder(call)
        mode = mode if encoder is not None else "keyword"
    call.step("searching")
    hits = search(
        vault.index,
        given["query"],
        encoder=encoder,
        mode=mode,
        limit=given["limit"],
        neighbors=given["neighbors"],
        filters=_filters(vault, given),
        reranker=vault.workspace.reranker if mode == "hybrid" else None,
    )
    vault.count_use([hit.note.key for hit in hits])
    hidden = vault.hidden()
    found = [documents.hit(hit, hidden) for hit in hits]
    return {"query": bounds.cut(given["query"]), "mode": mode, "hits": found}


def _ask(vault: OpenVault, given: Mapping[str, Any], call: Call) -> Document | Later:
    workspace = vault.workspace
    trusted = workspace.model_trust.asked_for == "all" and given["use_model"]
    if not trusted:
        return _answer(vault, given, call, None)

    def work() -> Document:
        with vault.thinking(call) as opened:
            return _answer(vault, given, call, opened.model)

    return Later(work)


def _answer(vault: OpenVault, given: Mapping[str, Any], call: Call, model: Any) -> Document:
    from amem_cli.rendering.answer import answer_document
    from amem_cli.services.ask import AskSettings, ask

    encoder = vault.encoder(call)
    settings = AskSettings.of(vault.workspace.settings, trusted=model is not None)
    call.step("looking for an answer" if model is None else f"asking {model.name}")
    answer = ask(
        vault.ports,
        given["question"],
        encoder=encoder,
        model=model,
        settings=settings,
        limit=given["limit"],
        filters=_filters(vault, given),
    )
    vault.count_use([each.id or each.path for each in answer.citations or answer.shown])
    document = answer_document(replace(answer, question=bounds.cut(answer.question)))
    sources = [
        {name: each[name] for name in ("id", "path", "title", "created", "quote", "line")}
        for each in document["sources"]
    ]
    kept = ("question", "answer", "held", "how", "shown", "model", "problems")
    return {**{name: document[name] for name in kept}, "sources": sources}


def _read(vault: OpenVault, given: Mapping[str, Any], call: Call) -> Document:
    from amem_cli.services.show import read_note
    from amem_cli.services.sync import text_hash

    summary = vault.named(given["note"])
    view = read_note(vault.ports, summary.path)
    vault.count_use([summary.key])
    return documents.note(
        view, given["offset"], given["limit"], text_hash(view.raw), vault.hidden()
    )


def _related(vault: OpenVault, given: Mapping[str, Any], call: Call) -> Document:
    from amem_cli.services.show import read_note

    root = vault.named(given["note"])
    hidden = vault.hidden()
    distance = {root.path: 0}
    queue = deque([root.path])
    found: list[Document] = []
    while queue and len(found) <= given["limit"]:
        path = queue.popleft()
        if distance[path] >= given["depth"]:
            continue
        call.step(f"following links ({len(found)} so far)")
        for view in read_note(vault.ports, path).links:
            other = vault.index.notes.summary(view.path)
            if view.path in hidden or view.path in distance or other is None:
                continue
            distance[view.path] = distance[path] + 1
            queue.append(view.path)
            context = bounds.cut(other.context)
            where = {"context": context, "distance": distance[view.path], "from": path}
            found.append({**documents.link(view), **where})
    limit = given["limit"]
    return {
        "note": documents.named(root),
        "related": found[:limit],
        "truncated": len(found) > limit,
    }


def _list(vault: OpenVault, given: Mapping[str, Any], call: Call) -> Document:
    from amem_cli.services.listing import Wanted, listed
    from amem_cli.services.standing import Standing, standings

    notes = listed(
        vault.index,
        filters=_filters(vault, given),
        wanted=Wanted(orphans=given["only"] == "orphans", pending=given["only"] == "pending"),
        sort=given["sort"],
        reverse=False,
        limit=None,
    )
    start, end = given["offset"], given["offset"] + given["limit"]
    page = notes[start:end]
    known = standings(vault.index, [note.path for note in page])
    hidden = vault.hidden()
    return {
        "total": len(notes),
        "offset": start,
        "next_offset": end if end < len(notes) else None,
        "notes": [
            documents.outline(note, known.get(note.path, Standing()), hidden) for note in page
        ],
    }


def _history(vault: OpenVault, given: Mapping[str, Any], call: Call) -> Document:
    from amem_cli.services.history import history

    key = vault.named(given["note"]).key if given["note"] else ""
    looked_at = 2 * given["limit"]
    while True:
        entries = history(vault.index, key, limit=looked_at)
        events = documents.events(vault, entries, given["limit"])
        # Many of the newest may be of notes that are not shown.
        if len(events) == given["limit"] or len(entries) < looked_at:
            return {"events": events}
        looked_at *= 4


def _stats(vault: OpenVault, given: Mapping[str, Any], call: Call) -> Document:
    from amem_cli.agents.vault_summary import vault_summary

    return vault_summary(vault)


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
