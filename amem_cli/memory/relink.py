"""Judges a note's links anew when its text has changed.

Only links that the machine made are judged, and only by what the journal does not call the
machine's own: a keyword that was made from the old text says nothing for it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from amem_cli.analyzer.analyzer import note_vector
from amem_cli.analyzer.link_choice import link_suggestions
from amem_cli.analyzer.link_evidence import LinkCandidate, at_best, near_notes
from amem_cli.index.draft import provenance_of
from amem_cli.index.records import NoteSummary, with_key
from amem_cli.journal.events import Event, LinkRecord
from amem_cli.journal.link_decisions import LinkChange, judged_by_text, restated
from amem_cli.journal.provenance import Provenance
from amem_cli.markdown.links import plain_text
from amem_cli.memory.existing_links import MOST_STANDING, StandingLink
from amem_cli.memory.link import names_of
from amem_cli.memory.outcome import ANALYZER, Thought
from amem_cli.models.ports import Encoder
from amem_cli.notes.note import MemoryLink, Note

if TYPE_CHECKING:
    from amem_cli.index.memory_index import MemoryIndex

# Notes beside the linked ones among which the evidence tells what is usual.
_COMPARED = 8


def with_links_rejudged(
    index: MemoryIndex,
    encoder: Encoder,
    note: Note,
    text_hash: str,
    owned: Provenance,
    thought: Thought,
    *,
    trusted: bool,
) -> Thought:
    """The thought with the changes of the note's own links that its new text calls for.

    Nothing changes for a text that went through the process before.

    Args:
        text_hash: of the note's text.
        trusted: what the model says of a link that is there already counts.
    """
    events = index.events.read(note.id or note.path)
    linked = {
        summary.path: (summary, record)
        for record in owned.links.values()
        if record.by == "machine" and record.target not in owned.kept
        for summary in with_key(index.notes.find(record.target), record.target)[:1]
        if summary.path != note.path
    }
    if not linked or not _is_changed(events, text_hash):
        return thought
    said = {link.target: link for link in thought.linking.links}
    by_model = trusted and thought.linking.step.model != ANALYZER
    changes = [
        restated(note.path, record, said[path])
        for path, (_, record) in linked.items()
        if by_model and path in said
    ]
    judged = {path: pair for path, pair in linked.items() if not (by_model and path in said)}
    rejudged = _judged(index, encoder, _by_the_person(note, owned), judged, _analyzers(events))
    told = (*thought.linking.link_changes, *(each for each in changes if each is not None))
    decided = {(each.source, each.target) for each in told}
    return replace(
        thought,
        linking=replace(thought.linking, link_changes=told),
        rejudged=tuple(each for each in rejudged if (each.source, each.target) not in decided),
    )


def standing_links(
    index: MemoryIndex,
    note: Note,
    owned: Provenance,
    candidates: Sequence[LinkCandidate],
    doubted: Collection[str],
) -> list[StandingLink]:
    """Links that the machine made earlier and that a new text may have made stronger or wrong.

    Those of the note itself come first, then those between the candidates. None for a text that
    went through the process before, and none that a person made or wants as it is.

    Args:
        doubted: paths of candidates that the text may supersede or contradict; of links between
            candidates only those that begin or end there are worth their tokens.
    """
    summary = index.notes.summary(note.path)
    if summary is None or _was_processed(index.events.read(summary.key), summary.text_hash):
        return []
    shown = names_of(note, candidates)
    found = _standing(index, note.path, owned)
    for path in shown if doubted else ():
        other = index.notes.summary(path)
        # Nothing of a private note spreads, nor the reason why it changes a link of another.
        if other is None or other.private != note.private:
            continue
        if len(found) < MOST_STANDING:
            theirs = _standing(index, path, provenance_of(index, other.key))
            found += [each for each in theirs if {path, each.target} & set(doubted)]
    return [each for each in found if each.target in shown][:MOST_STANDING]


def _standing(index: MemoryIndex, source: str, owned: Provenance) -> list[StandingLink]:
    present = {target for target, link in index.links.outgoing(source) if link.kind == "property"}
    return [
        StandingLink(source, summary.path, record)
        for record in owned.links.values()
        if record.by == "machine" and record.target not in owned.kept
        for summary in with_key(index.notes.find(record.target), record.target)[:1]
        if summary.path in present
    ]


def _was_processed(events: Sequence[Event], text_hash: str) -> bool:
    return any(event.kind == "process" and event.text_hash == text_hash for event in events)


def _is_changed(events: Sequence[Event], text_hash: str) -> bool:
    """Whether the note went through the process before, last with another text."""
    done = [event.text_hash for event in events if event.kind == "process" and event.text_hash]
    return bool(done) and done[-1] != text_hash


def _analyzers(events: Sequence[Event]) -> set[str]:
    """Targets of the links whose strength is the analyzer's own."""
    last = {link.target: event.model for event in events for link in event.links}
    return {target for target, model in last.items() if model == ANALYZER}


def _by_the_person(note: Note, owned: Provenance) -> Note:
    """The note without what the machine wrote of an earlier text."""
    own_context = bool(note.context) and note.context == owned.context
    return replace(
        note,
        keywords=tuple(each for each in note.keywords if each not in owned.keywords),
        tags=tuple(each for each in note.tags if each not in owned.tags),
        context="" if own_context else note.context,
    )


def _judged(
    index: MemoryIndex,
    encoder: Encoder,
    note: Note,
    linked: Mapping[str, tuple[NoteSummary, LinkRecord]],
    analyzers: set[str],
) -> list[LinkChange]:
    if not linked:
        return []
    text = plain_text(note.body)
    vector = note_vector(encoder.encode, note)
    near = {
        each.summary.path: each.evidence
        for each in near_notes(index, note.path, text, vector, _COMPARED)
    }
    best = {
        each.path: each for each in at_best(index, [pair[0] for pair in linked.values()], vector)
    }

    def links(candidates: Sequence[LinkCandidate]) -> dict[str, MemoryLink]:
        found = link_suggestions(
            note,
            candidates,
            document_frequency=index.text.document_frequency,
            total=index.notes.count(),
            limit=len(candidates),
            minimum=0.0,
        )
        return {link.target: link for link in found}

    at_most = links(list({**near, **best}.values()))
    alone = {path: links([replace(each, reverse_rank=None)])[path] for path, each in best.items()}
    changes = (
        judged_by_text(
            note.path,
            record,
            alone[path],
            at_most[path].strength,
            by_analyzer=record.target in analyzers,
        )
        for path, (_, record) in linked.items()
    )
    return [change for change in changes if change is not None]
