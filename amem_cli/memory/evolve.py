"""What a model's answer changes beyond the new note: older notes' metadata and existing links.

Memory evolution of A-MEM. The notes themselves must support a change; whether it may be made, given
what a person wrote, is decided where it is made (`plan`).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from amem_cli.analyzer.link_evidence import LinkCandidate
from amem_cli.index.draft import provenance_of
from amem_cli.index.memory_index import MemoryIndex
from amem_cli.journal.events import LinkRecord
from amem_cli.journal.link_decisions import Evolution, LinkUpdate
from amem_cli.journal.provenance import Provenance
from amem_cli.language.words import fold, subject_stems
from amem_cli.markdown.links import tag_key
from amem_cli.memory.ask_model import (
    all_instructions,
    choice_schema,
    list_schema,
    named_entries,
    numbered,
    prompt,
    quoted,
    text_schema,
)
from amem_cli.memory.grounding import (
    JUNK,
    NoteText,
    Similarity,
    checked_context,
    checked_keywords,
    checked_tags,
    repeats_instructions,
    room_for_more,
)
from amem_cli.memory.outcome import Linking
from amem_cli.memory.relink import machine_links
from amem_cli.models.prompt_text import (
    FENCE,
    clean_line,
    quote_line,
    repeats_itself,
    texts_of,
)
from amem_cli.notes.note import Note

MOST_CHANGES = 3
LONGEST_REASON = 160
_MOST_LABELS = 3
_NEWS_SIMILARITY = 0.4
_AS_BEFORE = "says the same as before"
_OF_THE_NEW = "is the new note's"
_NOTHING_NEW = "says nothing new"
# By these the model shows that there is no change to be told.
_NO_CHANGE = frozenset({_AS_BEFORE, _OF_THE_NEW, _NOTHING_NEW})
_TALK = subject_stems(
    "note notes new old older other link linked relation strength reason belongs joins same n1 n2"
)
MOST_EXISTING = 3
_RELATION_BYTES = 20
_REASON_BYTES = 80
_WEAKEST, _STRONGEST = 0.1, 1.0
# What an answer may say of a link, and by how much its strength changes; None removes it.
_STEPS = {"stronger": 0.2, "weaker": -0.2, "wrong": None}


def checked_changes(
    value: object,
    note: Note,
    shown: Mapping[str, LinkCandidate],
    vocabulary: Sequence[str],
    similarity: Similarity,
) -> Linking:
    """The changes that may be proposed, one a note, and what was refused of them.

    Args:
        value: the `changes` of an answer; the shape need not be right.
        shown: the linked older notes by the names under which they were shown.
    """
    changes: list[Evolution] = []
    faults: list[str] = []
    mendable: dict[str, str] = {}
    for entry, older in named_entries(value, "note", shown, MOST_CHANGES):
        if older is None:
            faults.append("changes: a note that is not linked, or twice")
            continue
        context, fault = _new_context(entry.get("context"), note, older, similarity)
        if fault and fault not in _NO_CHANGE and entry.get("context"):
            mendable[older.path] = f"{fault}: {quoted(str(entry.get('context')))}"
        change, refused = _change(entry, note, older, context, vocabulary, similarity)
        faults += [f"changes: {older.path}: context {fault}"] if fault else []
        faults += [f"changes: {older.path}: {each}" for each in refused]
        changes += [change] if change is not None else []
    return Linking(evolutions=tuple(changes), problems=tuple(faults), refused=mendable)


def _change(
    entry: Mapping[str, object],
    note: Note,
    older: LinkCandidate,
    context: str,
    vocabulary: Sequence[str],
    similarity: Similarity,
) -> tuple[Evolution | None, list[str]]:
    both = NoteText(older.title, f"{older.text}\n{_words_of_new(note)}")
    said, said_tags = texts_of(entry.get("keywords")), texts_of(entry.get("tags"))
    keywords, no_keywords = checked_keywords(said, both, similarity)
    tags, no_tags = checked_tags(said_tags, (*older.tags, *vocabulary))
    # Spelled another way, a label is the same.
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
        reason=checked_reason(entry.get("why"), note, older),
    )
    faults = [*no_keywords, *no_tags]
    if not (change.context or change.keywords_add or change.tags_add):
        # A label is dropped because something new took its place, never for its own sake.
        return None, [*faults, "nothing new is left"]
    return change, faults


def _new_context(
    sentence: object, note: Note, older: LinkCandidate, similarity: Similarity
) -> tuple[str, str]:
    """A context of the older note that says something of the new one, or the fault."""
    source = _both(note, older)
    context, fault = checked_context(sentence, source, similarity, trusted=True)
    if not fault and _same_words(context, older.context):
        fault = _AS_BEFORE
    if not fault and _same_words(context, note.context):
        fault = _OF_THE_NEW
    if not fault and not _is_news(context, note, source, similarity):
        fault = _NOTHING_NEW
    return ("", fault) if fault else (context, "")


def _is_news(context: str, note: Note, older: NoteText, similarity: Similarity) -> bool:
    """Whether a context holds a word of the new note only, or is close to it in meaning."""
    news = subject_stems(_words_of_new(note)) - older.stems
    if not subject_stems(context).isdisjoint(news):
        return True
    newer = f"{note.title}\n{note.body}"
    return similarity(context, newer) >= _NEWS_SIMILARITY


def _same_words(one: str, other: str) -> bool:
    left, right = subject_stems(one), subject_stems(other)
    return bool(right) and len(left & right) >= 0.9 * len(left | right)


def checked_reason(value: object, note: Note, older: LinkCandidate) -> str:
    """A reason that speaks of the new or the older note, on one line, or an empty text."""
    if is_empty_talk(value, note, older):
        return ""
    line = clean_line(str(value), LONGEST_REASON) or ""
    own = {stem for stem in subject_stems(line) if not stem.isnumeric()}
    return "" if own.isdisjoint(_both(note, older).known) else line


def is_empty_talk(value: object, note: Note, older: LinkCandidate) -> bool:
    """Whether a reason is no reason at all: markup, dates, a loop, the instructions once more."""
    line = clean_line(value, LONGEST_REASON) if isinstance(value, str) else None
    if line is None or not JUNK.isdisjoint(line) or repeats_itself(line):
        return True
    telling = {stem for stem in subject_stems(line) if stem.isalpha()} - _TALK
    return not telling or repeats_instructions(line, all_instructions(), _both(note, older))


def _both(note: Note, older: LinkCandidate) -> NoteText:
    words_of_old = "\n".join((older.context, *older.keywords))
    days = f"{older.created[:10]} {note.created[:10]}"
    said = f"{words_of_old}\n{_words_of_new(note)}\n{days}"
    return NoteText(older.title, older.text, said, older.context)


def _words_of_new(note: Note) -> str:
    return "\n".join((note.title, note.body, note.context, *note.keywords))


def _among(held: Sequence[str], dropped: set[str]) -> tuple[str, ...]:
    return tuple(one for one in held if fold(one) in dropped)[:_MOST_LABELS]


@dataclass(frozen=True, slots=True)
class ExistingLink:
    """A link that the machine made earlier, between two notes (by path) that a model is shown."""

    source: str
    target: str
    record: LinkRecord


def existing_links(
    index: MemoryIndex,
    note: Note,
    owned: Provenance,
    candidates: Sequence[LinkCandidate],
    doubted: Collection[str],
) -> list[ExistingLink]:
    """Links that the machine made earlier and that a new text may have made stronger or wrong.

    Those of the note itself come first, then those between the candidates: only those that begin or
    end at a doubted one, which the text may supersede or contradict, are worth their tokens. None
    for a text that went through the process before, and none that a person made or wants as it is.
    """
    summary = index.notes.summary(note.path)
    if summary is None or any(
        event.kind == "process" and event.text_hash == summary.text_hash
        for event in index.events.read(summary.key)
    ):
        return []
    shown = [each.path for each in candidates]
    links = _existing(index, note.path, owned)
    for path in shown if doubted else ():
        other = index.notes.summary(path)
        # Nothing of a private note spreads, nor the reason why it changes a link of another.
        if other is None or other.private != note.private or len(links) >= MOST_EXISTING:
            continue
        theirs = _existing(index, path, provenance_of(index, other.key))
        links += [link for link in theirs if {path, link.target} & set(doubted)]
    return [link for link in links if link.target in shown][:MOST_EXISTING]


def _existing(index: MemoryIndex, source: str, owned: Provenance) -> list[ExistingLink]:
    present = {target for target, link in index.links.outgoing(source) if link.listed}
    return [
        ExistingLink(source, summary.path, record)
        for summary, record in machine_links(index, owned)
        if summary.path in present
    ]


def existing_lines(
    note: Note, links: Sequence[ExistingLink], names: Mapping[str, str]
) -> list[str]:
    """The lines that show the links, if any; `names` are by path those of the shown notes."""
    if not links:
        return []
    called = {**names, note.path: "new note"}
    lines = [
        f"{name} {called[each.source]} to {called[each.target]}:"
        f" {quote_line(each.record.relation, _RELATION_BYTES)},"
        f" {quote_line(each.record.reason, _REASON_BYTES)}"
        for name, each in numbered("l", links).items()
    ]
    return [f"{prompt('rules', 'standing')}\n{FENCE}", *lines, FENCE]


def existing_properties(links: Sequence[ExistingLink]) -> dict[str, Any]:
    """The part of an answer's schema for these links; empty without links."""
    if not links:
        return {}
    item = {
        "link": choice_schema([*numbered("l", links)]),
        "why": text_schema(8, LONGEST_REASON),
        "now": choice_schema([*_STEPS]),
    }
    return {"standing": list_schema(item, len(links))}


def checked_existing(
    value: object, note: Note, links: Sequence[ExistingLink], candidates: Sequence[LinkCandidate]
) -> tuple[list[LinkUpdate], list[str]]:
    """The changes of links that an answer's `standing` (of any shape) supports, each link once, and
    what was refused."""
    notes = {candidate.path: candidate for candidate in candidates}
    updates: list[LinkUpdate] = []
    faults: list[str] = []
    for entry, link in named_entries(value, "link", numbered("l", links)):
        now = entry.get("now") if link is not None else None
        if link is None or not isinstance(now, str) or now not in _STEPS:
            faults.append("standing: a link that was not shown, or twice")
            continue
        ends = [notes[path] for path in (link.source, link.target) if path in notes]
        reasons = (checked_reason(entry.get("why"), note, end) for end in ends)
        reason = next(filter(None, reasons), "")
        if not reason:
            faults.append(f"standing: the reason for {link.target} is not about the notes")
            continue
        step, strength = _STEPS[now], None
        if step is not None:
            strength = round(min(_STRONGEST, max(_WEAKEST, link.record.strength + step)), 2)
        removed = step is None
        updates.append(LinkUpdate(link.source, link.target, strength, None, removed, reason))
    return updates, faults
