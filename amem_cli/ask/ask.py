"""Answers a question from the notes, and cites them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from operator import itemgetter
from typing import Literal

from amem_cli.ask.extract import (
    ROOM_OF_BEST,
    ROOM_OF_OTHERS,
    Nearness,
    Sentence,
    coverage,
    likeliest,
    nearest,
    nearest_sentence,
    quotation,
    sentences_of,
)
from amem_cli.ask.prompt import (
    OVERHEAD_TOKENS,
    CheckedAnswer,
    answer_request,
    check_answer,
    outdated,
)
from amem_cli.ask.sources import QuotedNote, Sources, find_sources, labelled, understood
from amem_cli.errors import AmemError, ModelError
from amem_cli.index.memory_index import MemoryIndex, VaultPorts
from amem_cli.index.vectors import token_nearness
from amem_cli.journal.link_decisions import before_closing
from amem_cli.language.words import words
from amem_cli.markdown.plain_text import plain_text, with_boxes
from amem_cli.markdown.sentences import only_sentences
from amem_cli.memory.ask_model import ask_once
from amem_cli.memory.outcome import ModelUse
from amem_cli.models.ports import Encoder, LanguageModel
from amem_cli.notes.note import parse_note
from amem_cli.search.evidence import rarity
from amem_cli.search.scoring import LEAST_READABLE
from amem_cli.search.search import Filters, Supersession, current_first
from amem_cli.settings import Settings

How = Literal["model", "extract", "nothing"]

HITS = 6
NOT_HELD = "The notes do not hold an answer to this."
NEAREST = "These notes come nearest:"
UNSURE = "The notes may not hold an answer to this. These come nearest:"
ATTEMPTS = 2
_MOST_BUDGET = 3_000
_LEAST_BUDGET = 200
# So many words tell a quotation's place in its file.
_LINE_WORDS = 12


def budget_of(settings: Settings) -> int:
    """Tokens of the notes that a model is shown: half of its window."""
    # In a small window the instructions leave less than half.
    room = min(settings.llm_context_tokens // 2, settings.llm_context_tokens - OVERHEAD_TOKENS)
    return max(_LEAST_BUDGET, min(_MOST_BUDGET, room))


@dataclass(frozen=True, slots=True)
class Citation(Supersession):
    """A note that an answer rests on.

    `quote` has no markup and begins in `line` of the file (1-based, 0 if unknown); `via` is the key
    of the hit whose link brought the note in; `is_former` if a note by which it no longer holds is
    cited, too; `now` is what a later note has made the note's context say.
    """

    id: str | None
    path: str
    title: str
    created: str
    quote: str
    line: int
    via: str | None
    is_former: bool = False
    now: str = ""

    @property
    def quoted(self) -> str:
        return f"{'before: ' * self.is_former}“{self.quote}”"


@dataclass(frozen=True, slots=True)
class Answer:
    """What the notes say to a question.

    Attributes:
        text: the answer, or a sentence that there is none. Untrusted: it is from notes and models.
        held: whether the notes hold the answer; with quotations, if not, they may.
        how: in the words of a `model`, as an `extract` of the notes, or `nothing`.
        citations: best first, what supersedes a note right before it.
        near: how near the notes come; None for a model's answer.
        problems: what went wrong or was replaced, one line each.
    """

    question: str
    text: str
    held: bool
    how: How
    citations: tuple[Citation, ...] = ()
    shown: tuple[QuotedNote, ...] = ()
    near: Nearness | None = None
    model: str = ""
    use: ModelUse = field(default_factory=ModelUse)
    problems: tuple[str, ...] = ()

    @property
    def lead(self) -> str:
        """The answer for whoever shows the quotations of the citations below it."""
        if self.how != "extract":
            return self.text
        return NEAREST if self.held else UNSURE


def ask(
    ports: VaultPorts,
    question: str,
    *,
    encoder: Encoder | None,
    model: LanguageModel | None,
    budget: int = 2_000,
    deadline: float = 90.0,
    limit: int = HITS,
    filters: Filters | None = None,
) -> Answer:
    """Answer a question from the notes that a search finds, or say that they do not hold it; what
    comes barely near is quoted all the same, with `held` False.

    A model is believed only if the notes that it cites support its answer; otherwise, and without
    a model, the nearest sentences are quoted if they are near enough, as uncertain if barely so.

    Args:
        encoder: None searches by words alone.
        model: None quotes. Private notes are never shown to a model on another machine.
        budget: tokens of the notes that a model is shown.
        deadline: seconds for one answer of the model.
        limit: how many notes are found by the search itself; linked ones come beside them.
    """
    found = find_sources(
        ports.index, question, encoder=encoder, limit=limit, budget=budget, filters=filters
    )
    reply = _Reply()
    if model is not None and found.notes:
        reply = _ask_model(model, question, found.notes, deadline)
    if reply.checked is not None:
        answer = _answer_of_model(ports, question, reply.checked, reply.sources)
    else:
        answer = _extract(ports, question, found, encoder)
    problems = tuple(reply.problems)
    return replace(answer, shown=found.notes, model=reply.model, use=reply.use, problems=problems)


@dataclass(frozen=True, slots=True)
class _Reply:
    """The model's part of an answer: what is believed of it, and the notes that it was shown."""

    checked: CheckedAnswer | None = None
    sources: Sequence[QuotedNote] = ()
    model: str = ""
    use: ModelUse = field(default_factory=ModelUse)
    problems: Sequence[str] = ()


