"""Why a link is made, said in one sentence in the note's own language."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from amem_cli.core.link_evidence import Evidence, LinkCandidate, SharedTerm
from amem_cli.core.note import Note, Relation
from amem_cli.core.words import UNSPACED_RUN, detect_language, fold, is_unspaced

_TERMS_IN_REASON = 3
_TEXT_IN_REASON = 8_000


@dataclass(frozen=True, slots=True)
class _Phrases:
    both_speak: str
    mentions: str
    tagged: str
    close: str
    supersedes: str
    contradicts: str
    comma: str
    conjunction: str


_PHRASES = {
    "en": _Phrases(
        "Both speak of {}.",
        "Mentions “{}”.",
        "Both are tagged {}.",
        "Close in meaning to “{}”.",
        "Says that it replaces “{}”.",
        "Says that it contradicts “{}”.",
        ", ",
        " and ",
    ),
    "de": _Phrases(
        "In beiden geht es um: {}.",
        "Nennt „{}“.",
        "Beide tragen den Tag {}.",
        "Inhaltlich nah an „{}“.",
        "Löst „{}“ ab.",
        "Widerspricht „{}“.",
        ", ",
        " und ",
    ),
    "fr": _Phrases(
        "Les deux parlent de {}.",
        "Mentionne « {} ».",
        "Les deux portent l’étiquette {}.",
        "Proche par le sens de « {} ».",
        "Dit remplacer « {} ».",
        "Dit contredire « {} ».",
        ", ",
        " et ",
    ),
    "es": _Phrases(
        "Ambas hablan de {}.",
        "Menciona «{}».",
        "Ambas llevan la etiqueta {}.",
        "De sentido cercano a «{}».",
        "Dice que sustituye «{}».",
        "Dice que contradice «{}».",
        ", ",
        " y ",
    ),
    "zh": _Phrases(
        "两者都谈到{}。",
        "提到“{}”。",
        "两者都有标签{}。",
        "与“{}”含义相近。",
        "取代“{}”。",
        "与“{}”相矛盾。",
        "、",
        "、",
    ),
}


def link_reason(
    note: Note, candidate: LinkCandidate, evidence: Evidence, relation: Relation
) -> str:
    """One sentence, in the note's language, that says what speaks for the link."""
    phrases = _PHRASES.get(detect_language(note.body), _PHRASES["en"])
    title = _quotable(candidate.title)
    if relation == "supersedes":
        return phrases.supersedes.format(title)
    if relation == "contradicts":
        return phrases.contradicts.format(title)
    if evidence.mention == "full":
        return phrases.mentions.format(title)
    terms = _telling_terms(evidence.shared, fold(note.body), fold(candidate.text))
    if terms:
        return phrases.both_speak.format(_enumerated(terms, phrases))
    shared_tags = [f"#{tag}" for tag in note.tags if tag in candidate.tags][:2]
    if shared_tags:
        return phrases.tagged.format(_enumerated(shared_tags, phrases))
    return phrases.close.format(title)


def _quotable(title: str) -> str:
    return " ".join(title.replace("[[", "").replace("]]", "").split())[:80]


def _enumerated(items: Sequence[str], phrases: _Phrases) -> str:
    first = phrases.comma.join(items[:-1])
    return phrases.conjunction.join(filter(None, (first, items[-1])))


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
