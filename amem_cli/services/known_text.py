"""Tells whether the vault holds a text already, without looking at every note."""

from __future__ import annotations

from collections.abc import Container, Iterator
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
    from amem_cli.core.index_port import NoteSummary
    from amem_cli.services.vault_ports import VaultPorts

_PHRASES = 12
_LOOKED_AT = 20


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
    few = len(text_words(without_title(given.body, (title,)))) < LEAST_WORDS
    found: list[NoteSummary] = []
    for path in _sharing_words(ports, given.body):
        summary = ports.index.summary(path)
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


def duplicates_of(ports: VaultPorts, path: str) -> list[Duplicate]:
    """Notes that hold the text of a note, or nearly, the likest first.

    Near ones are only found where the note has its vectors.
    """
    summary = ports.index.summary(path)
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
    vector = index.note_vector(summary.path)
    if vector is None:
        return
    mine = wording(summary.title, _text(ports, summary))
    nearest = index.vector_scores(vector, _LOOKED_AT)
    found = []
    for path in nearest:
        other, theirs = index.summary(path), index.note_vector(path)
        if path == summary.path or other is None or theirs is None:
            continue
        score = likeness(mine, wording(other.title, _text(ports, other)), float(vector @ theirs))
        if score >= THRESHOLD:
            found.append(Duplicate(other, "near", score))
    yield from sorted(found, key=lambda each: (-each.similarity, each.note.path))


def _text(ports: VaultPorts, summary: NoteSummary) -> str:
    whole = "\n\n".join(ports.index.passages(summary.path))
    return without_title(whole, note_names(summary))


def _sharing_words(ports: VaultPorts, text: str) -> list[str]:
    phrases = candidate_phrases(text, _PHRASES)
    terms = [term for phrase in phrases for term in search_terms(phrase)]
    terms = list(dict.fromkeys(terms or search_terms(text[:2000])))
    return list(ports.index.keyword_scores(terms, _LOOKED_AT))
