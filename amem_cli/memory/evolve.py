"""Decides which of a model's changes of older notes the notes themselves bear out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from amem_cli.analyzer.link_evidence import LinkCandidate
from amem_cli.journal.link_decisions import Evolution
from amem_cli.language.words import fold
from amem_cli.markdown.tags import tag_key
from amem_cli.memory.describe import checked_keywords, checked_tags, room_for_more
from amem_cli.memory.describe_context import (
    JUNK,
    NoteText,
    Similarity,
    checked_context,
    repeats_instructions,
)
from amem_cli.models.prompt_text import clean_line, repeats_itself, subject_stems, texts_of
from amem_cli.notes.note import Note

MOST_CHANGES = 2
LONGEST_REASON = 140
_MOST_LABELS = 3
_NEWS_SIMILARITY = 0.4
_TALK = subject_stems(
    "note notes new old older other link linked relation strength reason belongs joins same n1 n2"
)


def checked_changes(
    value: object,
    note: Note,
    shown: Mapping[str, LinkCandidate],
    *,
    asked: str,
    vocabulary: Sequence[str],
    similarity: Similarity | None,
    trusted: bool = False,
) -> tuple[list[Evolution], list[str]]:
    """The changes that may be proposed, one a note, and what was refused and why.

    Args:
        value: the `changes` of an answer; the shape need not be right.
        note: the new note.
        shown: the linked older notes by the names under which they were shown.
        asked: the instructions.
        trusted: the model has shown that it can judge.
    """
    found: dict[str, Evolution] = {}
    faults: list[str] = []
    for entry in (value if isinstance(value, list) else [])[:MOST_CHANGES]:
        name = entry.get("note") if isinstance(entry, dict) else None
        older = shown.get(name) if isinstance(name, str) else None
        if older is None or older.path in found:
            faults.append("changes: a note that is not linked, or twice")
            continue
        change, refused = _change(entry, note, older, asked, vocabulary, similarity, trusted)
        faults += [f"changes: {older.path}: {fault}" for fault in refused]
        if change is not None:
            found[older.path] = change
    return list(found.values()), faults


def _change(
    entry: Mapping[str, object],
    note: Note,
    older: LinkCandidate,
    asked: str,
    vocabulary: Sequence[str],
    similarity: Similarity | None,
    trusted: bool,
) -> tuple[Evolution | None, list[str]]:
    context, fault = _new_context(entry.get("context"), note, older, asked, similarity)
    both = NoteText(older.title, f"{older.text}\n{_told_by(note)}")
    known = (*older.tags, *vocabulary)
    keywords, no_keywords = checked_keywords(
        texts_of(entry.get("keywords")), both, similarity, trusted=trusted
    )
    tags, no_tags = checked_tags(
        texts_of(entry.get("tags")), both, known, similarity, trusted=trusted
    )
    held_keywords = {fold(keyword) for keyword in older.keywords}
    held_tags = {tag_key(tag) for tag in older.tags}
    new_keywords = tuple(one for one in keywords if fold(one) not in held_keywords)
    new_tags = tuple(one for one in tags if tag_key(one) not in held_tags)
    dropped = {fold(text).strip().lstrip("#") for text in texts_of(entry.get("drop"))}
    change = Evolution(
        path=older.path,
        context=context or None,
        keywords_add=new_keywords[: room_for_more(older.keywords, _MOST_LABELS)],
        keywords_drop=_among(older.keywords, dropped),
        tags_add=new_tags[: room_for_more(older.tags, _MOST_LABELS)],
        tags_drop=_among(older.tags, dropped),
        reason=checked_reason(entry.get("why"), note, older, asked=asked),
    )
    faults = [*([f"context {fault}"] if fault else []), *no_keywords, *no_tags]
    if not (change.context or change.keywords_add or change.tags_add):
        # A label is dropped because something new took its place, never for its own sake.
        return None, [*faults, "nothing new is left"]
    return change, faults


def _new_context(
    sentence: object, note: Note, older: LinkCandidate, asked: str, similarity: Similarity | None
) -> tuple[str, str]:
    """A context of the older note that tells something of the new one, or why there is none."""
    said = f"{_told_about(older)}\n{_told_by(note)}"
    source = NoteText(older.title, older.text, said, older.context)
    context, fault = checked_context(sentence, source, asked=asked, similarity=similarity)
    if fault:
        return "", fault
    if _same_words(context, older.context):
        return "", "says the same as before"
    if _same_words(context, note.context):
        return "", "is the new note's"
    return (
        (context, "")
        if _tells_news(context, note, source, similarity)
        else ("", "says nothing new")
    )


def _tells_news(context: str, note: Note, older: NoteText, similarity: Similarity | None) -> bool:
    """Whether a context holds a word of the new note only, or is close to it in meaning."""
    news = subject_stems(_told_by(note)) - older.stems
    if not subject_stems(context).isdisjoint(news):
        return True
    newer = f"{note.title}\n{note.body}"
    return similarity is not None and similarity(context, newer) >= _NEWS_SIMILARITY


def _same_words(one: str, other: str) -> bool:
    left, right = subject_stems(one), subject_stems(other)
    return bool(right) and len(left & right) >= 0.9 * len(left | right)


def checked_reason(value: object, note: Note, older: LinkCandidate, *, asked: str) -> str:
    """A reason that speaks of the new or the older note, on one line, or an empty text."""
    if is_empty_talk(value, note, older, asked=asked):
        return ""
    line = clean_line(str(value), LONGEST_REASON) or ""
    own = {stem for stem in subject_stems(line) if not stem.isnumeric()}
    return "" if own.isdisjoint(_both(note, older).known) else line


def is_empty_talk(value: object, note: Note, older: LinkCandidate, *, asked: str) -> bool:
    """Whether a reason is no reason at all: markup, dates, a loop, the instructions once more."""
    line = clean_line(value, LONGEST_REASON) if isinstance(value, str) else None
    if line is None or not JUNK.isdisjoint(line) or repeats_itself(line):
        return True
    telling = {stem for stem in subject_stems(line) if stem.isalpha()} - _TALK
    return not telling or repeats_instructions(line, asked, _both(note, older))


def _both(note: Note, older: LinkCandidate) -> NoteText:
    return NoteText(older.title, older.text, said=f"{_told_about(older)}\n{_told_by(note)}")


def _told_by(note: Note) -> str:
    return "\n".join((note.title, note.body, note.context, *note.keywords))


def _told_about(older: LinkCandidate) -> str:
    return "\n".join((older.context, *older.keywords))


def _among(held: Sequence[str], dropped: Iterable[str]) -> tuple[str, ...]:
    named = set(dropped)
    return tuple(one for one in held if fold(one) in named)[:_MOST_LABELS]
