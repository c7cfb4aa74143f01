"""What a note says of older ones in so many words: that they are replaced, wrong, right or settled.

A cue is a phrase of a language file in a note's own sentences: not in a question, a quotation, a
denial or a condition. It counts for the note that the sentence points at.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import islice, takewhile
from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

from amem_cli.analyzer.cue_patterns import (
    any_phrase,
    any_phrase_at_end,
    denial,
    determiners,
    document,
    itself,
    narrowing_unspaced,
    reference,
    says,
    separable_verbs,
    towards_cue,
)
from amem_cli.analyzer.own_words import Link, OwnSentence, own_sentences, straight
from amem_cli.analyzer.revisions import (
    Revision,
    SentenceNearness,
    SignedSentence,
    possible_revisions,
    revision_probability,
    signed_sentences,
)
from amem_cli.language.dates import DaysNamed, days_named, moment_in
from amem_cli.language.lexicon import phrases
from amem_cli.language.words import (
    TOKEN,
    fold,
    is_stopword,
    is_unspaced,
    stem,
    subject_stems,
)

if TYPE_CHECKING:
    from amem_cli.analyzer.link_evidence import LinkCandidate
    from amem_cli.notes.note import Note, Relation

Kind = Literal["replaced", "refuted", "confirmed", "settled"]
Pointer = Literal["link", "title", "day", "time", "subject"]
Part = Literal["acts", "states", "alone", "joined"]

RELATIONS: dict[Kind, Relation] = {
    "replaced": "supersedes",
    "refuted": "contradicts",
    "confirmed": "supports",
    "settled": "related",
}
# Letters on either side.
_LOOKED_AT = 300
_MOST_CUES = 20
# German sets off with a comma what belongs together: "ich glaube nicht, dass …".
_CLAUSE = re.compile(r"[,;:()–—](?! dass\b)")
# Not if it goes on with a pronoun: "[[…]]: it is wrong".
_CLAUSE_END = re.compile(r"[,;:](?! (?:it|this|that|which|all of it|es|das|die|der)\b)")
_THING = re.compile(r" (?:the|my|our|his|her|their) ((?:[\w-]+ ?){2,6})")
_NEXT_WORD = re.compile(r"\s+(\w+)")
_NARROWED = re.compile(r"['’]|-\w")
_TITLE_MARKS = "《〈「『"
_QUOTATION_MARKS = '"“”„«»「」'
# A longer time than a day means one of so many nearest notes.
_NEAREST_OF_A_TIME = 3
_OF_SUBJECTS: frozenset[Kind] = frozenset({"replaced", "refuted"})
# Of those proposed, two in three are right (docs/memory.md).
LEAST_PROBABILITY, _LEAST_IF_JUDGED = 0.5, 0.45
_MOST_PROPOSED = 2


@dataclass(frozen=True, slots=True)
class Statement:
    """What a note says of an older one.

    Attributes:
        older: position of that note among the candidates.
        pointer: what leads to it: a link, its title or most of it, the day when it was written, a
            longer time, or its subject alone.
        words: those of the cue, folded.
        behind: what follows the cue in it, folded.
        acts: the cue stands before what it speaks of.
        following: the next sentence of its paragraph, or empty.
        sure: its rule is right often enough to be believed unasked.
    """

    older: int
    kind: Kind
    pointer: Pointer
    words: str
    sentence: str
    behind: str
    following: str
    acts: bool
    sure: bool

    @property
    def relation(self) -> Relation:
        return RELATIONS[self.kind]


class Cue(NamedTuple):
    """A cue at a place in a folded sentence.

    Attributes:
        part: `acts` on what stands behind it, `states` something of what is beside it, says it
            `alone`, whatever the sentence names, or is `joined` to what stands before it (与…矛盾).
    """

    kind: Kind
    start: int
    end: int
    part: str
    words: str

    @property
    def acts(self) -> bool:
        return self.part == "acts"


class SpokenTitle(NamedTuple):
    """A title as sentences may call it.

    Attributes:
        pattern: finds it in a folded sentence: whole, or its beginning of three words or more; one
            of one word only within quotation marks. None if it has too few telling words.
        is_unmistakable: it names something that is written: a plan, a list, a date.
    """

    pattern: re.Pattern[str] | None
    is_unspaced: bool
    is_unmistakable: bool
    stems: frozenset[str]

    @classmethod
    def of(cls, title: str) -> SpokenTitle:
        folded, stems = straight(title), subject_stems(title)
        tokens = TOKEN.findall(folded)
        is_note = document().search(folded) is not None
        if any(map(is_unspaced, tokens)):
            whole = re.compile(re.escape(folded)) if len(folded) >= 3 else None
            return cls(whole, True, is_note, stems)
        telling = [not is_stopword(token) for token in tokens]
        if len(tokens) == 1 and sum(telling):
            quoted = re.compile(rf"(?<=[\"“„«]){re.escape(tokens[0])}(?=[\"”“»])")
            return cls(quoted, False, is_note, stems)
        if sum(telling) < 2:
            return cls(None, False, is_note, stems)
        forms = [tokens]
        if len(tokens) > 3 and sum(telling[:-1]) >= 2:
            forms.append(tokens[:-1])
        texts = (r"\W{1,3}".join(map(re.escape, form)) for form in forms)
        return cls(re.compile(rf"(?<!\w)(?:{'|'.join(texts)})(?!\w)"), False, is_note, stems)


class _Sentence(NamedTuple):
    own: OwnSentence
    cues: tuple[Cue, ...]

    @property
    def folded(self) -> str:
        return self.own.folded

    def says(self, older: int, cue: Cue, pointer: Pointer, *, sure: bool) -> Statement:
        own = self.own
        quoted = (cue.words, own.text, own.folded[cue.end :], own.following)
        return Statement(older, cue.kind, pointer, *quoted, cue.acts, sure)


def statements(
    note: Note,
    candidates: Sequence[LinkCandidate],
    strengths: Sequence[float],
    *,
    document_frequency: Callable[[str], int],
    total: int,
    judged: Mapping[int, Mapping[str, float]] | None = None,
    nearness: SentenceNearness = lambda sentence: {},
) -> list[Statement]:
    """What the note says of the candidates, at most one statement of each, the surest.

    Args:
        candidates: older notes, in any order; none of them is the note.
        strengths: of a link to each, 0..1.
        document_frequency: number of notes of the vault that hold a folded word, of `total` notes.
        judged: the judge's probabilities of `none` and of each relation, by candidate,
            of those that it was asked about.
        nearness: how near the tokens of a sentence are to those of the candidates, by path.
    """
    moment = moment_in(note.created)
    sentences = list(own_sentences(note))
    read = (_Sentence(own, tuple(islice(_cues(own.folded), _MOST_CUES))) for own in sentences)
    # Few notes have any, and to look for the titles in them takes long.
    with_cues = [sentence for sentence in read if sentence.cues]
    titles = [SpokenTitle.of(each.title) for each in candidates] if with_cues else []
    leads = _leads(candidates) if with_cues or any(own.links for own in sentences) else {}
    found: list[Statement] = []
    placed: set[OwnSentence] = set()
    for sentence in with_cues:
        pointed = list(_named(sentence, titles, leads)) or _named_in_part(sentence, titles)
        if moment is not None and not any(each.sure for each in pointed):
            pointed = _by_time(sentence, candidates, moment.date()) or pointed
        found += pointed
        if pointed:
            placed.add(sentence.own)
    unplaced = (own for own in sentences if own not in placed)
    possible = possible_revisions(
        note,
        sentences,
        signed_sentences(unplaced),
        candidates,
        leads,
        strengths,
        document_frequency=document_frequency,
        total=total,
        nearness=nearness,
    )
    found += _proposed(possible, candidates, judged or {}, sentences)
    first: dict[int, Statement] = {}
    for each in sorted(found, key=_order):
        first.setdefault(each.older, each)
    return list(first.values())


def days_pointed_at(note: Note) -> set[str]:
    """The days on which the note says that something was written, as `2026-03-04`."""
    moment = moment_in(note.created)
    if moment is None:
        return set()
    found = (_times(each.folded, moment.date()) for each in own_sentences(note))
    return {f"{each.first}" for times in found for each in times if each.first == each.last}


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
        for part in get_args(Part):
            for match in any_phrase(f"{kind}.{part}").finditer(folded):
                if (
                    match[0]
                    and _has_its_particle(folded, match)
                    and not (_is_quoted(folded, match.start()) or is_doubted(folded, match))
                ):
                    yield Cue(kind, match.start(), match.end(), part, match[0].strip())


def _particle_of(verb: str) -> re.Pattern[str] | None:
    verbs = separable_verbs()
    return next((verbs[each] for each in verbs if verb.startswith(each)), None)


def _has_its_particle(folded: str, cue: re.Match[str]) -> bool:
    particle = _particle_of(cue[0])
    return particle is None or particle.match(folded, cue.end()) is not None


def _is_quoted(folded: str, at: int) -> bool:
    before = folded[max(0, at - _LOOKED_AT) : at]
    opened = sum(before.count(mark) for mark in _QUOTATION_MARKS)
    return opened % 2 == 1


def is_doubted(sentence: str, cue: re.Match[str]) -> bool:
    """Whether a folded sentence denies, asks or supposes what it says with the cue."""
    before = sentence[max(cue.start() - _LOOKED_AT, 0) : cue.start()]
    after = sentence[cue.end() : cue.end() + _LOOKED_AT]
    clause = _CLAUSE.split(before)[-1]
    question_ends = ("?", *phrases("doubts.question_ends"))
    return (
        sentence[-_LOOKED_AT:].rstrip(" \"”'’)」").endswith(question_ends)
        or denial().search(clause) is not None
        or any_phrase("doubts.denials_behind").search(_CLAUSE.split(after)[0]) is not None
        or any_phrase("doubts.suppositions").search(before) is not None
    )


def _leads(candidates: Sequence[LinkCandidate]) -> dict[str, int]:
    """Where a link by a folded name leads, as a position among the candidates: by the end of a
    path, else by a title, else by another name; nowhere if two have the same."""
    leads: dict[str, int] = {}
    by_path = (
        {_path_end(each.path, at) for at in range(each.path.count("/") + 1)} for each in candidates
    )
    by_title = ({fold(each.title)} for each in candidates)
    by_alias = ({*map(fold, each.aliases)} for each in candidates)
    for names_of_each in (by_path, by_title, by_alias):
        places: dict[str, list[int]] = {}
        for at, names in enumerate(names_of_each):
            for name in names:
                places.setdefault(name, []).append(at)
        for name, found in places.items():
            leads.setdefault(name, found[0] if len(found) == 1 else -1)
    return leads


def _path_end(path: str, folders_left_out: int) -> str:
    return fold("/".join(path.split("/")[folders_left_out:]).removesuffix(".md"))


def _named(
    sentence: _Sentence, titles: Sequence[SpokenTitle], leads: Mapping[str, int]
) -> Iterator[Statement]:
    """What a sentence with cues says of the notes that it links or calls by their titles."""
    linked = {leads.get(link.name, -1): link for link in reversed(sentence.own.links)}
    for older, title in enumerate(titles):
        link = linked.get(older)
        for cue in sentence.cues:
            if link is None and _speaks_of_title(sentence, cue, title):
                yield sentence.says(older, cue, "title", sure=cue.kind != "settled")
                break
            if link is not None and _speaks_of_link(sentence, cue, link, title):
                yield sentence.says(older, cue, "link", sure=cue.kind != "settled")
                break


def _speaks_of_link(sentence: _Sentence, cue: Cue, link: Link, title: SpokenTitle) -> bool:
    """Whether a link is the subject or the object of a cue, and what the cue says is said of notes
    rather than of things and people."""
    folded = sentence.folded
    start, end, is_piece = _named_with(folded, link, cue)
    between = (min(end, cue.end), max(link.start, cue.start))
    if _CLAUSE_END.search(folded, *between) or _takes_its_place(folded, cue, link.start):
        return False
    is_note = title.is_unmistakable or is_piece
    is_note = is_note or (title.is_unspaced and folded[:start].endswith(tuple(_TITLE_MARKS)))
    if cue.acts:
        return (
            link.start >= cue.end
            and all(each.start >= cue.start for each in sentence.own.links)
            and not folded[cue.end : start].strip(f" :{_TITLE_MARKS}")
            and _ends_there(folded, end, folded[cue.start : cue.end])
            and (is_note or _speaks_of_itself(folded[: cue.start]))
        )
    if cue.part == "joined":
        joining = any_phrase_at_end("references.joined_by").search(folded, 0, start)
        if joining is None:
            return False
        is_note = is_note or _speaks_of_itself(folded[: joining.start()])
    elif end > cue.start:
        # "off the list in [[…]]"
        return is_piece and not folded[cue.end : start].strip()
    else:
        is_note = is_note or any_phrase("references.of_notes").match(folded, cue.start) is not None
        if any_phrase_at_end("references.prepositions").search(folded, 0, start):
            return False
    is_subject = end <= cue.start and towards_cue().fullmatch(folded, end, cue.start) is not None
    return is_note and is_subject


def _named_with(folded: str, link: Link, cue: Cue) -> tuple[int, int, bool]:
    """Where what is named with a link begins and ends, and whether that is a part of the note."""
    start, end, is_piece = link.start, link.end, False
    named = reference().search(folded, max(0, link.start - _LOOKED_AT), link.start)
    if named is not None:
        start, is_piece = named.start(), bool(named["piece"] or named["what"])
        if named["what"] and (claims := says().match(folded, end)):
            end = claims.end()
    behind = any_phrase("references.parts_behind").match(folded, link.end)
    if behind is not None and not link.end <= cue.start < behind.end():
        end, is_piece = max(end, behind.end()), True
    return start, end, is_piece


def _speaks_of_itself(before: str) -> bool:
    """Whether the clause before a cue has no subject but the note."""
    return itself().fullmatch(_CLAUSE.split(before)[-1]) is not None


def _takes_its_place(folded: str, cue: Cue, named: int) -> bool:
    """ "Lunch is replaced by the review": not the review is."""
    agents = any_phrase("references.agents")
    if cue.start < named < cue.end and agents.search(folded, cue.start, named):
        return True
    until = min(named, cue.end + _LOOKED_AT)
    return agents.search(folded, cue.end, until) is not None


def _speaks_of_title(sentence: _Sentence, cue: Cue, title: SpokenTitle) -> bool:
    folded, named = sentence.folded, title.pattern
    if named is None:
        return False
    if title.is_unspaced:
        places = islice(named.finditer(folded), _MOST_CUES)
        return any(_speaks_of_link(sentence, cue, Link("", *at.span()), title) for at in places)
    if cue.acts:
        gap = determiners().match(folded, cue.end)
        found = named.match(folded, gap.end() if gap else cue.end)
        verb = folded[cue.start : cue.end]
        return found is not None and _ends_there(folded, found.end(), verb)
    for found in named.finditer(folded):
        first, last = min(found.end(), cue.end), max(found.start(), cue.start)
        if (
            not re.search(r"[,;]", folded[first:last])
            and last - first <= _LOOKED_AT
            and _ends_there(folded, found.end(), "")
            and not _takes_its_place(folded, cue, found.start())
        ):
            return (
                title.is_unmistakable
                or folded[: found.start()].endswith((*'"“„«',))
                or any_phrase("references.of_notes").match(folded, cue.start) is not None
            )
    return False


def _named_in_part(sentence: _Sentence, titles: Sequence[SpokenTitle]) -> list[Statement]:
    """What a sentence says of the one note whose title has the words of what is replaced: "the
    Sunday evening review" of "I review new notes on Sunday evening"."""
    folded = sentence.folded
    for cue in sentence.cues:
        thing = _THING.match(folded, cue.end) if cue.acts and cue.kind in _OF_SUBJECTS else None
        if thing is None:
            continue
        telling = list(takewhile(lambda word: not is_stopword(word[0]), TOKEN.finditer(thing[1])))
        stems = {stem(word[0]) for word in telling}
        meant = [
            at
            for at, title in enumerate(titles)
            if stems <= title.stems and 2 * len(stems) >= len(title.stems)
        ]
        end = thing.start(1) + (telling[-1].end() if telling else 0)
        verb = folded[cue.start : cue.end]
        if len(stems) > 1 and len(meant) == 1 and _ends_there(folded, end, verb):
            return [sentence.says(meant[0], cue, "title", sure=True)]
    return []


