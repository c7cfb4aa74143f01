"""What of a model's answer a note bears out: its context, keywords and tags.

A model may copy, loop, invent names or repeat its instructions. Each check names its fault, so that
the journal can say why a value was refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import TYPE_CHECKING

from amem_cli.data import table, word_set
from amem_cli.language.detect import detect_language
from amem_cli.language.lexicon import word_list
from amem_cli.language.words import fold, is_unspaced, sentences, subject_stems, words
from amem_cli.markdown.links import normalise_tag, tag_key
from amem_cli.memory.ask_model import all_instructions
from amem_cli.models.prompt_text import clean_line, numbers_in, repeats_itself

if TYPE_CHECKING:
    from amem_cli.models.ports import Vectors

Similarity = Callable[[str, str], float]

LONGEST_CONTEXT = 200
# A clause of a context that is cut at its end says so much at least, in characters.
_SHORTEST_CLAUSE = 60
_FEWEST_WORDS = 7
_CLOSING = ("", *"\"'”“’»)")
_ENDS = tuple(stop + mark for stop in ".!?…。！？" for mark in _CLOSING)
JUNK = frozenset("{}[]|\t")
_CLAUSE_END = re.compile(r"[,;:]? (?:[–—-] )|[,;:] ")
_BETWEEN = re.compile(r"([;,:] )")
_CALENDAR = subject_stems(
    "monday tuesday wednesday thursday friday saturday sunday january february march april may"
    " june july august september october november december"
)
# Of those that are trusted: a fuller name, a place, an author.
_UNKNOWN_NAMES = 2
_ECHO_WORDS = 5
_COPY_WORDS = 6
MOST_KEYWORDS = 7
MOST_TAGS = 4
# However many newer notes there are: labels that come one by one must not become a flood.
MOST_HELD = 12
_LONGEST_KEYWORD = 48
_MOST_KEYWORD_WORDS = 5
_LONGEST_TAG = 36
_MOST_TAG_WORDS = 4
# Least cosine to the note of a keyword with none of its words.
_LEAST_SIMILARITY = 0.1
_LEAST_SIMILAR_CONTEXT = 0.3
_TAG_WORDS = re.compile(r"[-_/]+")
_A_TIME = "a time"
_KEYWORD_JUNK = frozenset('()[]{}|\\^~=;"?!')
_SPEAKER = re.compile(r"\s{0,8}([^\W\d][\w.'’-]{0,30}(?: [^\W\d][\w.'’-]{0,30})?):")


def similarity_by(encode: Callable[[Sequence[str]], Vectors]) -> Similarity:
    """The cosine of two texts by an encoder; each text is encoded once."""
    vector = cache(lambda text: encode([text])[0])
    return lambda one, other: float(vector(one) @ vector(other))


@dataclass(frozen=True)
class NoteText:
    """A note that a sentence must be about, read once for several checks.

    Attributes:
        said: further text that a sentence about the note may draw on, such as its metadata or
            the newer note that changes it.
        summary: an earlier context of the note.
        beside: text of other notes that was shown with it: a name or number may be theirs.
    """

    title: str
    text: str
    said: str = ""
    summary: str = ""
    beside: str = ""

    @cached_property
    def whole(self) -> str:
        """Title and text."""
        return f"{self.title}\n{self.text}"

    @cached_property
    def stems(self) -> frozenset[str]:
        """Stems of the subject words of title and text."""
        return subject_stems(self.whole)

    @cached_property
    def known(self) -> frozenset[str]:
        """Stems of all that may be drawn on."""
        return self.stems | subject_stems(self.said)

    @cached_property
    def numbers(self) -> frozenset[str]:
        """Numbers that a sentence about the note may name."""
        return numbers_in(f"{self.whole}\n{self.said}\n{self.beside}")

    @cached_property
    def names(self) -> frozenset[str]:
        """Stems of all words that a name may be made of."""
        return self.known | subject_stems(self.beside)

    @cached_property
    def spoken(self) -> str:
        """Words of everything that may be drawn on, in order, between blanks."""
        return f" {' '.join(words(self.whole))} | {' '.join(words(self.said))} "

    def has(self, line: str) -> bool:
        """Whether title or text have the line's words in this order."""
        return f" {' '.join(words(line))} " in self.spoken

    def shares(self, line: str) -> float:
        """Share of the line's subject words that the note has, 0..1."""
        own = subject_stems(line)
        return len(own & self.stems) / len(own) if own else 0.0


