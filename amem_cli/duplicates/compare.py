"""Compares notes: whether two hold the same text, and how alike they are.

Near pairs of a whole vault are found without comparing every note with every other.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from array import array
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from amem_cli.duplicates.merge_text import without_title
from amem_cli.language.words import TOKEN, cjk_bigrams, fold, is_unspaced, plain_word

if TYPE_CHECKING:
    from amem_cli.index.memory_index import MemoryIndex
    from amem_cli.index.records import NoteSummary
    from amem_cli.models.ports import Vectors
    from amem_cli.notes.note import Note

# Notes with fewer words are duplicates only if their names match.
LEAST_WORDS = 8
_SHINGLE = 4
# A shorter note is a quotation in the longer one, not a copy of it.
_LEAST_LENGTH_RATIO = 1 / 3
_BLANK_LINES = re.compile(r"\n{2,}")
_STAMP = re.compile(r"(?<!\d)(?:19|20)\d{10}(?:\d\d)?(?!\d)")
_COPY = re.compile(
    r"(?: ?\((?:\d{1,3}|copy|kopie)\)| - (?:copy|kopie)| copy(?: \d{1,3})?| kopie(?: \d{1,3})?"
    r"| \d{1,3})\Z"
)
_NUMBER = re.compile(r"\d+")
_TEMPLATE = re.compile(r"\b(?:templates?|vorlagen?)\b")
_DIGIT = re.compile(r"\d")
_MONTH_OR_DAY = re.compile(
    r"\b(?:jan|feb|m[aä]r|apr|ma[iy]|jun|jul|aug|sep|o[ck]t|nov|de[cz]|mon|tue|wed|thu|fri|sat|sun"
    r"|montag|dienstag|mittwoch|donnerstag|freitag|samstag|sonntag)\w*"
)


def file_title(path: str) -> str:
    """The name of a note's file without folders and `.md`."""
    name = path.rpartition("/")[2]
    return name[:-3] if name.lower().endswith(".md") else name


def note_names(note: Note | NoteSummary) -> tuple[str, ...]:
    """All names of a note: title, file name, aliases."""
    return (note.title, file_title(note.path), *note.aliases)


def text_key(body: str, names: Iterable[str]) -> str:
    """A hash that is equal for texts in which a reader sees no difference; empty for no text.

    Ignores line endings, blanks at the ends of lines, the number of blank lines, the form of
    accents (NFC), and a heading of level 1 at the top that repeats the note's name. Case,
    punctuation and markup count.
    """
    text = unicodedata.normalize("NFC", body.removeprefix("\ufeff"))
    text = without_title(text.replace("\r\n", "\n").replace("\r", "\n"), tuple(names))
    lines = "\n".join(line.rstrip() for line in text.split("\n"))
    bare = _BLANK_LINES.sub("\n", lines).strip("\n")
    return hashlib.sha256(bare.encode("utf-8", "replace")).hexdigest() if bare.strip() else ""


def text_words(text: str) -> list[str]:
    """The folded words of a text; for Chinese, Japanese and Korean each pair of characters."""
    words: list[str] = []
    for token in TOKEN.findall(fold(text)):
        words += cjk_bigrams(token) if is_unspaced(token) else [plain_word(token)]
    return words


def same_name(one: str, other: str) -> bool:
    """Whether two titles differ at most by the suffix of a copy: `Name`, `Name 2`, `Name (1)`."""
    return _without_copy(one) == _without_copy(other)


def is_copy_name(title: str) -> bool:
    """Whether a title ends like a copy's; `Chapter 2` does too."""
    return _COPY.search(_plain_title(title)) is not None


def same_series(one: str, other: str) -> bool:
    """Whether two titles differ in numbers or dates, like daily notes, minutes and invoices.

    The time stamp of a Zettelkasten, before or after a title, is not such a number.
    """
    first, second = _plain_title(one), _plain_title(other)
    # `Name 2` is a copy of `Name`, not the second of a series.
    if first == second or _without_copy(first) == second or first == _without_copy(second):
        return False
    numbers = [_numbers_and_days(title) for title in (first, second)]
    return bool(numbers[0] and numbers[1]) and numbers[0] != numbers[1]


def same_note_titles(one: str, other: str, *, few: bool) -> bool:
    """Whether the titles allow two notes with the same text to be duplicates.

    Daily notes made from one template have the same text too, and a few words say little.

    Args:
        few: the text has fewer than `LEAST_WORDS` words.
    """
    return not same_series(one, other) and (not few or same_name(one, other))


def is_template(path: str) -> bool:
    """Whether a note is a template, by its folder or its name."""
    return _TEMPLATE.search(path.casefold().replace("_", " ")) is not None


def _numbers_and_days(title: str) -> list[str]:
    return [text.lstrip("0") for text in _NUMBER.findall(title)] + _MONTH_OR_DAY.findall(title)