def _ends_there(folded: str, end: int, verb: str) -> bool:
    """Whether nothing that follows makes another thing of what is named."""
    rest = folded[end : end + _LOOKED_AT]
    particle = _particle_of(verb) if verb else None
    if particle is not None:
        return particle.match(rest) is not None
    if _NARROWED.match(rest) or narrowing_unspaced().match(rest):
        return False
    follows = _NEXT_WORD.match(rest)
    if not verb or follows is None:
        return follows is None or not any_phrase("references.narrowing").fullmatch(follows[1])
    return is_stopword(follows[1]) and not any_phrase("references.narrowing").fullmatch(follows[1])


def _by_time(
    sentence: _Sentence, candidates: Sequence[LinkCandidate], today: date
) -> list[Statement]:
    """The note that was written when the sentence says: of several the nearest in meaning."""
    for named in _times(sentence.folded, today):
        is_day = named.first == named.last
        of_then = [
            (older.rank, at)
            for at, older in enumerate(candidates)
            if (is_day or older.rank < _NEAREST_OF_A_TIME)
            and (moment := moment_in(older.created))
            and named.first <= moment.date() <= named.last
        ]
        if of_then:
            cue = sentence.cues[0]
            how: Pointer = "day" if is_day else "time"
            return [sentence.says(min(of_then)[1], cue, how, sure=True)]
    return []


