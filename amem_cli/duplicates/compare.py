"""Decides whether notes hold the same text, and finds those that hold a given one.

Reads only notes that can be the ones: nothing here goes through every text of a vault.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Callable, Collection, Container, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Literal

from amem_cli.analyzer.keywords import candidate_phrases
from amem_cli.errors import AmemError
from amem_cli.index.memory_index import VaultPorts
from amem_cli.index.records import NoteSummary
from amem_cli.index.text import search_terms
from amem_cli.language.words import TOKEN, cjk_bigrams, fold, is_unspaced, plain_word
from amem_cli.notes.names import title_of
from amem_cli.notes.note import Note, file_title, parse_note
from amem_cli.notes.passages import split_passages

# docs/dedupe.md measures what other thresholds find.
THRESHOLD = 0.75
# Notes with fewer words are duplicates only if their names match.
LEAST_WORDS = 8
_SHINGLE = 4
# A shorter note is a quotation in the longer one, not a copy of it.
_LEAST_LENGTH_RATIO = 1 / 3
_STAMP = re.compile(r"(?<!\d)(?:19|20)\d{10}(?:\d\d)?(?!\d)")
_COPY = re.compile(
    r"(?: ?\((?:\d{1,3}|copy|kopie)\)| - (?:copy|kopie)| copy(?: \d{1,3})?| kopie(?: \d{1,3})?"
    r"| \d{1,3})\Z"
)
_NUMBER = re.compile(r"\d+")
_TEMPLATE = re.compile(r"\b(?:templates?|vorlagen?)\b")
_OPENING_TITLE = re.compile(r" {0,3}#(?:[ \t]|\Z)")
_UNDERLINE = re.compile(r" {0,3}=+[ \t\r]*")
_MONTH_OR_DAY = re.compile(
    r"\b(?:jan|feb|m[aä]r|apr|ma[iy]|jun|jul|aug|sep|o[ck]t|nov|de[cz]|mon|tue|wed|thu|fri|sat|sun"
    r"|montag|dienstag|mittwoch|donnerstag|freitag|samstag|sonntag)\w*"
)


def note_names(note: Note | NoteSummary) -> tuple[str, ...]:
    return (note.title, file_title(note.path), *note.aliases)


def text_key(text: str, names: Iterable[str] = ()) -> str:
    """A hash that is equal for texts in which a reader sees no difference; empty for no text.

    Ignores line endings, blanks at the ends of lines, the number of blank lines, the form of
    accents (NFC), and a heading of level 1 at the top that repeats one of the note's names. Case,
    punctuation, markup and indentation count.
    """
    text = unicodedata.normalize("NFC", text.replace("\r\n", "\n").replace("\r", "\n"))
    lines = without_title(text.removeprefix("\ufeff"), tuple(names)).split("\n")
    bare = "\n".join(kept for line in lines if (kept := line.rstrip())).strip()
    return hashlib.sha256(bare.encode("utf-8", "replace")).hexdigest() if bare else ""


def body_key(body: str, names: Iterable[str] = ()) -> str:
    """The `text_key` of a text that is not in the index."""
    return text_key("\n\n".join(split_passages(body)), names)


def without_title(text: str, titles: Collection[str]) -> str:
    """A text without an opening heading of level 1 that only repeats the note's name."""
    line, _, rest = text.lstrip("\ufeff \t\r\n").partition("\n")
    name = _folded(line.strip().strip("#"))
    if not _OPENING_TITLE.match(line):
        underline, _, rest = rest.partition("\n")
        if not _UNDERLINE.fullmatch(underline):
            return text
    return rest if name in map(_folded, titles) else text


def _folded(text: str) -> str:
    return " ".join(unicodedata.normalize("NFC", text).casefold().split())


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
    one_has, other_has = (
        [text.lstrip("0") for text in _NUMBER.findall(title)] + _MONTH_OR_DAY.findall(title)
        for title in (first, second)
    )
    return bool(one_has and other_has) and one_has != other_has


def same_note_titles(one: str, other: str, *, few: bool) -> bool:
    """Whether the titles allow two notes with the same text to be duplicates.

    Daily notes made from one template have the same text too, and a `few` words say little.
    """
    return not same_series(one, other) and (not few or same_name(one, other))


def is_template(path: str) -> bool:
    """Whether a note is a template, by its folder or its name."""
    return _TEMPLATE.search(path.casefold().replace("_", " ")) is not None


@lru_cache(maxsize=4096)
def _plain_title(title: str) -> str:
    return _folded(_STAMP.sub(" ", title)).strip(" -_.")


def _without_copy(title: str) -> str:
    return _COPY.sub("", _plain_title(title))


@dataclass(frozen=True, slots=True)
class Wording:
    """A note's words as they are compared: `shingles` are hashes of runs of four words."""

    title: str
    count: int
    words: frozenset[str]
    shingles: frozenset[int]
    numbers: frozenset[str]


def wording(title: str, text: str) -> Wording:
    listed = text_words(text)
    size = min(_SHINGLE, max(len(listed), 1))
    runs = {hash(tuple(listed[at : at + size])) for at in range(len(listed) - size + 1)}
    numbers = frozenset(word for word in listed if _NUMBER.search(word))
    return Wording(title, len(listed), frozenset(listed), frozenset(runs), numbers)


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
    too_short = shortest < LEAST_WORDS and not same_name(one.title, other.title)
    if not shortest or too_short or same_series(one.title, other.title):
        return 0.0
    length_ratio = shortest / max(one.count, other.count)
    if length_ratio < _LEAST_LENGTH_RATIO or _differ_in_numbers(one, other):
        return 0.0
    runs = _share(one.shingles, other.shingles)
    words = length_ratio * _share(one.words, other.words) + (1 - length_ratio) * runs
    if cosine is None:
        common = len(one.shingles & other.shingles)
        cosine = 2 * common / (len(one.shingles) + len(other.shingles))
    return (words + max(cosine, 0.0)) / 2


