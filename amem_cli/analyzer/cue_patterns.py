"""The expressions by which `cues` reads a folded sentence, made of the language files' phrases.

A phrase is plain words, where `*` at the end or the beginning of a word stands for any letters and
` … ` for up to 40 letters of a clause, or a regular expression between slashes.
docs/your-language.md tells what each field holds.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from itertools import groupby

from amem_cli.language.lexicon import is_expression, languages, phrases
from amem_cli.language.words import UNSPACED_RUN

_NOTHING = r"(?!)"
_LETTERS = r"\w{0,30}"
_GAP = r"[^.;,]{0,40}"
# Letters between a denial and its cue where no blanks tell which word it belongs to.
_NEAR = ".{0,3}$"
_OPENING = r"[\s(\"'“„«《「『]"


def expression(phrase: str) -> str:
    """A phrase as a regular expression, without boundaries of words."""
    if is_expression(phrase):
        return phrase[1:-1]
    parts = []
    for word in phrase.split():
        bare = re.escape(word.strip("*"))
        parts.append(f"{_LETTERS * word.startswith('*')}{bare}{_LETTERS * word.endswith('*')}")
    return " ".join(parts).replace(" … ", _GAP)


def _any_of(texts: Iterable[str]) -> str:
    """Phrases as one expression that matches any of them, in their order; words are whole."""
    rows = []
    for is_plain, group in groupby(
        texts, key=lambda text: not (is_expression(text) or _has_run(text))
    ):
        joined = "|".join(map(expression, group))
        rows.append(rf"\b(?:{joined})\b" if is_plain else joined)
    return f"(?:{'|'.join(rows)})" if rows else _NOTHING


def _spaced(*fields: str) -> str:
    """The phrases of fields that are written with blanks, without boundaries."""
    return _either(each for field in fields for each in phrases(field) if not _has_run(each))


def _unspaced(field: str) -> str:
    """The phrases of a field that are written without blanks: in Chinese, Japanese or Korean."""
    return _either(filter(_has_run, phrases(field)))


def _has_run(phrase: str) -> bool:
    return UNSPACED_RUN.search(phrase) is not None


def _either(texts: Iterable[str]) -> str:
    return f"(?:{'|'.join(map(expression, texts)) or _NOTHING})"


@cache
def any_phrase(field: str) -> re.Pattern[str]:
    """Any phrase of a field in any language."""
    return re.compile(_any_of(phrases(field)))


@cache
def any_phrase_at_end(field: str) -> re.Pattern[str]:
    """Any phrase of a field, right before the end of the text."""
    return re.compile(rf"{_any_of(phrases(field))}\W*$")


@cache
def separable_verbs() -> dict[str, re.Pattern[str]]:
    """What must follow a verb in its clause, by the verb's beginning: `löst … ab`."""
    return {
        beginning: re.compile(rf"(?:[^,;:.]|(?<=\d)\.){{0,60}} {re.escape(particle)}\b")
        for each in languages()
        for beginning, particle in each.separable.items()
    }


@cache
def denial() -> re.Pattern[str]:
    """Before a cue in its clause. Without blanks between words only right before it: 没有取代."""
    texts = phrases("doubts.denials")
    near = [text for text in texts if UNSPACED_RUN.match(text)]
    others = [text for text in texts if text not in near]
    return re.compile(f"{_any_of(others)}|{_any_of(near)}{_NEAR}")


@cache
def determiners() -> re.Pattern[str]:
    """Between a cue that acts and a title."""
    words = _spaced("references.determiners", "references.fillers")
    own = _unspaced("references.determiners")
    return re.compile(rf"(?:{own}{{1,3}}|(?: {words}){{0,3}})\W{{0,3}}")


@cache
def narrowing_unspaced() -> re.Pattern[str]:
    """Words that narrow a title where no blanks part words: 取代[[…]]的滤芯."""
    return re.compile(_unspaced("references.narrowing"))


@cache
def reference() -> re.Pattern[str]:
    """What is named together with a link, up to it: "what I wrote in", "point two of my"."""
    own = _spaced("references.determiners")
    names = f"{_spaced('references.documents', 'references.parts')}(?:s|en|n)?"
    numbers = _spaced("references.part_numbers")
    return re.compile(
        rf"(?:\b(?:(?P<what>{_spaced('references.what')})|{own}) ){{0,6}}"
        rf"(?:(?P<piece>\b{names}(?: (?:\d{{1,2}}|{numbers}))?"
        rf"|{_any_of(phrases('references.quoting'))}|\(\w\))"
        rf"(?: {_spaced('references.within')})?(?: {_spaced('references.articles')})?)?"
        rf"(?:{_unspaced('references.determiners')}|{_OPENING}){{0,4}}$"
    )


@cache
def says() -> re.Pattern[str]:
    """Behind a link after "what": "what [[…]] says"."""
    return re.compile(rf"(?: {_spaced('references.says')}\b)?")


@cache
def document() -> re.Pattern[str]:
    """A title with these names something that is written, of which no thing is said instead."""
    return re.compile(
        rf"\b{_spaced('references.documents')}(?:s|en|n)?\b|{_unspaced('references.documents')}"
    )


@cache
def towards_cue() -> re.Pattern[str]:
    """Between a link that is the subject and its cue."""
    relatives, pronouns = _spaced("references.relatives"), _spaced("references.pronouns")
    return re.compile(
        rf"[)\]\"'”“»》」』]{{0,3}}(?:,? {relatives}|(?::| [–—-]) {pronouns}"
        rf"|[,:]{_unspaced('references.pronouns')})?"
        rf"(?: ?{_spaced('references.between')}\b|{_unspaced('references.between')})*\W{{0,2}}"
    )


@cache
def itself() -> re.Pattern[str]:
    """Before a cue that acts, in its clause: the note speaks of itself."""
    return re.compile(rf"\W*{_any_of(phrases('references.itself'))}\W*")
