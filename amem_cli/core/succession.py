"""Whether a sentence says that what a title names is replaced, or contradicted."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from amem_cli.core.note import Relation
from amem_cli.core.words import TOKEN, fold, is_stopword, is_unspaced

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
# With what is replaced right behind it.
_REPLACES = re.compile(
    r"\b(?:replaces|supersedes|obsoletes|revokes|overturns|remplace|sustituye|ersetzt|löst"
    r"|(?:i|we|they|have|has|had|will|now|hereby) (?:replaced?|superseded?)"
    r"|(?:ich ersetze|wir ersetzen|ich löse|wir lösen))"
    r"(?: (?:the|my|our|his|her|their|this|that|old|former|previous|earlier|usual"
    r"|de[nrm]|die|das|mein\w{0,2}|unser\w{0,2}|alte[nrs]?|bisherige[nrs]?|früher[enrs]{1,2}"
    r"|le|la|les|el|los|las|mi|mon|ma|notre|nuestr[ao])){0,3}\W{1,3}"
)
# Letters on either side: what is called a sentence may be a whole note.
_LOOKED_AT = 300
# "löst … ab".
_PARTED = re.compile(r"[^,;:.]{0,60} ab\b")
_AGAINST = re.compile(
    r"\b(?:not(?! only)|never|hardly|scarcely|nothing|nobody|none|no|cannot|without|neither|nor"
    r"|may|might|could|should|would|nicht(?! nur)|nie|niemals|nichts|kein\w{0,2}|keineswegs|kaum"
    r"|ohne|könnten?|sollten?|würden?|dürften?)\b|n['’]t\b"
)
# Behind the verb as well: "Das ersetzt den Rückblick nicht."
_DENIED = re.compile(r"\b(?:nicht(?! nur)|keineswegs|not at all)\b")
_UNLESS = re.compile(
    r"\b(?:if|whether|unless|perhaps|maybe|wenn|falls|ob|vielleicht|quizás|peut-être)\b"
)
_CLAUSE = re.compile(r"[,;:()–—]")
_NEXT_WORD = re.compile(r"\s+(\w+)")
_NARROWED = re.compile(r"['’]|-\w")
_BY = re.compile(r"\b(?:by|with|durch|par|por)\b")
# What follows these tells apart what is replaced from what the title names.
_NARROWING = frozenset(["of", "von", "vom", "des", "der", "du", "de", "del", "della"])


def replaced_titles(titles: Sequence[str], sentences: Iterable[str]) -> set[int]:
    """Which of the titles name what a sentence says in so many words is replaced, by position.

    The whole title of two words or more stands right behind the verb, and nothing that belongs to
    it behind that. So the words may be everyday ones, which elsewhere stand in a text by chance.
    """
    verbs = [
        verb
        for sentence in map(fold, sentences)
        for verb in _REPLACES.finditer(sentence)
        if not is_doubted(sentence, verb)
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
        return _PARTED.match(rest) is not None
    follows = _NEXT_WORD.match(rest)
    if _NARROWED.match(rest):
        return False
    return follows is None or (is_stopword(follows[1]) and follows[1] not in _NARROWING)


def stance(title: str, sentence: str) -> Relation | None:
    """What a sentence that names another note says of it: that it is replaced, or wrong."""
    folded = fold(sentence)
    named = folded.rfind(" ".join(fold(title).split()))
    for relation, cue in _CUES:
        for found in cue.finditer(folded):
            # "lunch is replaced by the review": not the review is.
            until = min(max(named, 0), found.end() + _LOOKED_AT)
            takes_its_place = _BY.search(folded, found.end(), until) is not None
            if not (takes_its_place or is_doubted(folded, found)):
                return relation
    return None


def is_doubted(sentence: str, cue: re.Match[str]) -> bool:
    """Whether a folded sentence denies, asks or supposes what it says with the cue."""
    before = sentence[max(cue.start() - _LOOKED_AT, 0) : cue.start()]
    after = sentence[cue.end() : cue.end() + _LOOKED_AT]
    clause = _CLAUSE.split(before)[-1]
    asks = sentence[-_LOOKED_AT:].rstrip(" \"”'’)").endswith("?")
    return (
        asks
        or _AGAINST.search(clause) is not None
        or _DENIED.search(_CLAUSE.split(after)[0]) is not None
        or _UNLESS.search(before) is not None
    )
