"""Which candidates a note is linked to without a language model, why, and how strongly."""

from __future__ import annotations

import math
from collections.abc import Sequence

from amem_cli.core.link_evidence import (
    Evidence,
    LinkCandidate,
    gather_evidence,
)
from amem_cli.core.link_reasons import link_reason
from amem_cli.core.markdown_prose import prose, without_quotes
from amem_cli.core.note import MemoryLink, Note, Relation
from amem_cli.core.note_terms import DocumentFrequency, mentions_title, searchable
from amem_cli.core.succession import replaced_titles, stance
from amem_cli.core.words import (
    is_stopword,
    sentences,
    stem,
    words,
)

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
# Seldom seen in those vaults. In people's own notes, of the titles of others that stand in a text,
# three in four are links.
_FULL_TITLE_BONUS = 2.5
_MOST_FOR_TAGS = 1.5
# Of a note that the new one says it replaces.
_STRENGTH_OF_REPLACED = 0.8


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
    own_words = sentences(prose(without_quotes(note.body)))
    named = replaced_titles([older.title for older in candidates], own_words)
    replaced = {i for i in named if not _is_newer(candidates[i], note)}
    scored = sorted(
        (
            (max(strength(entry), _STRENGTH_OF_REPLACED * (i in replaced)), i)
            for i, entry in enumerate(evidence)
        ),
        key=lambda pair: (-pair[0], pair[1]),
    )
    made = []
    for score, i in scored[:limit]:
        if score >= minimum:
            older = candidates[i]
            relation: Relation = "supersedes"
            if i not in replaced:
                relation = _relation(note, older, own_words, evidence[i], document_frequency, total)
            reason = link_reason(note, older, evidence[i], relation)
            made.append(MemoryLink(older.path, relation, reason, round(score, 2)))
    return made


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
        "tags": min(max(0.0, evidence.tags), _MOST_FOR_TAGS),
        "no_common_tag": float(evidence.tags < 0),
    }
    score = _INTERCEPT + sum(_WEIGHTS[name] * value for name, value in features.items())
    score += _FULL_TITLE_BONUS * (evidence.mention == "full")
    return 1 / (1 + math.exp(-score))


def _is_newer(candidate: LinkCandidate, note: Note) -> bool:
    return bool(candidate.created) and candidate.created > note.created


def _relation(
    note: Note,
    candidate: LinkCandidate,
    own_words: Sequence[str],
    evidence: Evidence,
    document_frequency: DocumentFrequency,
    total: int,
) -> Relation:
    if _is_newer(candidate, note):
        return "related"
    for sentence in own_words:
        named = evidence.mention == "full" and mentions_title(
            candidate.title, searchable(sentence), document_frequency, total
        )
        if named or _paraphrases_title(candidate.title, sentence):
            relation = stance(candidate.title, sentence)
            if relation is not None:
                return relation
    return "related"


def _paraphrases_title(title: str, sentence: str) -> bool:
    """Whether a sentence holds most of what a long title says, in whatever form and order."""
    told = {stem(word) for word in words(title) if not is_stopword(word)}
    shared = told & {stem(word) for word in words(sentence)}
    return len(shared) >= 3 and 2 * len(shared) >= len(told)
