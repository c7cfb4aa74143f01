"""Which notes are superseded or contradicted by others; puts the current note first."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from amem_cli.index.memory_index import MemoryIndex
    from amem_cli.index.records import NoteSummary, SupersedingLink
    from amem_cli.search.search import Hit

# How many notes one search follows to newer ones; a history of versions may be longer.
_MAX_FOLLOWED = 60
# Of the newer versions of a hit at most so many, the newest, are added to the hits.
_MAX_ADDED = 3


@dataclass(frozen=True, slots=True)
class Supersession:
    """The notes that say of a note that it no longer holds, the newest first."""

    superseded_by: tuple[NoteSummary, ...] = ()
    contradicted_by: tuple[NoteSummary, ...] = ()


def supersessions(
    index: MemoryIndex, paths: Sequence[str] | None = None
) -> dict[str, Supersession]:
    """By path, those of the notes at `paths` (None: all) that others supersede or contradict."""
    return _by_path(index, index.link_history.superseded(paths))


def _by_path(index: MemoryIndex, links: Iterable[SupersedingLink]) -> dict[str, Supersession]:
    newer: dict[tuple[str, str], list[NoteSummary]] = {}
    for link in links:
        note = index.notes.summary(link.newer)
        if note is not None:
            newer.setdefault((link.older, link.relation), []).append(note)
    for notes in newer.values():
        notes.sort(key=lambda note: note.path)
        notes.sort(key=lambda note: note.created, reverse=True)
    return {
        older: Supersession(
            tuple(newer.get((older, "supersedes"), ())),
            tuple(newer.get((older, "contradicts"), ())),
        )
        for older, _ in newer
    }


def with_current_first(
    index: MemoryIndex,
    hits: Sequence[Hit],
    new_hit: Callable[[str, float, str | None], Hit | None],
    allowed: Collection[str] | None,
) -> list[Hit]:
    """Hits with what supersedes or contradicts each, the current note right before an older one.

    A newer note that is no hit is added, with the score of the older one and its id as `via`. No
    hit is dropped for it.

    Args:
        new_hit: makes a hit of a path, a score and a `via`.
        allowed: paths that may be added; None for all.
    """
    links = index.link_history.superseded([hit.note.path for hit in hits])
    if not links:
        return list(hits)
    links += _further(index, links)
    known = _by_path(index, links)
    newer = {path: [note.path for note in each.superseded_by] for path, each in known.items()}
    by_path = {hit.note.path: hit for hit in hits}
    ordered: list[Hit] = []
    score = 0.0
    keys: dict[str, str] = {}
    # From the end, so that a note placed before another has at least its score.
    for path, older in reversed(_current_first(by_path, newer, allowed)):
        score = max(score, by_path[path].score if path in by_path else 0.0)
        hit = by_path.get(path) or new_hit(path, score, keys.get(older or "", older))
        if hit is not None:
            keys[path] = hit.note.key
            own = known.get(path, Supersession())
            ordered.append(
                replace(
                    hit,
                    score=score,
                    superseded_by=own.superseded_by,
                    contradicted_by=own.contradicted_by,
                )
            )
    return ordered[::-1]


def _further(index: MemoryIndex, links: Sequence[SupersedingLink]) -> list[SupersedingLink]:
    """The links that lead from the newer notes to what is newer still."""
    further: list[SupersedingLink] = []
    seen = {link.older for link in links}
    ahead = {link.newer for link in links if link.relation == "supersedes"} - seen
    while ahead and len(seen) < _MAX_FOLLOWED:
        seen |= ahead
        links = index.link_history.superseded(sorted(ahead))
        further += links
        ahead = {link.newer for link in links if link.relation == "supersedes"} - seen
    return further


def _current_first(
    hits: Collection[str], newer: Mapping[str, Sequence[str]], allowed: Collection[str] | None
) -> list[tuple[str, str | None]]:
    """Paths with those that supersede each right before it.

    Notes that supersede one another in a circle stay in place: none of them is the current one.

    Args:
        hits: best first.
        newer: for a note those that supersede it, the newest first.

    Returns:
        Hits and added notes, each added one with the note that it was added for, a hit with None.
    """
    later = {path: _all_later(path, newer) for path in newer}
    placed: dict[str, None] = {}
    older: dict[str, str] = {}
    seen: set[str] = set()

    def place(path: str) -> int:
        """Place a note behind its newer ones; returns how many were added."""
        seen.add(path)
        added = 0
        for other in newer.get(path, ()):
            if other not in seen and path not in later.get(other, ()):
                older[other] = path
                added += place(other)
        if path in hits:
            placed[path] = None
        elif added < _MAX_ADDED and (allowed is None or path in allowed):
            placed[path] = None
            added += 1
        return added

    def nearest_placed(path: str) -> str:
        # Notes between the two may be left out.
        before = older[path]
        while before not in placed:
            before = older[before]
        return before

    for path in hits:
        if path not in seen:
            place(path)
    return [(path, None if path in hits else nearest_placed(path)) for path in placed]


def _all_later(path: str, newer: Mapping[str, Sequence[str]]) -> set[str]:
    """All notes that supersede a note, however indirectly; itself too if they go in a circle."""
    reached: set[str] = set()
    waiting = list(newer.get(path, ()))
    while waiting:
        other = waiting.pop()
        if other not in reached:
            reached.add(other)
            waiting += newer.get(other, ())
    return reached