def _ask_model(
    model: LanguageModel, question: str, sources: Sequence[QuotedNote], deadline: float
) -> _Reply:
    """Ask, and once more with a remark if the answer cannot be believed."""
    allowed = list(sources)
    if model.is_remote:
        allowed = labelled([_public(each) for each in sources if not each.private])
    hidden = len(sources) - len(allowed)
    problems = []
    if hidden:
        problems.append(f"{hidden} private note{'s' * (hidden > 1)} not shown to {model.name}")
    if not allowed:
        return _Reply(problems=problems)
    use, fault = ModelUse(), ""
    believed: CheckedAnswer | None = None
    for _ in range(ATTEMPTS):
        request = answer_request(question, allowed, deadline=deadline, remark=fault)
        try:
            answer, fault, cost = ask_once(model, request, whole=True)
        except ModelError as error:
            fault = error.message
            break
        use += cost
        if answer is None:
            continue
        if fault and fault not in problems:
            problems.append(fault)
        checked = check_answer(answer, question, allowed)
        # What was before may be just what is asked for: it is questioned once, and then believed.
        fault = checked.fault or ("" if believed else outdated(checked.cited, allowed))
        if not checked.fault:
            believed = checked
        if not fault:
            break
    if believed is not None:
        return _Reply(believed, allowed, model.name, use, problems)
    problems.append(f"{fault}; sentences of the notes are quoted instead")
    return _Reply(None, (), model.name, use, problems)


def _public(source: QuotedNote) -> QuotedNote:
    """A source that names no private note."""
    superseded = tuple(note for note in source.superseded_by if not note.private)
    contradicted = tuple(note for note in source.contradicted_by if not note.private)
    return replace(source, superseded_by=superseded, contradicted_by=contradicted)


def _newer(
    sources: Sequence[QuotedNote], proposed: Mapping[str, Sequence[str]] | None = None
) -> dict[str, list[str]]:
    """Labels of the sources that are newer than each of them, and say so."""
    labels = {source.path: source.label for source in sources}
    return {
        source.label: [labels[path] for path in _paths_of_newer(source, proposed) if path in labels]
        for source in sources
    }


def _paths_of_newer(
    note: QuotedNote | Citation, proposed: Mapping[str, Sequence[str]] | None
) -> list[str]:
    own = (each.path for each in note.newer)
    return list(dict.fromkeys((*own, *(proposed or {}).get(note.path, ()))))


