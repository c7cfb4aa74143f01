"""Decides which keywords and tags of a model's answer a note bears out."""

from __future__ import annotations

import re
from collections.abc import Sequence

from amem_cli.core.model_context import Similarity, Source
from amem_cli.core.model_text import clean_line, repeats_itself, subject_stems
from amem_cli.core.tags import normalise_tag, tag_key
from amem_cli.core.words import fold, words
from amem_cli.data import word_set

MOST_KEYWORDS = 6
MOST_TAGS = 4
# However many newer notes there are: labels that come one by one must not become a flood.
MOST_HELD = 12
_LONGEST_KEYWORD = 48
_MOST_KEYWORD_WORDS = 5
_LONGEST_TAG = 36
_MOST_TAG_WORDS = 4
# Least cosine to the note of a keyword with some of its words, of one with none, and of a new tag.
_LEAST_SIMILARITIES = (0.2, 0.3, 0.15)
# The same for a model that is trusted to judge: "decision" and "people" stand in few notes.
_LEAST_FROM_THE_TRUSTED = (0.1, 0.2, -1.0)
_TAG_WORDS = re.compile(r"[-_/]+")
_KEYWORD_JUNK = frozenset('()[]{}|\\^~=;"?!')
_NUMBERED = re.compile(r"[kt]\d{1,2}\b")
_SPEAKER = re.compile(r"\s{0,8}([^\W\d][\w.'’-]{0,30}(?: [^\W\d][\w.'’-]{0,30})?):")


def room_for_more(held: Sequence[str], most: int) -> int:
    """How many labels may be added to those that a note holds, `most` at a time."""
    return max(0, min(most, MOST_HELD - len(held)))


def checked_keywords(
    proposed: Sequence[str],
    source: Source,
    similarity: Similarity | None,
    *,
    trusted: bool = False,
) -> tuple[tuple[str, ...], list[str]]:
    """The keywords that the note bears out, at most 6, and what was refused and why."""
    kept: dict[str, str] = {}
    faults: list[str] = []
    opening = _SPEAKER.match(source.text)
    speaker = fold(opening.group(1)) if opening else ""
    for text in proposed:
        keyword = clean_line(text, _LONGEST_KEYWORD)
        fault = "not a phrase" if keyword is None else _keyword_fault(keyword, speaker, source)
        keyword = (keyword or "").strip(" .,:;#-–—'\"")
        if not fault and not is_borne_out(keyword, source, similarity, trusted=trusted):
            fault = "not in the note"
        if fault:
            faults.append(f"{_quoted(text)} is {fault}")
        elif len(kept) < MOST_KEYWORDS:
            kept.setdefault(_key(keyword), keyword)
    return tuple(kept.values()), faults


def _key(keyword: str) -> str:
    return " ".join(words(keyword)) or fold(keyword)


def _keyword_fault(keyword: str, speaker: str, source: Source) -> str:
    spoken = words(keyword)
    if not 1 <= len(spoken) <= _MOST_KEYWORD_WORDS:
        return "not a phrase"
    if not _KEYWORD_JUNK.isdisjoint(keyword) or is_number_of_choice(keyword, source):
        return "not a phrase"
    if not any(letter.isalpha() for letter in keyword) or len(keyword) < 2:
        return "not a phrase"
    times = word_set("time_words.txt")
    if all(word in times or not any(map(str.isalpha, word)) for word in spoken):
        return "a time"
    if fold(keyword).rstrip(":") == speaker:
        return "a speaker"
    if fold(keyword) in word_set("form_words.txt") or not subject_stems(keyword):
        return "without a subject"
    return "said twice over" if len(set(spoken)) < len(spoken) or repeats_itself(keyword) else ""


def is_number_of_choice(text: str, source: Source) -> bool:
    """Whether a text begins with the number of something shown, such as `k3`, by mistake."""
    found = _NUMBERED.match(fold(text))
    return found is not None and found.group() not in words(source.whole)


def is_borne_out(
    keyword: str, source: Source, similarity: Similarity | None, *, trusted: bool = False
) -> bool:
    """Whether the note holds the keyword's words, or is close to it in meaning."""
    shared = source.shares(keyword)
    codes = [word for word in words(keyword) if "_" in word or any(map(str.isdigit, word))]
    if any(f" {word} " not in source.spoken for word in codes):
        return False
    if shared == 1.0:
        return True
    if similarity is None:
        return shared >= 0.5
    some, none, _ = _LEAST_FROM_THE_TRUSTED if trusted else _LEAST_SIMILARITIES
    return similarity(keyword, source.whole) >= (some if shared > 0 else none)


def checked_tags(
    proposed: Sequence[str],
    source: Source,
    vocabulary: Sequence[str],
    similarity: Similarity | None,
    *,
    trusted: bool = False,
) -> tuple[tuple[str, ...], list[str]]:
    """Valid tags in the vocabulary's spelling, at most 4, and what was refused and why.

    A tag of the vocabulary is believed; a new one must be in the note, or close to it, unless a
    trusted model names it.
    """
    spelling = {tag_key(tag): tag for tag in vocabulary}
    kept: dict[str, str] = {}
    faults: list[str] = []
    for text in proposed:
        line = clean_line(text, _LONGEST_TAG)
        tag = normalise_tag(line) if line else None
        known = spelling.get(tag_key(tag)) if tag else None
        fault = "" if known else _tag_fault(tag, source, similarity, trusted)
        if fault or tag is None:
            faults.append(f"{_quoted(text)} is {fault}")
        elif len(kept) < MOST_TAGS:
            kept.setdefault(tag_key(tag), known or tag)
    return tuple(kept.values()), faults


def _tag_fault(
    tag: str | None, source: Source, similarity: Similarity | None, trusted: bool
) -> str:
    if tag is None:
        return "not a tag"
    spoken = [part for part in _TAG_WORDS.split(fold(tag)) if part]
    of_no_subject = word_set("time_words.txt") | word_set("form_words.txt")
    plain = [part for part in spoken if part not in of_no_subject]
    if len(spoken) > _MOST_TAG_WORDS or len(set(spoken)) < len(spoken) or not tag[0].isalpha():
        return "not a tag"
    if is_number_of_choice(tag, source):
        return "not a tag"
    digits = sum(letter.isdigit() for letter in tag)
    if not plain or digits > len(tag) / 2:
        return "not a topic"
    phrase = " ".join(spoken)
    if source.shares(phrase) > 0:
        return ""
    least = (_LEAST_FROM_THE_TRUSTED if trusted else _LEAST_SIMILARITIES)[2]
    if similarity is None or similarity(phrase, source.whole) < least:
        return "not in the note"
    return ""


def _quoted(text: str) -> str:
    return f"“{clean_line(text[:60], 60) or '…'}”"
