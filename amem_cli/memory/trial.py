"""A trial of a vault's models: do they work, and what is the language model fit for?

Within a minute the model gets a few everyday notes whose right answers are known, with the
questions of the memory process: all at once, or the context alone.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Literal

from amem_cli.analyzer.link_evidence import LinkCandidate
from amem_cli.data import table
from amem_cli.errors import ModelClosed, ModelError
from amem_cli.index.records import Progress
from amem_cli.language.words import fold, words
from amem_cli.memory.ask_model import ask_once
from amem_cli.memory.describe import (
    MetadataQuestion,
    check_metadata,
    metadata_question,
    metadata_request,
)
from amem_cli.memory.link import LinkQuestion, check_links, link_request
from amem_cli.memory.process import FIELDS_OF_THE_WEAK
from amem_cli.memory.trust import (
    CaseResult,
    Figures,
    Verdict,
    figures_of,
    is_hopeless,
    is_lost,
    verdict_on,
)
from amem_cli.models.ports import Encoder, LanguageModel, ModelRequest
from amem_cli.notes.note import METADATA_FIELDS, Note

# The verdict on a model holds for one set of cases; a change of them takes another name.
TRIAL = "trial-2"
VOCABULARY = ("baking", "garden", "health", "home", "travel", "work", "databases", "books")
# So many are asked before it is clear that a model can do nothing with such a question.
PROBES = 2


@dataclass(frozen=True, slots=True)
class OlderNote:
    """An existing note, and how it relates to the new one."""

    belonging: Literal["related", "look-alike", "unrelated"]
    title: str
    context: str
    text: str
    keywords: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TrialCase:
    """A new note beside older ones.

    Attributes:
        about: parts of words, folded; a keyword that holds one is about the note's matter.
        changes: the note makes the summary of its one related note wrong.
    """

    title: str
    text: str
    about: tuple[str, ...]
    older: tuple[OlderNote, ...]
    changes: bool = False

    @property
    def related(self) -> frozenset[int]:
        """Places of the older notes that belong with the new one."""
        return frozenset(at for at, one in enumerate(self.older) if one.belonging == "related")


@cache
def trial_cases() -> tuple[TrialCase, ...]:
    """All cases, those that decide most first."""
    return tuple(map(_case, table("trial_cases.toml")["case"]))


def _case(row: dict[str, Any]) -> TrialCase:
    older = (OlderNote(**{**each, "keywords": tuple(each["keywords"])}) for each in row["older"])
    return TrialCase(**{**row, "about": tuple(row["about"]), "older": tuple(older)})


USUAL_SECONDS = 60.0
LONG_WORD = 4
LEAST_WORDS = 3
# Contexts that a weak model is asked for.
CONTEXTS = 4


@dataclass(frozen=True, slots=True)
class ModelReport:
    """What the trial showed.

    Attributes:
        encoder_seconds: until the first text was encoded.
        model: empty without a model; so is the rest then.
        results: one for each case that was asked, in order; `cases`: how many there are.
        stopped: the time was over before all cases were asked.
    """

    encoder: str
    dimension: int
    encoder_seconds: float
    model: str = ""
    cases: int = 0
    results: tuple[CaseResult, ...] = ()
    stopped: bool = False
    figures: Figures | None = None
    verdict: Verdict | None = None


def test_models(
    encoder: Encoder,
    model: LanguageModel | None,
    *,
    seconds: float = USUAL_SECONDS,
    answer_seconds: float = USUAL_SECONDS,
    progress: Progress | None = None,
) -> ModelReport:
    """Encode a text, and ask the language model the cases of the trial.

    Args:
        seconds: for the language model in all; what was answered until then counts.
        answer_seconds: longest time for one answer.
        progress: called after every case.

    Raises:
        EncoderError: the encoder cannot be run.
    """
    started = time.perf_counter()
    encoder.encode([trial_cases()[0].text])
    report = ModelReport(encoder.model_id, encoder.dimension, time.perf_counter() - started)
    if model is None:
        return report
    trial = _Trial(encoder, model, seconds, answer_seconds)
    results = trial.run(progress)
    return replace(
        report,
        model=model.name,
        cases=trial.questions,
        results=results,
        stopped=trial.stopped,
        figures=figures_of(results),
        verdict=verdict_on(results, trial.questions, seconds=seconds),
    )


class _Trial:
    """One run over the cases, ended by the clock."""

    def __init__(
        self, encoder: Encoder, model: LanguageModel, seconds: float, answer_seconds: float
    ) -> None:
        self._encoder = encoder
        self._model = model
        self._seconds = seconds
        self._answer_seconds = answer_seconds
        self._until = 0.0
        self._weak = False
        self._results: list[CaseResult] = []
        self.stopped = False

    def run(self, progress: Progress | None) -> tuple[CaseResult, ...]:
        """Ask until the cases or the time are at their end."""
        self._until = time.monotonic() + self._seconds
        # Loading a model has a time limit of its own, which may be longer than the whole trial.
        timer = threading.Timer(self._seconds, self._stop)
        timer.daemon = True
        timer.start()
        try:
            for case, alone in self._questions():
                result = self._result(case, alone=alone)
                if self.stopped:
                    break
                self._results.append(result)
                if progress is not None:
                    progress(len(self._results), self.questions)
                if is_lost(self._results):
                    break
        finally:
            timer.cancel()
        return tuple(self._results)

    @property
    def questions(self) -> int:
        """How many there are in all."""
        return PROBES + CONTEXTS if self._weak else len(trial_cases())

    def _questions(self) -> Iterator[tuple[TrialCase, bool]]:
        """Each case, and whether the model is asked for all at once."""
        for case in trial_cases()[:PROBES]:
            yield case, True
        self._weak = is_hopeless(self._results)
        rest = trial_cases()[:CONTEXTS] if self._weak else trial_cases()[PROBES:]
        yield from ((case, not self._weak) for case in rest)

    def _stop(self) -> None:
        self.stopped = True
        self._model.close()

    def _result(self, case: TrialCase, *, alone: bool) -> CaseResult:
        left = self._until - time.monotonic()
        if left <= 0:
            self.stopped = True
        deadline = max(0.1, min(left, self._answer_seconds))
        return self._all(case, deadline) if alone else self._context(case, deadline)

    def _all(self, case: TrialCase, deadline: float) -> CaseResult:
        """Ask for metadata, links and changes at once, as a trusted model is asked."""
        note, question = _note(case), _question(case, METADATA_FIELDS)
        links = LinkQuestion(self._candidates(case))
        result = CaseResult(
            case.title,
            valid=False,
            about=False,
            context=False,
            keywords=False,
            change_found=False if case.changes else None,
            kept=None if case.changes else True,
        )
        request = link_request(note, links, deadline, metadata=question)
        answer, result = self._answer(request, result)
        if answer is None:
            return result
        metadata = check_metadata(
            answer, question, similarity=self._similarity, trusted=True
        ).metadata
        checked = check_links(
            answer, note, links, similarity=self._similarity, vocabulary=VOCABULARY
        )
        linked = {link.target for link in checked.links}
        changed = {each.path for each in checked.evolutions}
        right = {_path(at) for at in case.related}
        others = len(case.older) - len(right)
        return replace(
            result,
            about=_speaks_of(case, answer),
            context=bool(metadata.context),
            keywords=any(part in word.lower() for word in metadata.keywords for part in case.about),
            found=len(linked & right),
            related=len(right),
            refused=others - len(linked - right),
            others=others,
            change_found=bool(changed & right) if case.changes else None,
            kept=None if case.changes else not changed,
        )

    def _context(self, case: TrialCase, deadline: float) -> CaseResult:
        """Ask for the context alone, as a model that is not trusted is asked."""
        question = _question(case, sorted(FIELDS_OF_THE_WEAK))
        result = CaseResult(case.title, valid=False, alone=False, about=False, context=False)
        answer, result = self._answer(metadata_request(question, deadline), result)
        if answer is None:
            return result
        metadata = check_metadata(answer, question, similarity=self._similarity).metadata
        return replace(result, about=_speaks_of(case, answer), context=bool(metadata.context))

    def _answer(
        self, request: ModelRequest, result: CaseResult
    ) -> tuple[dict[str, Any] | None, CaseResult]:
        """The model's valid answer, if any, and the result with what is known so far."""
        if self.stopped:
            return None, result
        try:
            reply = ask_once(self._model, request)
        except ModelClosed:
            self.stopped = True
            return None, result
        except ModelError as error:
            # The answer that the end of the time cut off says nothing about the model.
            self.stopped = self.stopped or time.monotonic() >= self._until
            return None, replace(result, fault=error.message)
        if reply.answer is None and request.deadline < self._answer_seconds:
            self.stopped = self.stopped or time.monotonic() >= self._until
        return reply.answer, replace(
            result,
            valid=reply.answer is not None,
            fault="" if reply.answer is not None else reply.fault,
            prompt_tokens=reply.use.prompt_tokens,
            answer_tokens=reply.use.answer_tokens,
            seconds=reply.use.seconds,
        )

    def _similarity(self, one: str, other: str) -> float:
        first, second = self._encoder.encode([one, other])
        return float(first @ second)

    def _candidates(self, case: TrialCase) -> list[LinkCandidate]:
        texts = [f"{case.title}. {case.text}", *(f"{one.title}. {one.text}" for one in case.older)]
        vectors = self._encoder.encode(texts)
        near = [float(vector @ vectors[0]) for vector in vectors[1:]]
        order = sorted(range(len(near)), key=lambda at: -near[at])
        return [
            _candidate(case.older[at], _path(at), near[at], rank) for rank, at in enumerate(order)
        ]


def _speaks_of(case: TrialCase, answer: Mapping[str, object]) -> bool:
    """Whether what was written as a context has words with the note in common."""
    said = _long_words(str(answer.get("context", "")))
    return len(said & _long_words(f"{case.title} {case.text}")) >= LEAST_WORDS


def _long_words(text: str) -> set[str]:
    return {fold(word) for word in words(text) if len(word) >= LONG_WORD}


def _question(case: TrialCase, missing: Sequence[str]) -> MetadataQuestion:
    return metadata_question(case.title, case.text, missing, VOCABULARY)


def _note(case: TrialCase) -> Note:
    return Note("new.md", None, case.title, case.text, "2026-03-02T09:00:00")


def _path(place: int) -> str:
    return f"older-{place}.md"


def _candidate(one: OlderNote, path: str, similarity: float, rank: int) -> LinkCandidate:
    return LinkCandidate(
        path=path,
        title=one.title,
        text=one.text,
        similarity=similarity,
        rank=rank,
        keywords=one.keywords,
        context=one.context,
        created="2026-01-12T09:00:00",
    )
