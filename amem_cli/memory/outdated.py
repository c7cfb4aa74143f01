"""Which of the machine's values in a note are to be made anew, as they no longer fit its text.

The journal keeps a sketch of the text that was described. It estimates how many words a later text
shares with that one, so nothing needs to be kept of the text itself.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from hashlib import blake2b

from amem_cli.journal.events import Event
from amem_cli.journal.provenance import Provenance, effective_events, provenance
from amem_cli.language.words import is_unspaced, words
from amem_cli.memory.outcome import JUDGE
from amem_cli.notes.note import METADATA_FIELDS, Note

_SLOTS = 32
_EMPTY = "00"
# Share of the words of both texts that both have; below it the description is made anew.
LEAST_LIKENESS = 0.55


def text_sketch(text: str) -> str:
    """A fingerprint of the text's words, 64 hexadecimal digits (one-permutation MinHash)."""
    least: dict[int, tuple[bytes, int]] = {}
    for term in set(_terms(text)):
        digest = blake2b(term.encode("utf-8", "surrogatepass"), digest_size=8).digest()
        slot, entry = digest[0] % _SLOTS, (digest[2:], 1 + digest[1] % 255)
        least[slot] = min(entry, least.get(slot, entry))
    return "".join(f"{least[slot][1]:02x}" if slot in least else _EMPTY for slot in range(_SLOTS))


def sketch_likeness(one: str, other: str) -> float:
    """About the share of the words of two texts that both have, 0..1, by their sketches."""
    ours, theirs = ([sketch[i : i + 2] for i in range(0, 2 * _SLOTS, 2)] for sketch in (one, other))
    filled = [pair for pair in zip(ours, theirs, strict=True) if set(pair) != {_EMPTY}]
    return sum(a == b for a, b in filled) / len(filled) if filled else 1.0


def _terms(text: str) -> Iterator[str]:
    for word in words(text):
        if is_unspaced(word):
            # A run of characters without blanks is one word, so any edit would change it whole.
            yield from (word[i : i + 2] for i in range(max(1, len(word) - 1)))
        else:
            yield word


def machine_fields(note: Note, owned: Provenance) -> list[str]:
    """Names of the metadata fields with a value that the machine wrote."""
    own = {
        "keywords": not owned.keywords.isdisjoint(note.keywords),
        "tags": not owned.tags.isdisjoint(note.tags),
        "context": bool(note.context) and note.context == owned.context,
    }
    return [name for name in METADATA_FIELDS if own[name]]


def without_machine_values(
    note: Note, owned: Provenance, names: Collection[str] = METADATA_FIELDS
) -> Note:
    """The note without what the machine wrote in these fields."""
    keywords = tuple(each for each in note.keywords if each not in owned.keywords)
    tags = tuple(each for each in note.tags if each not in owned.tags)
    return replace(
        note,
        keywords=keywords if "keywords" in names else note.keywords,
        tags=tags if "tags" in names else note.tags,
        context="" if "context" in names and note.context == owned.context else note.context,
    )


def outdated_fields(
    note: Note, owned: Provenance, events: Sequence[Event], text_hash: str
) -> list[str]:
    """Fields with values of the machine that no longer fit the text, which has this hash."""
    processed = {event.id: event for event in effective_events(events) if event.kind == "process"}
    if not processed or [*processed.values()][-1].text_hash == text_hash:
        return []
    described = [each for each in effective_events(events) if each.kind == "construct"]
    # A value that came with another note's evolution was written for a text processed before.
    run = processed.get(described[-1].cause if described else next(iter(processed)))
    # Journals of before have no sketch.
    if run is None or len(run.sketch) != 2 * _SLOTS:
        return []
    is_outdated = sketch_likeness(run.sketch, text_sketch(note.body)) < LEAST_LIKENESS
    return machine_fields(note, owned) if is_outdated else []


def fallback_fields(note: Note, owned: Provenance, events: Sequence[Event]) -> list[str]:
    """Fields of a note that the analyzer filled while the model gave no answer, and nobody changed
    since; `events` are the note's, oldest first."""
    runs: set[str] = set()
    written: dict[str, object] = {}
    for event in events:
        if event.kind == "process":
            runs = {*runs, event.id} if event.waits_for not in ("", JUDGE) else set()
        elif event.kind == "construct" and event.cause in runs:
            written |= {change.field: change.after for change in event.changes}
    if not runs:
        return []
    present = {"keywords": list(note.keywords), "tags": list(note.tags), "context": note.context}
    own = {
        "keywords": owned.keywords.issuperset(note.keywords),
        "tags": owned.tags.issuperset(note.tags),
        "context": owned.context == note.context,
    }
    return [name for name in written if own.get(name) and written[name] == present[name]]


def owned_before_undo(events: Iterable[Event]) -> Provenance:
    """What the machine wrote, also if a person took a change back and so has these values now."""
    events = list(events)
    machines = {event.id for event in events if event.by == "machine"}
    return provenance(
        replace(event, by="machine") if event.kind == "undo" and event.cause in machines else event
        for event in events
    )
