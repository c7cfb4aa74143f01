"""The expressions by which `cues` reads a folded sentence, made of the language files' phrases."""

from __future__ import annotations

import re
from functools import cache

from amem_cli.language.expressions import alternatives, field_pattern, spaced, unspaced
from amem_cli.language.lexicon import languages, phrases
from amem_cli.language.words import UNSPACED_RUN

# Letters between a denial and its cue where no blanks tell which word it belongs to.
_NEAR = ".{0,3}$"
_OPENING = r"[\s(\"'“„«《「『]"


def cue_pattern(kind: str, part: str) -> re.Pattern[str]:
    """The cues of a kind, such as `replaced`, that stand in a part, such as `acts`."""
    return field_pattern(f"{kind}.{part}")


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
    return re.compile(f"{alternatives(others)}|{alternatives(near)}{_NEAR}")


def denial_behind() -> re.Pattern[str]:
    """Behind a cue in its clause: "Das ersetzt den Rückblick nicht"."""
    return field_pattern("doubts.denials_behind")


def supposition() -> re.Pattern[str]:
    """Anywhere before a cue."""
    return field_pattern("doubts.suppositions")


@cache
def question_ends() -> tuple[str, ...]:
    """What ends a question that has no question mark."""
    return phrases("doubts.question_ends")


@cache
def determiners() -> re.Pattern[str]:
    """Between a cue that acts and a title."""
    words = "|".join(filter(None, (spaced("references.determiners"), spaced("references.fillers"))))
    own = unspaced("references.determiners")
    return re.compile(rf"(?:{own}{{1,3}}|(?: (?:{words})){{0,3}})\W{{0,3}}")


def narrowing() -> re.Pattern[str]:
    """After these, another thing is meant than the title names."""
    return field_pattern("references.narrowing")


@cache
def narrowing_unspaced() -> re.Pattern[str]:
    """Words that narrow a title where no blanks part words: 取代[[…]]的滤芯."""
    return re.compile(unspaced("references.narrowing"))


@cache
def reference() -> re.Pattern[str]:
    """What is named together with a link, up to it: "what I wrote in", "point two of my"."""
    own = spaced("references.determiners")
    names = f"(?:{spaced('references.documents')}|{spaced('references.parts')})(?:s|en|n)?"
    numbers = spaced("references.part_numbers")
    return re.compile(
        rf"(?:\b(?:(?P<what>{spaced('references.what')})|{own}) ){{0,6}}"
        rf"(?:(?P<piece>\b{names}(?: (?:\d{{1,2}}|{numbers}))?"
        rf"|{alternatives(phrases('references.quoting'))}|\(\w\))"
        rf"(?: {spaced('references.within')})?(?: {spaced('references.articles')})?)?"
        rf"(?:{unspaced('references.determiners')}|{_OPENING}){{0,4}}$"
    )


@cache
def says() -> re.Pattern[str]:
    """Behind a link after "what": "what [[…]] says"."""
    return re.compile(rf"(?: {spaced('references.says')}\b)?")


def parts_behind() -> re.Pattern[str]:
    """Behind a link, what names a part of it: [[…]]里的价格."""
    return field_pattern("references.parts_behind")


@cache
def document() -> re.Pattern[str]:
    """A title with these names something that is written, of which no thing is said instead."""
    return re.compile(
        rf"\b{spaced('references.documents')}(?:s|en|n)?\b|{unspaced('references.documents')}"
    )


def of_notes() -> re.Pattern[str]:
    """From the beginning of a cue, what is said of notes only; things and people move and end."""
    return field_pattern("references.of_notes")


@cache
def towards_cue() -> re.Pattern[str]:
    """Between a link that is the subject and its cue."""
    relatives, pronouns = spaced("references.relatives"), spaced("references.pronouns")
    return re.compile(
        rf"[)\]\"'”“»》」』]{{0,3}}(?:,? {relatives}|(?::| [–—-]) {pronouns}"
        rf"|[,:]{unspaced('references.pronouns')})?"
        rf"(?: ?{spaced('references.between')}\b|{unspaced('references.between')})*\W{{0,2}}"
    )


@cache
def preposition() -> re.Pattern[str]:
    """Before a link these make something else the subject: "the man from [[…]]"."""
    return re.compile(rf"{alternatives(phrases('references.prepositions'))}\W*$")


@cache
def joining() -> re.Pattern[str]:
    """Before a link that a later cue speaks of: 与[[…]]矛盾."""
    return re.compile(rf"{alternatives(phrases('references.joined_by'))}\W*$")


@cache
def itself() -> re.Pattern[str]:
    """Before a cue that acts, in its clause: the note speaks of itself."""
    return re.compile(rf"\W*{alternatives(phrases('references.itself'))}\W*")


def agent() -> re.Pattern[str]:
    """Behind these stands what takes the place."""
    return field_pattern("references.agents")


@cache
def written() -> re.Pattern[str]:
    """Before a day that says when something was written: "the vote of", "what I decided on"."""
    return field_pattern("references.written")


def written_behind() -> re.Pattern[str]:
    """Behind such a day: "last week I wrote", "Friday's decision"."""
    return field_pattern("references.written_behind")
