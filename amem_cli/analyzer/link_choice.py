"""The analyzer's decision about links: to which candidates, how strongly, with which reason.

No language model is asked. Of older notes it changes only what the new note says in so many words
(`cues`). Labels that two notes could share say nothing about a change of meaning; adding them was
wrong far more often than right (docs/memory.md).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from operator import mul
from typing import TYPE_CHECKING, NamedTuple

from amem_cli.analyzer.cues import Statement, statements
from amem_cli.analyzer.link_evidence import (
    DocumentFrequency,
    Evidence,
    LinkCandidate,
    SharedTerm,
    gather_evidence,
    quotation,
)
from amem_cli.analyzer.own_words import OwnSentence, own_sentences
from amem_cli.analyzer.revisions import SentenceNearness, signed_sentences, values_in
from amem_cli.journal.link_decisions import Evolution, with_closing
from amem_cli.language.dates import local_moment, moment_in
from amem_cli.language.detect import detect_language
from amem_cli.language.lexicon import language as language_file
from amem_cli.language.lexicon import languages, word_list
from amem_cli.language.words import (
    UNSPACED_RUN,
    fold,
    is_stopword,
    is_unspaced,
    sentences,
    subject_stems,
)
from amem_cli.notes.note import SUPERSEDING, MemoryLink, Note

if TYPE_CHECKING:
    from amem_cli.models.ports import Vectors

# Given older notes, the probabilities of `none` and of each relation for the first of them.
AskJudge = Callable[[Sequence[LinkCandidate]], Sequence[Mapping[str, float]]]

_TERMS_IN_REASON = 3
_TEXT_IN_REASON = 8_000
# Endings and particles of Japanese.
_HIRAGANA_ALONE = re.compile("[ぁ-ゟー]{1,4}")


def phrases_in(language: str) -> Mapping[str, str]:
    """Sentences about links by their purpose; English for a language without its own."""
    english, *_ = languages()
    known = language_file(language)
    return (known and known.links) or english.links


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
    purpose = "revises" if said.pointer == "subject" else said.relation
    phrase = phrases["settles" if said.relation == "related" else purpose]
    sentence = phrase.format(_quotable(title))
    words = _quotable(said.words)
    # A "not" alone says nothing.
    if not words or is_stopword(fold(words)):
        return sentence
    return f"{sentence[:-1]} ({phrases['quoted'].format(words)}){sentence[-1]}"


def _quotable(title: str) -> str:
    return " ".join(title.replace("[[", "").replace("]]", "").split())[:80]


def _enumerated(items: Sequence[str], phrases: Mapping[str, str]) -> str:
    first = phrases["comma"].join(items[:-1])
    return phrases["conjunction"].join(filter(None, (first, items[-1])))


def _telling_terms(shared: Sequence[SharedTerm], own: str, other: str) -> list[str]:
    telling = [entry.term for entry in shared if entry.term.kind != "everyday"]
    pairs = {term.word for term in telling if is_unspaced(term.word)}
    if not pairs:
        return _whole_names([term.written for term in telling], own, other)
    spaced = [term.written for term in telling if term.word not in pairs]
    pieces = sorted(_shared_pieces(pairs, own[:_TEXT_IN_REASON]), key=lambda piece: -len(piece))
    common = [piece for piece in pieces if piece in other and not _HIRAGANA_ALONE.fullmatch(piece)]
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
# owner's tags (training/link_strength.py).
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
    # Of three of these vaults with every second note translated.
    "other_language": 1.5,
}
# The same with what the judge says, of people from whom neither learned: of the score by the
# evidence, and of the judge's log odds. A weight for each feature fits other people worse.
_INTERCEPT_JUDGED, _EVIDENCE, _JUDGE = 0.10, 0.35, 0.75
# Evidence from which on the judge is asked: of weaker pairs it would make a link of hardly any, in
# much more time.
_JUDGED_FROM = 0.03
# The judge's log odds are never surer than this.
_MOST_LOG_ODDS = 6.0
# Seldom seen in those vaults. In people's own notes, of the titles of others that occur in a text,
# three in four are links.
_FULL_TITLE_BONUS = 2.5
# Of a note of which the new one surely says something: of those it changes, so many are right.
_STRENGTH_OF_SAID = 0.8


class ScoredLinks(NamedTuple):
    """What the analyzer makes of the candidates.

    Attributes:
        links: those strong enough, the strongest first, each with a sentence as its reason.
        said: what the note says of candidates in so many words. If that is sure, its link is to be
            written, whatever its strength.
    """

    links: list[MemoryLink]
    said: list[Statement]


def score_links(
    note: Note,
    candidates: Sequence[LinkCandidate],
    *,
    document_frequency: DocumentFrequency,
    total: int,
    minimum: float,
    judge: AskJudge = lambda older: [],
    nearness: SentenceNearness = lambda sentence: {},
) -> ScoredLinks:
    """The links that the evidence carries, and what the note says of older ones.

    Args:
        candidates: the older notes nearest to the note by any kind of search, 10 to 30 of them.
        document_frequency: number of notes of the vault that hold a folded word, of `total` notes.
        minimum: least strength; an estimate of the probability that a person would call the two
            notes related.
        judge: asked once, with the candidates for which enough speaks, the likeliest first; gives
            the probabilities of `none` and of each relation for the first of them.
        nearness: how near the tokens of a sentence are to those of the candidates, by path.
    """
    evidence = gather_evidence(note, candidates, document_frequency=document_frequency, total=total)
    scores = [strength(entry) for entry in evidence]
    likeliest = sorted(range(len(scores)), key=lambda at: -scores[at])
    likeliest = [at for at in likeliest if scores[at] >= _JUDGED_FROM]
    judged = dict(zip(likeliest, judge([candidates[at] for at in likeliest]), strict=False))
    found = statements(
        note,
        candidates,
        scores,
        document_frequency=document_frequency,
        total=total,
        judged=judged,
        nearness=nearness,
    )
    scores = [strength(entry, judged.get(at)) for at, entry in enumerate(evidence)]
    # Nothing takes the place of a note that was written later, or judges it.
    said = [each for each in found if not _is_newer(candidates[each.older], note)]
    sure = {each.older: each for each in said if each.sure}
    scores = [max(score, _STRENGTH_OF_SAID * (at in sure)) for at, score in enumerate(scores)]
    links = []
    for at in sorted(range(len(scores)), key=lambda at: -scores[at]):
        older = candidates[at]
        if at in sure:
            reason = statement_reason(note, older.title, sure[at])
            links.append(MemoryLink(older.path, sure[at].relation, reason, round(scores[at], 2)))
        elif scores[at] >= minimum:
            reason = link_reason(note, older, evidence[at])
            links.append(MemoryLink(older.path, "related", reason, round(scores[at], 2)))
    return ScoredLinks(links, said)


def strength(evidence: Evidence, judged: Mapping[str, float] | None = None) -> float:
    """Estimated probability, 0..1, that a person would call the two notes related.

    `judged` are the judge's probabilities of `none` and of each relation, if it was asked.
    """
    score = _INTERCEPT + sum(weight * evidence.features[name] for name, weight in _WEIGHTS.items())
    if judged is not None:
        score = _INTERCEPT_JUDGED + _EVIDENCE * score + _JUDGE * judged_log_odds(judged)
    score += _FULL_TITLE_BONUS * evidence.mentioned
    return 1 / (1 + math.exp(-score))


def judged_log_odds(judged: Mapping[str, float]) -> float:
    """Natural logarithm of the odds, by the judge's probabilities, that two notes are related."""
    none = judged["none"]
    odds = math.log(max(1 - none, 1e-9)) - math.log(max(none, 1e-9))
    return max(-_MOST_LOG_ODDS, min(odds, _MOST_LOG_ODDS))


