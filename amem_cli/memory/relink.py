"""Links that the machine made earlier, when the text of their note is new or was judged in a hurry.

Which of them a model looks at again, and which the analyzer updates by the texts alone. Only the
machine's links change, and only for what a person wrote: a keyword that the machine made from the
old text is no evidence.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import cast

from amem_cli.analyzer.analyzer import note_vector
from amem_cli.analyzer.earlier_notes import EarlierNotes
from amem_cli.analyzer.link_choice import score_links
from amem_cli.analyzer.link_evidence import at_best, is_quoted, near_notes
from amem_cli.analyzer.own_words import own_sentences
from amem_cli.index.memory_index import MemoryIndex, VaultPorts
from amem_cli.index.records import NoteSummary, with_key
from amem_cli.journal.events import Event, LinkRecord
from amem_cli.journal.link_decisions import (
    FLOOR,
    LinkUpdate,
    before_closing,
    update_by_model,
    update_by_text,
    with_closing,
)
from amem_cli.journal.provenance import Provenance, undone_events
from amem_cli.markdown.plain_text import plain_text
from amem_cli.memory.outcome import ANALYZER, JUDGE, Linking, NoteAnalysis
from amem_cli.memory.outdated import without_machine_values
from amem_cli.models.ports import Encoder
from amem_cli.notes.note import MemoryLink, Note, Relation, parse_note

# Notes beside the linked ones that show what evidence is usual.
_COMPARED = 8


def with_links_updated(
    index: MemoryIndex,
    encoder: Encoder,
    note: Note,
    text_hash: str,
    owned: Provenance,
    analysis: NoteAnalysis,
    earlier: EarlierNotes,
    *,
    trusted: bool,
) -> NoteAnalysis:
    """The analysis with the updates of the note's own links that its new text calls for.

    Nothing changes for a text that went through the process before, by its hash. What the model
    says of an existing link counts if it is trusted.
    """
    events = index.events.read(note.id or note.path)
    processed = [event.text_hash for event in events if event.kind == "process" and event.text_hash]
    linked = {
        summary.path: (summary, record)
        for summary, record in machine_links(index, owned)
        if summary.path != note.path
    }
    if not (linked and processed) or processed[-1] == text_hash:
        return analysis
    linking = analysis.linking
    by_model = list(linking.link_changes)
    if trusted and linking.step.model != ANALYZER:
        said = {link.target: link for link in linking.links}
        for path in [path for path in linked if path in said]:
            # What the model says of a link outweighs the analyzer, also if nothing changes.
            update = update_by_model(note.path, linked.pop(path)[1], said[path])
            by_model += [update] if update is not None else []
    decided = {(update.source, update.target) for update in by_model}
    own = without_machine_values(note, owned)
    by_text = _updates_by_text(index, encoder, own, linked, events, earlier, linking)
    return replace(
        analysis,
        linking=replace(linking, link_changes=tuple(by_model)),
        updates_by_text=tuple(
            update for update in by_text if (update.source, update.target) not in decided
        ),
    )


def unjudged_run(events: Sequence[Event], text_hash: str) -> Event | None:
    """The last run over a note, by its events, if it saw this text and waits for the judge."""
    runs = [event for event in events if event.kind == "process"]
    last = runs[-1] if runs else None
    return last if last and (last.text_hash, last.waits_for) == (text_hash, JUDGE) else None


def is_taken_back(run: Event, events: Sequence[Event]) -> bool:
    """Whether a person took back something that a run made of its note, by the note's events."""
    undone = undone_events(events)
    return any(event.cause == run.id and event.id in undone for event in events)


def links_as_before(run: Event, problems: tuple[str, ...]) -> Linking:
    """What a run came to, for one that comes to nothing else."""
    confirmed, suggested = (
        tuple(
            MemoryLink(each.path, cast("Relation", each.relation), each.reason, each.strength)
            for each in records
        )
        for records in (run.confirmed, run.suggested)
    )
    return Linking(confirmed, problems=problems, suggested=suggested)


