"""Finds all notes of a vault that hold the same text, and says which one to keep.

Near pairs are found without comparing every note with every other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from itertools import combinations, groupby
from operator import itemgetter
from typing import TYPE_CHECKING

from amem_cli.duplicates.compare import (
    THRESHOLD,
    Duplicate,
    Kind,
    KnownTexts,
    Wording,
    has_few_words,
    is_copy_name,
    is_template,
    likeness,
    text_key,
    wording,
    words_of_note,
)
from amem_cli.duplicates.merge_text import text_beyond
from amem_cli.index.memory_index import MemoryIndex, VaultPorts
from amem_cli.index.records import NoteSummary
from amem_cli.notes.note import file_title

if TYPE_CHECKING:
    from amem_cli.models.ports import Vectors


@dataclass(frozen=True, slots=True)
class Group:
    """Notes that say the same; `kept` is the one that a merge would keep."""

    kept: NoteSummary
    others: tuple[Duplicate, ...]

    @property
    def kind(self) -> Kind:
        """`exact` if all are."""
        return "exact" if all(each.kind == "exact" for each in self.others) else "near"


@dataclass(frozen=True, slots=True)
class Duplicates:
    """The duplicates among the `compared` notes of a vault.

    Without vectors (`by_meaning` is False) only words were compared.
    """

    groups: tuple[Group, ...]
    compared: int
    by_meaning: bool


def find_duplicates(
    ports: VaultPorts,
    *,
    threshold: float = THRESHOLD,
    exact_only: bool = False,
    among: Collection[str] = (),
) -> Duplicates:
    """Find notes that hold the same text."""
    finder = _Finder(ports)
    same = finder.same_texts()
    near: dict[tuple[str, str], float] = {}
    if not exact_only:
        copies = {copy for twins in same.values() for copy in twins[1:]}
        single = [path for path in finder.notes if path not in copies]
        near = dict(_near_pairs(ports.index, single, finder.wording, threshold))
    groups = [
        group
        for group in finder.groups(same, near)
        if not among
        or not {group.kept.path, *(one.note.path for one in group.others)}.isdisjoint(among)
    ]
    groups.sort(key=lambda group: (group.kind, -group.others[0].similarity, group.kept.path))
    return Duplicates(
        groups=tuple(groups),
        compared=ports.index.notes.count(),
        by_meaning=ports.index.vectors.encoder() is not None,
    )


class _Finder:
    def __init__(self, ports: VaultPorts) -> None:
        self._ports = ports
        self.notes = {summary.path: summary for summary in ports.index.notes.summaries()}
        self.text = cache(lambda path: words_of_note(ports, self.notes[path]))
        # Notes made from a template and not filled in are not copies of each other.
        templates = [path for path in self.notes if is_template(path)]
        empty = {text_key(self.text(path)) for path in templates}
        unfilled = [path for path in self.notes if empty and text_key(self.text(path)) in empty]
        for path in (*templates, *unfilled):
            self.notes.pop(path, None)

    def wording(self, path: str) -> Wording:
        return wording(self.notes[path].title, self.text(path))

    def same_texts(self) -> dict[str, list[str]]:
        """Notes with the same text, by the first of them."""
        known, same = KnownTexts(), dict[str, list[str]]()
        for path, note in self.notes.items():
            key = text_key(self.text(path))
            few = partial(has_few_words, self.text(path))
            # Notes of one text may still differ by title, such as daily notes.
            if twin := known.path(key, note.title, few=few):
                same.setdefault(twin, [twin]).append(path)
            else:
                known.add(key, note.title, path)
        return same

    def groups(
        self, same: dict[str, list[str]], near: dict[tuple[str, str], float]
    ) -> Iterator[Group]:
        """Each note once, in a group around the one that is kept."""
        joined: dict[str, set[str]] = {}
        for one, other in near:
            joined.setdefault(one, set()).add(other)
            joined.setdefault(other, set()).add(one)
        open_ones = {*same, *joined}
        # Best first: each note joins the group of the best note that it resembles.
        for first in sorted(open_ones, key=self._rank):
            if first not in open_ones:
                continue
            near_ones = sorted(joined.get(first, set()) & open_ones - {first})
            open_ones.difference_update([first, *near_ones])
            kept, *twins = sorted(same.get(first, [first]), key=self._rank)
            others = [Duplicate(self.notes[path], "exact", 1.0) for path in twins]
            for path in near_ones:
                score = near.get((first, path)) or near.get((path, first)) or 0.0
                for copy in same.get(path, [path]):
                    beyond = text_beyond(self.text(kept), self.text(copy))
                    others.append(Duplicate(self.notes[copy], "near", score, beyond))
            if others:
                others.sort(key=lambda each: (-each.similarity, each.note.path))
                yield Group(self.notes[kept], tuple(others))

    def _rank(self, path: str) -> tuple[object, ...]:
        """Keep first: private notes, those not named like a copy, the most linked, the oldest."""
        note = self.notes[path]
        linked = len({source for source, _ in self._ports.index.links.incoming(path)} - {path})
        is_copy = is_copy_name(file_title(path))
        return (not note.private, is_copy, -linked, note.made, len(path), path)


# A run of words in more notes is a template or a common phrase.
_MOST_SHARING = 8
# A pair is compared if it has as many runs of words in common, or as large a cosine.
LEAST_SHARED = 3
LEAST_COSINE = 0.7
_ROWS_AT_ONCE = 512
_REMEMBERED = 16_384


def _near_pairs(
    index: MemoryIndex,
    paths: Sequence[str],
    wording_of: Callable[[str], Wording],
    threshold: float,
) -> Iterator[tuple[tuple[str, str], float]]:
    """Pairs of paths with their likeness, from `threshold` up.

    `wording_of` is called again for what is compared: a whole vault's words need much memory.
    """
    vectors = index.vectors.of_all_notes() if index.vectors.encoder() is not None else {}
    pairs = _sharing_words(wording_of(path) for path in paths)
    pairs |= _near_in_meaning(
        [(at, vectors[path]) for at, path in enumerate(paths) if path in vectors]
    )
    remembered = lru_cache(maxsize=_REMEMBERED)(wording_of)
    for one, other in ((paths[one], paths[other]) for one, other in sorted(pairs)):
        both = one in vectors and other in vectors
        cosine = float(vectors[one] @ vectors[other]) if both else None
        score = likeness(remembered(one), remembered(other), cosine)
        if score >= threshold:
            yield (one, other), score


def _near_in_meaning(placed: Sequence[tuple[int, Vectors]]) -> set[tuple[int, int]]:
    """Pairs with near vectors; given are the position of each note that has one, and it."""
    import numpy as np

    if not placed:
        return set()
    places, rows = zip(*placed, strict=True)
    vectors = np.stack(rows)
    pairs: set[tuple[int, int]] = set()
    for start in range(0, len(rows), _ROWS_AT_ONCE):
        # Each pair once: a note is compared with itself and those after it.
        # One block at a time: the whole matrix of a large vault would not fit into memory.
        block = vectors[start : start + _ROWS_AT_ONCE] @ vectors[start:].T
        for row, column in zip(*np.nonzero(block >= LEAST_COSINE), strict=True):
            if column > row:
                pairs.add((places[start + int(row)], places[start + int(column)]))
    return pairs


def _sharing_words(wordings: Iterable[Wording]) -> set[tuple[int, int]]:
    """Pairs that have rare runs of words in common."""
    import numpy as np

    # Flat arrays need far less memory than a set of runs for each note.
    held = [np.fromiter(each.shingles, np.int64) for each in wordings]
    lengths = [len(runs) for runs in held]
    owners = np.repeat(np.arange(len(held)), lengths)
    _, runs, sizes = np.unique(
        np.concatenate([np.empty(0, np.int64), *held]), return_inverse=True, return_counts=True
    )
    shared = (sizes[runs] > 1) & (sizes[runs] <= _MOST_SHARING)
    sharing = sorted(zip(runs[shared].tolist(), owners[shared].tolist(), strict=True))
    counts: Counter[tuple[int, int]] = Counter()
    for _, together in groupby(sharing, key=itemgetter(0)):
        counts.update(combinations((owner for _, owner in together), 2))
    return {
        (one, other)
        for (one, other), count in counts.items()
        if count >= min(lengths[one], lengths[other], LEAST_SHARED)
    }