def _is_newer(candidate: LinkCandidate, note: Note) -> bool:
    """Whether the candidate was written later; of one moment, which the ids tell."""
    theirs, own = moment_in(candidate.created), moment_in(note.created)
    if theirs is None or own is None:
        return theirs is not None
    key = note.id or note.path
    return (local_moment(theirs, None), candidate.key) > (local_moment(own, None), key)


_LONGEST_CONTEXT = 240
_SHORTEST_SAID = 40
_LONGEST_SAID = 160
# New words that a sentence needs to say what holds now.
_TELLING_WORDS = 2
# Sentences of a note, with its title.
_MOST_COMPARED = 60
_MOST_OF_OLDER = 20
# The spread of nearness among sentences is no less.
_LEAST_SPREAD = 1e-3
# Weights of `sentence_features`, a conditional logit (training/deciding_sentence.py).
_DECIDES = (0.24, 0.27, 0.81, 0.68, -0.34, 0.75)


def changed_contexts(
    note: Note,
    said: Sequence[Statement],
    candidates: Sequence[LinkCandidate],
    unclosed: Callable[[LinkCandidate], str],
    encode: Callable[[Sequence[str]], Vectors],
) -> list[Evolution]:
    """Contexts of the candidates that the note speaks of, closed with what holds now in its own
    words and its date; those of statements that are not sure wait for a person.

    Args:
        unclosed: the context of a candidate without what an earlier note closed it with; with what
            the note itself closed it with, if it says that still.
        encode: unit vectors of texts, of shape (texts, n).
    """
    changes = []
    for each in said:
        older = candidates[each.older]
        quoted = _nearest_quoted(each, note, older, encode) if each.pointer == "subject" else each
        context = _closed(older, unclosed(older), note, quoted) if note.created else ""
        if context and context != older.context:
            reason = statement_reason(note, older.title, each)
            relation = each.relation if each.relation in SUPERSEDING else ""
            changes.append(
                Evolution(
                    older.path, context, reason=reason, relation=relation, waits=not each.sure
                )
            )
    return changes


