"""Tells within a minute whether the models of a vault work, and what the language model is fit for.

The model is asked with the prompts, schemas and checks of the memory process itself.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from amem_cli.core.construction import check_construction, construction_request
from amem_cli.core.errors import ModelClosed, ModelError
from amem_cli.core.index_port import Progress
from amem_cli.core.keyphrases import candidate_phrases
from amem_cli.core.link_evidence import LinkCandidate
from amem_cli.core.linking import check_linking, linking_request
from amem_cli.core.model_fitness import (
    CaseResult,
    Figures,
    Verdict,
    figures_of,
    is_hopeless,
    verdict_on,
)
from amem_cli.core.note import METADATA_FIELDS, Note
from amem_cli.core.ports import Encoder, LanguageModel, ModelRequest
from amem_cli.core.trial_cases import (
    PROBES,
    TRIAL_CASES,
    VOCABULARY,
    LinkCase,
    MetadataCase,
    OlderNote,
    TrialCase,
)
from amem_cli.core.words import fold, words
from amem_cli.services.asking import PHRASES_SHOWN, ask_once
from amem_cli.services.thinking import FIELDS_OF_THE_WEAK

USUAL_SECONDS = 60.0
FAILURES_IN_A_ROW = 3
LONG_WORD = 4
LEAST_WORDS = 3
# A weak model is never asked what changes in older notes.
_OF_THE_WEAK: tuple[TrialCase, ...] = (
    *(case for case in TRIAL_CASES if isinstance(case, MetadataCase)),
    *(case for case in TRIAL_CASES if isinstance(case, LinkCase) and not case.changes),
)


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
    encoder.encode([TRIAL_CASES[0].text])
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
                last = self._results[-FAILURES_IN_A_ROW:]
                if sum(bool(one.fault) and not one.prompt_tokens for one in last) == len(last) > 2:
                    break
        finally:
            timer.cancel()
        return tuple(self._results)

    @property
    def questions(self) -> int:
        """How many there are in all."""
        return PROBES + len(_OF_THE_WEAK) if self._weak else len(TRIAL_CASES)

    def _questions(self) -> Iterator[tuple[TrialCase, bool]]:
        """Each case, and whether the model is asked as one that judges by itself."""
        for case in TRIAL_CASES[:PROBES]:
            yield case, True
        self._weak = is_hopeless(self._results)
        rest = _OF_THE_WEAK if self._weak else TRIAL_CASES[PROBES:]
        yield from ((case, not self._weak) for case in rest)

    def _stop(self) -> None:
        self.stopped = True
        self._model.close()

    def _result(self, case: TrialCase, *, alone: bool) -> CaseResult:
        left = self._until - time.monotonic()
        if left <= 0:
            self.stopped = True
        deadline = max(0.1, min(left, self._answer_seconds))
        if isinstance(case, MetadataCase):
            return self._metadata(case, deadline, alone)
        return self._links(case, deadline, alone)

    def _metadata(self, case: MetadataCase, deadline: float, alone: bool) -> CaseResult:
        candidates = candidate_phrases(f"{case.title}\n\n{case.text}", PHRASES_SHOWN)
        missing = METADATA_FIELDS if alone else sorted(FIELDS_OF_THE_WEAK)
        request = construction_request(
            case.title,
            case.text,
            missing=missing,
            candidates=candidates,
            vocabulary=VOCABULARY,
            deadline=deadline,
        )

        def judged(answer: dict[str, object], result: CaseResult) -> CaseResult:
            metadata = check_construction(
                answer,
                case.title,
                case.text,
                missing=missing,
                candidates=candidates,
                vocabulary=VOCABULARY,
                similarity=self._similarity,
            ).metadata
            on_matter = any(
                part in word.lower() for word in metadata.keywords for part in case.about
            )
            return replace(
                result,
                about=_speaks_of(case, answer),
                context=bool(metadata.context),
                keywords=on_matter if alone else None,
            )

        empty = CaseResult(
            case.title,
            "metadata",
            valid=False,
            alone=alone,
            about=False,
            context=False,
            keywords=False if alone else None,
        )
        return self._asked(request, empty, judged)

    def _links(self, case: LinkCase, deadline: float, alone: bool) -> CaseResult:
        path = "new.md"
        note = Note(path, None, case.title, case.text, "2026-03-02T09:00:00", context=case.context)
        candidates = self._candidates(case)
        request = linking_request(note, candidates, deadline=deadline, allow_evolution=alone)
        right = {_path(at) for at in case.related}
        lookalikes = len(case.older) - len(right)

        def judged(answer: dict[str, object], result: CaseResult) -> CaseResult:
            plan = check_linking(
                answer,
                note,
                candidates,
                floors={},
                similarity=self._similarity,
                vocabulary=VOCABULARY,
            )
            linked = {link.target for link in plan.links}
            changed = {each.path for each in plan.evolutions}
            return replace(
                result,
                right_link=right <= linked if right else None,
                refused=lookalikes - len(linked - right),
                change_found=bool(changed & right) if case.changes else None,
                kept=not changed if alone and not case.changes else None,
            )

        empty = CaseResult(
            case.title,
            "links",
            valid=False,
            alone=alone,
            right_link=False if right else None,
            refused=lookalikes,
            lookalikes=lookalikes,
            change_found=False if case.changes else None,
            kept=True if alone and not case.changes else None,
        )
        return self._asked(request, empty, judged)

    def _asked(
        self,
        request: ModelRequest,
        empty: CaseResult,
        judged: Callable[[dict[str, object], CaseResult], CaseResult],
    ) -> CaseResult:
        if self.stopped:
            return empty
        try:
            answer, fault, use = ask_once(self._model, request)
        except ModelClosed:
            self.stopped = True
            return empty
        except ModelError as error:
            # The answer that the end of the time cut off says nothing about the model.
            self.stopped = self.stopped or time.monotonic() >= self._until
            return replace(empty, fault=error.message)
        cut_by_time = request.deadline < self._answer_seconds and time.monotonic() >= self._until
        if answer is None and cut_by_time:
            self.stopped = True
        result = replace(
            empty,
            valid=answer is not None,
            fault="" if answer is not None else fault,
            prompt_tokens=use.prompt_tokens,
            answer_tokens=use.answer_tokens,
            seconds=use.seconds,
        )
        return result if answer is None else judged(answer, result)

    def _similarity(self, one: str, other: str) -> float:
        first, second = self._encoder.encode([one, other])
        return float(first @ second)

    def _candidates(self, case: LinkCase) -> list[LinkCandidate]:
        texts = [f"{case.title}. {case.text}", *(f"{one.title}. {one.text}" for one in case.older)]
        vectors = self._encoder.encode(texts)
        near = [float(vector @ vectors[0]) for vector in vectors[1:]]
        order = sorted(range(len(near)), key=lambda at: -near[at])
        return [
            _candidate(case.older[at], _path(at), near[at], rank) for rank, at in enumerate(order)
        ]


def _speaks_of(case: MetadataCase, answer: Mapping[str, object]) -> bool:
    """Whether what was written as a context has words with the note in common."""
    said = _long_words(str(answer.get("context", "")))
    return len(said & _long_words(f"{case.title} {case.text}")) >= LEAST_WORDS


def _long_words(text: str) -> set[str]:
    return {fold(word) for word in words(text) if len(word) >= LONG_WORD}


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
