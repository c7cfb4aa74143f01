"""The analyzer's decision about links: to which candidates, how strongly, with which reason.

No language model is asked. Of older notes it changes only what the new note says in so many words:
that it takes their place. Labels that two notes could share say nothing about a change of meaning;
adding them was wrong far more often than right (docs/memory.md).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from functools import cache

from amem_cli.analyzer.link_evidence import (
    DocumentFrequency,
    Evidence,
    LinkCandidate,
    SharedTerm,
    gather_evidence,
    mentions_title,
    searchable,
)
from amem_cli.data import table
from amem_cli.journal.link_decisions import USUAL_MINIMUM, Evolution
from amem_cli.language.words import (
    TOKEN,
    UNSPACED_RUN,
    detect_language,
    fold,
    is_stopword,
    is_unspaced,
    sentences,
    stem,
    words,
)
from amem_cli.markdown.plain_text import prose, without_quotes
from amem_cli.notes.note import SUPERSEDING, MemoryLink, Note, Relation

_TERMS_IN_REASON = 3
_TEXT_IN_REASON = 8_000


def phrases_in(language: str) -> dict[str, str]:
    """Sentences about links by their purpose; English for a language without its own."""
    by_language: dict[str, dict[str, str]] = table("link_phrases.toml")
    return by_language.get(language, by_language["en"])


def link_reason(
    note: Note, candidate: LinkCandidate, evidence: Evidence, relation: Relation
) -> str:
    """One sentence, in the note's language, that says what speaks for the link."""
    phrases = phrases_in(detect_language(note.body))
    title = _quotable(candidate.title)
    if relation in ("supersedes", "contradicts"):
        return phrases[relation].format(title)
    if evidence.mentioned:
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
# Seldom seen in those vaults. In people's own notes, of the titles of others that occur in a text,
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
    """The links that the evidence carries, the strongest first, each with a sentence as its reason.

    Args:
        candidates: the older notes nearest to the note by any kind of search, 10 to 30 of them.
        document_frequency: number of notes of the vault that hold a folded word, of `total` notes.
        minimum: least strength; an estimate of the probability that a person would call the two
            notes related.
    """
    evidence = gather_evidence(note, candidates, document_frequency=document_frequency, total=total)
    # What a note quotes is said by somebody else, so it replaces nothing.
    own_words = sentences(prose(without_quotes(note.body)))
    named = _replaced_titles([older.title for older in candidates], own_words)
    # Nothing takes the place of a note that was written later.
    replaced = {i for i in named if not _is_newer(candidates[i], note)}
    scores = [
        max(strength(entry), _STRENGTH_OF_REPLACED * (i in replaced))
        for i, entry in enumerate(evidence)
    ]
    made = []
    for i in sorted(range(len(scores)), key=lambda i: -scores[i])[:limit]:
        if scores[i] >= minimum:
            older = candidates[i]
            relation: Relation = "supersedes"
            if i not in replaced:
                relation = _relation(note, older, own_words, evidence[i], document_frequency, total)
            reason = link_reason(note, older, evidence[i], relation)
            made.append(MemoryLink(older.path, relation, reason, round(scores[i], 2)))
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
    score += _FULL_TITLE_BONUS * evidence.mentioned
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
        # Only a sentence that names the older note says something of it.
        named = evidence.mentioned and mentions_title(
            candidate.title, searchable(sentence), document_frequency, total
        )
        if named or _paraphrases_title(candidate.title, sentence):
            relation = _stance(candidate.title, sentence)
            if relation is not None:
                return relation
    return "related"


def _paraphrases_title(title: str, sentence: str) -> bool:
    """Whether a sentence holds most of what a long title says, in whatever form and order."""
    subject = {stem(word) for word in words(title) if not is_stopword(word)}
    shared = subject & {stem(word) for word in words(sentence)}
    return len(shared) >= 3 and 2 * len(shared) >= len(subject)


# Letters on either side: what is called a sentence may be a whole note.
_LOOKED_AT = 300
_CLAUSE = re.compile(r"[,;:()–—]")
_NEXT_WORD = re.compile(r"\s+(\w+)")
_NARROWED = re.compile(r"['’]|-\w")


