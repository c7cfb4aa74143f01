"""Tells whether two notes hold the same text, to the letter or nearly.

Finds pairs of notes that may say the same, without comparing every note with every other.
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

# Fewer words than these say too little for two notes with different names to be one.
LEAST_WORDS = 8
_SHINGLE = 4
# A note that is shorter still is quoted in the other rather than a copy of it.
_LEAST_EVENNESS = 1 / 3
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


def day_of(created: str) -> str:
    """The date of a `created` value, or empty."""
    return created[:10] if re.match(r"\d{4}-\d\d-\d\d", created) else ""


def text_key(body: str, names: Iterable[str]) -> str:
    """A hash that is the same for texts of which a reader sees no difference; empty for no text.

    Not counted are line endings, blanks at the ends of lines, how many blank lines there are, the
    form of accents (NFC), and a heading of level 1 at the top that repeats the note's name. Case,
    punctuation and markup count.
    """
    text = unicodedata.normalize("NFC", body.removeprefix("\ufeff"))
    text = without_title(text.replace("\r\n", "\n").replace("\r", "\n"), tuple(names))
    lines = "\n".join(line.rstrip() for line in text.split("\n"))
    bare = _BLANK_LINES.sub("\n", lines).strip("\n")
    return hashlib.sha256(bare.encode("utf-8", "replace")).hexdigest() if bare.strip() else ""


def text_words(text: str) -> list[str]:
    """The folded words of a text; of Chinese, Japanese and Korean each pair of characters."""
    found: list[str] = []
    for token in TOKEN.findall(fold(text)):
        if is_unspaced(token):
            found += cjk_bigrams(token)
        else:
            found.append(plain_word(token))
    return found


def same_name(one: str, other: str) -> bool:
    """Whether two titles are one but for the mark of a copy: `Name`, `Name 2`, `Name (1)`."""
    return _without_copy(one) == _without_copy(other)


def is_copy_name(title: str) -> bool:
    """Whether a title ends as those of copies do; `Chapter 2` does so too."""
    return _COPY.search(_plain_title(title)) is not None


def same_series(one: str, other: str) -> bool:
    """Whether two titles differ in numbers or dates, as daily notes, minutes and invoices do.

    A time stamp before or after a title, as a Zettelkasten has, is not one of these numbers.
    """
    first, second = _plain_title(one), _plain_title(other)
    if first == second or _without_copy(first) == second or first == _without_copy(second):
        return False
    numbers = [_marks(title) for title in (first, second)]
    return bool(numbers[0] and numbers[1]) and numbers[0] != numbers[1]


def tells_the_same(one: str, other: str, *, few: bool) -> bool:
    """Whether notes of one text are duplicates by their titles.

    Daily notes from one template have one text as well, and a few words say little.
    """
    return not same_series(one, other) and (not few or same_name(one, other))


def is_template(path: str) -> bool:
    """Whether a note is one to make others from: its folder or its name says so."""
    return _TEMPLATE.search(path.casefold().replace("_", " ")) is not None


def _marks(title: str) -> list[str]:
    return [mark.lstrip("0") for mark in _NUMBER.findall(title)] + _MONTH_OR_DAY.findall(title)


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
        words: each word once.
        shingles: hashes of runs of four words.
        numbers: the words with digits.
    """

    title: str
    count: int
    words: frozenset[str]
    shingles: frozenset[int]
    numbers: frozenset[str]


def wording(title: str, text: str) -> Wording:
    """Read the words of a note."""
    found = text_words(text)
    size = min(_SHINGLE, max(len(found), 1))
    runs = {hash(tuple(found[at : at + size])) for at in range(len(found) - size + 1)}
    words = frozenset(found)
    numbers = frozenset(word for word in words if _DIGIT.search(word))
    return Wording(title, len(found), words, frozenset(runs), numbers)


def likeness(one: Wording, other: Wording, cosine: float | None) -> float:
    """How surely two notes hold the same text, 0 to 1.

    The mean of two shares: of the words of the shorter one, how many the other has; and how near
    the meanings are. The more the notes differ in length, the more it is runs of words that count,
    for a long text has most words of any short one.

    Where both have numbers of their own, or the titles are those of a series, the notes are told
    apart by these, and the result is 0; and so it is for a few words under different names, and for
    a note that is quoted in one three times as long.

    Args:
        cosine: of the notes' vectors; None where one has none, then the runs of words that both
            have count instead.
    """
    shortest = min(one.count, other.count)
    named_alike = same_name(one.title, other.title)
    if not shortest or (shortest < LEAST_WORDS and not named_alike):
        return 0.0
    if same_series(one.title, other.title) or differ_in_numbers(one, other):
        return 0.0
    evenness = shortest / max(one.count, other.count)
    if evenness < _LEAST_EVENNESS:
        return 0.0
    runs = _share(one.shingles, other.shingles)
    words = evenness * _share(one.words, other.words) + (1 - evenness) * runs
    if cosine is None:
        common = len(one.shingles & other.shingles)
        cosine = 2 * common / (len(one.shingles) + len(other.shingles))
    return (words + max(cosine, 0.0)) / 2


def differ_in_numbers(one: Wording, other: Wording) -> bool:
    """Whether each note has numbers that the other has not, and they share few."""
    mine, theirs = one.numbers - other.numbers, other.numbers - one.numbers
    shared = len(one.numbers & other.numbers)
    return bool(mine and theirs) and min(len(mine), len(theirs)) * 4 > shared


def _share(one: Collection[object], other: Collection[object]) -> float:
    fewer, more = (one, other) if len(one) <= len(other) else (other, one)
    return sum(each in more for each in fewer) / max(len(fewer), 1)


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