def _nearest_quoted(
    said: Statement,
    note: Note,
    older: LinkCandidate,
    encode: Callable[[Sequence[str]], Vectors],
) -> Statement:
    """The statement with the sentence of the note that likely decides, often one near that with the
    sign of change."""
    own = [
        each
        for each in islice(own_sentences(note), 1, _MOST_COMPARED)
        if not (each.text.endswith(("?", "？")) or older.quotes(each.text))
    ]
    if len(own) < 2:
        return said
    features = sentence_features(own, older.title, older.text, encode)
    worth = [sum(map(mul, _DECIDES, each)) for each in features]
    nearest = own[worth.index(max(worth))]
    if nearest.text in said.sentence:
        return said
    # "So it wasn't the flour. With the stone at 250 degrees the crumb opens."
    for both, is_next in (
        (f"{said.sentence} {nearest.text}", said.following == nearest.text),
        (f"{nearest.text} {said.sentence}", nearest.following == said.sentence),
    ):
        if is_next and len(both) <= _LONGEST_SAID:
            return replace(said, sentence=both, behind="")
    return replace(said, sentence=nearest.text, behind="", following=nearest.following)


def sentence_features(
    own: Sequence[OwnSentence],
    title: str,
    text: str,
    encode: Callable[[Sequence[str]], Vectors],
) -> list[tuple[float, ...]]:
    """What speaks for it that each sentence of a note decides what holds now of an older one.

    That is how near it comes to the older note and to the nearest of its sentences, in standard
    deviations; whether it has a sign of change, a number or weekday of the older note, a link; and
    the logarithm of its letters.
    """
    whole = f"{title}\n{text}"
    theirs = sentences(text)[:_MOST_OF_OLDER] or [title]
    vectors = encode([whole, *theirs, *(each.text for each in own)])
    near = vectors[1 + len(theirs) :] @ vectors[: 1 + len(theirs)].T
    signed = {each.own for each in signed_sentences(own)}
    values = values_in(fold(whole))
    return [
        (
            float(to_whole),
            float(to_one),
            each in signed,
            bool(values & values_in(each.folded)),
            bool(each.links),
            math.log1p(len(each.text)),
        )
        for each, to_whole, to_one in zip(
            own, _deviations(near[:, 0]), _deviations(near[:, 1:].max(axis=1)), strict=True
        )
    ]


def _deviations(near: Vectors) -> Vectors:
    apart: Vectors = (near - near.mean()) / max(float(near.std()), _LEAST_SPREAD)
    return apart


def _closed(older: LinkCandidate, base: str, note: Note, said: Statement) -> str:
    """The context closed with what holds now; empty if there is nothing to say, or no room."""
    base = base.rstrip(" .。")
    phrases = phrases_in(detect_language(note.body))
    date = note.created[:10]
    form = phrases[f"now_{said.relation}"]
    room = min(_LONGEST_SAID, _LONGEST_CONTEXT - len(base) - len(form.format(date=date, said="")))
    news = quotation(_news(older, said, room))
    if news and room >= min(len(news), _SHORTEST_SAID):
        quoted = _cut(news, room)
        closing = "" if quoted in older.context else form.format(date=date, said=quoted)
    # One that names the new note already stays as it is.
    elif said.relation != "supersedes" or (base and fold(note.title) in fold(older.context)):
        closing = ""
    else:
        closing = phrases["superseded_since"].format(date=date, title=_quotable(note.title))
    if not closing or len(base) + len(closing) > _LONGEST_CONTEXT:
        return ""
    return with_closing(base, closing)


def _cut(text: str, length: int) -> str:
    """The text in so many letters, cut between words where there are blanks."""
    if len(text) <= length:
        return text
    head = text[: length - 1]
    blank = head.rfind(" ")
    return f"{head[: blank if blank > len(head) // 2 else len(head)].rstrip(' ,;:，、；：')}…"


def _news(older: LinkCandidate, said: Statement, room: int) -> str:
    """The sentence with the cue, and the one after it if that says what holds now."""
    known = subject_stems(f"{older.title} {said.words}") | word_list("time")
    new = [_new_words(text, known) for text in (said.sentence, said.behind, said.following)]
    in_sentence, behind_cue, following = new
    is_told = len(in_sentence) >= _TELLING_WORDS and said.sentence[-1] not in ":?"
    # "Nitrate 0.16, up from 0.14."
    if said.pointer == "subject":
        is_told |= not values_in(fold(said.sentence)) <= values_in(fold(older.text))
    # "The date I wrote in June is wrong." only announces what comes.
    if is_told and (said.acts or behind_cue):
        return said.sentence
    numbers = {each for each in subject_stems(said.following) if each.isdecimal()}
    if (
        said.following
        and said.following[-1] not in ":?"
        and (len(in_sentence | following) >= _TELLING_WORDS or numbers)
        and (following or numbers)
    ):
        both = f"{said.sentence} {said.following}"
        return both if in_sentence and len(both) <= room else said.following
    # A person who is to decide wants to see the words.
    return said.sentence if is_told or said.pointer == "subject" else ""


def _new_words(text: str, known: frozenset[str]) -> set[str]:
    return {word for word in subject_stems(text) - known if word.isalpha()}