def _proposed(ports: VaultPorts, sources: Sequence[QuotedNote]) -> dict[str, list[str]]:
    """By path, the sources of which a proposal waits that says that they revise it."""
    waiting = [each for each in ports.changes.waiting() if each.relation and len(sources) > 1]
    if not waiting:
        return {}
    # Not loaded if nothing waits.
    from amem_cli.editing.review import causes_of, says_still

    paths = {each.path: each.path for each in sources}
    paths |= {each.id: each.path for each in sources if each.id}
    found: dict[str, list[str]] = {}
    for each in waiting:
        older = paths.get(each.note or each.path)
        for cause in causes_of(ports, each) if older is not None else ():
            if cause.path in paths and cause.path != older and says_still(ports, cause, each):
                found.setdefault(older or "", []).append(cause.path)
    return found


def _answer_of_model(
    ports: VaultPorts, question: str, checked: CheckedAnswer, sources: Sequence[QuotedNote]
) -> Answer:
    if not checked.held:
        return Answer(question, NOT_HELD, held=False, how="nothing")
    index = ports.index
    weights = _weights(index, (*understood(index, checked.text), *understood(index, question)))
    by_label = {source.label: source for source in sources}
    languages = index.text.languages()
    citations = []
    current = current_first(checked.cited, _newer(sources), allowed=())
    for source in (by_label[label] for label, _ in current):
        sentences = sentences_of(source.label, source.quotable, weights, languages)
        best = max(sentences, key=lambda each: each.coverage, default=None)
        quote = quotation(best, sentences) if best is not None else ""
        citations.append(_citation(ports, source, quote))
    cited = _told_apart(citations)
    return Answer(question, checked.text, held=True, how="model", citations=cited)


def _extract(ports: VaultPorts, question: str, found: Sources, encoder: Encoder | None) -> Answer:
    weights = _weights(ports.index, found.terms)
    languages = ports.index.text.languages()
    sentences = [
        sentence
        for source in found.notes
        for sentence in sentences_of(source.label, source.quotable, weights, languages)
    ]
    likely = likeliest(sentences)
    cosines, by_token = None, dict[int, float]()
    if encoder is not None and found.vector is not None and found.tokens is not None:
        vectors, signs = encoder.encode_passages([each.text for each in likely])
        cosines = [float(cosine) for cosine in vectors @ found.vector]
        if encoder.readable(question) >= LEAST_READABLE:
            by_token = token_nearness(found.tokens, dict(enumerate(signs)))
    scores = {hit.note.path: hit.rank_score for hit in found.hits}
    worth = {source.label: scores[source.path] for source in found.notes}
    proposed = _proposed(ports, found.notes)
    best = nearest(likely, cosines, worth, _newer(found.notes, proposed), by_token)
    is_spread = encoder is not None and encoder.is_spread
    near = _nearness(ports.index, found, weights, likely, cosines or (), is_spread=is_spread)
    if not best or not near.is_close:
        return Answer(question, NOT_HELD, held=False, how="nothing", near=near)
    by_label = {source.label: source for source in found.notes}
    quotes = (
        quotation(each, sentences, ROOM_OF_OTHERS if at else ROOM_OF_BEST)
        for at, each in enumerate(best)
    )
    quoted_notes = (
        _citation(ports, by_label[each.label], quote)
        for each, quote in zip(best, quotes, strict=True)
    )
    citations = _told_apart(quoted_notes, proposed)
    quoted = " ".join(f"{each.quoted} [{at}{_mark(each)}]" for at, each in enumerate(citations, 1))
    answer = Answer(question, "", held=near.is_near, how="extract", citations=citations, near=near)
    return replace(answer, text=f"{answer.lead} {quoted}")


def _told_apart(
    citations: Iterable[Citation], proposed: Mapping[str, Sequence[str]] | None = None
) -> tuple[Citation, ...]:
    """The citations, each with whether one that revises it, or likely does, is cited too."""
    cited = list(citations)
    paths = {each.path for each in cited}
    return tuple(
        replace(each, is_former=not paths.isdisjoint(_paths_of_newer(each, proposed)))
        for each in cited
    )


