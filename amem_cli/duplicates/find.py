"""Finds notes that hold the same text, exactly or nearly, and says which one to keep.

Also finds the note that already holds a given text, without reading every note.
"""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Collection, Container, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Literal

from amem_cli.analyzer.keywords import candidate_phrases
from amem_cli.duplicates.compare import (
    LEAST_WORDS,
    Wording,
    file_title,
    is_copy_name,
    is_template,
    likeness,
    near_pairs,
    note_names,
    same_note_titles,
    text_key,
    text_words,
    wording,
)
from amem_cli.duplicates.merge_text import text_beyond, without_title
from amem_cli.errors import AmemError, Problem
from amem_cli.index.memory_index import VaultPorts
from amem_cli.index.records import NoteSummary
from amem_cli.index.text import search_terms
from amem_cli.notes.codec import parse_note
from amem_cli.notes.names import conflict_copy, title_of, without_conflict_mark

# docs/dedupe.md measures what other thresholds find.
THRESHOLD = 0.75

Kind = Literal["exact", "near"]


@dataclass(frozen=True, slots=True)
class Duplicate:
    """A note that says what another one says.

    Attributes:
        similarity: 1 for an exact duplicate, otherwise its `likeness`.
        beyond: what the kept note lacks, or empty.
    """

    note: NoteSummary
    kind: Kind
    similarity: float
    beyond: str = ""


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
class ConflictFile:
    """A conflict copy of a sync program; it is not a note.

    Attributes:
        original: path of the note it is a copy of, or empty.
        same_text: whether that note has the same text.
    """

    path: str
    original: str = ""
    same_text: bool = False


@dataclass(frozen=True, slots=True)
class Duplicates:
    """The duplicates of a vault.

    Attributes:
        compared: how many notes.
        by_meaning: False if notes had no vectors, so only words were compared.
    """

    groups: tuple[Group, ...]
    conflicts: tuple[ConflictFile, ...]
    compared: int
    by_meaning: bool


def find_duplicates(
    ports: VaultPorts,
    *,
    threshold: float = THRESHOLD,
    exact_only: bool = False,
    among: Collection[str] = (),
) -> Duplicates:
    """Find notes that hold the same text.

    Args:
        threshold: the least `likeness` of near duplicates.
        among: only groups with one of the notes at these paths.
    """
    finder = _Finder(ports)
    exact = finder.exact_pairs()
    near: dict[tuple[str, str], float] = {}
    by_meaning = ports.index.vectors.encoder() is not None
    if not exact_only:
        stands_for = {copy: first for first, copy in exact}
        single = [path for path in finder.notes if path not in stands_for]
        near = dict(near_pairs(ports.index, single, finder.wording, threshold))
    groups = list(finder.groups(exact, near))
    if among:
        groups = [
            group
            for group in groups
            if group.kept.path in among or any(each.note.path in among for each in group.others)
        ]
    groups.sort(key=lambda group: (group.kind, -group.others[0].similarity, group.kept.path))
    conflicts = tuple(_conflicts(ports)) if not among else ()
    return Duplicates(tuple(groups), conflicts, ports.index.notes.count(), by_meaning)


