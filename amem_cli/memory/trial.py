"""The small cases that a language model is tried with: everyday notes, and what is right.

Tells within a minute whether the models of a vault work, and what the language model is fit
for. The model is asked as the memory process asks it: for all at once, or for a context alone.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Literal

from amem_cli.analyzer.keywords import candidate_phrases
from amem_cli.analyzer.link_evidence import LinkCandidate
from amem_cli.data import table
from amem_cli.errors import ModelClosed, ModelError
from amem_cli.index.records import Progress
from amem_cli.language.words import fold, words
from amem_cli.memory.ask_model import PHRASES_SHOWN, Opening, Shown, ask_jointly, ask_once
from amem_cli.memory.describe import check_construction, construction_request
from amem_cli.memory.link import MOST_LINKS, check_linking
from amem_cli.memory.steps import FIELDS_OF_THE_WEAK
from amem_cli.memory.trust import (
    CaseResult,
    Figures,
    Verdict,
    figures_of,
    is_hopeless,
    is_lost,
    verdict_on,
)
from amem_cli.models.ports import Encoder, LanguageModel
from amem_cli.notes.note import METADATA_FIELDS, Metadata, Note

# The verdict on a model holds for one set of cases; a change of them takes another name.
TRIAL = "trial-2"
VOCABULARY = ("baking", "garden", "health", "home", "travel", "work", "databases", "books")
# So many are asked before it is clear that a model can do nothing with such a question.
PROBES = 2


@dataclass(frozen=True, slots=True)
class OlderNote:
    """A note that is there already, and how it relates to the new one."""

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
        model: empty where there is none; the rest is then empty as well.
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
        progress: told of every case.

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
        note = _note(case)
        candidates = self._candidates(case)
        changes = case.changes
        empty = CaseResult(
            case.title,
            valid=False,
            about=False,
            context=False,
            keywords=False,
            change_found=False if changes else None,
            kept=None if changes else True,
        )

        def ask() -> Opening:
            return ask_jointly(
                self._model,
                note=note,
                text=case.text,
                missing=METADATA_FIELDS,
                vocabulary=VOCABULARY,
                shown=Shown(tuple(candidates), (), {}),
                evolve=True,
                max_links=MOST_LINKS,
                deadline=deadline,
            )

        def judged(answer: dict[str, object], result: CaseResult) -> CaseResult:
            metadata = self._believed(case, answer, METADATA_FIELDS, trusted=True)
            plan = check_linking(
                answer,
                note,
                candidates,
                floors={},
                similarity=self._similarity,
                vocabulary=VOCABULARY,
                trusted=True,
            )
            linked = {link.target for link in plan.links}
            changed = {each.path for each in plan.evolutions}
            right = {_path(at) for at in case.related}
            others = len(case.older) - len(right)
            return replace(
                result,
                about=_speaks_of(case, answer),
                context=bool(metadata.context),
                keywords=any(
                    part in word.lower() for word in metadata.keywords for part in case.about
                ),
                found=len(linked & right),
                related=len(right),
                refused=others - len(linked - right),
                others=others,
                change_found=bool(changed & right) if changes else None,
                kept=None if changes else not changed,
            )

        return self._asked(ask, deadline, empty, judged)

    def _context(self, case: TrialCase, deadline: float) -> CaseResult:
        """Ask for the context alone, as a model that is not trusted is asked."""
        missing = sorted(FIELDS_OF_THE_WEAK)
        request = construction_request(
            case.title,
            case.text,
            missing=missing,
            candidates=_phrases(case),
            vocabulary=VOCABULARY,
            deadline=deadline,
        )

        def judged(answer: dict[str, object], result: CaseResult) -> CaseResult:
            metadata = self._believed(case, answer, missing, trusted=False)
            said = _speaks_of(case, answer)
            return replace(result, about=said, context=bool(metadata.context))

        empty = CaseResult(case.title, valid=False, alone=False, about=False, context=False)
        return self._asked(
            lambda: Opening(*ask_once(self._model, request)), deadline, empty, judged
        )

    def _believed(
        self,
        case: TrialCase,
        answer: dict[str, object],
        missing: Collection[str],
        *,
        trusted: bool,
    ) -> Metadata:
        return check_construction(
            answer,
            case.title,
            case.text,
            missing=missing,
            candidates=_phrases(case),
            vocabulary=VOCABULARY,
            similarity=self._similarity,
            trusted=trusted,
        ).metadata

    def _asked(
        self,
        ask: Callable[[], Opening],
        deadline: float,
        empty: CaseResult,
        judged: Callable[[dict[str, object], CaseResult], CaseResult],
    ) -> CaseResult:
        if self.stopped:
            return empty
        try:
            said = ask()
        except ModelClosed:
            self.stopped = True
            return empty
        except ModelError as error:
            # The answer that the end of the time cut off says nothing about the model.
            self.stopped = self.stopped or time.monotonic() >= self._until
            return replace(empty, fault=error.message)
        cut_by_time = deadline < self._answer_seconds and time.monotonic() >= self._until
        if said.answer is None and cut_by_time:
            self.stopped = True
        result = replace(
            empty,
            valid=said.answer is not None,
            fault="" if said.answer is not None else said.fault,
            prompt_tokens=said.use.prompt_tokens,
            answer_tokens=said.use.answer_tokens,
            seconds=said.use.seconds,
        )
        return result if said.answer is None else judged(said.answer, result)

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


def _phrases(case: TrialCase) -> list[str]:
    return candidate_phrases(f"{case.title}\n\n{case.text}", PHRASES_SHOWN)


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
