"""Finds notes that hold the same text, to the letter or nearly, and says which one to keep.

Tells whether the vault holds a text already, without looking at every note.
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
    tells_the_same,
    text_key,
    text_words,
    wording,
)
from amem_cli.duplicates.merge_text import text_beyond, without_title
from amem_cli.errors import AmemError, Problem
from amem_cli.index.draft import VaultPorts
from amem_cli.index.full_text import search_terms
from amem_cli.index.records import NoteSummary
from amem_cli.notes.codec import parse_note
from amem_cli.notes.names import conflict_copy, title_of, without_conflict_mark

# docs/dedupe.md measures what other thresholds find.
THRESHOLD = 0.75

Kind = Literal["exact", "near"]


@dataclass(frozen=True, slots=True)
class Duplicate:
    """A note that says what another one says.

    Attributes:
        similarity: 1 for an exact duplicate, else as `likeness` gives it.
        beyond: what it has that the kept note lacks; empty where that has all of it.
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
        """`exact` where all are."""
        return "exact" if all(each.kind == "exact" for each in self.others) else "near"


@dataclass(frozen=True, slots=True)
class ConflictFile:
    """A file that a synchronising program made of a conflict; it is no note.

    Attributes:
        original: path of the note it is a copy of, or empty.
        same_text: whether that note has the same text.
    """

    path: str
    original: str = ""
    same_text: bool = False


@dataclass(frozen=True, slots=True)
class Duplicates:
    """What was found.

    Attributes:
        compared: how many notes were looked at.
        by_meaning: False where notes had no vectors, so that only words could be compared.
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
    """Look for notes that hold the same text.

    Args:
        threshold: of `likeness`, from which notes are near duplicates.
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
        wanted = set(among)
        groups = [group for group in groups if wanted & {*_paths(group)}]
    groups.sort(key=lambda group: (group.kind, -group.others[0].similarity, group.kept.path))
    conflicts = tuple(_conflicts(ports)) if not among else ()
    return Duplicates(tuple(groups), conflicts, ports.index.notes.count(), by_meaning)


def _paths(group: Group) -> Iterator[str]:
    yield group.kept.path
    yield from (each.note.path for each in group.others)


class _Finder:
    """Compares the notes of one vault."""

    def __init__(self, ports: VaultPorts) -> None:
        self._ports = ports
        self.notes = {summary.path: summary for summary in ports.index.notes.summaries()}
        self._texts: dict[str, str] = {}
        # What was made from a template and not filled in is no copy of another such note.
        templates = [path for path in self.notes if is_template(path)]
        empty = {_bare(self.text(path)) for path in templates}
        unfilled = [path for path in self.notes if empty and _bare(self.text(path)) in empty]
        for path in (*templates, *unfilled):
            self.notes.pop(path, None)

    def text(self, path: str) -> str:
        """The words of a note below a heading that only repeats its name."""
        if path not in self._texts:
            whole = "\n\n".join(self._ports.index.text.passages(path))
            self._texts[path] = without_title(whole, note_names(self.notes[path]))
        return self._texts[path]

    def wording(self, path: str) -> Wording:
        """What of a note is compared."""
        return wording(self.notes[path].title, self.text(path))

    def exact_pairs(self) -> list[tuple[str, str]]:
        """Pairs of the first note and each other one that has the same text."""
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
        few = len(text_words(self.text(paths[0]))) < LEAST_WORDS
        firsts: dict[str, list[str]] = {}
        for path in paths:
            key = self._key(path)
            if not key:
                continue
            for first in firsts.setdefault(key, []):
                if tells_the_same(self.notes[first].title, self.notes[path].title, few=few):
                    yield first, path
                    break
            else:
                firsts[key].append(path)

    def _key(self, path: str) -> str:
        try:
            content = self._ports.vault.read(path)
        except AmemError:
            return ""
        note = parse_note(path, content.raw, self._ports.names)
        return "" if content.cut else text_key(note.body, note_names(note))

    def groups(
        self, exact: Sequence[tuple[str, str]], near: dict[tuple[str, str], float]
    ) -> Iterator[Group]:
        """Notes around the one that is kept, each note once."""
        same: dict[str, list[str]] = {}
        for first, copy in exact:
            same.setdefault(first, [first]).append(copy)
        joined: dict[str, set[str]] = {}
        for one, other in near:
            joined.setdefault(one, set()).add(other)
            joined.setdefault(other, set()).add(one)
        open_ones = {*same, *joined}
        order = sorted(open_ones, key=self._rank)
        for first in order:
            if first not in open_ones:
                continue
            open_ones.discard(first)
            near_ones = sorted(joined.get(first, set()) & open_ones)
            open_ones.difference_update(near_ones)
            twins = sorted(same.get(first, [first]), key=self._rank)
            kept = twins[0]
            found = [Duplicate(self.notes[path], "exact", 1.0) for path in twins[1:]]
            for path in near_ones:
                score = near.get((first, path)) or near.get((path, first)) or 0.0
                for copy in same.get(path, [path]):
                    beyond = text_beyond(self.text(kept), self.text(copy))
                    found.append(Duplicate(self.notes[copy], "near", score, beyond))
            if found:
                found.sort(key=lambda each: (-each.similarity, each.note.path))
                yield Group(self.notes[kept], tuple(found))

    def _rank(self, path: str) -> tuple[object, ...]:
        """What is kept first: private, not named as a copy, most linked, oldest."""
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
        keys = [_key_of_file(ports, path, original) for path in (problem.path, original)]
        yield ConflictFile(problem.path, original, bool(keys[0]) and keys[0] == keys[1])


