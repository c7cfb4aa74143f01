"""The analyzer's decision about links: to which candidates, how strongly, with which reason.

No language model is asked. Of older notes it changes only what the new note says in so many words
(`cues`). Labels that two notes could share say nothing about a change of meaning; adding them was
wrong far more often than right (docs/memory.md).
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from textwrap import shorten

from amem_cli.analyzer.cues import Statement, own_sentences, statements
from amem_cli.analyzer.link_evidence import (
    DocumentFrequency,
    Evidence,
    LinkCandidate,
    SharedTerm,
    gather_evidence,
)
from amem_cli.data import table, word_set
from amem_cli.journal.link_decisions import USUAL_MINIMUM, Evolution
from amem_cli.language.words import (
    UNSPACED_RUN,
    detect_language,
    fold,
    is_unspaced,
    subject_stems,
)
from amem_cli.notes.note import MemoryLink, Note

_TERMS_IN_REASON = 3
_TEXT_IN_REASON = 8_000


def phrases_in(language: str) -> dict[str, str]:
    """Sentences about links by their purpose; English for a language without its own."""
    by_language: dict[str, dict[str, str]] = table("link_phrases.toml")
    return by_language.get(language, by_language["en"])


def link_reason(note: Note, candidate: LinkCandidate, evidence: Evidence) -> str:
    """One sentence, in the note's language, that says what speaks for the link."""
    phrases = phrases_in(detect_language(note.body))
    title = _quotable(candidate.title)
    if evidence.mentioned:
        return phrases["mentions"].format(title)
    own, other = (
        fold(f"{each.title}\n{text}")
        for each, text in ((note, note.body), (candidate, candidate.text))
    )
    terms = _telling_terms(evidence.shared, own, other)
    if terms:
        return phrases["both_speak"].format(_enumerated(terms, phrases))
    shared_tags = [f"#{tag}" for tag in note.tags if tag in candidate.tags][:2]
    if shared_tags:
        return phrases["tagged"].format(_enumerated(shared_tags, phrases))
    return phrases["close"].format(title)


def statement_reason(note: Note, title: str, said: Statement) -> str:
    """One sentence, in the note's language, that says what the note says of an older one, and by
    which words."""
    phrases = phrases_in(detect_language(note.body))
    phrase = phrases["settles" if said.relation == "related" else said.relation]
    sentence = phrase.format(_quotable(title))
    return f"{sentence[:-1]} (“{_quotable(said.words)}”){sentence[-1]}" if said.words else sentence


def _quotable(title: str) -> str:
    return " ".join(title.replace("[[", "").replace("]]", "").split())[:80]


def _enumerated(items: Sequence[str], phrases: dict[str, str]) -> str:
    first = phrases["comma"].join(items[:-1])
    return phrases["conjunction"].join(filter(None, (first, items[-1])))


def _telling_terms(shared: Sequence[SharedTerm], own: str, other: str) -> list[str]:
    telling = [entry.term for entry in shared if entry.term.kind != "everyday"]
    pairs = {term.word for term in telling if is_unspaced(term.word)}
    if not pairs:
        return _whole_names([term.written for term in telling], own, other)
    spaced = [term.written for term in telling if term.word not in pairs]
    pieces = sorted(_shared_pieces(pairs, own[:_TEXT_IN_REASON]), key=lambda piece: -len(piece))
    common = [piece for piece in pieces if piece in other]
    return (spaced + common)[:_TERMS_IN_REASON]


def _whole_names(terms: Sequence[str], own: str, other: str) -> list[str]:
    """The first terms; those that stand side by side in both texts are one: “Arthur Heale”."""
    names: list[str] = []
    for term in terms[: 2 * _TERMS_IN_REASON]:
        for at, name in enumerate(names):
            pairs = (f"{name} {term}", f"{term} {name}")
            whole = next((pair for pair in pairs if _is_in_both(fold(pair), own, other)), None)
            if whole is not None and not any(map(str.isdigit, whole)):
                names[at] = whole
                break
        else:
            if len(names) < _TERMS_IN_REASON:
                names.append(term)
    return names


def _is_in_both(phrase: str, own: str, other: str) -> bool:
    found = re.compile(rf"(?<!\w){re.escape(phrase)}(?!\w)")
    return all(found.search(text[:_TEXT_IN_REASON]) for text in (own, other))


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


# Logistic regression over the pairs of fifteen hand-written vaults, half of whose notes carry their
# owner's tags (training/README.md).
_INTERCEPT = -5.49
_WEIGHTS = {
    "first_term": 0.40,
    "second_term": 0.38,
    "terms": 0.95,
    "title": 0.20,
    "mutual": 0.48,
    "cosine": 0.35,
    "similarity": 1.89,
    "support": 0.28,
    "recency": 1.19,
    "tags": 0.16,
    "no_common_tag": -0.71,
}
_DAYS_OF_RECENCY = 14.0
_USUAL_DAYS = 30.0
# Seldom seen in those vaults. In people's own notes, of the titles of others that occur in a text,
# three in four are links.
_FULL_TITLE_BONUS = 2.5
_MOST_FOR_TAGS = 6.0
# Of a note of which the new one says in so many words what holds now.
_STRENGTH_OF_SAID = 0.8


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
    said = {
        each.older: each
        for each in _statements(note, candidates, evidence, document_frequency, total)
        if each.sure
    }
    scores = [
        max(strength(entry), _STRENGTH_OF_SAID * (i in said)) for i, entry in enumerate(evidence)
    ]
    made = []
    for i in sorted(range(len(scores)), key=lambda i: -scores[i])[:limit]:
        if scores[i] >= minimum:
            older, statement = candidates[i], said.get(i)
            if statement is not None:
                relation, reason = (
                    statement.relation,
                    statement_reason(note, older.title, statement),
                )
            else:
                relation, reason = "related", link_reason(note, older, evidence[i])
            made.append(MemoryLink(older.path, relation, reason, round(scores[i], 2)))
    return made


