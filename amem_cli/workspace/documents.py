"""Results as JSON: each is described once, as a table of fields."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from amem_cli.graph.graph import Graph
    from amem_cli.graph.stats import Stats
    from amem_cli.search.suggestions import OpenLink

Source: TypeAlias = "str | Callable[[Any], Any]"

# What a bounded document gives of a text, and of a list of words.
BOUNDED_CHARACTERS = 1_000
BOUNDED_WORDS = 30


@dataclass(frozen=True, slots=True)
class Field:
    """A property of a JSON object.

    Attributes:
        source: where the value is: an attribute or key, dotted for one of a part, or a function
            of the whole; empty for the name of the property.
        fields: of the object, or of each object of the list, that the value is.
        is_list: the value is a list of objects.
        longest: characters or items that a bounded document gives; None for all.
        or_null: an empty text is given as null.
    """

    source: Source = ""
    fields: Fields | None = None
    is_list: bool = False
    longest: int | None = None
    or_null: bool = False

    def of(self, source: Source) -> Field:
        """This field, read from another place."""
        return replace(self, source=source)


Fields: TypeAlias = Mapping[str, Field]

# Given as they are; which name stands in a table is for its readers. Names, unlike other texts,
# are never cut: a part of a path names nothing.
NAME = NAMES = COUNT = COUNT_OR_NULL = SHARE = SHARE_OR_NULL = FLAG = Field()
NAME_OR_NULL = Field(or_null=True)
TEXT = Field(longest=BOUNDED_CHARACTERS)
TEXT_OR_NULL = Field(longest=BOUNDED_CHARACTERS, or_null=True)
TEXTS = Field(longest=BOUNDED_WORDS)


def record(fields: Fields, source: Source = "") -> Field:
    return Field(source, fields)


def listed(fields: Fields, source: Source = "", *, longest: int | None = None) -> Field:
    return Field(source, fields, True, longest)


def within(part: str, fields: Fields) -> dict[str, Field]:
    """The fields of a part as fields of the whole."""

    def moved(name: str, field: Field) -> Field:
        source = field.source or name
        if isinstance(source, str):
            return field.of(f"{part}.{source}")
        return field.of(lambda whole: source(_get(whole, part)))

    return {name: moved(name, field) for name, field in fields.items()}


def document(fields: Fields, whole: Any, *, bounded: bool = False) -> dict[str, Any]:
    """The JSON object of a result."""
    return {name: _value(name, field, whole, bounded) for name, field in fields.items()}


def cut(text: str, longest: int = BOUNDED_CHARACTERS) -> str:
    """A text of at most `longest` characters; one that was longer ends in `…`."""
    return text if len(text) <= longest else text[: longest - 1] + "…"


def _value(name: str, field: Field, whole: Any, bounded: bool) -> Any:
    source = field.source or name
    value = _get(whole, source) if isinstance(source, str) else source(whole)
    longest = field.longest if bounded else None
    if field.fields is not None:
        if not field.is_list:
            return document(field.fields, value, bounded=bounded)
        return [document(field.fields, item, bounded=bounded) for item in value[:longest]]
    if isinstance(value, (list, tuple)):
        return [cut(item) for item in value[:longest]] if longest else list(value)
    if isinstance(value, str):
        # Inside, an empty text means a missing one; a script would take it for a value.
        if not value and field.or_null:
            return None
        return cut(value, longest) if longest else value
    return value


def _get(whole: Any, source: str) -> Any:
    for name in source.split("."):
        whole = whole[name] if isinstance(whole, Mapping) else getattr(whole, name)
    return whole


def pick(fields: Fields, names: Collection[str]) -> dict[str, Field]:
    """Some of the fields, in the order of the names."""
    return {name: fields[name] for name in names}


def without(fields: Fields, *names: str) -> dict[str, Field]:
    """All fields but these."""
    return {name: field for name, field in fields.items() if name not in names}


NAMED = {
    "id": NAME_OR_NULL,
    "path": NAME,
    "title": TEXT,
}
METADATA = {"keywords": TEXTS, "tags": TEXTS, "context": TEXT}
_NEWER = {**NAMED, "since": NAME.of(lambda note: note.made[:10])}
SUPERSESSION = {
    "superseded_by": listed(_NEWER, longest=BOUNDED_WORDS),
    "contradicted_by": listed(_NEWER, longest=BOUNDED_WORDS),
}
SUMMARY = {**NAMED, "created": NAME, "modified": NAME, **METADATA}
LINK = {
    **NAMED,
    "direction": NAME.of(lambda link: "out" if link.outgoing else "in"),
    "kind": NAME,
    # The journal has a record of each of the machine's links, so one without is a person's.
    "by": NAME.of(lambda link: link.record.by if link.record else "person"),
    "relation": NAME_OR_NULL.of(lambda link: link.record and link.record.relation),
    # Nobody measured the strength of a person's link.
    "strength": SHARE_OR_NULL.of(
        lambda link: link.record.strength if link.record and link.record.by == "machine" else None
    ),
    "reason": TEXT_OR_NULL.of(lambda link: link.record and link.record.reason),
}
_NOTE = within("note", SUMMARY)
_USAGE = {
    "retrieval_count": COUNT.of(lambda listed_note: listed_note.usage[0]),
    "last_accessed": NAME.of(lambda listed_note: listed_note.usage[1]),
}

HIT = {
    **pick(_NOTE, ("id", "path", "title")),
    "score": SHARE,
    "close": FLAG,
    **pick(_NOTE, ("created", "keywords", "tags", "context")),
    "snippet": TEXT,
    "via": NAME_OR_NULL,
    **SUPERSESSION,
}
CITATION = {
    **NAMED,
    "created": NAME,
    "quote": NAME,
    "line": COUNT,
    "now": TEXT,
    "via": NAME_OR_NULL,
    **SUPERSESSION,
}
ANSWER = {
    "question": TEXT,
    "answer": NAME.of("text"),
    "held": FLAG,
    "how": NAME,
    # Of what is not held, quotations that may be no answer.
    "sources": listed(CITATION, "citations"),
    "shown": listed(NAMED),
    "model": NAME_OR_NULL,
    "calls": COUNT.of("use.calls"),
    "tokens": COUNT.of(lambda answer: answer.use.prompt_tokens + answer.use.answer_tokens),
    "seconds": COUNT.of(lambda answer: round(answer.use.seconds, 3)),
    "problems": NAMES,
}
SEARCH = {
    "query": TEXT,
    "mode": NAME,
    "problem": NAME_OR_NULL,
    "hits": listed(HIT),
}
OUTLINE = {**_NOTE, **within("supersession", SUPERSESSION)}
LISTED = {**OUTLINE, **_USAGE}
_OTHER_END = {"target": NAME.of("note.key"), "path": NAME.of("note.path")}
_WHY = {"relation": NAME, "reason": TEXT, "strength": SHARE}
SUGGESTED = {
    **_OTHER_END,
    "title": TEXT.of("note.title"),
    "direction": NAME,
    **_WHY,
}
NOTE = {
    **within("summary", SUMMARY),
    **within("supersession", SUPERSESSION),
    **_USAGE,
    "aliases": TEXTS.of("summary.aliases"),
    "private": FLAG.of("summary.private"),
    "content": NAME.of("note.body"),
    "links": listed(LINK),
    "suggested": listed(SUGGESTED, lambda view: seen_from(view.summary.path, view.suggested)),
    "problem": NAME_OR_NULL.of("summary.refused"),
}
MADE_LINKS = listed({"target": NAME, "path": NAME, **_WHY}, "links")
CHANGED_LINKS = listed(
    {
        "source": NAME,
        "target": NAME.of("before.target"),
        "path": NAME.of("target"),
        "removed": FLAG.of(lambda link: link.after is None),
        "relation": NAME_OR_NULL.of(lambda link: link.after and link.after.relation),
        "strength": SHARE_OR_NULL.of(lambda link: link.after and link.after.strength),
        "reason": TEXT,
    },
    "changed_links",
)
PROPOSED = {
    "proposal": NAME.of("id"),
    "id": NAME_OR_NULL.of("note"),
    "path": NAME,
    "field": NAME.of("change.field"),
}
OUTCOME = {
    **NAMED,
    **within("metadata", METADATA),
    "links": MADE_LINKS,
    "suggested": MADE_LINKS.of("suggested"),
    "changed_links": CHANGED_LINKS,
    "evolved": listed({"id": NAME_OR_NULL, "path": NAME, "fields": NAMES}),
    "proposed": listed(PROPOSED),
    "pending": FLAG,
    "problems": TEXTS,
    "model": record(
        {
            "name": NAME.of("model"),
            **within(
                "use",
                {
                    "calls": COUNT,
                    "prompt_tokens": COUNT,
                    "answer_tokens": COUNT,
                    "reused_tokens": COUNT,
                    "seconds": COUNT,
                },
            ),
        },
        lambda outcome: outcome,
    ),
}
_CHANGE = {
    "field": NAME,
    "before": NAME,
    "after": NAME,
}
COMPARED = {
    **within("metadata", METADATA),
    "links": MADE_LINKS,
    "suggested": MADE_LINKS.of("suggested"),
    "evolved": listed({**NAMED, "changes": listed(_CHANGE), "reason": TEXT}),
    "proposed": listed({"path": NAME, "change": record(_CHANGE), "reason": TEXT}),
    "changed_links": CHANGED_LINKS,
    "refused": TEXTS.of(lambda outcome: () if outcome.failed else outcome.problems),
    "failure": NAME.of(lambda outcome: outcome.problems[0] if outcome.failed else ""),
    "model": OUTCOME["model"],
}
_REFERENCE = pick(SUMMARY, ("id", "path", "title", "created"))
# A note with the text of another.
DUPLICATE = {
    **within("note", _REFERENCE),
    "kind": NAME,
    "similarity": SHARE.of(lambda found: round(found.similarity, 3)),
}
_GROUP = {
    "kind": NAME,
    "keep": record(_REFERENCE, "kept"),
    "duplicates": listed({**DUPLICATE, "beyond": NAME}, "others"),
}
DUPLICATES = {"groups": listed(_GROUP), "compared": COUNT, "by_meaning": FLAG}
_GRAPH_NOTE = {**NAMED, "tags": NAMES}
_GRAPH_LINK = {
    **dict.fromkeys(("source", "target", "kind", "by"), NAME),
    "relation": NAME_OR_NULL,
    "strength": SHARE_OR_NULL,
    "reason": NAME_OR_NULL,
    "suggested": FLAG,
}
_OPEN_LINK = {
    "source": NAME.of("source.path"),
    "target": NAME.of("target.key"),
    "path": NAME.of("target.path"),
    **_WHY,
}
LINKS = {name: listed(_OPEN_LINK) for name in ("links", "suggested", "kept", "rejected")}

answer_document = partial(document, ANSWER)
duplicate_document = partial(document, DUPLICATE)
duplicates_document = partial(document, DUPLICATES)
outcome_document = partial(document, OUTCOME)
listed_document = partial(document, LISTED)
search_document = partial(document, SEARCH)
note_document = partial(document, NOTE)
links_document = partial(document, LINKS)


def seen_from(path: str, links: Iterable[OpenLink]) -> list[dict[str, Any]]:
    """Suggestions as of one of the two notes."""
    return [
        {
            "note": link.other(path),
            "direction": "out" if link.source.path == path else "in",
            **{name: getattr(link, name) for name in _WHY},
        }
        for link in links
    ]


def graph_document(graph: Graph) -> dict[str, Any]:
    return {
        "nodes": [
            {**document(_GRAPH_NOTE, graph.nodes[path]), "degree": degree}
            for path, degree in graph.degrees().items()
        ],
        "edges": [document(_GRAPH_LINK, edge) for edge in (*graph.edges, *graph.suggested)],
    }


def stats_document(stats: Stats) -> dict[str, Any]:
    """Counts, with the averages by processed note."""
    digits = {"calls_per_note": 3, "tokens_per_note": 1, "seconds_per_note": 3}
    return {
        **asdict(stats),
        "models": [each._asdict() for each in stats.models],
        **{name: round(rate, digits.get(name, 4)) for name, rate in stats.rates.items()},
    }
