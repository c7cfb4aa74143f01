"""Decides whether the notes that an answer cites bear out its numbers, names and words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property

from amem_cli.data import lines, word_set
from amem_cli.language.words import detect_language, fold, is_stopword, is_unspaced, stem, words
from amem_cli.models.prompt_text import subject_stems

_NUMBER = re.compile(r"\d+(?:[.,' \u00a0\u202f]\d{3})+(?!\d)|\d+")
_SEPARATORS = re.compile(r"[.,' \u00a0\u202f]")
_CLOCK = re.compile(
    r"\b(\d{1,2})(?:[:.]\d{2})? ?([ap])\.?m\b|\b(1[3-9]|2[0-3])(?=[:.]\d{2}|h| uhr)"
)
# A capital after these begins a sentence, a quotation or a list item, and need not be a name.
_NAME = re.compile(r"(?<![.!?:;…\"“„«(\[\n•–—-])\s([A-ZÀ-ÖØ-Þ][\w’'-]+)")
_FIRST_WORD = re.compile(r"(?:^|[.!?:;…\"“„«(\[–—-]\s?)([A-ZÀ-ÖØ-Þ][\w’'-]+)")
_NO_NAME_ENDINGS = ("ing", "ed", "ly")
_ODD_NAME = re.compile(r"\b[A-ZÀ-ÖØ-Þ][\w-]*(?:\d|[a-zß-ÿ][A-Z])[\w-]*")
# Words by which a note names a day relative to its own date.
_RELATIVE = re.compile(
    r"\b(?:ago|yesterday|tomorrow|gestern|vorgestern|morgen|übermorgen)\b"
    r"|\b(?:last|next|this|past|coming|previous|following) (?:few |two |three )?(?:night|week|month"
    r"|year|mon|tues|wednes|thurs|fri|satur|sun|spring|summer|autumn|fall|winter)"
    r"|\b(?:letzt|nächst|vorig|vergangen|kommend)e[nmrs]? (?:nacht|woche|monat|jahr|\w{2,8}tag)"
    r"|\bvor \w{2,12} (?:tag|woche|monat|jahr)"
    r"|昨天|明天|前天|后天|上周|下周|上个月|下个月|去年|明年"
)
_WHOLE_HOUR = re.compile(r"(?<=\d)[:.]00\b")
# Adverbs and the like that a language writes with a capital without meaning a name.
_NOT_NAMES = frozenset({"i", "i'm", "i've", "i'd", "i'll", "ok", "mr", "mrs", "ms", "dr"})
_STEM_OVERLAP = 4


@dataclass(frozen=True)
class Evidence:
    """What an answer may rest on.

    Attributes:
        question: as it was asked.
        texts: titles, dates and texts of the cited notes, one each.
        days: `created` of the cited notes, ISO 8601.
    """

    question: str
    texts: Sequence[str]
    days: Sequence[str] = ()

    @cached_property
    def whole(self) -> str:
        """All of it."""
        return "\n".join((self.question, *self.texts, *self.days))

    @cached_property
    def words(self) -> frozenset[str]:
        """Its folded words and their parts."""
        return _pieces(self.whole)

    @cached_property
    def stems(self) -> frozenset[str]:
        """Stems of its subject words."""
        return subject_stems(self.whole)

    @cached_property
    def numbers(self) -> frozenset[str]:
        """Numbers that may be stated: those written or spelt out, hours of either clock, the
        cited notes counted, and parts of dates that a note names relative to its own."""
        written = set(stated_numbers(self.whole)) | _spelt(self.words)
        written |= _on_the_other_clock(self.whole)
        written |= {str(count) for count in range(1, len(self.texts) + 1)}
        written |= {number[-2:].lstrip("0") or "0" for number in written if len(number) == 4}
        years = {int(day[:4]) for day in self.days if day[:4].isdigit()}
        if years and _RELATIVE.search(fold(self.whole)):
            written |= {str(day) for day in range(1, 32)}
            reach = max((int(number) for number in written if len(number) < 3), default=1)
            written |= {str(year - back) for year in years for back in range(-1, reach + 1)}
        return frozenset(written)


def stated_numbers(text: str) -> list[str]:
    """The numbers of a text as digits, each once, without leading zeros, separators of thousands
    and the minutes of a full hour."""
    plain = _WHOLE_HOUR.sub("", text)
    numbers = (_SEPARATORS.sub("", number).lstrip("0") or "0" for number in _NUMBER.findall(plain))
    return list(dict.fromkeys(numbers))


def _on_the_other_clock(text: str) -> set[str]:
    """The hours of a text as the other of the two clocks names them."""
    return {
        str(int(hour) + 12) if half == "p" else str(int(late or hour) % 12)
        for hour, half, late in _CLOCK.findall(fold(text))
    }


def _spelt(spoken: frozenset[str]) -> set[str]:
    values = _values("number_words.txt") | _values("months.txt")
    return {values[word] for word in spoken if word in values}


@cache
def _values(name: str) -> dict[str, str]:
    """Digits by the words for them."""
    rows = map(str.split, lines(name))
    return {word: value for value, *spelt in rows for word in spelt}


@cache
def _calendar() -> frozenset[str]:
    return word_set("weekdays.txt").union(_values("months.txt"))


@cache
def _plain() -> frozenset[str]:
    """Words that say nothing of a subject."""
    everyday = word_set("everyday/en.txt") | word_set("everyday/de.txt")
    return (everyday | word_set("units_of_time.txt") | _calendar()).union(
        _values("number_words.txt")
    )


@cache
def _plain_stems() -> frozenset[str]:
    return subject_stems(" ".join(_plain()))


def unsupported(answer: str, evidence: Evidence) -> list[str]:
    """Numbers and names of an answer that stand in nothing that it cites, nor in the question."""
    numbers = [each for each in stated_numbers(answer) if each not in evidence.numbers]
    names = [name for name in names_of(answer) if not _is_known(name, evidence)]
    return [*numbers, *names]


def names_of(text: str) -> list[str]:
    """Words of a text that are names by their capitals, each once.

    The first word of a sentence may be one too where it is no everyday word. In languages that
    write every noun with a capital only words such as `iPhone` or `R2D2` count.
    """
    found = _ODD_NAME.findall(text)
    if detect_language(text) != "de":
        first = (name for name in _FIRST_WORD.findall(text) if not _begins_plainly(name))
        found = [*_NAME.findall(text), *first, *found]
    names = dict.fromkeys(name.strip("’'-") for name in found)
    return [name for name in names if _may_be_name(name)]


def _begins_plainly(name: str) -> bool:
    folded = fold(name)
    return is_stopword(folded) or folded in _plain() or folded.endswith(_NO_NAME_ENDINGS)


def _may_be_name(name: str) -> bool:
    folded = fold(name).removesuffix("'s").removesuffix("’s")
    return bool(folded) and folded not in _calendar() and folded not in _NOT_NAMES


def _is_known(name: str, evidence: Evidence) -> bool:
    return all(
        any(_same(part, other) for other in evidence.words)
        for part in _pieces(name)
        if not part.isdigit()
    )


def _same(one: str, other: str) -> bool:
    """Whether two words are forms of one: `Postgres` and `PostgreSQL`, `Müller` and `Müllers`."""
    if one == other or stem(one) == stem(other):
        return True
    short, long = sorted((one, other), key=len)
    beginning = short[: max(_STEM_OVERLAP + 1, len(short) - 2)]
    return len(short) > _STEM_OVERLAP and long.startswith(beginning)


def _pieces(text: str) -> frozenset[str]:
    found: set[str] = set()
    for word in words(text):
        found.add(word)
        found.update(part for part in re.split(r"[-_'.]", word) if part)
    return frozenset(found)


def support(answer: str, evidence: Evidence) -> float:
    """Share of the answer's telling words and numbers that the evidence has, 0..1; 1 where it has
    none: words for numbers and times, and everyday words, say nothing of a subject."""
    stems = subject_stems(answer) - _plain_stems()
    own = {one for one in stems if not any(map(str.isdigit, one))}
    numbers = stated_numbers(answer)
    total = len(own) + len(numbers)
    backed = sum(_is_backed(one, evidence) for one in own)
    return (backed + len(evidence.numbers.intersection(numbers))) / total if total else 1.0


def _is_backed(one: str, evidence: Evidence) -> bool:
    if one in evidence.stems:
        return True
    if is_unspaced(one) or len(one) <= _STEM_OVERLAP:
        return False
    beginning = one[: max(_STEM_OVERLAP + 1, len(one) - 2)]
    return any(other.startswith(beginning) for other in evidence.stems)
