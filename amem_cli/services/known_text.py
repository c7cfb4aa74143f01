"""Tells whether the vault holds a text already, without looking at every note."""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from amem_cli.core.duplicates import (
    LEAST_WORDS,
    likeness,
    note_names,
    tells_the_same,
    text_key,
    text_words,
    wording,
)
from amem_cli.core.errors import AmemError
from amem_cli.core.filenames import title_of
from amem_cli.core.full_text import search_terms
from amem_cli.core.keyphrases import candidate_phrases
from amem_cli.core.merging import without_title
from amem_cli.core.note_file import parse_note
from amem_cli.services.dedupe import THRESHOLD, Duplicate

if TYPE_CHECKING:
    from amem_cli.core.index_records import NoteSummary
    from amem_cli.services.vault_ports import VaultPorts

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