class _Finder:
    """Compares the notes of one vault."""

    def __init__(self, ports: VaultPorts) -> None:
        self._ports = ports
        self.notes = {summary.path: summary for summary in ports.index.notes.summaries()}
        self._texts: dict[str, str] = {}
        # Notes made from a template and not filled in are not copies of each other.
        templates = [path for path in self.notes if is_template(path)]
        empty = {_bare(self.text(path)) for path in templates}
        unfilled = [path for path in self.notes if empty and _bare(self.text(path)) in empty]
        for path in (*templates, *unfilled):
            self.notes.pop(path, None)

    def text(self, path: str) -> str:
        """The words of a note below a heading that only repeats its name."""
        if path not in self._texts:
            self._texts[path] = _text(self._ports, self.notes[path])
        return self._texts[path]

    def wording(self, path: str) -> Wording:
        """The words of a note to compare."""
        return wording(self.notes[path].title, self.text(path))

    def exact_pairs(self) -> list[tuple[str, str]]:
        """Pairs of the first note with a text and each other one that has it."""
        alike: dict[str, list[str]] = {}
        for path in self.notes:
            bare = _bare(self.text(path))
            if bare:
                alike.setdefault(bare, []).append(path)
        pairs: list[tuple[str, str]] = []
        for paths in alike.values():
            if len(paths) > 1:
                pairs += self._really_same(paths)
        return pairs

    def _really_same(self, paths: Sequence[str]) -> Iterator[tuple[str, str]]:
        firsts: list[tuple[str, TextDigest]] = []
        for path in paths:
            digest = note_digest(self._ports, path)
            if digest is None:
                continue
            # Notes of one text may still differ by title, such as daily notes.
            for first, other in firsts:
                if digest.same_as(other):
                    yield first, path
                    break
            else:
                firsts.append((path, digest))

    def groups(
        self, exact: Sequence[tuple[str, str]], near: dict[tuple[str, str], float]
    ) -> Iterator[Group]:
        """Each note once, in a group around the one that is kept."""
        same: dict[str, list[str]] = {}
        for first, copy in exact:
            same.setdefault(first, [first]).append(copy)
        joined: dict[str, set[str]] = {}
        for one, other in near:
            joined.setdefault(one, set()).add(other)
            joined.setdefault(other, set()).add(one)
        open_ones = {*same, *joined}
        # Best first: each note joins the group of the best note that it resembles.
        order = sorted(open_ones, key=self._rank)
        for first in order:
            if first not in open_ones:
                continue
            open_ones.discard(first)
            near_ones = sorted(joined.get(first, set()) & open_ones)
            open_ones.difference_update(near_ones)
            twins = sorted(same.get(first, [first]), key=self._rank)
            kept = twins[0]
            others = [Duplicate(self.notes[path], "exact", 1.0) for path in twins[1:]]
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
        return (not note.private, is_copy, -linked, note.created or note.modified, len(path), path)


def _bare(text: str) -> str:
    return "".join(text.split())


def _conflicts(ports: VaultPorts) -> Iterator[ConflictFile]:
    problems: list[Problem] = []
    for _ in ports.vault.scan(problems):
        pass
    for problem in problems:
        folder, slash, name = problem.path.rpartition("/")
        if not (conflict_copy(name) and name.lower().endswith(".md")):
            continue
        original = f"{folder}{slash}{without_conflict_mark(name)}"
        if not ports.vault.exists(original):
            yield ConflictFile(problem.path)
            continue
        copy = note_digest(ports, problem.path, named=original)
        note = note_digest(ports, original)
        same_text = copy is not None and note is not None and copy.key == note.key
        yield ConflictFile(problem.path, original, same_text)


_PHRASES = 12
_CANDIDATES = 20
# Enough letters to see whether two notes are worth reading to compare them.
_BEGINNING = 200
# Enough to see whether a text has few words.
_FIRST_LETTERS = 4000
_FIRST_PASSAGES = 8
# Of unfilled notes from one template no more are compared with each text.
_MOST_ALIKE = 50


@dataclass(frozen=True, slots=True)
class TextDigest:
    """What decides whether two notes hold the same text, without the text itself.

    Attributes:
        key: see `text_key`.
        beginning: digest of its first letters.
        few: it has fewer than `LEAST_WORDS` words.
    """

    title: str
    key: str
    beginning: bytes
    few: bool

    def same_as(self, other: TextDigest) -> bool:
        """Whether this is the text of another note and the titles allow both to be one note."""
        same_text = bool(self.key) and self.key == other.key
        return same_text and same_note_titles(self.title, other.title, few=self.few)


def text_digest(body: str, title: str, names: Sequence[str]) -> TextDigest:
    """The digest of a text without its header; a heading with one of the names is ignored."""
    few = len(text_words(without_title(body, names)[:_FIRST_LETTERS])) < LEAST_WORDS
    return TextDigest(title, text_key(body, names), _beginning(body, names), few)


def note_digest(ports: VaultPorts, path: str, *, named: str = "") -> TextDigest | None:
    """The digest of a note of the vault; None if it has no text or cannot be read as a whole.

    Args:
        named: path whose names it has instead of its own.
    """
    try:
        content = ports.vault.read(path)
    except AmemError:
        return None
    note = parse_note(named or path, content.raw, ports.names)
    digest = text_digest(note.body, note.title, note_names(note))
    return digest if digest.key and not content.cut else None


