"""The prompt for an answer from the notes, and the checks of what the model answers.

An answer is believed if the cited notes hold its numbers, names and most of its other words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

from amem_cli.ask.sources import QuotedNote, heading
from amem_cli.data import table
from amem_cli.language.detect import detect_language
from amem_cli.language.lexicon import calendar_words, month_words, number_words, word_list
from amem_cli.language.words import (
    fold,
    is_stopword,
    is_unspaced,
    stem,
    subject_stems,
    words,
)
from amem_cli.memory.grounding import NoteText as Told
from amem_cli.memory.grounding import repeats_instructions
from amem_cli.models.ports import ModelRequest
from amem_cli.models.prompt_text import (
    FENCE,
    quote_as_data,
    quote_line,
    repeats_itself,
    texts_of,
)

LONGEST_ANSWER = 600
MOST_CITED = 6
QUESTION_BYTES = 2_000
# Tokens for the instructions, the question, the shape and the answer, beside the sources.
OVERHEAD_TOKENS = 900
_SOURCE_BYTES = 100_000
_ANSWER_TOKENS = 400
_NO_LANGUAGE_BELOW = 8
_LEAST_SUPPORT = 0.2

_REFUSAL_CHARACTERS = 160

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
_WHOLE_HOUR = re.compile(r"(?<=\d)[:.]00\b")
# Adverbs and the like that a language writes with a capital without meaning a name.
_NOT_NAMES = frozenset({"i", "i'm", "i've", "i'd", "i'll", "ok", "mr", "mrs", "ms", "dr"})
_STEM_OVERLAP = 4


def _said(name: str) -> Any:
    return table("answers.toml")[name]


@cache
def _pattern(name: str) -> re.Pattern[str]:
    return re.compile("|".join(_said(name)))


@dataclass(frozen=True, slots=True)
class CheckedAnswer:
    """What of an answer is believed: whether the notes hold it, and the labels that it cites.

    `fault` says why it is not believed, or is empty; a remark that a model can act on.
    """

    held: bool
    text: str = ""
    cited: tuple[str, ...] = ()
    fault: str = ""


def answer_request(
    question: str, sources: Sequence[QuotedNote], *, deadline: float, remark: str = ""
) -> ModelRequest:
    """Ask for an answer out of the sources, of which there is one at least.

    `remark` says what was wrong with the answer before, if this is the second try.
    """
    labels = {source.path: source.label for source in sources}
    notes = "\n\n".join(
        f"{heading(source, labels)}\n{quote_as_data(source.text, _SOURCE_BYTES)}"
        for source in sources
    )
    asked = f"Question: {quote_line(question, QUESTION_BYTES)}"
    parts = [f"Notes:\n{FENCE}", notes, FENCE, asked]
    label = {"type": "string", "enum": list(labels.values())}
    most = min(MOST_CITED, len(labels))
    schema = {
        "type": "object",
        "properties": {
            "sources": {"type": "array", "items": label, "minItems": 0, "maxItems": most},
            "held": {"type": "boolean"},
            "answer": {"type": "string", "minLength": 0, "maxLength": LONGEST_ANSWER},
        },
    }
    if remark:
        parts.append(f"Your last answer was refused: {quote_line(remark, 400)}. Answer anew.")
    return ModelRequest(
        instructions=_said("instructions"),
        text="\n".join(parts),
        schema=schema,
        max_tokens=_ANSWER_TOKENS,
        deadline=deadline,
    )


def check_answer(
    answer: Mapping[str, Any], question: str, sources: Sequence[QuotedNote]
) -> CheckedAnswer:
    """Believe an answer, whatever its shape, only if the sources that it cites support it."""
    text = answer.get("answer")
    text = " ".join(text.split()) if isinstance(text, str) else ""
    # The schema asks for a boolean; "yes" or 1 comes from a model that did not follow it.
    if answer.get("held") is not True or _refuses(text, sources):
        return CheckedAnswer(held=False)
    by_label = {source.label: source for source in sources}
    cited = tuple(
        name for name in dict.fromkeys(texts_of(answer.get("sources"))) if name in by_label
    )
    chosen = [by_label[name] for name in cited]
    fault = _form_fault(text, question, cited) or _content_fault(text, question, chosen, sources)
    return CheckedAnswer(True, fault=fault) if fault else CheckedAnswer(True, text, cited)


def outdated(cited: Sequence[str], sources: Sequence[QuotedNote]) -> str:
    """A remark if an answer rests on a note without the one that supersedes it, or nothing."""
    labels = {source.path: source.label for source in sources}
    for source in sources:
        newer = {labels[note.path] for note in source.newer if note.path in labels}
        if source.label in cited and newer and not newer.intersection(cited):
            current = " and ".join(sorted(newer))
            return (
                f"{source.label} is superseded by {current}: say what holds now, and cite"
                f" {current}; cite {source.label} beside it only to tell what was before"
            )
    return ""


def _refuses(text: str, sources: Sequence[QuotedNote]) -> bool:
    """Whether a short answer says that there is none, in words that no note has itself."""
    if len(text) > _REFUSAL_CHARACTERS:
        return False
    evidence = fold("\n".join(source.evidence for source in sources))
    return any(match.group() not in evidence for match in _pattern("refusing").finditer(fold(text)))


def _form_fault(text: str, question: str, cited: Sequence[str]) -> str:
    if not text:
        return "held is true, yet there is no answer"
    if not cited:
        return "no source is named"
    if len(text) > LONGEST_ANSWER:
        return "the answer is too long"
    if repeats_itself(text):
        return "the answer goes round in a loop"
    own, asked = words(text), words(question)
    if own and not set(own) - set(asked) and len(set(own)) >= 0.8 * len(set(asked)):
        return "the answer only repeats the question"
    return ""


def _content_fault(
    text: str, question: str, cited: Sequence[QuotedNote], shown: Sequence[QuotedNote]
) -> str:
    everything = "\n".join(source.evidence for source in shown)
    if repeats_instructions(text, _said("instructions"), Told(question, everything)):
        return "the answer repeats the instructions"
    days = [source.created for source in cited]
    evidence = AnswerEvidence(question, [source.evidence for source in cited], days)
    if strange := unsupported(text, evidence):
        quoted = ", ".join(f"“{each}”" for each in strange[:3])
        return f"the notes that are named as sources do not hold {quoted}"
    language = detect_language(text)
    languages = {detect_language(each.text) for each in cited}
    # The language of a few words is a guess.
    is_long = len(words(text)) >= _NO_LANGUAGE_BELOW
    if is_long and language not in {*languages, detect_language(question)}:
        return "the answer is not in the language of the question"
    if language in languages and support(text, evidence) < _LEAST_SUPPORT:
        return "the answer has nothing of what the named sources say"
    return ""


@dataclass(frozen=True)
class AnswerEvidence:
    """What an answer may use: the question, the cited notes with title and date, and their days."""

    question: str
    texts: Sequence[str]
    days: Sequence[str] = ()

    @cached_property
    def whole(self) -> str:
        return "\n".join((self.question, *self.texts, *self.days))

    @cached_property
    def words(self) -> frozenset[str]:
        return _pieces(self.whole)

    @cached_property
    def stems(self) -> frozenset[str]:
        return subject_stems(self.whole)

    @cached_property
    def numbers(self) -> frozenset[str]:
        """Numbers that may be stated.

        Those written or spelt out, hours of either clock, the count of the cited notes, and parts
        of dates that a note names relative to its own.
        """
        spelt = {**number_words(), **month_words()}
        written = set(stated_numbers(self.whole)) | {spelt[w] for w in self.words if w in spelt}
        for hour, half, late in _CLOCK.findall(fold(self.whole)):
            # The hour as the other of the two clocks has it.
            written.add(str(int(hour) + 12) if half == "p" else str(int(late or hour) % 12))
        written |= {str(count) for count in range(1, len(self.texts) + 1)}
        # A year may be shortened to its last two digits.
        written |= {number[-2:].lstrip("0") or "0" for number in written if len(number) == 4}
        years = {int(day[:4]) for day in self.days if day[:4].isdigit()}
        if years and _pattern("relative").search(fold(self.whole)):
            # "Three weeks ago" may be any day of a month, and "two years ago" an earlier year.
            written |= {str(day) for day in range(1, 32)}
            reach = max((int(number) for number in written if len(number) < 3), default=1)
            # From -1, for "next year".
            written |= {str(year - back) for year in years for back in range(-1, reach + 1)}
        return frozenset(written)


def stated_numbers(text: str) -> list[str]:
    """The numbers of a text as digits, each once.

    Leading zeros, separators of thousands and the minutes of a full hour are left out.
    """
    plain = _WHOLE_HOUR.sub("", text)
    numbers = (_SEPARATORS.sub("", number).lstrip("0") or "0" for number in _NUMBER.findall(plain))
    return list(dict.fromkeys(numbers))


@cache
def _plain() -> frozenset[str]:
    """Words that say nothing of a subject."""
    return (word_list("everyday") | word_list("units") | calendar_words()).union(number_words())


@cache
def _plain_stems() -> frozenset[str]:
    return subject_stems(" ".join(_plain()))


def unsupported(answer: str, evidence: AnswerEvidence) -> list[str]:
    """Numbers and names of an answer that are neither in the cited notes nor in the question."""
    numbers = [each for each in stated_numbers(answer) if each not in evidence.numbers]
    names = [name for name in names_of(answer) if not _is_known(name, evidence)]
    return [*numbers, *names]


def names_of(text: str) -> list[str]:
    """Words of a text that are names by their capitals, each once.

    The first word of a sentence may be one too. In languages that write every noun with a capital
    only words such as `iPhone` or `R2D2` count.
    """
    words_with_capitals = _ODD_NAME.findall(text)
    if detect_language(text) != "de":
        first = (name for name in _FIRST_WORD.findall(text) if not _is_everyday(fold(name)))
        words_with_capitals = [*_NAME.findall(text), *first, *words_with_capitals]
    names = {name: fold(name) for name in (word.strip("’'-") for word in words_with_capitals)}
    bare = {name: folded.removesuffix("'s").removesuffix("’s") for name, folded in names.items()}
    return [
        name for name in names if bare[name] and bare[name] not in calendar_words() | _NOT_NAMES
    ]


def _is_everyday(word: str) -> bool:
    return is_stopword(word) or word in _plain() or word.endswith(_NO_NAME_ENDINGS)


def _is_known(name: str, evidence: AnswerEvidence) -> bool:
    return all(
        any(_is_same_word(part, other) for other in evidence.words)
        for part in _pieces(name)
        if not part.isdigit()
    )


def _is_same_word(one: str, other: str) -> bool:
    """Whether two words are forms of one: `Postgres` and `PostgreSQL`, `Müller` and `Müllers`."""
    if one == other or stem(one) == stem(other):
        return True
    short, long = sorted((one, other), key=len)
    return _begins_alike(short, [long])


def _begins_alike(word: str, others: Iterable[str]) -> bool:
    """Whether another word begins as this one, but for an ending of two letters."""
    beginning = word[: max(_STEM_OVERLAP + 1, len(word) - 2)]
    return len(word) > _STEM_OVERLAP and any(other.startswith(beginning) for other in others)


def _pieces(text: str) -> frozenset[str]:
    """The words of a text and their parts."""
    pieces = (piece for word in words(text) for piece in (word, *re.split(r"[-_'.]", word)))
    return frozenset(filter(None, pieces))


def support(answer: str, evidence: AnswerEvidence) -> float:
    """Share of the answer's subject words and numbers that the evidence has, 0..1.

    1 if it has none: words for numbers and times, and everyday words, say nothing of a subject.
    """
    stems = subject_stems(answer) - _plain_stems()
    own = {one for one in stems if not any(map(str.isdigit, one))}
    numbers = stated_numbers(answer)
    total = len(own) + len(numbers)
    backed = sum(_is_backed(one, evidence) for one in own)
    return (backed + len(evidence.numbers.intersection(numbers))) / total if total else 1.0


def _is_backed(one: str, evidence: AnswerEvidence) -> bool:
    stems = evidence.stems
    return one in stems or (not is_unspaced(one) and _begins_alike(one, stems))
