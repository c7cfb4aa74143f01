"""How much an agent may send and is given at once.

Results as agents are given them: of visible notes alone, and of bounded size.
Marks text of notes as data, with a mark that no note can know.
"""

from __future__ import annotations

import secrets
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from amem_cli.journal.change_store import CLIENT
from amem_cli.mcp.tool import NOTICE
from amem_cli.terminal.documents import hit_document, listed_document, outcome_document

if TYPE_CHECKING:
    from amem_cli.editing.history import HistoryEntry
    from amem_cli.index.records import NoteSummary
    from amem_cli.journal.events import Event
    from amem_cli.memory.outcome import Outcome
    from amem_cli.search.read import LinkView, NoteView
    from amem_cli.search.search import Hit
    from amem_cli.search.supersession import Supersession
    from amem_cli.workspace.workspace import Workspace

# A message of that many bytes is still read, so that the refusal names the call.
MESSAGE_BYTES = 32 * 1024 * 1024
WAITING_CALLS = 2_000

TEXT_CHARACTERS = 500_000
QUERY_CHARACTERS = 2_000
NAME_CHARACTERS = 500
SENTENCE_CHARACTERS = 1_000
WORD_CHARACTERS = 100
WORDS = 50

HITS = 50
LISTED = 100
LINKED = 100
EVENTS = 100
READ_CHARACTERS = 20_000
MOST_READ_CHARACTERS = 100_000
SHOWN_CHARACTERS = 1_000
SHOWN_WORDS = 30
RESOURCES_ON_A_PAGE = 100


def cut(text: str, most: int = SHOWN_CHARACTERS) -> str:
    """A text that ends in `…` where it is longer than `most` characters."""
    return text if len(text) <= most else text[: most - 1] + "…"


_USAGE = ("retrieval_count", "last_accessed")


def named(note: NoteSummary) -> dict[str, Any]:
    """What names a note."""
    return {"id": note.id, "path": note.path, "title": cut(note.title)}


def outline(note: NoteSummary, supersession: Supersession) -> dict[str, Any]:
    """A note in short, and which others say that it no longer holds."""
    document = _bounded(listed_document(note, supersession))
    # How often the user saw a note is not told.
    return {name: document[name] for name in document if name not in _USAGE}


def hit(found: Hit) -> dict[str, Any]:
    """One search hit."""
    return _bounded(hit_document(found))


def _bounded(document: dict[str, Any]) -> dict[str, Any]:
    for name in ("title", "context", "snippet"):
        if name in document:
            document[name] = cut(document[name])
    for name in ("keywords", "tags", "aliases"):
        if name in document:
            document[name] = [cut(text) for text in document[name][:SHOWN_WORDS]]
    for name in ("superseded_by", "contradicted_by"):
        if name in document:
            document[name] = document[name][:SHOWN_WORDS]
    return document


def note(view: NoteView, offset: int, limit: int, revision: str) -> dict[str, Any]:
    """A note with a part of its text and its links."""
    body = view.note.body
    shown = body[offset : offset + limit]
    end = offset + len(shown)
    links = [link(each) for each in view.links]
    return {
        **outline(view.summary, view.supersession),
        "aliases": list(view.summary.aliases[:SHOWN_WORDS]),
        "content": shown,
        "offset": offset,
        "total_characters": len(body),
        "truncated": end < len(body),
        "next_offset": end if end < len(body) else None,
        "revision": revision,
        "links": links[:LINKED],
        "more_links": max(0, len(links) - LINKED),
        "problem": view.summary.refused or None,
    }


def link(view: LinkView) -> dict[str, Any]:
    """A link as it is seen from the note that is read."""
    document = view.document()
    del document["kind"]
    return {**document, "reason": _cut_or_none(document["reason"])}


def _cut_or_none(text: str | None) -> str | None:
    return cut(text) if text else None


def outcome(done: Outcome) -> dict[str, Any]:
    """What the memory process did because of a note."""
    whole = _bounded(outcome_document(done))
    kept = ("id", "path", "title", "keywords", "tags", "context", "links", "evolved", "proposed")
    return {
        **{name: whole[name] for name in kept},
        "pending": done.pending,
        "review": review_sentence(len(done.proposed)),
        "problems": [cut(text) for text in done.problems[:SHOWN_WORDS]],
    }


def review_sentence(count: int) -> str | None:
    """What becomes of so many proposals, for an agent to pass on; None where there are none."""
    if not count:
        return None
    what = "1 change of an older note is" if count == 1 else f"{count} changes of older notes are"
    return (
        f"{what} proposed and not made: the user's settings let them wait until the user decides,"
        " with `amem review` in a terminal."
    )


def events(workspace: Workspace, entries: Iterable[HistoryEntry]) -> list[dict[str, Any]]:
    """Events of notes that the agent sees or that are gone, oldest first."""
    hidden = workspace.hidden()
    known = {each.key: each for each in workspace.index.notes.summaries()}
    return [_event(entry, known, hidden, workspace.sees_private) for entry in entries]


def _event(
    entry: HistoryEntry,
    known: Mapping[str, NoteSummary],
    hidden: Collection[str],
    sees_private: bool,
) -> dict[str, Any]:
    event = entry.event
    own = known.get(event.note) or known.get(event.path)
    cause = known.get(event.trigger)
    # Whether a note that is gone was private is not known any more.
    told = own is not None or sees_private
    explained = not event.trigger or sees_private or (cause is not None and not cause.private)
    client = event.extra.get(CLIENT)
    return {
        "event": event.id,
        "time": event.time,
        "kind": event.kind,
        "by": "person" if event.by == "person" else "machine",
        "client": cut(client, SENTENCE_CHARACTERS) if isinstance(client, str) else None,
        "id": (event.note or None) if told else None,
        "path": (own.path if own is not None else event.path or None) if told else None,
        "title": cut(entry.title) if told and entry.title else None,
        "because": _cut_or_none(entry.because) if explained else None,
        "reason": _cut_or_none(event.reason) if explained and told else None,
        "changes": _changes(event) if told else [],
        "text_changed": event.splice is not None and not event.changes,
        "links": _links(event, hidden) if told else [],
        "undone_by": entry.undone_by or None,
    }


def _changes(event: Event) -> list[dict[str, Any]]:
    # Links are told apart, with their reasons.
    return [
        {"field": each.field, "before": _value(each.before), "after": _value(each.after)}
        for each in event.changes
        if each.field != "links"
    ]


def _value(value: object) -> str | list[str]:
    if isinstance(value, (list, tuple)):
        return [cut(str(item)) for item in value[:SHOWN_WORDS]]
    return cut(str(value), SHOWN_CHARACTERS)


def _links(event: Event, hidden: Collection[str]) -> list[dict[str, Any]]:
    records: Sequence[Any] = [each for each in event.links if each.path not in hidden]
    return [
        {
            "path": each.path,
            "relation": each.relation,
            "strength": max(0.0, min(1.0, each.strength)),
            "reason": cut(each.reason),
        }
        for each in records[:LINKED]
    ]


# Drawn anew by every process, so that no text can close the envelope it is in.
_MARK = secrets.token_hex(6)


def marked(text: str) -> str:
    """The text between two lines that say that it is data."""
    return f"{NOTICE}\n--- notes {_MARK} begin ---\n{text}\n--- notes {_MARK} end ---"