@lru_cache(maxsize=4096)
def _plain_title(title: str) -> str:
    bare = _STAMP.sub(" ", unicodedata.normalize("NFC", title).casefold())
    return " ".join(bare.split()).strip(" -_.")


def _without_copy(title: str) -> str:
    return _COPY.sub("", _plain_title(title))


@dataclass(frozen=True, slots=True)
class Wording:
    """A note's words as they are compared.

    Attributes:
        count: of all words.
        shingles: hashes of runs of four words.
        numbers: the words with digits.
    """

    title: str
    count: int
    words: frozenset[str]
    shingles: frozenset[int]
    numbers: frozenset[str]


def wording(title: str, text: str) -> Wording:
    """The words of a note."""
    listed = text_words(text)
    size = min(_SHINGLE, max(len(listed), 1))
    runs = {hash(tuple(listed[at : at + size])) for at in range(len(listed) - size + 1)}
    words = frozenset(listed)
    numbers = frozenset(word for word in words if _DIGIT.search(word))
    return Wording(title, len(listed), words, frozenset(runs), numbers)


def likeness(one: Wording, other: Wording, cosine: float | None) -> float:
    """How surely two notes hold the same text, 0 to 1.

    The mean of two shares: the words of the shorter note that the other has, and the similarity of
    meaning. The more the lengths differ, the more runs of words count instead of single words, for
    a long text has most words of any short one.

    The result is 0 if each note has numbers of its own, the titles are those of a series, there are
    few words and different names, or one note is three times as long as the other.

    Args:
        cosine: of the notes' vectors; None if one has none: then their common runs of words count.
    """
    shortest = min(one.count, other.count)
    named_alike = same_name(one.title, other.title)
    if not shortest or (shortest < LEAST_WORDS and not named_alike):
        return 0.0
    if same_series(one.title, other.title) or differ_in_numbers(one, other):
        return 0.0
    length_ratio = shortest / max(one.count, other.count)
    if length_ratio < _LEAST_LENGTH_RATIO:
        return 0.0
    runs = _share(one.shingles, other.shingles)
    words = length_ratio * _share(one.words, other.words) + (1 - length_ratio) * runs
    if cosine is None:
        common = len(one.shingles & other.shingles)
        cosine = 2 * common / (len(one.shingles) + len(other.shingles))
    return (words + max(cosine, 0.0)) / 2


def differ_in_numbers(one: Wording, other: Wording) -> bool:
    """Whether each note has numbers that the other lacks, and they share few."""
    mine, theirs = one.numbers - other.numbers, other.numbers - one.numbers
    shared = len(one.numbers & other.numbers)
    return bool(mine and theirs) and min(len(mine), len(theirs)) * 4 > shared


def _share(one: Collection[object], other: Collection[object]) -> float:
    fewer, more = (one, other) if len(one) <= len(other) else (other, one)
    return sum(each in more for each in fewer) / max(len(fewer), 1)


# A run of words in more notes is a template or a common phrase.
_MOST_SHARING = 8
# A pair is compared if it has as many runs of words in common, or as large a cosine.
LEAST_SHARED = 3
LEAST_COSINE = 0.7
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
        wording_of: called once for each note and again for those that are compared, to keep the
            words of a whole vault out of memory.
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


def _vectors(index: MemoryIndex, paths: Sequence[str]) -> tuple[list[int], Vectors]:
    """Positions of the notes that have a vector, and the vectors, one a row."""
    import numpy as np

    rows, vectors = [], []
    if index.vectors.encoder() is not None:
        for at, path in enumerate(paths):
            vector = index.vectors.of_note(path)
            if vector is not None:
                rows.append(at)
                vectors.append(vector)
    empty: Vectors = np.zeros((0, 1), dtype=np.float32)
    return rows, np.stack(vectors) if vectors else empty


def _near_in_meaning(rows: Sequence[int], vectors: Vectors) -> set[tuple[int, int]]:
    import numpy as np

    pairs: set[tuple[int, int]] = set()
    for start in range(0, len(rows), _ROWS_AT_ONCE):
        # Each pair once: a note is compared with itself and those after it.
        # One block at a time: the whole matrix of a large vault would not fit into memory.
        block = vectors[start : start + _ROWS_AT_ONCE] @ vectors[start:].T
        for row, column in zip(*np.nonzero(block >= LEAST_COSINE), strict=True):
            if column > row:
                pairs.add((rows[start + int(row)], rows[start + int(column)]))
    return pairs


def _sharing_words(wordings: Iterable[Wording]) -> set[tuple[int, int]]:
    """Pairs that have rare runs of words in common."""
    import numpy as np

    # A flat array needs far less memory than a set of runs for each note.
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
    few = [min(lengths[one], lengths[other], LEAST_SHARED) for one, other in counts]
    return {
        pair for (pair, count), least in zip(counts.items(), few, strict=True) if count >= least
    }
