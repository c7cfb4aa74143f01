"""Which candidates a note is linked to without a language model, why, and how strongly."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from amem_cli.core.link_evidence import (
    Evidence,
    LinkCandidate,
    SharedTerm,
    gather_evidence,
)
from amem_cli.core.markdown_prose import prose
from amem_cli.core.note import MemoryLink, Note, Relation
from amem_cli.core.note_terms import DocumentFrequency, mentions_title, searchable
from amem_cli.core.words import detect_language, fold, is_unspaced, sentences

USUAL_MINIMUM = 0.3

# Logistic regression over three hand-written vaults, look-alike pairs counted threefold.
_INTERCEPT = -4.1
_WEIGHTS = {
    "first_term": 0.55,
    "second_term": 0.45,
    "title": 0.28,
    "mutual": 1.6,
    "cosine": 0.1,
    "support": 0.24,
    "tags": 0.44,
    "no_common_tag": -0.95,
}
_FULL_TITLE_BONUS = 1.0

_CUES: tuple[tuple[Relation, re.Pattern[str]], ...] = (
    (
        "supersedes",
        re.compile(
            r"\b(?:supersed(?:es?|ed|ing)|replac(?:es?|ed|ing)|no longer holds?"
            r"|no longer valid|overturns?|revokes?|withdraw(?:s|n)?|obsoletes?|corrects"
            r"|ersetzt|löst ab|abgelöst|gilt nicht mehr|hinfällig|überholt"
            r"|widerrufen|remplace|sustituye)\b|取代|代替|作废"
        ),
    ),
    (
        "contradicts",
        re.compile(
            r"\b(?:contradicts?|contrary to|disproves?|refutes?|was wrong about|opposite of"
            r"|widerspricht|widerlegt|im gegensatz zu|entgegen|contredit|contradice)\b|矛盾|相反"
        ),
    ),
)


@dataclass(frozen=True, slots=True)
class _Phrases:
    both_speak: str
    mentions: str
    tagged: str
    close: str
    comma: str
    conjunction: str


_PHRASES = {
    "en": _Phrases(
        "Both speak of {}.",
        "Mentions “{}”.",
        "Both are tagged {}.",
        "Close in meaning to “{}”.",
        ", ",
        " and ",
    ),
    "de": _Phrases(
        "In beiden geht es um: {}.",
        "Nennt „{}“.",
        "Beide tragen den Tag {}.",
        "Inhaltlich nah an „{}“.",
        ", ",
        " und ",
    ),
    "fr": _Phrases(
        "Les deux parlent de {}.",
        "Mentionne « {} ».",
        "Les deux portent l’étiquette {}.",
        "Proche par le sens de « {} ».",
        ", ",
        " et ",
    ),
    "es": _Phrases(
        "Ambas hablan de {}.",
        "Menciona «{}».",
        "Ambas llevan la etiqueta {}.",
        "De sentido cercano a «{}».",
        ", ",
        " y ",
    ),
    "zh": _Phrases(
        "两者都谈到{}。", "提到“{}”。", "两者都有标签{}。", "与“{}”含义相近。", "、", "、"
    ),
}


def link_suggestions(
    note: Note,
    candidates: Sequence[LinkCandidate],
    *,
    document_frequency: DocumentFrequency,
    total: int,
    limit: int = 4,
    minimum: float = USUAL_MINIMUM,
) -> list[MemoryLink]:
    """The links that the evidence carries, the strongest first.

    Args:
        candidates: the older notes nearest to the note by any kind of search, 10 to 30 of them.
        document_frequency: number of notes of the vault that hold a folded word.
        total: number of notes in the vault.
        limit: most links made.
        minimum: least strength of a link; a strength is an estimate of the probability that a
            person would call the two notes related.

    Returns:
        Links with a one-sentence reason in the note's language.
    """
    evidence = gather_evidence(note, candidates, document_frequency=document_frequency, total=total)
    scored = sorted(
        ((strength(entry), i) for i, entry in enumerate(evidence)),
        key=lambda pair: (-pair[0], pair[1]),
    )
    language = detect_language(note.body)
    return [
        MemoryLink(
            target=candidates[i].path,
            relation=_relation(note, candidates[i], evidence[i], document_frequency, total),
            reason=_reason(note, candidates[i], evidence[i], language),
            strength=round(score, 2),
        )
        for score, i in scored[:limit]
        if score >= minimum
    ]


def strength(evidence: Evidence) -> float:
    """Estimated probability, 0..1, that a person would call the two notes related."""
    weights = [entry.weight for entry in evidence.shared[:2]] + [0.0, 0.0]
    features = {
        "first_term": weights[0],
        "second_term": weights[1],
        "title": min(evidence.title, 6.0),
        "mutual": evidence.mutual,
        "cosine": max(-2.0, min(evidence.cosine, 3.0)),
        "support": evidence.support,
        "tags": max(0.0, evidence.tags),
        "no_common_tag": float(evidence.tags < 0),
    }
    score = _INTERCEPT + sum(_WEIGHTS[name] * value for name, value in features.items())
    score += _FULL_TITLE_BONUS * (evidence.mention == "full")
    return 1 / (1 + math.exp(-score))


def _relation(
    note: Note,
    candidate: LinkCandidate,
    evidence: Evidence,
    document_frequency: DocumentFrequency,
    total: int,
) -> Relation:
    if evidence.mention != "full" or (candidate.created and candidate.created > note.created):
        return "related"
    for sentence in sentences(prose(note.body)):
        if mentions_title(candidate.title, searchable(sentence), document_frequency, total):
            folded = fold(sentence)
            for relation, cue in _CUES:
                if cue.search(folded):
                    return relation
    return "related"


def _reason(note: Note, candidate: LinkCandidate, evidence: Evidence, language: str) -> str:
    phrases = _PHRASES.get(language, _PHRASES["en"])
    title = _quotable(candidate.title)
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
    telling = [entry.term.written for entry in shared if entry.term.kind != "everyday"]
    merged: list[str] = []
    for written in telling[:8]:
        longer = _joined(merged[-1], written) if merged and is_unspaced(written) else None
        if longer and longer in own and longer in other:
            merged[-1] = longer
        else:
            merged.append(written)
    return merged[:3]


def _joined(left: str, right: str) -> str | None:
    return left + right[1:] if left.endswith(right[0]) else None