@cache
def _pattern(name: str) -> re.Pattern[str]:
    return re.compile("".join(table("stance.toml")[name]))


def _replaced_titles(titles: Sequence[str], sentences: Iterable[str]) -> set[int]:
    """Which of the titles name what a sentence says in so many words is replaced, by position.

    The whole title of two words or more follows the verb, and nothing that belongs to it follows
    that. So the words may be everyday ones, which elsewhere are in a text by chance.
    """
    verbs = [
        verb
        for sentence in map(fold, sentences)
        for verb in _pattern("replaces").finditer(sentence)
        if not _is_doubted(sentence, verb)
    ]
    return {at for at, title in enumerate(titles) if verbs and _is_replaced(title, verbs)}


def _is_replaced(title: str, verbs: Iterable[re.Match[str]]) -> bool:
    tokens = TOKEN.findall(fold(title))
    if any(map(is_unspaced, tokens)) or sum(not is_stopword(token) for token in tokens) < 2:
        return False
    named = re.compile(r"\W{1,3}".join(map(re.escape, tokens)) + r"(?!\w)")
    return any(_is_object(named, verb) for verb in verbs)


def _is_object(named: re.Pattern[str], verb: re.Match[str]) -> bool:
    found = named.match(verb.string, verb.end())
    if found is None:
        return False
    rest = verb.string[found.end() : found.end() + _LOOKED_AT]
    if "lös" in verb[0]:
        return _pattern("parted").match(rest) is not None
    follows = _NEXT_WORD.match(rest)
    if _NARROWED.match(rest):
        return False
    return follows is None or (
        is_stopword(follows[1]) and not _pattern("narrowing").fullmatch(follows[1])
    )


def _stance(title: str, sentence: str) -> Relation | None:
    """What a sentence that names another note says of it: that it is replaced, or wrong."""
    folded = fold(sentence)
    named = folded.rfind(" ".join(fold(title).split()))
    for relation in SUPERSEDING:
        for found in _pattern(relation).finditer(folded):
            # "lunch is replaced by the review": not the review is.
            until = min(max(named, 0), found.end() + _LOOKED_AT)
            takes_its_place = _pattern("by").search(folded, found.end(), until) is not None
            if not (takes_its_place or _is_doubted(folded, found)):
                return relation
    return None


def _is_doubted(sentence: str, cue: re.Match[str]) -> bool:
    """Whether a folded sentence denies, asks or supposes what it says with the cue."""
    before = sentence[max(cue.start() - _LOOKED_AT, 0) : cue.start()]
    after = sentence[cue.end() : cue.end() + _LOOKED_AT]
    clause = _CLAUSE.split(before)[-1]
    asks = sentence[-_LOOKED_AT:].rstrip(" \"”'’)").endswith("?")
    return (
        asks
        or _pattern("against").search(clause) is not None
        or _pattern("denied").search(_CLAUSE.split(after)[0]) is not None
        or _pattern("unless").search(before) is not None
    )


_LONGEST_CONTEXT = 240


def superseded_contexts(
    note: Note, links: Sequence[MemoryLink], candidates: Sequence[LinkCandidate]
) -> list[Evolution]:
    """Contexts of the candidates that the links supersede, closed with a clause that says so, which
    is all of it where there was none."""
    contexts = {candidate.path: candidate.context for candidate in candidates}
    changes = []
    for link in links:
        context = contexts.get(link.target)
        if link.relation != "supersedes" or context is None:
            continue
        # One that names the new note already stays as it is.
        if not context or fold(note.title) not in fold(context):
            form = phrases_in(detect_language(context or note.body))["superseded_since"]
            closing = form.format(date=note.created[:10], title=_quotable(note.title))
            alone = closing.lstrip(" —")
            closed = context.rstrip(" .。") + closing if context else alone[0].upper() + alone[1:]
            if note.created and len(closed) <= _LONGEST_CONTEXT:
                changes.append(Evolution(link.target, context=closed, reason=link.reason))
    return changes