def strength(evidence: Evidence) -> float:
    """Estimated probability, 0..1, that a person would call the two notes related."""
    weights = [entry.weight for entry in evidence.shared[:2]] + [0.0, 0.0]
    days = _USUAL_DAYS if evidence.days is None else evidence.days
    features = {
        "first_term": weights[0],
        "second_term": weights[1],
        "terms": math.log1p(len(evidence.shared)),
        "title": min(evidence.title, 6.0),
        "mutual": evidence.mutual,
        "cosine": max(-2.0, min(evidence.cosine, 3.0)),
        "similarity": evidence.similarity,
        "support": evidence.support,
        "recency": math.exp(-days / _DAYS_OF_RECENCY),
        "tags": min(max(0.0, evidence.tags), _MOST_FOR_TAGS),
        "no_common_tag": float(evidence.tags < 0),
    }
    score = _INTERCEPT + sum(_WEIGHTS[name] * value for name, value in features.items())
    score += _FULL_TITLE_BONUS * evidence.mentioned
    return 1 / (1 + math.exp(-score))


def _is_newer(candidate: LinkCandidate, note: Note) -> bool:
    return bool(candidate.created) and candidate.created > note.created


def statements_of(
    note: Note,
    candidates: Sequence[LinkCandidate],
    *,
    document_frequency: DocumentFrequency,
    total: int,
) -> list[Statement]:
    """What the note says of older ones among the candidates; the arguments are those of
    `link_suggestions`."""
    evidence = gather_evidence(note, candidates, document_frequency=document_frequency, total=total)
    return _statements(note, candidates, evidence, document_frequency, total)


def _statements(
    note: Note,
    candidates: Sequence[LinkCandidate],
    evidence: Sequence[Evidence],
    document_frequency: DocumentFrequency,
    total: int,
) -> list[Statement]:
    found = statements(
        note,
        candidates,
        [strength(entry) for entry in evidence],
        document_frequency=document_frequency,
        total=total,
    )
    # Nothing takes the place of a note that was written later, or judges it.
    return [each for each in found if not _is_newer(candidates[each.older], note)]


_LONGEST_CONTEXT = 240
_SHORTEST_SAID = 40
_LONGEST_SAID = 160
_LEAST_NEWS = 2
# What an earlier note closed the context with.
_CLOSING = re.compile(r" ?—+[^—]{0,20}\d{4}-\d\d-\d\d[^—]{0,3}[:：].*$", re.DOTALL)


def changed_contexts(
    note: Note, said: Sequence[Statement], candidates: Sequence[LinkCandidate]
) -> list[Evolution]:
    """Contexts of the candidates that the note speaks of, closed with what holds now in its own
    words and its date; those of statements that are not sure wait for a person."""
    own = own_sentences(note)
    changes = []
    for each in said:
        older = candidates[each.older]
        context = _closed(older, note, each, own) if note.created else ""
        if context and context != older.context:
            reason = statement_reason(note, older.title, each)
            changes.append(Evolution(older.path, context, reason=reason, waits=not each.sure))
    return changes


def _closed(older: LinkCandidate, note: Note, said: Statement, own: Sequence[str]) -> str:
    news = _news(older, said, own)
    base = _CLOSING.sub("", older.context).rstrip(" .。")
    phrases = phrases_in(detect_language(note.body))
    date = note.created[:10]
    if not news:
        # One that names the new note already stays as it is.
        if said.relation != "supersedes" or (base and fold(note.title) in fold(older.context)):
            return ""
        closing = phrases["superseded_since"].format(date=date, title=_quotable(note.title))
        closed = base + closing if base else _alone(closing)
        return closed if len(closed) <= _LONGEST_CONTEXT else ""
    form = phrases[f"now_{said.relation}"]
    room = _LONGEST_CONTEXT - len(form.format(date=date, said=""))
    quoted = shorten(
        news, min(_LONGEST_SAID, max(_SHORTEST_SAID, room - len(base))), placeholder="…"
    )
    if quoted in older.context:
        return ""
    closing = form.format(date=date, said=quoted)
    if not base:
        return _alone(closing)
    return shorten(base, _LONGEST_CONTEXT - len(closing), placeholder="…") + closing


def _alone(closing: str) -> str:
    """What closes a context, as all of it."""
    said = closing.lstrip(" —")
    return said[:1].upper() + said[1:]


def _news(older: LinkCandidate, said: Statement, own: Sequence[str]) -> str:
    """The sentence with the cue, and the one after it if that is needed to say what holds now."""
    known = subject_stems(f"{older.title} {said.words}") | word_set("time_words.txt")
    quoted: list[str] = []
    telling: set[str] = set()
    for sentence in own[said.sentence : said.sentence + 2]:
        new = {word for word in subject_stems(sentence) - known if word.isalpha()}
        telling |= new
        if new:
            quoted.append(" ".join(sentence.replace("[[", "").replace("]]", "").split()))
        if len(telling) >= _LEAST_NEWS and sentence[-1] not in ":?":
            return " ".join(quoted)
    return ""