def note_with_text(
    ports: VaultPorts,
    content: str,
    *,
    title: str = "",
    besides: str = "",
    hidden: Container[str] = (),
) -> NoteSummary | None:
    """The oldest note with the same text, as far as a reader sees.

    Reads only notes that share the text's words, so it costs the same in a large vault.

    Args:
        content: the text; a header in front of it does not count.
        title: of the note that it would be; made from the text if missing.
        besides: path of a note to leave out.
        hidden: paths of notes that the caller must not see.
    """
    given = parse_note("note.md", content.encode("utf-8", "replace"), ports.names)
    title = title or (given.title if given.title != "note" else title_of(given.body))
    digest = text_digest(given.body, title, (title, *given.aliases))
    if not digest.key:
        return None
    same: list[NoteSummary] = []
    for path in _sharing_words(ports, given.body):
        summary = ports.index.notes.summary(path)
        if path == besides or path in hidden or summary is None:
            continue
        other = note_digest(ports, path)
        if other is not None and digest.same_as(other):
            same.append(summary)
    return min(same, key=_age, default=None)


def _age(note: NoteSummary) -> tuple[str, str]:
    return note.created or note.modified, note.path


class KnownTexts:
    """The texts of a vault, for comparing many others; every note is read at most once."""

    def __init__(self, ports: VaultPorts) -> None:
        self._ports = ports
        self._unread: dict[bytes, list[NoteSummary]] = {}
        self._paths: dict[str, dict[str, str]] = {}
        for summary in sorted(ports.index.notes.summaries(), key=_age):
            text = "".join(ports.index.text.passages(summary.path)[:_FIRST_PASSAGES])
            beginning = _beginning(text, note_names(summary))
            self._unread.setdefault(beginning, []).append(summary)

    def path(self, digest: TextDigest) -> str:
        """The note with this text: the oldest, or the first that was added; or empty."""
        if not digest.key:
            return ""
        for summary in self._unread.pop(digest.beginning, ()):
            key = self.key(summary)
            if key:
                self._paths.setdefault(key, {}).setdefault(summary.title, summary.path)
        same = self._paths.get(digest.key, {})
        for title, path in islice(same.items(), _MOST_ALIKE):
            if same_note_titles(digest.title, title, few=digest.few):
                return path
        return same.get(digest.title, "")

    def add(self, digest: TextDigest, path: str) -> None:
        """Remember a text that is about to be in the vault, after looking for it."""
        if digest.key:
            self._paths.setdefault(digest.key, {}).setdefault(digest.title, path)

    def key(self, summary: NoteSummary) -> str:
        """`TextDigest.key` of a note of the vault, or empty."""
        digest = note_digest(self._ports, summary.path)
        return digest.key if digest else ""


def _beginning(text: str, names: Sequence[str]) -> bytes:
    text = unicodedata.normalize("NFC", text[: 4 * _FIRST_LETTERS])
    letters = "".join(without_title(text, names)[:_FIRST_LETTERS].split())[:_BEGINNING]
    return hashlib.sha256(letters.encode("utf-8", "replace")).digest()[:16]


def duplicates_of(ports: VaultPorts, path: str) -> list[Duplicate]:
    """Notes that hold the text of a note, exactly or nearly, the most alike first.

    Near ones are only found if the note has its vectors.
    """
    summary = ports.index.notes.summary(path)
    if summary is None:
        return []
    try:
        note = parse_note(path, ports.vault.read(path).raw, ports.names)
    except AmemError:
        return []
    same = note_with_text(ports, note.body, title=summary.title, besides=path)
    duplicates = [Duplicate(same, "exact", 1.0)] if same is not None else []
    index = ports.index
    vector = index.vectors.of_note(path)
    if vector is None:
        return duplicates
    mine = wording(summary.title, _text(ports, summary))
    near: list[Duplicate] = []
    for candidate in index.vectors.scores(vector, _CANDIDATES):
        other, theirs = index.notes.summary(candidate), index.vectors.of_note(candidate)
        if other is None or theirs is None or candidate == path or other == same:
            continue
        score = likeness(mine, wording(other.title, _text(ports, other)), float(vector @ theirs))
        if score >= THRESHOLD:
            near.append(Duplicate(other, "near", score))
    near.sort(key=lambda each: (-each.similarity, each.note.path))
    return duplicates + near


def _text(ports: VaultPorts, summary: NoteSummary) -> str:
    """The words of a note below a heading that only repeats its name."""
    whole = "\n\n".join(ports.index.text.passages(summary.path))
    return without_title(whole, note_names(summary))


def _sharing_words(ports: VaultPorts, text: str) -> list[str]:
    # Rare phrases find the note; common words would find half the vault.
    phrases = candidate_phrases(text, _PHRASES)
    terms = [term for phrase in phrases for term in search_terms(phrase)]
    terms = list(dict.fromkeys(terms or search_terms(text[:2000])))
    return list(ports.index.text.keyword_scores(terms, _CANDIDATES))