def checked_context(
    sentence: object, source: NoteText, similarity: Similarity, *, trusted: bool = False
) -> tuple[str, str]:
    """An answer's context on one line, and why it is refused; one of the two is empty.

    What is longer than a context may be is cut at the end of a sentence or clause.

    Args:
        trusted: the model is able to judge: it may name what the note only means, and can be asked
            for a shorter sentence. Of any other the parts count that the note says.
    """
    line = clean_line(sentence, 2 * LONGEST_CONTEXT) if isinstance(sentence, str) else None
    if line is None and isinstance(sentence, str) and sentence.strip():
        return "", f"is longer than {2 * LONGEST_CONTEXT} characters, or holds code or markup"
    said = line or ""
    line = said if trusted else _own_parts(said, source.title, source.text)
    if said and not line:
        return "", "says what the note does not"
    line = _within_length(line, trusted) if line else ""
    fault = _form_fault(line) or _content_fault(line, source)
    if not fault and not _is_about(line, source, similarity):
        fault = "is not about the note"
    return ("", fault) if fault else (line, "")


def _own_parts(line: str, title: str, text: str) -> str:
    """The parts of a line, between commas, colons and semicolons, that the note says; a line in a
    script without blanks as it is.

    A small model that shortens a note joins words that do not belong together, and tells a guess as
    a fact. So a part counts only if one sentence of the note has its words in their order, and
    leaves nothing out that turns what is said.
    """
    if any(map(is_unspaced, line)):
        return line
    told = [
        words(each) for each in (title, *sentences(text)) if not each.rstrip(")\"'” ").endswith("?")
    ]
    named = frozenset(words(title))
    kept, between = "", ""
    # Every second piece is what stands between two parts.
    pieces = [*_BETWEEN.split(line.rstrip(".")), ""]
    for part, after in zip(pieces[::2], pieces[1::2], strict=True):
        spoken = words(part)
        if any(_is_said(spoken, sentence, named) for sentence in told):
            kept += f"{between if kept else ''}{part}"
        between = after
    return kept


@cache
def _words_of(kind: str) -> frozenset[str]:
    return frozenset(table("prompts.toml")["summary"][kind].split())


def _is_said(part: Sequence[str], sentence: Sequence[str], named: frozenset[str]) -> bool:
    """Whether a sentence has the words of a part in their order; those of the title and those that
    only join others may stand anywhere."""
    free, turning = _words_of("joining"), _words_of("turning")
    last, used = -1, set[int]()
    for word in part:
        place = next((at for at in range(last + 1, len(sentence)) if sentence[at] == word), None)
        if place is None or (word in free and place > last + 2):
            if word not in free | named:
                return False
        else:
            last = place
            used.add(place)
    return bool(used) and not any(
        word in turning for at, word in enumerate(sentence[: last + 2]) if at not in used
    )


def _within_length(line: str, trusted: bool) -> str:
    """The line with a full stop; of a longer one the sentences that fit, else the clauses."""
    line = line if line.endswith(_ENDS) else _ended(line)
    if len(line) > LONGEST_CONTEXT:
        fitting = ""
        for sentence in sentences(line):
            if len(fitting) + len(sentence) >= LONGEST_CONTEXT:
                break
            fitting = f"{fitting} {sentence}".strip()
        ends = [each.start() for each in _CLAUSE_END.finditer(line, _SHORTEST_CLAUSE)]
        fits = [end for end in ends if end < LONGEST_CONTEXT and not trusted]
        line = fitting or (_ended(line[: fits[-1]]) if fits else line)
    return line[:1].upper() + line[1:]


