"""Finds notes that hold the same text, to the letter or nearly, and says which one to keep."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from amem_cli.core.duplicates import (
    LEAST_WORDS,
    Wording,
    file_title,
    is_copy_name,
    is_template,
    note_names,
    tells_the_same,
    text_key,
    text_words,
    wording,
)
from amem_cli.core.errors import AmemError, Problem
from amem_cli.core.filenames import conflict_copy, without_conflict_mark
from amem_cli.core.index_records import NoteSummary
from amem_cli.core.merging import text_beyond, without_title
from amem_cli.core.note_file import parse_note
from amem_cli.services.near_pairs import near_pairs
from amem_cli.services.vault_ports import VaultPorts

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
