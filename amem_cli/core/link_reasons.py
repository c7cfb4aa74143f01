"""Why a link is made, said in one sentence in the note's own language."""

from __future__ import annotations

from collections.abc import Sequence

from amem_cli.core.link_evidence import Evidence, LinkCandidate, SharedTerm
from amem_cli.core.note import Note, Relation
from amem_cli.core.words import UNSPACED_RUN, detect_language, fold, is_unspaced
from amem_cli.data import table

_TERMS_IN_REASON = 3
_TEXT_IN_REASON = 8_000


def phrases_in(language: str) -> dict[str, str]:
    """Sentences about links by their purpose; in English for a language without any."""
    by_language: dict[str, dict[str, str]] = table("link_phrases.toml")
    return by_language.get(language, by_language["en"])


def link_reason(
    note: Note, candidate: LinkCandidate, evidence: Evidence, relation: Relation
) -> str:
    """One sentence, in the note's language, that says what speaks for the link."""
    phrases = phrases_in(detect_language(note.body))
    title = _quotable(candidate.title)
    if relation == "supersedes":
        return phrases["supersedes"].format(title)
    if relation == "contradicts":
        return phrases["contradicts"].format(title)
    if evidence.mention == "full":
        return phrases["mentions"].format(title)
    terms = _telling_terms(evidence.shared, fold(note.body), fold(candidate.text))
    if terms:
        return phrases["both_speak"].format(_enumerated(terms, phrases))
    shared_tags = [f"#{tag}" for tag in note.tags if tag in candidate.tags][:2]
    if shared_tags:
        return phrases["tagged"].format(_enumerated(shared_tags, phrases))
    return phrases["close"].format(title)


def _quotable(title: str) -> str:
    return " ".join(title.replace("[[", "").replace("]]", "").split())[:80]


def _enumerated(items: Sequence[str], phrases: dict[str, str]) -> str:
    first = phrases["comma"].join(items[:-1])
    return phrases["conjunction"].join(filter(None, (first, items[-1])))


def _telling_terms(shared: Sequence[SharedTerm], own: str, other: str) -> list[str]:
    telling = [entry.term for entry in shared if entry.term.kind != "everyday"]
    pairs = {term.word for term in telling if is_unspaced(term.word)}
    if not pairs:
        return [term.written for term in telling[:_TERMS_IN_REASON]]
    spaced = [term.written for term in telling if term.word not in pairs]
    pieces = sorted(_shared_pieces(pairs, own[:_TEXT_IN_REASON]), key=lambda piece: -len(piece))
    common = [piece for piece in pieces if piece in other]
    return (spaced + common)[:_TERMS_IN_REASON]


def _shared_pieces(pairs: set[str], text: str) -> list[str]:
    """The longest pieces of the text whose every pair of characters is shared."""
    pieces: dict[str, None] = {}
    for run in UNSPACED_RUN.findall(text):
        start = 0
        for end in range(1, len(run) + 1):
            if run[end - 1 : end + 1] not in pairs:
                if end - start > 1:
                    pieces[run[start:end]] = None
                start = end
    return list(pieces)
