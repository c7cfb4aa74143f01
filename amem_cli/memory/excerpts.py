"""Which sentences of an older note a model is shown: those nearest in meaning to the new note."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from amem_cli.analyzer.link_evidence import LinkCandidate
from amem_cli.language.words import sentences
from amem_cli.markdown.plain_text import plain_text
from amem_cli.notes.note import Note

if TYPE_CHECKING:
    from amem_cli.models.ports import Vectors

# Of each note; more would cost more time than it gains.
_SENTENCES = 16
_SENTENCE_CHARACTERS = 300
_FEWEST_CHARACTERS = 24
# A text that is no longer is shown from its beginning; characters of an excerpt beside a context,
# and of one alone.
_SHORT = 110
_MOST = {True: 110, False: 240}
_GAP = " … "


def nearest_sentences(
    note: Note, candidates: Sequence[LinkCandidate], encode: Callable[[Sequence[str]], Vectors]
) -> dict[str, str]:
    """By path, of each candidate whose text is long the sentences nearest to any of the note's.

    They come in the order of the text, as many as have room; `…` stands for what is left out. The
    fact that joins two notes is often in the middle of a text.
    """
    own = _sentences(plain_text(note.body)) or [note.title]
    theirs = {each.path: _sentences(each.text) for each in candidates if len(each.text) > _SHORT}
    said = [sentence for told in theirs.values() for sentence in told]
    if not said:
        return {}
    vectors = encode([*own, *said])
    near = (vectors[len(own) :] @ vectors[: len(own)].T).max(axis=1)
    excerpts, at = {}, 0
    for each in candidates:
        told = theirs.get(each.path, [])
        if told:
            most = _MOST[bool(each.context)]
            excerpts[each.path] = _excerpt(told, near[at : at + len(told)].tolist(), most)
            at += len(told)
    return excerpts


def _sentences(text: str) -> list[str]:
    """The sentences of a text without rows of tables, and stubs that say nothing alone."""
    told = [each for each in sentences(text) if len(each) >= _FEWEST_CHARACTERS and each[0] != "|"]
    return [sentence[:_SENTENCE_CHARACTERS] for sentence in (told or sentences(text))[:_SENTENCES]]


def _excerpt(told: Sequence[str], near: Sequence[float], room: int) -> str:
    chosen: list[int] = []
    for at in sorted(range(len(told)), key=lambda at: -near[at]):
        if chosen and len(told[at]) > room:
            break
        chosen.append(at)
        room -= len(told[at]) + len(_GAP)
    chosen.sort()
    text = ""
    for before, at in zip([-1, *chosen], chosen, strict=False):
        text += (" " if at == before + 1 and text else _GAP if at > before + 1 else "") + told[at]
    return text.strip()
