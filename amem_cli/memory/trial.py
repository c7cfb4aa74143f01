"""A trial of a vault's models: do they work, and what is the language model fit for?

Within a minute the model gets a few everyday notes whose right answers are known, with the
questions of the memory process: all at once, or the context alone.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

from amem_cli.analyzer.link_evidence import LinkCandidate
from amem_cli.data import table
from amem_cli.errors import ModelClosed, ModelError
from amem_cli.index.records import Progress
from amem_cli.language.words import fold
from amem_cli.memory.ask_model import SHOWN_IN_PART, ask_once
from amem_cli.memory.describe import (
    MetadataQuestion,
    check_metadata,
    summary_request,
)
from amem_cli.memory.grounding import similarity_by
from amem_cli.memory.link import LinkQuestion, check_links, link_request
from amem_cli.memory.trust import (
    CaseResult,
    Figures,
    Verdict,
    figures_of,
    is_hopeless,
    is_lost,
    reason_for_none,
    verdict_on,
)
from amem_cli.models.ports import Encoder, LanguageModel, ModelRequest
from amem_cli.notes.note import METADATA_FIELDS, Note

# The verdict on a model holds for one set of cases; a change of them takes another name.
TRIAL = "trial-5"
VOCABULARY = ("baking", "garden", "health", "home", "travel", "work", "sports", "books")
# So many are asked before it is clear that a model can do nothing with such a question.
PROBES = 2

USUAL_SECONDS = 60.0
# Contexts that a weak model is asked for.
CONTEXTS = 4
_LEAST_ABOUT = 2


@dataclass(frozen=True, slots=True)
class TrialCase:
    """A new note beside older ones, of which the related ones, by place, belong with it.

    Attributes:
        about: parts of words, folded; a keyword that holds one, or a context that holds two, is
            about the note's matter.
        changes: the note makes the summary of its one related note wrong.
    """

    title: str
    text: str
    about: tuple[str, ...]
    older: tuple[LinkCandidate, ...]
    related: frozenset[int]
    changes: bool = False


@cache
def trial_cases() -> tuple[TrialCase, ...]:
    """All cases, those that decide most first."""
    return tuple(map(_case, table("trial_cases.toml")["case"]))


def _case(row: dict[str, Any]) -> TrialCase:
    older = tuple(
        LinkCandidate(
            f"older-{at}.md",
            one["title"],
            one["text"],
            0.0,
            0,
            keywords=tuple(one["keywords"]),
            context=one["context"],
            created="2026-01-12T09:00:00",
        )
        for at, one in enumerate(row["older"])
    )
    belong = [at for at, one in enumerate(row["older"]) if one["belonging"] == "related"]
    row = {**row, "about": tuple(row["about"]), "older": older, "related": frozenset(belong)}
    return TrialCase(**row)


@dataclass(frozen=True, slots=True)
class ModelReport:
    """What the trial showed.

    Attributes:
        encoder_seconds: until the first text was encoded.
        model: empty without a model; so is the rest then.
        results: one for each case that was asked, in order; `cases`: how many there are.
        undecided: why there is no verdict on the model, and what to do; empty if there is one.
        notes: of the vault that would be processed; 0 if unknown.
    """

    encoder: str
    dimension: int
    encoder_seconds: float
    model: str = ""
    cases: int = 0
    results: tuple[CaseResult, ...] = ()
    figures: Figures | None = None
    verdict: Verdict | None = None
    undecided: tuple[str, ...] = ()
    notes: int = 0


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
        seconds: for the language model in all; if they do not suffice there is no verdict.
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
    results, cases = trial.run(progress), trial.questions
    # Of a model that was lost at the last question, as many failures in a row say nothing either.
    is_complete = len(results) == cases and not is_lost(results)
    return replace(
        report,
        model=model.name,
        cases=cases,
        results=results,
        figures=figures_of(results),
        verdict=verdict_on(results) if is_complete else None,
        undecided=() if is_complete else reason_for_none(results, cases),
    )


@dataclass(slots=True)
class _Trial:
    """One run over the cases, ended by the clock."""

    encoder: Encoder
    model: LanguageModel
    seconds: float
    answer_seconds: float
    until: float = 0.0
    weak: bool = False
    results: list[CaseResult] = field(default_factory=list)
    stopped: bool = False

    def run(self, progress: Progress | None) -> tuple[CaseResult, ...]:
        """Ask until the cases or the time are at their end."""
        self.until = time.monotonic() + self.seconds
        # Loading a model has a time limit of its own, which may be longer than the whole trial.
        timer = threading.Timer(self.seconds, self._stop)
        timer.daemon = True
        timer.start()
        try:
            for case, alone in self._questions():
                result = self._result(case, alone=alone)
                if self.stopped:
                    break
                self.results.append(result)
                if progress is not None:
                    progress(len(self.results), self.questions)
                if is_lost(self.results):
                    break
        finally:
            timer.cancel()
        return tuple(self.results)

    @property
    def questions(self) -> int:
        return PROBES + CONTEXTS if self.weak else len(trial_cases())

    def _questions(self) -> Iterator[tuple[TrialCase, bool]]:
        """Each case, and whether the model is asked for all at once."""
        for case in trial_cases()[:PROBES]:
            yield case, True
        self.weak = is_hopeless(self.results)
        rest = trial_cases()[:CONTEXTS] if self.weak else trial_cases()[PROBES:]
        yield from ((case, not self.weak) for case in rest)

    def _stop(self) -> None:
        self.stopped = True
        self.model.close()

    def _result(self, case: TrialCase, *, alone: bool) -> CaseResult:
        left = self.until - time.monotonic()
        self.stopped = self.stopped or left <= 0
        deadline = max(0.1, min(left, self.answer_seconds))
        return self._all(case, deadline) if alone else self._context(case, deadline)

    def _all(self, case: TrialCase, deadline: float) -> CaseResult:
        """Ask for metadata, links and changes at once, as a trusted model is asked."""
        note = Note("new.md", None, case.title, case.text, "2026-03-02T09:00:00")
        question, links = _question(case, METADATA_FIELDS), LinkQuestion(self._candidates(case))
        result = CaseResult(
            case.title,
            valid=False,
            context=False,
            keywords=False,
            change_found=False if case.changes else None,
            kept=None if case.changes else True,
        )
        request = link_request(note, links, deadline, metadata=question)
        answer, result = self._answer(request, result)
        if answer is None:
            return result
        near = similarity_by(self.encoder.encode)
        metadata = check_metadata(answer, question, similarity=near, trusted=True).metadata
        checked = check_links(answer, note, links, similarity=near, vocabulary=VOCABULARY)
        linked = {link.target for link in checked.links}
        changed = {each.path for each in checked.evolutions}
        right = {case.older[at].path for at in case.related}
        others = len(case.older) - len(right)
        return replace(
            result,
            context=_is_right(metadata.context, case),
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
        question = _question(case, ["context"])
        result = CaseResult(case.title, valid=False, alone=False, context=False)
        answer, result = self._answer(summary_request(case.title, case.text, deadline), result)
        if answer is None:
            return result
        near = similarity_by(self.encoder.encode)
        metadata = check_metadata(answer, question, similarity=near).metadata
        return replace(result, context=_is_right(metadata.context, case))

    def _answer(
        self, request: ModelRequest, result: CaseResult
    ) -> tuple[dict[str, Any] | None, CaseResult]:
        """The model's valid answer, if any, and the result with what is known so far."""
        if self.stopped:
            return None, result
        try:
            reply = ask_once(self.model, request)
        except ModelClosed:
            self.stopped = True
            return None, result
        except ModelError as error:
            # The answer that the end of the time cut off says nothing about the model.
            self.stopped = self.stopped or time.monotonic() >= self.until
            return None, replace(result, fault=error.message)
        if reply.answer is None and request.deadline < self.answer_seconds:
            self.stopped = self.stopped or time.monotonic() >= self.until
        fault = "" if reply.fault == SHOWN_IN_PART else reply.fault
        return reply.answer, replace(
            result,
            # What is good of an answer counts all the same.
            valid=reply.answer is not None and not fault,
            fault=fault,
            prompt_tokens=reply.use.prompt_tokens,
            answer_tokens=reply.use.answer_tokens,
            seconds=reply.use.seconds,
        )

    def _candidates(self, case: TrialCase) -> list[LinkCandidate]:
        """The older notes as a search would find them, the nearest first."""
        texts = [f"{case.title}. {case.text}", *(f"{one.title}. {one.text}" for one in case.older)]
        own, *vectors = self.encoder.encode(texts)
        near = [
            replace(one, similarity=float(vector @ own))
            for one, vector in zip(case.older, vectors, strict=True)
        ]
        near.sort(key=lambda one: -one.similarity)
        return [replace(one, rank=rank) for rank, one in enumerate(near)]


def _is_right(context: str, case: TrialCase) -> bool:
    return sum(part in fold(context) for part in case.about) >= _LEAST_ABOUT


def _question(case: TrialCase, missing: Sequence[str]) -> MetadataQuestion:
    return MetadataQuestion(case.title, case.text, tuple(missing), VOCABULARY)
