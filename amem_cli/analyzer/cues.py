"""What a note says of older ones in so many words: that they are replaced, wrong, right or settled.

A cue is a phrase of `data/stance.toml` in a note's own sentences: not in a question, a quotation, a
denial or a condition. It counts for the note that the sentence points at.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cache
from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

from amem_cli.data import table
from amem_cli.language.dates import DaysNamed, days_named, moment_in
from amem_cli.language.words import (
    TOKEN,
    fold,
    is_stopword,
    is_unspaced,
    sentences,
    stem,
    subject_stems,
    words,
)
from amem_cli.markdown.links import find_links
from amem_cli.markdown.plain_text import prose, without_quotes

if TYPE_CHECKING:
    from amem_cli.analyzer.link_evidence import LinkCandidate
    from amem_cli.notes.note import Note, Relation

Kind = Literal["replaced", "refuted", "confirmed", "settled"]
Pointer = Literal["link", "title", "day", "time", "subject"]

RELATIONS: dict[Kind, Relation] = {
    "replaced": "supersedes",
    "refuted": "contradicts",
    "confirmed": "supports",
    "settled": "related",
}
# Letters on either side: what is called a sentence may be a whole note.
_LOOKED_AT = 300
_MOST_SENTENCES = 200
_CLAUSE = re.compile(r"[,;:()–—]")
_NEXT_WORD = re.compile(r"\s+(\w+)")
_NARROWED = re.compile(r"['’]|-\w")
_SPEECH = re.compile(r"\"[^\"\n]{0,600}\"|“[^”\n]{0,600}”|„[^“”\n]{0,600}[“”]|«[^»\n]{0,600}»")
_WORDS_OF_SPEECH = 5
_QUOTATION_MARKS = '"“”„«»'
_RANKS_OF_A_TIME = 3
# Of the nearest note alone a cue is right in every second case, so a person decides; the other cues
# are right far more seldom.
_OF_SUBJECTS: frozenset[Kind] = frozenset({"replaced", "refuted"})
_LEAST_STRENGTH_OF_SUBJECT = 0.5
_SMALL_NUMBER = re.compile(r"\d{1,2}")
_A_FEW = 4.0
_RARE_SHARE = 0.05


@dataclass(frozen=True, slots=True)
class Statement:
    """What a note says of an older one.

    Attributes:
        older: position of that note among the candidates.
        pointer: what leads to it: a link, its title or most of it, the day when it was written, a
            longer time, or its subject alone.
        words: those of the cue, folded.
        sentence: its position among `own_sentences`.
        sure: its rule is right often enough to be believed unasked.
    """

    older: int
    kind: Kind
    pointer: Pointer
    words: str
    sentence: int
    sure: bool

    @property
    def relation(self) -> Relation:
        return RELATIONS[self.kind]


class Cue(NamedTuple):
    """A cue at a place in a folded sentence.

    Attributes:
        part: `acts` on what stands behind it, `states` something of what is beside it, or says it
            `alone`, whatever the sentence names.
    """

    kind: Kind
    start: int
    end: int
    part: str
    words: str

    @property
    def acts(self) -> bool:
        return self.part == "acts"


def own_sentences(note: Note) -> list[str]:
    """What the writer of a note says, without markup: its title and sentences; longer speech of
    others becomes “…”."""
    text = _SPEECH.sub(_shortened_speech, without_quotes(note.body))
    return [note.title, *sentences(prose(text))[:_MOST_SENTENCES]]


def _shortened_speech(speech: re.Match[str]) -> str:
    return speech[0] if len(words(speech[0])) < _WORDS_OF_SPEECH else "“…”"


def statements(
    note: Note,
    candidates: Sequence[LinkCandidate],
    strengths: Sequence[float],
    *,
    document_frequency: Callable[[str], int],
    total: int,
) -> list[Statement]:
    """What the note says of the candidates, at most one statement of each, the surest.

    Args:
        candidates: older notes, in any order; none of them is the note.
        strengths: of a link to each, 0..1.
        document_frequency: number of notes of the vault that hold a folded word, of `total` notes.
    """
    moment = moment_in(note.created)
    said = [_sentence(at, text) for at, text in enumerate(own_sentences(note))]
    links = {
        name: fold(link.display or link.target.rsplit("/", 1)[-1])
        for link in find_links(without_quotes(note.body))
        if link.target and (name := fold(link.target.rsplit("/", 1)[-1].removesuffix(".md")))
    }
    found: list[Statement] = []
    unplaced: list[tuple[_Sentence, Cue]] = []
    for sentence in said:
        pointed = list(_named(sentence, said, candidates, links))
        if not pointed and moment is not None:
            pointed = _by_time(sentence, candidates, moment.date())
        found += pointed
        if not pointed:
            unplaced += [(sentence, cue) for cue in sentence.cues if cue.kind in _OF_SUBJECTS]
    by_subject = _by_subject(unplaced, candidates, strengths, document_frequency, total)
    first: dict[int, Statement] = {}
    for each in sorted([*found, *filter(None, [by_subject])], key=_order):
        first.setdefault(each.older, each)
    return list(first.values())


def days_pointed_at(note: Note) -> set[str]:
    """The days on which the note says that something was written, as `2026-03-04`."""
    moment = moment_in(note.created)
    if moment is None:
        return set()
    found = (_times(fold(text), moment.date()) for text in own_sentences(note))
    return {f"{each.first}" for times in found for each in times if each.first == each.last}


class _Sentence(NamedTuple):
    at: int
    text: str
    folded: str
    cues: tuple[Cue, ...]


def _sentence(at: int, text: str) -> _Sentence:
    folded = fold(text).replace("’", "'")
    return _Sentence(at, text, folded, tuple(_cues(folded)))


def _order(statement: Statement) -> tuple[bool, int, int]:
    pointers, kinds = get_args(Pointer), get_args(Kind)
    return (
        not statement.sure,
        pointers.index(statement.pointer),
        kinds.index(statement.kind),
    )


def _cues(folded: str) -> Iterator[Cue]:
    """The cues of a folded sentence, what replaces before what refutes, confirms and settles."""
    for kind in get_args(Kind):
        for part in table("stance.toml")[kind]:
            for match in _pattern(kind, part).finditer(folded):
                if not (_is_quoted(folded, match.start()) or is_doubted(folded, match)):
                    yield Cue(kind, match.start(), match.end(), part, match[0].strip())


def _is_quoted(folded: str, at: int) -> bool:
    before = folded[max(0, at - _LOOKED_AT) : at]
    opened = sum(before.count(mark) for mark in _QUOTATION_MARKS)
    return opened % 2 == 1


@cache
def _pattern(group: str, name: str) -> re.Pattern[str]:
    return re.compile("".join(table("stance.toml")[group][name]))


def is_doubted(sentence: str, cue: re.Match[str]) -> bool:
    """Whether a folded sentence denies, asks or supposes what it says with the cue."""
    before = sentence[max(cue.start() - _LOOKED_AT, 0) : cue.start()]
    after = sentence[cue.end() : cue.end() + _LOOKED_AT]
    clause = _CLAUSE.split(before)[-1]
    asks = sentence[-_LOOKED_AT:].rstrip(" \"”'’)").endswith("?")
    return (
        asks
        or _pattern("about", "against").search(clause) is not None
        or _pattern("about", "denied").search(_CLAUSE.split(after)[0]) is not None
        or _pattern("about", "unless").search(before) is not None
    )


def _named(
    sentence: _Sentence,
    said: Sequence[_Sentence],
    candidates: Sequence[LinkCandidate],
    links: Mapping[str, str],
) -> Iterator[Statement]:
    """What a sentence says of the notes that it links or calls by their titles."""
    folded = sentence.folded
    for at, older in enumerate(candidates):
        file = older.path.rsplit("/", 1)[-1].removesuffix(".md")
        names = map(fold, (older.title, file, *older.aliases))
        shown = next((links[name] for name in names if name in links), "")
        if shown and shown in folded:
            cue = _cue_of_link(sentence, folded.index(shown), said)
            if cue is not None:
                yield Statement(at, cue.kind, "link", cue.words, sentence.at, cue.kind != "settled")
            continue
        for cue in sentence.cues:
            if _speaks_of_title(folded, cue, older.title):
                yield Statement(
                    at, cue.kind, "title", cue.words, sentence.at, cue.kind != "settled"
                )
                break


def _cue_of_link(sentence: _Sentence, start: int, said: Sequence[_Sentence]) -> Cue | None:
    """The cue that speaks of a link in a sentence, or beside one without a cue."""
    if sentence.cues:
        return next(
            (
                cue
                for cue in sentence.cues
                if not (cue.acts and start < cue.end)
                and not _takes_its_place(sentence.folded, cue, start)
            ),
            None,
        )
    beside = said[max(0, sentence.at - 1) : sentence.at + 2]
    return next((cue for each in beside for cue in each.cues if not cue.acts), None)


def _takes_its_place(folded: str, cue: Cue, named: int) -> bool:
    """ "Lunch is replaced by the review": not the review is."""
    until = min(max(named, 0), cue.end + _LOOKED_AT)
    return _pattern("about", "by").search(folded, cue.end, until) is not None


def _speaks_of_title(folded: str, cue: Cue, title: str) -> bool:
    tokens = TOKEN.findall(fold(title))
    if any(map(is_unspaced, tokens)):
        return len(fold(title)) >= 3 and fold(title) in folded
    named = _title_pattern(title)
    if named is None:
        return False
    if cue.acts:
        gap = _pattern("about", "determiners").match(folded, cue.end)
        found = named.match(folded, gap.end() if gap else cue.end)
        return found is not None and _ends_there(folded, found.end(), folded[cue.start : cue.end])
    for found in named.finditer(folded):
        first, last = min(found.end(), cue.end), max(found.start(), cue.start)
        beside = not re.search(r"[,;]", folded[first:last]) and last - first <= _LOOKED_AT
        if (
            beside
            and _ends_there(folded, found.end(), "")
            and not _takes_its_place(folded, cue, found.start())
        ):
            return True
    return False


def _title_pattern(title: str) -> re.Pattern[str] | None:
    """The title in a folded text: whole, or its beginning of three words or more; a title of one
    word only within quotation marks. None if it has too few telling words."""
    tokens = TOKEN.findall(fold(title).replace("’", "'"))
    telling = [not is_stopword(token) for token in tokens]
    if len(tokens) == 1 and sum(telling):
        return re.compile(rf"(?<=[\"“„«]){re.escape(tokens[0])}(?=[\"”“»])")
    if sum(telling) < 2:
        return None
    forms = [tokens]
    if len(tokens) > 3 and sum(telling[:-1]) >= 2:
        forms.append(tokens[:-1])
    texts = (r"\W{1,3}".join(map(re.escape, form)) for form in forms)
    return re.compile(rf"(?<!\w)(?:{'|'.join(texts)})(?!\w)")


def _ends_there(folded: str, end: int, verb: str) -> bool:
    """Whether nothing that follows makes another thing of what is named."""
    rest = folded[end : end + _LOOKED_AT]
    if verb.startswith("lös"):
        return _pattern("about", "parted").match(rest) is not None
    if _NARROWED.match(rest):
        return False
    follows = _NEXT_WORD.match(rest)
    if not verb or follows is None:
        return follows is None or not _pattern("about", "narrowing").fullmatch(follows[1])
    return is_stopword(follows[1]) and not _pattern("about", "narrowing").fullmatch(follows[1])


def _by_time(
    sentence: _Sentence, candidates: Sequence[LinkCandidate], today: date
) -> list[Statement]:
    """The note that was written when the sentence says: of several the nearest in meaning."""
    for named in _times(sentence.folded, today) if sentence.cues else ():
        is_day = named.first == named.last
        of_then = [
            (older.rank, at)
            for at, older in enumerate(candidates)
            if (is_day or older.rank < _RANKS_OF_A_TIME)
            and (moment := moment_in(older.created))
            and named.first <= moment.date() <= named.last
        ]
        if of_then:
            cue = sentence.cues[0]
            how: Pointer = "day" if is_day else "time"
            return [Statement(min(of_then)[1], cue.kind, how, cue.words, sentence.at, True)]
    return []


def _times(folded: str, today: date) -> list[DaysNamed]:
    """The times of which a folded sentence says that something was written then."""
    return [
        each
        for each in days_named(folded, today)
        if _pattern("about", "written").search(folded[max(0, each.start - _LOOKED_AT) : each.start])
        or _pattern("about", "written_behind").match(folded, each.end)
    ]


def _by_subject(
    unplaced: Sequence[tuple[_Sentence, Cue]],
    candidates: Sequence[LinkCandidate],
    strengths: Sequence[float],
    document_frequency: Callable[[str], int],
    total: int,
) -> Statement | None:
    """What cues that point at nothing say of the nearest note, if it is near enough: the two are
    each other's nearest, or the sentence shares a rare word with it."""
    nearest = next((at for at, older in enumerate(candidates) if older.rank == 0), None)
    if nearest is None or strengths[nearest] < _LEAST_STRENGTH_OF_SUBJECT:
        return None
    older, usual = candidates[nearest], max(_A_FEW, _RARE_SHARE * total)
    theirs = subject_stems(f"{older.title}\n{older.text}")
    choices = []
    for sentence, cue in unplaced:
        # What is replaced must be something that the older note speaks of.
        if cue.acts and not any(
            one in theirs and not _SMALL_NUMBER.fullmatch(one)
            for one in subject_stems(_CLAUSE.split(sentence.folded[cue.end :])[0])
        ):
            continue
        shares = any(
            len(word) > 2
            and not is_stopword(word)
            and stem(word) in theirs
            and document_frequency(word) <= usual
            for word in words(sentence.text)
        )
        if shares or older.reverse_rank == 0:
            found = Statement(nearest, cue.kind, "subject", cue.words, sentence.at, sure=False)
            choices.append((not shares, found))
    return min(choices, key=lambda each: (each[0], _order(each[1])))[1] if choices else None