def _ended(line: str) -> str:
    return line.rstrip(" ,;:-–—") + "."


def _length(line: str) -> int:
    return max(len(words(line)), len(subject_stems(line)))


def _form_fault(line: str) -> str:
    if _length(line) < _FEWEST_WORDS:
        return "is empty or too short"
    if repeats_itself(line):
        return "goes round in a loop"
    if len(line) > LONGEST_CONTEXT:
        return f"is too long ({len(line)} characters, {LONGEST_CONTEXT} at most)"
    # "£40 are gone" begins like one, a list item or code does not.
    if not line[0].isalnum() and line[0] not in "\"'“„«‘(~≈£$€¥":
        return "does not begin like a sentence"
    return "" if JUNK.isdisjoint(line) else "holds code or markup"


def _content_fault(line: str, source: NoteText) -> str:
    own = words(line)
    if own == words(source.title) or fold(line).rstrip(".") == fold(source.title):
        return "only repeats the title"
    if repeats_instructions(line, all_instructions(), source):
        return "repeats the instructions"
    if _share_of_runs(own, source.spoken, "", _COPY_WORDS) > 0.8:
        return "copies the note"
    if invented := _invented(line, source):
        return f"names what the note does not: {', '.join(invented[:3])}"
    return ""


def repeats_instructions(line: str, asked: str, source: NoteText) -> bool:
    """Whether five words in a row come from the instructions, and not from a note."""
    instructions = f" {' '.join(words(asked))} "
    return _share_of_runs(words(line), instructions, source.spoken, _ECHO_WORDS) > 0


def _share_of_runs(own: list[str], text: str, but_not_in: str, length: int) -> float:
    """Share of the runs of `length` words that one text has (and the other has not)."""
    runs = [f" {' '.join(own[i : i + length])} " for i in range(len(own) - length + 1)]
    hits = sum(run in text and run not in but_not_in for run in runs)
    return hits / len(runs) if runs else 0.0


def _invented(line: str, source: NoteText) -> list[str]:
    """Numbers and names that the model was not shown, if too many to be a date or a fuller name."""
    numbers = sorted(numbers_in(line) - source.numbers)
    long = [number for number in numbers if len(number) > 2 and number[:2] != "20"]
    # A model that can reckon says what six twenties make.
    if len(numbers) > 2 or len(long) > 1:
        return numbers
    if detect_language(line) != "en":
        return []
    names = [
        name
        for name in (word.strip("\"'“”‘’(),.;:!?") for word in line.split()[1:])
        if name[:1].isupper() and _is_unknown(name, source)
    ]
    return names if len(names) > _UNKNOWN_NAMES else []


def _is_unknown(name: str, source: NoteText) -> bool:
    own = subject_stems(name)
    if not own or not own.isdisjoint(source.names | _CALENDAR):
        return False
    # "T & B" are Tom and Bea.
    return f" {fold(name[0])} " not in source.spoken


def _is_about(line: str, source: NoteText, similarity: Similarity) -> bool:
    shared = source.shares(line)
    if source.said:
        own = subject_stems(line)
        backed = len(own & source.known) >= 0.2 * len(own)
        if not backed:
            return False
        places = (source.whole, source.summary)
        return max(similarity(line, place) for place in places if place) >= 0.3
    if shared >= 0.25 or not shared:
        return shared >= 0.25
    return similarity(line, source.whole) >= _LEAST_SIMILAR_CONTEXT


def room_for_more(held: Sequence[str], most: int) -> int:
    """How many labels may be added to those that a note holds, `most` at a time."""
    return max(0, min(most, MOST_HELD - len(held)))


