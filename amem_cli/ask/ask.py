"""Finds what a question is answered from: passages of the hits and of the notes linked to them.

Answers a question from the notes, and cites them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from amem_cli.ask.excerpts import Excerpt, Source, Tie, chosen_excerpts, labelled
from amem_cli.ask.extract import (
    MOST_SENTENCES,
    Nearness,
    Sentence,
    coverage,
    nearest,
    quotation,
    rarity,
    sentences_of,
)
from amem_cli.ask.prompt import OVERHEAD_TOKENS, CheckedAnswer, answer_request, check_answer
from amem_cli.errors import AmemError, ModelError
from amem_cli.index.draft import VaultPorts
from amem_cli.index.full_text import search_terms
from amem_cli.index.records import NoteSummary
from amem_cli.language.words import words
from amem_cli.markdown.links import plain_text
from amem_cli.memory.ask_model import ask_once
from amem_cli.memory.outcome import ModelUse
from amem_cli.models.ports import Encoder, LanguageModel
from amem_cli.notes.codec import parse_note
from amem_cli.notes.names import resolve
from amem_cli.notes.note import SUPERSEDING
from amem_cli.search.scoring import corrected
from amem_cli.search.search import EVERY_NOTE, Filters, Hit, Mode, search
from amem_cli.settings import Settings

if TYPE_CHECKING:
    from amem_cli.index.memory_index import MemoryIndex
    from amem_cli.models.ports import Vectors

# Passages of one note that are compared; the others hold fewer of the question's words.
MOST_PASSAGES = 8
MOST_TIES = 3
MOST_TERMS = 64


@dataclass(frozen=True, slots=True)
class Found:
    """What was found for a question.

    Attributes:
        hits: as the search gave them, linked notes last.
        sources: the notes of which something fitted the budget, best first.
        terms: words of the question as they were understood.
        vector: of the question, shape (dimension,), or None without an encoder.
    """

    hits: tuple[Hit, ...]
    sources: tuple[Source, ...]
    terms: tuple[str, ...]
    vector: Vectors | None


def find_sources(
    index: MemoryIndex,
    question: str,
    *,
    encoder: Encoder | None,
    limit: int,
    budget: int,
    filters: Filters,
) -> Found:
    """Search, and choose passages of what was found.

    Args:
        encoder: None searches by words alone.
        limit: how many direct hits; linked notes come beside them.
        budget: tokens that the passages may take.

    Raises:
        UsageError: the question is empty.
        EncoderError: the encoder cannot be run.
    """
    mode: Mode = "keyword" if encoder is None else "hybrid"
    hits = search(index, question, encoder=encoder, mode=mode, limit=limit, filters=filters)
    vector = None if encoder is None else encoder.encode([question], query=True)[0]
    terms = understood(index, question)
    excerpts = [
        replace(each, rank=rank)
        for rank, hit in enumerate(hits)
        for each in _excerpts(index, hit, terms, encoder, vector)
    ]
    chosen = chosen_excerpts(excerpts, budget)
    return Found(tuple(hits), tuple(_sources(index, hits, chosen)), tuple(terms), vector)


def understood(index: MemoryIndex, question: str) -> list[str]:
    """The terms of a question, the first 64; where no note holds any, the known words nearest."""
    terms = search_terms(question)[:MOST_TERMS]
    if any(index.text.document_frequency(term) for term in terms):
        return terms
    return corrected(index, terms)


def _excerpts(
    index: MemoryIndex,
    hit: Hit,
    terms: Sequence[str],
    encoder: Encoder | None,
    vector: Vectors | None,
) -> list[Excerpt]:
    texts = [(at, plain_text(text)) for at, text in enumerate(index.text.passages(hit.note.path))]
    held = {at: _share(text, terms) for at, text in texts}
    texts.sort(key=lambda item: (-held[item[0]], item[0]))
    texts = [(at, text) for at, text in texts if text.strip()][:MOST_PASSAGES]
    if len(texts) > 1 and encoder is not None and vector is not None:
        cosines = encoder.encode([text for _, text in texts]) @ vector
        worth = {
            at: held[at] + max(0.0, float(cosine))
            for (at, _), cosine in zip(texts, cosines, strict=True)
        }
    else:
        worth = held
    best = max((worth[at] for at, _ in texts), default=0.0) or 1.0
    return [
        # The best passage of a note counts as much as the note, another one up to half less.
        Excerpt(hit.note.path, at, text, hit.score * (1 + worth[at] / best) / 2)
        for at, text in texts
    ]


def _share(text: str, terms: Sequence[str]) -> float:
    folded = text.casefold()
    return sum(term in folded for term in terms) / max(1, len(terms))


def _sources(index: MemoryIndex, hits: Sequence[Hit], chosen: Sequence[Excerpt]) -> list[Source]:
    by_path = {hit.note.path: hit for hit in hits}
    pieces: dict[str, list[Excerpt]] = {}
    for excerpt in chosen:
        pieces.setdefault(excerpt.path, []).append(excerpt)
    ties = _ties(index, [by_path[path].note for path in pieces])
    sources = []
    for path, excerpts in pieces.items():
        note = by_path[path].note
        texts = tuple(each.text for each in sorted(excerpts, key=lambda each: each.place))
        sources.append(
            Source(
                label="",
                path=path,
                id=note.id,
                title=note.title,
                created=note.created,
                via=by_path[path].via,
                private=note.private,
                texts=texts,
                ties=ties.get(path, ()),
            )
        )
    return labelled(sources)


def _ties(index: MemoryIndex, notes: Sequence[NoteSummary]) -> dict[str, tuple[Tie, ...]]:
    """Links among the shown notes, by path, those first that say which note holds."""
    shown = {note.path: note for note in notes}
    found: dict[str, list[Tie]] = {}
    for path in shown:
        records = index.link_history.records(path)
        for link in index.links.written(path):
            target = resolve(link.target, path, index.names)
            if target is None or target == path or target not in shown:
                continue
            record = records.get((path, shown[target].key)) or records.get((path, target))
            relation = record.relation if record is not None else ""
            found.setdefault(path, []).append(Tie(target, relation))
            found.setdefault(target, []).append(Tie(path, relation, outward=False))
    return {
        path: tuple(sorted(dict.fromkeys(ties), key=_is_telling, reverse=True)[:MOST_TIES])
        for path, ties in found.items()
    }


def _is_telling(tie: Tie) -> bool:
    return tie.relation in SUPERSEDING


How = Literal["model", "extract", "nothing"]

HITS = 6
NOT_HELD = "The notes do not hold an answer to this."
NEAREST = "These notes come nearest:"
ATTEMPTS = 2
_MOST_BUDGET = 3_000
_LEAST_BUDGET = 200
_LINE_WORDS = 12


@dataclass(frozen=True, slots=True)
class AskSettings:
    """How questions are answered.

    Attributes:
        trusted: the model is good enough to be asked; otherwise sentences are quoted.
        budget: tokens of the notes that a model is shown.
        deadline: seconds for one answer of the model.
    """

    trusted: bool = True
    budget: int = 2_000
    deadline: float = 90.0

    @classmethod
    def of(cls, settings: Settings, *, trusted: bool) -> AskSettings:
        """Those of a vault, with half the model's window for the notes.

        Args:
            trusted: the model is asked for all that there is to ask. The bundled one is not: as
                `benchmarks/ask.py` shows its answers are worse than quoting.
        """
        room = min(settings.llm_context_tokens // 2, settings.llm_context_tokens - OVERHEAD_TOKENS)
        return cls(
            trusted=trusted,
            budget=max(_LEAST_BUDGET, min(_MOST_BUDGET, room)),
            deadline=settings.llm_deadline_seconds,
        )


USUAL = AskSettings()


@dataclass(frozen=True, slots=True)
class Citation:
    """A note that an answer rests on.

    Attributes:
        quote: its words, without markup, on one line.
        line: 1-based line of the note's file where they begin, 0 where that cannot be told.
        via: None, or the key of the hit whose link brought the note in.
    """

    id: str | None
    path: str
    title: str
    created: str
    quote: str
    line: int
    via: str | None


@dataclass(frozen=True, slots=True)
class ShownNote:
    """A note that was looked at for an answer."""

    id: str | None
    path: str
    title: str


@dataclass(frozen=True, slots=True)
class Answer:
    """What the notes say to a question.

    Attributes:
        text: the answer; where it is not held, a sentence that says so. Untrusted: it comes from
            notes and models.
        held: the notes hold an answer.
        how: in the words of a `model`, as an `extract` of the notes, or `nothing` came of it.
        citations: best first; none where nothing is held.
        shown: notes that were looked at, best first.
        near: how near the notes come, where a model's answer did not make that idle.
        model: its name, empty where none was asked.
        problems: what went wrong or was replaced, one line each.
    """

    question: str
    text: str
    held: bool
    how: How
    citations: tuple[Citation, ...] = ()
    shown: tuple[ShownNote, ...] = ()
    near: Nearness | None = None
    model: str = ""
    use: ModelUse = field(default_factory=ModelUse)
    problems: tuple[str, ...] = ()


def ask(
    ports: VaultPorts,
    question: str,
    *,
    encoder: Encoder | None,
    model: LanguageModel | None,
    settings: AskSettings = USUAL,
    limit: int = HITS,
    filters: Filters = EVERY_NOTE,
) -> Answer:
    """Answer a question from the notes that a search finds, or say that they do not hold it.

    What a model says is believed only where the notes that it cites bear it out; else, and without
    a model, the nearest sentences are quoted where they are near enough.

    Args:
        encoder: None searches by words alone.
        model: None quotes. Private notes are never shown to a model on another machine.
        limit: how many notes are found by the search itself; linked ones come beside them.

    Raises:
        UsageError: the question is empty.
        EncoderError: the encoder cannot be run.
    """
    found = find_sources(
        ports.index,
        question,
        encoder=encoder,
        limit=limit,
        budget=settings.budget,
        filters=filters,
    )
    shown = tuple(ShownNote(each.id, each.path, each.title) for each in found.sources)
    said = _Said()
    if model is not None and settings.trusted and found.sources:
        said = _ask_model(model, question, found.sources, settings.deadline)
    if said.checked is not None:
        answer = _answer_of_model(ports, question, said)
    else:
        answer = _extract(ports, question, found, encoder)
    return replace(
        answer, shown=shown, model=said.model, use=said.use, problems=tuple(said.problems)
    )


@dataclass(frozen=True, slots=True)
class _Said:
    """What came of asking the model; `checked` is None where it gave nothing to believe."""

    checked: CheckedAnswer | None = None
    sources: tuple[Source, ...] = ()
    model: str = ""
    use: ModelUse = field(default_factory=ModelUse)
    problems: Sequence[str] = ()


def _ask_model(
    model: LanguageModel, question: str, sources: Sequence[Source], deadline: float
) -> _Said:
    """Ask, and once more with a remark where the answer cannot be believed."""
    allowed = labelled([each for each in sources if not (each.private and model.is_remote)])
    hidden = len(sources) - len(allowed)
    problems = [f"{hidden} private note{'s' * (hidden > 1)} not shown to {model.name}"] * (
        hidden > 0
    )
    if not allowed:
        return _Said(problems=problems)
    use, fault = ModelUse(), ""
    for _ in range(ATTEMPTS):
        request = answer_request(question, allowed, deadline=deadline, remark=fault)
        try:
            answer, fault, cost = ask_once(model, request)
        except ModelError as error:
            problems.append(f"{error.message}; sentences of the notes are quoted instead")
            return _Said(None, (), model.name, use, problems)
        use += cost
        if answer is None:
            continue
        problems += [fault] if fault and fault not in problems else []
        checked = check_answer(answer, question, allowed)
        if not checked.fault:
            return _Said(checked, tuple(allowed), model.name, use, problems)
        fault = checked.fault
    problems.append(f"{fault}; sentences of the notes are quoted instead")
    return _Said(None, (), model.name, use, problems)


def _answer_of_model(ports: VaultPorts, question: str, said: _Said) -> Answer:
    checked = said.checked
    if checked is None or not checked.held:
        return Answer(question, NOT_HELD, held=False, how="nothing")
    index = ports.index
    weights = _weights(index, (*understood(index, checked.text), *understood(index, question)))
    by_label = {source.label: source for source in said.sources}
    citations = []
    for label in checked.cited:
        found = sentences_of(label, by_label[label].text, weights)
        best = max(found, key=lambda each: each.coverage, default=None)
        quote = quotation(best, found) if best is not None else ""
        citations.append(_citation(ports, by_label[label], quote))
    return Answer(question, checked.text, held=True, how="model", citations=tuple(citations))


def _extract(ports: VaultPorts, question: str, found: Found, encoder: Encoder | None) -> Answer:
    """The nearest sentences, quoted, where they are near enough."""
    weights = _weights(ports.index, found.terms)
    sentences = [
        sentence
        for source in found.sources
        for sentence in sentences_of(source.label, source.text, weights)
    ]
    likely = sorted(sentences, key=lambda each: -each.coverage)[:MOST_SENTENCES]
    cosines = _cosines(found, likely, encoder)
    scores = {hit.note.path: hit.score for hit in found.hits}
    worth = {source.label: scores[source.path] for source in found.sources}
    best = nearest(likely, cosines, worth)
    near = _nearness(ports.index, found, weights, cosines)
    if not best or not near.is_near:
        return Answer(question, NOT_HELD, held=False, how="nothing", near=near)
    by_label = {source.label: source for source in found.sources}
    citations = tuple(
        _citation(ports, by_label[each.label], quotation(each, sentences)) for each in best
    )
    quoted = " ".join(f"“{each.quote}” [{at}]" for at, each in enumerate(citations, 1))
    text = f"{NEAREST} {quoted}"
    return Answer(question, text, held=True, how="extract", citations=citations, near=near)


def _weights(index: MemoryIndex, terms: Sequence[str]) -> dict[str, float]:
    """The distinct terms with their rarity in the vault."""
    distinct = list(dict.fromkeys(terms))
    counts = (count for count, _ in index.text.term_matches(distinct, ()))
    return rarity(dict(zip(distinct, counts, strict=True)), index.notes.count())


def _cosines(
    found: Found, sentences: Sequence[Sentence], encoder: Encoder | None
) -> list[float] | None:
    if encoder is None or found.vector is None:
        return None
    if not sentences:
        return []
    vectors = encoder.encode([each.text for each in sentences])
    return [float(cosine) for cosine in vectors @ found.vector]


def _nearness(
    index: MemoryIndex,
    found: Found,
    weights: dict[str, float],
    cosines: Sequence[float] | None,
) -> Nearness:
    paths = [source.path for source in found.sources]
    matches = index.text.term_matches(found.terms, paths)
    held = {
        path: [term for term, (_, keys) in zip(found.terms, matches, strict=True) if path in keys]
        for path in paths
    }
    note_cosine = None
    if found.vector is not None:
        note_cosine = max(
            index.vectors.scores(found.vector, 1, paths or None).values(), default=0.0
        )
    return Nearness(
        note_cosine=note_cosine,
        sentence_cosine=max(cosines or [], default=0.0),
        coverage=max((coverage(each, weights) for each in held.values()), default=0.0),
        notes=index.notes.count(),
    )


def _citation(ports: VaultPorts, source: Source, quote: str) -> Citation:
    return Citation(
        id=source.id,
        path=source.path,
        title=source.title,
        created=source.created,
        quote=" ".join(quote.split()),
        line=_line_of(ports, source.path, quote),
        via=source.via,
    )


def _line_of(ports: VaultPorts, path: str, quote: str) -> int:
    """The line of a note's file where a quotation begins."""
    beginning = words(quote)[:_LINE_WORDS]
    try:
        raw = ports.vault.read(path).raw
    except (AmemError, OSError):
        return 0
    body = parse_note(path, raw, ports.names).body
    before = raw.removesuffix(body.encode("utf-8", "replace")).count(b"\n") if body else 0
    spoken: list[str] = []
    lines: list[int] = []
    for number, line in enumerate(body.split("\n"), before + 1):
        own = words(plain_text(line))
        spoken += own
        lines += [number] * len(own)
    for start in range(len(spoken)):
        if beginning and spoken[start : start + len(beginning)] == beginning:
            return lines[start]
    return 0
