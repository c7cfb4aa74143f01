"""Decides whether a model's sentence may stand as the context of a note."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from amem_cli.language.words import detect_language, fold, sentences, words
from amem_cli.models.prompt_text import clean_line, numbers_in, repeats_itself, subject_stems

Similarity = Callable[[str, str], float]

LONGEST_CONTEXT = 200
CUT_OFF = "is cut off"
FORCED_STOP = 199
LOOPS = "goes round in a loop"
COPIES = "copies the note"
_FEWEST_WORDS = 7
_ENDS = (".", "!", "?", "…", "。", "！", "？", ".”", ".“", ".»", '."', ".)")
JUNK = frozenset("{}[]|\\^~#_=@\t")
_CALENDAR = subject_stems(
    "monday tuesday wednesday thursday friday saturday sunday january february march april may"
    " june july august september october november december"
)
_ECHO_WORDS = 5
_COPY_WORDS = 6


@dataclass(frozen=True)
class NoteText:
    """A note that a sentence must be about, read once for several checks.

    Attributes:
        title, text: of the note.
        said: further text that a sentence about the note may draw on, such as its metadata or
            the newer note that changes it.
        summary: an earlier context of the note.
    """

    title: str
    text: str
    said: str = ""
    summary: str = ""

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
        return numbers_in(f"{self.whole}\n{self.said}")

    @cached_property
    def spoken(self) -> str:
        """Words of everything that may be drawn on, in order, between blanks."""
        return f" {' '.join(words(self.whole))} | {' '.join(words(self.said))} "

    def shares(self, line: str) -> float:
        """Share of the line's subject words that the note has, 0..1."""
        own = subject_stems(line)
        return len(own & self.stems) / len(own) if own else 0.0


def checked_context(
    sentence: object, source: NoteText, *, asked: str, similarity: Similarity | None
) -> tuple[str, str]:
    """The sentence as a context, or why not.

    Args:
        sentence: of the model's answer; of several sentences the first whole one counts.
        source: what it must be about.
        asked: the instructions, which must not come back as an answer.
        similarity: cosine of two texts, where there is an encoder.

    Returns:
        The context and an empty text, or an empty text and the reason.
    """
    line = clean_line(sentence, 2 * LONGEST_CONTEXT) if isinstance(sentence, str) else None
    line = _first_sentence(line) if line else ""
    fault = _form_fault(line) or _content_fault(line, source, asked)
    if not fault and not _is_about(line, source, similarity):
        fault = "is not about the note"
    return ("", fault) if fault else (line, "")


def _first_sentence(line: str) -> str:
    """The first sentence that says something; a full stop is added unless it may be cut off."""
    telling = [one for one in sentences(line) if _length(one) >= _FEWEST_WORDS]
    first = telling[0] if telling else line
    if not first.endswith(_ENDS) and len(first) < 0.8 * LONGEST_CONTEXT:
        first = first.rstrip(" ,;:-–—") + "."
    return first[:1].upper() + first[1:]


def _length(line: str) -> int:
    return max(len(words(line)), len(subject_stems(line)))


def _form_fault(line: str) -> str:
    if _length(line) < _FEWEST_WORDS:
        return "is empty or too short"
    if repeats_itself(line):
        return LOOPS
    if len(line) > LONGEST_CONTEXT:
        return "is too long"
    # A grammar that allows no more characters makes a model stop in the middle of a sentence.
    if not line.endswith(_ENDS) or line[:-1].endswith((" ", ",", "'")) or len(line) >= FORCED_STOP:
        return CUT_OFF
    if not line[0].isalnum() and line[0] not in "\"'“„«‘(":
        return "does not begin like a sentence"
    if not JUNK.isdisjoint(line):
        return "holds code or markup"
    return ""


def _content_fault(line: str, source: NoteText, asked: str) -> str:
    own = words(line)
    if own == words(source.title) or fold(line).rstrip(".") == fold(source.title):
        return "only repeats the title"
    if repeats_instructions(line, asked, source):
        return "repeats the instructions"
    if _share_of_runs(own, source.spoken, "", _COPY_WORDS) > 0.8:
        return COPIES
    if invented := _invented(line, source):
        return f"names what the note does not: {', '.join(invented[:3])}"
    return ""


def repeats_instructions(line: str, asked: str, source: NoteText) -> bool:
    """Whether five words in a row come from what the model was told, and not from a note."""
    told = f" {' '.join(words(asked))} "
    return _share_of_runs(words(line), told, source.spoken, _ECHO_WORDS) > 0


def _share_of_runs(own: list[str], place: str, but_not_in: str, length: int) -> float:
    """Share of the runs of `length` words that stand in a place (and not in the other)."""
    runs = [f" {' '.join(own[i : i + length])} " for i in range(len(own) - length + 1)]
    found = [run for run in runs if run in place and run not in but_not_in]
    return len(found) / len(runs) if runs else 0.0


def _invented(line: str, source: NoteText) -> list[str]:
    """Numbers and names that nothing shown to the model holds, where they are too many to be a
    date or a fuller name."""
    numbers = sorted(numbers_in(line) - source.numbers)
    if len(numbers) > 2 or any(len(number) > 2 and number[:2] != "20" for number in numbers):
        return numbers
    if detect_language(line) != "en":
        return []
    names = [
        name
        for name in (word.strip("\"'“”‘’(),.;:!?") for word in line.split()[1:])
        if name[:1].isupper() and _is_unknown(name, source)
    ]
    return names if len(names) > 1 else []


def _is_unknown(name: str, source: NoteText) -> bool:
    own = subject_stems(name)
    return bool(own) and own.isdisjoint(source.known) and own.isdisjoint(_CALENDAR)


def _is_about(line: str, source: NoteText, similarity: Similarity | None) -> bool:
    shared = source.shares(line)
    if source.said:
        own = subject_stems(line)
        backed = len(own & source.known) >= 0.2 * len(own)
        if not backed or similarity is None:
            return backed and shared >= 0.1
        places = (source.whole, source.summary)
        return max(similarity(line, place) for place in places if place) >= 0.4
    if similarity is None:
        return shared >= 0.25
    return shared >= 0.1 and similarity(line, source.whole) >= (0.45 if shared < 0.3 else 0.35)