def with_provisional_links_judged(
    index: MemoryIndex,
    note: Note,
    run: Event,
    events: Sequence[Event],
    owned: Provenance,
    linking: Linking,
) -> Linking:
    """The links with the changes of those that a run made which waits for the judge: each becomes
    what it would be if the judge had been asked at once, unless it says something else by now."""
    made = [link for event in events if event.cause == run.id for link in event.links]
    relations = {link.target: link.relation for link in made}
    said = {link.target: link for link in linking.links}
    reason = f"the {JUDGE}, which had no time before, does not bear it out"
    changes = []
    for summary, record in machine_links(index, owned):
        is_as_made = relations.get(record.target) == record.relation
        if not is_as_made or summary.path not in linking.judged:
            continue
        ends, now = (note.path, summary.path), said.get(summary.path)
        if now is None:
            changes.append(LinkUpdate(*ends, removed=True, reason=reason))
        else:
            changes.append(LinkUpdate(*ends, now.strength, now.relation, reason=now.reason))
    # What the note changed in older ones since then, or a person accepted of that, is done.
    # The note may have got its id by that run.
    caused = [index.events.triggered_by(key) for key in (note.id, note.path) if key]
    told = {each.path for events in caused for each in events if each.id > run.id}
    evolutions = tuple(each for each in linking.evolutions if each.path not in told)
    return replace(linking, provisional_changes=tuple(changes), evolutions=evolutions)


def machine_links(
    index: MemoryIndex, owned: Provenance
) -> Iterator[tuple[NoteSummary, LinkRecord]]:
    """The machine's links of a note that may change, each with the note that it leads to."""
    for record in owned.links.values():
        if record.by == "machine" and record.target not in owned.kept:
            for summary in with_key(index.notes.find(record.target), record.target)[:1]:
                yield summary, record


def restated_context(ports: VaultPorts, note: Note, events: Sequence[Event], context: str) -> str:
    """A context made anew, closed with what another note said of this one, if it still says so."""
    index = ports.index
    before, key = before_closing(events, note.context, ANALYZER)
    # What stays is what was there before the other note spoke.
    base = before if context == note.context else context
    closing = note.context.removeprefix(before.rstrip(" .。"))
    for summary in with_key(index.notes.find(key), key)[: bool(key)]:
        other = parse_note(summary.path, ports.vault.read(summary.path).raw, ports.names)
        says_so = any(is_quoted(each.text, closing) for each in own_sentences(other))
        if other.private == note.private and other.refused is None and says_so:
            return with_closing(base, closing)
    return base


def _updates_by_text(
    index: MemoryIndex,
    encoder: Encoder,
    note: Note,
    linked: Mapping[str, tuple[NoteSummary, LinkRecord]],
    events: Sequence[Event],
    earlier: EarlierNotes,
    linking: Linking,
) -> list[LinkUpdate]:
    if not linked:
        return []
    vector = note_vector(index, encoder.encode, note)
    near = near_notes(index, note.path, plain_text(note.body), vector, _COMPARED, earlier)
    best = at_best(index, [summary for summary, _ in linked.values()], vector, earlier)

    # Judged at its best, so that a link does not change with the rest of the vault.
    weighed = score_links(
        note,
        list({each.path: each for each in (*near, *best)}.values()),
        document_frequency=earlier.document_frequency,
        total=earlier.total,
        minimum=0.0,
    )
    found = {link.target: link for link in weighed.links}
    # By a link's target, who made it or weighed it last.
    makers = {link.target: event for event in events for link in event.links}
    stay = {link.target for link in (*linking.links, *linking.suggested)}
    updates = []
    for path, (_, record) in linked.items():
        now, maker = found[path], makers.get(record.target)
        # What the judge of links said of the pair counts until it says something else.
        if path in stay or (maker and maker.prompt and not linking.step.prompt):
            now = replace(now, strength=max(now.strength, FLOOR))
        if maker is not None and maker.review and now.relation == "related":
            # A person agreed to it, though the note does not say it surely.
            now = replace(now, relation=cast("Relation", record.relation))
        by_analyzer = maker is not None and maker.model == ANALYZER
        updates.append(update_by_text(note.path, record, now, by_analyzer=by_analyzer))
    return [*filter(None, updates)]