def _key_of_file(ports: VaultPorts, path: str, named: str) -> str:
    try:
        raw = ports.vault.read(path).raw
    except AmemError:
        return ""
    note = parse_note(named, raw, ports.names)
    return text_key(note.body, note_names(note))


_PHRASES = 12
_LOOKED_AT = 20
# Letters that tell whether it is worth reading two notes to compare them.
_BEGINNING = 200
# Enough to see whether a text has but a few words.
_FIRST_LETTERS = 4000
_FIRST_PASSAGES = 8
# Of notes that one template made and nobody filled in no more are compared with each text.
_MOST_ALIKE = 50


def known_text(
    ports: VaultPorts,
    content: str,
    *,
    title: str = "",
    besides: str = "",
    hidden: Container[str] = (),
) -> NoteSummary | None:
    """The oldest note that holds this very text, as far as a reader sees.

    Looks at the notes that share the text's words, so that it costs the same in a large vault.

    Args:
        content: the text; a header in front of it does not count.
        title: of the note that it would be; made from the text where missing.
        besides: path of a note that is left out.
        hidden: paths of notes that must not be told of.
    """
    given = parse_note("note.md", content.encode("utf-8", "replace"), ports.names)
    title = title or (given.title if given.title != "note" else title_of(given.body))
    key = text_key(given.body, (title, *given.aliases))
    if not key:
        return None
    few = _has_few_words(given.body, (title,))
    found: list[NoteSummary] = []
    for path in _sharing_words(ports, given.body):
        summary = ports.index.notes.summary(path)
        if path == besides or path in hidden or summary is None:
            continue
        try:
            other = ports.vault.read(path)
        except AmemError:
            continue
        note = parse_note(path, other.raw, ports.names)
        if other.cut or text_key(note.body, note_names(note)) != key:
            continue
        if tells_the_same(title, summary.title, few=few):
            found.append(summary)
    return min(found, key=lambda each: (each.created or each.modified, each.path), default=None)


@dataclass(frozen=True, slots=True)
class GivenText:
    """What of a text that may be known is compared; no text itself.

    Attributes:
        key: empty for no text.
        beginning: digest of its first letters.
        few: it has but a few words, which say little.
    """

    title: str
    key: str
    beginning: bytes
    few: bool


def given_text(body: str, title: str, aliases: Sequence[str] = ()) -> GivenText:
    """Read a text once, so that it need not be held.

    Args:
        body: without its header.
    """
    names = (title, *aliases)
    key = text_key(body, names)
    return GivenText(title, key, _beginning(body, names), _has_few_words(body, names))


