"""What a new note changes in the metadata of the older notes it is linked to, without a model."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from amem_cli.core.link_evidence import LinkCandidate
from amem_cli.core.model_labels import room_for_more
from amem_cli.core.note import MemoryLink, Note
from amem_cli.core.note_terms import is_dull
from amem_cli.core.tags import tag_key
from amem_cli.core.words import detect_language, fold, stem, words

_LEAST_STRENGTH = 0.6
_MOST_ADDED = 2
_LONGEST_CONTEXT = 240
_CLOSING = {
    "en": " — since {date} replaced by “{title}”.",
    "de": " — seit {date} ersetzt durch „{title}“.",
    "fr": " — remplacé depuis le {date} par « {title} ».",
    "es": " — sustituida desde el {date} por «{title}».",
    "zh": "——{date}起由“{title}”取代。",
}
_PARTS = re.compile(r"[/_-]")


@dataclass(frozen=True, slots=True)
class EvolutionSuggestion:
    """A change of an older note's metadata.

    Attributes:
        path: vault-relative path of the older note.
        keywords_add, tags_add: what to add to the lists; never what they hold already.
        context: the new context, None where the old one stays.
        reason: one sentence.
    """

    path: str
    keywords_add: tuple[str, ...]
    tags_add: tuple[str, ...]
    context: str | None
    reason: str


def evolution_suggestions(
    note: Note,
    links: Sequence[MemoryLink],
    candidates: Sequence[LinkCandidate],
    vocabulary: Collection[str],
) -> list[EvolutionSuggestion]:
    """Changes of the strongly linked older notes; none where nothing is clear.

    A keyword of the new note is added where the older note's text holds it and its list does not;
    a tag where it is of the vault's vocabulary and the older note's text speaks of it; a context
    is closed with a clause where the new note says that it replaces the older one.

    Args:
        note: the new note with its keywords and tags.
        links: the links made from it.
        candidates: the older notes that were candidates, the linked ones among them.
        vocabulary: tags that other notes of the vault carry.
    """
    older_notes: Mapping[str, LinkCandidate] = {entry.path: entry for entry in candidates}
    known_tags = {tag_key(tag) for tag in vocabulary}
    suggestions: list[EvolutionSuggestion] = []
    for link in links:
        older = older_notes.get(link.target)
        if older is None or link.strength < _LEAST_STRENGTH:
            continue
        keywords = _missing_keywords(note, older)
        tags = _missing_tags(note, older, known_tags)
        context = _closed_context(note, older) if link.relation == "supersedes" else None
        if keywords or tags or context is not None:
            suggestions.append(
                EvolutionSuggestion(older.path, keywords, tags, context, link.reason)
            )
    return suggestions


def _missing_keywords(note: Note, older: LinkCandidate) -> tuple[str, ...]:
    text = f" {' '.join(words(older.text))} "
    held = {stem(word) for keyword in older.keywords for word in words(keyword)}
    missing = [
        keyword
        for keyword in note.keywords
        if (own := words(keyword))
        and not all(stem(word) in held for word in own)
        and not all(map(is_dull, own))
        and _is_said(own, keyword, text, older.text)
    ]
    return tuple(missing[: room_for_more(older.keywords, _MOST_ADDED)])


def _is_said(own: Sequence[str], keyword: str, folded_words: str, text: str) -> bool:
    if keyword.isascii() or " " in keyword:
        return f" {' '.join(own)} " in folded_words
    return fold(keyword) in fold(text)


def _missing_tags(note: Note, older: LinkCandidate, known: set[str]) -> tuple[str, ...]:
    held = {tag_key(tag) for tag in older.tags}
    told = {stem(word) for word in words(f"{older.title}\n{older.text}")}
    told |= {stem(word) for keyword in older.keywords for word in words(keyword)}
    missing = [
        tag
        for tag in note.tags
        if tag_key(tag) in known and tag_key(tag) not in held and _is_told(tag, told)
    ]
    return tuple(missing[: room_for_more(older.tags, _MOST_ADDED)])


def _is_told(tag: str, told: set[str]) -> bool:
    last = [word for part in _PARTS.split(tag.rsplit("/", 1)[-1]) for word in words(part)]
    return bool(last) and all(stem(word) in told and not is_dull(word) for word in last)


def _closed_context(note: Note, older: LinkCandidate) -> str | None:
    is_told = fold(note.title) in fold(older.context)
    if not (older.context and note.title and note.created) or is_told:
        return None
    form = _CLOSING.get(detect_language(older.context), _CLOSING["en"])
    title = " ".join(note.title.replace("[[", "").replace("]]", "").split())[:80]
    closing = form.format(date=note.created[:10], title=title)
    opening = older.context.rstrip(" .。")
    if len(opening) + len(closing) > _LONGEST_CONTEXT:
        return None
    return opening + closing
