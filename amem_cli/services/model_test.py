"""Tells in a moment whether the models of a vault work."""

from __future__ import annotations

import time
from dataclasses import dataclass

from amem_cli.core.construction import construction_request
from amem_cli.core.errors import ModelError
from amem_cli.core.keyphrases import candidate_phrases
from amem_cli.core.ports import Encoder, LanguageModel
from amem_cli.services.asking import ask_once

SAMPLE_TITLE = "Sourdough rises slower in winter"
SAMPLE_TEXT = (
    "At 18 degrees in the kitchen the dough needed nine hours instead of five. A warm oven with"
    " only the lamp on brings it back to six hours without the crust getting thick."
)
DEADLINE_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class ModelReport:
    """What the trial showed.

    Attributes:
        valid: the answers had the asked shape.
        first_seconds: time of the first answer, with loading; `model_seconds`: of the second one.
        tokens: of the second call, in and out.
    """

    encoder: str
    dimension: int
    encoder_seconds: float
    model: str = ""
    valid: bool = False
    problem: str = ""
    first_seconds: float = 0.0
    model_seconds: float = 0.0
    tokens: int = 0
    sample: str = ""


def test_models(encoder: Encoder, model: LanguageModel | None) -> ModelReport:
    """Encode a text, and ask the language model twice for a sample note's metadata.

    Raises:
        EncoderError: the encoder cannot be run.
    """
    started = time.perf_counter()
    encoder.encode([SAMPLE_TEXT])
    report = ModelReport(encoder.model_id, encoder.dimension, time.perf_counter() - started)
    if model is None:
        return report
    request = construction_request(
        SAMPLE_TITLE,
        SAMPLE_TEXT,
        missing=("keywords", "tags", "context"),
        candidates=candidate_phrases(SAMPLE_TEXT, 12),
        vocabulary=("baking", "databases"),
        deadline=DEADLINE_SECONDS,
    )
    tries = []
    answer, problem, tokens = None, "", 0
    try:
        for _ in range(2):
            started = time.perf_counter()
            answer, problem, use = ask_once(model, request)
            tries.append(time.perf_counter() - started)
            tokens = use.prompt_tokens + use.answer_tokens
    except ModelError as error:
        answer, problem = None, error.message
    times = [*tries, 0.0, 0.0]
    return ModelReport(
        report.encoder,
        report.dimension,
        report.encoder_seconds,
        model=model.name,
        valid=answer is not None,
        problem=problem,
        first_seconds=times[0],
        model_seconds=times[1],
        tokens=tokens,
        sample=str((answer or {}).get("context", "")),
    )