class KnownTexts:
    """The texts of a vault, to compare many others with; every note is read once at most."""

    def __init__(self, ports: VaultPorts) -> None:
        self._ports = ports
        self._unread: dict[bytes, list[NoteSummary]] = {}
        self._read: dict[str, dict[str, str]] = {}
        for summary in sorted(
            ports.index.notes.summaries(),
            key=lambda each: (each.created or each.modified, each.path),
        ):
            text = "".join(ports.index.text.passages(summary.path)[:_FIRST_PASSAGES])
            beginning = _beginning(text, note_names(summary))
            self._unread.setdefault(beginning, []).append(summary)

    def path(self, given: GivenText) -> str:
        """The note that holds this very text: the oldest, or the first that was added; or empty."""
        if not given.key:
            return ""
        for summary in self._unread.pop(given.beginning, ()):
            key = self.key(summary)
            if key:
                self._read.setdefault(key, {}).setdefault(summary.title, summary.path)
        alike = self._read.get(given.key, {})
        for title, path in islice(alike.items(), _MOST_ALIKE):
            if tells_the_same(given.title, title, few=given.few):
                return path
        return alike.get(given.title, "")

    def add(self, given: GivenText, path: str) -> None:
        """Remember a text that is about to be in the vault; after it was looked for."""
        if given.key:
            self._read.setdefault(given.key, {}).setdefault(given.title, path)

    def key(self, summary: NoteSummary) -> str:
        """What `GivenText.key` is for a note of the vault; empty where it cannot be read."""
        try:
            content = self._ports.vault.read(summary.path)
        except AmemError:
            return ""
        note = parse_note(summary.path, content.raw, self._ports.names)
        return "" if content.cut else text_key(note.body, note_names(note))


def _has_few_words(body: str, names: Sequence[str]) -> bool:
    return len(text_words(without_title(body, names)[:_FIRST_LETTERS])) < LEAST_WORDS


def _beginning(text: str, names: Sequence[str]) -> bytes:
    text = unicodedata.normalize("NFC", text[: 4 * _FIRST_LETTERS])
    letters = "".join(without_title(text, names)[:_FIRST_LETTERS].split())[:_BEGINNING]
    return hashlib.sha256(letters.encode("utf-8", "replace")).digest()[:16]


def duplicates_of(ports: VaultPorts, path: str) -> list[Duplicate]:
    """Notes that hold the text of a note, or nearly, the likest first.

    Near ones are only found where the note has its vectors.
    """
    summary = ports.index.notes.summary(path)
    if summary is None:
        return []
    try:
        note = parse_note(path, ports.vault.read(path).raw, ports.names)
    except AmemError:
        return []
    same = known_text(ports, note.body, title=summary.title, besides=path)
    found = [Duplicate(same, "exact", 1.0)] if same is not None else []
    found += [each for each in _near(ports, summary) if same is None or each.note.path != same.path]
    return found


def _near(ports: VaultPorts, summary: NoteSummary) -> Iterator[Duplicate]:
    index = ports.index
    vector = index.vectors.of_note(summary.path)
    if vector is None:
        return
    mine = wording(summary.title, _text(ports, summary))
    nearest = index.vectors.scores(vector, _LOOKED_AT)
    found = []
    for path in nearest:
        other, theirs = index.notes.summary(path), index.vectors.of_note(path)
        if path == summary.path or other is None or theirs is None:
            continue
        score = likeness(mine, wording(other.title, _text(ports, other)), float(vector @ theirs))
        if score >= THRESHOLD:
            found.append(Duplicate(other, "near", score))
    yield from sorted(found, key=lambda each: (-each.similarity, each.note.path))


def _text(ports: VaultPorts, summary: NoteSummary) -> str:
    whole = "\n\n".join(ports.index.text.passages(summary.path))
    return without_title(whole, note_names(summary))


def _sharing_words(ports: VaultPorts, text: str) -> list[str]:
    phrases = candidate_phrases(text, _PHRASES)
    terms = [term for phrase in phrases for term in search_terms(phrase)]
    terms = list(dict.fromkeys(terms or search_terms(text[:2000])))
    return list(ports.index.text.keyword_scores(terms, _LOOKED_AT))
