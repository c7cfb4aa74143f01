"""Tells which notes are superseded or contradicted by others, and puts the current one first."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from amem_cli.search.ranking import current_first

if TYPE_CHECKING:
    from amem_cli.index.port import MemoryIndex
    from amem_cli.index.records import NoteSummary, Superseded
    from amem_cli.search.search import Hit

# Newer notes that are looked at for one search; a history of versions may be longer.
_MOST_FOLLOWED = 60


@dataclass(frozen=True, slots=True)
class Standing:
    """Which notes say of a note that it no longer holds, the newest first."""

    superseded_by: tuple[NoteSummary, ...] = ()
    contradicted_by: tuple[NoteSummary, ...] = ()


def standings(index: MemoryIndex, paths: Sequence[str] | None = None) -> dict[str, Standing]:
    """The standing of the notes at these paths (None: of all) of which other notes say something.

    The cost is that of one look-up where there are none.
    """
    return _standings(index, index.link_history.superseded(paths))


def _standings(index: MemoryIndex, links: Iterable[Superseded]) -> dict[str, Standing]:
    named: dict[tuple[str, str], list[NoteSummary]] = {}
    for link in links:
        newer = index.notes.summary(link.newer)
        if newer is not None:
            named.setdefault((link.older, link.relation), []).append(newer)
    for notes in named.values():
        notes.sort(key=lambda note: note.path)
        notes.sort(key=lambda note: note.created, reverse=True)
    return {
        older: Standing(
            tuple(named.get((older, "supersedes"), ())),
            tuple(named.get((older, "contradicts"), ())),
        )
        for older in dict.fromkeys(older for older, _ in named)
    }


def with_current_first(
    index: MemoryIndex,
    hits: Sequence[Hit],
    show: Callable[[str, float, str | None], Hit | None],
    allowed: Collection[str] | None,
) -> list[Hit]:
    """Hits with what supersedes or contradicts each, the current note right before an older one.

    A newer note that was not found is brought in, with the score of the older one and its id as
    `via`. No hit is left out for it.

    Args:
        show: makes a hit of a path, a score and a `via`.
        allowed: paths that may be brought in; None for all.
    """
    links = index.link_history.superseded([hit.note.path for hit in hits])
    if not links:
        return list(hits)
    known = _standings(index, _followed(index, links))
    newer = {
        path: [note.path for note in standing.superseded_by] for path, standing in known.items()
    }
    by_path = {hit.note.path: hit for hit in hits}
    order = current_first(list(by_path), newer, lambda path: allowed is None or path in allowed)
    shown = _in_order(order, by_path, show)
    return [_marked(hit, known.get(hit.note.path)) for hit in shown]


def _followed(index: MemoryIndex, links: Sequence[Superseded]) -> list[Superseded]:
    """The links, and those that lead on to what is newer still."""
    found = list(links)
    seen = {link.older for link in links}
    ahead = {link.newer for link in links if link.relation == "supersedes"} - seen
    while ahead and len(seen) < _MOST_FOLLOWED:
        seen |= ahead
        further = index.link_history.superseded(sorted(ahead))
        found += further
        ahead = {link.newer for link in further if link.relation == "supersedes"} - seen
    return found


def _in_order(
    order: Sequence[tuple[str, str | None]],
    by_path: Mapping[str, Hit],
    show: Callable[[str, float, str | None], Hit | None],
) -> list[Hit]:
    shown: list[Hit] = []
    score = 0.0
    made: dict[str, str] = {}
    # From the end, so that what was put before another note has at least its score.
    for path, older in reversed(order):
        score = max(score, by_path[path].score if path in by_path else 0.0)
        hit = by_path.get(path) or show(path, score, made.get(older or "", older))
        if hit is not None:
            made[path] = hit.note.key
            shown.append(hit if hit.score == score else replace(hit, score=score))
    return shown[::-1]


def _marked(hit: Hit, standing: Standing | None) -> Hit:
    if standing is None:
        return hit
    return replace(
        hit, superseded_by=standing.superseded_by, contradicted_by=standing.contradicted_by
    )