def checked_keywords(
    proposed: Sequence[str], source: NoteText, similarity: Similarity
) -> tuple[tuple[str, ...], list[str]]:
    """The keywords that the note bears out, at most 7, and what was refused and why."""
    opening = _SPEAKER.match(source.text)
    speaker = fold(opening.group(1)) if opening else ""

    def judged(text: str) -> tuple[str, str, str]:
        keyword = clean_line(text, _LONGEST_KEYWORD)
        fault = "not a phrase" if keyword is None else _keyword_fault(keyword, speaker, source)
        # "18 January" and "8:15" may be what a note is about.
        if fault == _A_TIME and source.has(keyword or ""):
            fault = ""
        keyword = (keyword or "").strip(" .,:;#-–—'\"")
        if not fault and not _is_borne_out(keyword, source, similarity):
            fault = "not in the note"
        return fault, " ".join(words(keyword)) or fold(keyword), keyword

    return _sifted(proposed, MOST_KEYWORDS, judged)


def _sifted(
    proposed: Sequence[str], most: int, judged: Callable[[str], tuple[str, str, str]]
) -> tuple[tuple[str, ...], list[str]]:
    """Of texts with a fault, a key and a label each: the labels, once by key, and the faults."""
    kept: dict[str, str] = {}
    faults: list[str] = []
    for text in proposed:
        fault, key, label = judged(text)
        if fault:
            faults.append(f"“{clean_line(text[:60], 60) or '…'}” is {fault}")
        elif len(kept) < most:
            kept.setdefault(key, label)
    return tuple(kept.values()), faults


def _keyword_fault(keyword: str, speaker: str, source: NoteText) -> str:
    spoken = words(keyword)
    if (
        not 1 <= len(spoken) <= _MOST_KEYWORD_WORDS
        or len(keyword) < 2
        or not any(map(str.isalpha, keyword))
        or not _KEYWORD_JUNK.isdisjoint(keyword)
    ):
        return "not a phrase"
    times = word_list("time")
    if all(word in times or not any(map(str.isalpha, word)) for word in spoken):
        return _A_TIME
    if fold(keyword).rstrip(":") == speaker:
        return "a speaker"
    if fold(keyword) in word_set("form_words.txt") or not subject_stems(keyword):
        return "without a subject"
    return "said twice over" if len(set(spoken)) < len(spoken) or repeats_itself(keyword) else ""


def _is_borne_out(keyword: str, source: NoteText, similarity: Similarity) -> bool:
    """Whether the note holds the keyword's words, or is close to it in meaning."""
    shared = source.shares(keyword)
    # An identifier or a number is in the note, or it is invented.
    codes = [word for word in words(keyword) if "_" in word or any(map(str.isdigit, word))]
    if any(f" {word} " not in source.spoken for word in codes):
        return False
    # Few notes about a decision hold the word "decision".
    return shared > 0 or similarity(keyword, source.whole) >= _LEAST_SIMILARITY


def checked_tags(
    proposed: Sequence[str], vocabulary: Sequence[str]
) -> tuple[tuple[str, ...], list[str]]:
    """Valid tags in the vocabulary's spelling, at most 4, and what was refused and why."""
    spelling = {tag_key(tag): tag for tag in vocabulary}

    def judged(text: str) -> tuple[str, str, str]:
        line = clean_line(text, _LONGEST_TAG)
        tag = (normalise_tag(line) if line else None) or ""
        known = spelling.get(tag_key(tag)) if tag else None
        fault = "" if known else _tag_fault(tag)
        return fault, tag_key(tag), known or tag

    return _sifted(proposed, MOST_TAGS, judged)


def _tag_fault(tag: str) -> str:
    spoken = [part for part in _TAG_WORDS.split(fold(tag)) if part]
    if not tag[:1].isalpha() or len(spoken) > _MOST_TAG_WORDS or len(set(spoken)) < len(spoken):
        return "not a tag"
    without_subject = word_list("time") | word_set("form_words.txt")
    digits = sum(letter.isdigit() for letter in tag)
    if without_subject.issuperset(spoken) or digits > len(tag) / 2:
        return "not a topic"
    return ""