def _differ_in_numbers(one: Wording, other: Wording) -> bool:
    """Whether each note has numbers that the other lacks, and they share few."""
    lacking = min(len(one.numbers - other.numbers), len(other.numbers - one.numbers))
    return bool(lacking) and lacking * 4 > len(one.numbers & other.numbers)


def _share(one: Collection[object], other: Collection[object]) -> float:
    fewer, more = (one, other) if len(one) <= len(other) else (other, one)
    return sum(each in more for each in fewer) / max(len(fewer), 1)


Kind = Literal["exact", "near"]


@dataclass(frozen=True, slots=True)
class Duplicate:
    """A note that says what another one says, and `beyond`: what the kept note lacks of it."""

    note: NoteSummary
    kind: Kind
    similarity: float
    beyond: str = ""


_PHRASES = 12
_CANDIDATES = 20
# Enough to see whether a text has few words.
_FIRST_LETTERS = 4000
# Of unfilled notes from one template no more are compared with each text.
_MOST_ALIKE = 50


def key_of_note(ports: VaultPorts, note: NoteSummary) -> str:
    return text_key(words_of_note(ports, note))


def has_few_words(text: str) -> bool:
    return len(text_words(text[:_FIRST_LETTERS])) < LEAST_WORDS


def note_with_text(
    ports: VaultPorts,
    content: str,
    *,
    title: str = "",
    besides: str = "",
    hidden: Container[str] = (),
) -> NoteSummary | None:
    """The oldest note with the same text, as far as a reader sees.

    Args:
        content: the text; a header in front of it does not count.
        title: of the note that it would be; made from the text if missing.
        besides: path of a note to leave out.
        hidden: paths of notes that the caller must not see.
    """
    given = parse_note("note.md", content.encode("utf-8", "replace"), ports.names)
    title = title or (given.title if given.title != "note" else title_of(given.body))
    names = (title, *given.aliases)
    key, few = body_key(given.body, names), has_few_words(without_title(given.body, names))
    if not key:
        return None
    # Rare phrases find the note; common words would find half the vault.
    phrases = candidate_phrases(given.body, _PHRASES)
    terms = [term for phrase in phrases for term in search_terms(phrase)]
    terms = list(dict.fromkeys(terms or search_terms(given.body[:2000])))
    paths = ports.index.text.keyword_scores(terms, _CANDIDATES)
    found = (ports.index.notes.summary(path) for path in paths)
    same = [
        note
        for note in found
        if note is not None and note.path != besides and note.path not in hidden
        if same_note_titles(title, note.title, few=few) and key_of_note(ports, note) == key
    ]
    return min(same, key=_age, default=None)


def _age(note: NoteSummary) -> tuple[str, str]:
    return note.made, note.path


class KnownTexts:
    """Texts by their keys, for comparing many others: those of a vault, or none at first."""

    def __init__(self, ports: VaultPorts | None = None) -> None:
        self._paths: dict[str, dict[str, str]] = {}
        if ports is not None:
            for note in sorted(ports.index.notes.summaries(), key=_age):
                self.add(key_of_note(ports, note), note.title, note.path)

    def path(self, key: str, title: str, *, few: Callable[[], bool]) -> str:
        """The first note with this text that was added; empty if there is none.

        Args:
            few: whether the text has few words.
        """
        same = self._paths.get(key, {})
        is_short = bool(same) and few()
        for other, path in islice(same.items(), _MOST_ALIKE):
            if same_note_titles(title, other, few=is_short):
                return path
        return same.get(title, "")

    def add(self, key: str, title: str, path: str) -> None:
        """Remember a text, after looking for it."""
        if key:
            self._paths.setdefault(key, {}).setdefault(title, path)


def duplicates_of(ports: VaultPorts, path: str) -> list[Duplicate]:
    """Notes that hold the text of a note, exactly or nearly, the most alike first.

    Near ones are only found if the note has its vectors.
    """
    summary = ports.index.notes.summary(path)
    try:
        body = parse_note(path, ports.vault.read(path).raw, ports.names).body
    except AmemError:
        return []
    if summary is None:
        return []
    same = note_with_text(ports, body, title=summary.title, besides=path)
    near: list[Duplicate] = []
    vectors = ports.index.vectors
    vector = vectors.of_note(path)
    if vector is not None:
        alike = vectors.scores(vector, _CANDIDATES)
        notes, means = ports.index.notes.of_paths(alike), vectors.of_notes(list(alike))
        texts = ports.index.text.passages_of(alike)
        mine = wording(summary.title, _words(summary, texts.get(path, [])))
        for candidate in alike:
            other, theirs = notes.get(candidate), means.get(candidate)
            if other is None or theirs is None or candidate == path or other == same:
                continue
            text = _words(other, texts.get(candidate, []))
            score = likeness(mine, wording(other.title, text), float(vector @ theirs))
            if score >= THRESHOLD:
                near.append(Duplicate(other, "near", score))
    near.sort(key=lambda each: (-each.similarity, each.note.path))
    return [*([Duplicate(same, "exact", 1.0)] if same is not None else ()), *near]


def words_of_note(ports: VaultPorts, summary: NoteSummary) -> str:
    """The words of a note below a heading that only repeats its name."""
    return _words(summary, ports.index.text.passages(summary.path))


def _words(summary: NoteSummary, passages: Sequence[str]) -> str:
    return without_title("\n\n".join(passages), note_names(summary))
