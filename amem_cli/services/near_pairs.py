"""Finds pairs of notes that may say the same, without comparing every note with every other."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from amem_cli.core.duplicates import Wording, likeness

if TYPE_CHECKING:
    from amem_cli.core.index_port import MemoryIndex
    from amem_cli.core.ports import Vectors

# A run of words that more notes have is a template's, or a turn of phrase.
_MOST_SHARING = 8
# Either makes a pair worth comparing: so many runs of words in common, or so large a cosine.
_LEAST_SHARED = 3
_LEAST_COSINE = 0.7
_ROWS_AT_ONCE = 512
_REMEMBERED = 16_384


def near_pairs(
    index: MemoryIndex,
    paths: Sequence[str],
    wording_of: Callable[[str], Wording],
    threshold: float,
) -> Iterator[tuple[tuple[str, str], float]]:
    """Pairs of paths with their likeness, from `threshold` up.

    Args:
        wording_of: asked once for each note, and again for those that are compared, so that the
            words of a whole vault are never held at a time.
    """
    rows, vectors = _vectors(index, paths)
    pairs = _sharing_words(wording_of(path) for path in paths)
    pairs.update(_near_in_meaning(rows, vectors))
    row_of = {at: row for row, at in enumerate(rows)}
    remembered = lru_cache(maxsize=_REMEMBERED)(wording_of)
    for one, other in sorted(pairs):
        cosine = None
        if one in row_of and other in row_of:
            cosine = float(vectors[row_of[one]] @ vectors[row_of[other]])
        score = likeness(remembered(paths[one]), remembered(paths[other]), cosine)
        if score >= threshold:
            yield (paths[one], paths[other]), score


def is_worth_comparing(one: Wording, other: Wording, cosine: float) -> bool:
    """Whether `near_pairs` would look at a pair whose runs of words no third note has."""
    shared = len(one.shingles & other.shingles)
    least = min(len(one.shingles), len(other.shingles), _LEAST_SHARED)
    return cosine >= _LEAST_COSINE or shared >= least


def _vectors(index: MemoryIndex, paths: Sequence[str]) -> tuple[list[int], Vectors]:
    """Positions of the notes that have a vector, and the vectors, one a row."""
    import numpy as np

    rows, found = [], []
    if index.vectors.encoder() is not None:
        for at, path in enumerate(paths):
            vector = index.vectors.of_note(path)
            if vector is not None:
                rows.append(at)
                found.append(vector)
    empty: Vectors = np.zeros((0, 1), dtype=np.float32)
    return rows, np.stack(found) if found else empty


def _near_in_meaning(rows: Sequence[int], vectors: Vectors) -> set[tuple[int, int]]:
    import numpy as np

    pairs: set[tuple[int, int]] = set()
    for start in range(0, len(rows), _ROWS_AT_ONCE):
        # Each pair once: a note is compared with itself and those after it.
        block = vectors[start : start + _ROWS_AT_ONCE] @ vectors[start:].T
        for row, column in zip(*np.nonzero(block >= _LEAST_COSINE), strict=True):
            if column > row:
                pairs.add((rows[start + int(row)], rows[start + int(column)]))
    return pairs


def _sharing_words(wordings: Iterable[Wording]) -> set[tuple[int, int]]:
    """Pairs that have rare runs of words in common."""
    import numpy as np

    held, lengths = array("q"), []
    for each in wordings:
        held.extend(each.shingles)
        lengths.append(len(each.shingles))
    total = len(held)
    runs = np.frombuffer(held, np.int64) if total else np.zeros(0, np.int64)
    owners = np.repeat(np.arange(len(lengths)), lengths)
    order = np.argsort(runs, kind="stable")
    runs, owners = runs[order], owners[order]
    starts = np.flatnonzero(np.r_[True, runs[1:] != runs[:-1]]) if total else np.array([], int)
    sizes = np.diff(np.r_[starts, total])
    counts: dict[tuple[int, int], int] = {}
    wanted = (sizes > 1) & (sizes <= _MOST_SHARING)
    for start, size in zip(starts[wanted].tolist(), sizes[wanted].tolist(), strict=True):
        group = owners[start : start + size].tolist()
        for at, one in enumerate(group):
            for other in group[at + 1 :]:
                pair = (one, other) if one < other else (other, one)
                counts[pair] = counts.get(pair, 0) + 1
    few = [min(lengths[one], lengths[other], _LEAST_SHARED) for one, other in counts]
    return {
        pair for (pair, count), least in zip(counts.items(), few, strict=True) if count >= least
    }