def _times(folded: str, today: date) -> list[DaysNamed]:
    """The times of which a folded sentence says that something was written then."""
    before, behind = any_phrase("references.written"), any_phrase("references.written_behind")
    return [
        each
        for each in days_named(folded, today)
        if before.search(folded[max(0, each.start - _LOOKED_AT) : each.start])
        or behind.match(folded, each.end)
    ]


def _proposed(
    possible: Iterable[Revision],
    candidates: Sequence[LinkCandidate],
    judged: Mapping[int, Mapping[str, float]],
    own: Sequence[OwnSentence],
) -> Iterator[Statement]:
    """What a note likely says of older ones that it does not name, and that they do not quote
    already, the likeliest first."""
    weighed = [
        (revision_probability(each.features, judged.get(each.older)), each) for each in possible
    ]
    likely = [
        (chance, each)
        for chance, each in weighed
        if chance >= (_LEAST_IF_JUDGED if each.older in judged else LEAST_PROBABILITY)
    ]
    likely.sort(key=lambda pair: -pair[0])
    for _, revision in likely[:_MOST_PROPOSED]:
        new = _not_told(candidates[revision.older], revision, own)
        if not new:
            continue
        in_text = [each for each in new if each.own != own[0]]
        best = (in_text or new)[0]
        tables = {sign.table for sign in best.signs}
        kind: Kind = "replaced"
        if "refuted" in tables:
            kind = "refuted"
        elif tables == {"settled"}:
            kind = "settled"
        sign = best.signs[0]
        quoted = (best.own.folded[sign.start : sign.end].strip(), best.own.text, best.own.folded)
        behind = best.own.following
        yield Statement(revision.older, kind, "subject", *quoted, behind, acts=True, sure=False)


def _not_told(
    older: LinkCandidate, revision: Revision, own: Sequence[OwnSentence]
) -> list[SignedSentence]:
    """The sentences with signs of change that stand behind all that the older note quotes: a
    quotation may answer to any sign before it, or to the first one."""
    places = {each: at for at, each in enumerate(own)}
    first = min(places[each.own] for each in revision.sentences)
    told = [at for at, each in enumerate(own) if at and older.quotes(each.text)]
    until = max(first, *told) if told else -1
    return [each for each in revision.sentences if places[each.own] > until]
