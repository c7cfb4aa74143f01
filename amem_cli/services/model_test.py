"""Tells in a moment whether the models of a vault work."""

from __future__ import annotations

import time
from dataclasses import dataclass

from amem_cli.core.answer_schema import AnswerRejected, read_answer
from amem_cli.core.construction import construction_request
from amem_cli.core.errors import ModelError
from amem_cli.core.keyphrases import candidate_phrases
from amem_cli.core.ports import Encoder, LanguageModel

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
        first_seconds: time of the first answer, with loading; `model_seconds`: of the second one.
        valid: the answers had the asked shape.
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


__all__ = ["ModelReport", "test_models"]