def _mark(citation: Citation) -> str:
    """After the number of a quotation, what replaced its note."""
    marks = []
    for kind, pairs in groupby(citation.words, itemgetter(0)):
        notes = [note for _, note in pairs]
        newer = " and ".join(f"“{' '.join(note.title.split())}”" for note in notes)
        since = f" since {notes[0].made[:10]}" if notes[0].made else ""
        marks.append(f", {kind} by {newer}{since}")
    return "".join((*marks, f"; {citation.now}" if citation.now else ""))


def _weights(index: MemoryIndex, terms: Sequence[str]) -> dict[str, float]:
    """The distinct terms with their rarity in the vault."""
    distinct = list(dict.fromkeys(terms))
    matches, total = index.text.term_matches(distinct, ()), index.notes.count()
    pairs = zip(distinct, matches, strict=True)
    return {term: rarity(count, total) for term, (count, _) in pairs}


def _nearness(
    index: MemoryIndex,
    found: Sources,
    weights: dict[str, float],
    likely: Sequence[Sentence],
    cosines: Sequence[float],
    *,
    is_spread: bool,
) -> Nearness:
    paths = [source.path for source in found.notes if source.quotable]
    terms = {path: list[str]() for path in paths}
    matches = index.text.term_matches(found.terms, paths)
    for term, (_, with_term) in zip(found.terms, matches, strict=True):
        for path in set(with_term).intersection(paths):
            terms[path].append(term)
    best = max(found.hits, key=lambda hit: hit.rank_score, default=None)
    note_cosine = None
    if found.vector is not None:
        among = [best.note.path] if best is not None else []
        note_cosine = max(index.vectors.scores(found.vector, 1, among).values(), default=0.0)
    total = index.notes.count()
    words = max(index.text.keyword_scores(found.terms, 1).values(), default=0.0)
    return Nearness(
        note_cosine=note_cosine,
        sentence=nearest_sentence(likely, cosines) if found.vector is not None else 0.0,
        # A word weighs the more the more notes do not have it.
        words=words / math.log(max(2, 1 + total)),
        coverage=max((coverage(each, weights) for each in terms.values()), default=0.0),
        notes=total,
        is_spread=is_spread,
    )


def _citation(ports: VaultPorts, source: QuotedNote, quote: str) -> Citation:
    names = ("id", "path", "title", "created", "via", *Supersession.__slots__)
    own = {name: getattr(source, name) for name in names}
    line = _line_of(ports, source.path, quote)
    now = _closing(ports.index, source)
    return Citation(**own, quote=" ".join(quote.split()), line=line, now=now)


def _closing(index: MemoryIndex, source: QuotedNote) -> str:
    """What the words of later notes added to a note's context."""
    events = index.events.read(source.id or source.path)
    before, newer = before_closing(events, source.context)
    added = source.context.removeprefix(before.rstrip(" .。")).lstrip(" —")
    return " ".join(added.split()) if newer else ""


def _line_of(ports: VaultPorts, path: str, quote: str) -> int:
    """The line of a note's file where a quotation begins."""
    beginning = words(quote)[:_LINE_WORDS]
    try:
        raw = ports.vault.read(path).raw
    except (AmemError, OSError):
        # The note may have gone since it was indexed; its words can be quoted all the same.
        return 0
    body = parse_note(path, raw, ports.names).body
    before = raw.removesuffix(body.encode("utf-8", "replace")).count(b"\n") if body else 0
    spoken: list[str] = []
    lines: list[int] = []
    for number, line in enumerate(only_sentences(body).split("\n"), before + 1):
        own = words(plain_text(with_boxes(line)))
        spoken += own
        lines += [number] * len(own)
    for start in range(len(spoken)):
        if beginning and spoken[start : start + len(beginning)] == beginning:
            return lines[start]
    return 0
